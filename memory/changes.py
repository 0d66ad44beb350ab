"""What one change of a block is: who made it, when, why, and the operations that it consists of.

Changes follow one another: each was made on the text that the one before it left, since a file has one writer. The
operations come from Loro's own interchange format (schema version 1), in which the places are those of that text.
"""

import itertools
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, NewType

from memory.errors import BlockCorrupt, Refused
from memory.ids import AgentId, PersonId, TurnId

Writer = NewType("Writer", str)
"""Who changes a block: "agent:<id>", "person:<id>", "system" or "job:<name>"; made by the functions below."""

SYSTEM = Writer("system")

CONTAINER = "content"
"""The name of a block's text in its document."""

_encode = json.JSONEncoder(separators=(",", ":")).encode


def agent_writer(agent: AgentId) -> Writer:
    """An agent, by its own tool call."""
    return Writer(f"agent:{agent}")


def person_writer(person: PersonId) -> Writer:
    """A person who edits a block by hand."""
    return Writer(f"person:{person}")


def job_writer(name: str) -> Writer:
    """A background job, by its name."""
    return Writer(f"job:{name}")


class Deed(StrEnum):
    """What sort of change it is. All but edits name what they go back to or take back."""

    EDIT = "edit"
    UNDO = "undo"
    REDO = "redo"
    ROLLBACK = "rollback"
    REVERT = "revert"


@dataclass(frozen=True)
class Note:
    """What a change is for. `of` is the change that is undone or done again, or the version gone back to."""

    deed: Deed = Deed.EDIT
    of: int = 0
    whose: Writer | None = None
    """Whose changes are reverted."""


EDIT = Note()


@dataclass(frozen=True)
class Stamp:
    """What a commit says about itself. `seq` is the number of the update row that will hold it."""

    writer: Writer
    turn: TurnId | None
    seq: int
    at: datetime

    def message(self, note: Note = EDIT) -> str:
        said: dict[str, Any] = {"w": self.writer, "t": self.turn, "n": self.seq}
        if note.deed is not Deed.EDIT:
            said |= {"k": note.deed, "o": note.of} | ({"x": note.whose} if note.whose else {})
        return _encode(said)


@dataclass(frozen=True)
class Change:
    """One commit as the document remembers it; `at` is whole seconds, `length` counts Loro's operations."""

    writer: Writer
    turn: TurnId | None
    seq: int
    at: datetime
    length: int
    note: Note = EDIT


@dataclass(frozen=True, slots=True)
class Splice:
    """At character `place`, `delete` characters go and `insert` comes."""

    place: int
    delete: int
    insert: str


@dataclass(frozen=True)
class Step:
    """A change with its operations, in the order in which they were made."""

    change: Change
    splices: tuple[Splice, ...]


def played(text: str, steps: Iterable[Step]) -> str:
    """The text after these changes."""
    for step in steps:
        for splice in step.splices:
            text = text[: splice.place] + splice.insert + text[splice.place + splice.delete :]
    return text


def change_of(message: str | None, timestamp: int, length: int) -> Change:
    """A commit by its message. Raises BlockCorrupt for one that does not say who made it."""
    try:
        said = json.loads(message or "")
        writer, turn, seq = Writer(said["w"]), said["t"], int(said["n"])
        whose = said.get("x")
        note = Note(Deed(said.get("k", Deed.EDIT)), int(said.get("o", 0)), None if whose is None else Writer(whose))
    except (ValueError, KeyError, TypeError) as error:
        raise BlockCorrupt(f"a change does not say who made it: {message!r}") from error
    at = datetime.fromtimestamp(timestamp, tz=UTC)
    return Change(writer, None if turn is None else TurnId(turn), seq, at, length, note)


def steps_of(updates: str) -> list[Step]:
    """The changes in an export of Loro, oldest first. Raises BlockCorrupt; Refused for what is no text."""
    try:
        found = json.loads(updates)
        changes = sorted(found["changes"], key=lambda each: each["lamport"])
        steps = [_step(change) for change in changes]
        _require_line(changes)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise BlockCorrupt(f"the changes of a document cannot be read: {error}") from error
    return steps


def _step(change: dict[str, Any]) -> Step:
    splices = tuple(splice for op in change["ops"] for splice in _splices(op))
    length = sum(max(splice.delete, len(splice.insert)) for splice in splices)
    return Step(change_of(change["msg"], change["timestamp"], length), splices)


def _splices(op: dict[str, Any]) -> Iterator[Splice]:
    if op["container"] != f"cid:root-{CONTAINER}:Text":
        raise Refused("this block is not plain text: its single changes cannot be taken apart")
    content = op["content"]
    match content["type"]:
        case "insert":
            yield Splice(content["pos"], 0, content["text"])
        case "delete":
            place, size = content["pos"], content["len"]
            # A negative length is a deletion that went backwards from its place.
            yield Splice(place, size, "") if size >= 0 else Splice(place + size + 1, -size, "")
        case other:
            raise Refused(f"this block has changes of another kind than text ({other})")


def _require_line(changes: list[dict[str, Any]]) -> None:
    """Each change must build on the whole of the one before, or places would not mean what they say."""
    for before, change in itertools.pairwise(changes):
        last = before["ops"][-1]
        counter = last["counter"] + _size(last["content"]) - 1
        ends = f"{counter}@{before['id'].partition('@')[2]}"
        if change["deps"] != [ends]:
            raise BlockCorrupt(f"change {change['id']} was not made on the one before it")


def _size(content: dict[str, Any]) -> int:
    return len(content["text"]) if content["type"] == "insert" else abs(content["len"])
