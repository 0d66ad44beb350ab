"""Stores to test with: `tx` in memory for most, `registry` and `world` in files."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memory.store.database import Tx
from memory.store.migrations import Kind, prepare
from memory.store.sqlite import connect
from tests.memory.blocks.block_parts import blocks_store
from tests.memory.search.search_world import World, opened


@pytest.fixture
def tx() -> Iterator[Tx]:
    with blocks_store() as made:
        yield made


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Tx]:
    prepare(tmp_path / "global.db", Kind.GLOBAL)
    with closing(connect(tmp_path / "global.db")) as raw:
        yield Tx(raw)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made, raw = opened(tmp_path / "carina.db")
    yield made
    raw.close()
