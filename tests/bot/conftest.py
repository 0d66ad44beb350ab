"""What tests of the bot share."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.bot.stage import Service, running


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    """The service as it is without any setting."""
    async with running(tmp_path) as made:
        yield made
