"""The items of one list with all that they ever were: each is one private character in a weave."""

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, TypeAlias, TypeVar

from memory.documents.changes import Change, Note, Splice, Step
from memory.documents.restoring import Tie, rests_on, settled, without
from memory.documents.runs import Run, Sight
from memory.documents.weave import Weave
from memory.errors import BlockCorrupt, Refused

T = TypeVar("T")

Element: TypeAlias = tuple[int, str]
"""Loro's name of an item: when it was inserted, by its own clock, and by which writer."""


class _Unknown:
    """A value that is not known any more."""


UNKNOWN = _Unknown()
_MOST_PAIRS, _MOST_COMPARED = 20_000, 2_000  # of items that are the same, and of items: some tens of milliseconds
_FIRST_OLD = 0x100000  # characters from here on stand for items that are older than the history


@dataclass(frozen=True)
class ItemSplice:
    """At item `place`, `delete` items go and `items` come."""

    place: int
    delete: int
    items: tuple[Any, ...]


@dataclass(frozen=True)
class ItemPlan:
    """First the items at these places get other values, then the splices are made; and the report, as in `Plan`."""

    sets: tuple[tuple[int, Any], ...] = ()
    splices: tuple[ItemSplice, ...] = ()
    gone: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()

    @property
    def any(self) -> bool:
        return bool(self.sets or self.splices)


