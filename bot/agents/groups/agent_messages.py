"""Messages from an agent to another agent or a group: an inbox row of the place, answered after people are.

The audience stays the same: the answer is sent where the writer's own is, and whoever answers may use what the writer
might. A message that nobody could answer is refused, and so is one that goes in circles; the model is told why.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.agents.context.quotes import Quoted, display_name, say
from bot.errors import ToolError
from memory import agents, groups
from memory.agents import Agent, Group
from memory.queue import agent_messages, inbox, outbox, payloads
from memory.queue.agent_messages import Sent
from memory.queue.turns import Turn
from memory.store.database import Rows, Tx
from memory.store.ids import AgentId, GroupId, MessageId, TurnId, snowflakes
from texts import _

TURN_BUDGET = 16
"""Member turns, tasks and messages between agents that one message may cause in total."""
PAIR_LIMIT, PAIR_COOLDOWN = 6, timedelta(seconds=60)
"""Tasks and messages between the same two agents, in both directions, within that time; then they must wait."""


def root_of(rows: Rows, turn: Turn) -> TurnId:
    """The turn at the start of the chain, which answers people or the service."""
    return agent_messages.root_of(rows, groups.run_of(rows, turn.id))


def budget_left(tx: Tx, turn: Turn, now: datetime) -> bool:
    """Whether the message may cause one more turn; if not, that is said once in the place of the answer."""
    root = root_of(tx, turn)
    if agent_messages.caused(tx, root) < TURN_BUDGET:
        return True
    say_once(tx, turn, f"budget/{root}", now)
    return False


def pair_rests(tx: Tx, turn: Turn, other: AgentId | GroupId, now: datetime) -> bool:
    """Whether the turn's agent and another agent or group must wait, since they wrote too often; said once."""
    since = now - PAIR_COOLDOWN
    passed = groups.tasks_between(tx, turn.agent, AgentId(other), since)
    if passed + agent_messages.between(tx, turn.agent, other, since) < PAIR_LIMIT:
        return False
    say_once(tx, turn, f"pair/{root_of(tx, turn)}", now)
    return True


def say_once(tx: Tx, turn: Turn, key: str, now: datetime) -> None:
    """Send a note once, by key, to the place of a turn that agents were stopped there."""
    text = _("(I stopped the agents here because they kept giving each other work.)")
    outbox.add(tx, outbox.NewRow(f"guard/{key}", turn.place, text, turn.scope.audience, turn=turn.id), now)


_NOBODY = "The message was not sent"


@dataclass(frozen=True)
class Letter:
    """A message by the agent of a turn; `about` is the message that the turn answers."""

    turn: Turn
    by: Agent
    text: str
    about: MessageId | None


@dataclass(frozen=True)
class To:
    """The recipient: an agent in a group where it speaks, or (None) the group."""

    group: Group
    agent: Agent | None = None

    @property
    def name(self) -> str:
        return self.group.name if self.agent is None else self.agent.name


def agent_called(rows: Rows, turn: Turn, name: str) -> To:
    """Another agent, in the turn's group if it speaks there. Raises ToolError."""
    known = agents.agents(rows)
    found = next((each for each in known if each.name.casefold() == _bare(name)), None)
    if found is None or found.id == turn.agent:
        others = ", ".join(each.name for each in known if each.id != turn.agent) or "nobody"
        why = "You cannot write to yourself." if found is not None else f"There is no agent {name!r}."
        raise ToolError(f"{why} You can write to: {others}.")
    if found.status != "active":
        raise ToolError(f"{_NOBODY}: {found.name} is {found.status} and answers nobody.")
    speaks = [each for each in agents.groups_of(rows, found.id) if _speaks(each, found.id)]
    if not speaks:
        raise ToolError(f"{_NOBODY}: {found.name} only listens, or is in no group.")
    return To(next((each for each in speaks if each.id == turn.group), speaks[0]), found)


def group_called(rows: Rows, turn: Turn, name: str) -> To:
    """A group in which somebody else can answer. Raises ToolError."""
    known = agents.groups(rows)
    found = next((each for each in known if each.name.casefold() == _bare(name)), None)
    if found is None:
        there = ", ".join(each.name for each in known)
        raise ToolError(f"There is no group {name!r}. The groups are: {there}.")
    able = [agent for agent in agents.answering(rows, found) if _speaks(found, agent)]
    if not set(able) - {turn.agent}:
        raise ToolError(f"{_NOBODY}: nobody else in the group {found.name} can answer.")
    return To(found)


def write(tx: Tx, letter: Letter, to: To, now: datetime) -> str:
    """Queue a message; returns why that was refused, empty if it was not. Raises ToolError."""
    turn = letter.turn
    if not budget_left(tx, turn, now):
        return f"{_NOBODY}: the message that you answer has caused {TURN_BUDGET} turns of agents. Answer now."
    if pair_rests(tx, turn, to.group.id if to.agent is None else to.agent.id, now):
        return f"{_NOBODY}: {to.name} and you have written to each other too often. Answer with what you have."
    agent = None if to.agent is None else to.agent.id
    event = inbox.Event(
        source=agent_messages.SOURCE,
        external_id=f"{turn.id}/{snowflakes.next()}",
        place=turn.place,
        person=turn.person,
        group=to.group.id,
        text=letter.text,
        hearers=turn.scope,
        trust=turn.trust,
        payload=payloads.Letter(to.name, agent, letter.about),
        by=(letter.by.id, letter.by.name),
    )
    row = inbox.add_event(tx, event, now)
    if row is not None:
        agent_messages.add(tx, Sent(row, root_of(tx, turn), turn.id, turn.agent, agent, to.group.id), now)
    return ""


def instructions(by: str, to: str, heard_by: str) -> Quoted:
    """Instructions for whoever answers, beside the message."""
    return say(
        "[system] {by}, another agent, wrote that to {to}; people did not read it. Your final text is said here, "
        "heard by: {heard_by}. An empty one stays silent. `send_message` writes back to {by}, if that is needed.",
        by=display_name(by),
        to=display_name(to),
        heard_by=heard_by,
    )


def _speaks(group: Group, agent: AgentId) -> bool:
    return any(member.agent == agent and member.role != "observer" for member in group.members)


def _bare(name: str) -> str:
    return name.strip().removeprefix("@").casefold()
