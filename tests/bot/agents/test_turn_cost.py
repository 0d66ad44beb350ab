"""What one short answer costs: statements, commits and calls, so that none of them grows unseen."""

import asyncio
import gc
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from bot.agents.model_call import ModelCall
from bot.agents.turn import TurnRunner
from bot.models.base import Request
from bot.models.offline import OfflineModel
from memory.store import database, sqlite
from memory.store.read_cache import ReadCache
from tests.bot.parts import OLGA, direct, said
from tests.bot.stage import Service, Setting, running

ROOT = f"{Path(__file__).parents[3]}/"
OURS = tuple(f"{ROOT}{package}/" for package in ("bot", "memory", "sources", "scheduler"))

_READ_COLUMN = 20  # as SQLite numbers what an authorizer is asked


class Cost:
    """What was done while it counted."""

    def __init__(self) -> None:
        self.counting = False
        self.statements: Counter[str] = Counter()
        self.calls = 0
        self._last = ""

    def statement(self, sql: str) -> None:
        """Those that we make: SQLite traces what a trigger does as comments, and the statement anew after each."""
        if self.counting and not sql.startswith("--") and sql != self._last:
            self.statements["write" if sql == "BEGIN IMMEDIATE" else sql.split(None, 1)[0].upper()] += 1
            self._last = sql

    def call(self, frame: FrameType, event: str, _argument: Any) -> None:
        if self.counting and event == "call" and frame.f_code.co_filename.startswith(OURS):
            self.calls += 1


@contextmanager
def counted(patch: pytest.MonkeyPatch) -> Iterator[Cost]:
    """Count the statements of connections and the calls of threads that are made from here on."""
    cost, connect = Cost(), sqlite.connect

    def traced(*arguments: Any, **more: Any) -> Any:
        raw: Any = connect(*arguments, **more)
        raw.set_trace_callback(cost.statement)
        return raw

    patch.setattr(database, "connect", traced)
    threading.setprofile(cost.call)
    sys.setprofile(cost.call)
    try:
        yield cost
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


async def answered(service: Service, cost: Cost, number: int) -> None:
    """Say hello and wait for the answer and what follows it, without asking the database anything."""
    cost.counting = True
    service.hear(said("hello", number, direct(OLGA), OLGA))
    before, quiet = 0, 0
    while quiet < 10 or not cost.statements["SELECT"]:
        await asyncio.sleep(0.05)
        quiet = quiet + 1 if (done := cost.statements.total()) == before else 0
        before = done
    cost.counting = False


async def test_a_short_answer_costs_no_more_than_it_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setting = Setting()
    model: Any = OfflineModel(setting.clock)
    setting.model = model
    with counted(monkeypatch) as cost:
        async with running(tmp_path, setting) as service:
            for number in range(1, 4):
                await service.heard(said("hello", number, direct(OLGA), OLGA))
            await answered(service, cost, 4)
            assert len(service.platform.sends) == 4
    assert 24 < cost.statements.total() <= 31, cost.statements
    assert cost.statements["write"] == cost.statements["COMMIT"] == 3, cost.statements
    assert cost.statements["BEGIN"] == 0, "a turn waits for a thread that reads"
    assert 500 < cost.calls <= 970


async def test_what_is_remembered_between_turns_comes_from_watched_tables_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or a change elsewhere would not be seen."""
    get, unwatched, keys = ReadCache.get, list[str](), set[str]()

    def checked(cache: ReadCache, raw: Any, tables: Sequence[str], key: Any, read: Callable[[], Any]) -> Any:
        def note(action: int, table: str | None, _column: str | None, *_where: str | None) -> int:
            if action == _READ_COLUMN and table not in (*tables, "json_each"):
                unwatched.append(f"{key}: {table}")
            return 0

        def watched() -> Any:
            keys.add(str(key))
            raw.set_authorizer(note)
            try:
                return read()
            finally:
                raw.set_authorizer(lambda *_asked: 0)

        return get(cache, raw, tables, key, watched)

    monkeypatch.setattr(ReadCache, "get", checked)
    async with running(tmp_path, Setting()) as service:
        await service.heard(said("hello", 1, direct(OLGA), OLGA))
    assert len(keys) > 8
    assert unwatched == []


async def test_a_turn_that_is_over_leaves_no_garbage(tmp_path: Path) -> None:
    """What refers to itself stays in memory until all garbage is collected, with all that a prompt was made of."""
    async with running(tmp_path, Setting()) as service:
        gc.collect()
        gc.disable()
        try:
            await service.heard(said("hello", 1, direct(OLGA), OLGA))
            gc.set_debug(gc.DEBUG_SAVEALL)
            gc.collect()
        finally:
            gc.set_debug(0)
            gc.enable()
    left = [each for each in gc.garbage if isinstance(each, TurnRunner | ModelCall | Request)]
    gc.garbage.clear()
    assert left == []
