"""Blocks that an earlier version of the program stored read, and are changed, as they were."""

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory.blocks import Block, find_block
from memory.blocks.changes import SYSTEM, Writer
from memory.blocks.history import blame
from memory.blocks.repair import verify_block
from memory.blocks.revert import by_agent, revert, roll_back
from memory.blocks.store import block_history
from memory.store.database import Tx
from tests.memory.blocks.block_parts import ADA, IN_GUILD, author, blocks_store

RECORDED = Path(__file__).with_name("recorded_blocks.json.z")
"""Four blocks of three writers with their updates, checkpoints and archives, and what each said at each version."""
TABLES = ("memory_blocks", "memory_block_writers", "memory_block_updates", "memory_block_checkpoints",
          "memory_block_archives")  # fmt: skip
JOB = Writer("job:sleep")


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(zlib.decompress(RECORDED.read_bytes()))
    return found


@pytest.fixture
def tx(recorded: dict[str, Any]) -> Iterator[Tx]:
    with blocks_store() as opened:
        for table in TABLES:
            for row in recorded["rows"][table]:
                values = {
                    key: bytes.fromhex(each["hex"]) if isinstance(each, dict) else each for key, each in row.items()
                }
                opened.insert(table, values)
        yield opened


def block(tx: Tx, label: str) -> Block:
    return find_block(tx, ADA, label, IN_GUILD)


@pytest.mark.parametrize("label", ["long", "longbook", "log", "tasks"])
def test_every_version_reads_as_it_did_and_is_blamed_on_who_wrote_it(
    tx: Tx, recorded: dict[str, Any], label: str
) -> None:
    expected, found = recorded["expected"][label], block(tx, label)
    past = block_history(tx, found.id)
    assert (found.content, past.range) == (expected["content"], expected["range"])
    assert {str(each): past.text_at(each) for each in range(past.start, past.version + 1)} == expected["texts"]
    assert [[each.text, each.change and each.change.writer] for each in blame(past)] == expected["blame"]
    assert verify_block(tx, found.id) == []


@pytest.mark.parametrize("label", ["long", "longbook", "tasks"])
def test_they_are_gone_back_in_and_one_writer_is_reverted(tx: Tx, recorded: dict[str, Any], label: str) -> None:
    found = block(tx, label)
    past = block_history(tx, found.id)
    revert(by_agent(tx, author(writer=SYSTEM), label), past, JOB, past.start)
    assert JOB not in {each.change and each.change.writer for each in blame(block_history(tx, found.id))}
    for version in (past.start + 1, past.version // 2):
        done = roll_back(by_agent(tx, author(), label), version)
        assert done.block.content == recorded["expected"][label]["texts"][str(version)]
    assert verify_block(tx, found.id) == []
