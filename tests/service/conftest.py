"""The program running once for the tests of a module; each test uses channels and people of its own."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.service.live_service import NO_MERGING, Live, asking_service, live_service, started, unscripted

IMPATIENT = "[model]\ntimeout_seconds = 4\nstall_seconds = 3\nretries = 1\nmax_steps = 4\n[limits]\nturn_seconds = 20\n"


def running(name: str, discord: str = NO_MERGING, toml: str = "", *, scripted: bool = True) -> Any:
    """A fixture: the program, connected, for all tests of a module."""

    @pytest_asyncio.fixture(scope="module", loop_scope="module")
    async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Live]:
        async with live_service(tmp_path_factory.mktemp(name), scripted=scripted) as made:
            made.configure(discord, toml)
            await made.service.start()
            yield made

    return service


offline_service = running("offline", scripted=False)
"""With the offline model."""
scripted_service = running("scripted")
impatient_service = running("impatient", toml=IMPATIENT)
"""For a model that goes wrong: short patience, one more try, few steps."""
named_service = running("named", f"{NO_MERGING}\nshow_names = true", '[[agents]]\nname = "Vega"')
"""With an agent that speaks under a name of its own."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def asking_first(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Live]:
    """With an agent that has to ask before it keeps anything."""
    async with asking_service(tmp_path_factory.mktemp("asking")) as made:
        yield made


@pytest.fixture
async def t(tmp_path: Path) -> AsyncIterator[Live]:
    """The program of one test alone, with a scripted model."""
    async with started(tmp_path) as made:
        yield made


@pytest.fixture
def asking(asking_first: Live) -> Iterator[Live]:
    yield from unscripted(asking_first)


@pytest.fixture
def scripted(scripted_service: Live) -> Iterator[Live]:
    """The same with a model that was asked nothing yet and has no script; the script must be used up."""
    yield from anew(scripted_service)


@pytest.fixture
def impatient(impatient_service: Live) -> Iterator[Live]:
    yield from anew(impatient_service)


@pytest.fixture
def named(named_service: Live) -> Iterator[Live]:
    yield from anew(named_service)


def anew(made: Live) -> Iterator[Live]:
    """The service with a model that was asked nothing, and after the test without its script."""
    model, default = made.model, made.model.default
    model.requests.clear()
    yield made
    left, model.default = list(model.pending), default
    model.pending.clear()
    assert left == []
