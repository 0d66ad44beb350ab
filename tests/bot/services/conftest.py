"""A constellation without a service around it."""

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from memory.agents import seed_agent
from memory.store.database import Database
from memory.store.migrations import Kind, prepare
from tests.bot.services.calling import ADA, BEA, NOW, SETUP


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    """With Ada and Bea."""
    prepare(tmp_path / "carina.db", Kind.CONSTELLATION)
    async with Database.open(tmp_path / "carina.db") as opened:
        for each in (ADA, BEA):
            await opened.write(SETUP, partial(seed_agent, agent=each, now=NOW))
        yield opened
