"""Events: when they happen, and that they are announced once each time, where their person may hear it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot import planning
from bot.planning import Announcing, Plan
from memory import appointments, jobs
from memory.audience import Scope
from memory.database import Tx
from memory.errors import Refused
from memory.ids import ConstellationId
from scheduler.jobs import Firing
from tests.bot.test_reminding import ALONE, ANN, DIRECT, GUILD, HALL, NOW, out, says, tx, wanted

__all__ = ["tx"]


def kept(tx: Tx, when: str, minutes: int = 15, ends: str = "") -> appointments.Event:
    given = Plan(replace(wanted(when), text="dinner"), ends, minutes)
    return planning.plan(tx, given, (ANN,), "UTC", NOW)


def fired(tx: Tx, event: appointments.Event, now: datetime | None = None) -> Firing:
    job = jobs.get(tx, appointments.job_id(event.id))
    assert job is not None
    assert job.next_at is not None
    return Firing(job, ConstellationId("con_1"), job.next_at, now or job.next_at)


def test_an_event_is_announced_before_it_and_once(tx: Tx) -> None:
    event = kept(tx, "today at 18:00")
    firing = fired(tx, event)
    assert firing.due == datetime(2026, 3, 2, 17, 45, tzinfo=UTC)
    Announcing(says()).announce(tx, firing)
    Announcing(says()).announce(tx, firing)
    assert out(tx) == [(DIRECT, "📅 Mon 2026-03-02 18:00: dinner", ALONE.audience)]


def test_one_that_repeats_is_announced_for_its_own_time(tx: Tx) -> None:
    event = kept(tx, "every monday at 18:00", minutes=60)
    firing = fired(tx, event)
    assert firing.due == datetime(2026, 3, 2, 17, tzinfo=UTC)
    Announcing(says()).announce(tx, firing)
    assert out(tx)[0][1] == "📅 Mon 2026-03-02 18:00: dinner"


def test_one_that_begins_sooner_than_it_is_announced_is_announced_at_once(tx: Tx) -> None:
    event = kept(tx, "in 5 minutes")
    firing = fired(tx, event)
    assert firing.due == NOW + timedelta(seconds=1)
    Announcing(says()).announce(tx, firing)
    assert out(tx)[0][1] == "📅 Mon 2026-03-02 12:05: dinner"


def test_what_is_not_to_be_announced_has_no_job(tx: Tx) -> None:
    event = kept(tx, "today at 18:00", minutes=-1)
    assert jobs.get(tx, appointments.job_id(event.id)) is None


def test_what_is_cancelled_or_of_somebody_who_opted_out_is_not_announced(tx: Tx) -> None:
    event = kept(tx, "today at 18:00")
    firing = fired(tx, event)
    assert Announcing(says(opted_out=True)).announce(tx, firing).detail == "its person opted out"
    assert Announcing(says()).announce(tx, firing).detail == "not wanted any more"
    assert out(tx) == []
    assert jobs.get(tx, appointments.job_id(event.id)) is None


def test_what_comes_is_listed_in_order_where_it_may_be_spoken_of(tx: Tx) -> None:
    kept(tx, "every day at 20:00")
    kept(tx, "today at 18:00")
    shared = Plan(replace(wanted("tomorrow at 9", HALL, Scope(GUILD)), text="breakfast"))
    planning.plan(tx, shared, (ANN,), "UTC", NOW)
    alone = planning.coming(appointments.listing(tx, ALONE, (ANN,)), NOW)
    assert [f"{at:%d %H:%M}" for at, _event in alone] == ["02 18:00", "02 20:00"]
    assert [each.title for each in appointments.listing(tx, Scope(GUILD), (ANN,))] == ["breakfast"]
    assert planning.coming(appointments.listing(tx, Scope(GUILD), (ANN,)), NOW + timedelta(days=3)) == []


def test_an_event_ends_after_it_begins(tx: Tx) -> None:
    event = kept(tx, "today at 18:00", ends="at 19:30")
    assert event.ends_at == datetime(2026, 3, 2, 19, 30, tzinfo=UTC)
    with pytest.raises(Refused, match="no time"):
        kept(tx, "today at 18:00", ends="later")
