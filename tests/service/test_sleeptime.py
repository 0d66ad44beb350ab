"""Sleeptime over Discord's sockets: who forgets the time is told once, where they alone hear it."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.check_in_group import check_in
from tests.service.approvals import minutes_in, rows
from tests.service.live_service import Live, live_service
from tests.service.test_schedule import eventually
from tests.wire.model import Answer, Reply, Request

AGENTS = '[[agents]]\nname = "Carina"\n[[agents]]\nname = "Anchor"\n'
LINES, APART = 13, 8  # messages, and minutes between two: 96 minutes


def replies(request: Request) -> Reply:
    looked = "You look after" in str(request.messages[-1]["content"])
    return Answer("Time for some water?" if looked else "Yes.")


def spread(t: Live, minutes: int) -> None:
    """Change what the program, which is not running, has stored: the last of these messages was said just now."""
    (path,) = t.service.home.glob("constellations/*/carina.db")
    sql = """UPDATE messages SET created_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-' || (? * (SELECT count(*)
             FROM messages m WHERE m.role = 'user' AND m.id > messages.id)) || ' minutes') WHERE role = 'user'"""
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute(sql, (minutes,))


async def look(t: Live) -> None:
    """Have the service's own job look now, and see that it did."""
    before = last(t)
    code, _, error = await t.service.run("jobs", "run", "sleeptime")
    assert code == 0, error
    await eventually(lambda: last(t) != before, "the job ran")


def last(t: Live) -> Any:
    return rows(t, "SELECT last_run_at FROM jobs WHERE id = 'sleeptime'")


async def test_ninety_minutes_without_a_pause_are_noticed_and_told_once(tmp_path: Path) -> None:
    async with live_service(tmp_path, scripted=True) as t:
        t.configure(toml=AGENTS + check_in("Carina", "Anchor", f"discord:user:{t.olga.id}", 0.01))
        t.model.default = replies
        await t.service.start()
        for number in range(LINES):
            await t.ask(t.olga, t.olga.direct, f"line {number}")
        await look(t)  # the first look only notes the time
        await look(t)
        assert not [text for text in t.olga.direct.from_bot if "water" in text.text], "a short talk is no stretch"
        await t.service.stop()
        spread(t, APART)
        await t.service.start()
        await look(t)
        await eventually(lambda: "water" in t.olga.direct.from_bot[-1].text, "it is said")
        await t.service.kill()
        await t.service.start()
        await look(t)
        await t.ask(t.olga, t.olga.direct, "one more line")
        await look(t)
        said = [message.text for message in t.olga.direct.from_bot if "water" in message.text]
        assert len(said) == 1
        assert "Time for some water?" in said[0]
        assert t.general.from_bot == []
        told = [request for request in t.model.requests if "You look after" in str(request.messages[-1]["content"])]
        assert len(told) == 1
        assert 96 <= minutes_in(str(told[0].messages[-1]["content"])) < 100  # and what the start took
        await t.service.stop()
