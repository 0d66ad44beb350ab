"""Stores to test with: `tx` in memory for most, `world` in a file for searching."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory.store.database import Tx
from tests.memory.blocks.block_parts import blocks_store
from tests.memory.search.search_world import World, opened


@pytest.fixture
def tx() -> Iterator[Tx]:
    with blocks_store() as made:
        yield made


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made, raw = opened(tmp_path / "carina.db")
    yield made
    raw.close()
