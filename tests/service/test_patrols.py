"""Patrols in the real program over Discord's sockets: said to the owner once, asked for like anything, killed there."""

import json
from pathlib import Path

import pytest

from tests.service.live_service import first_of, started, until
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
