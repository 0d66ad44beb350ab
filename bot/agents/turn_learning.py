"""What is learned from a turn at its end: facts from messages and outside tools, and people's feedback.

`memory.knowledge.fact_extraction` finds the facts in a text. They are never learned from the agent's own words, nor
from tools that read memory, which repeat it. Learning happens in the transaction that ends the turn, so that a crash
neither loses nor repeats anything. Corrections in words, and reactions to our messages, are recorded on arrival.
"""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from bot.agents.context.prompt import PromptInputs
from bot.agents.tools.base import OutsideTool, Toolset
from memory import group_runs
from memory.agents import Agent
from memory.knowledge import facts, feedback, sessions
from memory.knowledge.fact_extraction import READ, Statement, statements
from memory.knowledge.facts import Source
from memory.knowledge.feedback import Signal
from memory.knowledge.items import By
from memory.people.audience import Scope, Trust
from memory.queue import messages, outbox, turns
from memory.queue.inbox import AcceptedRow
from memory.queue.notifications import Kind, Notification
from memory.queue.steps import CallEnded, forgets
from memory.queue.turns import Turn
from memory.store.database import Rows, Tx
from memory.store.ids import AgentId, MessageId, SessionId, TurnId
from memory.store.records import replace

_WORKED = ("answer", "stage", "task")


def learn(tx: Tx, material: PromptInputs, tools: Callable[[Agent], Toolset], now: datetime) -> None:
    """Learn from a turn whose messages are stored, and extend its session."""
    session = sessions.extend(tx, material.turn, now)
    if forgets(material.steps):
        return  # somebody asked to forget: their message would teach it again
    heard = list(_from_people(material, session))
    for said, source in (*heard, *_from_tools(tx, material, session, tools)):
        facts.learn(tx, said, source, now)
    for member in _members(tx, material) if heard else ():  # in the same session, so that it counts once
        for said, source in heard:
            facts.learn(tx, said, replace(source, agent=member), now)


def _members(rows: Rows, material: PromptInputs) -> list[AgentId]:
    """The other agents that contributed to the answer; not those that only voted, chose or listened."""
    parts = group_runs.parts(rows, material.turn.id)
    worked = (part.agent for part in parts if part.kind in _WORKED and part.status == "done")
    return [agent for agent in dict.fromkeys(worked) if agent != material.turn.agent]


def _from_people(material: PromptInputs, session: SessionId) -> Iterator[tuple[list[Statement], Source]]:
    agent = material.turn.agent
    for message in (asked.message for asked in material.asked):
        if message.role == "user" and message.deleted_at is None and (said := statements(message.text, own=True)):
            who = message.person, message.audience, message.trust
            yield said, Source("said", agent, session, message.id, *who)


def _from_tools(
    tx: Tx, material: PromptInputs, session: SessionId, tools: Callable[[Agent], Toolset]
) -> Iterator[tuple[list[Statement], Source]]:
    """Statements from outside the process; their trust is at most the turn's."""
    if not any(isinstance(step.body, CallEnded) for step in material.steps):
        return
    turn, known = material.turn, tools(material.agent).tools
    sql = """SELECT id, tool_name, trust, substr(content, 1, ?) AS text FROM messages
             WHERE batch_id = ? AND role = 'tool' ORDER BY id"""
    for row in tx.all(sql, (READ, turn.id)):
        outside = isinstance(known.get(row["tool_name"]), OutsideTool)
        if outside and (said := statements(row["text"], own=False)):
            trust = Trust(min(row["trust"], int(turn.trust)))
            who = turn.person, turn.scope.audience, trust
            yield said, Source("tool", turn.agent, session, MessageId(row["id"]), *who)


_AFTER = timedelta(minutes=30)  # later messages are not taken as corrections


def note_feedback(tx: Tx, notification: Notification, accepted: AcceptedRow | None, now: datetime) -> None:
    """Record feedback in a notification, inside the transaction that accepts it, so once."""
    if accepted is None or notification.speaker is None:
        return
    if notification.kind == Kind.REACTION:
        _note_thumb(tx, notification, now)
    elif notification.kind == Kind.MESSAGE and accepted.group is not None and feedback.corrects(notification.text):
        _note_correction(tx, notification, now)


def note_failure(tx: Tx, turn: Turn, tool: str, now: datetime) -> None:
    """Record that a tool failed in a turn; only its name."""
    feedback.note(tx, Signal.FAILURE, By.of_turn(turn, None, now), tool)


def _note_thumb(tx: Tx, notification: Notification, now: datetime) -> None:
    kind = feedback.thumb(notification.text)
    said = None if kind is None else outbox.said_by_us(tx, notification.source, notification.subject)
    if kind is None or said is None or said.turn is None or said.place != notification.place.id:
        return
    turn = turns.get(tx, said.turn)
    if turn is not None:
        feedback.note(tx, kind, _by(notification, turn.agent, turn.id, None, now))


def _note_correction(tx: Tx, notification: Notification, now: datetime) -> None:
    answered = feedback.newest_answer(tx, notification.place.id, now - _AFTER)
    heard = messages.by_external(tx, notification.source, notification.external_id)
    if answered is None or heard is None:
        return
    feedback.note(tx, Signal.CORRECTION, _by(notification, *answered, heard.id, now))


def _by(notification: Notification, agent: AgentId, turn: TurnId, message: MessageId | None, now: datetime) -> By:
    place = notification.place
    return By(Scope(place.audience), notification.trust, now, agent, notification.person, place.id, turn, message)
