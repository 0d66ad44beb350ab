"""Budgets: reserved before a call, settled after, less in steps as they run out; a crash leaves nothing behind."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.agents.budgets import Budgets, BudgetThresholds
from bot.models.base import Answer, FailedModel, Request, Trouble, Usage
from memory import spending
from memory.agents import agents
from memory.spending import Filter, Limit, Period, Spender
from memory.store.ids import AgentId, TurnId
from tests.bot.parts import ANN, BOB, said
from tests.bot.stage import Service, Setting, running, talked

DAY: Period = "day"
PRICED = "openai:gpt-5-mini"
UNPRICED = "openai:nobody-knows"


def limited(*limits: Limit, model: str = PRICED, thresholds: BudgetThresholds | None = None) -> Budgets:
    return Budgets({(each.subject, each.period): each for each in limits}, thresholds or BudgetThresholds(), model)


def costing(tokens: int, cost: float | None = 0.0, model: str = PRICED) -> Answer:
    return Answer("Yes.", (), Usage(input_tokens=tokens, cost_usd=cost), model)


def asked_of(service: Service) -> list[str]:
    """By which model each answer was to be given."""
    return [agent.model for agent in service.setting.asked]


async def reserved(service: Service) -> int:
    return int((await service.column("SELECT count(*) FROM budget_reservations"))[0])


async def test_less_is_done_in_steps_and_each_is_said_once(tmp_path: Path) -> None:
    kept = limited(Limit("constellation", DAY, tokens=100_000), thresholds=BudgetThresholds("openai:gpt-5-nano"))
    async with running(tmp_path, Setting(budgets=kept)) as service:
        for number, tokens in enumerate((79_000, 5_000, 7_500, 0, 90_000, 0), 1):
            service.model.replies.append(costing(tokens))
            await service.heard(said(f"line {number}", number))
        models = ["", "openai:gpt-5-nano", "openai:gpt-5-nano", "openai:gpt-5-nano", "openai:gpt-5-nano", "offline"]
        assert asked_of(service) == models
        requests = service.model.requests
        assert [bool(request.tools) for request in requests] == [True, True, True, False, False, True]
        assert [request.max_tokens for request in requests] == [None, None, None, 300, 300, None]
        told = [text for text in service.platform.texts() if text != "Yes."]
        assert [text.partition(".")[0] for text in told] == [
            "Today's budget for answers is low",
            "Today's budget for answers is almost used up",
            "Today's budget for answers is used up",
        ]
        assert all("until <t:17" in text.casefold() for text in told)
        assert await reserved(service) == 0


@pytest.mark.parametrize("limit", [Limit("constellation", DAY, usd=0), Limit("person", "month", tokens=0)])
@pytest.mark.parametrize("model", [PRICED, UNPRICED])
async def test_a_budget_of_zero_asks_no_provider(tmp_path: Path, limit: Limit, model: str) -> None:
    async with talked(tmp_path, Setting(budgets=limited(limit, model=model)), "hello") as service:
        assert asked_of(service) == ["offline"]
        assert service.model.requests[0].failed == (FailedModel("", Trouble.BUDGET),), "a model is configured"
    refusing = limited(limit, model=model, thresholds=BudgetThresholds(when_spent="refuse"))
    async with talked(tmp_path, Setting(budgets=refusing), said("hello again", 2)) as service:
        assert service.model.requests == []
        assert "is used up. Ask me again after" in service.platform.texts()[-1]
        assert await service.column("SELECT count(*) FROM model_usage WHERE model = ''") == [0]


async def test_what_one_spent_is_nobody_elses(tmp_path: Path) -> None:
    kept = limited(Limit("person", DAY, tokens=10_000), Limit("agent:Nobody", DAY, tokens=0))
    async with running(tmp_path, Setting(budgets=kept)) as service:
        service.model.replies.append(costing(20_000))
        for number, speaker in enumerate((ANN, ANN, BOB), 1):
            await service.heard(said("hello", number, speaker=speaker))
        assert asked_of(service) == ["", "offline", ""]
        by_person, of_nobody = await service.read(lambda rows: kept.states(rows, service.clock()))
        assert (by_person.spent.tokens >= 20_000, of_nobody.spent.tokens) == (True, 0)


async def test_a_guild_has_its_own(tmp_path: Path) -> None:
    async with running(tmp_path, Setting(budgets=limited(Limit("guild", DAY, tokens=10_000)))) as service:
        service.model.replies.append(costing(20_000))
        await service.heard(said("hello", 1))
        (guild,) = await service.column("SELECT guild_id FROM model_usage")
        assert guild.startswith("guild:")
        await service.heard(said("hello", 2, speaker=BOB))
        assert asked_of(service) == ["", "offline"]


async def test_what_agents_do_on_their_own_has_a_budget_that_leaves_answers_alone(tmp_path: Path) -> None:
    kept = limited(Limit("jobs", DAY, tokens=10_000))
    async with running(tmp_path, Setting(budgets=kept)) as service:
        service.model.replies.append(costing(20_000))
        await service.heard(said("hello", 1))
        (agent,) = await service.read(agents)
        cost = spending.ModelCost(PRICED, 20_000, 0, 0, 0, 0.0)
        now, upkeep, asked = service.clock(), Spender(None, agent.id, None, None), Request("", ())

        async def allowed() -> bool:
            found = await service.write(lambda tx: kept.allow_upkeep(tx, upkeep, agent, asked, now))
            await service.write(spending.release_all)
            return found is not None

        assert await allowed(), "what an answer cost does not count"
        await service.write(lambda tx: spending.reserve(tx, upkeep, None, 20_000, now))
        (state,) = await service.read(lambda rows: kept.states(rows, now))
        assert state.spent.tokens == 20_000
        await service.write(lambda tx: spending.record_upkeep(tx, agent.id, None, cost, now))
        assert not await allowed()
        await service.write(
            lambda tx: tx.run("UPDATE model_usage SET turn_id = 1, place_id = 'patrol:x', person_id = 'x'")
        )
        assert not await allowed(), "what a patrol cost counts, though its turn is the owner's"
        await service.write(lambda tx: tx.run("UPDATE model_usage SET place_id = NULL, person_id = NULL"))
        assert await allowed(), "what answers to an erased person cost does not"
        await service.write(lambda tx: spending.record_upkeep(tx, agent.id, None, cost, now))
        await service.heard(said("hello", 2))
        assert asked_of(service) == ["", ""]


async def test_a_call_that_fails_reserves_nothing_for_longer(tmp_path: Path) -> None:
    kept = limited(Limit("constellation", DAY, tokens=1_000_000))
    async with running(tmp_path, Setting(budgets=kept)) as service:

        async def fail(_request: Request) -> Answer:
            raise RuntimeError("no")

        service.model.otherwise = fail
        await service.heard(said("hello", 1))
        assert await reserved(service) == 0


async def test_what_a_dead_process_reserved_is_forgotten_in_time(tmp_path: Path) -> None:
    async with running(tmp_path, Setting(budgets=limited())) as service:
        now = datetime(2026, 11, 22, 12, tzinfo=UTC)
        spender = spending.Spender(TurnId(1), AgentId("agt_1"), ANN.id, None)
        await service.write(lambda tx: spending.reserve(tx, spender, 0.5, 100, now))
        later = now.replace(minute=31)
        early = await service.read(lambda rows: spending.spent(rows, Filter(), now, now))
        late = await service.read(lambda rows: spending.spent(rows, Filter(), now, later))
        assert (early.tokens, late.tokens) == (100, 0)
        await service.write(spending.release_all)
        assert not await service.read(spending.any_reserved)
