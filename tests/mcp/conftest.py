"""What tests of MCP servers share."""

from pathlib import Path

import pytest

from tests.mcp.stage import Small


@pytest.fixture
def small(tmp_path: Path) -> Small:
    return Small(tmp_path / "small")
