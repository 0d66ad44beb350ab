"""Working memory: what agents keep for a while, each value under a path until its time is over.

The first two segments of a path are its namespace: `session/<conversation>`, `patrol/<task>`, `subagent/<turn>`,
`shared/<subject>`. Every row has the audience of the turn that wrote it, and each audience has keys and room of its
own, so that nobody can tell from what is refused here what was kept elsewhere. Times are stored as the moment at
which a row expires: a restart changes nothing, and what has expired is never read, swept or not.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import quote

from memory import groups
from memory.audience import Audience, Scope, Trust, may_write_down
from memory.clock import from_text, to_text
from memory.database import Row, Rows, Tx, Value
from memory.errors import Refused
from memory.fulltext import storable
from memory.ids import AgentId, MessageId, PersonId, TurnId, place_source, snowflakes
from memory.turns import Turn

SESSION, PATROL, SUBAGENT, SHARED = "session", "patrol", "subagent", "shared"
_ROOTS = (SESSION, PATROL, SUBAGENT, SHARED)
DEFAULT_TTL, LONGEST_TTL = timedelta(minutes=5), timedelta(days=7)
MOST_LIVE = 50
"""Entries of one namespace that are not expired, for each audience."""
LONGEST = 12_000
"""Characters of one value: less than a tool's result may have, so that each can be read whole."""
INDEX = "-index"
"""How the key of an entry ends that lists others; of members' work only these are named to others."""
_LONGEST_KEY = 120  # of what stands after the namespace
_MOST_TAGS, _LONGEST_TAG = 10, 40
_MOST_READ = 500  # rows looked at by one listing or search
_SEGMENT = re.compile(r"[\w.:%@+~-]+")
_CATEGORY = re.compile(r"[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*")


@dataclass(frozen=True)
class By:
    """Who writes, in which turn, and who hears it."""

    namespace: str
    scope: Scope
    trust: Trust
    now: datetime
    agent: AgentId | None = None
    person: PersonId | None = None
    turn: TurnId | None = None
    message: MessageId | None = None

    @classmethod
    def of_turn(cls, rows: Rows, turn: Turn, message: MessageId | None, now: datetime) -> "By":
        return cls(namespace_of(rows, turn), turn.scope, turn.trust, now, turn.agent, turn.person, turn.id, message)


@dataclass(frozen=True)
class NewEntry:
    """A value to be kept. `key` is a path inside the writer's namespace, or one that begins with `shared/`."""

    key: str
    content: str
    ttl: timedelta = DEFAULT_TTL
    category: str = ""
    tags: tuple[str, ...] = ()
    index_key: str | None = None


@dataclass(frozen=True)
class Entry:
    key: str
    namespace: str
    content: str
    category: str
    tags: tuple[str, ...]
    index_key: str | None
    audience: Audience
    trust: Trust
    stored_at: datetime
    expires_at: datetime


def namespace_of(rows: Rows, turn: Turn) -> str:
    """Where a turn writes: its conversation, its patrol, or the task that it was given by another agent."""
    part = None if turn.parent is None else groups.part(rows, turn.id)
    if part is not None and part.kind == "task":
        return f"{SUBAGENT}/{turn.id}"
    if place_source(turn.place) == PATROL:
        return f"{PATROL}/{turn.place.partition(':')[2]}"
    return f"{SESSION}/{quote(turn.place, safe=':@')}"


def whole_key(key: str, own: str) -> str:
    """The whole path that is meant by a key: one that begins with a kind of namespace is whole already.

    Raises Refused for what is no path.
    """
    parts = key.strip().strip("/").split("/")
    for part in parts:
        if not _SEGMENT.fullmatch(part) or part in (".", ".."):
            raise Refused(f"{key!r} is no key: segments of letters, digits and . _ - with / between them")
    return "/".join(parts) if parts[0] in _ROOTS else "/".join([own, *parts])


# ------------------------------------------------------------------------------------------------------- writing


