"""Messages between agents, as numbers: the inbox row of each, and the run that caused it.

The texts are in `messages`, known to those who heard the turn that wrote them. These rows keep agents from talking in
circles: everything that one message caused is counted against the turn that answers that message.
"""

from datetime import datetime

from msgspec import Struct

from memory.store.database import Rows, Tx
from memory.store.ids import AgentId, GroupId, InboxId, TurnId
from memory.store.row_mapper import RowMapper

SOURCE = "agent"
"""The source name of these messages in the inbox and the transcript."""
_CAUSED = "SELECT i.turn_id FROM agent_messages a JOIN inbox i ON i.id = a.inbox_id WHERE a.root_id = :root"


class SentMessage(Struct, frozen=True):
    """A message by the agent of a turn, to an agent or (if None) to a group."""

    row: InboxId
    root: TurnId
    turn: TurnId
    by: AgentId
    agent: AgentId | None
    group: GroupId


def add(tx: Tx, sent: SentMessage, now: datetime) -> None:
    """Count a message in the transaction that queues it."""
    tx.insert("agent_messages", {**_sent.values(sent), "sent_at": now})


_sent = RowMapper(SentMessage, row="inbox_id", by="from_agent", agent="to_agent", group="to_group")


def root_of(rows: Rows, run: TurnId) -> TurnId:
    """The turn at the start of a chain of messages; the run itself if it was not caused by an agent."""
    sql = "SELECT a.root_id FROM inbox i JOIN agent_messages a ON a.inbox_id = i.id WHERE i.turn_id = ? LIMIT 1"
    return rows.value(sql, (run,), TurnId) or run


def caused(rows: Rows, root: TurnId) -> int:
    """How many things one message caused: messages between agents, and members' parts in groups."""
    sql = f"""SELECT (SELECT count(*) FROM agent_messages WHERE root_id = :root)
              + (SELECT count(*) FROM group_parts WHERE run_id = :root OR run_id IN ({_CAUSED})) AS n"""
    return rows.number(sql, {"root": root})


def between(rows: Rows, one: AgentId, other: AgentId | GroupId, since: datetime) -> int:
    """How many messages an agent and another agent or group wrote to each other since then, in both directions."""
    sql = """SELECT count(*) AS n FROM agent_messages WHERE sent_at > :since AND (
               (from_agent = :one AND (to_agent = :other OR (to_agent IS NULL AND to_group = :other)))
               OR (from_agent = :other AND to_agent = :one))"""
    return rows.number(sql, {"one": one, "other": other, "since": since})


def wrote(rows: Rows, run: TurnId) -> list[TurnId]:
    sql = """SELECT DISTINCT a.turn_id FROM inbox i JOIN agent_messages a ON a.inbox_id = i.id WHERE i.turn_id = ?"""
    return [TurnId(row["turn_id"]) for row in rows.all(sql, (run,))]


def withdraw(tx: Tx, turn: TurnId, now: datetime) -> int:
    """Withdraw messages of a canceled turn, or part of one, that no turn has taken up yet; returns how many."""
    sql = """UPDATE inbox SET status = 'done', done_at = :now, last_error = 'taken back', payload = '{}'
             WHERE status = 'received' AND id IN (SELECT inbox_id FROM agent_messages
               WHERE turn_id = :turn OR turn_id IN (SELECT turn_id FROM group_parts WHERE run_id = :turn))"""
    return tx.run(sql, {"turn": turn, "now": now})
