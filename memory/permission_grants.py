"""Lasting permissions: grants, under which an agent's later calls need no approval.

`permission_requests.py` has the requests, most of which end without a grant, and the record of both.
"""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from memory.people.audience import Audience
from memory.permission_requests import Kind, Need, Request, Verdict
from memory.store.database import Rows, Tx
from memory.store.ids import AgentId, GrantId, PersonId, RequestId, snowflakes
from memory.store.row_mapper import RowMapper

HOUR = timedelta(hours=1)
"""How long a grant lasts that is given for an hour."""


class Grant(Struct, frozen=True):
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


class CallArguments(Struct, frozen=True):
    """The arguments of a call; `bound` are those that a lasting approval of it fixes."""

    all: Mapping[str, Any]
    bound: Mapping[str, Any]


def add_grant(tx: Tx, request: Request, by: PersonId, verdict: Verdict, now: datetime) -> Grant:
    """Grant what a request asked for: for an hour or, if it was allowed for always, until it is revoked."""
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
        now + HOUR if verdict is Verdict.HOUR else None,
    )
    give_grant(tx, grant)
    return grant


def give_grant(tx: Tx, grant: Grant) -> None:
    """Store a grant, requested or not."""
    tx.insert("permission_grants", _grant.values(grant))


def matching_grant(
    rows: Rows, need: Need, agent: AgentId, given: CallArguments, audience: Audience, now: datetime
) -> Grant | None:
    """A grant that covers this call: the same subject and agent, matching arguments, and the same audience."""
    sql = """SELECT * FROM permission_grants WHERE scope = ? AND subject = ? AND agent_id = ? AND audience = ?
             AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?) ORDER BY id"""
    found = map(_grant, rows.all(sql, (need.kind, need.subject, agent, audience, now)))
    return next((grant for grant in found if covers(grant, given)), None)


def covers(grant: Grant, given: CallArguments) -> bool:
    """Whether a grant covers these arguments.

    A person who answered a request saw one call, so arguments that it left out are fixed, too. A person who gave a
    grant without a request named what a call must have.
    """
    named = {name: value for name, value in given.all.items() if name in grant.pattern}
    return _as_json(named if grant.request is None else given.bound) == _as_json(grant.pattern)


def _as_json(arguments: Mapping[str, Any]) -> str:
    """Arguments as they are compared: to Python, 1 is True."""
    return json.dumps(dict(arguments), sort_keys=True)


def active_grants(rows: Rows, now: datetime) -> list[Grant]:
    """Every valid grant, newest first. For those who administer permissions."""
    sql = """SELECT * FROM permission_grants WHERE revoked_at IS NULL
             AND (expires_at IS NULL OR expires_at > ?) ORDER BY id DESC"""
    return _grant.all(rows, sql, (now,))


def revoke(tx: Tx, identifier: GrantId, now: datetime) -> Grant | None:
    """Revoke a grant; None if there is no such grant in force."""
    sql = "UPDATE permission_grants SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL RETURNING *"
    return _grant.first(tx, sql, (now, identifier))


_grant = RowMapper(Grant, kind="scope")
