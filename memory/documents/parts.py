"""The parts of a structured block with all that they ever held: pure functions over recorded changes.

The operations of each change are replayed on every field, list and text by itself, so that one writer's changes can be
taken back where others changed other parts, or other places of the same part. Nothing here travels in time with Loro,
which holds up every other thread while it does.

Of a text that is a *weave* of its runs. A list is a weave of its items, each one private character; an item whose
value was set later keeps its character, and the values that it had stand beside. Of a number, a time or yes-or-no
there are the values that were set, of a counter what was added.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memory.documents.changes import Made, Splice, Step, played, text_splices
from memory.documents.part_items import UNKNOWN, ItemPlan, Items, narrowed, same, words_of
from memory.documents.restoring import settled, without
from memory.documents.schemas import MOST_ITEMS, MOST_NUMBER, ListSchema, Schema
from memory.documents.targets import Target, every_target
from memory.documents.weave import Plan, Weave
from memory.errors import BlockCorrupt, BlockRefused, Refused

LOST = "."
"""The path of the text that was saved from a damage, which stands beside the parts."""
_LOST_CONTAINER = "content"
_ROOT = "cid:root-"
HIDDEN = "\ufffc"
"""Stands for each character of a text that is not known any more."""


@dataclass(frozen=True)
class Held:
    """What each part holds, by its path: a text, a list, a number. Logs are not among them."""

    schema: Schema
    values: Mapping[str, Any]
    whole: Any = None
    """The same in one, with the logs, as it is rendered."""


@dataclass(frozen=True)
class Amends:
    """What to change in each part, by its path, so that changes are taken back; and the report, as in `Plan`."""

    texts: Mapping[str, Sequence[Splice]] = field(default_factory=dict)
    lists: Mapping[str, ItemPlan] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    counters: Mapping[str, float] = field(default_factory=dict)
    gone: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        return not (self.texts or self.lists or self.values or self.counters)


class Parts:
    """The parts of a block from version `start` on. What they held at `start` is known only if that is the beginning.

    `held` is what they hold now. Raises BlockCorrupt when the changes do not lead there.
    """

    def __init__(self, start: int, steps: Sequence[Step], held: Held) -> None:
        self.held = held
        self.known = start == 0
        self._start = start
        self._first = steps[0].change.seq if steps else start
        self._targets = every_target(held.schema)
        self._texts: dict[str, list[Step]] = defaultdict(list)
        self._items = {path: Items() for path, target in self._targets.items() if target.kind == "list"}
        self._values: dict[str, list[tuple[int, Any]]] = defaultdict(list)
        self._added: dict[str, list[tuple[int, float]]] = defaultdict(list)
        self._logged: set[int] = set()
        changes = {step.change.seq: step.change for step in steps}
        self._notes = {number: change.note for number, change in changes.items()}
        for step in steps:
            if step.made is not None:
                self._take(step, step.made)
        self._weaves = {path: self._woven(path) for path in self._texts}
        for path, items in self._items.items():
            items.close(start, held.values[path], changes, known=self.known)
        self._require_led_here()

    # ------------------------------------------------------------------------------------------------- replaying

    def _take(self, step: Step, made: Made) -> None:
        number, texts = step.change.seq, defaultdict[str, list[Splice]](list)
        for change in made.changes:
            peer, first = _peer(made.peers, change["id"]), int(change["id"].partition("@")[0])
            for op in change["ops"]:
                name, _, kind = op["container"].removeprefix(_ROOT).rpartition(":")
                path, content = _path(name), op["content"]
                match kind:
                    case "Text":
                        texts[path] += text_splices(content)
                    case "MovableList" if content["type"] == "set":
                        self._items[path].set(number, _element(made.peers, content["elem_id"]), content["value"])
                    case "MovableList" if content["type"] == "insert":
                        born = change["lamport"] + op["counter"] - first
                        self._items[path].insert(number, content["pos"], content["value"], (born, peer))
                    case "MovableList":
                        self._items[path].delete(number, text_splices(content))
                    case "Counter":
                        self._added[path].append((number, content["value"]))
                    case "Map" if name != "schema":
                        key = f"{path}.{content['key']}".lstrip(".")
                        self._values[key].append((number, content.get("value")))
                    case "List":
                        self._logged.add(number)
        for path, splices in texts.items():
            self._texts[path].append(Step(step.change, tuple(splices)))

    def _woven(self, path: str) -> Weave:
        steps = self._texts[path]
        if self.known:
            return Weave(0, "", steps)
        grown = sum(len(each.insert) - each.delete for step in steps for each in step.splices)
        length = len(self.held.values[path]) - grown
        return Weave(self._start, HIDDEN * length, steps, unknown=True)

    def _require_led_here(self) -> None:
        values = self.held.values
        wrong = [path for path, items in self._items.items() if not items.lead_to(values[path])]
        if self.known:
            wrong += [path for path, weave in self._weaves.items() if weave.text() != values[path]]
            added = {path: math.fsum(amount for _, amount in each) for path, each in self._added.items()}
            wrong += [path for path, total in added.items() if not math.isclose(total, values[path], abs_tol=1e-6)]
        wrong += [path for path, sets in self._values.items() if sets[-1][1] != values[path]]
        if wrong:
            raise BlockCorrupt(f"the changes of the document do not give what {_called(wrong[0])} holds")

    # ---------------------------------------------------------------------------------------------- going back

    def rolled_back(self, version: int) -> Amends | None:
        """The way to the parts as they were at a version; None where it is not known what they were.

        Raises BlockRefused where a log, or what is read only, would change; Refused where what is required would be
        empty, and for a version from before the block was made.
        """
        if not self.known:
            return None
        if version < self._first:
            raise Refused(f"at version {version} the block was not made yet")
        if any(number > version for number in self._logged):
            raise BlockRefused("entries of a log stay as they are")
        texts = {path: self._text_at(path, version) for path in self._weaves}
        lists = {path: items.rolled_back(version) for path, items in self._items.items()}
        values = {path: _value_at(sets, version) for path, sets in self._values.items()}
        counters = {path: -math.fsum(each for at, each in added if at > version) for path, added in self._added.items()}
        amends = Amends(
            {path: splices for path, splices in texts.items() if splices},
            {path: plan for path, plan in lists.items() if plan.any},
            {path: value for path, value in values.items() if not same(value, self.held.values[path])},
            {path: amount for path, amount in counters.items() if amount},
        )
        self._require_free(amends)
        emptied = [path for path in amends.texts if not self._weaves[path].text(version).strip()]
        for path in (*emptied, *(path for path, value in amends.values.items() if value is None)):
            if path != LOST and self._targets[path].required:
                raise Refused(f"{path} is required and would be empty")
        return amends

    def _text_at(self, path: str, version: int) -> tuple[Splice, ...]:
        found = [(each.place, each.delete, each.insert) for each in self._weaves[path].rolled_back(version).splices]
        return tuple(Splice(at, size, "".join(new)) for at, size, new in narrowed(self.held.values[path], found))

    def _require_free(self, amends: Amends) -> None:
        for path in (*amends.texts, *amends.lists, *amends.values, *amends.counters):
            if path != LOST and self._targets[path].read_only:
                raise BlockRefused(f"{path} was changed since and is read only: the system keeps it")

    def text(self, path: str) -> Weave | None:
        """A text with all that ever stood in it; None when it never changed."""
        return self._weaves.get(path)

    def items(self, path: str) -> Items:
        """A list with all its items."""
        return self._items[path]

    def author(self, path: str, item: int | None = None) -> int | None:
        """The change that wrote a value, or the item at that place of a list; None where no value was ever set."""
        if item is not None:
            return self._items[path].author(item)
        sets = self._added.get(path) or self._values.get(path)
        if not sets:
            return None
        place = settled(sets, self._notes)
        return sets[place][0] if place >= 0 else None

    def taken_back(self, numbers: Collection[int], *, beside: bool = False) -> Amends:
        """The way to the parts without some changes, keeping whatever others changed later.

        A value goes back to what it would be without them, if the last that was set is theirs; a counter loses what
        they added; texts and lists go back as in `Weave.taken_back`, with `beside` also beside what others wrote. What
        cannot be without them stays, and is told: a required field, a number out of range. Raises BlockRefused where
        what is read only would change.
        """
        report = _Report(frozenset(numbers), beside)
        texts = {path: plan.splices for path in self._weaves if (plan := self._text_back(path, report)).splices}
        lists = {path: items for path in self._items if (items := self._list_back(path, report)).any}
        values = {path: found[0] for path in self._values if (found := self._value_back(path, report))}
        counters = {path: amount for path in self._added if (amount := self._counter_back(path, report))}
        self._require_free(Amends(texts, lists, values, counters))
        if self._logged & report.numbers:
            report.kept.append("the entries of a log stay as they are")
        return Amends(texts, lists, values, counters, tuple(report.gone), tuple(report.lost), tuple(report.kept))

    def _text_back(self, path: str, report: "_Report") -> Plan:
        weave = self._weaves[path]
        plan = weave.taken_back(report.numbers, beside="\n" if report.beside else None)
        report.gone += [f"{_prefix(path)}{text}" for text in plan.gone]
        report.lost += [f"{_prefix(path)}{_shown(text)}" for text in plan.lost]
        wanted = played(self.held.values[path], [Step(weave.changes[-1], plan.splices)])
        if plan.splices and path != LOST and self._targets[path].required and not wanted.strip():
            report.kept.append(f"{path} is required and would be empty")
            return Plan(plan.version, ())
        return plan

    def _list_back(self, path: str, report: "_Report") -> ItemPlan:
        items = self._items[path].taken_back(report.numbers, _most(self._targets[path]), beside=report.beside)
        report.gone += [f"{_prefix(path)}{item}" for item in items.gone]
        report.lost += [f"{_prefix(path)}{item}" for item in items.lost]
        return items

    def _value_back(self, path: str, report: "_Report") -> tuple[Any] | None:
        """The value to set, as the only one; None when it stays."""
        sets = self._values[path]
        mine = [value for number, value in sets if number in report.numbers]
        if not mine:
            return None
        if not {sets[-1][0], sets[settled(sets, self._notes)][0]} & report.numbers:
            report.gone += [f"{_prefix(path)}{words_of(mine[-1])}"] if mine[-1] is not None else []
            return None
        wanted = without(sets, report.numbers, self._notes, None if self.known else UNKNOWN)
        now = self.held.values[path]
        if wanted is UNKNOWN:
            report.lost.append(f"{_prefix(path)}what it was before version {self._start}")
            return None
        if wanted is None and self._targets[path].required:
            report.kept.append(f"{path} is required and would be empty")
            return None
        return None if same(wanted, now) else (wanted,)

    def _counter_back(self, path: str, report: "_Report") -> float:
        amount = math.fsum(each for number, each in self._added[path] if number in report.numbers)
        left = self.held.values[path] - amount
        if abs(left) > MOST_NUMBER:
            report.kept.append(f"{path} would be {left:g}, which is more than a counter holds")
            return 0.0
        return -amount


@dataclass
class _Report:
    """Which changes are taken back, where what they removed comes back, and what is found on the way."""

    numbers: frozenset[int]
    beside: bool
    gone: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)


def _value_at(sets: Sequence[tuple[int, Any]], version: int) -> Any:
    return next((value for number, value in reversed(sets) if number <= version), None)


def _path(container: str) -> str:
    """The path of the part whose container has that name; of a map the path that its keys stand under."""
    return LOST if container == _LOST_CONTAINER else container.partition(":")[2].lstrip(".")


def _peer(peers: Sequence[str], identifier: str) -> str:
    number = identifier.partition("@")[2]
    return peers[int(number)] if peers else number


def _element(peers: Sequence[str], identifier: str) -> tuple[int, str]:
    """An item by the moment of its insertion in Loro's clock, and by whom: "L17@1"."""
    return int(identifier.partition("@")[0].removeprefix("L")), _peer(peers, identifier)


def _most(target: Target) -> int:
    return target.shape.max_items if isinstance(target.shape, ListSchema) else MOST_ITEMS


def _prefix(path: str) -> str:
    return f"{path}: " if path not in ("", LOST) else ""


def _called(path: str) -> str:
    return path or "the list"


def _shown(text: str) -> str:
    return "(not kept)" if HIDDEN in text and not text.strip(HIDDEN) else text
