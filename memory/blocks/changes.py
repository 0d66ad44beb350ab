"""What one change of a block is: who made it, when, why, and the operations that it consists of.

Changes follow one another: each was made on the text that the one before it left, since a file has one writer. The
operations come from Loro's own interchange format (schema version 1), in which the places are those of that text. Of a
structured block they are those of the text that is shown of it, and come from the messages of its commits.
"""

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Any, Generic, NewType, TypeAlias, TypeVar

import regex

from memory.store.errors import BlockCorrupt, Refused
from memory.store.ids import AgentId, PersonId, TurnId

Writer = NewType("Writer", str)
"""Who changes a block: "agent:<id>", "person:<id>" or "system"; made by the functions below."""

SYSTEM = Writer("system")

CONTAINER = "content"
"""The name of a block's text in its document."""

_TEXT = f"cid:root-{CONTAINER}:Text"

# As it is, not escaped: it is shorter, and whoever searches stored bytes for words finds them.
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
_IN_WORD = regex.compile(r"[[\p{L}\p{M}\p{N}_]--[\p{Han}\p{Hiragana}\p{Katakana}]]", regex.VERSION1)
_TOKENS = regex.compile(rf"\n|[^\S\n]*+(?:{_IN_WORD.pattern}++|\S)|[^\S\n]++", regex.VERSION1)
"""Line breaks, and words or marks with the space before them."""
_LONGEST_WORD = 64
_MOST_PAIRS = 20_000  # of tokens that are the same: some 20 ms
_PROBE = 64  # characters that are compared before a whole text is


def agent_writer(agent: AgentId) -> Writer:
    return Writer(f"agent:{agent}")


def person_writer(person: PersonId) -> Writer:
    return Writer(f"person:{person}")


class Deed(StrEnum):
    """What sort of change it is. Those that restore name what they go back to or take back."""

    EDIT = "edit"
    UNDO = "undo"
    REDO = "redo"
    ROLLBACK = "rollback"
    REVERT = "revert"
    RETYPE = "retype"
    """Another schema for the same words; it restores nothing."""
    KEPT = "kept"
    """What is left of a change where the words of others were erased with the past; it restores nothing."""

    @property
    def restores(self) -> bool:
        """Whether it goes back to something, or takes something back."""
        return self not in (Deed.EDIT, Deed.RETYPE, Deed.KEPT)


@dataclass(frozen=True)
class Note:
    """What a change is for. `of` is the change that is undone or done again, or the version gone back to."""

    deed: Deed = Deed.EDIT
    of: int = 0
    whose: Writer | None = None
    """Whose changes are reverted."""


EDIT = Note()


Content: TypeAlias = str | tuple[Any, ...]
"""Some of a text, or items of a list."""
Inserted = TypeVar("Inserted", bound=Content, covariant=True)


@dataclass(frozen=True, slots=True)
class Splice(Generic[Inserted]):
    """At `place`, `delete` characters or items go and `insert` comes."""

    place: int
    delete: int
    insert: Inserted


@dataclass(frozen=True)
class Stamp:
    """What a commit says about itself. `seq` is the number of the update row that will hold it."""

    writer: Writer
    turn: TurnId | None
    seq: int
    at: datetime

    def message(self, note: Note = EDIT, shown: Sequence[Splice[str]] | None = None) -> str:
        """`shown` is what it does to the text that is shown of a structured block."""
        said: dict[str, Any] = {"w": self.writer, "t": self.turn, "n": self.seq}
        if note.deed is not Deed.EDIT:
            said |= {"k": note.deed, "o": note.of} | ({"x": note.whose} if note.whose else {})
        if shown is not None:
            said["s"] = [[splice.place, splice.delete, splice.insert] for splice in shown]
        return _encode(said)


@dataclass(frozen=True)
class Change:
    """One commit as the document remembers it; `at` is whole seconds."""

    writer: Writer
    turn: TurnId | None
    seq: int
    at: datetime
    note: Note = EDIT


@dataclass(frozen=True, slots=True)
class Made:
    """The operations of a change, as Loro's interchange format has them.

    `peers` are the writers' ids that the operations number.
    """

    peers: Sequence[str]
    changes: Sequence[Mapping[str, Any]]


NONE_MADE = Made((), ())


@dataclass(frozen=True)
class Step:
    """A change with its operations, in the order in which they were made; `before` is as in `Shown`."""

    change: Change
    splices: tuple[Splice[str], ...]
    made: Made = field(default=NONE_MADE, compare=False, repr=False)


def played(text: str, steps: Iterable[Step]) -> str:
    for step in steps:
        for splice in step.splices:
            text = text[: splice.place] + splice.insert + text[splice.place + splice.delete :]
    return text


