"""`/healthz`, `/readyz` and the Prometheus metrics; none of them contain message text."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct, field
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from bot.interfaces.web.request import Context
from bot.services.status import readiness
from bot.services.system.inbox import StageRow, turn_stages
from memory.people.audience import PUBLIC, Scope
from memory.queue import telemetry as stored
from memory.store.clock import from_text, to_text
from memory.store.database import Database, Row, Rows
from memory.store.ids import TurnId

_KEPT, _LATE = timedelta(hours=1), timedelta(minutes=1)
_BUCKETS = (0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)


async def alive(_request: Request) -> Response:
    return PlainTextResponse("ok\n")


async def ready(ctx: Context) -> Response:
    """Whether the database accepts writes and every front end is connected; only names and booleans."""
    parts = readiness(ctx.web.services.fronts)
    parts["database"] = not ctx.web.talk.router.supervisor.unstored.words()
    return JSONResponse({"ready": all(parts.values()), "parts": parts}, 200 if all(parts.values()) else 503)


class _Histogram(Struct):
    """A cumulative histogram of seconds."""

    within: list[int] = field(default_factory=lambda: [0] * len(_BUCKETS))
    sum: float = 0.0
    count: int = 0

    def add(self, seconds: float) -> None:
        self.within = [held + (seconds <= bound) for held, bound in zip(self.within, _BUCKETS, strict=True)]
        self.sum, self.count = self.sum + seconds, self.count + 1


class Durations(Struct):
    """Durations of the turns and stages that ended since the first scrape; reported one minute after they end."""

    since: datetime
    turns: _Histogram = field(default_factory=_Histogram)
    stages: dict[str, _Histogram] = field(default_factory=lambda: defaultdict(_Histogram))
    tools: Counter[str] = field(default_factory=Counter)

    async def read(self, database: Database, now: datetime) -> None:
        """Add what ended since the last read; at the first, in the last hour."""
        until = from_text(to_text(now - _LATE))  # the precision of the stored times, so that nothing is counted twice
        since, self.since = max(self.since, now - _KEPT), until

        def found(rows: Rows) -> list[tuple[float, list[StageRow]]]:
            ended = [row for row in stored.ended(rows, since, now) if from_text(row["ended_at"]) < until]
            return [(_waited(row), turn_stages(rows, TurnId(row["id"]), now, Scope(PUBLIC))) for row in ended]

        for waited, stages in await database.read(found):
            self.turns.add(waited)
            for stage in stages:
                self.stages[stage.kind].add(stage.milliseconds / 1_000)
            self.tools.update(stage.name for stage in stages if stage.kind == "tool")


def _waited(turn: Row) -> float:
    return max(0.0, (from_text(turn["ended_at"]) - from_text(turn["heard"] or turn["started_at"])).total_seconds())


async def metrics(durations: Durations, ctx: Context) -> Response:
    """The metrics in the Prometheus text format."""
    database, now = ctx.web.talk.database, ctx.web.clock()
    families = await database.read(lambda rows: stored.counted(rows, now))
    await durations.read(database, now)
    up = [({"source": name}, int(is_ready)) for name, is_ready in readiness(ctx.web.services.fronts).items()]
    lines = [*_family("carina_source_up", "gauge", "Whether a front end hears", up)]
    halted = int(bool(ctx.web.services.halt.since))
    lines += _family("carina_halted", "gauge", "Whether everything is halted", [({}, halted)])
    for each in families:
        lines += _family(each.name, each.kind, each.help, each.samples)
    tools = [({"tool": name}, count) for name, count in durations.tools.items()]
    lines += _family("carina_tool_calls_total", "counter", "Tool calls of turns that ended", tools)
    lines += _histogram("carina_turn_seconds", "From hearing a message to the end of its turn", {"": durations.turns})
    lines += _histogram("carina_stage_seconds", "How long each stage of a turn took", durations.stages)
    lines += [*_family("carina_commit_seconds", "summary", "How long writing to the database took", ())]
    lines += [f"carina_commit_seconds_sum {database.commit_seconds:.6f}"]
    lines += [f"carina_commit_seconds_count {database.commits}"]
    return PlainTextResponse("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")


def _family(name: str, kind: str, told: str, samples: Any) -> Iterator[str]:
    yield f"# HELP {name} {told}."
    yield f"# TYPE {name} {kind}"
    for labels, value in samples:
        yield f"{name}{_labels(labels)} {value}"


def _histogram(name: str, told: str, by_stage: Mapping[str, _Histogram]) -> Iterator[str]:
    yield from _family(name, "histogram", told, ())
    for stage, held in by_stage.items():
        labels = {"stage": stage} if stage else {}
        for bound, count in zip((*_BUCKETS, math.inf), (*held.within, held.count), strict=True):
            yield f"{name}_bucket{_labels({**labels, 'le': f'{bound:g}'.replace('inf', '+Inf')})} {count}"
        yield f"{name}_sum{_labels(labels)} {held.sum:.3f}"
        yield f"{name}_count{_labels(labels)} {held.count}"


def _labels(labels: dict[str, str]) -> str:
    shown = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{shown}}}" if shown else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
