"""Consolidation of entries: rules merge duplicates, and a model judges the rest, within the retirement limits.

A model also reads relations out of new entries (the graph), and finds entries that contradict each other. Code chooses
which entries are about the same thing, and enforces that the newer one, or a person's correction, wins.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import TypeVar

from msgspec import Struct, field

from bot.upkeep.background_calls import RunCalls
from bot.upkeep.model_answers import (
    Consolidation,
    Contradictions,
    MergeWish,
    Relation,
    Relations,
    T,
    UnusableAnswer,
    each_fitting,
    known,
    read_answer,
)
from bot.upkeep.prompts import entries_text, groups_text, system
from memory.agents import Agent
from memory.knowledge import entries, feedback, graph
from memory.knowledge.entries import Entry, is_category, is_tag
from memory.knowledge.graph import Entity, Triple
from memory.knowledge.upkeep import planned_changes
from memory.knowledge.upkeep.planned_changes import OWN_KINDS, Item, Link, Mark, Merge, Part, Pass, Refine, Retire
from memory.knowledge.upkeep.selection import Candidates
from memory.knowledge.upkeep.specifics import invented, lost, same_words
from memory.people.audience import Scope
from memory.store.database import Rows
from memory.store.ids import EntryId
from sources.text import one_line
from texts import gettext_lazy, gettext_noop, ngettext_lazy, ngettext_noop, reason_of

N = TypeVar("N")

_WIDEST_FIRST = ("public", "guild", "channel", "owner", "person")


class Draft(Struct):
    """The plan for one agent in progress. `may` is how many of its entries may still be retired in this run."""

    calls: RunCalls
    agent: Agent
    may: int
    items: list[Item] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    again: list[Entry] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    taken: set[EntryId] = field(default_factory=set)

    async def ask(self, mark: Mark, form: type[T], text: str, what: str, plan: Callable[[T], None]) -> None:
        """Ask a pass's question about a part: a usable answer sets the mark, and so does an empty text.

        `what` describes the text ("3 entries") in the note if there is none. `plan` plans the answer, or raises
        UnusableAnswer first; then the question is asked again in the next run.
        """
        if not text:
            self.marks.append(mark)
            return
        calls = self.calls
        answer = await calls.ask(self.agent, system(calls.deps.directives, mark.of), text, form)
        why = calls.refused
        if answer is not None:
            try:
                plan(read_answer(answer, form))
            except UnusableAnswer as error:
                why = reason_of(error)
            else:
                self.marks.append(mark)
                return
        self.note(gettext_lazy("{what}, because {why}", what=what, why=why))

    def take(self, entries: Sequence[Entry]) -> bool:
        """Whether these may be retired as well; if not, another run looks at them again."""
        if len(entries) > self.may:
            self.again += entries
            self.note(gettext_lazy("the remaining entries, because no more may be retired in this run"))
            return False
        self.may -= len(entries)
        self.taken.update(entry.id for entry in entries)
        return True

    def note(self, words: str) -> None:
        """Record once what was skipped."""
        if words not in self.notes:
            self.notes.append(words)


def in_order(parts: Sequence[Part]) -> list[Part]:
    """The widest audiences first: knowledge of few must not retire knowledge of many in the same run."""
    return sorted(parts, key=lambda part: (_WIDEST_FIRST.index(part.audience.partition(":")[0]), *map(str, part)))


def numbered(letter: str, found: Sequence[N]) -> dict[str, N]:
    """Items under short ids such as "e1", for a model."""
    return {f"{letter}{number}": each for number, each in enumerate(found, 1)}


_SHOWN = 40  # entries in one call
# ---------------------------------------------------------------------------------------------------------- by rule


def merge_duplicates(choice: Candidates, draft: Draft) -> None:
    """Plan merges of entries with the same words."""
    for part in in_order(list(choice.clusters)):
        for cluster in choice.clusters[part]:
            same: dict[tuple[str, ...], list[Entry]] = {}
            for entry in cluster:
                same.setdefault(same_words(entry.content), []).append(entry)
            for alike in same.values():
                if len(alike) > 1 and draft.take(alike):
                    draft.items.append(_merged_by_rule(alike))
    if choice.more:
        draft.note(gettext_lazy("some new entries, because one run handles only so many; the next one continues"))
    draft.marks += [Mark(Pass.DUPLICATES, part, position) for part, position in choice.position.items()]


def _merged_by_rule(entries: Sequence[Entry]) -> Merge:
    longest = max(entries, key=lambda entry: len(entry.content))
    category = next((entry.category for entry in reversed(entries) if entry.category), "")
    return Merge(Pass.DUPLICATES, tuple(entries), longest.content, category, _tags(entries))


def _tags(entries: Sequence[Entry]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tag for entry in entries for tag in entry.tags if is_tag(tag)))


# -------------------------------------------------------------------------------------------------------- by a model


async def consolidate(choice: Candidates, draft: Draft) -> None:
    """Ask about new and similar entries, part by part; a part without a usable answer stays unchanged."""
    for part in in_order(list(choice.new)):
        shown, clusters, rest = _shown(choice, part, draft.taken)
        mark = Mark(Pass.CONSOLIDATION, part, choice.position[part])
        short = numbered("e", shown)
        named = {entry.id: name for name, entry in short.items()}
        text = entries_text(short, [[named[entry.id] for entry in cluster] for cluster in clusters])
        what = ngettext_lazy("{count} entry", "{count} entries", len(shown))
        await draft.ask(mark, Consolidation, text, what, partial(_judged, short=short, rest=rest, draft=draft))


def _shown(
    choice: Candidates, part: Part, taken: set[EntryId]
) -> tuple[list[Entry], list[tuple[Entry, ...]], list[Entry]]:
    """The entries to show, the groups among them, and what has to wait."""
    clusters = [each for each in choice.clusters.get(part, ()) if not any(entry.id in taken for entry in each)]
    grouped = [entry for cluster in clusters for entry in cluster]
    new = [entry for entry in choice.new[part] if entry.id not in taken]
    every = list({entry.id: entry for entry in (*grouped, *new)}.values())
    shown = every[:_SHOWN]
    whole = {entry.id for entry in shown}
    return shown, [each for each in clusters if all(entry.id in whole for entry in each)], every[_SHOWN:]


def _judged(answer: Consolidation, short: dict[str, Entry], rest: list[Entry], draft: Draft) -> None:
    """Plan an answer, as far as it is permitted. Raises UnusableAnswer; then nothing of it is planned."""
    named = [each for wish in answer.merge for each in wish.sources]
    known([*named, *answer.retire, *(each.id for each in answer.refine)], set(short))
    for wish in answer.merge:
        _merge(wish, [short[each] for each in wish.sources], draft)
    noise = [short[each] for each in answer.retire]
    if len(noise) > draft.may:
        draft.note(
            ngettext_lazy(
                "{count} entry called noise, because no more may be retired in this run",
                "{count} entries called noise, because no more may be retired in this run",
                len(noise),
            )
        )
    elif noise and draft.take(noise):
        draft.items += [Retire(Pass.CONSOLIDATION, entry) for entry in noise]
    for each in answer.refine:
        entry = short[each.id]
        category, tags = _category(each.category, [entry]), _clean(each.tags) or _tags([entry])
        if (category, tags) != (entry.category, entry.tags):
            draft.items.append(Refine(Pass.CONSOLIDATION, entry, category, tags))
    draft.again += rest


def _merge(wish: MergeWish, sources: list[Entry], draft: Draft) -> None:
    words = [entry.content for entry in sources]
    of_one = len({planned_changes.kin_of(entry) for entry in sources}) == 1
    if not of_one or not wish.content.strip() or lost(words, wish.content) or invented(words, wish.content):
        draft.note(gettext_lazy("a merge that would have joined different things, or lost or invented something"))
    elif draft.take(sources):
        tags = _clean(wish.tags) or _tags(sources)
        category = _category(wish.category, sources)
        draft.items.append(Merge(Pass.CONSOLIDATION, tuple(sources), wish.content.strip(), category, tags))


def _category(wanted: str, sources: Sequence[Entry]) -> str:
    """The wanted category, if it is valid; no entry moves into or out of a kind of its own."""
    own = next((entry.category for entry in reversed(sources) if entry.category), "")
    kinds = {each.partition("/")[0] for each in (wanted, own)} & set(OWN_KINDS)
    return wanted if wanted and is_category(wanted) and not kinds else own


def _clean(tags: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tag.strip() for tag in tags if is_tag(tag.strip())))


async def link_entities(choice: Candidates, draft: Draft) -> None:
    """Ask about new entries, part by part; a part without a usable answer is looked at again."""
    for part in in_order(list(choice.new)):
        entries = [entry for entry in choice.new[part] if entry.id not in draft.taken]
        draft.again += entries[_SHOWN:]
        mark, short = Mark(Pass.ENTITIES, part, choice.position[part]), numbered("e", entries[:_SHOWN])
        what = ngettext_lazy(
            "{count} entry that the graph does not have yet",
            "{count} entries that the graph does not have yet",
            len(short),
        )
        await draft.ask(mark, Relations, entries_text(short), what, partial(_read, short=short, draft=draft))


def _read(answer: Relations, short: dict[str, Entry], draft: Draft) -> None:
    """Plan the relations of an answer. Raises UnusableAnswer, also if none of them fits."""
    found: dict[str, list[Triple]] = {}
    shown = [each for each in each_fitting(answer.triples, Relation) if each.source in short]
    if answer.triples and not shown:
        raise UnusableAnswer(gettext_noop("the model answered with no usable relation"))
    for each in shown:
        if graph.names_both(short[each.source], triple := _triple(each)):
            found.setdefault(each.source, []).append(triple)
    of = len(answer.triples)
    if left := of - sum(map(len, found.values())):
        one, more = ngettext_noop(
            "{left} of {count} relation, because its entry does not state it",
            "{left} of {count} relations, because their entries do not state them",
        )
        draft.note(ngettext_lazy(one, more, of, left=left))
    draft.items += [Link(Pass.ENTITIES, short[name], tuple(triples)) for name, triples in found.items()]


def _triple(each: Relation) -> Triple:
    subject = Entity(one_line(each.subject.name, 80), each.subject.kind)
    return Triple(subject, one_line(each.relation, 40), Entity(one_line(each.object.name, 80), each.object.kind))


async def sweep(choice: Candidates, draft: Draft) -> None:
    """Ask about groups of entries, part by part; a part without a usable answer is looked at again."""
    for part in in_order(list(choice.new)):
        find = partial(_groups, part=part, choice=choice, draft=draft)
        groups, right = await draft.calls.database.read(find)
        mark = Mark(Pass.CONTRADICTIONS, part, choice.position[part])
        numbers = count(1)
        named = [[(f"e{next(numbers)}", entry) for entry in group] for group in groups]
        plan = partial(_settled, groups=named, right=right, draft=draft)
        what = ngettext_lazy(
            "{count} group that may contain contradictions",
            "{count} groups that may contain contradictions",
            len(groups),
        )
        await draft.ask(mark, Contradictions, groups_text(named, right), what, plan)


def _groups(rows: Rows, part: Part, choice: Candidates, draft: Draft) -> tuple[list[list[Entry]], set[EntryId]]:
    """Groups of entries of one kin about the same thing, without those that this run retires anyway.

    The second value is which of these entries come from a person's correction.
    """
    groups = [list(group) for group in choice.clusters.get(part, ())]
    linked = {item.entry.id: item for item in draft.items if isinstance(item, Link)}
    for entry in choice.new[part]:
        if entry.id in linked:
            groups += _rivals(rows, part, linked[entry.id], linked)
    standing = ([entry for entry in group if entry.id not in draft.taken] for group in groups)
    one_kin = (group for group in standing if len({planned_changes.kin_of(entry) for entry in group}) == 1)
    found: list[list[Entry]] = []
    used: set[EntryId] = set()
    for group in one_kin:
        rest = [entry for entry in group if entry.id not in used]
        if len(rest) > 1 and len(used) + len(rest) <= _SHOWN:
            used.update(entry.id for entry in rest)
            found.append(rest)
    entries = [entry for group in found for entry in group]
    said = feedback.corrections_among(rows, [message for entry in entries for message in entry.messages])
    return found, {entry.id for entry in entries if said & set(entry.messages)}


def _rivals(rows: Rows, part: Part, item: Link, linked: Mapping[EntryId, Link]) -> Iterable[list[Entry]]:
    """The entry paired with each one that has another object for the same subject and relation."""
    heard = part.audience, part.trust
    stored = graph.rivals(rows, part.agent, heard, item.triples)
    own = {(each.subject.key, graph.key_of(each.relation)): each.object.key for each in item.triples}
    planned = [
        other.entry.id
        for other in linked.values()
        for each in other.triples
        if own.get((each.subject.key, graph.key_of(each.relation)), each.object.key) != each.object.key
    ]
    ids = [each for each in dict.fromkeys([*stored, *planned]) if each != item.entry.id]
    for other in entries.by_ids(rows, part.agent, ids, Scope(part.audience)):
        if (other.audience, other.trust) == heard:
            yield [item.entry, other]


def _settled(
    answer: Contradictions, groups: Sequence[Sequence[tuple[str, Entry]]], right: set[EntryId], draft: Draft
) -> None:
    """Plan an answer, as far as it is permitted. Raises UnusableAnswer; then nothing of it is planned."""
    found = answer.contradictions
    short = {name: entry for group in groups for name, entry in group}
    of = {name: number for number, group in enumerate(groups) for name, _ in group}
    known([each.wrong for each in found], set(short))
    known(list(dict.fromkeys(each.right for each in found)), set(short))
    wrong = {each.wrong for each in found}
    for each in found:
        apart = of[each.wrong] != of[each.right] or each.right in wrong
        if apart or not _wins(short[each.right], short[each.wrong], right):
            draft.note(
                gettext_lazy("a contradiction between different things, or one in which an older entry would win")
            )
        elif draft.take([loser := short[each.wrong]]):
            # A planned change of its category would not match any more.
            draft.items = [item for item in draft.items if not (isinstance(item, Refine) and item.entry.id == loser.id)]
            draft.items.append(Retire(Pass.CONTRADICTIONS, loser))


def _wins(one: Entry, other: Entry, right: set[EntryId]) -> bool:
    """Whether an entry wins over another: a correction over any other, else the newer one."""
    if (one.id in right) != (other.id in right):
        return one.id in right
    return one.created_at > other.created_at
