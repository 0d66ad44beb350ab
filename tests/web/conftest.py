"""What tests of the web share."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.web.site import Site, site


@pytest.fixture
async def s(tmp_path: Path) -> AsyncIterator[Site]:
    """The site with a browser that is signed in."""
    async with site(tmp_path) as made:
        await made.sign_in()
        yield made
