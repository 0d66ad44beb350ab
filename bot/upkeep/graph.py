"""The graph: who and what new entries speak of, and how these belong together, read out of each by a model."""

from functools import partial

import structlog

from bot.upkeep.model_answers import Relation, Relations, Unusable, each_fitting
from bot.upkeep.model_calls import Asking
from bot.upkeep.plan_draft import Draft, Question, in_order, put
from bot.upkeep.prompts import entries_text
from memory.agents import Agent
from memory.knowledge import graph
from memory.knowledge.archival import Entry
from memory.knowledge.consolidation import Choice, Linked, Mark, Pass
from memory.knowledge.graph import Entity, Triple
from memory.store.plurals import many
from sources.text import one_line

_SHOWN = 40  # entries in one call
_log = structlog.get_logger("bot.upkeep")


async def link_entities(asking: Asking, agent: Agent, choice: Choice, draft: Draft) -> None:
    """Ask about what is new, part by part; a part whose answer cannot be used is looked at again."""
    for part in in_order(list(choice.new)):
        entries = [entry for entry in choice.new[part] if entry.id not in draft.taken]
        draft.again += entries[_SHOWN:]
        short = {f"e{number}": entry for number, entry in enumerate(entries[:_SHOWN], 1)}
        if not short:
            draft.marks.append(Mark(Pass.ENTITIES, part, choice.position[part]))
            continue
        question = Question(
            Pass.ENTITIES,
            Relations,
            part,
            entries_text(list(short.items()), ()),
            choice.position[part],
            unasked=f"{many(len(short), 'entry was', 'entries were')} not looked at for the graph",
            left=f"{many(len(short), 'entry was', 'entries were')} left out of the graph",
        )
        await put(asking, agent, question, partial(_read, short=short, draft=draft), draft)


def _read(answer: Relations, short: dict[str, Entry], draft: Draft) -> None:
    """Plan to note what an answer says of the entries that were shown. Raises Unusable, also when none of it fits."""
    found: dict[str, list[Triple]] = {}
    formed, given = each_fitting(answer.triples, Relation), answer.triples
    shown = [each for each in formed if each.source in short]
    unformed, unknown = len(given) - len(formed), len(formed) - len(shown)
    if given and not shown:
        raise Unusable("no relation of the answer fitted its form and named an id that it was shown")
    if unformed or unknown:
        _log.info("dream_relations_left", unformed=unformed, unknown=unknown, of=len(given))
    if unformed:
        draft.note(f"{unformed} of {many(len(given), 'relation')} did not fit their form")
    if unknown:
        draft.note(f"{unknown} of {many(len(given), 'relation')} named an id that was not shown")
    for each in shown:
        triple = _triple(each)
        if graph.says(short[each.source], triple):
            found.setdefault(each.source, []).append(triple)
        else:
            draft.note("a relation was refused: it named what the entry does not say")
    draft.items += [Linked(Pass.ENTITIES, short[name], tuple(triples)) for name, triples in found.items()]


def _triple(each: Relation) -> Triple:
    subject = Entity(one_line(each.subject.name, 80), each.subject.kind)
    return Triple(subject, one_line(each.relation, 40), Entity(one_line(each.object.name, 80), each.object.kind))