def save(tx: Tx, by: By, new: NewEntry) -> Entry:
    """Keep a value; one of the same key and audience is replaced. Raises Refused, and then nothing is kept."""
    key = whole_key(new.key, by.namespace)
    namespace = _writable(key, by.namespace)
    content = storable(new.content)
    if not content.strip():
        raise Refused("there is nothing to keep: content is empty")
    if len(content) > LONGEST:
        raise Refused(f"an entry has at most {LONGEST:,} characters; this has {len(content):,}: split it over keys")
    if not timedelta() < new.ttl <= LONGEST_TTL:
        raise Refused(f"an entry is kept for up to {LONGEST_TTL.days} days; for longer use `recall` or `context`")
    _make_way(tx, namespace, key, by)
    values: dict[str, Value] = {"id": snowflakes.next(), "key": key, "namespace": namespace, "content": content}
    values |= {"category": _category(new.category), "tags": json.dumps(_tags(new.tags), ensure_ascii=False)}
    values |= {"index_key": new.index_key, "agent_id": by.agent, "person_id": by.person, "turn_id": by.turn}
    values |= {"message_id": by.message, "audience": by.scope.audience, "trust": int(by.trust)}
    values |= {"stored_at": to_text(by.now), "expires_at": to_text(by.now + new.ttl)}
    tx.insert("working_memory", values)
    return next(each for each in get(tx, key, by.scope, by.now) if each.audience == by.scope.audience)


def _writable(key: str, own: str) -> str:
    """The namespace of a key that may be written; raises Refused."""
    root, *rest = key.split("/")
    namespace = "/".join([root, *rest[:1]])
    if namespace != own and root != SHARED:
        raise Refused(f"you write only to {own} and {SHARED}/…: give a key without a namespace, {key} is not yours")
    if len(rest) < 2:
        raise Refused(f"{key} is a namespace: a name has to follow it")
    if len(key) - len(namespace) > _LONGEST_KEY:
        raise Refused(f"a key has at most {_LONGEST_KEY} characters")
    return namespace


def _make_way(tx: Tx, namespace: str, key: str, by: By) -> None:
    """Drop what expired there and what the key held before. Raises Refused when there is no room."""
    there = (namespace, by.scope.audience)
    tx.run(
        "DELETE FROM working_memory WHERE namespace = ? AND audience = ? AND expires_at <= ?", (*there, to_text(by.now))
    )
    tx.run("DELETE FROM working_memory WHERE namespace = ? AND audience = ? AND index_key = ?", (*there, key))
    tx.run("DELETE FROM working_memory WHERE namespace = ? AND audience = ? AND key = ?", (*there, key))
    if room(tx, namespace, by) < 1:
        raise Refused(
            f"{namespace} is full ({MOST_LIVE} entries), nothing was saved: delete what you no longer need, save under "
            "a key that is there, or wait until some expire"
        )


def room(rows: Rows, namespace: str, by: By) -> int:
    """How many entries a namespace has room for, among those of the writer's audience."""
    sql = "SELECT count(*) AS n FROM working_memory WHERE namespace = ? AND audience = ? AND expires_at > ?"
    row = rows.one(sql, (namespace, by.scope.audience, to_text(by.now)))
    return MOST_LIVE - (0 if row is None else int(row["n"]))


def delete(tx: Tx, by: By, key: str) -> list[str]:
    """Remove an entry, an index with its parts; gives the keys. Raises Refused when none may be removed from here.

    In any namespace, so that findings can be dismissed; but only where those who can see it may know of this turn.
    """
    found = get(tx, key, by.scope, by.now)
    mine = [each for each in found if may_write_down(by.scope, each.audience)]
    if not mine:
        raise Refused(
            f"{key} is known to others than hear this: delete it where they hear it too" if found else _none(key)
        )
    for each in mine:
        where = "namespace = ? AND audience = ? AND (key = ? OR index_key = ?)"
        tx.run(f"DELETE FROM working_memory WHERE {where}", (each.namespace, each.audience, each.key, each.key))
    return [each.key for each in mine]


def forget_turn(tx: Tx, turn: TurnId) -> None:
    """What a turn kept is not to be known any more."""
    tx.run("DELETE FROM working_memory WHERE turn_id = ?", (turn,))


def drop_oldest_result(tx: Tx, by: By) -> bool:
    """Make room by dropping the oldest long result of the writer's namespace, all parts of it; False without one."""
    where = (by.namespace, by.scope.audience)
    sql = """SELECT index_key FROM working_memory WHERE namespace = ? AND audience = ? AND index_key IS NOT NULL
             ORDER BY id LIMIT 1"""
    row = tx.one(sql, where)
    if row is None:
        return False
    sql = "DELETE FROM working_memory WHERE namespace = ? AND audience = ? AND (index_key = ? OR key = ?)"
    return tx.run(sql, (*where, row["index_key"], row["index_key"])) > 0


