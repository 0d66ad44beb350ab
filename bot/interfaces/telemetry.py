"""Traces for OpenTelemetry: each turn as a tree of spans, in the JSON form of OTLP over HTTP.

They are made from the rows that the page of a message shows, so tracing costs a turn nothing. They contain names of
agents, models, tools and sources, times and tokens, but nobody's words.
"""

import asyncio
import hashlib
import importlib
import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeAlias

from msgspec import Struct

from bot.logs import log
from bot.runtime.open_constellations import OpenConstellations
from bot.services.system.inbox import StageRow, turn_stages
from memory.people.audience import PUBLIC, Scope
from memory.queue import telemetry
from memory.store.clock import Clock, from_text
from memory.store.database import Row, Rows
from memory.store.ids import ConstellationId, TurnId

Span: TypeAlias = dict[str, Any]

_KEPT = timedelta(minutes=10)
"""For how long an unsent turn is retried."""
_MOST = 100
_SECONDS = 10.0
_INTERNAL, _CLIENT = 1, 3


class Telemetry(Struct, frozen=True):
    """Sends the turns that ended in open constellations; without an address, it does nothing."""

    address: str
    opened: OpenConstellations
    clock: Clock
    seconds: float = 5.0

    async def run(self) -> None:
        begun, done, well = self.clock(), dict[str, datetime](), True
        while self.address:
            await asyncio.sleep(self.seconds)
            now = self.clock()
            since = max(begun, now - _KEPT)
            done = {trace: at for trace, at in done.items() if at >= since}
            found: dict[str, list[Span]] = {}
            for runtime in self.opened:
                of = runtime.constellation.id
                found |= await runtime.database.read(partial(_traces, of=of, since=since, now=now, done=done))
            if not found:
                continue
            problem = await _sent(self.address, [span for spans in found.values() for span in spans])
            done.update({} if problem else dict.fromkeys(found, now))
            if problem and well:
                log.warning("traces_not_sent", address=self.address, reason=problem)
            well = not problem


def _traces(
    rows: Rows, of: ConstellationId, since: datetime, now: datetime, done: Mapping[str, datetime]
) -> dict[str, list[Span]]:
    """The unsent spans of turns that ended since then, by trace."""
    ended = telemetry.ended(rows, since, now - timedelta(minutes=1))
    by_trace = {_digest(of, turn["id"])[:32]: turn for turn in ended}
    new = [trace for trace in by_trace if trace not in done][:_MOST]
    return {trace: _spans(rows, trace, by_trace[trace], now) for trace in new}


def _spans(rows: Rows, trace: str, turn: Row, now: datetime) -> list[Span]:
    begun = from_text(turn["heard"] or turn["started_at"])
    queued = StageRow(kind="queue", name="", at=begun, ended=max(begun, from_text(turn["started_at"])))
    stages = [queued, *turn_stages(rows, TurnId(turn["id"]), now, Scope(PUBLIC))]
    whole = StageRow(kind="turn", name="", agent=turn["agent"], at=begun, ended=max(each.ended for each in stages))
    more = {"carina.group": turn["team"], "carina.source": turn["source"], "carina.turn": str(turn["id"])}
    code = {"done": 1, "failed": 2}.get(turn["status"], 0)
    root = {**_span(trace, "turn", whole, more), "status": {"code": code}}
    return [root, *({**_span(trace, str(at), each), "parentSpanId": root["spanId"]} for at, each in enumerate(stages))]


def _span(trace: str, place: str, stage: StageRow, more: Mapping[str, str | None] | None = None) -> dict[str, Any]:
    """A span with OpenTelemetry's names for language models."""
    name = stage.name if re.fullmatch(r"[\w.:/@+-]{1,100}", stage.name) else ""
    title, given = {
        "turn": (f"invoke_agent {stage.agent}", {"gen_ai.operation.name": "invoke_agent"}),
        "model": (f"chat {name}", {"gen_ai.operation.name": "chat", "gen_ai.request.model": name}),
        "tool": (f"execute_tool {name}", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}),
    }.get(stage.kind, (stage.kind, {}))
    attributes = {
        **given, **(more or {}), "gen_ai.agent.name": stage.agent, "gen_ai.usage.input_tokens": stage.tokens_in,
        "gen_ai.usage.output_tokens": stage.tokens_out, "carina.cost_usd": stage.cost_usd,
    }  # fmt: skip
    return {
        "traceId": trace,
        "spanId": _digest(trace, place)[:16],
        "name": title.strip(),
        "kind": _CLIENT if stage.kind in ("model", "delivery") else _INTERNAL,
        "startTimeUnixNano": _nanoseconds(stage.at),
        "endTimeUnixNano": _nanoseconds(stage.ended),
        "attributes": [_attribute(key, value) for key, value in attributes.items() if value not in (None, "")],
    }


def _attribute(key: str, value: str | float | None) -> dict[str, Any]:
    match value:
        case int():
            return {"key": key, "value": {"intValue": str(value)}}
        case float():
            return {"key": key, "value": {"doubleValue": value}}
        case _:
            return {"key": key, "value": {"stringValue": value}}


def _nanoseconds(at: datetime) -> str:
    return f"{round(at.timestamp() * 1_000_000)}000"


def _digest(*of: object) -> str:
    """A digest, the same for the same turn, so that a turn sent twice is one trace."""
    return hashlib.sha256("/".join(map(str, of)).encode()).hexdigest()


async def _sent(address: str, spans: Iterable[Span]) -> str:
    """Send spans; returns why they were not accepted, or an empty text."""
    aiohttp = importlib.import_module("aiohttp")  # only where it is configured
    body = {
        "resourceSpans": [
            {
                "resource": {"attributes": [_attribute("service.name", "carina")]},
                "scopeSpans": [{"scope": {"name": "carina"}, "spans": list(spans)}],
            }
        ]
    }
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_SECONDS)) as session,
            session.post(f"{address.rstrip('/')}/v1/traces", json=body, allow_redirects=False) as answer,
        ):
            return "" if answer.status < 300 else f"status {answer.status}"
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        return str(error) or type(error).__name__
