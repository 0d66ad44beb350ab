"""The records of archival entries, the checks of their content, and their form in the database."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

import regex

from memory.people.audience import Audience, Scope, Trust
from memory.store.clock import to_text
from memory.store.database import Row, Value
from memory.store.errors import Refused
from memory.store.fulltext import date_words, index_text, storable
from memory.store.ids import AgentId, EntryId, MessageId, PersonId, TurnId
from memory.store.row_mapper import RowMapper

MAX_CONTENT = 30_000
"""Characters in one entry: the most that an embedder takes."""

PASSAGE = 2_000
"""Characters in one passage of a long entry."""

_MAX_LABEL, _MAX_CATEGORY, _MAX_TAG, MAX_TAGS = 200, 200, 50, 20
# They are shown in lists, which a line break would forge, and on platforms that read markup; joiners occur in emoji.
_PLAIN = regex.compile(r"(?V1)[[^<>\[\]`\p{C}\p{Zl}\p{Zp}]\u200c\u200d]*")
_ID = regex.compile(r"\s*ent_[0-9a-hjkmnp-tv-z]{10,}(?:\.\d+)?\s*", regex.IGNORECASE)
_CATEGORY = regex.compile(r"[\p{L}\p{M}\p{N}_-]+(?:/[\p{L}\p{M}\p{N}_-]+)*")


@dataclass(frozen=True)
class Origin:
    """Where words come from: who hears the turn, how far they are trusted, whose they are, and the message and turn."""

    scope: Scope
    trust: Trust
    person: PersonId | None = None
    message: MessageId | None = None
    turn: TurnId | None = None


@dataclass(frozen=True)
class NewEntry:
    """An entry to be stored. `category` is a path such as "work/projects"; `importance` is 0 to 1."""

    content: str
    origin: Origin
    label: str | None = None
    category: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    importance: float = 0.5


@dataclass(frozen=True)
class Entry:
    """One stored entry. `reinforcement` counts how often it was stored again, `last_seen` when last.

    `people` and `messages` list everybody whose words it holds, and everything that it was learned from.
    """

    id: EntryId
    agent: AgentId
    label: str | None
    content: str
    category: str
    tags: tuple[str, ...]
    metadata: Mapping[str, Any]
    importance: float
    reinforcement: int
    people: tuple[PersonId, ...]
    messages: tuple[MessageId, ...]
    turn: TurnId | None
    audience: Audience
    trust: Trust
    created_at: datetime
    updated_at: datetime
    last_seen: datetime | None


class Deleted(NamedTuple):
    """A deleted entry, and the messages that also hold its words."""

    entry: Entry
    messages: list[MessageId]


def _and_further(column: str, further: str) -> Callable[[Row], tuple[Any, ...]]:
    def read(row: Row) -> tuple[Any, ...]:
        first = () if row[column] is None else (row[column],)
        return (*first, *json.loads(row["metadata"]).get(further, ())) if further in row["metadata"] else first

    return read


def _metadata(row: Row) -> dict[str, Any]:
    return {name: value for name, value in json.loads(row["metadata"]).items() if name not in ("_people", "_messages")}


to_entry = RowMapper(
    Entry,
    people=_and_further("person_id", "_people"),
    messages=_and_further("message_id", "_messages"),
    metadata=_metadata,
)


def checked(new: NewEntry) -> NewEntry:
    """The entry in stored form; raises `Refused` with what to change."""
    content = checked_content(new.content)
    if not 0 <= new.importance <= 1:
        raise Refused("importance is 0 to 1, not {importance}", importance=new.importance)
    if new.category and not is_category(new.category):
        raise Refused(
            "{category!r} is not a category: write it as a/b/c, of letters, digits, - and _",
            category=new.category[:_MAX_CATEGORY],
        )
    label = None if new.label is None else _checked_label(new.label)
    for named, value in new.metadata.items():
        _written(f"{named}{value}", "metadata")
    return replace(new, content=content, label=label, tags=_checked_tags(new.tags))


def is_category(text: str) -> bool:
    """Whether a text is a category: a/b/c, of letters, digits, - and _."""
    return len(text) <= _MAX_CATEGORY and _CATEGORY.fullmatch(text) is not None


def checked_content(text: str) -> str:
    """A text in stored form; raises `Refused` if it is empty or too long."""
    content = _written(text, "the text").strip()
    if not content:
        raise Refused("an entry needs content")
    if len(content) > MAX_CONTENT:
        raise Refused(
            "an entry holds {max_content} characters, and this has {content}: split it",
            max_content=MAX_CONTENT,
            content=len(content),
        )
    return content


def _written(text: str, what: str) -> str:
    """The text; raises `Refused` if it cannot be stored unchanged, so that nothing is dropped silently."""
    if storable(text) != text:
        raise Refused(
            "{what} has a NUL character or half of a surrogate pair in it, which cannot be stored: write it without",
            what=what,
        )
    return text


def _checked_label(given: str) -> str:
    label = _written(given, "the label").strip()
    if not 0 < len(label) <= _MAX_LABEL or not _PLAIN.fullmatch(label) or is_id(label):
        raise Refused(
            "a label is one line of 1 to {max_label} characters, without < > [ ] ` or invisible ones, and not an ID; "
            "{label!r} is not",
            max_label=_MAX_LABEL,
            label=label[:_MAX_LABEL],
        )
    return label


def is_id(text: str) -> bool:
    """Whether a text looks like the id of an entry or passage, which therefore cannot be a label."""
    return _ID.fullmatch(text) is not None


def shown_name(label: str | None, identifier: str) -> str:
    """The displayed name of an entry: its label, or its id if it has none or has an old label that looks like another
    line, markup or an id."""
    return label if label and _PLAIN.fullmatch(label) and not is_id(label) else identifier


def is_tag(text: str) -> bool:
    return 0 < len(text) <= _MAX_TAG and text == text.strip() and _PLAIN.fullmatch(text) is not None


def _checked_tags(given: Iterable[str]) -> tuple[str, ...]:
    tags = tuple(dict.fromkeys(_written(tag, "a tag").strip() for tag in given))
    unfit = next((tag for number, tag in enumerate(tags) if number >= MAX_TAGS or not is_tag(tag)), None)
    if unfit is not None:
        raise Refused(
            "an entry has at most {max_tags} tags, each one line of 1 to {max_tag} characters, without < > [ ] ` or "
            "invisible ones, not {unfit!r}",
            max_tags=MAX_TAGS,
            max_tag=_MAX_TAG,
            unfit=unfit[:_MAX_TAG],
        )
    return tags


def with_origin(entry: Entry, origin: Origin) -> Entry:
    """The entry with further words in it: its trust is at most that of the newest speaker."""
    people = dict.fromkeys((*entry.people, *([] if origin.person is None else [origin.person])))
    messages = dict.fromkeys((*entry.messages, *([] if origin.message is None else [origin.message])))
    return replace(entry, people=tuple(people), messages=tuple(messages), trust=min(entry.trust, origin.trust))


def columns_of(entry: Entry) -> dict[str, Value]:
    """The columns that change during an entry's life. Further people and messages are in the metadata."""
    further = {"_people": entry.people[1:], "_messages": entry.messages[1:]}
    own = {key: value for key, value in entry.metadata.items() if key not in further}
    return {
        "label": entry.label,
        "content": entry.content,
        "category": entry.category,
        "tags": json.dumps(entry.tags),
        "metadata": json.dumps({**own, **{key: value for key, value in further.items() if value}}),
        "importance": entry.importance,
        "reinforcement": entry.reinforcement,
        "person_id": entry.people[0] if entry.people else None,
        "message_id": entry.messages[0] if entry.messages else None,
        "turn_id": entry.turn,
        "audience": entry.audience,
        "trust": int(entry.trust),
        "updated_at": to_text(entry.updated_at),
        "last_seen": None if entry.last_seen is None else to_text(entry.last_seen),
        "search_text": _search_text(entry),
    }


def _search_text(entry: Entry) -> str:
    words = (entry.content, *entry.tags, entry.category, entry.label or "", date_words(entry.created_at))
    return index_text("\n".join(words))


def passages_of(content: str) -> list[str]:
    """Split a text into passages of at most `PASSAGE` characters, at a paragraph, line, sentence or word."""
    found, rest = [], content
    while len(rest) > PASSAGE:
        ends = (rest.rfind(mark, PASSAGE // 2, PASSAGE) + len(mark) for mark in ("\n\n", "\n", ". ", " "))
        end = next((end for end in ends if end > PASSAGE // 2), PASSAGE)
        found.append(rest[:end].strip())
        rest = rest[end:].strip()
    return [*found, rest] if rest else found
