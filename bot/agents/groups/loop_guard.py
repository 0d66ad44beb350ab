"""What keeps agents from talking in circles: how much one message may cause, and how often two may write each other."""

from datetime import datetime, timedelta

from memory import groups
from memory.queue import agent_messages, outbox
from memory.queue.turns import Turn
from memory.store.database import Rows, Tx
from memory.store.ids import AgentId, GroupId, TurnId, place_source
from texts import _

TURN_BUDGET = 16
"""Parts, tasks and messages between agents that one message may cause, all together."""
PAIR_LIMIT, PAIR_COOLDOWN = 6, timedelta(seconds=60)
"""Tasks and messages between the same two agents, either way, within that time; then they have to wait."""


def root_of(rows: Rows, turn: Turn) -> TurnId:
    """The turn that answers what people or the service began, from which this one follows."""
    return agent_messages.root_of(rows, groups.run_of(rows, turn.id))


def budget_left(tx: Tx, turn: Turn, now: datetime) -> bool:
    """Whether the message may cause one more turn; when not, that is said once where the answer is heard."""
    root = root_of(tx, turn)
    if agent_messages.caused(tx, root) < TURN_BUDGET:
        return True
    say_once(tx, turn, f"budget/{root}", now)
    return False


def pair_rests(tx: Tx, turn: Turn, other: AgentId | GroupId, now: datetime) -> bool:
    """Whether the turn's agent and another one, or a group, wrote to each other too often; then that is said once."""
    since = now - PAIR_COOLDOWN
    passed = groups.tasks_between(tx, turn.agent, AgentId(other), since)
    if passed + agent_messages.between(tx, turn.agent, other, since) < PAIR_LIMIT:
        return False
    say_once(tx, turn, f"pair/{root_of(tx, turn)}", now)
    return True


def say_once(tx: Tx, turn: Turn, key: str, now: datetime) -> None:
    """Say in the place of a turn that agents were stopped there; the same key says it once."""
    text = _("(I stopped the agents here because they kept giving each other work.)")
    source = place_source(turn.place)
    outbox.add(tx, outbox.NewRow(f"guard/{key}", turn.place, source, text, turn.scope.audience, turn=turn.id), now)
