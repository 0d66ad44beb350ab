"""Permission requests: calls that wait for approval, the votes on them, and the record of everything about permissions.

A request is a row before anybody is asked. It fixes who may answer, the exact arguments and their digest; whatever
carries the question to a person (a button, a command) carries only the id. The first answer that decides is final. What
it allows beyond this call is a grant (`permission_grants.py`). Every question, answer and use is recorded.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from msgspec import Struct, field

from memory.people.audience import Audience, Scope, Trust
from memory.queue.turns import answering
from memory.store import ids
from memory.store.database import Rows, Tx, Value, as_dict
from memory.store.errors import StoreError
from memory.store.ids import AgentId, BlockId, GrantId, GroupId, MessageId, PersonId, PlaceId, RequestId, TurnId
from memory.store.row_mapper import RowMapper
from texts import packed, unpacked


class Kind(StrEnum):
    """The kind of thing that is asked for; the `scope` of requests and grants."""

    TOOL = "tool_execution"
    EDIT = "memory_edit"
    SOURCE = "data_source_action"


class Status(StrEnum):
    WAITING = "waiting"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    USED = "used"


class Verdict(StrEnum):
    ONCE = "once"
    HOUR = "hour"
    ALWAYS = "always"
    DENY = "deny"


class Need(Struct, frozen=True):
    """What a call needs approval for.

    `subject` names the tool, block or place; `version` is the state of it that must still hold when the call runs.
    `reason` is for the approver. `asks` is the person whose approval is needed, None for the owner and admins.
    """

    kind: Kind
    subject: str
    reason: str
    version: str = ""
    asks: PersonId | None = None
    once_only: bool = False

    @property
    def mark(self) -> tuple[str, str, str]:
        """What an approval of this covers, as requests store it."""
        return (self.kind, self.subject, self.version)


class ApprovalNeeded(StoreError):
    """The call may run only with approval; `need` says for what."""

    def __init__(self, need: Need) -> None:
        super().__init__(f"this needs a yes: {need.reason}")
        self.need = need


class Permit(Struct, frozen=True):
    """An approval under which one call runs: of a request, or a lasting grant. `covers` are marks of needs."""

    covers: frozenset[tuple[str, str, str]]
    request: RequestId | None = None
    grant: GrantId | None = None


def require(need: Need, permit: Permit | None) -> None:
    """Raise ApprovalNeeded unless the permit covers exactly this need."""
    if permit is None or need.mark not in permit.covers:
        raise ApprovalNeeded(need)


class Request(Struct, frozen=True):
    """One question. `approvers` are person ids, and roles as "role:<guild>:<role>"."""

    id: RequestId
    kind: Kind
    subject: str
    agent: AgentId
    group: GroupId
    turn: TurnId
    call: str
    tool: str
    arguments: str
    digest: bytes
    covers: tuple[tuple[str, str, str], ...]
    pattern: Mapping[str, Any]
    """The arguments that a lasting approval fixes."""
    reason: str
    place: PlaceId
    person: PersonId | None
    hearers: Scope
    trust: Trust
    approvers: tuple[str, ...]
    quorum: int
    once_only: bool
    created_at: datetime
    expires_at: datetime
    status: Status = Status.WAITING
    decided_at: datetime | None = None
    shown: Mapping[BlockId, int] = field(default_factory=dict)
    """The versions of blocks that the agent was shown when it made the call."""


class Vote(Struct, frozen=True):
    person: PersonId
    verdict: Verdict
    at: datetime
    name: str = ""  # of the account, then


def digest_of(tool: str, arguments: str) -> bytes:
    """SHA-256 of a tool's name and its arguments as given: an approval is bound to it."""
    return hashlib.sha256(f"{tool}\x00{arguments}".encode()).digest()


def new_request_id() -> RequestId:
    return RequestId(ids.snowflakes.next())


def ask(tx: Tx, request: Request) -> bool:
    """Store a request; False if that call has asked before."""
    values = {**_request.values(request), "reason": packed(request.reason)}
    return tx.insert("permission_requests", values, ignore=True)


def get(rows: Rows, identifier: RequestId) -> Request | None:
    """The request with that id. For the broker, which decides who may see it."""
    return _request.first(rows, "SELECT * FROM permission_requests WHERE id = ?", (identifier,))


def asking(rows: Rows, identities: Iterable[str]) -> list[Request]:
    """Every request that one of these may answer, whatever its status."""
    sql = """SELECT * FROM permission_requests WHERE EXISTS (SELECT 1 FROM json_each(approvers)
             WHERE value IN (SELECT value FROM json_each(?))) ORDER BY id"""
    return _request.all(rows, sql, (list(identities),))


def is_asked(rows: Rows, identities: Iterable[str]) -> bool:
    sql = """SELECT 1 FROM permission_requests WHERE status = 'waiting' AND EXISTS (SELECT 1 FROM json_each(approvers)
             WHERE value IN (SELECT value FROM json_each(?))) LIMIT 1"""
    return rows.one(sql, (list(identities),)) is not None


def of_status(rows: Rows, status: Collection[Status], limit: int) -> list[Request]:
    """The newest requests with these statuses. For the broker, which decides who may see them."""
    sql = """SELECT * FROM permission_requests WHERE status IN (SELECT value FROM json_each(?))
             ORDER BY id DESC LIMIT +?"""
    return _request.all(rows, sql, (list(status), limit))


