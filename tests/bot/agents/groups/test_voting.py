"""A vote: every voter is asked, and ballots and tally are shown."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.agents.groups.settings import Voting
from bot.agents.groups.votes_and_pipelines import Ballot, tally
from bot.config.values import OFFLINE
from bot.models.base import Answer
from memory.store.ids import AgentId
from memory.store.records import replace
from tests.bot.agents.groups.parts import Cast, group, told
from tests.bot.parts import HeldReply, call, results, said, says, words_of
from tests.bot.stage import Setting, running, talked


def ballot(choice: str, reason: str = "") -> Answer:
    return says("", call("cast_ballot", choice=choice, reason=reason))


async def test_every_voter_is_asked_and_ballots_and_tally_are_shown(tmp_path: Path) -> None:
    model = Cast(Ant=[ballot("tea", "warm")], Bee=[ballot("COFFEE")], Cat=[ballot("Tea")], Dog=[ballot("abstain")])
    async with running(tmp_path, Setting(model, toml=group("voting", ""))) as service:
        await service.heard(said("What shall we drink?\noptions: Tea, Coffee", 1))
        (text,) = service.platform.texts()
        assert text.splitlines() == [
            "Decision: Tea (the most votes).",
            "Votes: Tea 2, Coffee 1",
            "- Ant — Tea: warm",
            "- Bee — Coffee",
            "- Cat — Tea",
            "- Dog — abstain",
        ]
        (outcome,) = await service.column("SELECT outcome FROM group_runs")
        assert json.loads(outcome)["tally"] == {"Tea": 2.0, "Coffee": 1.0}
        assert [each["choice"] for each in json.loads(outcome)["ballots"]] == ["Tea", "Coffee", "Tea", "abstain"]
        assert words_of((await service.outbox())[0]).speaker == "Team"
    assert sorted(model.asked()) == ["Ant", "Bee", "Cat", "Dog"]
    assert all('one of "Tea", "Coffee"' in told(request) for request in model.requests)
    assert all([spec.name for spec in request.tools] == ["cast_ballot"] for request in model.requests)


async def test_a_voter_whose_model_did_not_answer_is_not_blamed(tmp_path: Path) -> None:
    model = Cast(Ant=[ballot("yes")], Bee=[replace(says("I can look that up."), model=OFFLINE)] * 9)
    async with talked(tmp_path, Setting(model, toml=group("voting", "")), "Shall we?") as service:
        assert "- Bee — no ballot (got no answer from its model)" in service.platform.texts()[0].splitlines()


async def test_who_gives_no_valid_ballot_or_is_too_late_is_named_and_not_counted(tmp_path: Path) -> None:
    held = HeldReply(says("never"))
    model = Cast(Ant=[ballot("maybe"), ballot("yes")], Bee=["I say yes!"] * 9, Cat=[ballot("yes")], Dog=[held])
    async with running(tmp_path, Setting(model, toml=group("voting", "[groups.voting]\ntimeout = 1\n"))) as service:
        await service.heard(said("Shall we?", 1))
        (text,) = service.platform.texts()
        assert text.splitlines() == [
            "No decision: too few ballots (2 of the 3 needed).",
            "Votes: yes 2, no 0",
            "- Ant — yes",
            "- Bee — no ballot (cast no valid ballot)",
            "- Cat — yes",
            "- Dog — no ballot (too late)",
        ]
    assert len(model.of("Bee")) == 2, "asked once, and then the call is forced"
    assert [request.force_tool for request in model.of("Bee")] == ["", "cast_ballot"]
    assert "'maybe' is none of the options: yes, no" in results(model.of("Ant")[1])[0][0]


@pytest.mark.parametrize(
    ("table", "decision"),
    [
        ("", "No decision: "),
        ('tie_breaker = "random"', "Decision: "),
        ('tie_breaker = "agent"\ntie_agent = "Bee"', "Decision: no ("),
    ],
)
async def test_what_breaks_a_tie(tmp_path: Path, table: str, decision: str) -> None:
    model = Cast(Ant=[ballot("yes")], Bee=[ballot("no")])
    toml = group("voting", f"[groups.voting]\n{table}\n", '"Ant", "Bee"')
    async with talked(tmp_path, Setting(model, toml=toml), "Shall we?") as service:
        assert service.platform.texts()[0].startswith(decision)
        assert "tied: yes, no; " in service.platform.texts()[0]


def test_the_first_vote_breaks_a_tie_only_among_those_that_lead() -> None:
    noon = datetime(2026, 11, 27, 12, tzinfo=UTC)
    choices = ("tea", "milk", "water", "milk", "tea")
    cast = [Ballot(AgentId(f"agt_{n}"), f"Voter {n}", each, at=noon - timedelta(n)) for n, each in enumerate(choices)]
    found = tally(Voting(tie_breaker="first_vote"), ("milk", "tea", "water"), [*cast, Ballot(AgentId("agt_9"), "x")], 1)
    assert (found.decision, found.why) == ("tea", "tied: milk, tea; decided by the first vote, cast by Voter 4")
    alone = Ballot(AgentId("agt_8"), "Voter 8", "water", at=noon - timedelta(9))
    found = tally(Voting(tie_breaker="first_vote"), ("milk", "tea", "water"), [*cast[:2], *cast[3:], alone], 1)
    assert found.why.endswith("decided by the first vote, cast by Voter 4"), (
        "who voted before did not choose what leads"
    )


async def test_who_knows_more_about_the_question_has_more_weight_where_the_group_wants_that(tmp_path: Path) -> None:
    members = '{ agent = "Ant", role = "specialist", domain = "gardens" }, "Bee", "Cat"'
    for weighted, decision in (("true", "Decision: tulips "), ("false", "Decision: roses ")):
        model = Cast(Ant=[ballot("tulips")], Bee=[ballot("roses")], Cat=[ballot("roses")])
        toml = group("voting", f"[groups.voting]\nweight_by_expertise = {weighted}\n", members)
        asked = "What belongs in our gardens?\noptions: tulips, roses"
        async with talked(tmp_path / weighted, Setting(model, toml=toml), asked) as service:
            assert service.platform.texts()[0].startswith(decision)
