"""What models cost, budgets, and permissions that nobody had to ask for."""

import re
from pathlib import Path

import pytest

from tests.service.live_service import (
    Live,
    asking_service,
    first_of,
    keep,
    live_service,
    one_day,
    refused,
    started,
    until,
)
from tests.wire.discord.using import Impossible
from tests.wire.model import Answer, Calls


async def test_costs_are_tokens_and_money_only_where_a_price_is_known(t: Live) -> None:
    assert (await t.olga.command("admin cost")).text == "No model was used."
    for number in range(3):
        await t.talk(t.ana, t.general, "<@bot> hello", f"Answer {number}.")
    refused(await t.ana.command("admin cost"), "Only an admin may see what models cost")
    shown = await t.olga.command("admin cost")
    assert "openai:scripted: 3 calls" in shown.shown.text
    assert "price unknown" in shown.text
    assert "$" not in shown.text
    assert "Carina: 3 calls" in (await t.olga.command("admin cost", {"by": "agent"})).text
    by_day = (await t.olga.command("admin cost", {"by": "day", "days": 2})).text
    assert re.search(r"- \w{3} \d+, \d{4}: 3 calls", by_day)
    (bill,) = await t.service.data("cost")
    tokens = t.rows("SELECT sum(input_tokens), sum(output_tokens) FROM model_usage")
    assert (bill["model"], bill["calls"], bill["unpriced"], bill["cost_usd"]) == ("openai:scripted", 3, 3, 0)
    assert [(bill["input_tokens"], bill["output_tokens"])] == tokens
    wrong = "“moon” is not available. Choose from: agent, model, purpose, day"
    assert wrong in await t.service.refused("cost", "--by", "moon", code=2)


async def test_the_owner_grants_at_the_terminal_and_never_for_others_direct_messages(tmp_path: Path) -> None:
    async with asking_service(tmp_path) as t:
        guild = f"guild:discord:{t.guild.id}"
        grant = await t.service.data("permits", "grant", "Carina", "recall", guild, "--hours", "1")
        assert (grant["subject"], grant["arguments"], grant["audience"]) == ("recall", {}, guild)
        given = await t.service.said("permits", "grant", "Carina", "block:human", "owner")
        assert given.startswith("Allowed: Carina: Carina/human, until you revoke it")
        assert "needs approval each time" in await t.service.refused(
            "permits", "grant", "Carina", "recall", f"person:discord:{t.ana.id}"
        )
        refused = await t.service.refused("permits", "grant", "Carina", "recall", "everybody", code=2)
        assert "is not an audience" in refused
        never = ("permits", "grant", "Carina", "recall", guild, "--hours", "0")
        assert "greater than 0" in await t.service.refused(*never, code=2)
        content = "The heron is here."
        t.model.script(Calls(keep(content)), Answer("At once."))
        assert (await t.ask(t.ana, t.general, "<@bot> keep this")).text == "At once."
        assert t.times_kept(content) == 1


FILE = '[[budgets.limits]]\nsubject = "person"\ntokens = 1000000\n'


async def test_the_owner_sets_what_may_be_spent_and_everybody_hears_of_its_end_once(tmp_path: Path) -> None:
    async with started(tmp_path, toml=FILE) as t:
        await one_day()
        await t.talk(t.ana, t.general, "<@bot> hello", "One.")
        with pytest.raises(Impossible, match="needs permissions"):
            await t.ana.command("admin budget set", {"of": "constellation", "usd": 0.0}, t.general)
        refused(await t.ana.command("admin budget set", {"of": "constellation", "usd": 0.0}), "Only the owner may")
        refused(await t.olga.command("admin budget set", {"of": "moon", "usd": 1.0}), "not one of the suggestions")
        assert "A budget is for" in await t.service.refused("budget", "set", "moon", "--usd", "1")
        refused(await t.olga.command("admin budget set", {"of": "agent:Moon", "usd": 1.0}), "There is no agent “Moon”")
        refused(
            await t.olga.command("admin budget set", {"of": "guild"}), "Give a limit in dollars, in tokens, or both"
        )
        given = await t.olga.command("admin budget set", {"of": "constellation", "usd": 0.0})
        assert given.shown.text.startswith("Budget set: everything together, today: $0.00 of $0.00 left")
        asked = len(t.model.requests)
        told = await t.ask(t.ana, t.general, "<@bot> hello again")
        assert told.text.startswith("Today's budget for answers is used up. Until ")
        assert len(t.model.requests) == asked
        shown = (await t.olga.command("admin cost")).text
        assert "everything together, today: $0.00 of $0.00 left, not counting 1 unpriced call" in shown
        assert "each person, today: " in shown
        listed = await t.service.data("budget", "list")
        found = {row["of"]: (row["usd_left"], row["tokens_left"], row["said"]) for row in listed}
        assert found["constellation"] == (0, None, "by command")
        assert found["person"][2] == "in the configuration"
        assert "Removed. No configured budget takes its place" in await t.service.said(
            "budget", "clear", "constellation"
        )
        assert "No command set this budget" in await t.service.refused("budget", "clear", "constellation")
        t.model.script(Answer("Two."))
        await t.ana.say(t.general, "<@bot> and now?")
        await t.asked(lambda request: "and now?" in request.last_user)


@pytest.mark.parametrize("fault", first_of(1, "budget.reserve:after", "turn.answer:before", "turn.answer:after"))
async def test_a_crash_between_reserving_and_settling_leaves_no_reservation(tmp_path: Path, fault: str) -> None:
    async with live_service(tmp_path, scripted=True) as t:
        t.configure(toml=FILE)
        t.model.default = lambda _request: Answer("Here.")
        async with t.service.dying(fault):
            await t.ana.say(t.general, "<@bot> hello")
        if fault != "turn.answer:after":
            assert t.rows("SELECT count(*) FROM budget_reservations") == [(1,)]
        await t.service.start()
        await until(lambda: any(post.text == "Here." for post in t.general.from_bot), what="the answer")
        await t.service.stop()
        assert t.rows("SELECT count(*) FROM budget_reservations") == [(0,)]
        assert t.rows("SELECT count(*) FROM model_usage") == [(1,)]
