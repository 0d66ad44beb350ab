"""Asking people whether something sensitive that was inferred about them may be used: whom, when, and how often."""

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.agents.agenda.delivery_to_a_person import PersonalMessages
from bot.agents.owner_notices import Notices
from bot.upkeep.inference_consent import ConsentRequests
from memory import jobs
from memory.knowledge.entries import Entry
from memory.knowledge.upkeep import run_records
from memory.people import person_settings as hours
from memory.people.audience import person_audience
from memory.people.person_settings import Times
from memory.store.clock import to_text
from memory.store.database import Tx
from memory.store.ids import PlaceId
from scheduler.job_kinds import DueJob, JobResult
from tests.bot.parts import ANN, deleted, said
from tests.bot.services.calling import somebody
from tests.bot.upkeep.test_upkeep import OLGA_HERSELF, Harness, answers, ground

WORDS = "Ann takes her pills at eight."
WISH = {"content": WORDS, "strength": "strong", "sources": ["m1"], "sensitive": True}
HERS = somebody(ANN.id)
ALONE = PlaceId("discord:user:ann")


@pytest.fixture
async def g(tmp_path: Path) -> AsyncIterator[Harness]:
    async with ground(tmp_path, otherwise=answers(preferences=[WISH]), preferences=True) as made:
        yield made


async def inferred(g: Harness) -> Entry:
    """Upkeep infers something sensitive about Ann."""
    await g.service.heard(said("I always take my pills at eight", 1))
    await g.run()
    (entry,) = await g.service.read(lambda rows: run_records.pending_of_people(rows, [ANN.id]))
    return entry


async def ask(g: Harness, opted_out: bool = False, hours: float = 0) -> JobResult:
    """The job that the run has left."""
    messages = PersonalMessages(
        Notices(PlaceId("discord:user:olga")), "UTC", lambda _: opted_out, lambda p: (p,), lambda _: ""
    )

    def work(tx: Tx) -> JobResult:
        row = tx.one("SELECT id FROM jobs WHERE kind = 'preference'")
        job = None if row is None else jobs.get(tx, row["id"])
        assert job is not None
        assert job.next_at is not None
        now = g.service.clock() + timedelta(hours=hours)
        return ConsentRequests(messages).ask(tx, DueJob(job, g.service.home, job.next_at, now))

    return await g.service.write(work)


async def cards(g: Harness) -> list[tuple[Any, ...]]:
    found = await g.service.rows(
        "SELECT place_id, audience, content, status FROM outbox WHERE key GLOB 'preference/*' ORDER BY id"
    )
    return [tuple(row) for row in found]


async def test_whom_it_is_about_is_asked_alone_and_once(g: Harness) -> None:
    entry = await inferred(g)
    assert (await ask(g)).detail == "asked"
    await ask(g)
    ((place, audience, content, _),) = await cards(g)
    assert (place, audience) == (ALONE, person_audience(ANN.id))
    assert WORDS in content
    (detail,) = await g.service.column("SELECT detail FROM outbox WHERE key GLOB 'preference/*'")
    offered = {"kind": "preference", "id": entry.id, "offers": ["allow", "refuse"], "language": "en"}
    assert json.loads(detail)["press"] == offered


async def test_nobody_is_asked_in_quiet_hours(g: Harness) -> None:
    await inferred(g)
    now = g.service.clock()
    begin, end = now - timedelta(hours=1), now + timedelta(hours=2)
    times = Times("UTC", f"{begin:%H:%M}", f"{end:%H:%M}")
    await g.service.write(lambda tx: hours.put(tx, (ANN.id,), times, now))
    held = await ask(g)
    assert held.again is not None
    assert to_text(held.again)[:16] == to_text(end)[:16]
    assert await cards(g) == []
    assert (await ask(g, hours=3)).detail == "asked"


@pytest.mark.parametrize(
    ("setup", "why"),
    [
        ("opted out", "the person opted out"),
        ("UPDATE archival_entries SET trust = 1", "strangers get no unsolicited messages"),
        ("UPDATE archival_entries SET person_id = 'bluesky:did:plc:ann'", "nobody gets unsolicited messages there"),
    ],
)
async def test_who_is_not_written_to_unasked_finds_it_waiting(g: Harness, setup: str, why: str) -> None:
    entry = await inferred(g)
    if setup != "opted out":
        await g.service.write(lambda tx: tx.run(setup))
    assert (await ask(g, opted_out=setup == "opted out")).detail == why
    assert await cards(g) == []
    assert await g.service.read(lambda rows: run_records.pending_of_id(rows, entry.id)) is not None


@pytest.mark.parametrize("yes", [True, False])
async def test_what_was_decided_before_is_not_asked(g: Harness, yes: bool) -> None:
    entry = await inferred(g)
    await g.call("allow" if yes else "refuse", HERS, entry=entry.id)
    assert (await ask(g)).detail == "it was already decided or withdrawn"
    assert await cards(g) == []


@pytest.mark.parametrize("sent", ["sent", "pending"])
async def test_a_card_says_nothing_of_it_any_more_when_it_was_refused(g: Harness, sent: str) -> None:
    entry = await inferred(g)
    await ask(g)
    await g.service.write(lambda tx: tx.run("UPDATE outbox SET status = ? WHERE key GLOB 'preference/*'", (sent,)))
    await g.call("refuse", HERS, entry=entry.id)
    words = [content for _, _, content, _ in await cards(g)]
    assert words == (["", "✗ Forgotten."] if sent == "sent" else [""])
    assert (await g.call("waiting", HERS)).data() == []
    assert await g.service.column("SELECT count(*) FROM archival_entries") == [0]


async def test_a_card_goes_with_the_words_it_came_of(g: Harness) -> None:
    await inferred(g)
    await ask(g)
    await g.service.write(lambda tx: tx.run("UPDATE outbox SET status = 'sent'"))
    await g.service.heard(deleted(1))
    assert [content for _, _, content, _ in await cards(g)] == [""]


@pytest.mark.parametrize(("yes", "left"), [(True, [WORDS]), (False, [])])
async def test_what_its_person_decided_since_does_not_keep_a_run_from_being_undone(
    g: Harness, yes: bool, left: list[str]
) -> None:
    entry = await inferred(g)
    await g.call("allow" if yes else "refuse", HERS, entry=entry.id)
    words = await g.told("undo", OLGA_HERSELF)
    assert ("because it was approved" in words) is yes
    assert await g.service.column("SELECT content FROM archival_entries WHERE archived_at IS NULL") == left
    assert await g.service.column("SELECT outcome FROM dream_runs") == ["undone"]
    told = await g.service.column("SELECT words ->> 0 FROM activity_events WHERE words LIKE '%undone%' ORDER BY id")
    assert told == ["had a cleanup of its memory undone, except what somebody approved"] * yes
