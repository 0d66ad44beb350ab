"""Queries and results; and the values that a search's conditions can have, as far as a scope may know them."""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Literal, TypeAlias

from msgspec import Struct, field

from memory.people.audience import Audience, Scope, Trust
from memory.queue.messages import Message, Role
from memory.search.vector_similarity import Meaning
from memory.store.database import Rows
from memory.store.fulltext import Term, all_words, match_query, terms
from memory.store.ids import AgentId, PersonId, PlaceId
from memory.store.lazy import UnicodePattern

_WHEN = frozenset(("when", "wann", "date", "datum"))
_WHEN_PHRASE = UnicodePattern(
    r"\b(?:how (?:long|old|recently)|(?:what|which) (?:day|month|season|time|week|year)|"
    r"wie (?:lang|lange|alt)|seit wann|welche[mnrs]? (?:jahr|monat|tag|uhrzeit|woche))\b|"
    r"いつ|何(?:時|日|曜日|月|年|歳)|どのくらい前",
    re.IGNORECASE,
)
_NAME = frozenset(("where", "who", "whom", "whose", "which", "name", "names", "called", "wo", "wer", "wem", "wen"))


_FIRST_PERSON = frozenset(
    ("i", "my", "me", "mine", "myself", "ich", "mir", "mich", "mein", "meine", "meiner", "meines", "meinem", "meinen")
)
_FIRST_PERSON_PHRASE = UnicodePattern(r"[私僕俺]|わたし|ぼく|おれ")


class TextQuery(Struct, frozen=True):
    """A text as a query of the index.

    `every` matches the rows with all its words; `terms` are searched one by one. A `sentence` is more than keywords, or
    keywords that are to be answered: rows that answer it are found even without any of the words. `when` and `name`:
    the answer is a time, or a name; `first_person`: it is about the asker.
    """

    every: str
    terms: tuple[Term, ...]
    sentence: bool
    when: bool
    name: bool
    first_person: bool = False


def understood(text: str, question: bool = False) -> TextQuery | None:
    """The parsed text; None if it contains no word. `question`: even keywords are to be answered."""
    every = match_query(text, mode="all")
    if every is None:
        return None
    words, content = set(all_words(text)), tuple(terms(text, mode="any"))
    return TextQuery(
        every=every,
        terms=content,
        sentence=question or bool(words - {term.word for term in content}),
        when=bool(words & _WHEN) or _WHEN_PHRASE.search(text) is not None,
        name=bool(words & _NAME),
        first_person=bool(words & _FIRST_PERSON) or _FIRST_PERSON_PHRASE.search(text) is not None,
    )


Domain: TypeAlias = Literal[
    "archival", "archival_blocks", "messages", "blocks", "activity", "files", "facts", "tasks", "summaries"
]
Kind: TypeAlias = Literal["entry", "message", "block", "event", "passage", "fact", "task", "summary"]
DOMAINS: frozenset[Domain] = frozenset(("archival", "messages", "blocks"))
"""The domains of a query that names none; without a name, agents and people search facts and tasks, too. Activity and
summaries repeat other rows. Archival blocks belong to the blocks."""
MAX_HITS = 100


class Query(Struct, frozen=True):
    """What to look for, and whom "I" and "my" mean in it (`asker`). Without text the newest rows that meet the
    conditions are listed.

    `agent` is who asks: its own entries, and the blocks it can see; None when a person does, who may find those of
    all agents. Of those `beside` it, the entries with words of `asker` are found, too. With `talking` only messages
    of conversations of that agent are found: what it said, what was said in turns that it, or with it a group, had,
    and what was overheard where it has had turns. `person` is whom a row belongs to (said by, said to, about);
    `author` a speaker's name, or a person or an agent (by name too) that a row is by. `since` is included, `until`
    is not. A category stands for those below it too; an entry must have all the tags. `path` is a folder, or a file
    or directory in one, and for files alone. A condition that a domain cannot meet leaves that domain out. At most
    `limit` hits, 1 to 100. Without a `meaning` words alone decide; `of_folders` are those for folders with a model
    of their own, by its name. With `guesses` the nearest rows that do not stand out enough to be taken for an
    answer follow the others, as `Hit.perhaps`. A `question` is answered even if its text is only keywords: models write
    them for a question, people for what they want to see. What is `expected` in the answer, in words, is searched for
    together with the text (`expected_meaning` is that of both), and the results of both searches are joined.
    """

    text: str
    agent: AgentId | None
    domains: frozenset[Domain] = DOMAINS
    talking: AgentId | None = None
    person: PersonId | None = None
    author: str | None = None
    role: Role | None = None
    place: PlaceId | None = None
    since: datetime | None = None
    until: datetime | None = None
    category: str | None = None
    tags: tuple[str, ...] = ()
    path: str = ""
    asker: PersonId | None = None
    beside: tuple[AgentId, ...] = ()
    limit: int = 8
    meaning: Meaning | None = None
    expected: str = ""
    expected_meaning: Meaning | None = None
    of_folders: Mapping[str, Meaning] = field(default_factory=dict)
    guesses: bool = False
    question: bool = False


