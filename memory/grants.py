"""Standing permissions, and the record of every question, answer and use.

A grant is one agent's leave to do one thing, with arguments that fit its pattern, for words of one audience,
until it ends or is revoked. The record is append only: the database itself refuses to change or delete its
rows, and arguments stand in it as a digest alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memory.people.audience import Audience
from memory.requests import Kind, Need, Request
from memory.store.clock import to_text
from memory.store.database import Rows, Tx, as_dict
from memory.store.ids import AgentId, GrantId, PersonId, RequestId, snowflakes
from memory.store.row_mapper import RowMapper


@dataclass(frozen=True)
class Grant:
    """`pattern` holds arguments that a call must have, with their values; see `covers` for the others."""

    id: GrantId
    kind: Kind
    subject: str
    agent: AgentId
    pattern: Mapping[str, Any]
    audience: Audience
    person: PersonId
    request: RequestId | None
    created_at: datetime
    expires_at: datetime | None = None


@dataclass(frozen=True)
class Given:
    """The arguments of a call; `bound` are those among them that a lasting yes to it fixes."""

    all: Mapping[str, Any]
    bound: Mapping[str, Any]


def add(tx: Tx, request: Request, by: PersonId, now: datetime, until: datetime | None) -> Grant:
    """Allow what a request asked for from now `until` then (None: until it is revoked)."""
    grant = Grant(
        GrantId(snowflakes.next()),
        request.kind,
        request.subject,
        request.agent,
        request.pattern,
        request.hearers.audience,
        by,
        request.id,
        now,
        until,
    )
    give(tx, grant)
    return grant


def give(tx: Tx, grant: Grant) -> None:
    """Store a grant: one that a request asked for, or one that nobody had to ask for."""
    tx.insert("permission_grants", _grant.values(grant))


def matching(rows: Rows, need: Need, agent: AgentId, given: Given, audience: Audience, now: datetime) -> Grant | None:
    """A grant that covers this call: same thing, same agent, fitting arguments, words of the same audience."""
    sql = """SELECT * FROM permission_grants WHERE scope = ? AND subject = ? AND agent_id = ? AND audience = ?
             AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?) ORDER BY id"""
    found = map(_grant, rows.all(sql, (need.kind, need.subject, agent, audience, to_text(now))))
    return next((grant for grant in found if covers(grant, given)), None)


def covers(grant: Grant, given: Given) -> bool:
    """Whether a grant is for such arguments.

    Who answered a question saw one call: what that left out is fixed as well. Who gave a grant unasked named what a
    call must have.
    """
    if grant.request is not None:
        return dict(grant.pattern) == dict(given.bound)
    return all(name in given.all and given.all[name] == value for name, value in grant.pattern.items())


def standing(rows: Rows, now: datetime) -> list[Grant]:
    """Every grant that holds now, newest first. For those who administer permissions."""
    sql = """SELECT * FROM permission_grants WHERE revoked_at IS NULL
             AND (expires_at IS NULL OR expires_at > ?) ORDER BY id DESC"""
    return [_grant(row) for row in rows.all(sql, (to_text(now),))]


def revoke(tx: Tx, identifier: GrantId, now: datetime) -> Grant | None:
    """End a grant; None when none of that id holds."""
    row = tx.one("SELECT * FROM permission_grants WHERE id = ? AND revoked_at IS NULL", (identifier,))
    if row is None:
        return None
    tx.run("UPDATE permission_grants SET revoked_at = ? WHERE id = ?", (to_text(now), identifier))
    return _grant(row)


@dataclass(frozen=True)
class Entry:
    """One line of the record; `detail` are words of ours and never anybody else's."""

    event: str
    at: datetime
    audience: Audience
    person: PersonId | None = None
    request: RequestId | None = None
    grant: GrantId | None = None
    agent: AgentId | None = None
    kind: Kind | None = None
    digest: bytes | None = None
    detail: str = ""


def note(tx: Tx, entry: Entry) -> None:
    """Write a line of the record."""
    tx.insert("permission_audit", {"id": snowflakes.next(), **_entry.values(entry)})


def record(rows: Rows, limit: int) -> list[dict[str, Any]]:
    """The newest lines of the record, newest first, as plain data. For those who administer permissions."""
    found = rows.all("SELECT * FROM permission_audit ORDER BY id DESC LIMIT ?", (limit,))
    return [{**as_dict(row), "digest": row["digest"].hex() if row["digest"] else None} for row in found]


_grant = RowMapper(Grant, kind="scope")
_entry = RowMapper(Entry, kind="scope")
