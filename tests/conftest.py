"""What holds for all tests."""

import functools
import gc
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, settings

from memory.store import migrations
from memory.store.migrations import Kind

# How fast an example is depends on who else uses the machine: pytest's own time limit ends what hangs.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")
# The same examples each time, and fewer of them: `make slow` looks for new ones.
settings.register_profile("ci", settings.get_profile("ci"), max_examples=25)


def pytest_xdist_auto_num_workers() -> int:
    """Of their time, tests spend a third waiting: for clocks, for other processes and for the disk."""
    return (os.cpu_count() or 2) * 3 // 2


# What is loaded and collected here lives to the end; looking through it again and again took two thirds of the time of
# collecting, and some of every test's.
gc.disable()


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()


_make, _current = migrations.apply, {kind: migrations.migrations(kind) for kind in Kind}


@pytest.fixture(scope="session", autouse=True)
def _copied_databases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A new database is a copy: to make its tables took half of the time of a test.

    What is not simply new and up to date is made by the program, as everything is with `made_databases`.
    """
    folder = tmp_path_factory.mktemp("databases")
    template = functools.cache(functools.partial(_template, folder))

    def copy(path: Path, kind: Kind, most: int | None = None) -> None:
        if most is not None or migrations.migrations(kind) is not _current[kind] or path.stat().st_size:
            _make(path, kind, most)
        else:
            shutil.copyfile(template(kind), path)

    with patch.object(migrations, "apply", copy):
        yield


def _template(folder: Path, kind: Kind) -> Path:
    _make(path := folder / f"{kind}.db", kind)
    return path


@pytest.fixture
def made_databases() -> Iterator[None]:
    with patch.object(migrations, "apply", _make):
        yield
