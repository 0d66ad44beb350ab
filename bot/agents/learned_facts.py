"""What a turn teaches: at its end, from what people said in it and what tools brought from outside.

Never from the agent's own words, nor from what was kept before: tools that read memory only repeat it. It happens in
the transaction that ends the turn, so that a crash neither loses anything nor learns it twice.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime

from bot.agents.context.prompt import PromptInputs
from bot.agents.tools.base import OutsideTool, Toolset
from memory import groups
from memory.agents import Agent
from memory.knowledge import facts, sessions
from memory.knowledge.facts import Source, Statement
from memory.people.audience import Trust
from memory.queue.steps import forgets
from memory.store.database import Row, Rows, Tx
from memory.store.ids import AgentId, MessageId, SessionId

_WORKED = ("answer", "stage", "task")


def learn(tx: Tx, material: PromptInputs, tools: Callable[[Agent], Toolset], now: datetime) -> None:
    """Learn from a turn whose messages are stored; its session goes on with it."""
    turn = material.turn
    found = tx.all("SELECT id, role, tool_name, trust FROM messages WHERE batch_id = ? ORDER BY id", (turn.id,))
    if not found:
        return
    span = MessageId(found[0]["id"]), MessageId(found[-1]["id"])
    session = sessions.go_on(tx, turn, span, now)
    if forgets(material.steps):
        return  # somebody asked to forget: their words would teach it again
    for said, source in (*_from_people(material, session), *_from_tools(tx, material, session, tools, found)):
        facts.learn(tx, said, source, now)
    heard = list(_from_people(material, session))
    for member in _members(tx, material) if heard else ():  # in the same session, so that it counts once
        for said, source in heard:
            facts.learn(tx, said, replace(source, agent=member), now)


def _members(rows: Rows, material: PromptInputs) -> list[AgentId]:
    """The other agents that had a part in the answer; who only voted, chose or listened has not."""
    parts = groups.parts(rows, material.turn.id)
    worked = (part.agent for part in parts if part.kind in _WORKED and part.status == "done")
    return [agent for agent in dict.fromkeys(worked) if agent != material.turn.agent]


def _from_people(material: PromptInputs, session: SessionId) -> Iterator[tuple[list[Statement], Source]]:
    agent = material.turn.agent
    for message in (asked.message for asked in material.asked):
        if message.role == "user" and message.deleted_at is None and (said := facts.statements(message.text, own=True)):
            who = message.person, message.audience, message.trust
            yield said, Source("said", agent, session, message.id, *who)


def _from_tools(
    tx: Tx, material: PromptInputs, session: SessionId, tools: Callable[[Agent], Toolset], found: list[Row]
) -> Iterator[tuple[list[Statement], Source]]:
    """Of what came from outside the process; it is trusted no further than the turn."""
    turn = material.turn
    given = [row for row in found if row["role"] == "tool"]
    if not given:
        return
    known = tools(material.agent).tools
    for row in given:
        if not isinstance(known.get(row["tool_name"]), OutsideTool):
            continue
        text = tx.one("SELECT substr(content, 1, ?) AS text FROM messages WHERE id = ?", (facts.READ, row["id"]))
        if text is not None and (said := facts.statements(text["text"], own=False)):
            trust = Trust(min(row["trust"], int(turn.trust)))
            who = turn.person, turn.scope.audience, trust
            yield said, Source("tool", turn.agent, session, MessageId(row["id"]), *who)
