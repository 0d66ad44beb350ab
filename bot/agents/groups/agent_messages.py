"""An agent writes to another one or to a group: a row in the inbox of the place, answered there after people are.

It is said to the same ears: the answer is heard where the writer's own is, and whoever answers may use what the writer
might. What nobody could take up is refused, and so is what goes in circles; the words for the model say why.
"""

from dataclasses import dataclass
from datetime import datetime

from bot.agents.context.quotes import Quoted, display_name, say
from bot.agents.groups.loop_guard import TURN_BUDGET, budget_left, pair_rests, root_of
from bot.errors import ToolError
from memory import agents, internal_events
from memory.agents import Agent, Group
from memory.queue import agent_messages, payloads
from memory.queue.agent_messages import Sent
from memory.queue.turns import Turn
from memory.store.database import Rows, Tx
from memory.store.ids import AgentId, MessageId, snowflakes

_NOBODY = "The message was not sent"


@dataclass(frozen=True)
class Letter:
    """What is written, by the agent of a turn; `about` is the message that the turn answers."""

    turn: Turn
    by: Agent
    text: str
    about: MessageId | None


@dataclass(frozen=True)
class To:
    """Who is written to: an agent in a group that it speaks in, or (without one) the group as it answers."""

    group: Group
    agent: Agent | None = None

    @property
    def name(self) -> str:
        return self.group.name if self.agent is None else self.agent.name


def agent_called(rows: Rows, turn: Turn, name: str) -> To:
    """Another agent, in the group of the turn if it speaks there. Raises ToolError."""
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
    """Queue it; empty, or why it was not done. Raises ToolError."""
    turn = letter.turn
    if not budget_left(tx, turn, now):
        return f"{_NOBODY}: the message that you answer has caused {TURN_BUDGET} turns of agents. Answer now."
    if pair_rests(tx, turn, to.group.id if to.agent is None else to.agent.id, now):
        return f"{_NOBODY}: {to.name} and you have written to each other too often. Answer with what you have."
    agent = None if to.agent is None else to.agent.id
    event = internal_events.Event(
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
    row = internal_events.add(tx, event, now)
    if row is not None:
        agent_messages.add(tx, Sent(row, root_of(tx, turn), turn.id, turn.agent, agent, to.group.id), now)
    return ""


def instructions(by: str, to: str, heard_by: str) -> Quoted:
    """What whoever answers is told beside the words."""
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
