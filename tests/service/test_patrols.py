"""Patrols in the real program over Discord's sockets: said to the owner once, asked for like anything, killed there."""

import json
from pathlib import Path

import pytest

from tests.service.live_service import Live, first_of, started, until
from tests.wire.model import Answer, Call, Calls, Request

TOML = """\
[[agents]]
name = "Carina"
rules = [{ rule = "requires_consent", tool = "recall" }]
[[agents.patrols]]
name = "heartbeat"
cron = "0 0 1 1 *"
task = "Is anything on fire?"
"""
JOB = "patrol:heartbeat"
FIRE = "The kitchen is on fire."


async def told(t: Live) -> str:
    """What the job says of its last run."""
    return str(next(job["text"] for job in await t.service.data("jobs", "list") if job["id"] == JOB))


async def test_what_a_patrol_has_to_say_is_said_to_the_owner_and_can_be_answered(tmp_path: Path) -> None:
    async with started(tmp_path, toml=TOML) as t:
        t.model.script(Answer("SILENT"))
        await t.service.said("jobs", "run", JOB)
        await t.model.wait_for(1)
        await until(
            lambda: t.rows("SELECT 1 FROM jobs WHERE id GLOB 'patrol:*' AND last_detail LIKE '[\"nothing to say\"%'"),
            what="the patrol is over",
        )
        assert t.olga.direct.from_bot == []
        t.model.script(Answer(FIRE))
        await t.service.said("jobs", "run", JOB)
        said = await t.olga.direct.wait_for_bot()
        assert said.text == FIRE
        assert await told(t) == "said something to the owner"
        await t.talk(t.olga, t.olga.direct, "call somebody", "They are on their way.")
        assert FIRE in str(t.model.requests[-1].body)
        t.model.script(Answer("I saw smoke."))
        await t.service.said("jobs", "run", JOB)
        await t.olga.direct.wait_for_bot(lambda message: message.text == "I saw smoke.")
        await t.talk(t.olga, t.olga.direct, "how?", "Through the camera.")
        shown = [(each["role"], str(each["content"])) for each in t.model.requests[-1].messages]
        assert ("assistant", "I saw smoke.") in shown[-3:-1], "it stands in the conversation, where it was said"
        assert "Is anything on fire?" not in str(t.model.requests[-1].body)
        assert t.general.from_bot == t.ana.direct.from_bot == []


async def test_what_needs_a_yes_is_asked_where_the_owner_is_and_goes_on_from_there(tmp_path: Path) -> None:
    async with started(tmp_path, toml=TOML) as t:
        keep = Call("recall", {"operation": "insert", "content": "the stove was on"})
        t.model.script(Calls(keep), Answer("SILENT"), Answer("I wrote down that the stove was on."))
        await t.service.said("jobs", "run", JOB)
        card = await t.olga.direct.wait_for_bot()
        assert "is asking for your approval" in card.text
        assert t.rows("SELECT count(*) FROM archival_entries") == [(0,)]
        await t.olga.press(card, "Allow once")
        said = await t.olga.direct.wait_for_bot(after=card)
        assert said.text == "I wrote down that the stove was on."
        assert t.rows("SELECT audience FROM archival_entries") == [("owner",)]


@pytest.mark.parametrize(
    "fault",
    first_of(
        3,
        *("job.queue:after", "turn.tool:after", "outbox.sending:after", "job.queue:before", "turn.begin:before"),
        *("turn.begin:after", "turn.answer:before:2", "turn.answer:after:2", "outbox.sent:before"),
    ),
)
async def test_a_death_loses_and_repeats_nothing(tmp_path: Path, fault: str) -> None:
    def go_round(request: Request) -> Answer | Calls:
        """Keep what was found, then say it, wherever the turn stands."""
        if '"role": "tool"' in json.dumps(request.body):
            return Answer(FIRE)
        kept = {"operation": "save", "key": "stove", "content": "it is on", "ttl_minutes": 60}
        return Calls(Call("working_memory", kept))

    async with started(tmp_path, toml=TOML) as t:
        t.model.default = go_round
        async with t.service.dying(fault):
            await t.service.run("jobs", "run", JOB)
        await t.service.start()
        said = await t.olga.direct.wait_for_bot()
        assert said.text == FIRE
        done = "SELECT 1 FROM outbox WHERE status NOT IN ('sent', 'withdrawn')"
        await until(lambda: t.rows(done) == [], what="everything is sent")
        assert t.rows("SELECT status FROM turns") == [("done",)]
        assert t.rows("SELECT key FROM items WHERE kind = 'working'") == [("patrol/heartbeat/stove",)]
        assert [each.text for each in t.olga.direct.from_bot] == [FIRE]
