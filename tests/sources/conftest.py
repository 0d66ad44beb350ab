"""A Discord of our own for each test that asks for one; what the source sends must fit Discord's description."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.sources.bluesky_stage import Harness, ground
from tests.wire.conftest import find_openapi
from tests.wire.discord.server import DiscordServer


@pytest.fixture
async def server() -> AsyncIterator[DiscordServer]:
    async with DiscordServer.start(find_openapi()) as running:
        running.settings.granted_privileged = {"members", "message_content"}
        yield running
        assert running.violations == []
        assert running.unserved == []


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Harness]:
    """A Bluesky of our own."""
    async with ground(tmp_path) as made:
        yield made
