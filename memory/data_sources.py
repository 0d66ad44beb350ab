"""Data sources as rows: feeds, calendars, folders and webhooks, what was seen of each, and which agents get news."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Literal, NewType, TypeAlias

from msgspec import Struct, field

from memory.people.audience import Audience
from memory.store.database import Rows, Tx
from memory.store.errors import Refused
from memory.store.ids import AgentId, new_id
from memory.store.row_mapper import RowMapper
from texts import packed, unpacked

DataSourceId = NewType("DataSourceId", str)
SourceType: TypeAlias = Literal["feed", "calendar", "folder", "webhook"]
_KEPT = timedelta(days=180)
"""How long an item is remembered that its source no longer lists."""
_MOST_SOURCES, _LONGEST_ERROR = 200, 300


class DataSource(Struct, frozen=True):
    """A source; a new one gets its id when it is made."""

    name: str
    type: SourceType
    address: str
    """A URL, a folder, or the secret of a webhook."""
    every_minutes: int
    """0 for webhooks, which nothing checks."""
    audience: Audience
    id: DataSourceId = field(default_factory=lambda: DataSourceId(new_id("src")))
    enabled: bool = True
    synced_at: datetime | None = None
    failures: int = 0
    error: str = ""


class Subscription(Struct, frozen=True):
    """An agent that gets a source's news, with the template for its wording."""

    agent: AgentId
    source: DataSourceId
    template: str


def add(tx: Tx, source: DataSource, now: datetime) -> None:
    """Store a new source. Raises Refused if its name is taken or there are too many."""
    if named(tx, source.name) is not None:
        raise Refused("there is already a source “{name}”", name=source.name)
    if len(listing(tx)) >= _MOST_SOURCES:
        raise Refused("there are already {most_sources} sources; remove one first", most_sources=_MOST_SOURCES)
    tx.insert("data_sources", {**_source.values(source), "created_at": now, "updated_at": now})


def listing(rows: Rows) -> list[DataSource]:
    return _source.all(rows, "SELECT * FROM data_sources ORDER BY name")


def named(rows: Rows, name: str) -> DataSource | None:
    return _source.first(rows, "SELECT * FROM data_sources WHERE name = ?", (name,))


def get(rows: Rows, identifier: DataSourceId) -> DataSource | None:
    return _source.first(rows, "SELECT * FROM data_sources WHERE id = ?", (identifier,))


def remove(tx: Tx, identifier: DataSourceId) -> None:
    """Delete a source and what was seen of it; what agents were told stays."""
    tx.run("DELETE FROM data_sources WHERE id = ?", (identifier,))


def enable(tx: Tx, identifier: DataSourceId, enabled: bool, now: datetime) -> None:
    """Pause or resume a source. News from the pause is reported after it."""
    sql = "UPDATE data_sources SET enabled = ?, failures = 0, updated_at = ? WHERE id = ?"
    tx.run(sql, (int(enabled), now, identifier))


def subscribe(tx: Tx, subscription: Subscription, now: datetime) -> None:
    """Subscribe an agent to a source, or change its template."""
    sql = """INSERT INTO agent_data_sources (agent_id, source_id, notification_template, created_at) VALUES (?, ?, ?, ?)
             ON CONFLICT DO UPDATE SET notification_template = excluded.notification_template"""
    tx.run(sql, (subscription.agent, subscription.source, subscription.template, now))


def unsubscribe(tx: Tx, agent: AgentId, source: DataSourceId) -> bool:
    """End a subscription; False if there was none."""
    return tx.run("DELETE FROM agent_data_sources WHERE agent_id = ? AND source_id = ?", (agent, source)) == 1


def subscriptions(rows: Rows, source: DataSourceId) -> list[Subscription]:
    sql = "SELECT * FROM agent_data_sources WHERE source_id = ? ORDER BY agent_id"
    return _subscription.all(rows, sql, (source,))


def marks(rows: Rows, source: DataSourceId) -> dict[str, str]:
    """The mark of every seen item of a source, by its key."""
    found = rows.all("SELECT key, mark FROM data_source_items WHERE source_id = ?", (source,))
    return {row["key"]: row["mark"] for row in found}


def see(tx: Tx, source: DataSourceId, seen: Mapping[str, str], gone: Iterable[str], now: datetime) -> None:
    """Store how items look now, and delete those that are gone."""
    sql = """INSERT INTO data_source_items (source_id, key, mark, seen_at) VALUES (?, ?, ?, ?)
             ON CONFLICT DO UPDATE SET mark = excluded.mark, seen_at = excluded.seen_at"""
    for key, mark in seen.items():
        tx.run(sql, (source, key, mark, now))
    for key in gone:
        tx.run("DELETE FROM data_source_items WHERE source_id = ? AND key = ?", (source, key))


def forget_old(tx: Tx, source: DataSourceId, now: datetime) -> None:
    """Delete items last seen long ago; not for folders, whose files stay the same."""
    tx.run("DELETE FROM data_source_items WHERE source_id = ? AND seen_at < ?", (source, now - _KEPT))


def synced(tx: Tx, source: DataSourceId, now: datetime) -> None:
    sql = "UPDATE data_sources SET last_sync_at = ?, failures = 0, last_error = '' WHERE id = ?"
    tx.run(sql, (now, source))


def failed(tx: Tx, source: DataSourceId, why: str) -> int:
    """Record that a source could not be read; returns how often in a row."""
    kept = packed(why if len(why) <= _LONGEST_ERROR else why[:_LONGEST_ERROR])
    tx.run("UPDATE data_sources SET failures = failures + 1, last_error = ? WHERE id = ?", (kept, source))
    found = get(tx, source)
    return 0 if found is None else found.failures


_subscription = RowMapper(Subscription, template="notification_template", source="source_id")
_source = RowMapper(
    DataSource, type="source_type", synced_at="last_sync_at", error=lambda row: unpacked(row["last_error"])
)