class Hit(Struct, frozen=True):
    """One row that was found. `kind` and `id` are what `turn_uses` keeps.

    `label` is an entry's or a block's, where a passage stands, or what a summary is of ("conversation", "agent", "day",
    "week"); `speaker`, `place`, `role` and the neighbors (what
    was said just before and after there, as far as the scope may know it) are a message's. `trust` goes with the text
    wherever it is shown.

    Why it was found: `score` (0 in a listing); `matched`, the words of the query that the row has; `around`, those
    that only what was said around it has; `distance`, 1 minus the cosine of the nearer view, 0 to 2; `named`,
    whether the query names the one who said it, or means them by "I". `perhaps`: it is a guess, among the nearest and
    no nearer than chance allows; its `score` is below 0.
    """

    kind: Kind
    id: str
    text: str
    when: datetime
    label: str | None
    speaker: str | None
    place: PlaceId | None
    role: Role | None
    audience: Audience
    trust: Trust
    score: float
    matched: tuple[str, ...] = ()
    around: tuple[str, ...] = ()
    distance: float | None = None
    named: bool = False
    perhaps: bool = False
    before: Message | None = None
    after: Message | None = None


class Results(Struct, frozen=True):
    """Hits, best first, and the domains that were searched.

    `seen` is the result of `searchable`, only without hits: it lets the answer say what was searched in vain.
    """

    hits: list[Hit]
    searched: tuple[Domain, ...]
    seen: Mapping[Domain, int]
    unmet: tuple[str, ...] = ()
    """If no domain was searched: the conditions, by their names in `Query`, that no requested domain can meet."""
    newest: bool = False
    """Whether the query has no words, so that the hits are the newest rows that meet the conditions."""
    words_alone: str = ""
    """Why meaning was not used, for the user; empty if it was."""


def learned_from(rows: Rows, hits: Iterable[Hit]) -> dict[tuple[str, str], str]:
    """The messages among these hits from which alone others of them, entries and facts, were learned."""
    sql = """WITH given (kind, id) AS (SELECT value ->> 0, value ->> 1 FROM json_each(?)),
               learned (kind, id, message) AS (
                 SELECT 'entry', id, message_id FROM archival_entries WHERE metadata ->> '$._messages[0]' IS NULL
                   AND id IN (SELECT id FROM given WHERE kind = 'entry')
                 UNION ALL SELECT 'fact', fact_id, max(message_id) FROM fact_sources
                   WHERE fact_id IN (SELECT CAST(id AS INTEGER) FROM given WHERE kind = 'fact')
                   GROUP BY fact_id HAVING count(DISTINCT coalesce(message_id, 0)) = 1)
             SELECT * FROM learned WHERE CAST(message AS TEXT) IN (SELECT id FROM given WHERE kind = 'message')"""
    found = rows.all(sql, (json.dumps([(hit.kind, hit.id) for hit in hits]),))
    return {(row["kind"], str(row["id"])): str(row["message"]) for row in found}


# -------------------------------------------------------------------------------------------- what conditions can name


_READ = 5_000  # the newest messages, in which speakers are looked for
_SAID = "deleted_at IS NULL AND search_text <> ''"
_KEPT = "archived_at IS NULL AND superseded_by IS NULL AND (? IS NULL OR agent_id = ?)"


def speakers(rows: Rows, scope: Scope, limit: int) -> list[str]:
    """People and agents that spoke lately, most recent first."""
    sql = f"""SELECT speaker FROM (SELECT id, speaker FROM messages WHERE KNOWN(audience) AND {_SAID}
              ORDER BY id DESC LIMIT {_READ}) WHERE speaker <> '' GROUP BY speaker ORDER BY max(id) DESC LIMIT ?"""
    return [str(row["speaker"]) for row in rows.all(*scope.bind(sql, limit))]


def has_spoken(rows: Rows, speaker: str, scope: Scope) -> bool:
    """Whether there is any message under this speaker's name."""
    sql = f"SELECT 1 FROM messages WHERE speaker = ? COLLATE NOCASE AND KNOWN(audience) AND {_SAID} LIMIT 1"
    return rows.one(*scope.bind(sql, speaker)) is not None


def categories(rows: Rows, domains: frozenset[Domain], agent: AgentId | None, scope: Scope) -> list[str]:
    """The categories in use in these domains, in order; of entries, those of an agent or (None) of all."""
    parts, given = list[str](), list[AgentId | None]()
    if "archival" in domains:
        parts.append(f"SELECT category FROM archival_entries WHERE {_KEPT} AND KNOWN(audience)")
        given += [agent, agent]
    if "facts" in domains:
        parts.append("SELECT category FROM facts WHERE superseded_by IS NULL AND KNOWN(audience)")
    found = rows.all(*scope.bind(f"{' UNION '.join(parts)} ORDER BY category", *given)) if parts else []
    return [str(row["category"]) for row in found if row["category"]]


def tags(rows: Rows, agent: AgentId | None, scope: Scope) -> list[str]:
    """The tags of entries, in order: of an agent's or (None) of all."""
    sql = f"""SELECT DISTINCT tag.value AS tag FROM archival_entries, json_each(archival_entries.tags) tag
              WHERE {_KEPT} AND KNOWN(audience) ORDER BY tag.value"""
    return [str(row["tag"]) for row in rows.all(*scope.bind(sql, agent, agent))]
