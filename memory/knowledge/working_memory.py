"""Working memory: items that agents keep for a limited time, each value under a path, its key.

The first two segments of a path are its namespace: `session/<conversation>`, `patrol/<task>`, `subagent/<turn>`,
`shared/<subject>`. Every row has the audience of the turn that wrote it, and each audience has its own keys and limits,
so that a refusal here reveals nothing about other audiences. A row stores the time at which it expires, so a restart
changes nothing; an expired row is never read. `bot.upkeep.housekeeping` deletes it.
"""

import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from urllib.parse import quote

from msgspec import Struct

from memory import group_runs
from memory.knowledge import items
from memory.knowledge.entries import checked_category, checked_tags
from memory.knowledge.items import Item, Kind
from memory.people.audience import Audience, Scope, Trust, may_write_down
from memory.queue.turns import Turn
from memory.search.ranking import rarity, share
from memory.store.database import Rows, Tx
from memory.store.errors import Refused
from memory.store.fulltext import all_words, content_words, index_text, storable
from memory.store.ids import MessageId, TurnId, place_source
from texts import gettext_lazy

SESSION, PATROL, SUBAGENT, SHARED = "session", "patrol", "subagent", "shared"
_ROOTS = (SESSION, PATROL, SUBAGENT, SHARED)
DEFAULT_TTL, LONGEST_TTL = timedelta(minutes=5), timedelta(days=7)
MOST_LIVE = 50
"""Unexpired entries of one namespace, for each audience."""
LONGEST = 12_000
"""Characters of one value: less than the limit of a tool's result, so that it can be read whole."""
INDEX = "-index"
"""The key suffix of an entry that lists others; of members' work, only such entries are listed for others."""
_LONGEST_KEY = 120  # characters after the namespace
_MOST_READ = 500  # rows read by one listing or search
_SEGMENT = re.compile(r"[\w.:%@+~-]+")


class By(items.By, frozen=True):
    """Who stores something, and where."""

    namespace: str = ""

    @classmethod
    def in_turn(cls, rows: Rows, turn: Turn, message: MessageId | None, now: datetime) -> "By":
        own = namespace_of(rows, turn)
        return cls(turn.scope, turn.trust, now, turn.agent, turn.person, None, turn.id, message, own)


class NewEntry(Struct, frozen=True):
    """A value to store. `key` is a path inside the writer's namespace, or one that begins with `shared/`."""

    key: str
    content: str
    ttl: timedelta = DEFAULT_TTL
    category: str = ""
    tags: tuple[str, ...] = ()
    index_key: str | None = None


class _Detail(Struct, frozen=True):
    category: str
    tags: tuple[str, ...]
    index: str | None


class Entry(Struct, frozen=True):
    id: int
    key: str
    namespace: str
    content: str
    category: str
    tags: tuple[str, ...]
    index_key: str | None
    audience: Audience
    trust: Trust
    expires_at: datetime


def namespace_of(rows: Rows, turn: Turn) -> str:
    """The namespace of a turn: its conversation, its patrol, or the task that another agent gave it."""
    part = None if turn.parent is None else group_runs.part(rows, turn.id)
    if part is not None and part.kind == "task":
        return f"{SUBAGENT}/{turn.id}"
    if place_source(turn.place) == PATROL:
        return f"{PATROL}/{turn.place.partition(':')[2]}"
    return f"{SESSION}/{quote(turn.place, safe=':@')}"


def whole_key(key: str, own: str) -> str:
    """The full path for a key; one that begins with a kind of namespace is full already.

    Raises Refused for an invalid path.
    """
    parts = key.strip().strip("/").split("/")
    for part in parts:
        if not _SEGMENT.fullmatch(part) or part in (".", ".."):
            raise Refused("“{key}” is not a key: use letters, digits, . _ and -, with / between the parts", key=key)
    return "/".join(parts) if parts[0] in _ROOTS else "/".join([own, *parts])


# ------------------------------------------------------------------------------------------------------- writing


