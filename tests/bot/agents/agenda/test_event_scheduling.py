"""Events: when they happen, and that they are announced once each time, where their person may hear it."""

from datetime import UTC, datetime, timedelta

import pytest

from bot.agents.agenda import event_scheduling
from bot.agents.agenda.event_scheduling import EventJob, EventTimes
from bot.agents.agenda.reminder_scheduling import send_privately
from memory import jobs
from memory.agenda import calendar_events
from memory.agenda.calendar_events import Event
from memory.people import person_settings
from memory.people.audience import Audience, Scope, Trust
from memory.people.person_settings import Times
from memory.queue import outbox
from memory.store.database import Tx
from memory.store.errors import Refused
from memory.store.ids import ConstellationId, PlaceId
from memory.store.records import replace
from scheduler import triggers
from scheduler.job_kinds import DueJob
from tests.bot.agents.agenda.test_reminder_scheduling import ALONE, ANN, DIRECT, GUILD, HALL, NOW, messages, out, tx
from texts import timestamp

__all__ = ["tx"]


def kept(tx: Tx, when: str, minutes: int = 15, ends: str = "") -> calendar_events.Event:
    return event_scheduling.plan(tx, dinner(), EventTimes(when, ends, minutes), (ANN,), "UTC", NOW)


def dinner(place: PlaceId = DIRECT, audience: Audience = ALONE.audience) -> Event:
    return Event("dinner", ANN, place, audience, Trust.APPROVED)


def fired(tx: Tx, event: calendar_events.Event, now: datetime | None = None) -> DueJob:
    job = jobs.get(tx, calendar_events.job_id(event.id))
    assert job is not None
    assert job.next_at is not None
    return DueJob(job, ConstellationId("con_1"), job.next_at, now or job.next_at)


@pytest.mark.parametrize(("when", "minutes"), [("every day at 12:05", 15), ("every day at 12:05", 2_000)])
def test_the_first_of_many_that_begins_sooner_than_it_is_announced_is_announced_at_once(
    tx: Tx, when: str, minutes: int
) -> None:
    event = kept(tx, when, minutes)
    firing = fired(tx, event)
    assert firing.due == NOW + timedelta(seconds=1)
    EventJob(messages()).announce(tx, firing)
    assert out(tx)[0][1] == "📅 <t:1772453100:f>, <t:1772453100:R>: dinner"
    after = triggers.next_run(triggers.load(firing.job.trigger), firing.now)
    assert after is not None
    EventJob(messages()).announce(tx, replace(firing, due=after, now=after))
    expected = after + timedelta(minutes=minutes)
    assert out(tx)[1][1] == f"📅 {timestamp(expected)}: dinner"
    assert expected.minute == 5


def test_quiet_hours_hold_it_back(tx: Tx) -> None:
    person_settings.put(tx, (ANN,), Times("UTC", "17:00", "18:30"), NOW)
    firing = fired(tx, kept(tx, "today at 18:00"))
    done = EventJob(messages()).announce(tx, firing)
    assert done.again == datetime(2026, 3, 2, 18, 30, tzinfo=UTC)
    assert out(tx) == []
    EventJob(messages()).announce(tx, replace(firing, now=done.again))
    assert len(out(tx)) == 1


def test_on_bluesky_an_event_is_written_down_and_nobody_reminded(tx: Tx) -> None:
    there, when = dinner(PlaceId("bluesky:at://did:plc:7/post/1")), "today at 18:00"
    with pytest.raises(Refused, match="Ask me on Discord"):
        event_scheduling.plan(tx, there, EventTimes(when), (ANN,), "UTC", NOW)
    event = event_scheduling.plan(tx, there, EventTimes(when, minutes=-1), (ANN,), "UTC", NOW)
    assert jobs.get(tx, calendar_events.job_id(event.id)) is None


def test_what_is_cancelled_or_of_somebody_who_opted_out_is_not_announced(tx: Tx) -> None:
    event = kept(tx, "today at 18:00")
    firing = fired(tx, event)
    assert EventJob(messages(opted_out=True)).announce(tx, firing).detail == "the person opted out"
    assert EventJob(messages()).announce(tx, firing).detail == "no longer needed"
    assert out(tx) == []
    assert jobs.get(tx, calendar_events.job_id(event.id)) is None


