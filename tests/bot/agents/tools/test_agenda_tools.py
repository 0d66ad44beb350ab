"""The tools for reminders and events: until when one is put off, and how long before an event somebody is told."""

from typing import Any

import pytest
from pydantic import ValidationError

from bot.agents.owner_notices import Notices
from bot.agents.tools.agenda import EventArguments, EventsTool, ReminderArguments, RemindersTool
from bot.agents.tools.base import Outcome, ToolContext
from memory.people import person_settings
from memory.people.audience import OWNER, PUBLIC, Scope, person_audience
from memory.people.person_settings import Times
from memory.queue.inbox import note_place
from memory.store.database import Tx
from memory.store.errors import Refused
from memory.store.ids import PersonId, PlaceId
from memory.store.records import replace
from tests.bot.agents.test_next_step import AGENT, TURN
from tests.bot.parts import ANN, BOB, NOON
from tests.memory.parts import HALL, notification, store
from texts import _, speaking, unpacked

NO_DATABASE: Any = None
CONTEXT = ToolContext(
    replace(TURN, place=PlaceId(f"discord:user:{ANN.id}"), scope=Scope(person_audience(ANN.id))),
    AGENT,
    None,
    NOON,
    NO_DATABASE,
)


def selves(person: PersonId) -> tuple[PersonId, ...]:
    return (person,)


REMINDERS = RemindersTool("Asia/Tokyo", selves, Notices(PlaceId("discord:user:1")))


def reminders(tx: Tx, **given: Any) -> Outcome:
    return REMINDERS.work(tx, CONTEXT, ReminderArguments.model_validate(given))


def events(tx: Tx, **given: Any) -> Outcome:
    return EventsTool("Asia/Tokyo", selves).work(tx, CONTEXT, EventArguments.model_validate(given))


def listed(tx: Tx) -> list[tuple[str, str]]:
    return [(each["text"], each["at"]) for each in reminders(tx, operation="list").data["reminders"]]


@pytest.fixture
def tx() -> Tx:
    made = store(agt="Carina")
    reminders(made, operation="set", text="call mum", when="in 20 minutes")
    return made


@pytest.mark.parametrize(
    ("given", "at"),
    [
        ({}, "2026-11-22T12:10:00.000Z"),
        ({"minutes": 45}, "2026-11-22T12:45:00.000Z"),
        ({"when": "tomorrow at 09:00"}, "2026-11-23T00:00:00.000Z"),
        ({"when": "tomorrow at 09:00", "minutes": 45}, "2026-11-23T00:00:00.000Z"),
        ({"when": "2026-11-24T08:30:00+01:00"}, "2026-11-24T07:30:00.000Z"),
        ({"when": "20 min"}, "2026-11-22T12:20:00.000Z"),
    ],
)
def test_a_reminder_is_put_off_for_minutes_or_until_a_time_on_the_clocks_of_the_person(
    tx: Tx, given: dict[str, Any], at: str
) -> None:
    tx.run("UPDATE reminders SET status = 'told'")
    done = reminders(tx, operation="snooze", which="mum", **given)
    assert done.data["at"] == at
    assert done.text.startswith("it comes again at ")
    assert listed(tx) == [("call mum", at)], "it takes the place of what was planned"


def test_one_that_has_not_gone_off_is_moved_to_a_time_but_not_put_off(tx: Tx) -> None:
    before = listed(tx)
    for given in ({}, {"minutes": 45}, {"when": "in 30 minutes"}, {"when": "20 min"}):
        with pytest.raises(Refused, match=r"“call mum” hasn't gone off yet.* say “move call mum to"):
            reminders(tx, operation="snooze", which="mum", **given)
    assert listed(tx) == before
    done = reminders(tx, operation="snooze", which="mum", when="tomorrow at 09:00")
    assert done.text.startswith("moved to ")
    assert listed(tx) == [("call mum", "2026-11-23T00:00:00.000Z")], "it takes the place of what was planned"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"when": "yesterday at 09:00"}, "in the past"),
        ({"when": "soonish"}, "I don't understand the time “soonish”"),
        ({"when": "2026-02-30 09:00"}, "no such date or time: 2026-02-30 09:00"),
        ({"which": "dad", "when": "tomorrow"}, "There is no open reminder"),
    ],
)
def test_a_time_that_is_none_puts_nothing_off(tx: Tx, given: dict[str, str], words: str) -> None:
    before = listed(tx)
    with pytest.raises(Refused, match=words):
        reminders(tx, operation="snooze", **{"which": "mum", **given})
    assert listed(tx) == before


