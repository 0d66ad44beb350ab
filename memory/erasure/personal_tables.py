"""The tables with data about people, and which of their rows and columns: the basis of export, erasure and counts.

Each store declares its rows about a person as tables; reading, counting and erasing them is the same for all. A test
walks the schema and fails for a table with content that is not listed here. `person_in_one_constellation.py` erases the
rows, `bot.services.people.person_erasure` does so in all constellations, and `bot.services.people.privacy` exports
them.
"""

import base64
import json
from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct

from memory.people.audience import person_audience, with_words_of
from memory.queue import turns
from memory.store.database import Row, Rows, Tx, Value
from memory.store.ids import PersonId
from texts import gettext_noop

NAMED, ALONE = "person_id = :person", "audience = :alone"
"""Rows of a person, and of the audience of that person alone: their direct messages."""
ERASED = gettext_noop("somebody who was erased")
"""Stands for an erased person where a decision of theirs stays; translated where it is shown."""
_NOBODY = f"'{ERASED}'"


class PersonTable(Struct, frozen=True):
    """The rows of a table about a person: those where `theirs` is true of :person and :alone.

    Erasing deletes them or, with `emptied`, sets these columns. `parsed` are JSON columns; `index` is a full-text index
    that is rebuilt, since it keeps words of deleted rows. Rows that are not `told` are erased, but neither counted nor
    exported: they say nothing by themselves. Of the others, those are counted where `counted` is true.
    """

    table: str
    theirs: str = NAMED
    columns: str = "*"
    emptied: str = ""
    parsed: tuple[str, ...] = ()
    index: str = ""
    told: bool = True
    counted: str = "true"

    def take(self, tx: Tx, person: PersonId) -> int:
        """Erase the rows; returns how many."""
        done = f"UPDATE {self.table} SET {self.emptied}" if self.emptied else f"DELETE FROM {self.table}"
        gone = tx.run(f"{done} WHERE {self.theirs}", _of(person))
        if gone and self.index:
            tx.run(f"INSERT INTO {self.index} ({self.index}) VALUES ('rebuild')")
        return gone


class PersonStore(Struct, frozen=True):
    """What one store holds about people: `held` is erased in this order, after calling `before`."""

    name: str
    held: tuple[PersonTable, ...]
    before: Callable[[Tx, PersonId], None] | None = None

    @property
    def tables(self) -> frozenset[str]:
        return frozenset(each.table for each in self.held)

    @property
    def _told(self) -> list[PersonTable]:
        return [each for each in self.held if each.told]

    def export(self, rows: Rows, person: PersonId) -> list[dict[str, Any]]:
        several = len({each.table for each in self._told}) > 1
        return [
            {**({"table": each.table} if several else {}), **_plain(row, each.parsed)}
            for each in self._told
            for row in rows.all(f"SELECT {each.columns} FROM {each.table} WHERE {each.theirs} ORDER BY 1", _of(person))
        ]

    def erase(self, tx: Tx, person: PersonId) -> int:
        if self.before is not None:
            self.before(tx, person)
        return sum(each.take(tx, person) * each.told for each in self.held)

    def count(self, rows: Rows, person: PersonId) -> int:
        sql = "SELECT count(*) FROM {0.table} WHERE ({0.theirs}) AND {0.counted}"
        return sum(rows.number(sql.format(each), _of(person)) for each in self._told)


def _rows(name: str, *held: PersonTable, before: Callable[[Tx, PersonId], None] | None = None) -> PersonStore:
    return PersonStore(name, held, before)


def _of(person: PersonId) -> dict[str, Value]:
    return {"person": person, "alone": person_audience(person)}


def _plain(row: Row, parsed: tuple[str, ...]) -> dict[str, Any]:
    """A row as plain data: JSON parsed, bytes as base64, but a text file as text."""
    found: dict[str, Any] = {}
    for name in dict.fromkeys(row.keys()):
        value = row[name]
        if isinstance(value, bytes):
            value = _text(value) if name == "content" else base64.b64encode(value).decode()
        found[name] = json.loads(value) if name in parsed else value
    return found


def _text(file: bytes) -> str:
    try:
        return file.decode()
    except UnicodeDecodeError:
        return base64.b64encode(file).decode()


_EITHER = f"({NAMED} OR {ALONE})"
_MESSAGES = f"({NAMED} AND (role = 'user' OR audience = 'owner' OR audience GLOB 'person:*') OR {ALONE})"
_ENTRIES = f"({with_words_of(':person')} OR {ALONE})"
_OF_ENTRIES = f"({ALONE} OR entry_id IN (SELECT id FROM archival_entries WHERE {_ENTRIES}))"
_TURNS = f"turn_id IN (SELECT id FROM turns WHERE {NAMED})"
_FACTS = f"fact_id IN (SELECT id FROM facts WHERE {_EITHER})"
_BLOCKS = f"block_id IN (SELECT id FROM memory_blocks WHERE {_EITHER})"
_AMONG = ":person IN (SELECT value FROM json_each(people))"
"""Rows with words of several people; the content of files is exported only if they hold nobody else's."""
_UNUSED = """(id = :person OR id GLOB 'usr_*') AND id NOT IN (SELECT user_id FROM user_identities)
    AND id NOT IN (SELECT owner_id FROM constellations)"""
