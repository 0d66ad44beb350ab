"""Which of many events are read: an agent's own many hide nobody else's few."""

from datetime import timedelta

import pytest

from memory import activity
from memory.activity import EventFilter, Kind, NewEvent
from memory.people.audience import Audience, Scope, Trust
from memory.store.database import Tx
from memory.store.ids import AgentId
from tests.memory.parts import GUILD, HALL, NOON, STAR, store

OTHER = AgentId("agt_other")
DAY = NOON - timedelta(days=1)
SCOPE = Scope(GUILD)


@pytest.fixture
def tx() -> Tx:
    return store(**{OTHER: "Other"})


def happened(tx: Tx, words: str, minute: int, agent: AgentId | None, audience: Audience = GUILD) -> None:
    kind = Kind.RECEIVED if words == "message" else Kind.NOTABLE
    place = HALL.id if words == "message" else None
    event = NewEvent(kind, words, audience, Trust.AGENT, agent, place=place)
    activity.note(tx, event, NOON + timedelta(minutes=minute))


def words(tx: Tx, wanted: EventFilter, limit: int = 20) -> list[str]:
    return [event.words for event in activity.recent(tx, SCOPE, limit, wanted)]


def test_what_others_did_is_found_behind_all_that_an_agent_did_itself(tx: Tx) -> None:
    happened(tx, "by hand", 0, None)
    happened(tx, "elsewhere", 1, OTHER, Audience("guild:discord:2"))
    happened(tx, "by the other", 2, OTHER)
    for minute in range(3, 60):
        happened(tx, "message", minute, STAR)
    assert words(tx, EventFilter(DAY, others_than=STAR)) == ["by the other", "by hand"]
    assert words(tx, EventFilter(DAY, others_than=STAR), 1) == ["by the other"]
    assert words(tx, EventFilter(NOON + timedelta(minutes=1), others_than=STAR)) == ["by the other"]
    assert words(tx, EventFilter(DAY, others_than=OTHER), 3) == ["message"] * 3
    assert words(tx, EventFilter(DAY, others_than=OTHER), 99)[-1] == "by hand"


def test_of_its_own_only_the_newest_are_looked_at(tx: Tx) -> None:
    happened(tx, "long ago", 0, STAR)
    for minute in range(1, 10):
        happened(tx, "message", minute, STAR)
    elsewhere = EventFilter(DAY, agent=STAR, unless_in=HALL.id)
    assert words(tx, elsewhere) == ["long ago"]
    assert words(tx, EventFilter(DAY, agent=STAR, unless_in=HALL.id, passed=10)) == ["long ago"]
    assert words(tx, EventFilter(DAY, agent=STAR, unless_in=HALL.id, passed=9)) == []


def test_only_what_is_not_found_itself_is_in_the_index(tx: Tx) -> None:
    happened(tx, "message", 1, STAR)
    happened(tx, "note", 2, STAR)
    assert [row["search_text"] != "" for row in tx.all("SELECT * FROM activity_events ORDER BY at")] == [False, True]


def test_in_the_plan_no_event_of_the_asking_agent_is_passed(tx: Tx) -> None:
    chosen, values = activity._newest(EventFilter(DAY, others_than=STAR), SCOPE, 20)
    plan = [row["detail"] for row in tx.all(f"EXPLAIN QUERY PLAN {chosen}", values)]
    assert "SEARCH e USING INDEX activity_agent (agent_id=? AND at>?)" in plan
    assert not [step for step in plan if step.startswith("SCAN") and "activity" in step]
