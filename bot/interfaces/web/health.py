"""Whether the service lives and is ready, and its numbers for Prometheus; no words of anybody."""

from collections.abc import Iterator
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from bot.interfaces.web.context import Context
from memory.queue import metrics as stored

_BUCKETS = (0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)


async def alive(_request: Request) -> Response:
    return PlainTextResponse("ok\n")


async def ready(ctx: Context) -> Response:
    """Whether the database takes writes and every front end hears; only names and yes or no."""
    front_ends = ctx.web.services.front_ends
    parts = {name: is_ready() for name, is_ready in front_ends.connected.ready.items()}
    parts["database"] = not ctx.web.talk.router.workers.unstored.words()
    return JSONResponse({"ready": all(parts.values()), "parts": parts}, 200 if all(parts.values()) else 503)


async def metrics(ctx: Context) -> Response:
    """In the text format of Prometheus."""
    front_ends = ctx.web.services.front_ends
    found = await ctx.web.talk.database.read(lambda rows: stored.counted(rows, front_ends.clock()))
    up = [({"source": name}, int(is_ready())) for name, is_ready in front_ends.connected.ready.items()]
    lines = [*_family("carina_source_up", "gauge", "Whether a front end hears", up)]
    halted = int(bool(ctx.web.services.halt.since))
    lines += _family("carina_halted", "gauge", "Whether everything is halted", [({}, halted)])
    for each in found.families:
        lines += _family(each.name, each.kind, each.help, each.samples)
    lines += _histogram("carina_turn_seconds", "Seconds from hearing a message to the end of its turn", found.seconds)
    return PlainTextResponse("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")


def _family(name: str, kind: str, told: str, samples: Any) -> Iterator[str]:
    yield f"# HELP {name} {told}."
    yield f"# TYPE {name} {kind}"
    for labels, value in samples:
        yield f"{name}{_labels(labels)} {value}"


def _histogram(name: str, told: str, seconds: list[float]) -> Iterator[str]:
    yield f"# HELP {name} {told}, of the last day."
    yield f"# TYPE {name} histogram"
    for bound in _BUCKETS:
        yield f'{name}_bucket{{le="{bound:g}"}} {sum(each <= bound for each in seconds)}'
    yield f'{name}_bucket{{le="+Inf"}} {len(seconds)}'
    yield f"{name}_sum {sum(seconds):.3f}"
    yield f"{name}_count {len(seconds)}"


def _labels(labels: dict[str, str]) -> str:
    shown = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{shown}}}" if shown else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
