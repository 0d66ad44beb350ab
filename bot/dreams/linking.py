"""The graph: who and what new entries speak of, and how these belong together, read out of each by a model."""

from bot.dreams.answers import Relation, Relations, Unusable, read_answer
from bot.dreams.asking import Asking
from bot.dreams.consolidating import Draft, in_order
from bot.dreams.prompts import entries_text, system
from memory import graph
from memory.agents import Agent
from memory.archival import Entry
from memory.dreams import Choice, Linked, Mark, Pass
from memory.graph import Entity, Triple
from sources.text import one_line

_SHOWN = 40  # entries in one call


async def link_entities(asking: Asking, agent: Agent, choice: Choice, draft: Draft) -> None:
    """Ask about what is new, part by part; a part whose answer cannot be used is looked at again."""
    for part in in_order(list(choice.new)):
        entries = [entry for entry in choice.new[part] if entry.id not in draft.taken]
        draft.again += entries[_SHOWN:]
        short = {f"e{number}": entry for number, entry in enumerate(entries[:_SHOWN], 1)}
        if short:
            told = entries_text(list(short.items()), ())
            text = await asking.ask(agent, system(asking.means.directives, Pass.ENTITIES), told)
            if text is None:
                draft.note(f"{len(short)} entries were not looked at for the graph: {asking.refused}")
                continue
            try:
                draft.items += _read(text, short, draft)
            except Unusable as error:
                draft.note(f"{len(short)} entries were left out of the graph: {error}")
                continue
        draft.marks.append(Mark(Pass.ENTITIES, part, choice.position[part]))


def _read(text: str, short: dict[str, Entry], draft: Draft) -> list[Linked]:
    """What an answer says of the entries that were shown. Raises Unusable."""
    found: dict[str, list[Triple]] = {}
    for each in read_answer(text, Relations).triples:
        if each.source not in short:
            raise Unusable("the answer named an id that it was not shown")
        triple = _triple(each)
        if graph.says(short[each.source], triple):
            found.setdefault(each.source, []).append(triple)
        else:
            draft.note("a relation was refused: it named what the entry does not say")
    return [Linked(Pass.ENTITIES, short[name], tuple(triples)) for name, triples in found.items()]


def _triple(each: Relation) -> Triple:
    subject = Entity(one_line(each.subject.name, 80), each.subject.kind)
    return Triple(subject, one_line(each.relation, 40), Entity(one_line(each.object.name, 80), each.object.kind))
