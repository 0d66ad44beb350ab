"""The work of groups, as rows: one run for each message that a group answers, its parts, and state kept between runs.

A run is the turn that has claimed the message. A part is what one member is asked to do in it, in a turn of its own
whose answer goes into the part instead of to people. A pattern's state is changed in the transaction that does what it
records.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct, field

from memory.queue import outbox
from memory.queue.turns import Turn
from memory.store.database import Rows, Tx, Value
from memory.store.ids import AgentId, GroupId, PlaceId, TurnId
from memory.store.records import replace
from memory.store.row_mapper import RowMapper

Kind: TypeAlias = Literal["answer", "stage", "ballot", "choice", "task", "observe"]
Status: TypeAlias = Literal["running", "done", "failed", "late"]


class RunPlan(Struct, frozen=True, omit_defaults=True):
    """Who answers, as the turn that begins the run decides: these `agents` (`everybody`: the message named them), those
    whom the `chooser` names, or all, who vote on `options`."""

    agents: tuple[AgentId, ...] = ()
    everybody: bool = False
    chooser: AgentId = AgentId("")
    options: tuple[str, ...] = ()


class StageOutcome(Struct, frozen=True):
    stage: str
    agents: tuple[AgentId, ...]
    given: bool


class BallotOutcome(Struct, frozen=True):
    agent: AgentId
    choice: str
    weight: float
    problem: str


class RunOutcome(Struct, frozen=True, omit_defaults=True):
    """Who answered; or the stages of a pipeline, with the one at which it was `aborted`; or the result of a vote."""

    agents: tuple[AgentId, ...] = ()
    stages: tuple[StageOutcome, ...] = ()
    aborted: str = ""
    decision: str = ""
    tally: Mapping[str, float] = field(default_factory=dict)
    quorum: int = 0
    ballots: tuple[BallotOutcome, ...] = ()


class PartDetail(Struct, frozen=True, omit_defaults=True):
    """A member's ballot, or whom it chose; `acted`: it did something that must not happen twice."""

    choice: str = ""
    reason: str = ""
    agents: tuple[AgentId, ...] = ()
    acted: bool = False


class LastCheck(Struct, frozen=True, omit_defaults=True):
    """A sleeptime group's last check of a place. `since` is its last run, or its first check."""

    checked: datetime | None = None
    since: datetime | None = None
    above: tuple[str, ...] = ()
    """The triggers whose number was above its threshold."""
    fired: Mapping[str, datetime] = field(default_factory=dict)
    """When each trigger last fired, by name."""


class GroupState(LastCheck, frozen=True, omit_defaults=True):
    """What a group remembers between runs; its last check is that of the place where it acts, and `places` has others'.

    `index` is the position of the member whose turn is next.
    """

    used: Mapping[AgentId, datetime] = field(default_factory=dict)
    index: int | None = None
    places: Mapping[str, LastCheck] = field(default_factory=dict)

    def last_used(self, agent: AgentId) -> datetime:
        """When the group last asked an agent; long ago if never."""
        return self.used.get(agent, _NEVER)

    def using(self, agents: Sequence[AgentId], now: datetime) -> "GroupState":
        return replace(self, used={**self.used, **dict.fromkeys(agents, now)})


_NEVER = datetime.min.replace(tzinfo=UTC)


class Run(Struct, frozen=True):
    """One message that a group answers. `settings` are those at its start."""

    id: TurnId
    group: GroupId
    pattern: str
    settings: Mapping[str, Any]
    conducted: bool
    """Whether the answer is made of parts; otherwise the turn's own agent answers, and the turn says how it ended."""
    plan: RunPlan = RunPlan()
    outcome: RunOutcome = RunOutcome()
    started_at: datetime | None = None
    ended_at: datetime | None = None


class Part(Struct, frozen=True):
    """What one member is asked to do. `asked_by` is the turn that waits for it; `call` the call that asked for it."""

    turn: TurnId
    run: TurnId
    asked_by: TurnId
    agent: AgentId
    kind: Kind
    stage: int = 0
    attempt: int = 1
    task: str = ""
    call: str = ""
    status: Status = "running"
    output: str = ""
    detail: PartDetail = PartDetail()
    started_at: datetime | None = None
    ended_at: datetime | None = None

    @property
    def is_one_call(self) -> bool:
        """Whether the member is only asked to make one call: to vote, or to choose."""
        return self.kind in ("ballot", "choice")


