"""Takes out of a copy that is restored what its people took back since: messages that were deleted or forgotten, and
those that were limited to direct messages.

What was derived from them goes as after any deletion: at the next start, by `memory.queue.erasure_follow_ups`.
"""

from contextlib import closing
from pathlib import Path

from memory.erasure.edited_or_deleted_messages import narrow_message
from memory.people.audience import OWNER, Audience
from memory.queue import erasure_follow_ups, messages
from memory.queue.inbox import forget_payload
from memory.store.clock import utc_now
from memory.store.database import Rows, Tx
from memory.store.ids import MessageId
from memory.store.kept_on_restore import staged_file
from memory.store.sqlite import Code, connect, driver, result_code


def take_out(present: Path, staged: Path) -> None:
    """Of one constellation. Nothing is done if a file is damaged or its tables are those of another version."""
    try:
        with closing(connect(present, read_only=True)) as raw:
            sql = """SELECT id, deleted_at, audience FROM messages
                     WHERE deleted_at IS NOT NULL OR audience = ? OR audience GLOB 'person:*'"""
            ended = Rows(raw).all(sql, (OWNER,))  # the owner limits words to the owner's own places
        with staged_file(staged) as tx:
            before = """SELECT id, audience FROM messages WHERE deleted_at IS NULL
                        AND id IN (SELECT value FROM json_each(?))"""
            heard = {row["id"]: row["audience"] for row in tx.all(before, ([row["id"] for row in ended],))}
            for row in ended:
                if row["id"] in heard and (row["deleted_at"] is not None or row["audience"] != heard[row["id"]]):
                    _again(tx, MessageId(row["id"]), row["deleted_at"] is not None, Audience(row["audience"]))
    except driver.DatabaseError as error:
        if result_code(error) not in (Code.ERROR, Code.CORRUPT, Code.NOTADB):
            raise


def _again(tx: Tx, identifier: MessageId, deleted: bool, audience: Audience) -> None:
    old, now = messages.of_id(tx, identifier), utc_now()
    if old is None:
        return
    if not deleted:
        if old.role == "user" and old.person is not None and not old.audience.startswith("person:"):
            narrow_message(tx, old, audience, now)
        return
    learners = erasure_follow_ups.learners(tx, identifier)
    messages.redact(tx, [identifier], now)
    forget_payload(tx, identifier, now)
    if old.role == "user":
        erasure_follow_ups.queue(tx, old, now, learners)
