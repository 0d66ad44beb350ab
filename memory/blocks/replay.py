"""Replays everything a block's parts ever held: to attribute text to its writer, and to take changes back.

Loro merges, compares and checks out versions, but it cannot take one writer's changes out of the middle and keep what
others wrote later. For that, what each change did is replayed here, part by part, each as a `SequenceHistory`: a
number, time or boolean is a list of at most one item. A counter is replayed as the list of its additions.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from memory.blocks.changes import Change, Content, Splice
from memory.blocks.schema_paths import Target, every_part
from memory.blocks.schemas import MOST_ITEMS, MOST_NUMBER, ListSchema, Schema
from memory.blocks.sequence_history import SequenceHistory, prefix, same, words_of
from memory.store.errors import BlockCorrupt, BlockRefused
from texts import gettext_lazy, join_lazy

_MOST_SHOWN, _MOST_CHARACTERS = 3, 120  # lost texts that a report quotes, and characters of each


class Plan(Struct, frozen=True):
    """The edits of each part, by path, that take changes back; and a report.

    `lost` are texts that the changes removed and that cannot come back, since their surroundings have changed. `kept`
    says what stays, and why. `removed` and `restored` count characters.
    """

    sequences: Mapping[str, Sequence[Splice[Content]]] = field(default_factory=dict)
    counters: Mapping[str, float] = field(default_factory=dict)
    lost: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    removed: int = 0
    restored: int = 0

    @property
    def empty(self) -> bool:
        return not (self.sequences or self.counters)


def not_back(lost: Sequence[str]) -> str:
    """The end of a sentence that names texts that could not be restored; empty if all could."""
    shown = join_lazy("; ", (gettext_lazy("“{text}”", text=_short(text)) for text in lost[:_MOST_SHOWN]))
    more = gettext_lazy(" and {more} more", more=len(lost) - _MOST_SHOWN) if len(lost) > _MOST_SHOWN else ""
    told = gettext_lazy("; not restored, because of later changes by others: {shown}{more}", shown=shown, more=more)
    return told if lost else ""


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _MOST_CHARACTERS else f"{flat[: _MOST_CHARACTERS - 1]}…"


class BlockValues(Struct, frozen=True):
    """The value of each part of a block, by its path: a text, a list, a log, a number."""

    schema: Schema
    values: Mapping[str, Any]


class Replay:
    """The parts of a block with everything they held since version `start`, where their values were `begin`.

    `made` are the changes since, oldest first. Raises BlockCorrupt if they do not lead to the current values.
    """

    def __init__(
        self, start: int, begin: Mapping[str, Any], made: Iterable[tuple[Change, Mapping[str, Any]]], held: BlockValues
    ) -> None:
        self.start, self._targets = start, every_part(held.schema)
        self.histories: dict[str, SequenceHistory] = {}
        self._added: dict[str, list[tuple[int, float]]] = {}
        for path, target in self._targets.items():
            if target.kind == "counter":
                self._added[path] = [(start, begin[path])]
            else:
                self.histories[path] = SequenceHistory(start, _content(target, begin[path]))
        paths = {target.name: path for path, target in self._targets.items()}
        for change, done in made:
            for name, what in done.items():
                if name in paths:
                    self._take(paths[name], change, what)
        for path, history in self.histories.items():
            if history.content() != _content(self._targets[path], held.values[path]):
                raise BlockCorrupt(
                    "the document's changes do not add up to what {wrong} contains", wrong=path or "the list"
                )

    def _take(self, path: str, change: Change, what: Any) -> None:
        match what:
            case float():
                self._added[path].append((change.seq, what))
            case tuple():
                history = self.histories[path]
                history.take(change, [Splice(0, len(history.content()), what)])
            case _:
                self.histories[path].take(change, what)

    def author(self, path: str) -> int | None:
        """The change that wrote a number, time, boolean or counter; None if there is none."""
        wrote = [number for number, _ in self._added.get(path, ())[-1:]]
        wrote += [born for _, born in self.histories[path].written()] if path in self.histories else []
        return next((number for number in wrote if number != self.start), None)

    def by_change(self) -> dict[int, Plan]:
        """The current content as one plan per change, oldest first; applied in order, they build it from an empty
        block.

        Content older than the history, and counters, belong to the oldest change.
        """
        cuts: dict[int, dict[str, list[Splice[Content]]]] = {}
        for path, sequence in self.histories.items():
            for number in sorted({born for _, born in sequence.written()}):
                place = 0
                for content, born in sequence.written():
                    if born == number:
                        cuts.setdefault(number, {}).setdefault(path, []).append(Splice(place, 0, content))
                    place += len(content) if born <= number else 0
        counters = {path: math.fsum(each for _, each in added) for path, added in self._added.items()}
        numbers = sorted({self.start, *cuts})
        return {number: Plan(cuts.get(number, {}), counters if number == numbers[0] else {}) for number in numbers}

    # ---------------------------------------------------------------------------------------------- taking back

    def without(self, numbers: Collection[int], *, beside: bool = False, entries: bool = False) -> Plan:
        """A plan that takes changes back and keeps whatever others changed later.

        Works as `SequenceHistory.back`; a counter loses what the changes added. If a required field would become empty
        or a number leave its range, it stays and the report says so; so do entries of a log, unless `entries` go.
        Raises BlockRefused if a read-only part would change.
        """
        numbers, lost, kept = frozenset(numbers), list[str](), list[str]()
        sequences = {path: self._sequence(path, numbers, beside, lost, kept) for path in self.histories}
        sequences = {path: cuts for path, cuts in sequences.items() if cuts}
        logs = [path for path in sequences if self._targets[path].is_log]
        if logs and not entries:
            sequences = {path: cuts for path, cuts in sequences.items() if path not in logs}
            kept.append(gettext_lazy("log entries cannot be changed"))
        counters = {path: amount for path in self._added if (amount := self._counter(path, numbers, kept))}
        for path in (*sequences, *counters):
            if self._targets[path].read_only:
                raise BlockRefused(
                    "{path} was changed in the meantime and is read-only: Carina maintains it", path=path
                )
        removed = restored = 0
        for path, cuts in sequences.items():
            held = self.histories[path].content()
            removed += sum(len(words_of(held[cut.place : cut.place + cut.delete])) for cut in cuts)
            restored += sum(len(words_of(cut.insert)) for cut in cuts)
        return Plan(sequences, counters, tuple(lost), tuple(kept), removed, restored)

    def _sequence(
        self, path: str, numbers: frozenset[int], beside: bool, lost: list[str], kept: list[str]
    ) -> Sequence[Splice[Content]]:
        sequence, target = self.histories[path], self._targets[path]
        cuts, gone = sequence.back(numbers, beside=beside, most=_most(target))
        lost += [] if target.is_log else [join_lazy("", (prefix(path), words)) for words in gone]
        now: Any = sequence.content()
        after = now
        for cut in cuts:
            after = after[: cut.place] + cut.insert + after[cut.place + cut.delete :]
        if cuts and target.required and not (after.strip() if isinstance(after, str) else after):
            kept.append(gettext_lazy("{path} is required and would be empty", path=path))
            return ()
        return () if target.kind == "value" and same(_value(target, after), _value(target, now)) else cuts

    def _counter(self, path: str, numbers: frozenset[int], kept: list[str]) -> float:
        added = self._added[path]
        amount = math.fsum(each for number, each in added[1:] if number in numbers)
        left = math.fsum(each for _, each in added) - amount
        if abs(left) > MOST_NUMBER:
            too_much = gettext_lazy("{path} would be {left:g}, more than a counter can hold", path=path, left=left)
            kept.append(too_much)
            return 0.0
        return -amount


def _most(target: Target) -> int | None:
    """The maximum number of items; None for a text."""
    match target.kind:
        case "text":
            return None
        case "value":
            return 1
        case "log":
            return 0  # what it has dropped since does not come back
        case _:
            return target.shape.max_items if isinstance(target.shape, ListSchema) else MOST_ITEMS


def _content(target: Target, held: Any) -> Content:
    """A part's value in the form that its history uses."""
    if target.kind == "value":
        return () if held is None else (held,)
    return (held or "") if target.kind == "text" else tuple(held or ())


def _value(target: Target, content: Content) -> Any:
    if target.kind == "value":
        return content[0] if content else None
    return content if isinstance(content, str) else [*content]