def begin(tx: Tx, run: Run, turn: Turn, now: datetime) -> None:
    """Record that a group begins to answer; in the transaction that begins the turn."""
    whose: dict[str, Value] = {"person_id": turn.person, "audience": turn.scope.audience, "started_at": now}
    tx.insert("group_runs", _run.values(run) | whose)


def run(rows: Rows, identifier: TurnId) -> Run | None:
    """The run of a turn that has claimed messages; None for any other turn."""
    return _run.first(rows, "SELECT * FROM group_runs WHERE turn_id = ?", (identifier,))


def latest(rows: Rows, group: GroupId) -> Run | None:
    """The newest run of a group that was made of parts."""
    sql = "SELECT * FROM group_runs WHERE group_id = ? AND conducted ORDER BY turn_id DESC LIMIT 1"
    return _run.first(rows, sql, (group,))


def end_run(tx: Tx, identifier: TurnId, outcome: RunOutcome, now: datetime) -> None:
    """Record the outcome of a run of parts and forget these, in the transaction that ends the turn."""
    tx.run("UPDATE group_runs SET outcome = ?, ended_at = ? WHERE turn_id = ?", (_json(outcome), now, identifier))
    forget_parts(tx, identifier)


def forget_parts(tx: Tx, run_id: TurnId) -> None:
    """Erase what members said to each other in a run that is over; what people read is in the transcript."""
    sql = """UPDATE group_parts SET task = '', output = iif(status = 'done', '', output),
             detail = json_remove(detail, '$.reason') WHERE run_id = ? AND kind <> 'observe'"""
    tx.run(sql, (run_id,))


def add_part(tx: Tx, part: Part, turn: Turn, now: datetime) -> None:
    """Ask a member for something; in the transaction that begins the member's turn."""
    whose: dict[str, Value] = {"person_id": turn.person, "audience": turn.scope.audience, "started_at": now}
    tx.insert("group_parts", _part.values(part) | whose)


def part(rows: Rows, turn: TurnId) -> Part | None:
    """What a turn was asked to do; None for a turn that answers people."""
    return _part.first(rows, "SELECT * FROM group_parts WHERE turn_id = ?", (turn,))


def run_of(rows: Rows, turn: TurnId) -> TurnId:
    """The run that a turn belongs to, which may be the turn itself."""
    found = part(rows, turn)
    return turn if found is None else found.run


def part_of_call(rows: Rows, asked_by: TurnId, call: str) -> Part | None:
    """The part that a turn's call asked for, however often the call is repeated."""
    return _part.first(
        rows, "SELECT * FROM group_parts WHERE asked_by = ? AND call_id = ? AND call_id <> ''", (asked_by, call)
    )


def parts(rows: Rows, run_id: TurnId) -> list[Part]:
    """Everything that members were asked in a run, in order."""
    return _part.all(rows, "SELECT * FROM group_parts WHERE run_id = ? ORDER BY turn_id", (run_id,))


_LISTENING = """FROM group_parts p JOIN turns t ON t.id = p.turn_id JOIN turns r ON r.id = p.run_id
    WHERE p.kind = 'observe' AND p.status = 'running' AND t.status = 'running' AND r.status = 'done'"""


class WaitingWork(NamedTuple):
    """What waits: in one conversation, whether a row does, and the turn of a member that still has to listen; for
    others, places with unsent rows or previews, each with its source, and conversations with messages by agents."""

    here: bool
    listening: TurnId | None
    places: list[tuple[str, PlaceId]]
    conversations: list[tuple[PlaceId, GroupId]]


def waiting(rows: Rows, place_id: PlaceId, group: GroupId) -> WaitingWork:
    """What waits after a turn, in one statement: usually the turn's own answer."""
    sql = f"""SELECT 'here' AS what, '' AS one, '' AS two WHERE EXISTS (SELECT 1 FROM inbox
            WHERE place_id = :place AND group_id = :group AND status IN ('received', 'claimed'))
        UNION ALL SELECT 'listens', '', min(p.turn_id) {_LISTENING} AND t.place_id = :place AND t.group_id = :group
          HAVING min(p.turn_id) IS NOT NULL
        UNION ALL SELECT 'writes', place_id, group_id FROM inbox INDEXED BY inbox_written
          WHERE source = 'agent' AND status = 'received'
        UNION ALL SELECT 'sends', source, place_id FROM ({outbox.OPEN})"""
    found: dict[str, list[tuple[Any, Any]]] = {"here": [], "listens": [], "writes": [], "sends": []}
    for what, one, two in rows.all(sql, {"place": place_id, "group": group}):
        found[what].append((one, two))
    listening = next((TurnId(turn) for _, turn in found["listens"]), None)
    return WaitingWork(bool(found["here"]), listening, found["sends"], found["writes"])


