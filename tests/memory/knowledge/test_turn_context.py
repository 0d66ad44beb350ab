"""What a turn is shown of its conversation: only what its own agent has there, for exactly its hearers."""

from datetime import timedelta

from memory.knowledge import interrupted_work, summaries, working_memory
from memory.knowledge.items import Kind
from memory.knowledge.summaries import Compaction
from memory.knowledge.turn_context import turn_context
from memory.knowledge.working_memory import By, NewEntry
from memory.people.audience import OWNER, PUBLIC, Scope, Trust
from memory.queue.steps import WorkState
from memory.queue.turns import Turn
from memory.store.database import Tx
from memory.store.ids import AgentId, PlaceId
from memory.store.records import replace
from tests.memory.parts import HALL, NOON, a_turn

MINE = a_turn()
OTHERS = (
    replace(MINE, agent=AgentId("agt_other")),
    replace(MINE, place=PlaceId("discord:11")),
    *(replace(MINE, scope=Scope(audience, frozenset({HALL.audience}))) for audience in (OWNER, PUBLIC)),
)


def left(tx: Tx, turn: Turn, text: str, minutes: int = 0) -> None:
    """A summary of a turn's conversation, and interrupted work of its agent."""
    audience, at = turn.scope.audience, NOON + timedelta(minutes=minutes)
    made = Compaction(
        text, audience, Trust.SYSTEM, 1, "", at, (1, 2), agent=turn.agent, place=turn.place, strategy="truncate"
    )
    summaries.add(tx, made)
    interrupted_work.keep(tx, turn, WorkState("failed", text, "", (), (), (), (), (), "", at), [])


def test_summary_and_interrupted_work_are_those_of_the_place_and_the_hearers_alone(tx: Tx) -> None:
    for number, other in enumerate(OTHERS):
        left(tx, other, f"other {number}", number)
    context = turn_context(tx, MINE, [])
    assert (context.compacted, context.items[Kind.WORK]) == (None, [])
    left(tx, MINE, "mine")
    for number, other in enumerate(OTHERS):
        left(tx, other, f"newer {number}", 60 + number)
    context = turn_context(tx, MINE, [])
    assert context.compacted is not None
    assert context.compacted.summary == "mine"
    assert [each.text for each in context.items[Kind.WORK]] == ["mine"]


def test_working_memory_is_shown_until_it_expires(tx: Tx) -> None:
    by = By(MINE.scope, Trust.APPROVED, NOON, namespace="session/discord:10")
    working_memory.save(tx, by, NewEntry("note", "x", timedelta(minutes=5)))
    turns = (replace(MINE, started_at=NOON + timedelta(minutes=minutes)) for minutes in (4, 5))
    before, after = (turn_context(tx, turn, [by.namespace]).items[Kind.WORKING] for turn in turns)
    assert ([each.text for each in before], after) == (["x"], [])