def test_an_announcement_that_is_not_sent_yet_is_withdrawn_when_the_event_is_cancelled(tx: Tx) -> None:
    for event, sent in ((kept(tx, "in 1 minute"), False), (kept(tx, "in 2 minutes"), True)):
        EventJob(messages()).announce(tx, fired(tx, event))
        if sent:
            tx.run("UPDATE outbox SET status = 'sent' WHERE status = 'pending'")
        calendar_events.cancel(tx, event, NOW)
    assert [row["status"] for row in tx.all("SELECT status FROM outbox ORDER BY id")] == ["withdrawn", "sent"]


def test_what_a_channel_does_not_take_is_said_to_its_person_alone_once(tx: Tx) -> None:
    event = event_scheduling.plan(tx, dinner(HALL, GUILD), EventTimes("today at 18:00"), (ANN,), "UTC", NOW)
    EventJob(messages()).announce(tx, fired(tx, event))
    (row,) = outbox.of_prefix(tx, "event/")
    outbox.mark_closed(tx, row.id, outbox.Status.FAILED, "the channel does not exist any more")
    assert send_privately(tx, row, NOW)
    first, alone = out(tx)
    assert first[0] == HALL
    assert alone == (
        DIRECT,
        "📅 <t:1772474400:f>, <t:1772474400:R>: dinner (I can no longer reach the place where you set this)",
        ALONE.audience,
    )
    (kept,) = outbox.of_prefix(tx, f"{row.key}/")
    assert not send_privately(tx, kept, NOW), "what fails there too is the owner's to hear of"


def test_events_that_are_over_take_no_room_from_those_to_come(tx: Tx) -> None:
    kept(tx, "every day at 20:00")
    once = triggers.dump(triggers.DateTrigger(NOW - timedelta(days=1)))
    for _number in range(1_000):
        over = replace(dinner(), trigger=once, zone="UTC", starts_at=NOW - timedelta(days=1))
        calendar_events.add(tx, over, NOW)
    kept(tx, "today at 18:00")
    coming = event_scheduling.upcoming(calendar_events.listing(tx, ALONE, (ANN,)), NOW)
    assert [f"{at:%d %H:%M}" for at, _event in coming] == ["02 18:00", "02 20:00"]


def test_what_comes_is_listed_in_order_where_it_may_be_spoken_of(tx: Tx) -> None:
    kept(tx, "every day at 20:00")
    kept(tx, "today at 18:00")
    shared = replace(dinner(HALL, GUILD), title="breakfast")
    event_scheduling.plan(tx, shared, EventTimes("tomorrow at 9"), (ANN,), "UTC", NOW)
    alone = event_scheduling.upcoming(calendar_events.listing(tx, ALONE, (ANN,)), NOW)
    assert [f"{at:%d %H:%M}" for at, _event in alone] == ["02 18:00", "02 20:00"]
    assert [each.title for each in calendar_events.listing(tx, Scope(GUILD), (ANN,))] == ["breakfast"]
    assert event_scheduling.upcoming(calendar_events.listing(tx, Scope(GUILD), (ANN,)), NOW + timedelta(days=3)) == []


@pytest.mark.parametrize(
    ("when", "at", "ends"),
    [
        ("at 20:00", "02 20:00", "02 22:00"),
        ("Thursday", "05 18:00", "05 20:00"),
        ("tomorrow at 9", "03 21:00", "03 23:00"),
        ("tomorrow morning", "03 09:00", "03 11:00"),
        ("in 3 days", "05 18:00", "05 20:00"),
        ("in 2 hours", "02 14:00", "02 16:00"),
    ],
)
def test_a_moved_event_lasts_as_long_and_is_announced_as_early(tx: Tx, when: str, at: str, ends: str) -> None:
    before = kept(tx, "today at 18:00", 30, "20:00")
    moved = event_scheduling.move(tx, before, when, (ANN,), "UTC", NOW)
    assert calendar_events.listing(tx, ALONE, (ANN,)) == [moved]
    assert moved.ends_at is not None
    assert [f"{each:%d %H:%M}" for each in (moved.starts_at, moved.ends_at)] == [at, ends]
    assert jobs.get(tx, calendar_events.job_id(before.id)) is None
    assert fired(tx, moved).due == moved.starts_at - timedelta(minutes=30)