@pytest.mark.parametrize("given", [{"minutes": 0}, {"minutes": 44_641}, {"when": "x" * 201}])
def test_a_span_that_is_too_short_or_too_long_is_refused(tx: Tx, given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        reminders(tx, operation="snooze", which="mum", **given)


def test_a_reminder_set_in_the_dashboard_says_where_it_comes(tx: Tx) -> None:
    turn = replace(TURN, place=PlaceId("api:chat/grp_1"), scope=Scope(OWNER))
    given = ReminderArguments(operation="set", text="tea", when="in 5 minutes")
    made = REMINDERS.work(tx, replace(CONTEXT, turn=turn), given)
    assert made.text.endswith("I'll tell you in a direct message on Discord, not here.")
    with speaking("de"):
        assert _(unpacked(made.data["note"])) == "Ich melde mich in einer Direktnachricht auf Discord, nicht hier."


@pytest.mark.parametrize(
    ("kind", "chosen", "told"), [("guild", "privately", True), ("guild", "here", False), ("direct", "privately", False)]
)
def test_a_reminder_that_does_not_come_where_it_is_set_says_so(tx: Tx, kind: str, chosen: str, told: bool) -> None:
    note_place(tx, notification(1, place=replace(HALL, kind=kind)), NOON)
    person_settings.put(tx, (ANN.id,), Times(reminders=chosen), NOON)
    turn = replace(TURN, place=HALL.id, scope=Scope(person_audience(ANN.id)))
    given = ReminderArguments(operation="set", text="tea", when="in 5 minutes")
    made = REMINDERS.work(tx, replace(CONTEXT, turn=turn), given)
    assert made.text.endswith("It will arrive in a direct message.") == told


def test_what_is_done_is_not_put_off(tx: Tx) -> None:
    reminders(tx, operation="done", which="mum")
    with pytest.raises(Refused):
        reminders(tx, operation="snooze", which="mum", when="tomorrow")


@pytest.mark.parametrize(("given", "ahead"), [({}, 15), ({"reminder_minutes": 0}, 0), ({"reminder_minutes": -1}, -1)])
def test_an_event_says_how_long_before_it_somebody_is_told(given: dict[str, int], ahead: int) -> None:
    tx = store(agt="Carina")
    made = events(tx, operation="add", title="dinner", when="tomorrow at 19:00", **given)
    assert made.data["ahead"] == ahead
    assert [each["ahead"] for each in events(tx, operation="list").data["events"]] == [ahead]


def test_what_is_coming_names_the_reminders_of_those_days(tx: Tx) -> None:
    reminders(tx, operation="set", text="renew the passport", when="in 20 days")
    events(tx, operation="add", title="dinner", when="tomorrow at 19:00")
    week, month = (events(tx, operation="list", days=days) for days in (7, 31))
    assert [each["text"] for each in week.data["reminders"]] == ["call mum"]
    assert [each["text"] for each in month.data["reminders"]] == ["call mum", "renew the passport"]
    said = week.text.splitlines()
    assert [each in one for each, one in zip(("dinner", "Reminders:", "call mum"), said, strict=True)] == [True] * 3
    assert events(store(), operation="list").text == "Nothing is planned that may be mentioned here."


@pytest.mark.parametrize("turn", [{"person": BOB.id}, {"scope": Scope(PUBLIC)}])
def test_what_is_coming_names_no_reminder_of_others_or_of_elsewhere(tx: Tx, turn: dict[str, Any]) -> None:
    context = replace(CONTEXT, turn=replace(CONTEXT.turn, **turn))
    coming = EventsTool("Asia/Tokyo", selves).work(tx, context, EventArguments(operation="list"))
    assert (coming.text, coming.data) == (
        "Nothing is planned that may be mentioned here.",
        {"events": [], "reminders": []},
    )


@pytest.mark.parametrize("minutes", [-2, 44_641])
def test_an_event_is_not_told_after_it_or_months_before(minutes: int) -> None:
    with pytest.raises(ValidationError):
        events(store(), operation="add", title="dinner", when="tomorrow at 19:00", reminder_minutes=minutes)
