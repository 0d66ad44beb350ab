"""Replays everything a block's parts ever held: to attribute text to its writer, and to take changes back.

Loro merges, compares and checks out versions, but it cannot take one writer's changes out of the middle and keep what
others wrote later. For that, the operations of its exported history are replayed here, part by part, each as a
`SequenceHistory`: a number, time or boolean is a list of at most one item. A counter is replayed as the list of its
additions.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct, field

from memory.blocks.changes import Change, ChangeKind, Content, Operations, Splice, Step, text_splices
from memory.blocks.schemas import MOST_ITEMS, MOST_NUMBER, ListSchema, Schema
from memory.blocks.sequence import SequenceHistory, prefix, same
from memory.blocks.targets import Target, every_part
from memory.store.errors import BlockCorrupt, BlockRefused, Refused
from texts import gettext_lazy, join_lazy

Element: TypeAlias = tuple[int, str]
"""Loro's id of an item: its clock value at insertion, and the peer."""
_ROOT = "cid:root-"
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
    told = gettext_lazy("; not restored, because others have changed this part: {shown}{more}", shown=shown, more=more)
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

    Without `begin` the parts were empty, and the first change after `start` set them up. `held` are the current values.
    Raises BlockCorrupt if replaying the changes does not produce them.
    """

    def __init__(self, start: int, begin: Mapping[str, Any], steps: Sequence[Step], held: BlockValues) -> None:
        self._start, self._targets = start, every_part(held.schema)
        self._paths = {target.name: path for path, target in self._targets.items()}
        self.histories: dict[str, SequenceHistory] = {}
        self._added: dict[str, list[tuple[int, float]]] = {}
        self._items: dict[str, list[Element | None]] = {}
        self._replaced: dict[str, set[int]] = {}
        self._logged: set[int] = set()
        for path, target in self._targets.items():
            if target.kind == "counter":
                self._added[path] = [(start, begin.get(path) or 0)]
            elif not target.is_log:
                self.histories[path] = SequenceHistory(start, content := _content(target, begin.get(path)))
                self._items[path], self._replaced[path] = [None] * len(content), set()
        later = [step for step in steps if step.change.seq > start]
        self._first = start if begin or not later else later[0].change.seq
        for step in later:
            self._take(step.change, step.made)
        self._require_led_to(held.values)

    def _take(self, change: Change, made: Operations) -> None:
        done: dict[str, list[Splice[Content]]] = {}
        for each in made.changes:
            for op in each["ops"]:
                name, _, kind = op["container"].removeprefix(_ROOT).rpartition(":")
                content = op["content"]
                if kind == "Map" and name != "schema":
                    name = f"value:{name.partition(':')[2]}.{content['key']}"
                path = self._paths.get(name)
                if path is None or (change.note.deed is ChangeKind.RETYPE and content["type"] == "delete"):
                    continue  # of the schema itself, or of the type that the block had before
                match kind:
                    case "Text":
                        done.setdefault(path, []).extend(text_splices(content))
                    case "MovableList":
                        done.setdefault(path, []).extend(self._list_splices(path, change.seq, made.peers, each, op))
                    case "Counter":
                        self._added[path].append((change.seq, content["value"]))
                    case "Map":
                        value = _content(self._targets[path], content.get("value"))
                        done[path] = [Splice(0, len(self.histories[path].content()), value)]  # the last value wins
                    case _:
                        self._logged.add(change.seq)
        for path, splices in done.items():
            self.histories[path].take(change, splices)

    def _list_splices(
        self, path: str, number: int, peers: Sequence[str], made: Mapping[str, Any], op: Mapping[str, Any]
    ) -> Iterator[Splice[Content]]:
        """What an operation does to a list; the ids of its items are kept, since a replacement names one."""
        items = self._items[path]
        match op["content"]:
            case {"type": "insert", "pos": int(place), "value": values}:
                clock = made["lamport"] + op["counter"] - int(made["id"].partition("@")[0])
                for offset, value in enumerate(values):
                    items.insert(place + offset, (clock + offset, _peer(peers, made["id"])))
                    yield Splice(place + offset, 0, (value,))
            case {"type": "set", "elem_id": element, "value": value}:
                if (item := _element(peers, element)) in items:
                    yield Splice(items.index(item), 1, (value,))
                else:
                    self._replaced[path].add(number)
            case content:
                for splice in text_splices(content):
                    del items[splice.place : splice.place + splice.delete]
                    yield Splice(splice.place, splice.delete, ())

    def _require_led_to(self, now: Mapping[str, Any]) -> None:
        for path, sequence in self.histories.items():
            if self._replaced[path]:
                sequence.settle(now[path])
        wrong = [
            path
            for path, sequence in self.histories.items()
            if sequence.content() != _content(self._targets[path], now[path])
        ]
        sums = {path: math.fsum(amount for _, amount in added) for path, added in self._added.items()}
        wrong += [path for path, total in sums.items() if not math.isclose(total, now[path], abs_tol=1e-6)]
        if wrong:
            raise BlockCorrupt(
                "the changes of the document do not add up to what {wrong} contains", wrong=wrong[0] or "the list"
            )

    # -------------------------------------------------------------------------------------------------- reading

    def values_at(self, version: int) -> dict[str, Any]:
        """The value of each part but logs at a version. Raises Refused for one from before this history."""
        if version < self._first:
            raise Refused("what the block held at version {version} is not stored", version=version)
        if any(number > version for number in self._logged):
            raise BlockRefused("entries of a log cannot be changed")
        found = {
            path: _value(self._targets[path], sequence.content(version)) for path, sequence in self.histories.items()
        }
        for path, added in self._added.items():
            found[path] = math.fsum(amount for number, amount in added if number <= version)
        return found

    def author(self, path: str) -> int | None:
        """The change that wrote a number, time, boolean or counter; None if there is none."""
        wrote = [number for number, _ in self._added.get(path, ())[-1:]]
        wrote += [born for _, born in self.histories[path].written()] if path in self.histories else []
        return next((number for number in wrote if number != self._start), None)

    def by_change(self) -> dict[int, Plan]:
        """The current content as one plan per change, oldest first; applied in order, they build it from an empty
        block.

        Content older than the history, and counters, belong to the oldest change. Entries of logs are left out.
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
        numbers = sorted({self._start, *cuts})
        return {number: Plan(cuts.get(number, {}), counters if number == numbers[0] else {}) for number in numbers}

    # ---------------------------------------------------------------------------------------------- taking back

    def without(self, numbers: Collection[int], *, beside: bool = False) -> Plan:
        """A plan that takes changes back and keeps whatever others changed later.

        Works as `SequenceHistory.back`; a counter loses what the changes added. If a required field would become empty
        or a number leave its range, it stays and the report says so. Raises BlockRefused if a read-only part would
        change.
        """
        numbers, lost, kept = frozenset(numbers), list[str](), list[str]()
        sequences = {path: self._sequence(path, numbers, beside, lost, kept) for path in self.histories}
        sequences = {path: cuts for path, cuts in sequences.items() if cuts}
        counters = {path: amount for path in self._added if (amount := self._counter(path, numbers, kept))}
        for path in (*sequences, *counters):
            if self._targets[path].read_only:
                raise BlockRefused(
                    "{path} was changed in the meantime and is read-only: the system maintains it", path=path
                )
        if self._logged & numbers:
            kept.append(gettext_lazy("entries of a log cannot be changed"))
        texts = [cut for path, cuts in sequences.items() if self.histories[path].is_text for cut in cuts]
        removed, restored = sum(cut.delete for cut in texts), sum(len(cut.insert) for cut in texts)
        return Plan(sequences, counters, tuple(lost), tuple(kept), removed, restored)

    def _sequence(
        self, path: str, numbers: frozenset[int], beside: bool, lost: list[str], kept: list[str]
    ) -> Sequence[Splice[Content]]:
        sequence, target = self.histories[path], self._targets[path]
        cuts, gone = sequence.back(numbers, beside=beside, most=_most(target))
        gone += [gettext_lazy("an item from before the history begins")] * len(numbers & self._replaced[path])
        lost += [join_lazy("", (prefix(path), words)) for words in gone]
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


def _peer(peers: Sequence[str], identifier: str) -> str:
    number = identifier.partition("@")[2]
    return peers[int(number)] if peers else number


def _element(peers: Sequence[str], identifier: str) -> Element:
    """An item by Loro's clock and peer at its insertion, such as "L17@1"."""
    return int(identifier.partition("@")[0].removeprefix("L")), _peer(peers, identifier)


def _most(target: Target) -> int | None:
    """The maximum number of items; None for a text."""
    match target.kind:
        case "text":
            return None
        case "value":
            return 1
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