@pytest.mark.parametrize(
    ("when", "clocks"),
    [
        ("every Thursday at 20:00", "8:00 PM–9:00 PM"),
        ("every Thursday", "6:00 PM–7:00 PM"),
        ("every Thursday morning", "9:00 AM–10:00 AM"),
    ],
)
def test_an_event_that_repeats_is_moved_by_saying_how_from_now_on(tx: Tx, when: str, clocks: str) -> None:
    before = kept(tx, "every day at 18:00", ends="19:00")
    moved = event_scheduling.move(tx, before, when, (ANN,), "UTC", NOW)
    told = event_scheduling.on_clocks(moved.starts_at, moved, "UTC")
    assert told.startswith(f"Thu, Mar 5, 2026, {clocks} UTC, every")


@pytest.mark.parametrize(
    ("begins", "when", "why"),
    [
        ("every day at 18:00", "at 20:00", "This event repeats"),
        ("today at 18:00", "soonish", "don't understand the time"),
        ("today at 18:00", "yesterday at 11:00", "past|earlier|over"),
    ],
)
def test_an_event_that_cannot_be_moved_stays(tx: Tx, begins: str, when: str, why: str) -> None:
    before = kept(tx, begins)
    with pytest.raises(Refused, match=why):
        event_scheduling.move(tx, before, when, (ANN,), "UTC", NOW)
    assert calendar_events.listing(tx, ALONE, (ANN,)) == [before]


@pytest.mark.parametrize(
    ("when", "ends", "day", "hour"),
    [
        ("tomorrow at 10:00", "tomorrow at 11:00", 3, 11),
        ("tomorrow at 10:00", "11:00", 3, 11),
        ("wednesday at 15:00", "wednesday at 16:00", 4, 16),
        ("wednesday at 15:00", "thursday at 9:00", 5, 9),
        ("tomorrow at 22:00", "at 1:00", 4, 1),
        ("tomorrow at 19:00", "at 8", 3, 20),
        ("tomorrow at 22:00", "in 3 hours", 4, 1),
        ("tomorrow at 10:00", "in 20 hours", 4, 6),
        ("tomorrow at 18:00", "at 9 am", 4, 9),
        ("tomorrow at 5 am", "tomorrow at 6", 3, 6),
        ("today at 20:00", "tomorrow at 2", 3, 2),
        ("tomorrow at 16:00", "tomorrow at 6", 3, 18),
        ("friday at 18:00", "sunday at 5", 8, 17),
    ],
)
def test_an_end_that_names_a_day_means_that_day(tx: Tx, when: str, ends: str, day: int, hour: int) -> None:
    assert kept(tx, when, ends=ends).ends_at == datetime(2026, 3, day, hour, tzinfo=UTC)


def test_an_event_does_not_end_before_it_begins(tx: Tx) -> None:
    with pytest.raises(Refused, match="end before it starts"):
        kept(tx, "2026-03-05 18:00", ends="2026-03-05 17:00")
    with pytest.raises(Refused, match="end before it starts"):
        kept(tx, "tomorrow at 10:00", ends="tomorrow at 9:00")
    with pytest.raises(Refused, match="end before it starts"):
        kept(tx, "friday at 10:00", ends="thursday at 11:00")
    for when, ends in (("friday at 18:00", "at 17:00"), ("friday at 10:00", "9 am"), ("friday at 14:00", "1 am")):
        with pytest.raises(Refused, match="end before it starts"):
            kept(tx, when, ends=ends)


def test_an_event_ends_after_it_begins(tx: Tx) -> None:
    event = kept(tx, "today at 18:00", ends="at 19:30")
    assert event.ends_at == datetime(2026, 3, 2, 19, 30, tzinfo=UTC)
    with pytest.raises(Refused, match="don't understand"):
        kept(tx, "today at 18:00", ends="later")


def test_a_list_shows_when_events_end_and_how_they_repeat_on_the_clocks_of_their_person(tx: Tx) -> None:
    person_settings.put(tx, (ANN,), Times("Europe/Vienna", "", ""), NOW)
    evening = kept(tx, "every monday at 18:00", ends="at 19:30")
    night = kept(tx, "today at 23:00", ends="tomorrow at 02:00")
    plain = kept(tx, "today at 20:00")
    coming = event_scheduling.upcoming([evening, night, plain], NOW, 1)
    assert event_scheduling.lines(coming, "Europe/Vienna") == [
        f"- Mon, Mar 2, 2026, 6:00 PM–7:30 PM dinner (every Monday) `{evening.id}`",
        f"- Mon, Mar 2, 2026, 8:00 PM dinner `{plain.id}`",
        f"- Mon, Mar 2, 2026, 11:00 PM to Tue, Mar 3, 2026, 2:00 AM dinner `{night.id}`",
    ]
