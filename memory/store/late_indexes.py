"""Indexing the words of blocks and events soon after the commit that brought them, instead of in it.

What waits stands in `index_queue`, by triggers. An index takes most of the time of a small edit, and blocks are often
edited several times in a row.
"""

from memory.store.database import Rows, Tx
from memory.store.fulltext import index_text
from memory.store.logs import Log

_log = Log(__name__)


def block_words(label: str, description: str, content: str) -> str:
    """What the full-text index holds of a block."""
    return index_text(f"{label} {description} {content}")


def waiting(rows: Rows) -> bool:
    """Whether something is not indexed yet."""
    return rows.one("SELECT 1 FROM index_queue LIMIT 1") is not None


def index_waiting(tx: Tx) -> None:
    """Index all that waits; nothing when nothing does. What keeps it from that is logged: nobody awaits its error."""
    try:
        _index_waiting(tx)
    except Exception:
        _log.exception("words_not_indexed", hint="search does not find what was written since; tried again later")
        raise


def _index_waiting(tx: Tx) -> None:
    for row in tx.all(
        "SELECT n, label, description, content FROM memory_blocks WHERE deleted_at IS NULL"
        " AND n IN (SELECT row FROM index_queue WHERE kind = 'block')"
    ):
        words = block_words(row["label"], row["description"], row["content"])
        tx.run("UPDATE memory_blocks SET search_text = ? WHERE n = ? AND search_text <> ?", (words, row["n"], words))
    tx.run(
        "INSERT INTO activity_fts (rowid, search_text) SELECT id, search_text FROM activity_events"
        " WHERE id IN (SELECT row FROM index_queue WHERE kind = 'event')"
    )
    tx.run("DELETE FROM index_queue")