def save(tx: Tx, by: By, new: NewEntry) -> Entry:
    """Store a value, replacing one with the same key and audience. Raises Refused; then nothing is stored."""
    key = whole_key(new.key, by.namespace)
    namespace = _writable(key, by.namespace)
    content = storable(new.content)
    if not content.strip():
        raise Refused("there is nothing to store: content is empty")
    if len(content) > LONGEST:
        raise Refused(
            "an entry can have at most {longest:,} characters; this has {content:,}: split it across several keys",
            longest=LONGEST,
            content=len(content),
        )
    if not timedelta() < new.ttl <= LONGEST_TTL:
        raise Refused(
            "an entry is kept for up to {days} days; to keep it longer, use `recall` or `context`",
            days=LONGEST_TTL.days,
        )
    category, tags = checked_category(new.category.strip().strip("/")), checked_tags(new.tags)
    _make_way(tx, namespace, key, by)
    detail = _Detail(category, tags, new.index_key)
    return _entry(by.put(tx, Kind.WORKING, content, key, detail, by.now + new.ttl))


def _writable(key: str, own: str) -> str:
    """The namespace of a key, if it may be written; raises Refused."""
    root, *rest = key.split("/")
    namespace = "/".join([root, *rest[:1]])
    if namespace != own and root != SHARED:
        raise Refused(
            "you can write only to {own} and {shared}/…: give a key without a namespace, because {key} is not yours",
            own=own,
            shared=SHARED,
            key=key,
        )
    if len(rest) < 2 or len(key) - len(namespace) > _LONGEST_KEY:
        raise Refused(
            "{key} is not a key: its namespace must be followed by a name of at most {longest_key} characters",
            key=key,
            longest_key=_LONGEST_KEY,
        )
    return namespace


def _make_way(tx: Tx, namespace: str, key: str, by: By) -> None:
    """Delete expired entries of the namespace and the key's old value. Raises Refused when there is no room."""
    there = items.under(tx, Kind.WORKING, namespace, by.scope.audience)
    items.remove(tx, [each.id for each in there if _is_over(each, by.now) or key in (each.key, _index(each))])
    if room(tx, namespace, by) < 1:
        raise Refused(
            "{namespace} is full ({most_live} entries), so nothing was saved: delete what you no longer need, "
            "reuse a key, or wait until some expire",
            namespace=namespace,
            most_live=MOST_LIVE,
        )


def room(rows: Rows, namespace: str, by: By) -> int:
    """How many more entries a namespace can hold for the writer's audience."""
    there = items.under(rows, Kind.WORKING, namespace, by.scope.audience)
    return MOST_LIVE - sum(not _is_over(each, by.now) for each in there)


def _is_over(item: Item, now: datetime) -> bool:
    return item.valid_until is not None and item.valid_until <= now


def delete(tx: Tx, by: By, key: str) -> list[str]:
    """Delete an entry, or an index with its parts; returns the keys. Raises Refused if none may be deleted from here.

    Works in any namespace, so that findings can be dismissed, if those who can see the entry may know of this turn.
    """
    found = get(tx, key, by.scope, by.now)
    mine = [each for each in found if may_write_down(by.scope, each.audience)]
    if not mine:
        raise Refused(
            gettext_lazy(
                "people who are not here can see {key}: delete it in a place that all of them can read", key=key
            )
            if found
            else _none(key)
        )
    for each in mine:
        there = items.under(tx, Kind.WORKING, each.namespace, each.audience)
        items.remove(tx, [item.id for item in there if each.key in (item.key, _index(item))])
    return [each.key for each in mine]


def forget_turn(tx: Tx, turn: TurnId) -> None:
    """Delete what a turn stored."""
    tx.run("DELETE FROM items WHERE kind = 'working' AND turn_id = ?", (turn,))


def drop_oldest_result(tx: Tx, by: By) -> bool:
    """Make room by deleting the oldest long result of the writer's namespace with all parts; False if there is none."""
    there = items.under(tx, Kind.WORKING, by.namespace, by.scope.audience)
    index = next((_index(each) for each in there if _index(each) is not None), None)
    if index is None:
        return False
    return items.remove(tx, [each.id for each in there if index in (each.key, _index(each))]) > 0


