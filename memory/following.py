"""What goes with a message when its author deletes it: everything that was derived from its words."""

from memory import archival
from memory.database import Tx
from memory.ids import EntryId, MessageId


def forget_derived(tx: Tx, message: MessageId) -> int:
    """Remove the archival entries that were learned from a message; how many there were.

    An entry that holds words of several messages goes as well: nobody can tell which words were whose.
    """
    sql = """SELECT id FROM archival_entries WHERE message_id = :id
             OR :id IN (SELECT value FROM json_each(metadata, '$._messages'))"""
    return archival.remove(tx, [EntryId(row["id"]) for row in tx.all(sql, {"id": message})])
