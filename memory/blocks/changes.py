"""One change of a block: who made it, when and why, as its commit's message says; and how two texts differ.

Changes form a line: each was made on the text that the previous one left, since a file has one writer.
"""

import itertools
import json
import operator
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Any, Generic, NewType, TypeAlias, TypeVar

from msgspec import Struct

from memory.store.errors import BlockCorrupt
from memory.store.ids import AgentId, PersonId, TurnId
from memory.store.lazy import UnicodePattern
from memory.store.records import replace

Writer = NewType("Writer", str)
"""Who changes a block: "agent:<id>", "person:<id>" or "system"; made by the functions below."""

SYSTEM = Writer("system")

# Not escaped: it is shorter, and a search of the stored bytes for words finds them.
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
_IN_WORD = r"[[\p{L}\p{M}\p{N}_]--[\p{Han}\p{Hiragana}\p{Katakana}]]"
_TOKENS = UnicodePattern(rf"(?V1)\n|[^\S\n]*+(?:{_IN_WORD}++|\S)|[^\S\n]++")
"""Line breaks, and words or marks with the space before them."""
_MOST_PAIRS, _MOST_COMPARED = 20_000, 2_000  # equal pairs, and items: some tens of milliseconds


def agent_writer(agent: AgentId) -> Writer:
    return Writer(f"agent:{agent}")


def person_writer(person: PersonId) -> Writer:
    return Writer(f"person:{person}")


class ChangeKind(StrEnum):
    """The kind of a change. Undo, redo, rollback and revert refer to an older change or version (`Note.of`)."""

    EDIT = "edit"
    UNDO = "undo"
    REDO = "redo"
    ROLLBACK = "rollback"
    REVERT = "revert"
    RETYPE = "retype"
    """The same content under another schema; restores nothing."""
    KEPT = "kept"
    """What is left of a change after its block's history was erased; restores nothing."""

    @property
    def restores(self) -> bool:
        """Whether the change rolls back to a version or takes another change back."""
        return self not in (ChangeKind.EDIT, ChangeKind.RETYPE, ChangeKind.KEPT)


class Note(Struct, frozen=True):
    """Why a change was made. `of` is the change that is undone or redone, or the version that is restored."""

    kind: ChangeKind = ChangeKind.EDIT
    of: int = 0
    whose: Writer | None = None
    """Whose changes a revert takes back."""


EDIT = Note()


Content: TypeAlias = str | tuple[Any, ...]
"""Part of a text, or items of a list."""
Inserted = TypeVar("Inserted", bound=Content, covariant=True)


class Splice(Struct, Generic[Inserted], frozen=True):
    """At `place`, delete `delete` characters or items and insert `insert`."""

    place: int
    delete: int
    insert: Inserted


class Change(Struct, frozen=True):
    """One commit. `seq` is the number of the update row that holds it; the document remembers `at` in whole seconds."""

    writer: Writer
    turn: TurnId | None
    seq: int
    at: datetime
    note: Note = EDIT

    def message(self, note: Note = EDIT) -> str:
        """The commit's message."""
        said: dict[str, Any] = {"w": self.writer, "t": self.turn, "n": self.seq}
        if note.kind is not ChangeKind.EDIT:
            said |= {"k": note.kind, "o": note.of} | ({"x": note.whose} if note.whose else {})
        return _encode(said)


def by_words(before: str, after: str) -> list[Splice[str]]:
    """How to turn one text into another in whole words, from end to beginning, so that each word has one writer.

    Lines that stay are found first: else an equal break or dash would count as the same one, and what others add to a
    line that moves up would land in the line that takes its place.
    """
    old, new = before.split("\n"), after.split("\n")
    starts, found = list(itertools.accumulate((len(line) + 1 for line in old), initial=0)), list[Splice[str]]()
    for first, last, begin, end in differing(old, new):
        gone, came = "\n".join(old[first:last]), "\n".join(new[begin:end])
        if first < last and begin < end:
            found += [replace(each, place=starts[first] + each.place) for each in _by_words(gone, came)]
        elif last < len(old):  # whole lines come or go with the break after them
            found.append(Splice(starts[first], starts[last] - starts[first], f"{came}\n" if begin < end else ""))
        else:  # the last ones with the break before them
            found.append(Splice(starts[first] - 1, starts[last] - starts[first], f"\n{came}" if begin < end else ""))
    return found


def _by_words(before: str, after: str) -> list[Splice[str]]:
    old, new = _TOKENS.findall(before), _TOKENS.findall(after)
    places, found = list(itertools.accumulate(map(len, old), initial=0)), list[Splice[str]]()
    for first, last, begin, end in differing(old, new):
        gone, came, kept = "".join(old[first:last]), "".join(new[begin:end]), 0
        if gone and came and old[last - 1].lstrip() == new[end - 1].lstrip():
            kept = len(new[end - 1].lstrip())  # only the space before the last word has changed
        start = common_prefix(gone[: len(gone) - len(gone.lstrip(" "))], came[: len(came) - kept])
        found.append(Splice(places[first] + start, len(gone) - start - kept, came[start : len(came) - kept]))
    return found


def differing(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """Where two sequences differ, from end to beginning: the part of each, as `start` and `end` of both.

    It is one part where comparing item by item would take long. Empty items are equal only beside others that are.
    """
    most = min(len(old), len(new))
    start = next((at for at in range(most) if old[at] != new[at]), most)
    end = next((at for at in range(most - start) if old[-1 - at] != new[-1 - at]), most - start)
    was, now = old[start : len(old) - end], new[start : len(new) - end]
    times = Counter(each for each in now if each)
    if (
        min(len(was), len(now)) > _MOST_COMPARED
        or sum(count * times[each] for each, count in Counter(was).items()) > _MOST_PAIRS
    ):
        return [(start, len(old) - end, start, len(new) - end)]
    codes = SequenceMatcher(operator.not_, was, now, autojunk=False).get_opcodes()
    return [
        (start + first, start + last, start + begin, start + stop)
        for code, first, last, begin, stop in reversed(codes)
        if code != "equal"
    ]


def common_prefix(one: str, other: str) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def change_of(message: str | None, timestamp: int) -> Change:
    """Read a commit's message. Raises BlockCorrupt if the message does not say who made the commit."""
    try:
        said = json.loads(message or "")
        writer, turn, seq = Writer(said["w"]), said["t"], int(said["n"])
        whose = said.get("x")
        note = Note(
            ChangeKind(said.get("k", ChangeKind.EDIT)), int(said.get("o", 0)), None if whose is None else Writer(whose)
        )
    except (ValueError, KeyError, TypeError) as error:
        raise BlockCorrupt("a change does not say who made it: {message!r}", message=message) from error
    at = datetime.fromtimestamp(timestamp, tz=UTC)
    return Change(writer, None if turn is None else TurnId(turn), seq, at, note)