def _none(key: str) -> str:
    return f"nothing is kept as {key} here: it expired, or never was; list shows what there is"


# ------------------------------------------------------------------------------------------------------- reading


def get(rows: Rows, key: str, scope: Scope, now: datetime) -> list[Entry]:
    """The values at a full path that the scope may know: its own audience's first, then the newest."""
    found = [_entry(each) for each in items.known_under(rows, scope, Kind.WORKING, key, now) if each.key == key]
    return sorted(found, key=lambda each: each.audience != scope.audience)


def required(rows: Rows, key: str, scope: Scope, now: datetime) -> list[Entry]:
    """The same; raises Refused if there are none."""
    found = get(rows, key, scope, now)
    if not found:
        raise Refused(_none(key))
    return found


def listing(rows: Rows, prefix: str, scope: Scope, now: datetime, *, parts: bool = False) -> list[Entry]:
    """The entries below a path that the scope may know, newest first; parts of long results only with `parts`.

    Paths match by whole segments: `subagent/1` does not match `subagent/10/a`.
    """
    found = items.known_under(rows, scope, Kind.WORKING, prefix.rstrip("/"), now)
    return [_entry(each) for each in found if parts or _index(each) is None][:_MOST_READ]


def before(found: Sequence[Item], prefixes: Sequence[str], turn: Turn) -> list[list[Entry]]:
    """Of these, the entries below each path when a turn began, in the same order.

    Without parts of long results. All steps of a turn see the same.
    """
    there = [
        _entry(each)
        for each in found
        if _index(each) is None and each.turn != turn.id and each.created_at <= turn.started_at
    ]
    return [[each for each in there if f"{each.key}/".startswith(f"{prefix}/")][:_MOST_READ] for prefix in prefixes]


def is_taken(rows: Rows, name: str, audience: Audience) -> bool:
    """Whether an audience has any entry, expired or not, under that path or as its index."""
    there = items.under(rows, Kind.WORKING, "/".join(name.split("/")[:2]), audience)
    return any(each.key == f"{name}{INDEX}" or each.key.startswith(f"{name}/") for each in there)


def _index(item: Item) -> str | None:
    """The key of the index that an item is a part of."""
    return item.read(_Detail).index


def _entry(item: Item) -> Entry:
    if item.valid_until is None:
        raise AssertionError("what is kept for a while has an end")
    detail = item.read(_Detail)
    return Entry(
        id=item.id,
        key=item.key,
        namespace="/".join(item.key.split("/")[:2]),
        content=item.text,
        category=detail.category,
        tags=detail.tags,
        index_key=detail.index,
        audience=item.audience,
        trust=item.trust,
        expires_at=item.valid_until,
    )


# --------------------------------------------------------------------------------------------- ranking by words (BM25)


_STEM = 4  # letters from which on a word matches by its beginning, and by its plural
_SEPARATORS = re.compile(r"[/_.:@%-]+")


def ranked(entries: Sequence[Entry], query: str) -> list[Entry]:
    """The entries with a word of the query, best first; equal ones in the given order."""
    texts = [_text(entry) for entry in entries]
    counts = [Counter(text.split()) for text in texts]
    scores = [0.0] * len(entries)
    for word in dict.fromkeys(content_words(query) or all_words(query)):
        found = [_times(word, counted) for counted in counts]
        weight = rarity(sum(times > 0 for times in found), len(entries))
        for position, times in enumerate(found):
            scores[position] += weight * share(times, len(texts[position]))
    best = sorted(range(len(entries)), key=lambda position: -scores[position])
    return [entries[position] for position in best if scores[position] > 0]


def _text(entry: Entry) -> str:
    named = _SEPARATORS.sub(" ", " ".join([entry.key, entry.category, *entry.tags]))
    return index_text(f"{named} {entry.content}")


def _times(word: str, counted: Counter[str]) -> int:
    if len(word) < _STEM:
        return counted[word]
    return sum(times for each, times in counted.items() if each.startswith(word) or word in (f"{each}s", f"{each}es"))
