"""A plan as it comes about, and the questions it comes of: one for each part of an agent's memory and each pass."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic

from bot.upkeep.model_answers import T, Unusable, read_answer
from bot.upkeep.model_calls import Asking
from bot.upkeep.prompts import system
from memory.agents import Agent
from memory.knowledge.archival import Entry
from memory.knowledge.consolidation import Mark, Part, Pass
from memory.knowledge.consolidation.plan import Item
from memory.store.ids import EntryId

_WIDEST_FIRST = ("public", "guild", "channel", "owner", "person")


@dataclass
class Draft:
    """A plan as it comes about. `may` is how many entries of the agent may still be retired in this run."""

    may: int
    items: list[Item] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    again: list[Entry] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    taken: set[EntryId] = field(default_factory=set)

    def take(self, entries: Sequence[Entry]) -> bool:
        """Whether these may be retired too; if not they are looked at again in another run."""
        if len(entries) > self.may:
            self.again += entries
            self.note("no more may be retired now (the loss bound); looked at again")
            return False
        self.may -= len(entries)
        self.taken.update(entry.id for entry in entries)
        return True

    def note(self, words: str) -> None:
        """Say once what was left."""
        if words not in self.notes:
            self.notes.append(words)


def in_order(parts: Sequence[Part]) -> list[Part]:
    """The widest audiences first: what is said to few takes nothing away from what is said to many in the same run."""
    return sorted(parts, key=lambda part: (_WIDEST_FIRST.index(part.audience.partition(":")[0]), *map(str, part)))


@dataclass(frozen=True)
class Question(Generic[T]):
    """What a pass asks about a part: `told` is shown, and an answer that could be used brings it to `position`.

    `unasked` and `left` say of what nothing came, where nobody answered and where the answer could not be used.
    """

    of: Pass
    form: type[T]
    part: Part
    told: str
    position: int
    unasked: str
    left: str


async def put(asking: Asking, agent: Agent, question: Question[T], plan: Callable[[T], None], draft: Draft) -> None:
    """Ask it. `plan` plans what the answer says, or raises Unusable before it plans; then it is asked again."""
    text = await asking.ask(agent, system(asking.means.directives, question.of), question.told, question.form)
    if text is None:
        draft.note(f"{question.unasked}: {asking.refused}")
        return
    try:
        plan(read_answer(text, question.form))
    except Unusable as error:
        draft.note(f"{question.left}: {error}")
        return
    draft.marks.append(Mark(question.of, question.part, question.position))
