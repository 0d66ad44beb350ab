"""Fixtures for tests over the wire."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.wire.discord import DiscordServer


def find_openapi() -> Path | None:
    """Discord's description, when it is there."""
    named = os.environ.get("DISCORD_OPENAPI")
    beside = Path(__file__).parents[3] / "shared" / "data" / "discord-openapi.json"
    path = Path(named) if named else beside
    return path if path.is_file() else None


@pytest.fixture(scope="session")
def openapi() -> Path | None:
    return find_openapi()


@pytest.fixture
async def server(openapi: Path | None) -> AsyncIterator[DiscordServer]:
    async with DiscordServer.start(openapi) as server:
        yield server
        assert not (found := server.violations + server.own_faults + server.unserved), "\n".join(found)
