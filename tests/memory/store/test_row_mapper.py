"""What one query packs into a row comes back as it was."""

from typing import Any

from memory.store.database import Tx
from memory.store.row_mapper import json_rows

ODD = [
    "",
    "plain",
    'quoted "twice" and \\ once',
    "line\nline\ttab",
    "nul \x00 and bell \x07",
    "日本語 👩‍👩‍👧",
    "\u2028 \ufeff",
    "{}",
]


def test_texts_numbers_and_nothing_come_back_as_they_are(tx: Tx) -> None:
    tx.run("CREATE TABLE odd (id INTEGER PRIMARY KEY, words TEXT, number INTEGER) STRICT")
    kept: list[list[Any]] = [[number, words, 2**62 + number] for number, words in enumerate(ODD)]
    kept += [[90, None, None], [91, "x" * 100_000, -(2**63)]]
    for each in kept:
        tx.run("INSERT INTO odd VALUES (?, ?, ?)", each)
    found = json_rows(tx, "id, words, number", "SELECT * FROM odd WHERE id >= ?", (0,))
    assert sorted(found) == kept
    assert json_rows(tx, "id", "SELECT id FROM odd WHERE id < 0") == []
