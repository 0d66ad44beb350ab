"""A text with everything that ever stood in it: pure functions over recorded changes, without any library.

The changes of a block follow one another, each made on the text that the one before it left. A *weave* replays them
and keeps, in order, every run of characters with the change that wrote it and the change that removed it. What is
asked about the past is then a walk over the runs: the text at a version, what lies between two versions, who wrote
which part, and what of somebody's changes can still be taken back.

What somebody brings back by going back is not new: it is the run that it was, which was away for a while.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeAlias

from memory.documents.changes import Change, Deed, Splice, Step, played
from memory.documents.restoring import Tie, breaks, runs_on, same_words, sides, since, taken
from memory.documents.runs import PAGE, Page, Run, Sight, paged
from memory.errors import BlockCorrupt

Ties: TypeAlias = Callable[[Sequence[str], Sequence[str]], Sequence[Tie]]
"""Finds what of the texts that came, the second, is of those that died, in order."""

_MOST_SHOWN, _MOST_CHARACTERS = 3, 120  # of the words that do not come back, and of each of them


@dataclass(frozen=True)
class Piece:
    """A part of the text as it stands, with the change that wrote it; None for what is older than the history."""

    text: str
    change: Change | None


@dataclass(frozen=True)
class Plan:
    """How to take changes back: operations on the text of `version`, from the end to the beginning, and the report.

    `removed` and `restored` count characters. `gone` are words of theirs that others removed already, `lost` the words
    that they removed and that do not come back, since their place has changed. `kept` says in words what of a
    structured block stays, and why.
    """

    version: int
    splices: tuple[Splice, ...]
    removed: int = 0
    restored: int = 0
    gone: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


def not_back(lost: Sequence[str]) -> str:
    """Words for those that do not come back, to go on a sentence with; none where all do."""
    shown = "; ".join(f"“{_short(text)}”" for text in lost[:_MOST_SHOWN])
    more = f" and {len(lost) - _MOST_SHOWN} more" if len(lost) > _MOST_SHOWN else ""
    return f"; not brought back, since others changed what is there: {shown}{more}" if lost else ""


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _MOST_CHARACTERS else f"{flat[: _MOST_CHARACTERS - 1]}…"


def between_words(text: str, place: int) -> bool:
    """Whether no word goes on over a place in a text."""
    return not (0 < place < len(text) and text[place - 1].isalnum() and text[place].isalnum())


class Weave:
    """The text from version `start` on, with all that was written and removed since.

    What stood at `start` may be `unknown`, but for its length: what was removed of it then never comes back.
    """

    def __init__(
        self, start: int, text: str, steps: Iterable[Step], *, unknown: bool = False, ties: Ties = same_words
    ) -> None:
        self.start = start
        self._ties = ties
        self.version = start
        self._unknown = unknown
        self._pages = [Page([Run(text, start)] if text else [], len(text))]
        self._changes: dict[int, Change] = {}
        for step in steps:
            self._take(step)
        self._runs = self._all()

    def _all(self) -> list[Run]:
        return [run for page in self._pages for run in page.runs]

    def _take(self, step: Step) -> None:
        number = step.change.seq
        if number <= self.version:
            raise BlockCorrupt(f"change {number} comes after change {self.version}")
        if step.change.note.deed is Deed.EDIT or not any(splice.insert for splice in step.splices):
            self._make(step)
        else:
            self._go_back(step)
        self._changes[number] = step.change
        self.version = number

    def _make(self, step: Step) -> None:
        number = step.change.seq
        for splice in _exchanges(step.splices):
            page, at = self._cut(splice.place, number)
            if splice.insert:
                page, at = self._behind_gone(page, at)
                at = self._insert(page, at, Run(splice.insert, number))
            self._remove(page, at, splice.delete, number)

    def _go_back(self, step: Step) -> None:
        """Make a change that restores: what it brings back is what it was, where that can be told."""
        number, version = step.change.seq, self._back_to(step.change)
        if version is not None:
            runs = self._all()
            text, then = _joined(run for run in runs if run.stands), _joined(run for run in runs if run.at(version))
            if played(text, [step]) == then:
                self._pages = paged([run.back(number) if run.at(version) else run.gone(number) for run in runs])
                return
        self._make(step)
        known = since(step.change.note)
        found, between = list[Run](), list[Run]()
        for run in self._all():
            if run.stands and run.born != number:
                found += [*self._tied(between, number, known, version), run] if between else [run]
                between = []
            else:
                between.append(run)
        self._pages = paged([*found, *self._tied(between, number, known, version)])

    def _back_to(self, change: Change) -> int | None:
        """The version that a change makes everything be as at; None where it keeps what others wrote since."""
        note = change.note
        if note.deed is Deed.REVERT:
            return None
        if note.deed is not Deed.ROLLBACK:
            later = (each for seq, each in self._changes.items() if seq > note.of)
            if any(each.writer != change.writer or each.note.deed not in (Deed.UNDO, Deed.REDO) for each in later):
                return None
        return since(note) if since(note) >= self.start else None

    def _tied(self, between: list[Run], number: int, known: int, version: int | None) -> list[Run]:
        """Runs with nothing else standing between them, after what the change put there was tied to what died there."""
        new = [run for run in between if run.stands]
        old = [run for run in between if not run.stands]
        mine = [(run.at(version) if version is not None else run.died > known) for run in old]
        dead = [run.text for run, its in zip(old, mine, strict=True) if its]
        ties = list(self._ties(dead, [run.text for run in new])) if new and dead else []
        if not ties:
            return between
        came, found, place, used = _joined(new), list[Run](), 0, 0
        for run, its in zip(old, mine, strict=True):
            if not its:
                found.append(run)
                continue
            at, end = 0, len(run.text)
            while ties and ties[0].dead < place + end:
                tie = ties.pop(0)
                size = min(tie.size, place + end - tie.dead)
                found += [run.part(at, tie.dead - place)] if tie.dead - place > at else []
                found += [Run(came[used : tie.new], number)] if tie.new > used else []
                at, used = tie.dead - place + size, tie.new + size
                found.append(run.part(tie.dead - place, at).back(number))
                if size < tie.size:
                    ties.insert(0, Tie(tie.dead + size, tie.new + size, tie.size - size))
            found += [run.part(at, end)] if at < end else []
            place += end
        return [*found, Run(came[used:], number)] if used < len(came) else found

    def _cut(self, place: int, number: int) -> tuple[int, int]:
        """The page, and the index in it, right behind the character before a place; splits a run if need be."""
        left = place
        for at, page in enumerate(self._pages):
            if left <= page.standing:
                return at, page.cut(left)
            left -= page.standing
        raise BlockCorrupt(f"change {number} at character {place} lies past the end of the text")

    def _behind_gone(self, at: int, index: int) -> tuple[int, int]:
        """From there on, the place behind what is gone: what never stood together is in the order of writing.

        But words that the next ones came in place of stay with those, so that it is before the ones and the others.
        """
        while True:
            runs = self._pages[at].runs
            index = next((each for each in range(index, len(runs)) if runs[each].stands), len(runs))
            later = (each for each in range(at + 1, len(self._pages)) if self._pages[each].standing)
            if index < len(runs) or (following := next(later, None)) is None:
                break
            at, index = following, 0
        if index == len(runs):
            return len(self._pages) - 1, len(self._pages[-1].runs)
        came = {runs[index].came}
        while at or index:
            if index == 0:
                at, index = at - 1, len(self._pages[at - 1].runs)
                continue
            run = self._pages[at].runs[index - 1]
            if run.died not in came:
                break
            came.add(run.came)
            index -= 1
        return at, index

    def _insert(self, at: int, index: int, run: Run) -> int:
        """Put a run there; gives the index behind it."""
        page = self._pages[at]
        page.runs.insert(index, run)
        page.standing += len(run.text)
        return index + 1

    def _remove(self, at: int, index: int, size: int, number: int) -> None:
        """Let so many standing characters die, from that run on."""
        first = at
        while size > 0:
            if at == len(self._pages):
                raise BlockCorrupt(f"change {number} removes more than there is")
            size = self._pages[at].remove(index, size, number)
            at, index = at + 1, 0
        if len(self._pages[first].runs) > PAGE:
            self._pages[first : first + 1] = self._pages[first].halves()

    @property
    def changes(self) -> list[Change]:
        """Those that were replayed, oldest first."""
        return list(self._changes.values())

    @property
    def runs(self) -> Sequence[Run]:
        return self._runs

    def text(self, version: int | None = None) -> str:
        """The text at a version, from `start` to `version`; without one the newest."""
        wanted = self.version if version is None else version
        return "".join(run.text for run in self._runs if run.at(wanted))

    def blame(self) -> list[Piece]:
        """The text as it stands, in parts that one change wrote."""
        pieces: list[Piece] = []
        for run in self._runs:
            if not run.stands:
                continue
            change = self._changes.get(run.born)
            if pieces and pieces[-1].change == change:
                pieces[-1] = Piece(pieces[-1].text + run.text, change)
            else:
                pieces.append(Piece(run.text, change))
        return pieces

    def rolled_back(self, version: int) -> Plan:
        """The way from the text as it stands to that of a version."""
        return self._plan(lambda _at, run: run.at(version))

    def taken_back(
        self, numbers: Collection[int], reborn: Mapping[str, int] | None = None, *, beside: str | None = None
    ) -> Plan:
        """The way to the text without some changes.

        What survives of their insertions goes, whoever brought it back, and what they brought back against others. What
        they removed comes back where its neighbours, those that stood
        at both of its sides when it was removed, still stand there with nothing of others written in between.
        With `beside` also where others wrote in between, but not over what these changes put there: in the order of
        writing. `beside` is then what ends a line, which is put behind a line that would run into another.
        `reborn` are runs, by their text, that others wrote over since, and when: from then on they are theirs.
        """
        runs = self._runs
        if reborn:
            runs = [replace(run, born=reborn[run.text]) if run.text in reborn else run for run in runs]
        back, lost = self._restorable(runs, frozenset(numbers), beside=beside is not None)

        def stays(at: int) -> bool:
            return runs[at].without(numbers) if runs[at].stands else at in back

        ends = {at: beside for at in back if beside and runs_on(runs, at, back, stays, beside)}
        ends |= dict.fromkeys(breaks(runs, min(numbers, default=0), stays), "\n")
        plan = self._plan(lambda at, _run: stays(at), ends)
        gone = [run.text for run in runs if run.born in numbers and not run.stands and run.died not in numbers]
        return replace(plan, gone=tuple(gone), lost=tuple(lost))

    def _restorable(self, runs: Sequence[Run], numbers: frozenset[int], *, beside: bool) -> tuple[set[int], list[str]]:
        """Which dead runs come back, by index; and the words that do not, since their place has changed."""
        left, right = sides(runs, numbers, beside=beside), sides(runs[::-1], numbers, beside=beside)
        sound = {at for at, side in left.items() if side.and_(right[len(runs) - 1 - at]).unchanged(beside=beside)}
        if self._unknown:
            sound = {at for at in sound if runs[at].born > self.start}
        lost = [run.text for at, run in enumerate(runs) if taken(run, numbers) and at not in sound]
        return sound, lost

    def known(self, sight: Sight) -> str:
        """The text as far as a writer knows."""
        return "".join(run.text for run in self._runs if run.known(sight))

    def changed_beyond(self, sight: Sight) -> bool:
        """Whether anything was written or removed that a writer does not know of."""
        return any(run.known(sight) != run.stands for run in self._runs)

    def merged(self, sight: Sight, script: Sequence[Run], ends: Callable[[str, int], bool] = between_words) -> Plan:
        """The way to what somebody makes who knows no more than that, keeping what others wrote since.

        `script` are the runs of a weave of its own, from that text (version 0) to the wanted one: what stands with
        `born` 0 is kept, what died goes, the rest is new. At one place, what was written meanwhile comes first; where
        both begin with the same, as far as it `ends` with a word there, it is written once.
        """
        rest = [run if run.known(sight) else None for run in self._runs]
        splices, place, at, used = list[Splice](), 0, 0, 0

        def pass_new() -> None:
            nonlocal at, place
            while at < len(rest) and rest[at] is None:
                place += len(self._runs[at].text) if self._runs[at].stands else 0
                at += 1

        for part in script:
            if part.born:
                if part.stands:
                    if used == 0:
                        pass_new()
                    splices.append(Splice(place, 0, part.text))
                continue
            left = len(part.text)
            while left:
                if used == 0:
                    pass_new()
                run = self._runs[at]
                size = min(left, len(run.text) - used)
                if run.stands and not part.stands:
                    splices.append(Splice(place, size, ""))
                place += size if run.stands else 0
                left, used = left - size, used + size
                if used == len(run.text):
                    at, used = at + 1, 0
        return Plan(self.version, tuple(reversed(self._once(splices, sight, ends))))

    def _once(self, splices: Sequence[Splice], sight: Sight, ends: Callable[[str, int], bool]) -> list[Splice]:
        """The same splices, without what stands there already since somebody else put it there too."""
        text = self.text()
        new = [not run.known(sight) for run in self._runs if run.stands for _ in run.text]
        found = list[Splice]()
        for at, each in enumerate(splices):
            start = end = each.place
            while start and new[start - 1]:
                start -= 1
            while end < len(new) and new[end]:
                end += 1
            alone = at + 1 == len(splices) or end <= splices[at + 1].place
            for stop in (end, each.place) if alone else (each.place,):
                if both := _both_begin(text[start:stop], each.insert, ends):
                    found.append(Splice(stop, 0, each.insert[both:]))
                    break
            else:
                found.append(each)
        return [each for each in found if each.insert or each.delete]

    def _plan(self, wanted: Callable[[int, Run], bool], ends: Mapping[int, str] = MappingProxyType({})) -> Plan:
        """Operations that make the wanted runs stand, with `ends` behind some that come back, or for some that go."""
        splices, place = list[Splice](), 0
        removed = restored = 0
        for at, run in enumerate(self._runs):
            want = wanted(at, run)
            if run.stands and not want:
                splices.append(Splice(place, len(run.text), ends.get(at, "")))
                removed += len(run.text)
            elif want and not run.stands:
                splices.append(Splice(place, 0, run.text + ends.get(at, "")))
                restored += len(run.text)
            place += len(run.text) if run.stands else 0
        return Plan(self.version, tuple(reversed(splices)), removed, restored)


def _both_begin(one: str, other: str, ends: Callable[[str, int], bool]) -> int:
    """The length of what one is wholly and the other begins with, if that is where a word ends; else 0."""
    size = min(len(one), len(other))
    longer = max(one, other, key=len)
    return size if one[:size] == other[:size] and ends(longer, size) else 0


def _joined(runs: Iterable[Run]) -> str:
    return "".join(run.text for run in runs)


def _exchanges(splices: Sequence[Splice]) -> list[Splice]:
    """The same splices; what was removed, and what was put in its place next, as one."""
    found = list[Splice]()
    for each in splices:
        last = found[-1] if found else None
        if last and not last.insert and each.place == last.place:
            found[-1] = Splice(last.place, last.delete + each.delete, each.insert)
        else:
            found.append(each)
    return found