def about(rows: Rows, message: MessageId) -> list[Request]:
    """Every request of the turns that answered a message or an event about it, including members' turns."""
    sql = """WITH answering AS
             (SELECT value FROM json_each(?))
             SELECT * FROM permission_requests WHERE turn_id IN answering
             OR turn_id IN (SELECT turn_id FROM group_parts WHERE run_id IN answering) ORDER BY id"""
    return _request.all(rows, sql, (answering(rows, message),))


def of_person(rows: Rows, person: PersonId) -> list[Request]:
    sql = "SELECT * FROM permission_requests WHERE person_id = ? ORDER BY id"
    return _request.all(rows, sql, (person,))


def waiting_turns(rows: Rows, agent: AgentId) -> list[TurnId]:
    """The turns of an agent with an undecided request."""
    sql = "SELECT DISTINCT turn_id FROM permission_requests WHERE agent_id = ? AND status = 'waiting'"
    return [TurnId(row["turn_id"]) for row in rows.all(sql, (agent,))]


def forget(tx: Tx, identifier: RequestId, now: datetime) -> bool:
    """Withdraw a request and erase what it asked for; False if it was closed before."""
    sql = """UPDATE permission_requests SET arguments = '', reason = '', subject = '', covers = '[]', pattern = '{}',
             shown = '{}', decided_at = coalesce(decided_at, ?),
             status = iif(status IN ('waiting', 'approved'), 'withdrawn', status) WHERE id = ? RETURNING status"""
    row = tx.one(sql, (now, identifier))
    return row is not None and row["status"] == "withdrawn"


def waiting_askers(rows: Rows, place: PlaceId) -> list[PersonId | None]:
    """Who asked, once for each request that waits in this place; None without a person."""
    sql = "SELECT person_id FROM permission_requests WHERE place_id = ? AND status = 'waiting'"
    return [each["person_id"] for each in rows.all(sql, (place,))]


def due(rows: Rows, now: datetime) -> list[Request]:
    """Undecided requests whose time is over."""
    sql = "SELECT * FROM permission_requests WHERE status = 'waiting' AND expires_at <= ? ORDER BY id"
    return _request.all(rows, sql, (now,))


def votes(rows: Rows, identifier: RequestId) -> list[Vote]:
    """The votes on a request, in order."""
    sql = "SELECT person_id, verdict, at, name FROM permission_votes WHERE request_id = ? ORDER BY at, person_id"
    return _vote.all(rows, sql, (identifier,))


def vote(tx: Tx, request: Request, person: PersonId, verdict: Verdict, now: datetime, name: str = "") -> Status:
    """Count one approver's vote; returns the request's status. A person's approval stays until they deny.

    One denial decides at once; approval needs as many persons as `quorum`.
    """
    if verdict is Verdict.DENY:
        tx.run("DELETE FROM permission_votes WHERE request_id = ? AND person_id = ?", (request.id, person))
    said: dict[str, Value] = {"request_id": request.id, "person_id": person, "verdict": verdict, "at": now}
    tx.insert("permission_votes", {**said, "audience": request.hearers.audience, "name": name}, ignore=True)
    given = [each.verdict for each in votes(tx, request.id)]
    if Verdict.DENY in given:
        return _decide(tx, request.id, Status.DENIED, now)
    if len(given) >= request.quorum:
        return _decide(tx, request.id, Status.APPROVED, now)
    return Status.WAITING


def expire(tx: Tx, identifier: RequestId, now: datetime) -> None:
    _decide(tx, identifier, Status.EXPIRED, now)


def withdraw(tx: Tx, turn: TurnId, now: datetime) -> list[RequestId]:
    """Withdraw the waiting requests of a turn and its members' parts; returns which."""
    sql = """SELECT id FROM permission_requests WHERE status = 'waiting' AND (turn_id = :turn OR turn_id IN
             (SELECT turn_id FROM group_parts WHERE run_id = :turn AND kind <> 'observe'))"""
    found = tx.all(sql, {"turn": turn})
    for row in found:
        _decide(tx, row["id"], Status.WITHDRAWN, now)
    return [RequestId(row["id"]) for row in found]


def use(tx: Tx, identifier: RequestId) -> bool:
    """Use up an approval; False if there is none, or if it was used before."""
    sql = "UPDATE permission_requests SET status = 'used' WHERE id = ? AND status = 'approved'"
    return tx.run(sql, (identifier,)) == 1


def _decide(tx: Tx, identifier: RequestId, status: Status, now: datetime) -> Status:
    sql = "UPDATE permission_requests SET status = ?, decided_at = ? WHERE id = ? AND status = 'waiting'"
    tx.run(sql, (status, now, identifier))
    return status


_vote = RowMapper(Vote)
_request = RowMapper(
    Request, kind="scope", call="call_id", hearers=RowMapper(Scope), reason=lambda row: unpacked(row["reason"])
)


# ----------------------------------------------------------------------------------------------------------- the record


class Entry(Struct, frozen=True):
    """One entry of the record; `detail` are words of ours, never anybody else's."""

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
    tx.insert("permission_audit", {"id": ids.snowflakes.next(), **_entry.values(entry)})


def record(rows: Rows, limit: int) -> list[dict[str, Any]]:
    """The newest entries of the record, newest first, as plain data. For those who administer permissions."""
    sql = """SELECT a.*, coalesce(r.tool, '') AS tool FROM permission_audit a
             LEFT JOIN permission_requests r ON r.id = a.request_id ORDER BY a.id DESC LIMIT +?"""
    found = rows.all(sql, (limit,))
    return [{**as_dict(row), "digest": row["digest"].hex() if row["digest"] else None} for row in found]


_entry = RowMapper(Entry, kind="scope")
