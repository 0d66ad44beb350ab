"""Many viewers, viewers that never read or go away, a large graph, and a process that dies under a form."""

import asyncio
import importlib
import json
import re
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager
from pathlib import Path
from types import ModuleType
from urllib.parse import urlsplit

import httpx
import pytest

from bot.agents.turn_events import Watch
from bot.interfaces.web import mcp_over_http, openai_api, pages, request_checks
from bot.runtime.previews import Broadcast
from memory.store.faults import commit_point
from tests.bot.stage import until
from tests.bot.terminals import Terminal, carina
from tests.web.site import Site, csrf_of, site
from tests.web.test_pages import scripted_by
from tests.wire.model import Answer, ModelServer, Tokens

_FILL = commit_point("test.web_graph")
VIEWERS = 200
HEAD = b"GET /healthz HTTP/1.1\r\nHost: "


@asynccontextmanager
async def viewer(s: Site, path: str, buffer: int = 0) -> AsyncIterator[asyncio.StreamReader]:
    """A connection on which a page was asked for; nothing of the answer is read yet."""
    there = urlsplit(s.address)
    raw = socket.socket()
    if buffer:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    raw.setblocking(False)
    await asyncio.get_running_loop().sock_connect(raw, (there.hostname, there.port))
    reader, writer = await asyncio.open_connection(sock=raw, limit=4_096)
    cookie = "; ".join(f"{name}={value}" for name, value in s.browser.cookies.items())
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {there.netloc}\r\nCookie: {cookie}\r\n\r\n".encode())
    try:
        yield reader
    finally:
        writer.transport.abort()


async def test_two_hundred_viewers_are_told_and_one_that_never_reads_holds_up_nobody(tmp_path: Path) -> None:
    async with site(tmp_path) as s, AsyncExitStack() as stack, asyncio.timeout(60):
        await s.sign_in()
        s.app.web.marks.seconds = 1.0
        for _ in range(3):
            await stack.enter_async_context(viewer(s, "/live", buffer=1_024))
        readers = [await stack.enter_async_context(viewer(s, "/live")) for _ in range(VIEWERS)]
        for each in readers:
            await each.readuntil(b"event: state\n")
        started = time.monotonic()
        assert (await s.get("/settings")).status_code == 200
        assert time.monotonic() - started < 5
        await s.call("facts.add", fact="I like green tea")
        said = await s.app.web.talk.conversation("dashboard", "Carina")
        await s.app.web.talk.say(said, "hello")
        for each in readers:
            await each.readuntil(b"event: changed\n")
        await s.call("dashboard.sign-out", session="all")
        for each in readers:
            await each.readuntil(b"\r\n0\r\n\r\n")


async def test_what_speaks_http_is_loaded_when_somebody_connects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded, load = list[str](), importlib.import_module

    def noted(name: str) -> ModuleType:
        loaded.append(name)
        return load(name)

    monkeypatch.setattr(importlib, "import_module", noted)
    async with site(tmp_path) as s:
        await asyncio.sleep(0.1)
        assert "bot.interfaces.web.application" not in loaded
        assert (await s.get("/healthz")).status_code == 200
        assert loaded.count("bot.interfaces.web.application") == 1


async def test_a_client_that_goes_away_in_the_middle_is_answered_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_, listen = list[object](), Broadcast.listen

    @contextmanager
    def noted(broadcast: Broadcast, watch: Watch) -> Iterator[None]:
        open_.append(watch)
        with listen(broadcast, watch):
            try:
                yield
            finally:
                open_.remove(watch)

    monkeypatch.setattr(Broadcast, "listen", noted)
    text, body = "one two three four", {"model": "Carina", "messages": [{"role": "user", "content": "count"}]}
    async with ModelServer.start() as model, site(tmp_path, more=scripted_by(model)) as s:
        model.default = lambda _: Answer(text, chunks=4, pace=0.25, tokens=Tokens(70, 7))
        program, resting = await s.program("chat"), len(open_)
        for _ in range(2):
            async with program.stream("POST", "/v1/chat/completions", json={**body, "stream": True}) as stream:
                async for line in stream.aiter_lines():
                    if "one" in line:
                        break

            async def nobody_listens() -> bool:
                return len(open_) == resting

            await until(nobody_listens, 5)
            (row, *_) = await s.call("inbox.list")
            assert row["status"] == "claimed", "its turn goes on"
            assert (await s.call("inbox.show", row=str(row["id"])))["answer"] == ""

            async def answered(row: str = str(row["id"])) -> bool:
                return bool((await s.call("inbox.show", row=row))["status"] == "done")

            await until(answered, 20)
            assert (await s.call("inbox.show", row=str(row["id"])))["answer"] == text
        (billed,) = await s.call("cost", by="agent")
        assert (billed["calls"], billed["input_tokens"], billed["output_tokens"]) == (2, 140, 14)
        again = (await program.post("/v1/chat/completions", json=body)).json()
        assert again["choices"][0]["message"]["content"] == text
        said = [each["content"] for each in model.requests[-1].messages if each["role"] == "assistant"]
        assert said == [text, text], "what nobody read was said"


