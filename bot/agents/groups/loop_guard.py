"""Stops agents that keep giving each other work: a budget for each message, and a pause for each pair.

A message to another agent or a group is an inbox row of the place, answered after people are. The audience stays the
same: the answer is sent where the writer's own is, and whoever answers may use what the writer may.
"""

from datetime import datetime, timedelta

from bot.agents.context.quotes import PromptText, display_name, say
from bot.agents.patrols import is_patrol
from memory import group_runs
from memory.queue import agent_messages, outbox
from memory.queue.turns import Turn
from memory.store.database import Rows, Tx
from memory.store.ids import AgentId, GroupId, TurnId
from texts import _

TURN_BUDGET = 16
"""Member turns, tasks and messages between agents that one message may cause in total."""
PAIR_LIMIT, PAIR_COOLDOWN = 6, timedelta(seconds=60)
"""Tasks and messages between the same two agents, in both directions, within that time; then they must wait."""


def root_of(rows: Rows, turn: Turn) -> TurnId:
    """The turn at the start of the chain, which answers people or the service."""
    return agent_messages.root_of(rows, group_runs.run_of(rows, turn.id))


def budget_left(tx: Tx, turn: Turn, now: datetime) -> bool:
    """Whether the message may cause one more turn; if not, a note says so once where the answer goes."""
    root = root_of(tx, turn)
    if agent_messages.caused(tx, root) < TURN_BUDGET:
        return True
    say_once(tx, turn, f"budget/{root}", now)
    return False


def pair_rests(tx: Tx, turn: Turn, other: AgentId | GroupId, now: datetime) -> bool:
    """Whether the turn's agent and another agent or group must pause because they wrote too often; a note says so
    once."""
    since = now - PAIR_COOLDOWN
    passed = group_runs.tasks_between(tx, turn.agent, AgentId(other), since)
    if passed + agent_messages.between(tx, turn.agent, other, since) < PAIR_LIMIT:
        return False
    say_once(tx, turn, f"pair/{root_of(tx, turn)}", now)
    return True


def say_once(tx: Tx, turn: Turn, key: str, now: datetime) -> None:
    """Send a note, once per key, to the place of a turn that agents were stopped there; patrols have no readers."""
    if is_patrol(turn.place):
        return
    text = _("(I stopped the agents here because they kept giving each other work.)")
    outbox.add(tx, outbox.NewRow(f"guard/{key}", turn.place, text, turn.scope.audience, turn=turn.id), now)


def instructions(by: str, to: str, readers: str) -> PromptText:
    """Instructions for whoever answers, in addition to the message."""
    return say(
        "[system] {by}, another agent, wrote that to {to}; people did not read it. Your final text is said here, "
        "heard by: {readers}. An empty one stays silent. `send_message` writes back to {by}, if that is needed.",
        by=display_name(by),
        to=display_name(to),
        readers=readers,
    )
