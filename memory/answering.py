"""Which turns a message led to: those that answered it, and whatever came of these."""

import json
from collections.abc import Sequence

from memory.database import Rows
from memory.ids import MessageId, TurnId


def answering(rows: Rows, message: MessageId) -> list[TurnId]:
    """The turns that answer a message, of each group that heard it one, running or over; and of what was about it.

    About it is that it was edited, or that somebody decided what was asked because of it.
    """
    sql = """SELECT turn_id AS id FROM inbox WHERE message_id = :id AND turn_id IS NOT NULL
             UNION SELECT batch_id FROM messages WHERE id = :id AND batch_id IS NOT NULL
             UNION SELECT turn_id FROM inbox WHERE about_id = :id AND turn_id IS NOT NULL"""
    return [TurnId(row["id"]) for row in rows.all(sql, {"id": message})]


def caused(rows: Rows, turns: Sequence[TurnId]) -> list[TurnId]:
    """Turns, what members did for them, and what agents did because of what they were written in them."""
    sql = """WITH RECURSIVE caused (id) AS (SELECT value FROM json_each(?)
               UNION SELECT t.id FROM turns t JOIN caused c ON t.parent_id = c.id
               UNION SELECT i.turn_id FROM agent_messages a JOIN inbox i ON i.id = a.inbox_id
                 JOIN caused c ON a.root_id = c.id WHERE i.turn_id IS NOT NULL)
             SELECT id FROM caused"""
    return [TurnId(row["id"]) for row in rows.all(sql, (json.dumps(turns),))]
