"""Reminders over Discord's sockets: said once where they were set, with buttons that work after a restart."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memory.people.audience import Trust
from tests.service.live_service import Live, as_seen, first_of, forge, started, until

CALL = "⏰ call mum"
TRUSTED = {
    "messages": "SELECT person_id, trust FROM messages WHERE role = 'user'",
    "tasks": "SELECT person_id, trust FROM tasks",
    "reminders": "SELECT person_id, trust FROM reminders",
    "events": "SELECT person_id, trust FROM events",
}


def statuses(t: Live) -> list[str]:
    return [status for (status,) in t.rows("SELECT status FROM reminders")]


async def test_a_reminder_is_said_privately_with_buttons_that_work_after_a_restart(tmp_path: Path) -> None:
    async with started(tmp_path, scripted=False) as t:
        await t.ana.dm("remind me in 4 seconds to call mum")
        await t.ana.direct.wait_for_bot(
            lambda m: bool(re.match(r"I'll remind you on <t:(\d+):f>, <t:\1:R>: call mum\.", m.text))
        )
        said = await t.ana.direct.wait_for_bot(lambda m: m.text == CALL)
        assert [button["label"] for button in said.buttons] == ["Done"]
        assert statuses(t) == ["told"]

        await t.service.restart(kill=True)
        put_off = await t.ana.select(said, "Snooze", "1 hour")
        assert "I'll remind you on" in put_off.shown.text
        ((later,),) = t.rows("SELECT id FROM jobs WHERE id GLOB '*:later'")
        await t.service.said("jobs", "run", later)
        again = await t.ana.direct.wait_for_bot(lambda m: m.text == CALL, after=said)

        identifier, old = again.buttons[0]["custom_id"].replace("remind.done", "remind.maybe"), as_seen(again)
        for gone in (identifier, "carina:reminder:done:1"):
            assert "This button no longer works." in (await t.ana.press(old, forge(old, "Done", gone))).text
        done = await t.ana.press(again, "Done")
        assert "Done: call mum" in done.text
        await until(lambda: t.ana.direct.from_bot[-1].text == f"✓ {CALL}", what="what was said shows that it is done")
        assert t.ana.direct.from_bot[-1].buttons == []
        assert statuses(t) == ["done"]
        assert t.rows("SELECT id FROM jobs WHERE kind GLOB 'reminder*' AND status = 'active'") == []
        assert t.general.from_bot == [], "nothing of it is ever said in a channel"


async def test_what_quiet_hours_held_back_is_said_when_they_are_turned_off(tmp_path: Path) -> None:
    async with started(tmp_path, scripted=False) as t:
        begin, end = (f"{datetime.now(UTC) + timedelta(hours=away):%H:%M}" for away in (-1, 2))
        await t.ana.command("my quiet", {"begin": begin, "end": end})
        await t.ana.dm("remind me in 1 second to call mum")
        await until(lambda: t.rows("SELECT 1 FROM jobs WHERE kind = 'reminder' AND held_until IS NOT NULL"))
        await t.ana.command("my quiet", {"begin": "off"})
        await t.ana.direct.wait_for_bot(lambda m: CALL in m.text)


@pytest.mark.parametrize(
    "fault", first_of(2, "job.queue:after", "outbox.sending:after:2", "job.queue:before", "outbox.sent:after:2")
)
async def test_a_death_while_it_is_said_loses_and_repeats_nothing(tmp_path: Path, fault: str) -> None:
    async with started(tmp_path, scripted=False) as t:
        async with t.service.dying(fault):
            await t.ana.dm("remind me in 4 seconds to call mum")  # perhaps it is not answered any more
        await t.service.start()
        await t.ana.direct.wait_for_bot(lambda m: m.text.startswith(CALL))
        await t.ask(t.ana, t.ana.direct, "thanks")
        assert len([each for each in t.ana.direct.from_bot if "call mum" in each.text and "⏰" in each.text]) == 1


async def test_what_is_written_down_by_command_is_trusted_as_what_its_person_says(tmp_path: Path) -> None:
    async with started(tmp_path, scripted=False) as t:
        trusted = {}
        for person in (t.ana, t.olga):
            await t.ask(person, person.direct, "hello")
            for command, words in (("tasks add", {"title": "buy tea"}), ("remind me", {"text": "buy tea"})):
                await person.command(command, {**words, **({"when": "in 1 hour"} if "text" in words else {})})
            await person.command("events add", {"title": "tea", "when": "in 2 hours"})
            trusted[person] = [
                {trust for who, trust in t.rows(TRUSTED[table]) if who == f"discord:{person.id}"} for table in TRUSTED
            ]
        assert trusted[t.ana] == [{Trust.STRANGER}] * 4
        assert trusted[t.olga] == [{Trust.OWNER}] * 4
