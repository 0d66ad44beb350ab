"""Traces of turns, sent to a receiver that speaks OTLP over HTTP as collectors do."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from aiohttp import web

from bot.interfaces import telemetry
from bot.interfaces.telemetry import Telemetry
from bot.services.system.demo import CONFIGURATION, write_demo
from memory.store.clock import utc_now
from memory.store.faults import commit_point
from memory.store.ids import ConstellationId
from tests.bot.stage import until
from tests.web.site import TOML, Site, site

_WRITE = commit_point("test.telemetry")


@dataclass
class Collector:
    """What came in; the first `refused` times it is busy."""

    url: str = ""
    refused: int = 0
    bodies: list[dict[str, Any]] = field(default_factory=list)

    async def take(self, request: web.Request) -> web.Response:
        assert request.content_type == "application/json"
        self.bodies.append(await request.json())
        return web.json_response({}, status=503 if len(self.bodies) <= self.refused else 200)

    @property
    def spans(self) -> list[dict[str, Any]]:
        return [span for body in self.bodies for span in body["resourceSpans"][0]["scopeSpans"][0]["spans"]]


@asynccontextmanager
async def collector() -> AsyncIterator[Collector]:
    made, app = Collector(), web.Application()
    app.router.add_post("/v1/traces", made.take)
    runner = web.AppRunner(app, shutdown_timeout=0)
    await runner.setup()
    tcp = web.TCPSite(runner, "127.0.0.1", 0)
    await tcp.start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield made
    finally:
        await runner.cleanup()


async def say(s: Site, text: str) -> None:
    to = await s.app.web.talk.conversation("dashboard", "Carina")
    async for _each in s.app.web.talk.follow(to.place.id, await s.app.web.talk.say(to, text)):
        pass


def checked(spans: list[dict[str, Any]]) -> list[str]:
    """One tree: everything lies within its root. The names in it."""
    (root,) = [each for each in spans if "parentSpanId" not in each]
    assert len({each["spanId"] for each in spans}) == len(spans)
    for each in spans:
        assert (len(each["traceId"]), len(each["spanId"])) == (32, 16)
        assert each["traceId"] == root["traceId"]
        assert each.get("parentSpanId", root["spanId"]) == root["spanId"]
        begun, ended = int(each["startTimeUnixNano"]), int(each["endTimeUnixNano"])
        assert int(root["startTimeUnixNano"]) <= begun <= ended <= int(root["endTimeUnixNano"])
    return [each["name"] for each in spans]


async def test_a_turn_is_one_trace_without_words_and_is_sent_again_until_it_is_taken(tmp_path: Path) -> None:
    async with collector() as received, site(tmp_path, f'{TOML}[telemetry]\notlp = "{received.url}"\n') as s:
        assert s.app.telemetry.address == received.url
        assert s.app.long_lived()["traces"] == s.app.telemetry.run
        received.refused = 2
        sending = asyncio.create_task(Telemetry(received.url, s.app.served.opened, utc_now, seconds=0.1).run())
        await asyncio.sleep(0)
        await say(s, "remember that my secret is a plum pudding")

        async def taken() -> bool:
            return len(received.bodies) > 2

        await until(taken, 20)
        await asyncio.sleep(0.4)
        sending.cancel()
        assert len(received.bodies) == 3, "what was taken is not sent again"
        assert received.bodies[0] == received.bodies[1] == received.bodies[2]
        names = checked(received.bodies[0]["resourceSpans"][0]["scopeSpans"][0]["spans"])
        assert {"invoke_agent Carina", "queue", "commit", "delivery"} < set(names)
        for word in ("plum", "secret", "pudding", "owner"):
            assert word not in json.dumps(received.bodies)


async def test_a_collector_that_is_away_ends_nothing(tmp_path: Path) -> None:
    async with site(tmp_path) as s:
        sending = asyncio.create_task(Telemetry("http://127.0.0.1:9", s.app.served.opened, utc_now, seconds=0.05).run())
        await asyncio.sleep(0)
        await say(s, "hello")
        await asyncio.sleep(0.3)
        assert not sending.done()
        sending.cancel()
        await s.app.telemetry.run()  # without an address it is over at once


async def test_spans_have_the_names_that_opentelemetry_gives_to_models_and_tools(tmp_path: Path) -> None:
    async with site(tmp_path, CONFIGURATION) as s:
        now = utc_now()
        await s.app.services.database.write(_WRITE, lambda tx: write_demo(tx, now))
        traces = await s.app.services.database.read(
            lambda rows: telemetry._traces(rows, ConstellationId("con_1"), now - timedelta(days=60), now, {})
        )
        names = {name for spans in traces.values() for name in checked(spans)}
        assert {"invoke_agent Carina", "execute_tool recall", "chat openai:gpt-5-mini"} <= names
        told = {
            each["key"]: each["value"] for spans in traces.values() for span in spans for each in span["attributes"]
        }
        assert told["gen_ai.request.model"]["stringValue"].startswith("openai:gpt-5")
        assert int(told["gen_ai.usage.input_tokens"]["intValue"]) > 0
        assert told["carina.cost_usd"]["doubleValue"] > 0
        for word in ("Robin", "Lisbon", "Mika"):
            assert word not in json.dumps(traces)
