"""The knowledge shown in a turn: entries that match a person's message, learned facts, and lessons.

It is not recorded which entries were shown. An entry is shown whenever it matches and its source message is not in
view, so it returns once that has left the window. Only entries from before the turn are shown: all steps of the turn
see the same, and a provider's cache of the prompt stays valid.

Facts and lessons from projects share a limit with the roster, and follow it above the newest message. The lowest ranks
are cut first; the order stays the same until something new is learned.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from msgspec import Struct, field

from bot.agents.context.quotes import NOTHING, PromptText, display_name, estimate_tokens, joined, line, quotation, say
from memory.knowledge import entries, facts, graph, project_learnings
from memory.knowledge.entries import Entry
from memory.knowledge.fact_extraction import LONGEST
from memory.knowledge.facts import Fact
from memory.knowledge.items import Item, Kind
from memory.knowledge.project_learnings import ProjectLearnings
from memory.people.audience import Trust
from memory.queue.messages import Message
from memory.queue.turns import Turn
from memory.search.all_domains import search
from memory.search.query import Domain, Hit, Query
from memory.search.vector_similarity import Meaning
from memory.store.database import Rows
from memory.store.fulltext import content_words
from memory.store.ids import AgentId, EntryId, FactId, MessageId
from texts import many

MOST, UNASKED = 8, 5
"""Entries for a person's message; and the newest ones, on the first turn in a place if none fit."""
LINKED = 3
"""Additional entries that are found through the graph."""
_SPARE = 2 * MOST  # found, because some may be in view
_EARLIER = 2  # earlier messages whose words are searched as well
_SHOWN = 600  # characters of one entry


class RecalledEntry(Struct, frozen=True):
    """A recalled entry and its reason: found by search, linked by the graph, or one of the newest."""

    entry: Entry
    hit: Hit | None = None
    linked: bool = False


def recall_entries(
    rows: Rows,
    turn: Turn,
    agent: AgentId,
    asked: Sequence[str],
    history: Sequence[Message],
    meaning: Meaning | None = None,
) -> list[RecalledEntry]:
    """The agent's entries that match the messages and may be known to the turn's audience, best first.

    `asked` are the messages that the turn answers, `meaning` their embedding, `history` the rest in view. Without a
    content word nothing is searched; then the first turn in a place shows the newest entries.
    """
    in_view = {message.id for message in history}
    found: list[RecalledEntry] = []
    if any(content_words(text) for text in asked):
        earlier = [message.text for message in history if message.role == "user"][-_EARLIER:]
        text = "\n".join([*reversed(asked), *reversed(earlier)])
        domain = frozenset[Domain]({"archival"})
        query = Query(text, agent, domain, until=turn.started_at, limit=_SPARE, meaning=meaning)
        hits = {EntryId(hit.id): hit for hit in search(rows, query, turn.scope).hits}
        best = _not_in_view(entries.by_ids(rows, agent, hits, turn.scope), in_view)[:MOST]
        led = _linked(rows, turn, agent, text, {entry.id for entry in best}, in_view)
        found = [RecalledEntry(entry, hits[entry.id]) for entry in best] + [
            RecalledEntry(each, linked=True) for each in led
        ]
    if found or history:
        return found
    newest = entries.latest(rows, agent, turn.scope, limit=UNASKED, before=turn.started_at)
    return [RecalledEntry(entry) for entry in _not_in_view(newest, in_view)]


def _linked(
    rows: Rows, turn: Turn, agent: AgentId, text: str, known: Set[EntryId], in_view: Set[MessageId]
) -> list[Entry]:
    """Entries that the graph links to the mentioned things, nearest first, without those found by words."""
    linked = graph.linked(rows, agent, text, turn.scope, turn.started_at)
    others = [entry for entry in linked if entry not in known]
    return _not_in_view(entries.by_ids(rows, agent, others, turn.scope), in_view)[:LINKED]


def _not_in_view(entries: Sequence[Entry], in_view: Set[MessageId]) -> list[Entry]:
    return [entry for entry in entries if not entry.messages or not in_view >= set(entry.messages)]


def recalled_lines(found: Iterable[RecalledEntry]) -> PromptText:
    """One line per entry: id, day, category, text."""
    return joined(_line(each.entry) for each in found)


def _line(entry: Entry) -> PromptText:
    words = " ".join(entry.content.split())
    words = words if len(words) <= _SHOWN else f"{words[:_SHOWN]}… (recall read shows all)"
    when = f"{entry.created_at:%Y-%m-%d}, {entry.category}".removesuffix(", ")
    return say("- {id} ({when}): {words}", id=entry.id, when=when, words=words)


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
    """Facts from before a turn that its audience may know, and the lessons in what is stored for them."""
    most = MOST_OWN, MOST_SHARED
    own, shared = facts.weightiest(rows, turn.agent, turn.scope, most, turn.person, turn.started_at)
    return Knowledge(tuple(own), tuple(shared), project_learnings.learned(stored, turn.started_at))


def knowledge_parts(known: Knowledge, roster: str) -> Iterator[tuple[str, PromptText]]:
    """The source and the lines of each part; `roster` precedes them and uses part of the limit."""
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
    text = line(each.text, project_learnings.LONGEST)
    match each.kind:
        case Kind.REVIEW:
            return say("- found in {often}: {text}", often=many(each.strength, "review"), text=text)
        case Kind.PREFERENCE:
            return say("- preferred for projects: {text}", text=text)
        case _:
            made, ratings = project_learnings.tech_of(each), project_learnings.ratings_of(each)
            tech = f"({made})" if made else ""
            rated = ", ".join(f"{axis} {ratings[axis]}/5" for axis in project_learnings.AXES if axis in ratings)
            done = f"project rated {rated}" if rated else "project"
            return line(
                say("- {done}: {text} {tech}", done=done, text=text, tech=line(tech, project_learnings.LONGEST_TECH))
            )


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
