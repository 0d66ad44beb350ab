"""Events with their details, and which of many are read: an agent's own many hide nobody else's few."""

import json
from datetime import timedelta

import pytest

from memory import activity
from memory.activity import Details, EventFilter, Kind, MessagesReceived, NewEvent, ToolUsed
from memory.people.audience import Audience, Scope, Trust
from memory.store.database import Tx
from memory.store.ids import AgentId, BlockId, EntryId
from tests.memory.parts import GUILD, HALL, NOON, STAR, name_types, store
from texts import _, gettext_lazy, speaking

OTHER = AgentId("agt_other")
DAY = NOON - timedelta(days=1)
SCOPE = Scope(GUILD)


@pytest.fixture
def tx() -> Tx:
    return store(**{OTHER: "Other"})


def happened(tx: Tx, words: str, minute: int, agent: AgentId | None, audience: Audience = GUILD) -> None:
    details = MessagesReceived(1) if words == "message" else Details()
    place = HALL.id if words == "message" else None
    event = NewEvent(details, words, audience, Trust.AGENT, agent, place=place)
    activity.note(tx, event, NOON + timedelta(minutes=minute))


def words(tx: Tx, wanted: EventFilter, limit: int = 20) -> list[str]:
    return [event.words for event in activity.recent(tx, SCOPE, limit, wanted)]


USED = {"tool": "recall", "operation": None, "worked": True, "call": "c1", "seconds": 0.0}
BEFORE = {"5": {"title": "sow", "due_at": None, "parent_id": 4}}


@pytest.mark.parametrize(
    ("details", "kind", "stored"),
    [
        (activity.Activated(), "agent_activated", {}),
        (activity.Deactivated(), "agent_deactivated", {}),
        (MessagesReceived(2), "message_received", {"messages": 2}),
        (activity.MessageSent(1), "message_sent", {"messages": 1}),
        (activity.MessageSent(1, "hall"), "message_sent", {"messages": 1, "target": "hall"}),
        (ToolUsed("recall", None, worked=True, call="c1", seconds=0.0), "tool_executed", USED),
        (
            activity.FolderUsed("recall", None, True, "c1", 0.0, folder="a"),
            "file_accessed", {"type": "folder", **USED, "folder": "a"},
        ),
        (
            activity.AttachmentsRead("attachments", 2, "read"), "file_accessed",
            {"type": "attachments", "folder": "attachments", "files": 2, "operation": "read"},
        ),
        (activity.BlockUpdated("a", "by hand"), "memory_block_updated", {"label": "a", "change": "by hand"}),
        (activity.BlockUpdated("a", "x", BlockId("b")), Kind.BLOCK, {"label": "a", "change": "x", "block": "b"}),
        (activity.TaskAssigned("5", "Moon"), "task_assigned", {"task": "5", "assignee": "Moon"}),
        (
            activity.TaskChanged("5", BEFORE, tool="coord"),
            "notable", {"type": "task", "task": "5", "before": BEFORE, "tool": "coord"},
        ),
        (activity.HandoffLeft("7", "", tool="coord"), "handoff_initiated", {"note": "7", "to": "", "tool": "coord"}),
        (activity.NoteAdded("7"), "notable", {"type": "note", "note": "7"}),
        (
            activity.EntryWidened(EntryId("arc_1"), "widen"),
            "notable", {"type": "entry", "entry": "arc_1", "change": "widen"},
        ),
        (
            activity.MemoryTidied("drm_1", 1, 2, 0),
            "notable", {"type": "tidied", "dream": "drm_1", "retired": 1, "made": 2, "refined": 0},
        ),
        (activity.NightUndone("2026-11-22"), "notable", {"type": "undone", "night_undone": "2026-11-22"}),
        (Details(), "notable", {}),
    ],
)  # fmt: skip
def test_details_are_stored_as_ever_and_read_as_what_they_were(
    tx: Tx, details: Details, kind: str, stored: dict[str, object]
) -> None:
    activity.note(tx, NewEvent(details, "did it", GUILD, Trust.AGENT, STAR), NOON)
    (row,) = tx.all("SELECT event_type, details FROM activity_events")
    assert (row["event_type"], json.loads(row["details"])) == (kind, stored)
    (event,) = activity.recent(tx, SCOPE, 9, EventFilter(DAY))
    assert (event.kind, event.details) == (kind, details)
    tx.run("UPDATE activity_events SET details = json_remove(details, '$.type')")
    name_types(tx)
    assert activity.recent(tx, SCOPE, 9, EventFilter(DAY)) == [event]


@pytest.mark.parametrize(
    ("kind", "stored", "read"),
    [
        (Kind.NOTABLE, '{"type": "task", "task": "5", "of_later": [1]}', activity.TaskChanged("5")),
        (Kind.TOOL, '{"tool": "recall", "operation": "read", "worked": true}', ToolUsed("recall", "read", worked=True)),
        (Kind.TOOL, '{"tool": "theirs", "operation": 3, "worked": true}', Details()),
        (Kind.TOOL, '{"task": "5"}', Details()),
        (Kind.NOTABLE, '{"type": "of_later", "task": "5"}', Details()),
    ],
)
def test_details_of_other_versions_hide_no_event(tx: Tx, kind: Kind, stored: str, read: Details) -> None:
    happened(tx, "did it", 0, STAR)
    tx.run("UPDATE activity_events SET event_type = ?, details = ?", (kind, stored))
    (event,) = activity.recent(tx, SCOPE, 9, EventFilter(DAY))
    assert (event.words, event.details) == ("did it", read)


@pytest.mark.parametrize(
    ("stored", "read"),
    [
        ('{"label": "persona", "change": "append"}', "hat den Block „persona“ ergänzt"),
        ('{"label": "persona", "change": "of_later"}', "hat den Block „persona“ geändert"),
        ("{}", "hat einen Block geändert"),
    ],
)
def test_changes_of_blocks_are_told_in_the_language_of_the_reader_whatever_was_stored(
    tx: Tx, stored: str, read: str
) -> None:
    for number, was in enumerate(("changed block persona", gettext_lazy("changed {label} once", label="persona"))):
        happened(tx, was, number, STAR)
    tx.run("UPDATE activity_events SET event_type = ?, details = ?", (Kind.BLOCK, stored))
    with speaking("de"):
        assert [_(each) for each in words(tx, EventFilter(DAY))] == [read] * 2


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
    chosen, values = activity._newest(EventFilter(DAY, others_than=STAR), 20)
    plan = [row["detail"] for row in tx.all(*SCOPE.bind(f"EXPLAIN QUERY PLAN {chosen}", *values))]
    assert "SEARCH e USING INDEX activity_agent (agent_id=? AND at>?)" in plan
    assert not [step for step in plan if step.startswith("SCAN") and "activity" in step]
