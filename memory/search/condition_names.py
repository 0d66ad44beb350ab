"""What the conditions of a search can name, as far as a scope may know it: who spoke, categories, tags."""

from memory.people.audience import Scope
from memory.search.query import Domain
from memory.store.database import Rows, Value
from memory.store.ids import AgentId

_READ = 5_000  # the newest messages, among which those who spoke are looked for
_SAID = "deleted_at IS NULL AND search_text <> ''"
_KEPT = "archived_at IS NULL AND superseded_by IS NULL AND (? IS NULL OR agent_id = ?)"


def speakers(rows: Rows, scope: Scope, limit: int) -> list[str]:
    """People and agents that said something of late, those who spoke last first."""
    condition, parameters = scope.sql("audience")
    sql = f"""SELECT speaker FROM (SELECT id, speaker FROM messages WHERE {condition} AND {_SAID}
              ORDER BY id DESC LIMIT {_READ}) WHERE speaker <> '' GROUP BY speaker ORDER BY max(id) DESC LIMIT ?"""
    return [str(row["speaker"]) for row in rows.all(sql, (*parameters, limit))]


def has_spoken(rows: Rows, speaker: str, scope: Scope) -> bool:
    """Whether anything stands there that was said under this name, however long ago."""
    condition, parameters = scope.sql("audience")
    sql = f"SELECT 1 FROM messages WHERE speaker = ? COLLATE NOCASE AND {condition} AND {_SAID} LIMIT 1"
    return rows.one(sql, (speaker, *parameters)) is not None


def categories(rows: Rows, domains: frozenset[Domain], agent: AgentId | None, scope: Scope) -> list[str]:
    """The categories in use in these domains, in order; of entries those of an agent, or without one of all."""
    condition, parameters = scope.sql("audience")
    parts, given = [], list[Value]()
    if "archival" in domains:
        parts.append(f"SELECT category FROM archival_entries WHERE {_KEPT} AND {condition}")
        given += [agent, agent, *parameters]
    if "facts" in domains:
        parts.append(f"SELECT category FROM facts WHERE superseded_by IS NULL AND {condition}")
        given += parameters
    found = rows.all(f"{' UNION '.join(parts)} ORDER BY category", given) if parts else []
    return [str(row["category"]) for row in found if row["category"]]


def tags(rows: Rows, agent: AgentId | None, scope: Scope) -> list[str]:
    """The tags of entries, in order: of an agent's, or without one of all."""
    condition, parameters = scope.sql("audience")
    sql = f"""SELECT DISTINCT tag.value AS tag FROM archival_entries, json_each(archival_entries.tags) tag
              WHERE {_KEPT} AND {condition} ORDER BY tag.value"""
    return [str(row["tag"]) for row in rows.all(sql, (agent, agent, *parameters))]
