"""The network, once for all of its tests; a program for each."""

import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio

from tests.bluesky_network.people import Human
from tests.bluesky_network.runner import Network, installed, network, programs
from tests.bluesky_network.stage import Stage, stage


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def net(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Network]:
    found = programs()
    if isinstance(found, str):
        pytest.skip(found)
    try:
        installed(found)
    except (RuntimeError, OSError, subprocess.TimeoutExpired) as why:
        pytest.skip(f"the packages of the network cannot be installed here: {why}")
    async with network(found, tmp_path_factory.mktemp("network")) as made:
        yield made


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(30)) as session:
        yield session


@pytest_asyncio.fixture(loop_scope="session")
async def here(net: Network, http: aiohttp.ClientSession, tmp_path: Path) -> AsyncIterator[Stage]:
    bot, ana = await Human.join(net, http, "carina"), await Human.join(net, http, "ana")
    await net.flush()
    async with stage(tmp_path, net, bot, ana) as made:
        yield made
