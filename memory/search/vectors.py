"""Vectors of messages, entries, blocks and passages of files, and the search for those near a question.

A vector is deleted when its row changes (triggers of the schema). Every search is scoped: candidates are chosen by
their signs among the vectors that the scope may use, and only the best of them are compared exactly. So rows outside
the scope change neither the results nor their order.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

from msgspec import Struct

from memory.people.audience import Scope
from memory.search.embedding.base import Embedding, Vector, dimension_of, signs
from memory.search.vector_texts import KINDS, Embeddable, Embedded, texts_of
from memory.store import sqlite
from memory.store.database import Rows, Tx, Value
from memory.store.errors import Refused
from memory.store.ids import AgentId, EntryId

MOST_FAILURES = 3
"""After this many refusals by an embedder, a row is skipped until it changes."""

_CANDIDATES = 400  # at least; with fewer vectors the search is exact
_PER_HIT = 8  # candidates per requested hit
_SAMPLED = 4_000  # vectors, from one space after the other, in index order

_TOKEN_PARTS = 4  # of a message, each about 200 tokens: the rest is found by its words and vectors


class RowSet(NamedTuple):
    """The rows to search: those of a kind that an agent (None: any) can find in a scope, limited by `narrowed`.

    `narrowed` is SQL over the kind's table as `t`, with parameters.
    """

    kind: Embedded
    agent: AgentId | None
    scope: Scope
    narrowed: tuple[str, tuple[Value, ...]] | None


class Question(Struct, frozen=True):
    """A search: the vector and name of a model, and the rows to search."""

    model: str
    vector: Vector
    among: RowSet

    @property
    def comparable(self) -> tuple[bytes, bytes]:
        return sqlite.comparable(self.vector)


class EmbeddedRow(Struct, frozen=True):
    """A row as it was embedded, with the embeddings of its texts in order."""

    of: Embeddable
    made: tuple[Embedding, ...]


class Progress(Struct, frozen=True):
    """The progress of embedding: waiting rows, and rows whose text the embedder refused."""

    waiting: int
    refused: int


# ------------------------------------------------------------------------------------------------------- searching


def nearest(rows: Rows, question: Question, limit: int) -> dict[int, float]:
    """The nearest rows, by their table's numbers, with the nearness of each one's nearest part: 1 the same, 0
    unrelated. Nearest first; of equals, the newer one first."""
    within, parameters = _allowed(question)
    bits, cosine = sqlite.distances.bits.format("v.bits"), sqlite.distances.cosine.format("n.digits")
    candidates = f"SELECT v.row, v.id FROM vectors v WHERE {within} ORDER BY {bits}, v.row DESC, v.part LIMIT ?"
    most = max(_CANDIDATES, _PER_HIT * limit)
    found = rows.all(
        f"SELECT c.row, min({cosine}) AS distance FROM ({candidates}) c JOIN vector_numbers n ON n.id = c.id "
        "GROUP BY c.row ORDER BY distance, c.row DESC LIMIT ?",
        (*question.comparable, *parameters, signs(question.vector), most, max(limit, 0)),
    )
    return {row[0]: 1.0 - row[1] for row in found}


def of_entry(rows: Rows, entry: EntryId) -> tuple[str, Vector] | None:
    """The current model's name and the vector of an entry's first part; None if there is none yet."""
    row = rows.one(
        """SELECT m.name, n.digits FROM archival_entries e JOIN vector_models m ON m.current = 1
           JOIN vector_spaces s ON s.model_id = m.id AND s.kind = 'entry' AND s.audience = e.audience
           JOIN vectors v ON v.space_id = s.id AND v.row = e.n JOIN vector_numbers n ON n.id = v.id
           WHERE e.id = ? ORDER BY v.part LIMIT 1""",
        (entry,),
    )
    return None if row is None else (row[0], sqlite.of_digits(row[1]))


def similarities(rows: Rows, question: Question, numbers: Iterable[int]) -> dict[int, float]:
    """The nearness of given rows; those without a vector or out of scope are left out."""
    within, parameters = _allowed(question)
    cosine = sqlite.distances.cosine.format("n.digits")
    found = rows.all(
        f"SELECT v.row, min({cosine}) FROM vectors v JOIN vector_numbers n ON n.id = v.id "
        f"WHERE {within} AND v.row IN (SELECT value FROM json_each(?)) GROUP BY v.row",
        (*question.comparable, *parameters, list(numbers)),
    )
    return {row[0]: 1.0 - row[1] for row in found}


def sample(rows: Rows, question: Question, limit: int) -> list[float]:
    """The nearness of up to `limit` rows, chosen evenly among the newest thousands regardless of meaning.

    They are chosen by their order only, so that rows outside the scope have no influence.
    """
    within, parameters = _allowed(question)
    order = f"v.space_id DESC, v.row DESC, v.part DESC LIMIT {_SAMPLED}"
    newest = f"SELECT json_group_array(id) FROM (SELECT v.id FROM vectors v WHERE {within} ORDER BY {order})"
    ids: list[int] = rows.value(newest, parameters, json.loads) or []
    chosen = ids[:: -(-len(ids) // max(limit, 1)) or 1]
    cosine = sqlite.distances.cosine.format("n.digits")
    found = rows.all(
        f"SELECT 1.0 - {cosine} FROM vector_numbers n WHERE n.id IN (SELECT value FROM json_each(?))",
        (*question.comparable, chosen),
    )
    return [row[0] for row in found]


def tokens_of(rows: Rows, question: Question, numbers: Iterable[int]) -> dict[int, bytes]:
    """The signs of the rows' words, `Tokens.signs` of all their parts; empty for a row without content words.

    Rows whose embedder gave no words, or out of scope, are left out.
    """
    within, parameters = _allowed(question)
    found = rows.all(
        f"SELECT v.row, n.tokens FROM vectors v JOIN vector_numbers n ON n.id = v.id WHERE {within} "
        "AND v.row IN (SELECT value FROM json_each(?)) AND n.tokens IS NOT NULL ORDER BY v.row, v.part",
        (*parameters, list(numbers)),
    )
    told: dict[int, bytes] = {}
    for number, part in found:
        told[number] = told.get(number, b"") + part
    return told


def _allowed(question: Question) -> tuple[str, tuple[Value, ...]]:
    """The condition on `v`: its space may be used, and its row is among the requested ones."""
    kind, agent, scope, narrowed = question.among
    spaces = """v.space_id IN (SELECT s.id FROM vector_spaces s JOIN vector_models m ON m.id = s.model_id
        WHERE m.name = ? AND s.kind = ? AND KNOWN(s.audience)"""
    own = kind == "entry" and agent is not None
    parts = [spaces + (" AND s.agent_id = ?)" if own else ")")]
    parameters: list[Value] = [question.model, kind]
    parameters += [agent] if own else []
    for sql, values in filter(None, (seen_by(kind, agent), narrowed)):
        parts.append(f"v.row IN (SELECT t.{_NUMBER[kind]} FROM {_TABLE[kind]} t WHERE {sql})")
        parameters += values
    return scope.bind(" AND ".join(parts), *parameters)


def seen_by(kind: Embedded, agent: AgentId | None) -> tuple[str, tuple[Value, ...]] | None:
    """The rows `t` of a kind that an agent can see; None if those are all."""
    if kind == "block" and agent is not None:
        shared = "t.id IN (SELECT block_id FROM shared_block_agents WHERE agent_id = ?)"
        return f"(t.agent_id IN (?, '_constellation_') OR {shared})", (agent,) * 2
    if kind == "passage":
        mine = "" if agent is None else "WHERE agent_id = ?"
        return f"t.folder_id IN (SELECT folder_id FROM folder_attachments {mine})", () if agent is None else (agent,)
    return None


_TABLE: Mapping[Embedded, str] = {
    "entry": "archival_entries",
    "message": "messages",
    "block": "memory_blocks",
    "passage": "file_passages",
    "task": "tasks",
}
_NUMBER: Mapping[Embedded, str] = {"entry": "n", "message": "id", "block": "n", "passage": "n", "task": "id"}
_LIVING: Mapping[Embedded, str] = {
    "entry": "archived_at IS NULL AND superseded_by IS NULL",
    "message": "search_text <> ''",
    "block": "deleted_at IS NULL",
    "passage": "search_text <> '' AND folder_id IN (SELECT id FROM folders WHERE embedding_model = '')",
    "task": "search_text <> ''",
}


# ------------------------------------------------------------------------------------------------------- embedding


def missing(rows: Rows, limit: int, own: str = "") -> list[Embeddable]:
    """Rows without vectors of the current model: the newest of each kind, up to `limit` each, alternating.

    With `own`, those of folders with this model.
    """
    found: list[list[Embeddable]] = []
    for kind in ("passage",) if own else KINDS:
        theirs = "AND row IN (SELECT n FROM file_passages JOIN folders d ON d.id = folder_id WHERE embedding_model = ?)"
        of_folders, given = (theirs, (own,)) if kind == "passage" else ("", ())
        queued = rows.all(
            f"SELECT row FROM vector_queue WHERE kind = ? AND failed < ? {of_folders} ORDER BY row DESC LIMIT ?",
            (kind, MOST_FAILURES, *given, limit),
        )
        numbers = [int(row["row"]) for row in queued]
        known = {each.row: each for each in texts_of(rows, kind, numbers)}
        # A row without words leaves the queue by being stored without vectors.
        found.append([known.get(number, Embeddable(kind, number, "", "", ())) for number in numbers])
    return [each for turn in zip_longest(*found) for each in turn if each is not None]


def store(tx: Tx, model: str, embedded: Iterable[EmbeddedRow]) -> int:
    """Store vectors and remove their rows from the queue; returns how many rows.

    A row that has changed since stays in the queue, and so do rows that now belong to another model. Raises `Refused`
    if the vectors' length differs from the model's earlier ones.
    """
    row = tx.one("SELECT id, dimension, current FROM vector_models WHERE name = ?", (model,))
    if row is None:
        return 0
    stored = 0
    for each in embedded:
        if not (row["current"] or each.of.model):
            continue
        now = next(iter(texts_of(tx, each.of.kind, [each.of.row])), None)
        if (now.digest if now is not None else None) != (each.of.digest if each.of.texts else None):
            continue
        _replace(tx, int(row["id"]), int(row["dimension"]), each)
        stored += 1
    return stored


def _replace(tx: Tx, model: int, dimension: int, each: EmbeddedRow) -> None:
    of = each.of
    tx.run(_REMOVE, (of.row, of.kind, of.audience))
    tx.run("DELETE FROM vector_queue WHERE kind = ? AND row = ?", (of.kind, of.row))
    space = _space(tx, model, of) if of.texts else None
    for part, (vector, tokens) in enumerate(each.made):
        if dimension_of(vector) != dimension:
            raise Refused(
                "a vector has {found} numbers, and those of its model have {dimension}",
                dimension=dimension,
                found=dimension_of(vector),
            )
        kept = tokens is not None and of.kind == "message" and part < _TOKEN_PARTS
        told = tokens.signs if tokens is not None and kept else None
        sql = "INSERT INTO vector_numbers (digits, tokens) VALUES (?, ?) RETURNING id"
        number = tx.number(sql, (sqlite.to_digits(vector), told))
        values = {"space_id": space, "row": of.row, "part": part, "bits": signs(vector), "id": number}
        tx.insert("vectors", values)


_REMOVE = """DELETE FROM vectors WHERE row = ?
    AND space_id IN (SELECT id FROM vector_spaces WHERE kind = ? AND audience = ?)"""
"""Takes the vectors of a row: of any model, since those of an earlier one stay until they are replaced."""


def _space(tx: Tx, model: int, of: Embeddable) -> int:
    values: dict[str, Value] = {"model_id": model, "kind": of.kind, "agent_id": of.agent, "audience": of.audience}
    where = " AND ".join(f"{name} = :{name}" for name in values)
    tx.insert("vector_spaces", values, ignore=True)
    return tx.number(f"SELECT id FROM vector_spaces WHERE {where}", values)


def refuse(tx: Tx, of: Sequence[Embeddable]) -> None:
    """Record that an embedder refused these rows' texts; `missing` skips them after the third time."""
    for each in of:
        tx.run(_REMOVE, (each.row, each.kind, each.audience))
        tx.run("UPDATE vector_queue SET failed = failed + 1 WHERE kind = ? AND row = ?", (each.kind, each.row))


# ----------------------------------------------------------------------------------------------------- the model


def choose(tx: Tx, model: str, dimension: int, own: str = "") -> bool:
    """Make a model the current one, and queue rows without its vectors; whether it was not current before.

    With `own` it is only for folders with this model, whose passages are queued already. Vectors of another model stay
    until they are replaced, and questions to this one do not find them.
    """
    known = tx.one("SELECT id, dimension, current FROM vector_models WHERE name = ?", (model,))
    tx.run("UPDATE vector_queue SET failed = 0 WHERE failed > 0")  # it may be another server, or a repaired one
    if known is not None and known["dimension"] == dimension and (own or known["current"]):
        return False
    if known is not None and known["dimension"] != dimension:  # another model with the same name
        of_model = "SELECT id FROM vector_spaces WHERE model_id = ?"
        sql = "SELECT s.kind, v.row FROM vectors v JOIN vector_spaces s ON s.id = v.space_id WHERE s.model_id = ?"
        tx.run(f"INSERT OR IGNORE INTO vector_queue (kind, row) {sql}", (known["id"],))
        tx.run(f"DELETE FROM vectors WHERE space_id IN ({of_model})", (known["id"],))
    sql = """INSERT INTO vector_models (name, dimension) VALUES (?, ?)
             ON CONFLICT (name) DO UPDATE SET dimension = excluded.dimension"""
    tx.run(sql, (model, dimension))
    if own:
        return True
    tx.run("UPDATE vector_models SET current = (name = ?)", (model,))
    for kind in KINDS:
        number = _NUMBER[kind]
        tx.run(
            f"""INSERT INTO vector_queue (kind, row) SELECT '{kind}', {number} FROM {_TABLE[kind]}
                WHERE {_LIVING[kind]} AND {number} NOT IN (SELECT v.row FROM vectors v, vector_spaces s, vector_models m
                    WHERE s.id = v.space_id AND s.kind = '{kind}' AND m.id = s.model_id AND m.current = 1)
                ON CONFLICT DO UPDATE SET failed = 0"""
        )
    return True


def progress(rows: Rows) -> Progress:
    queue = rows.one("SELECT count(*), coalesce(sum(failed >= ?), 0) FROM vector_queue", (MOST_FAILURES,))
    every, refused = (int(queue[0]), int(queue[1])) if queue is not None else (0, 0)
    return Progress(every - refused, refused)