class Items:
    """One list. Operations are taken first, oldest first; then it is closed, and can be asked."""

    def __init__(self) -> None:
        self._steps: dict[int, list[Splice]] = {}
        self._called: dict[Element, str] = {}
        self._values: dict[str, list[tuple[int, Any]]] = {}
        """What each item was: by its insertion first, then as it was set."""
        self._changes: Mapping[int, Change] = {}
        self._unplaced: list[int] = []
        """Changes that set items which are older than the history."""
        self._weave = Weave(0, "", ())

    def insert(self, number: int, place: int, values: Sequence[Any], first: Element) -> None:
        """New items at a place; `first` names the first of them."""
        for at, value in enumerate(values):
            char = chr(len(self._values))
            if ord(char) >= _FIRST_OLD:
                raise Refused("more items were ever in this list than can be looked back at")
            self._called[first[0] + at, first[1]] = char
            self._values[char] = [(number, value)]
            self._steps.setdefault(number, []).append(Splice(place + at, 0, char))

    def set(self, number: int, element: Element, value: Any) -> None:
        """Another value for an item."""
        char = self._called.get(element)
        if char is None:
            self._unplaced.append(number)
        else:
            self._values[char].append((number, value))

    def delete(self, number: int, splices: Iterable[Splice]) -> None:
        """Items go."""
        self._steps.setdefault(number, []).extend(splices)

    def close(self, start: int, held: Sequence[Any], changes: Mapping[int, Change], *, known: bool) -> None:
        """All is taken, of these changes; the list holds that now.

        What it held at `start` was nothing, unless it is not known.
        """
        if known and self._unplaced:
            raise BlockCorrupt("an item was set that was never inserted")
        self._changes = changes
        steps = [Step(changes[number], tuple(each)) for number, each in self._steps.items()]
        grown = sum(len(each.insert) - each.delete for step in steps for each in step.splices)
        old = "".join(chr(_FIRST_OLD + at) for at in range(0 if known else len(held) - grown))
        self._values |= {char: [(start, UNKNOWN)] for char in old}
        self._weave = Weave(start, old, steps, unknown=not known, ties=self._ties)

    def _ties(self, dead: Sequence[str], new: Sequence[str]) -> list[Tie]:
        """Items that came back are those that they were, by their values: both go by the older character from now."""
        old, found, after = "".join(dead), list[Tie](), 0
        for at, char in enumerate("".join(new)):
            value = self._values[char][0][1]
            alike = (
                place
                for place in range(after, len(old))
                if any(same(value, was) for _, was in self._values[old[place]])
            )
            place = next(alike, None)
            if place is not None:
                self._values[old[place]] += self._values.pop(char)
                found.append(Tie(place, at, 1))
                after = place + 1
        return found

    def lead_to(self, held: Sequence[Any]) -> bool:
        """Whether all that was taken gives what the list holds, as far as it is known."""
        last = [self._values[char][-1][1] for char in self._weave.text()]
        return len(last) == len(held) and all(
            one is UNKNOWN or one == other for one, other in zip(last, held, strict=True)
        )

    def taken_back(self, numbers: frozenset[int], most: int, *, beside: bool = False) -> ItemPlan:
        """The way to the list without some changes; it never gets more than `most` items, or than it has.

        An item that somebody else set since is theirs from then on. With `beside` items come back also beside what
        others put into their place.
        """
        notes = self._notes()
        wanted = {char: without(sets, numbers, notes, sets[0][1]) for char, sets in self._values.items()}
        plan = self._weave.taken_back(numbers, self._reborn(numbers), beside="" if beside else None)
        stand = self._weave.text()
        lost = [self._words(char, wanted) for text in plan.lost for char in text]
        lost += ["an item that is older than what is kept"] * len(numbers & set(self._unplaced))
        splices, room = list[ItemSplice](), max(most - len(stand) + plan.removed, 0)
        for splice in plan.splices:
            items = tuple(wanted[char] for char in splice.insert[:room])
            lost += [self._words(char, wanted) for char in splice.insert[room:]]
            room -= len(items)
            splices += [ItemSplice(splice.place, splice.delete, items)] if splice.delete or items else []
        removed = {at for each in plan.splices for at in range(each.place, each.place + each.delete)}
        sets, gone = (
            list[tuple[int, Any]](),
            [words_of(self._values[char][-1][1]) for text in plan.gone for char in text],
        )
        for at, char in enumerate(stand):
            history = self._values[char]
            if at in removed or not any(number in numbers for number, _ in history):
                continue
            if not {history[-1][0], history[settled(history, notes)][0]} & numbers:
                gone.append(words_of([value for number, value in history if number in numbers][-1]))
            elif wanted[char] != history[-1][1]:
                sets.append((at, wanted[char]))
        return ItemPlan(tuple(sets), tuple(splices), tuple(gone), tuple(lost))

    def author(self, place: int) -> int:
        """The change that wrote the item that stands there."""
        sets = self._values[self._weave.text()[place]]
        return sets[settled(sets, self._notes())][0]

    def place_of(self, number: int, sight: Sight) -> int | None:
        """Where an item stands now that had that number, counted from 1, in the version that a writer was shown.

        A number beyond those is one of what they added themselves since. None when somebody else took it away since, or
        made something else of it. Raises Refused when there was none.
        """
        shown = self._weave.text(sight.version)
        if number > len(shown):
            shown = self._weave.known(sight)
        if not 1 <= number <= len(shown):
            raise Refused(f"there is no item {number}: the list had {len(shown)} when you saw it, counted from 1")
        char = shown[number - 1]
        changes = [at for at, _ in self._values[char][1:]] + (self._unplaced if ord(char) >= _FIRST_OLD else [])
        place = self._weave.text().find(char)
        return None if place < 0 or not all(map(sight.knows, changes)) else place

    def written(self, wanted: Sequence[Any], sight: Sight) -> ItemPlan | None:
        """The way to what somebody makes of the list who knows no more than that; what others did to it since stays.

        None when it is not kept any more what they were shown.
        """
        chars = self._weave.known(sight)
        before = [self._known_value(char, sight) for char in chars]
        if any(value is UNKNOWN for value in before):
            return None
        script, fresh = list[Run](), self._fresh(wanted, sight)
        matcher = SequenceMatcher(None, [*map(_key, before)], [*map(_key, wanted)], autojunk=False)
        for kind, start, end, first, last in matcher.get_opcodes():
            if end > start:
                script.append(Run(chars[start:end], 0) if kind == "equal" else Run(chars[start:end], 0, 1))
            if kind != "equal" and last > first:
                script.append(Run("".join(fresh[first:last]), 1))
        meant = dict(zip(fresh, wanted, strict=True))
        splices = (
            ItemSplice(each.place, each.delete, tuple(meant[char] for char in each.insert))
            for each in self._weave.merged(sight, script, lambda _text, _place: True).splices
        )
        return ItemPlan(splices=tuple(splices))

    def _fresh(self, wanted: Sequence[Any], sight: Sight) -> list[str]:
        """Characters for what is wanted: those of the same items that others added since, or else of its own."""
        known = set(self._weave.known(sight))
        added: dict[str, list[str]] = {}
        for char in self._weave.text():
            if char not in known:
                added.setdefault(_key(self._values[char][-1][1]), []).append(char)
        found = []
        for at, value in enumerate(wanted):
            alike = added.get(_key(value), [])
            found.append(alike.pop(0) if alike else chr(sys.maxunicode - at))
        return found

    def _known_value(self, char: str, sight: Sight) -> Any:
        sets = self._values[char]
        if ord(char) >= _FIRST_OLD and self._unplaced:
            return UNKNOWN
        return next((value for number, value in reversed(sets) if sight.knows(number)), sets[0][1])

    def changed_beyond(self, sight: Sight) -> bool:
        """Whether the list changed in a way that a writer does not know of."""
        sets = [number for each in self._values.values() for number, _ in each[1:]]
        return self._weave.changed_beyond(sight) or not all(map(sight.knows, (*sets, *self._unplaced)))

    def rolled_back(self, version: int) -> ItemPlan:
        """The way to the list as it was at a version. All that it ever held must be known."""
        then = {
            char: next((value for number, value in reversed(sets) if number <= version), sets[0][1])
            for char, sets in self._values.items()
        }
        stand = self._weave.text()
        now = [self._values[char][-1][1] for char in stand]
        plan = [
            (each.place, each.delete, [then[char] for char in each.insert])
            for each in self._weave.rolled_back(version).splices
        ]
        removed = {at for place, delete, _ in plan for at in range(place, place + delete)}
        sets = [
            (at, then[char]) for at, char in enumerate(stand) if at not in removed and not same(then[char], now[at])
        ]
        return ItemPlan(
            tuple(sets), tuple(ItemSplice(place, delete, tuple(items)) for place, delete, items in narrowed(now, plan))
        )

    def carried_over(self, numbers: Collection[int], again: Callable[[Any, Sequence[Any]], bool]) -> ItemPlan:
        """The way to the list without what later changes carried over of these.

        `again` says of a value whether it says again what one of those values said that its change took away.
        """
        away, came = defaultdict[int, list[str]](list), defaultdict[int, list[tuple[str, int]]](list)
        for run in self._weave.runs:
            for number in (run.died, *(gone for gone, _ in run.away)):
                away[number].extend(run.text)
        theirs, carried, first = dict[str, list[bool]](), set[str](), min(numbers)
        for char, values in self._values.items():
            theirs[char] = [number in numbers for number, _ in values]
            for at, (number, _) in enumerate(values):
                came[number].append((char, at))
        for number in sorted(each for each in came if each > first and each not in numbers):
            gone = (*away[number], *(char for char, at in came[number] if at))
            lost = [value for char in gone for value in self._last(char, theirs, number)]
            for char, at in came[number] if lost else ():
                if again(self._values[char][at][1], lost):
                    theirs[char][at] = True
                    carried.add(char)
        sets, splices = list[tuple[int, Any]](), list[ItemSplice]()
        for place, char in enumerate(self._weave.text()):
            if char not in carried or not theirs[char][-1]:
                continue
            left = [value for (_, value), its in zip(self._values[char], theirs[char], strict=True) if not its]
            if left and left[-1] is not UNKNOWN:
                sets.append((place, left[-1]))
            else:
                splices.insert(0, ItemSplice(place, 1, ()))
        return ItemPlan(tuple(sets), tuple(splices))

    def _last(self, char: str, theirs: Mapping[str, Sequence[bool]], number: int) -> list[Any]:
        """What an item was before a change, if that was of these."""
        before = [at for at, (each, _) in enumerate(self._values[char]) if each < number]
        return [self._values[char][before[-1]][1]] if before and theirs[char][before[-1]] else []

    def _reborn(self, numbers: Collection[int]) -> dict[str, int]:
        """The items that these changes inserted and others set, with the change that did first."""
        notes = self._notes()
        return {
            char: others[0]
            for char, sets in self._values.items()
            if sets[0][0] in numbers
            and (others := [number for number in rests_on(sets, notes) if number not in numbers])
        }

    def _notes(self) -> dict[int, Note]:
        return {number: change.note for number, change in self._changes.items()}

    def _words(self, char: str, wanted: Mapping[str, Any]) -> str:
        return words_of(wanted[char])


