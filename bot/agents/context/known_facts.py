"""The learned facts that a turn is shown: the strongest of its agent and of all, and lessons from projects.

They share a limit with the roster, and follow it above the newest message. What does not fit is cut by rank; the order
stays the same until something new is learned.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field

from bot.agents.context.quotes import NOTHING, PromptText, display_name, estimate_tokens, joined, line, quotation, say
from memory.knowledge import facts, projects
from memory.knowledge.fact_extraction import LONGEST
from memory.knowledge.facts import Fact
from memory.knowledge.items import Item, Kind
from memory.knowledge.projects import ProjectLearnings
from memory.people.audience import Trust
from memory.queue.turns import Turn
from memory.store.database import Rows
from memory.store.ids import FactId
from texts import many

TOKENS = 330
"""For facts and roster together."""
MOST_OWN, MOST_SHARED = 10, 5
_SHARED_TOKENS = 100
_PROJECT_TOKENS = 100
OWN_HEAD, SHARED_HEAD = "what you learned", "what all agents learned"
PROJECTS_HEAD = "learned from previous projects"


class Knowledge(Struct, frozen=True):
    """Facts that an agent learned itself, and shared ones; strongest first."""

    own: tuple[Fact, ...] = ()
    shared: tuple[Fact, ...] = ()
    projects: ProjectLearnings = field(default_factory=ProjectLearnings)

    @property
    def ids(self) -> list[FactId]:
        return [fact.id for fact in (*self.own, *self.shared)]


def knowledge(rows: Rows, turn: Turn, stored: Mapping[Kind, Sequence[Item]]) -> Knowledge:
    """Facts from before a turn that its hearers may know, and the lessons in what is stored for them."""
    most = MOST_OWN, MOST_SHARED
    own, shared = facts.weightiest(rows, turn.agent, turn.scope, most, turn.person, turn.started_at)
    return Knowledge(tuple(own), tuple(shared), projects.learned(stored, turn.started_at))


def knowledge_parts(known: Knowledge, roster: str) -> Iterator[tuple[str, PromptText]]:
    """The source and the lines of each part; `roster` stands above them and uses part of the limit."""
    room = TOKENS - (estimate_tokens(roster) if roster else 0)
    shared = list(_fitting(known.shared, SHARED_HEAD, min(room, _SHARED_TOKENS))) if known.shared else []
    if shared:
        room -= estimate_tokens(quotation(SHARED_HEAD, joined(shared)))
    taught = list(_within(project_lines(known.projects), PROJECTS_HEAD, min(room, _PROJECT_TOKENS)))
    if taught:
        room -= estimate_tokens(quotation(PROJECTS_HEAD, joined(taught)))
    if known.own and (own := list(_fitting(known.own, OWN_HEAD, room))):
        yield OWN_HEAD, joined(own)
    if shared:
        yield SHARED_HEAD, joined(shared)
    if taught:
        yield PROJECTS_HEAD, joined(taught)


def _fitting(found: Sequence[Fact], head: str, room: int) -> Iterator[PromptText]:
    return _within(map(fact_line, found), head, room)


def _within(lines: Iterable[PromptText], head: str, room: int) -> Iterator[PromptText]:
    """The first lines that fit."""
    text = ""
    for each in lines:
        text = f"{text or quotation(head, '')}{each}\n"
        if estimate_tokens(text) > room:
            return
        yield each


def project_lines(found: ProjectLearnings) -> Iterator[PromptText]:
    """Lessons from projects, strongest first: weak axes, repeated issues, wishes."""
    if found.rated and (weak := found.weak):
        yield say("- weak in the last projects, do better: {axes}", axes=", ".join(weak))
    yield from map(project_line, (*found.issues, *found.wishes, *found.rated))


def project_line(each: Item) -> PromptText:
    text = line(each.text, projects.LONGEST)
    match each.kind:
        case Kind.REVIEW:
            return say("- found in {often}: {text}", often=many(each.strength, "review"), text=text)
        case Kind.PREFERENCE:
            return say("- preferred for projects: {text}", text=text)
        case _:
            made, ratings = projects.tech_of(each), projects.ratings_of(each)
            tech = f"({made})" if made else ""
            rated = ", ".join(f"{axis} {ratings[axis]}/5" for axis in projects.AXES if axis in ratings)
            done = f"project rated {rated}" if rated else "project"
            return line(say("- {done}: {text} {tech}", done=done, text=text, tech=line(tech, projects.LONGEST_TECH)))


def fact_line(fact: Fact) -> PromptText:
    """A fact in one line: its kind, who said it, and whether it is doubtful."""
    by = say(" ({who})", who=display_name(fact.speaker, 24)) if fact.speaker else NOTHING
    doubt = say("" if fact.trust >= Trust.APPROVED else " [from somebody who is not approved, or the web]")
    text = line(fact.text, LONGEST)
    return say("- {label}{by}: {text}{doubt}", label=fact.label, by=by, text=text, doubt=doubt)


def numbered_line(fact: Fact) -> PromptText:
    """A fact in one line, with its number and how often it was said."""
    often = many(fact.reinforcements, "session")
    shared = f", known to all, confirmed by {len(fact.confirmed_by)}" if fact.shared else ""
    return say("{line} ({often}) {id}", line=fact_line(fact), often=f"{often}{shared}", id=fact.id)