async def test_a_graph_of_five_thousand_nodes_is_shown_in_part(s: Site) -> None:
    await s.call("archival.add", text="Everybody knows somebody")
    sql = """INSERT INTO graph_triples SELECT value, 'drm_test', e.agent_id, e.id, 'Person ' || value, 'person',
             'person ' || value, 'knows', 'knows', 'Friend ' || value, 'person', 'friend ' || value, e.audience, 4,
             e.created_at FROM archival_entries e, json_each(?)"""
    numbers = json.dumps(list(range(1, 2_501)))
    await s.app.database.write(_FILL, lambda tx: tx.run(sql, (numbers,)))
    page = await s.get("/graph")
    assert page.status_code == 200
    assert len(page.content) < 250_000
    assert "200 of 2,500 relations" in page.text
    whole = (await (await s.program("read")).get("/api/v1/graph?limit=5000")).json()
    assert len(whole["triples"]) == whole["total"] == 2_500


def test_a_process_that_dies_under_a_form_leaves_the_block_whole(tmp_path: Path) -> None:
    (tmp_path / "carina.toml").write_text('[web.server]\nlisten = "127.0.0.1:0"\n', "utf-8")
    shown = ("memory", "show", "persona", "--json")
    with closing(Terminal(tmp_path, "run", CARINA_FAULT="command.write:before")) as service:
        link = re.findall(r"http://\S+/login\S+", service.until(r"http://\S+/login\?code=\S+\s"))[0]
        with closing(httpx.Client(base_url=link.partition("/login")[0], trust_env=False)) as browser:
            code = {"code": link.partition("=")[2], "ends": ""}
            assert browser.post("/login", data=code).status_code == 200
            page = browser.get("/memory/block?label=persona").text
            form = {"csrf": csrf_of(page), "op": "memory.edit", "text": "halfway", "seen": ""}
            try:
                browser.post("/memory/block?label=persona", data=form)
            except httpx.TransportError:
                pass
            else:
                raise AssertionError("it answered")
        assert service.ended() == -9
    found = json.loads(carina(tmp_path, *shown).stdout)
    assert found["text"] != "halfway"
    assert found["text"] in page


async def test_what_goes_wrong_inside_is_told_in_the_form_of_the_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_given: object, **_named: object) -> None:
        raise ValueError("a secret of the code")

    async with site(tmp_path) as s:
        await s.sign_in()
        program = await s.program("admin")
        monkeypatch.setattr(pages, "tail", broken)
        monkeypatch.setattr(openai_api, "_names", broken)
        monkeypatch.setattr(mcp_over_http, "version", broken)
        page, models, tools = await s.get("/logs"), await program.get("/v1/models"), await program.get("/mcp")
        assert {each.status_code for each in (page, models, tools)} == {500}
        assert "Something went wrong." in page.text
        assert (models.json()["error"]["type"], "Something went wrong." in models.text) == ("server_error", True)
        assert (tools.json()["error"]["code"], "Something went wrong." in tools.text) == (-32603, True)
        assert "a secret" not in page.text + models.text + tools.text
        lost, wrong = await program.get("/v1/nothing"), await program.post("/v1/models")
        assert lost.json()["error"]["message"] == "There is nothing at this address."
        assert wrong.status_code == 405
        assert wrong.json()["error"]["message"] == "This address does not accept such requests."
        assert "There is nothing at this address." in (await s.get("/nothing")).text


@pytest.mark.parametrize("begun", [b"", HEAD, HEAD + b"localhost\r\n\r\nG"])
async def test_a_connection_without_a_request_is_closed_soon(
    begun: bytes, s: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.import_module("bot.interfaces.web.application"), "IDLE_SECONDS", 0.2)
    there = urlsplit(s.address)
    reader, writer = await asyncio.open_connection(there.hostname, there.port)
    with closing(writer):
        writer.write(begun)
        async with asyncio.timeout(10):
            answered = await reader.read()
    assert (b"200 OK" in answered) == begun.endswith(b"G")


async def test_what_strangers_send_takes_a_bounded_part_of_the_memory(s: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_checks, "MOST_FROM_STRANGERS", 200_000)
    there = urlsplit(s.address)
    _reader, writer = await asyncio.open_connection(there.hostname, there.port)
    with closing(writer):
        head = f"POST /hooks/none HTTP/1.1\r\nHost: {there.netloc}\r\nContent-Length: 900000\r\n\r\n"
        writer.write(head.encode() + b"x" * 150_000)

        async def full() -> bool:
            return (await s.browser.post("/hooks/none", content=b"x" * 100_000)).status_code == 503

        await until(full, 10)
        assert (await s.browser.post("/hooks/none", content=b"x")).status_code == 401
        assert (await s.post("/search", words="x" * 100_000)).status_code == 200

    async def empty() -> bool:
        return not await full()

    await until(empty, 10)
