"""Consolidation: duplicates merged by rule, and what needs judgement by a model, within what may be retired."""

from collections.abc import Sequence
from functools import partial

from bot.upkeep.model_answers import Consolidation, MergeWish, known
from bot.upkeep.model_calls import Asking
from bot.upkeep.plan_draft import Draft, Question, in_order, put
from bot.upkeep.prompts import entries_text
from memory.agents import Agent
from memory.knowledge.archival import Entry, is_category, is_tag
from memory.knowledge.consolidation import (
    Choice,
    Mark,
    Merge,
    Part,
    Pass,
    Refine,
    Retire,
    invented,
    kin_of,
    lost,
    same_words,
)
from memory.knowledge.consolidation.plan import OWN_KINDS
from memory.store.ids import EntryId
from memory.store.plurals import many

_SHOWN = 40  # entries in one call
# ---------------------------------------------------------------------------------------------------------- by rule


def merge_duplicates(choice: Choice, draft: Draft) -> None:
    """Plan to merge what says the same in the same words."""
    for part in in_order(list(choice.clusters)):
        for cluster in choice.clusters[part]:
            same: dict[tuple[str, ...], list[Entry]] = {}
            for entry in cluster:
                same.setdefault(same_words(entry.content), []).append(entry)
            for entries in same.values():
                if len(entries) > 1 and draft.take(entries):
                    draft.items.append(_merged_by_rule(entries))
    if choice.more:
        draft.note("more entries are new than one run looks at; it goes on in the next")
    draft.marks += [Mark(Pass.DUPLICATES, part, position) for part, position in choice.position.items()]


def _merged_by_rule(entries: Sequence[Entry]) -> Merge:
    longest = max(entries, key=lambda entry: len(entry.content))
    category = next((entry.category for entry in reversed(entries) if entry.category), "")
    return Merge(Pass.DUPLICATES, tuple(entries), longest.content, category, _tags(entries))


def _tags(entries: Sequence[Entry]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tag for entry in entries for tag in entry.tags if is_tag(tag)))


# ------------------------------------------------------------------------------------------------------- by judgement


async def consolidate(asking: Asking, agent: Agent, choice: Choice, draft: Draft) -> None:
    """Ask about what is new or nearly the same, part by part; a part whose answer cannot be used stays as it is."""
    for part in in_order(list(choice.new)):
        shown, clusters, rest = _shown(choice, part, draft.taken)
        position = choice.position[part]
        if not shown:
            draft.marks.append(Mark(Pass.CONSOLIDATION, part, position))
            continue
        short = {f"e{number}": entry for number, entry in enumerate(shown, 1)}
        named = {entry.id: name for name, entry in short.items()}
        near = [[named[entry.id] for entry in cluster] for cluster in clusters]
        of = f"{len(near)} groups of similar entries need" if len(near) != 1 else "1 group of similar entries needs"
        question = Question(
            Pass.CONSOLIDATION,
            Consolidation,
            part,
            entries_text(list(short.items()), near),
            position,
            unasked=f"{of} judgement, {many(len(shown), 'entry was', 'entries were')} not looked at",
            left=f"{many(len(shown), 'entry was', 'entries were')} left",
        )
        await put(asking, agent, question, partial(_judged, short=short, rest=rest, draft=draft), draft)


def _shown(choice: Choice, part: Part, taken: set[EntryId]) -> tuple[list[Entry], list[tuple[Entry, ...]], list[Entry]]:
    """The entries that are shown, the groups among them, and what has to wait."""
    clusters = [each for each in choice.clusters.get(part, ()) if not any(entry.id in taken for entry in each)]
    grouped = [entry for cluster in clusters for entry in cluster]
    new = [entry for entry in choice.new[part] if entry.id not in taken]
    every = list({entry.id: entry for entry in (*grouped, *new)}.values())
    shown = every[:_SHOWN]
    whole = {entry.id for entry in shown}
    return shown, [each for each in clusters if all(entry.id in whole for entry in each)], every[_SHOWN:]


def _judged(answer: Consolidation, short: dict[str, Entry], rest: list[Entry], draft: Draft) -> None:
    """Plan what an answer says, as far as it may be done. Raises Unusable, and then nothing of it is planned."""
    named = [each for wish in answer.merge for each in wish.sources]
    known([*named, *answer.retire, *(each.id for each in answer.refine)], set(short))
    for wish in answer.merge:
        _merge(wish, [short[each] for each in wish.sources], draft)
    noise = [short[each] for each in answer.retire]
    if len(noise) > draft.may:
        wished = many(len(noise), "entry was", "entries were")
        draft.note(f"{wished} to be retired as noise, more than may be: none was")
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
    if not wish.content.strip():
        draft.note("a merge was refused: it had no words")
    elif len({kin_of(entry) for entry in sources}) > 1:
        draft.note("a merge was refused: it would have joined different people's entries, or different kinds")
    elif lost(words, wish.content) or invented(words, wish.content):
        draft.note("a merge was refused: a name, number, acronym or negation would have been lost or invented")
    elif draft.take(sources):
        tags = _clean(wish.tags) or _tags(sources)
        category = _category(wish.category, sources)
        draft.items.append(Merge(Pass.CONSOLIDATION, tuple(sources), wish.content.strip(), category, tags))


def _category(wanted: str, sources: Sequence[Entry]) -> str:
    """The category that is wanted, if it is one; no entry moves into or out of a kind of its own."""
    own = next((entry.category for entry in reversed(sources) if entry.category), "")
    kinds = {each.partition("/")[0] for each in (wanted, own)} & set(OWN_KINDS)
    return wanted if wanted and is_category(wanted) and not kinds else own


def _clean(tags: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tag.strip() for tag in tags if is_tag(tag.strip())))
