"""Sessions: conversations without a gap of 30 minutes, of one agent in one place, as heard by one audience.

A session begins with a turn and is over after half an hour without one; then it gets a summary. Its
rows belong to the store of facts (`memory.knowledge.facts`), which exports and erases them. When one of its messages
changes, triggers delete the summary, and it is made again without the old text.
"""

import json
from datetime import datetime, timedelta

from msgspec import Struct

from memory.knowledge import work_extraction
from memory.people.audience import Audience, Scope, Trust
from memory.people.hidden_people import shown
from memory.queue.messages import COLUMNS, Message, to_message
from memory.queue.turns import Turn
from memory.store.database import Row, Rows, Tx, Value, as_dict
from memory.store.ids import AgentId, PlaceId, SessionId
from memory.store.row_mapper import RowMapper

GAP = timedelta(minutes=30)
"""A session is over after this time without a turn."""
KEPT = 30
"""Summarized sessions kept per agent and audience."""


def extend(tx: Tx, turn: Turn, now: datetime) -> SessionId:
    """Add a finished turn to the current session, or begin one, from its stored messages."""
    sql = f"""UPDATE sessions SET last_at = ?, trust = min(trust, ?), end_position =
                (SELECT max(ifnull(max(id), 0), end_position) FROM messages WHERE batch_id = ?)
              WHERE id = ({_OPEN}) RETURNING id"""
    if (found := tx.value(sql, (now, int(turn.trust), turn.id, *_place(turn)), SessionId)) is not None:
        return found
    ((first, last),) = tx.all("SELECT min(id), max(id) FROM messages WHERE batch_id = ?", (turn.id,))
    if first is None:
        return SessionId(turn.id)
    values: dict[str, Value] = {
        "id": turn.id,
        "agent_id": turn.agent,
        "place_id": turn.place,
        "start_position": first,
        "end_position": last,
        "audience": turn.scope.audience,
        "trust": int(turn.trust),
        "started_at": turn.started_at,
        "last_at": now,
    }
    tx.insert("sessions", values)
    return SessionId(turn.id)


class Session(Struct, frozen=True):
    id: SessionId
    agent: AgentId
    place: PlaceId
    what: str
    decisions: tuple[str, ...]
    files: tuple[str, ...]
    """Files and links."""
    commits: tuple[str, ...]
    unfinished: tuple[str, ...]
    input_tokens: int
    output_tokens: int
    audience: Audience
    trust: Trust
    started_at: datetime
    last_at: datetime


def finished(rows: Rows, now: datetime) -> list[SessionId]:
    """Sessions that are over and have no summary yet, oldest first."""
    sql = "SELECT id FROM sessions WHERE ended = 0 AND last_at <= ? ORDER BY last_at LIMIT 20"
    return [SessionId(row["id"]) for row in rows.all(sql, (now - GAP,))]


def summarize(tx: Tx, identifier: SessionId) -> None:
    """Summarize a session from what is left of its messages; delete it if nothing is.

    The newest `KEPT` per agent and audience stay.
    """
    session = tx.one("SELECT * FROM sessions WHERE id = ? AND ended = 0", (identifier,))
    if session is None:
        return
    heard = said(tx, session)
    asked = [message.text for message in heard if message.role == "user"]
    answers = [message.text for message in heard if message.role == "assistant"]
    if not any(text.strip() for text in (*asked, *answers)):
        tx.run("DELETE FROM sessions WHERE id = ?", (identifier,))
        return
    text = "\n".join([*asked, *answers])
    used = tx.one(_USED, (session["agent_id"], session["place_id"], session["started_at"], session["last_at"]))
    tx.run(
        """UPDATE sessions SET ended = 1, what = ?, decisions = ?, files = ?, commits = ?, unfinished = ?,
           input_tokens = ?, output_tokens = ?, trust = ? WHERE id = ?""",
        (
            work_extraction.summary(next((each for each in asked if each.strip()), ""), answers),
            *(
                _list(found(text))
                for found in (work_extraction.decisions, work_extraction.files, work_extraction.commits)
            ),
            _list(work_extraction.unfinished(text)),
            0 if used is None else used[0],
            0 if used is None else used[1],
            int(min(message.trust for message in heard)),
            identifier,
        ),
    )
    tx.run(_RING, (session["agent_id"], session["audience"], KEPT))


_USED = """SELECT coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0) FROM model_usage
           WHERE agent_id = ? AND place_id = ? AND at BETWEEN ? AND ?"""
_RING = """DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE agent_id = ? AND audience = ? AND ended = 1
           ORDER BY last_at DESC, id DESC LIMIT -1 OFFSET ?)"""


TURNS = """SELECT id FROM turns WHERE agent_id = :agent_id AND place_id = :place_id AND audience = :audience
           AND started_at BETWEEN :started_at AND :last_at"""
"""The turns of a session, by its columns."""


def said(rows: Rows, session: Row) -> list[Message]:
    """The messages in the turns of a session, in order, without tools."""
    sql = f"""SELECT {COLUMNS} FROM messages WHERE place_id = :place_id AND audience = :audience
              AND id BETWEEN :start_position AND :end_position AND deleted_at IS NULL AND tool_call_id IS NULL
              AND role IN ('user', 'assistant') AND {shown("messages")} AND batch_id IN ({TURNS}) ORDER BY id"""
    return [to_message(row) for row in rows.all(sql, as_dict(session))]


def recent(rows: Rows, scope: Scope, limit: int, agent: AgentId | None = None) -> list[Session]:
    """Finished sessions that the scope may know, newest first; of one agent or all."""
    sql = """SELECT * FROM sessions WHERE ended = 1 AND (? IS NULL OR agent_id = ?) AND KNOWN(audience)
              ORDER BY last_at DESC, id DESC LIMIT +?"""
    return _session.all(rows, *scope.bind(sql, agent, agent, limit))


def _list(found: list[str]) -> str:
    return json.dumps(found, ensure_ascii=False)


_session = RowMapper(Session)


def of_turn(rows: Rows, turn: Turn) -> SessionId:
    """The session that a running turn will belong to when it ends."""
    return rows.value(_OPEN, _place(turn), SessionId) or SessionId(turn.id)


_OPEN = """SELECT id FROM sessions WHERE agent_id = ? AND audience = ? AND ended = 0 AND place_id = ? AND last_at > ?
           ORDER BY last_at DESC LIMIT 1"""


def _place(turn: Turn) -> tuple[Value, ...]:
    return turn.agent, turn.scope.audience, turn.place, turn.started_at - GAP