_GRANTED = f"({_EITHER} OR request_id IN (SELECT id FROM permission_requests WHERE {NAMED}))"


def _unused(kind: Literal["entry", "message"], table: str, theirs: str) -> Callable[[Tx, PersonId], None]:
    """Reduce the use records of erased rows to the fact that an answer used some."""

    def forget(tx: Tx, person: PersonId) -> None:
        found = tx.all(f"SELECT id FROM {table} WHERE {theirs}", _of(person))
        turns.forget_uses(tx, kind, [str(row["id"]) for row in found])

    return forget


STORES: tuple[PersonStore, ...] = (
    _rows(
        "files",
        PersonTable(
            "message_files",
            f"message_id IN (SELECT id FROM messages WHERE {_MESSAGES})",
            "message_id, name, content_type, size, skipped, content",
        ),
    ),
    _rows(
        "messages",
        PersonTable(
            "messages",
            _MESSAGES,
            """id, place_id AS place, created_at AS at, speaker, role, content AS text, tool_name AS tool, tool_args,
            source_metadata AS metadata, audience, edited_at, deleted_at""",
            parsed=("metadata",),
            counted="role IN ('user', 'assistant') AND tool_call_id IS NULL AND deleted_at IS NULL",
        ),
        PersonTable("messages", emptied="person_id = NULL", told=False),  # messages to them that others heard
        before=_unused("message", "messages", _MESSAGES),
    ),
    _rows(
        "inbox",  # rows stay without content, so that nothing is accepted twice
        PersonTable(
            "inbox",
            columns="id, source, kind, place_id, payload, status, received_at",
            emptied="""payload = '{}', last_error = NULL, person_id = NULL,
            status = iif(status IN ('received', 'claimed'), 'done', status)""",
        ),
    ),
    _rows("follow_ups", PersonTable("follow_ups", columns="id, message_id, part, audience, at")),
    _rows(
        "outbox",  # likewise, so that nothing is sent again
        PersonTable(
            "outbox",
            columns="id, place_id, content, status, created_at",
            emptied="""content = '', detail = '{}', person_id = NULL, last_error = NULL,
            status = iif(status = 'pending', 'withdrawn', status)""",
        ),
    ),
    _rows(
        "turns",
        PersonTable("turn_steps", _TURNS, "turn_id, kind, body"),
        PersonTable("turn_uses", _TURNS, told=False),
        PersonTable(
            "turns",
            columns="id, place_id, status, started_at, error",
            emptied="""person_id = NULL, error = NULL,
            status = iif(status IN ('running', 'suspended'), 'cancelled', status)""",
        ),
    ),
    _rows(
        "groups",
        PersonTable(
            "group_parts",
            columns="turn_id, run_id, kind, stage, task, status, output, detail, started_at",
            emptied="""task = '', output = '', detail = '{}', person_id = NULL,
            status = iif(status = 'running', 'failed', status)""",
        ),
        PersonTable(
            "group_runs",
            columns="turn_id, pattern, plan, outcome, started_at",
            emptied="plan = '{}', outcome = '{}', person_id = NULL",
        ),
    ),
    _rows(
        "usage",  # the numbers stay for the accounts
        PersonTable(
            "model_usage",
            columns="id, model, input_tokens, output_tokens, cost_usd, at",
            emptied="person_id = NULL, place_id = NULL",
            counted="model <> 'offline'",
        ),
    ),
    _rows(
        "budgets",
        PersonTable("budgets", "subject = 'person:' || :person"),
        PersonTable("budgets", "decided_by = :person", emptied=f"decided_by = {_NOBODY}"),
        PersonTable("budget_reservations", emptied="person_id = NULL"),
    ),
    _rows(
        "grants",  # before the requests that they came from
        PersonTable("permission_grants", _GRANTED, "id, scope, subject, pattern, created_at, expires_at, revoked_at"),
        PersonTable(
            "permission_audit",
            _EITHER,
            "id, event, request_id, grant_id, at",
            emptied="person_id = NULL, digest = NULL, audience = 'owner'",
        ),
    ),
    _rows(
        "requests",  # waiting ones are withdrawn
        PersonTable(
            "permission_requests",
            columns="id, tool, arguments, iif(json_valid(reason), reason ->> 0, reason) AS reason, status, created_at",
            emptied="""arguments = '', reason = '', subject = '', person_id = NULL, covers = '[]', pattern = '{}',
            shown = '{}', digest = x'', status = iif(status IN ('waiting', 'approved'), 'withdrawn', status)""",
        ),
        PersonTable("permission_votes", columns="request_id, verdict, at, name"),
    ),
    _rows(
        "dreams",  # before the entries that they are about
        PersonTable("dream_items", _OF_ENTRIES, "n, run_id, pass, action, entry_id, before, audience"),
        PersonTable("dream_marks", ALONE, "pass, agent_id, at"),
    ),
    _rows("graph", PersonTable("graph_triples", _OF_ENTRIES, "id, entry_id, subject, relation, object, audience, at")),
    _rows("knowledge", PersonTable("handoff_reads", ALONE, told=False), PersonTable("items", _EITHER)),
    _rows(
        "archival",
        PersonTable("archival_journal", f"({_AMONG} OR {_OF_ENTRIES})", "id, entry_id, deed, before, audience, at"),
        PersonTable(
            "archival_entries",
            _ENTRIES,
            "id, agent_id, label, content, category, tags, metadata, importance, audience, created_at, updated_at",
            parsed=("tags", "metadata"),
        ),
        before=_unused("entry", "archival_entries", _ENTRIES),
    ),
    _rows(
        "folders",  # files of a local folder belong to the owner of the disk
        PersonTable("file_passages", f"file_id IN (SELECT id FROM folder_files WHERE {_AMONG})", told=False),
        PersonTable(
            "folder_files",
            _AMONG,
            """(SELECT name FROM folders WHERE id = folder_id) AS folder, name AS file, content_type, size_bytes,
            audience, uploaded_at, iif(json_array_length(people) = 1, content, NULL) AS content""",
        ),
    ),
    _rows(
        "admission",
        PersonTable("people_rules", "subject = :person AND rule = 'allow'"),  # a ban stays
        PersonTable("people_rules", "decided_by = :person", emptied=f"decided_by = {_NOBODY}"),
        PersonTable("pairing_codes", columns="person_id, name, told, first_at, expires_at"),
    ),
    _rows("gaps", PersonTable("gaps", "place_id = replace(:person, ':', ':user:')")),
    _rows(
        "steering",
        PersonTable("steering", "kind = 'language' AND subject = :person"),
        PersonTable("steering", "kind <> 'language' AND decided_by = :person", emptied=f"decided_by = {_NOBODY}"),
    ),
    _rows("labels", PersonTable("unshown_people", f"{NAMED} AND why = 'label'")),  # a choice survives an erasure
    _rows("jobs", PersonTable("jobs", columns="id, kind, next_at, status, last_run_at, created_at")),
    _rows(
        "activity",
        PersonTable(
            "activity_events",
            _EITHER,
            """id, event_type, agent_id, place_id,
            iif(json_valid(words), words ->> 0, words) AS words, importance, audience, at""",
        ),
        PersonTable("agent_presence", ALONE, "agent_id, audience, last_active"),
    ),
    _rows(
        "facts",
        PersonTable("fact_sources", _FACTS, counted="false"),
        PersonTable("facts", _EITHER),
        PersonTable("sessions", ALONE),
    ),
    _rows("reminders", PersonTable("reminders")),
    _rows("tasks", PersonTable("tasks", _EITHER)),
    _rows("events", PersonTable("events")),
    _rows("times", PersonTable("person_times")),
    _rows("states", PersonTable("person_states", columns="state, audience, said_at")),
    _rows(
        "blocks",
        PersonTable("memory_block_repairs", _BLOCKS),
        PersonTable("memory_block_archives", _BLOCKS),
        PersonTable("memory_block_quarantine", _BLOCKS),
        PersonTable("memory_block_checkpoints", _BLOCKS),
        PersonTable("memory_block_updates", _BLOCKS),
        PersonTable("memory_block_writers", _BLOCKS, told=False),
        PersonTable("memory_blocks", _EITHER, index="block_fts"),
    ),
)

GLOBAL_STORES: tuple[PersonStore, ...] = (
    _rows(
        "identities",
        PersonTable("user_identities", "id = :person OR provider || ':' || provider_id = :person"),
        PersonTable("link_codes", "person_id = :person OR other_id = :person", "person_id, other_id, expires_at"),
        PersonTable("web_keys", columns="kind, name, created_at, used_at"),
        PersonTable("users", "id = :person", emptied="username = id"),
        PersonTable("users", _UNUSED, told=False),
        PersonTable("places", "bound_by = :person", "id, constellation_id, created_at", f"bound_by = {_NOBODY}"),
    ),
)
"""The stores of global.db. A person's choice and the record of their erasures stay."""


def count_all(rows: Rows, person: PersonId) -> dict[str, int]:
    """How much a person would say that there is; an export and an erasure take every row."""
    return {store.name: store.count(rows, person) for store in STORES}
