"""Automatic recall: archival entries that match a person's message and are shown with it.

Nothing records what was shown. An entry is shown whenever it fits and the message that it was learned from is not in
view, so it returns once that has left the window. Only entries from before the turn are shown: all steps of the turn
see the same, and a provider's cache of the prompt stays valid.
"""

from collections.abc import Iterable, Sequence, Set

from msgspec import Struct

from bot.agents.context.quotes import PromptText, joined, say
from memory.knowledge import entries, graph
from memory.knowledge.entries import Entry
from memory.queue.messages import Message
from memory.queue.turns import Turn
from memory.search.hybrid import search
from memory.search.query import Domain, Hit, Query
from memory.search.similarity import Meaning
from memory.store.database import Rows
from memory.store.fulltext import content_words
from memory.store.ids import AgentId, EntryId, MessageId

MOST, UNASKED = 8, 5
"""Entries for a person's message; and the newest ones, on the first turn in a place if none fit."""
LINKED = 3
"""Additional entries that are found through the graph."""
_SPARE = 2 * MOST  # found, since some may be in view
_EARLIER = 2  # earlier messages whose words are searched, too
_SHOWN = 600  # characters of one entry


class RecalledEntry(Struct, frozen=True):
    """An entry that came to mind, and by what: a search found it, the graph led to it, or it is one of the newest."""

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
    """The agent's entries that fit the messages, best first, that the hearers of the turn may know.

    `asked` are the messages that the turn answers, `meaning` theirs, `history` what else is in view. Without a content
    word nothing is searched; then the first turn in a place shows the newest entries.
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
    """Entries that the graph links to what is named, nearest first, without those found by words."""
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
