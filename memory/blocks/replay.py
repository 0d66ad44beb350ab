"""Replays everything a block's parts ever held: to attribute text to its writer, and to take changes back.

Loro merges, compares and checks out versions, but it cannot take one writer's changes out of the middle and keep what
others wrote later. For that, the operations of its exported history are replayed here, part by part, each as a
`SequenceHistory`: a number, time or boolean is a list of at most one item. A counter is replayed as the list of its
additions.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memory.blocks.changes import Change, Content, Deed, Made, Splice, Step, text_splices
from memory.blocks.conversion import as_text, converted
from memory.blocks.schemas import (
    MOST_ITEMS,
    MOST_NUMBER,
    TEXT,
    ListSchema,
    LogSchema,
    MapSchema,
    Schema,
    TextSchema,
    parse_schema,
)
from memory.blocks.sequence import (
    Element,
    Insert,
    Operation,
    Put,
    Report,
    SequenceHistory,
    prefix,
    same,
)
from memory.blocks.targets import Target, every_part
from memory.store.errors import BlockCorrupt, BlockRefused, Refused
from texts import gettext_lazy, join_lazy

_ROOT = "cid:root-"
_MOST_SHOWN, _MOST_CHARACTERS = 3, 120  # lost texts that a report quotes, and characters of each


@dataclass(frozen=True)
class Plan:
    """The edits of each part, by path, that take changes back; and a report.

    `gone` are texts of those changes that others had already removed; `lost` are texts that the changes removed and
    that cannot come back, since their surroundings have changed. `kept` says what stays, and why. `removed` and
    `restored` count characters.
    """

    sequences: Mapping[str, Sequence[Splice[Content]]] = field(default_factory=dict)
    counters: Mapping[str, float] = field(default_factory=dict)
    gone: tuple[str, ...] = ()
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


@dataclass(frozen=True)
class BlockValues:
    """The value of each part of a block, by its path: a text, a list, a number. Logs are left out."""

    schema: Schema
    values: Mapping[str, Any]
    whole: Any = None
    """All values in one object, with the logs, as it is rendered."""


class Replay:
    """The parts of a block with everything they held since version `start`, where their values were `begin`.

    `held` are the current values. Raises BlockCorrupt if replaying the changes does not produce them.
    """

    def __init__(self, start: int, begin: BlockValues, steps: Sequence[Step], held: BlockValues) -> None:
        self.start, self.held = start, held
        self._retyped = start
        self.histories: dict[str, SequenceHistory] = {}
        self._added: dict[str, list[tuple[int, float]]] = {}
        self._logged: set[int] = set()
        self._have(begin.schema)
        for path, target in self._targets.items():
            if target.kind == "counter":
                self._added[path] = [(start, begin.values.get(path) or 0)]
            elif not target.is_log:
                self.histories[path] = SequenceHistory(start, _content(target, begin.values.get(path)))
        self._first = next((step.change.seq for step in steps if step.change.seq > start), start)
        for step in steps:
            if step.change.seq > start:
                self._take(step.change, step.made)
        if self._schema != held.schema:
            raise BlockCorrupt("the document's changes do not add up to its content")
        self._require_led_to(held.values)

    def _have(self, schema: Schema) -> None:
        self._schema, self._targets = schema, every_part(schema)
        self._paths = {target.name: path for path, target in self._targets.items()}

    def letters(self, otherwise: int) -> Iterator[tuple[str, int]]:
        """The content as one text for another schema, with the change that wrote each character.

        A field's name is attributed with its value; if the value is empty, with the text before it.
        """
        name, last = "", otherwise
        for text, path, item in as_text(self._schema, self._whole()):
            if path is None and text != "\n":
                name = text
                continue
            written = list(self.histories[path].written()) if path is not None else [(text, last)]
            spans = [(text, written[item][1])] if item is not None else written
            last = spans[0][1] if spans else last
            yield from ((letter, last) for letter in name)
            name = ""
            for content, last in spans:
                yield from ((letter, last) for letter in content)

    def _whole(self) -> Any:
        now = {path: _value(self._targets[path], history.content()) for path, history in self.histories.items()}
        return now if isinstance(self._schema, MapSchema) else now.get("", [])

    def _retype(self, change: Change, made: Made) -> None:
        """Switch the parts to another schema; content keeps its writers."""
        whole, wrote = self._whole(), [born for _letter, born in self.letters(change.seq)]
        new = _declared(made) or TEXT
        values = converted(self._schema, whole, new) if not isinstance(new, LogSchema) else ()
        self._have(new)
        self._retyped, self.histories, place = change.seq, {}, 0
        parts: dict[str, list[tuple[Content, int]]] = {}
        for text, path, item in as_text(new, values):
            born = wrote[place : place + len(text)]
            if path is not None:
                written = [((text,), max(born))] if item is not None else list(zip(text, born, strict=True))
                parts.setdefault(path, []).extend(written)
            place += len(text)
        for path, target in self._targets.items():
            if not target.is_log:
                names = [name for each in _inserted(made, target.name) for name in each]
                is_text = target.kind == "text"
                self.histories[path] = SequenceHistory.written_by(
                    change.seq, parts.get(path, ()), names, is_text=is_text
                )

    def _take(self, change: Change, made: Made) -> None:
        if change.note.deed is Deed.RETYPE:
            self._retype(change, made)
            return
        done: dict[str, list[Operation]] = {}
        for each in made.changes:
            peer, first = _peer(made.peers, each["id"]), int(each["id"].partition("@")[0])
            for op in each["ops"]:
                name, _, kind = op["container"].removeprefix(_ROOT).rpartition(":")
                path, content = self._paths.get(name, ""), op["content"]
                match kind, content:
                    case "Text", _:
                        done.setdefault(path, []).extend(text_splices(content))
                    case "MovableList", {"type": "insert", "pos": int(place), "value": values}:
                        born = each["lamport"] + op["counter"] - first
                        done.setdefault(path, []).append(Insert(place, tuple(values), (born, peer)))
                    case "MovableList", {"type": "set", "elem_id": element, "value": value}:
                        done.setdefault(path, []).append(Put(_element(made.peers, element), value))
                    case "MovableList", _:
                        cuts = [Splice(splice.place, splice.delete, ()) for splice in text_splices(content)]
                        done.setdefault(path, []).extend(cuts)
                    case "Counter", {"value": float() | int() as amount}:
                        self._added[path].append((change.seq, amount))
                    case "Map", {"key": str(key)} if name != "schema":
                        path = self._paths[f"value:{name.partition(':')[2]}.{key}"]
                        new = _content(self._targets[path], content.get("value"))
                        done[path] = [Splice(0, len(self.histories[path].content()), new)]  # the last value wins
                    case "List", _:
                        self._logged.add(change.seq)
        for path, operations in done.items():
            self.histories[path].take(change, operations)

    def _require_led_to(self, now: Mapping[str, Any]) -> None:
        for path, sequence in self.histories.items():
            if self._targets[path].kind == "list":
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
        """The value of each part but logs at a version. Raises Refused for one from before the block was created."""
        if version < self._first and self.start == 0 and not isinstance(self.held.schema, TextSchema):
            raise Refused("the block did not exist yet at version {version}", version=version)
        if version < self._retyped != self.start:
            raise Refused(
                "version {version} is of another type: the block was changed to a {type} at version {retyped}",
                version=version,
                type=self._schema.type,
                retyped=self._retyped,
            )
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
        return next((number for number in wrote if number != self.start), None)

    def standing(self) -> dict[int, Plan]:
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
        numbers = sorted({self.start, *cuts})
        return {number: Plan(cuts.get(number, {}), counters if number == numbers[0] else {}) for number in numbers}

    # ---------------------------------------------------------------------------------------------- taking back

    def without(self, numbers: Collection[int], *, beside: bool = False) -> Plan:
        """A plan that takes changes back and keeps whatever others changed later.

        Works as `SequenceHistory.back`; a counter loses what the changes added. If a required field would become empty
        or a number leave its range, it stays and the report says so. Raises BlockRefused if a read-only part would
        change.
        """
        numbers, report = frozenset(numbers), Report()
        sequences = {path: cuts for path in self.histories if (cuts := self._sequence(path, numbers, report, beside))}
        counters = {path: amount for path in self._added if (amount := self._counter(path, numbers, report))}
        for path in (*sequences, *counters):
            if self._targets[path].read_only:
                raise BlockRefused(
                    "{path} was changed in the meantime and is read-only: the system maintains it", path=path
                )
        if self._logged & numbers:
            report.kept.append(gettext_lazy("the entries of a log cannot be changed"))
        texts = [cut for path, cuts in sequences.items() if self.histories[path].is_text for cut in cuts]
        removed, restored = sum(cut.delete for cut in texts), sum(len(cut.insert) for cut in texts)
        told = tuple(report.gone), tuple(report.lost), tuple(report.kept)
        return Plan(sequences, counters, *told, removed, restored)

    def _sequence(self, path: str, numbers: frozenset[int], report: Report, beside: bool) -> Sequence[Splice[Content]]:
        sequence, target = self.histories[path], self._targets[path]
        found = Report()
        cuts = sequence.back(numbers, found, beside=beside, most=_most(target))
        found.lost += [gettext_lazy("an item from before the history begins")] * len(numbers & set(sequence.unplaced))
        report.gone += [join_lazy("", (prefix(path), words)) for words in found.gone]
        report.lost += [join_lazy("", (prefix(path), words)) for words in found.lost]
        now: Any = sequence.content()
        after = now
        for cut in cuts:
            after = after[: cut.place] + cut.insert + after[cut.place + cut.delete :]
        if cuts and target.required and not (after.strip() if isinstance(after, str) else after):
            report.kept.append(gettext_lazy("{path} is required and would be empty", path=path))
            return ()
        return () if target.kind == "value" and same(_value(target, after), _value(target, now)) else cuts

    def _counter(self, path: str, numbers: frozenset[int], report: Report) -> float:
        added = self._added[path]
        amount = math.fsum(each for number, each in added[1:] if number in numbers)
        left = math.fsum(each for _, each in added) - amount
        if abs(left) > MOST_NUMBER:
            too_much = gettext_lazy(
                "{path} would be {left:g}, which is more than a counter holds", path=path, left=left
            )
            report.kept.append(too_much)
            return 0.0
        return -amount


def schema_at(steps: Sequence[Step], version: int) -> Schema:
    """The schema before a change, from the schema changes before it."""
    declared = [_declared(step.made) for step in steps if step.change.seq < version]
    return next((schema for schema in reversed(declared) if schema is not None), TEXT)


def _declared(made: Made) -> Schema | None:
    found = [op["content"] for each in made.changes for op in each["ops"] if op["container"] == f"{_ROOT}schema:Map"]
    return parse_schema(found[-1]["value"]) if found else None


def _inserted(made: Made, name: str) -> Iterator[list[Element]]:
    """The ids of the items that a change inserted into a list, in order."""
    for each in made.changes:
        for op in each["ops"]:
            if op["container"] == f"{_ROOT}{name}:MovableList" and op["content"]["type"] == "insert":
                born = each["lamport"] + op["counter"] - int(each["id"].partition("@")[0])
                peer = _peer(made.peers, each["id"])
                yield [(born + offset, peer) for offset in range(len(op["content"]["value"]))]


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