def listening_conversations(rows: Rows) -> list[tuple[PlaceId, GroupId]]:
    """Places and groups in which a member still has to listen."""
    found = rows.all(f"SELECT DISTINCT t.place_id, t.group_id {_LISTENING}")
    return [(PlaceId(row["place_id"]), GroupId(row["group_id"])) for row in found]


def tasks_between(rows: Rows, one: AgentId, other: AgentId, since: datetime) -> int:
    """How many tasks two agents gave each other since then, in both directions."""
    sql = """SELECT count(*) AS n FROM group_parts p JOIN turns t ON t.id = p.asked_by
             WHERE p.kind = 'task' AND p.started_at > :since
               AND ((t.agent_id = :one AND p.agent_id = :other) OR (t.agent_id = :other AND p.agent_id = :one))"""
    return rows.number(sql, {"one": one, "other": other, "since": since})


def end_part(tx: Tx, turn: TurnId, status: Status, output: str, now: datetime) -> None:
    """Store a member's answer, or why there is none; in the transaction that ends its turn."""
    sql = "UPDATE group_parts SET status = ?, output = ?, ended_at = ? WHERE turn_id = ? AND status = 'running'"
    tx.run(sql, (status, output, now, turn))


def note(tx: Tx, turn: TurnId, detail: PartDetail) -> None:
    """Store the ballot or choice of a part."""
    tx.run("UPDATE group_parts SET detail = ? WHERE turn_id = ?", (_json(detail), turn))


def note_acted(tx: Tx, turn: TurnId) -> None:
    """Record that a part did something that must not happen twice."""
    tx.run("UPDATE group_parts SET detail = json_set(detail, '$.acted', json('true')) WHERE turn_id = ?", (turn,))


def acted(rows: Rows, run_id: TurnId) -> bool:
    """Whether a member did something in a run that would happen twice if the run restarted."""
    sql = """SELECT 1 FROM group_parts p WHERE p.run_id = ? AND p.kind <> 'observe' AND (
             json_extract(p.detail, '$.acted') OR EXISTS (SELECT 1 FROM outbox o WHERE o.turn_id = p.turn_id)
             OR EXISTS (SELECT 1 FROM permission_requests q WHERE q.turn_id = p.turn_id))"""
    return rows.one(sql, (run_id,)) is not None


def drop_parts(tx: Tx, run_id: TurnId) -> None:
    """Delete the parts of a run that restarts, and cancel members' running turns.

    A member that only listens does not begin before the run is done.
    """
    mine = "SELECT turn_id FROM group_parts WHERE run_id = ? AND kind <> 'observe'"
    tx.run(f"UPDATE turns SET status = 'cancelled' WHERE status = 'running' AND id IN ({mine})", (run_id,))
    tx.run("DELETE FROM group_parts WHERE run_id = ? AND kind <> 'observe'", (run_id,))


def state(rows: Rows, group: GroupId) -> GroupState:
    found = rows.value("SELECT state FROM group_states WHERE group_id = ?", (group,), str)
    return msgspec.json.decode(found or "{}", type=GroupState)


def set_state(tx: Tx, group: GroupId, state_: GroupState, now: datetime) -> None:
    """Store a group's state, in the transaction that did what it records."""
    sql = """INSERT INTO group_states (group_id, state, updated_at) VALUES (?, ?, ?)
             ON CONFLICT (group_id) DO UPDATE SET state = excluded.state, updated_at = excluded.updated_at"""
    tx.run(sql, (group, _json(state_), now))


def _json(value: Struct) -> str:
    return msgspec.json.encode(value).decode()


_run = RowMapper(Run, id="turn_id")
_part = RowMapper(Part, asked_by="asked_by", call="call_id")