def sweep(tx: Tx, now: datetime, most: int) -> int:
    """Delete what has expired, at most so many rows; how many."""
    sql = """DELETE FROM working_memory WHERE id IN (SELECT id FROM working_memory WHERE expires_at <= ?
             ORDER BY expires_at LIMIT ?)"""
    return tx.run(sql, (to_text(now), most))


def _category(text: str) -> str:
    category = text.strip().strip("/")
    if category and not _CATEGORY.fullmatch(category):
        raise Refused(f"{text!r} is no category: words of letters, digits, - and _ with / between them")
    return category


def _tags(tags: Sequence[str]) -> list[str]:
    found = list(dict.fromkeys(" ".join(storable(tag).split()) for tag in tags if tag.strip()))
    if len(found) > _MOST_TAGS or any(len(tag) > _LONGEST_TAG for tag in found):
        raise Refused(f"an entry has at most {_MOST_TAGS} tags of at most {_LONGEST_TAG} characters")
    return found


def _none(key: str) -> str:
    return f"nothing is kept as {key} here: it expired, or never was; list shows what there is"


# ------------------------------------------------------------------------------------------------------- reading


def get(rows: Rows, key: str, scope: Scope, now: datetime) -> list[Entry]:
    """What is kept under a whole path, as far as the scope may know it: its own audience's first, then the newest."""
    condition, parameters = scope.sql("audience")
    sql = f"""SELECT * FROM working_memory WHERE key = ? AND namespace = ? AND expires_at > ? AND {condition}
              ORDER BY audience = ? DESC, id DESC"""
    namespace = "/".join(key.split("/")[:2])
    return [_entry(row) for row in rows.all(sql, (key, namespace, to_text(now), *parameters, scope.audience))]


def required(rows: Rows, key: str, scope: Scope, now: datetime) -> list[Entry]:
    """The same; raises Refused when there is nothing."""
    found = get(rows, key, scope, now)
    if not found:
        raise Refused(_none(key))
    return found


def listing(
    rows: Rows, prefix: str, scope: Scope, now: datetime, *, parts: bool = False, writer: TurnId | None = None
) -> list[Entry]:
    """What is kept under a path, newest first, as far as the scope may know it; parts of long results only if wanted.

    Nothing that the turn `writer` wrote itself.
    Whole segments count: `subagent/1` is not the beginning of `subagent/10/a`.
    """
    condition, parameters = scope.sql("audience")
    sql = f"""SELECT * FROM working_memory WHERE (key = ? OR substr(key, 1, ?) = ?) AND expires_at > ? AND {condition}
              {"" if parts else "AND index_key IS NULL"} AND (? IS NULL OR turn_id IS NOT ?) ORDER BY id DESC LIMIT ?"""
    under = f"{prefix.rstrip('/')}/"
    values: tuple[Value, ...] = (prefix, len(under), under, to_text(now), *parameters, writer, writer, _MOST_READ)
    return [_entry(row) for row in rows.all(sql, values)]


def before(rows: Rows, prefix: str, turn: Turn) -> list[Entry]:
    """What stood under a path when a turn began, newest first, as far as its hearers may know it.

    Without parts of long results. All steps of a turn see the same.
    """
    began = turn.started_at
    return [each for each in listing(rows, prefix, turn.scope, began, writer=turn.id) if each.stored_at <= began]


def is_taken(rows: Rows, name: str, audience: Audience) -> bool:
    """Whether an audience has anything, expired or not, under that path or as its index."""
    sql = """SELECT 1 FROM working_memory WHERE namespace = ? AND audience = ?
             AND (key = ? OR substr(key, 1, ?) = ?) LIMIT 1"""
    under = f"{name}/"
    return rows.one(sql, ("/".join(name.split("/")[:2]), audience, f"{name}{INDEX}", len(under), under)) is not None


def _entry(row: Row) -> Entry:
    return Entry(
        key=row["key"],
        namespace=row["namespace"],
        content=row["content"],
        category=row["category"],
        tags=tuple(json.loads(row["tags"])),
        index_key=row["index_key"],
        audience=Audience(row["audience"]),
        trust=Trust(row["trust"]),
        stored_at=from_text(row["stored_at"]),
        expires_at=from_text(row["expires_at"]),
    )


# ------------------------------------------------------------------------------------------------------- people