def _key(value: Any) -> str:
    """What equals for equal items alone."""
    return json.dumps(value, sort_keys=True)


def narrowed(now: Sequence[T], splices: Iterable[tuple[int, int, Sequence[T]]]) -> list[tuple[int, int, Sequence[T]]]:
    """The same splices, made from the end on, without taking away what they put back at the same place.

    What was taken away and came back stands in a weave twice, and going back exchanges the one for the other.
    """
    found: list[tuple[int, int, Sequence[T]]] = []
    for place, delete, insert in [*splices][::-1]:
        if found and place <= found[-1][0] + found[-1][1]:
            first, size, before = found[-1]
            found[-1] = (first, max(size, place + delete - first), [*before, *insert])
        else:
            found.append((place, delete, insert))
    left = []
    for place, delete, insert in reversed(found):
        old = now[place : place + delete]
        start = alike(old, insert)
        end = alike(old[start:][::-1], insert[start:][::-1])
        if delete - start - end or len(insert) - start - end:
            left.append((place + start, delete - start - end, insert[start : len(insert) - end]))
    return left


def item_splices(before: Sequence[Any], after: Sequence[Any]) -> list[ItemSplice]:
    """The way from one list to another, from the end to the beginning.

    Items between those that both begin and end with are told apart where that is soon done.
    """
    start = alike(before, after)
    end = alike(before[start:][::-1], after[start:][::-1])
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    was, wanted = [*map(_key, old)], [*map(_key, new)]
    times = Counter(wanted)
    pairs = sum(count * times[key] for key, count in Counter(was).items())
    if pairs > _MOST_PAIRS or min(len(was), len(wanted)) > _MOST_COMPARED:
        return [ItemSplice(start, len(old), tuple(new))] if old or new else []
    codes = SequenceMatcher(None, was, wanted, autojunk=False).get_opcodes()
    return [
        ItemSplice(start + first, last - first, tuple(new[begin:stop]))
        for kind, first, last, begin, stop in reversed(codes)
        if kind != "equal"
    ]


def alike(one: Sequence[Any], other: Sequence[Any]) -> int:
    """How many both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if not same(a, b)), min(len(one), len(other)))


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same, and of the same type: 1 is not True."""
    return one == other and type(one) is type(other)


def words_of(value: Any) -> str:
    """A value for a person."""
    if value is UNKNOWN:
        return "(not kept)"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
