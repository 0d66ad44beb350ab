"""Files that came with messages and that only we store: the dashboard shows them and models look at them.

A file belongs to its message: it has the same audience and is deleted with its text.
"""

import base64
from collections.abc import Iterable
from typing import NamedTuple

from memory.people.audience import Audience, Scope
from memory.queue.payloads import Attachment
from memory.store.database import Rows, Tx
from memory.store.ids import MessageId, PlaceId, TurnId
from memory.store.row_mapper import RowMapper


class File(NamedTuple):
    """A text file that is sent with a message of ours."""

    name: str
    text: str


class Image(NamedTuple):
    """An image with a message of ours; `alt` describes it, and `content` is base64."""

    content_type: str
    alt: str
    content: str


def add(tx: Tx, message: MessageId, files: Iterable[Attachment], audience: Audience) -> None:
    for position, file in enumerate(files):
        values = {"message_id": message, "position": position, "audience": audience, **_file.values(file)}
        values["content"] = file.content or file.text.encode()
        tx.insert("message_files", values, ignore=True)


def forget_of_programs(tx: Tx, turn: TurnId) -> None:
    """Delete files that programs sent with a turn's messages: they have them, and only the dashboard shows ours."""
    sql = """DELETE FROM message_files WHERE message_id IN (
               SELECT i.message_id FROM inbox i JOIN places p ON p.id = i.place_id
               WHERE i.turn_id = ? AND p.kind = 'api')"""
    tx.run(sql, (turn,))


def names(rows: Rows, message: MessageId, scope: Scope) -> list[Attachment]:
    """The files of a message, without their content."""
    sql = """SELECT name, content_type, size, skipped, x'' AS content FROM message_files
              WHERE message_id = ? AND KNOWN(audience) ORDER BY position"""
    return _file.all(rows, *scope.bind(sql, message))


def pictures(rows: Rows, message: MessageId, scope: Scope) -> tuple[str, ...]:
    """The images of a message, as data URLs."""
    sql = """SELECT content_type, content FROM message_files WHERE message_id = ? AND KNOWN(audience)
              AND content_type GLOB 'image/*' AND skipped = '' ORDER BY position"""
    found = rows.all(*scope.bind(sql, message))
    return tuple(f"data:{kind};base64,{base64.b64encode(content).decode()}" for kind, content in found)


def one(rows: Rows, place: PlaceId, message: int, position: int, scope: Scope) -> Attachment | None:
    """A stored file of a message in a place, if the scope may see it."""
    sql = """SELECT f.* FROM message_files f JOIN messages m ON m.id = f.message_id WHERE f.message_id = ?
              AND f.position = ? AND f.skipped = '' AND m.place_id = ? AND KNOWN(f.audience)"""
    return _file.first(rows, *scope.bind(sql, message, position, place))


_file = RowMapper(Attachment, text=lambda _row: "", url=lambda _row: "")
