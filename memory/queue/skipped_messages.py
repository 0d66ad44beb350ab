"""Messages that a source saw and did not accept; with the inbox, this is everything that it has seen.

A platform with paged notifications returns the same ones again and again. Accepted ones are in the inbox; the others
are here, as digests of their ids, for as long as a page can reach back.
"""

import hashlib
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

from memory.store.database import Rows, Tx

KEPT = timedelta(days=30)


def digest(external_id: str) -> str:
    return hashlib.sha256(external_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def note(tx: Tx, source: str, found: Mapping[str, str], now: datetime) -> None:
    """Record why each of these external ids was skipped; old records are deleted."""
    for external_id, why in found.items():
        tx.insert("passed_over", {"source": source, "digest": digest(external_id), "why": why, "at": now}, ignore=True)
    tx.run("DELETE FROM passed_over WHERE at < ?", (now - KEPT,))


def seen(rows: Rows, source: str, external_ids: Collection[str]) -> set[str]:
    """Which of these were accepted or skipped."""
    taken = "SELECT 1 FROM inbox WHERE source = ? AND external_id = ?"
    passed = "SELECT 1 FROM passed_over WHERE source = ? AND digest = ?"
    return {
        each
        for each in external_ids
        if rows.one(taken, (source, each)) is not None or rows.one(passed, (source, digest(each))) is not None
    }


def counts(rows: Rows, source: str, since: datetime) -> dict[str, int]:
    """How many were skipped since then, by reason."""
    sql = "SELECT why, count(*) AS n FROM passed_over WHERE source = ? AND at >= ? GROUP BY why ORDER BY why"
    return {row["why"]: int(row["n"]) for row in rows.all(sql, (source, since))}