def difference(before: str, after: str) -> tuple[Splice[str], ...]:
    """The way from one text to another, as one splice between what both begin and end with.

    As two where it is shorter: of a log the oldest lines go and new ones come, and all between them has moved.
    """
    start = common_prefix(before, after)
    end = common_prefix(before[start:][::-1], after[start:][::-1])
    one = Splice(start, len(before) - start - end, after[start : len(after) - end])
    if one.delete and one.insert and (gone := _scrolled(before, after)):
        kept = len(before) - gone
        if len(after) - kept < len(one.insert):
            return Splice(0, gone, ""), Splice(kept, 0, after[kept:])
    return (one,) if one.delete or one.insert else ()


def by_words(before: str, after: str) -> tuple[Splice[str], ...] | None:
    """The way from one text to another in whole words, from the end to the beginning; None where it would take long.

    Of a word that reads otherwise nothing is kept, so that each has one writer.
    """
    start = common_prefix(before, after)
    end = common_prefix(before[start:][::-1], after[start:][::-1])
    start -= _begun(before, after, start)
    end -= _begun(before[::-1], after[::-1], end)
    old, new = _TOKENS.findall(before[start : len(before) - end]), _TOKENS.findall(after[start : len(after) - end])
    if set(old).isdisjoint(new):  # the usual edit, and to compare takes longer than all else of it
        return (Splice(start, len(before) - end - start, "".join(new)),) if old or new else ()
    times = Counter(new)
    if len(old) > _MOST_PAIRS or sum(count * times[token] for token, count in Counter(old).items()) > _MOST_PAIRS:
        return None
    places = list(itertools.accumulate(map(len, old), initial=start))
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return tuple(
        Splice(places[first], places[last] - places[first], "".join(new[begin:stop]))
        for code, first, last, begin, stop in reversed(codes)
        if code != "equal"
    )


def _begun(one: str, other: str, place: int) -> int:
    """How many characters of a word stand before that place, if it goes over it in either text."""
    if not any(_IN_WORD.match(text, place) for text in (one, other)):
        return 0
    return next(
        (size for size in range(min(place, _LONGEST_WORD)) if not _IN_WORD.match(one, place - size - 1)),
        min(place, _LONGEST_WORD),
    )


def _scrolled(before: str, after: str) -> int:
    """How many characters of whole lines went when the new text begins with all the rest; 0 when it does not."""
    place = before.find("\n") + 1
    while 0 < place < len(before):
        if after.startswith(before[place : place + _PROBE]) and after.startswith(before[place:]):
            return place
        place = before.find("\n", place) + 1
    return 0


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
    """A commit by its message. Raises BlockCorrupt for one that does not say who made it."""
    try:
        said = json.loads(message or "")
        writer, turn, seq = Writer(said["w"]), said["t"], int(said["n"])
        whose = said.get("x")
        note = Note(Deed(said.get("k", Deed.EDIT)), int(said.get("o", 0)), None if whose is None else Writer(whose))
    except (ValueError, KeyError, TypeError) as error:
        raise BlockCorrupt("a change does not say who made it: {message!r}", message=message) from error
    at = datetime.fromtimestamp(timestamp, tz=UTC)
    return Change(writer, None if turn is None else TurnId(turn), seq, at, note)


def _shown_of(message: str | None) -> tuple[Splice[str], ...] | None:
    """What a commit's message says of the text that is shown; None when it says nothing."""
    told = json.loads(message or "").get("s")
    return None if told is None else tuple(Splice(int(at), int(size), str(text)) for at, size, text in told)


def steps_of(updates: str) -> list[Step]:
    """The changes in an export of Loro, oldest first. Raises BlockCorrupt."""
    try:
        found = json.loads(updates)
        changes = sorted(found["changes"], key=lambda each: each["lamport"])
        peers = found.get("peers") or []
        # Loro keeps a large commit as several changes with the same message.
        return [_step(peers, list(parts)) for _, parts in itertools.groupby(changes, key=lambda each: each["msg"])]
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise BlockCorrupt("the changes of a document cannot be read: {error}", error=error) from error


def _step(peers: list[str], parts: list[dict[str, Any]]) -> Step:
    shown, operations = _shown_of(parts[0]["msg"]), [op for change in parts for op in change["ops"]]
    if shown is None:
        if strange := {op["container"] for op in operations} - {_TEXT}:
            raise BlockCorrupt("a change by {writer} does not say how it changed the visible text", writer=min(strange))
        shown = tuple(splice for op in operations for splice in text_splices(op["content"]))
    return Step(change_of(parts[0]["msg"], parts[0]["timestamp"]), shown, Made(peers, parts))


def text_splices(content: Mapping[str, Any]) -> Iterator[Splice[str]]:
    """What an operation does to a text, or a deletion to a list. Raises Refused for any other."""
    match content["type"]:
        case "insert":
            yield Splice(content["pos"], 0, content["text"])
        case "delete":
            place, size = content["pos"], content["len"]
            # A negative length is a deletion that went backwards from its place.
            yield Splice(place, size, "") if size >= 0 else Splice(place + size + 1, -size, "")
        case other:
            raise Refused("this block has changes that are not text ({other})", other=other)
