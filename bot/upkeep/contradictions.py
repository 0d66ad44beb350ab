"""The sweep for contradictions: of entries that are about the same, the one that does not hold any more is put away.

Which are about the same is chosen by code: near in words or meaning, or of one subject and relation in the graph with
another object. A model judges them; that what is newer wins, and a person's correction in any case, is held here.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import count

from bot.upkeep.model_answers import Contradictions, known
from bot.upkeep.model_calls import Asking
from bot.upkeep.plan_draft import Draft, Question, in_order, put
from bot.upkeep.prompts import groups_text
from memory.agents import Agent
from memory.knowledge import archival, feedback, graph
from memory.knowledge.archival import Entry
from memory.knowledge.consolidation import Choice, Linked, Mark, Part, Pass, Refine, Retire, kin_of
from memory.people.audience import Scope
from memory.store.database import Rows
from memory.store.ids import EntryId
from memory.store.plurals import many

_SHOWN = 40  # entries in one call


async def sweep(asking: Asking, agent: Agent, choice: Choice, draft: Draft) -> None:
    """Ask about groups of entries, part by part; a part whose answer cannot be used is looked at again."""
    for part in in_order(list(choice.new)):
        groups, right = await asking.database.read(partial(_about_the_same, part=part, choice=choice, draft=draft))
        if not groups:
            draft.marks.append(Mark(Pass.CONTRADICTIONS, part, choice.position[part]))
            continue
        numbers = count(1)
        named = [[(f"e{next(numbers)}", entry) for entry in group] for group in groups]
        question = Question(
            Pass.CONTRADICTIONS,
            Contradictions,
            part,
            groups_text(named, right),
            choice.position[part],
            unasked=f"{many(len(groups), 'group was', 'groups were')} not looked at for contradictions",
            left=f"{many(len(groups), 'group was', 'groups were')} left as before",
        )
        await put(asking, agent, question, partial(_judged, groups=named, right=right, draft=draft), draft)


def _about_the_same(rows: Rows, part: Part, choice: Choice, draft: Draft) -> tuple[list[list[Entry]], set[EntryId]]:
    """Groups of entries that are about the same, and which of these were kept from a person's correction."""
    groups = _groups(rows, part, choice, draft)
    return groups, _corrected(rows, [entry for group in groups for entry in group])


def _groups(rows: Rows, part: Part, choice: Choice, draft: Draft) -> list[list[Entry]]:
    """Entries of one kin that are about the same, without those that this run puts away anyway."""
    groups = [list(group) for group in choice.clusters.get(part, ())]
    linked = {item.entry.id: item for item in draft.items if isinstance(item, Linked)}
    for entry in choice.new[part]:
        if entry.id in linked:
            groups += _rivals(rows, part, linked[entry.id], linked)
    standing = ([entry for entry in group if entry.id not in draft.taken] for group in groups)
    one_kin = (group for group in standing if len({kin_of(entry) for entry in group}) == 1)
    found: list[list[Entry]] = []
    used: set[EntryId] = set()
    for group in one_kin:
        rest = [entry for entry in group if entry.id not in used]
        if len(rest) > 1 and len(used) + len(rest) <= _SHOWN:
            used.update(entry.id for entry in rest)
            found.append(rest)
    return found


def _rivals(rows: Rows, part: Part, item: Linked, linked: Mapping[EntryId, Linked]) -> Iterable[list[Entry]]:
    """The entry with each other one that gives the same subject another object in the same relation."""
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
    for other in archival.by_ids(rows, part.agent, ids, Scope(part.audience)):
        if (other.audience, other.trust) == heard:
            yield [item.entry, other]


def _corrected(rows: Rows, entries: Sequence[Entry]) -> set[EntryId]:
    """Those that were kept from a person's correction."""
    said = feedback.corrections_among(rows, [message for entry in entries for message in entry.messages])
    return {entry.id for entry in entries if said & set(entry.messages)}


def _judged(
    answer: Contradictions, groups: Sequence[Sequence[tuple[str, Entry]]], right: set[EntryId], draft: Draft
) -> None:
    """Plan what an answer says, as far as it may be done. Raises Unusable, and then nothing of it is planned."""
    found = answer.contradictions
    short = {name: entry for group in groups for name, entry in group}
    of = {name: number for number, group in enumerate(groups) for name, _ in group}
    known([each.wrong for each in found], set(short))
    known(list(dict.fromkeys(each.right for each in found)), set(short))
    wrong = {each.wrong for each in found}
    for each in found:
        if of[each.wrong] != of[each.right] or each.right in wrong:
            draft.note("a contradiction was refused: its entries are not about the same, or both would be wrong")
        elif not _wins(short[each.right], short[each.wrong], right):
            draft.note("a contradiction was refused: what is older would win, or a correction lose")
        elif draft.take([short[each.wrong]]):
            _put_away(short[each.wrong], draft)


def _put_away(entry: Entry, draft: Draft) -> None:
    """Instead of mending its category, if that was planned: it would not stand as it was read any more."""
    draft.items = [item for item in draft.items if not (isinstance(item, Refine) and item.entry.id == entry.id)]
    draft.items.append(Retire(Pass.CONTRADICTIONS, entry))


def _wins(one: Entry, other: Entry, right: set[EntryId]) -> bool:
    """Whether an entry holds against another: a correction against what is none, else what is newer."""
    if (one.id in right) != (other.id in right):
        return one.id in right
    return one.created_at > other.created_at
