"""Who gets in: links that work once, sessions that end, requests from elsewhere, and signing in with Discord."""

import asyncio
import base64
import hashlib
import re
import secrets
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest
from aiohttp import web

from bot.config import load_config
from bot.errors import ConfigError, UserError
from bot.interfaces.web import request_checks
from bot.interfaces.web.server import bind
from memory.people import web_sessions_and_tokens
from memory.people.web_sessions_and_tokens import KeyScope, Kind, WebKey
from memory.store.clock import utc_now
from memory.store.faults import commit_point
from sources.discord import sign_in
from sources.discord.sign_in import Application, Attempt, SignInFailed, SignInRefused
from tests.web.site import TOML, Site, client, confirmed, csrf_of, site

_AGE = commit_point("test.web_age")
PAGES = ("/", "/memory", "/chat", "/settings", "/commands/status", "/live", "/messages/1")


async def test_nothing_is_shown_without_a_session(tmp_path: Path) -> None:
    async with site(tmp_path) as s:
        for path in PAGES:
            answer = await s.get(path)
            assert (answer.status_code, answer.headers["location"]) == (303, "/login"), path
        for path in ("/api/v1/status", "/v1/models", "/openapi.json", "/metrics"):
            assert (await s.get(path)).status_code == 401, path
        assert (await s.get("/healthz")).text == "ok\n"
        assert (await s.get("/readyz")).json()["ready"] is True


async def test_a_link_signs_in_one_browser_once(tmp_path: Path) -> None:
    async with site(tmp_path) as s:
        link = await s.link()
        for preview in (await s.get(link), await s.browser.head(link)):  # as chats load it that show previews
            assert (preview.status_code, "set-cookie" in preview.headers) == (200, False)
        first = await s.open(link)
        cookie = first.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "samesite=strict" in cookie.lower()
        assert (await s.get("/")).status_code == 200
        async with client(s.address) as other:
            again = await other.post("/login", data={"code": link.partition("=")[2], "ends": ""})
            assert again.status_code == 403
            assert "no longer works" in again.text
            assert (await other.get("/")).status_code == 303


async def test_the_first_start_alone_gives_a_link_by_itself(tmp_path: Path) -> None:
    async with site(tmp_path) as s:
        assert (await s.open(await s.app.web.first_link())).status_code == 200
        assert (await s.get("/people")).status_code == 200
        assert await s.app.web.first_link() == ""


async def test_only_digests_are_stored(tmp_path: Path) -> None:
    async with site(tmp_path) as s:
        await s.sign_in()
        secret = s.browser.cookies["carina_session"]
        token = (await s.call("token.create", name="shell"))["token"]
    data = b"".join(path.read_bytes() for path in (tmp_path / "data").rglob("*.db*"))
    assert secret.encode() not in data
    assert token.encode() not in data


async def test_a_session_ends_with_its_time_its_sign_out_and_by_command(s: Site) -> None:
    stolen = dict(s.browser.cookies)
    assert (await s.post("/logout")).status_code == 200
    async with client(s.address, cookies=stolen) as thief:
        assert (await thief.get("/")).status_code == 303
    webkit = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15"
    s.browser.headers["User-Agent"] = webkit
    await s.sign_in()
    assert [each["name"] for each in await s.call("dashboard.sessions")] == ["A browser on Linux"], "Safari is Apple's"
    shown = (await s.get("/commands/dashboard.sessions")).text
    (number,) = re.findall(r"A browser on Linux [^\n]* #(\w+)", shown)
    assert len(number) == 6, "short enough to be typed"
    await s.call("dashboard.sign-out", session=number)
    assert (await s.get("/")).status_code == 303
    registry = s.app.served.shared.constellations.registry
    life = timedelta(days=31), timedelta(minutes=6), timedelta()
    for kind, age in zip((Kind.SESSION, Kind.CODE, Kind.CODE), life, strict=True):
        key = WebKey(kind, KeyScope.ADMIN, "old", utc_now() - age)
        secret = await registry.write(_AGE, partial(web_sessions_and_tokens.add, new=key))
        async with client(s.address, cookies={"carina_session": secret}) as late:
            assert (await late.get("/")).status_code == 303
            assert (await late.get(f"/login?code={secret}")).status_code == (403 if age else 200)


async def test_what_is_streamed_ends_with_the_session(tmp_path: Path) -> None:
    async with site(tmp_path) as s, asyncio.timeout(30):
        await s.sign_in()
        async with s.browser.stream("GET", "/live") as live:
            events = live.aiter_lines()
            assert await anext(events) == "event: state"
            await s.call("dashboard.sign-out", session="all")
            late = [line async for line in events]
        assert len(late) < 4


async def test_forms_need_the_token_of_the_session(s: Site) -> None:
    for given in ({}, {"csrf": "0" * 40}, {"csrf": ""}):
        answer = await s.browser.post("/commands/halt.now", data=given)
        assert answer.status_code == 403
    assert s.app.services.halt.since == ""
    assert (await s.post("/commands/halt.now")).status_code == 200
    assert s.app.services.halt.since


async def test_another_site_can_send_nothing(tmp_path: Path) -> None:
    origins = ("https://evil.example", "null", "http://[")
    async with site(tmp_path) as s:
        await s.sign_in()
        for headers in (
            *({"Origin": origin} for origin in origins),
            *({"Sec-Fetch-Site": f"{each}-site"} for each in ("cross", "same")),
        ):
            answer = await s.browser.post("/commands/halt.now", data={"csrf": s.csrf}, headers=headers)
            assert answer.status_code == 403
        assert s.app.services.halt.since == ""


async def test_a_name_of_another_site_reaches_nothing(s: Site) -> None:
    for host in ("evil.example", "127.0.0.1.evil.example", "", "x" * 300):
        assert (await s.get("/", headers={"Host": host})).status_code == 421
    for host in ("localhost:8480", "[::1]:8480", "192.168.0.7"):
        assert (await s.get("/healthz", headers={"Host": host})).status_code == 200


async def test_every_answer_is_sealed_against_scripts_of_others(s: Site) -> None:
    for path in ("/", "/login", "/static/carina.js", "/nowhere", "/api/v1/nowhere"):
        policy = (await s.get(path)).headers["content-security-policy"]
        assert "unsafe" not in policy
        assert "default-src 'none'" in policy
    page = (await s.get("/")).text
    assert " style=" not in page
    assert " onclick=" not in page
    assert "<script>" not in page


async def test_a_body_that_is_too_large_is_refused(s: Site) -> None:
    assert (await s.post("/commands/facts.add", fact="x" * 10_000_000)).status_code == 413

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b"x" * 100_000

    async with asyncio.timeout(10):
        url = s.browser.base_url
        reader, writer = await asyncio.open_connection(url.host, url.port)
        writer.write(b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10000000\r\n\r\n")
        assert b" 413 " in await reader.readline(), "refused before anything of it is read"
        writer.close()
    assert (await s.browser.post("/commands/facts.add", content=pieces())).status_code == 413


async def test_a_body_that_comes_too_slowly_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_checks, "READ_SECONDS", 0.1)
    async with site(tmp_path) as s:
        await s.sign_in()

        async def pieces() -> AsyncIterator[bytes]:
            yield b"fact="
            await asyncio.sleep(5)
            yield b"x"

        assert (await s.browser.post("/commands/facts.add", content=pieces())).status_code == 408


async def test_wrong_codes_and_tokens_are_slowed_down(tmp_path: Path) -> None:
    async with site(tmp_path) as s:
        codes = [(await s.get("/login?code=wrong")).status_code for _ in range(11)]
        assert codes == [403] * 10 + [429]
        token = await s.get("/v1/models", headers={"Authorization": "Bearer carina_wrong"})
        assert token.status_code == 429
        assert (await (await s.program("chat")).get("/v1/models")).status_code == 200
        assert (await s.open(await s.link())).status_code == 200
        assert (await s.get("/people")).status_code == 200


async def test_a_port_in_use_is_told_and_ends_nothing(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        async with site(tmp_path, TOML.replace(":0", f":{port}"), listens=False) as s:
            told = (await s.call("status"))["fronts"]["dashboard"]
            assert told.startswith(f"cannot listen on 127.0.0.1:{port}")
            with pytest.raises(UserError, match="is off or could not start"):
                await s.link()
            with pytest.raises(UserError, match=r"Set listen in \[web.server\] to another"):
                await s.app.web.first_link()


async def test_it_is_off_without_an_address(tmp_path: Path) -> None:
    async with site(tmp_path, '[web.server]\nlisten = ""', listens=False) as s:
        assert (await s.call("status"))["fronts"]["dashboard"] == "off (listen in [web.server] is empty)"


async def test_what_is_written_leaves_at_once() -> None:
    """With Nagle's algorithm, an answer in two parts waits 40 ms for the other side."""
    delays: asyncio.Queue[int] = asyncio.Queue()

    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        found: socket.socket = writer.get_extra_info("socket")
        delays.put_nowait(found.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    bound = bind("127.0.0.1:0")
    async with await asyncio.start_server(serve, sock=bound):
        _reader, writer = await asyncio.open_connection(*bound.getsockname())
        assert await delays.get()
        writer.close()
        await writer.wait_closed()


OWNER, ALICE, STRANGER = 4, 5, 6
CLIENT = {
    "DISCORD_CLIENT_ID": "77",
    "DISCORD_CLIENT_SECRET": "s" * 32,
    "DISCORD_OWNER_ID": str(OWNER),
    "DISCORD_TOKEN": "a.bot.token",
}


@dataclass
class Discord:
    """What it was asked for and whom it names; `fault` answers instead."""

    url: str = ""
    asked: dict[str, dict[str, str]] = field(default_factory=dict)
    """What each code was given for."""
    users: dict[str, int] = field(default_factory=dict)
    calls: int = 0
    fault: web.Response | None = None
    silent: bool = False

    def agrees(self, address: str, user: int) -> dict[str, str]:
        """What somebody brings back who pressed Authorize there."""
        assert address.startswith(sign_in.AUTHORIZE)
        query = dict(parse_qsl(urlsplit(address).query))
        assert (query["scope"], query["response_type"], query["code_challenge_method"]) == ("identify", "code", "S256")
        code = secrets.token_hex(8)
        self.asked[code], self.users[code] = query, user
        return {"code": code, "state": query["state"]}

    async def token(self, request: web.Request) -> web.Response:
        self.calls += 1
        if self.silent:
            await asyncio.sleep(30)
        if self.fault is not None:
            return self.fault
        form: Mapping[str, str] = {name: str(value) for name, value in (await request.post()).items()}
        if (form["client_id"], form["client_secret"]) != ("77", "s" * 32):
            return web.json_response({"error": "invalid_client"}, status=401)
        given = self.asked.pop(form["code"], None)
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if given is None or given["code_challenge"] != challenge or given["redirect_uri"] != form["redirect_uri"]:
            return web.json_response({"error": "invalid_grant"}, status=400)
        return web.json_response({"access_token": form["code"], "token_type": "Bearer", "scope": "identify"})

    async def me(self, request: web.Request) -> web.Response:
        code = request.headers["Authorization"].removeprefix("Bearer ")
        return web.json_response({"id": str(self.users[code]), "username": "somebody"})


@pytest.fixture
async def discord(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Discord]:
    made, app = Discord(), web.Application()
    app.router.add_post("/oauth2/token", made.token)
    app.router.add_get("/users/@me", made.me)
    runner = web.AppRunner(app, shutdown_timeout=0)
    await runner.setup()
    await (listening := web.TCPSite(runner, "127.0.0.1", 0)).start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    monkeypatch.setattr(sign_in, "API", made.url)
    monkeypatch.setattr(sign_in, "_SECONDS", 2.0)
    yield made
    await listening.stop()
    await runner.cleanup()


@asynccontextmanager
async def asking(s: Site, discord: Discord, user: int) -> AsyncIterator[tuple[httpx.AsyncClient, httpx.Response]]:
    """A browser of somebody's that comes back from Discord and presses the button there, if there is one."""
    async with client(s.address) as browser:
        yield browser, await confirmed(browser, await _back(browser, discord, user))


async def _back(browser: httpx.AsyncClient, discord: Discord, user: int) -> httpx.Response:
    to = (await browser.get("/login/discord")).headers["location"]
    return await browser.get("/login/discord/back", params=discord.agrees(to, user))


async def test_the_owner_sees_everything_others_their_page_and_strangers_nothing(
    tmp_path: Path, discord: Discord
) -> None:
    async with site(tmp_path, TOML, CLIENT) as s:
        assert 'href="/login/discord"' in (await s.get("/login")).text
        await s.call_as(f"discord:{ALICE}", "facts.add", fact="I like green tea")
        async with asking(s, discord, OWNER) as (browser, answer):
            assert answer.status_code == 200
            assert (await browser.get("/people")).status_code == 200
        async with asking(s, discord, ALICE) as (browser, answer):
            assert answer.status_code == 200
            assert "green tea" in (await browser.get("/me")).text
            assert (await browser.get("/people")).status_code == 404
        async with asking(s, discord, STRANGER) as (browser, answer):
            assert answer.status_code == 403
            assert "Nothing is kept about this Discord account" in answer.text
            assert (await browser.get("/me")).headers["location"] == "/login"
        named = [(each["scope"], each["person"]) for each in await s.call("dashboard.sessions")]
        assert sorted(named) == [("admin", ""), ("own", f"discord:{ALICE}")]


async def test_a_discord_account_asks_before_it_ends_the_session_of_somebody_else(
    tmp_path: Path, discord: Discord
) -> None:
    async with site(tmp_path, TOML, CLIENT) as s:
        await s.call_as(f"discord:{ALICE}", "facts.add", fact="I like green tea")
        await s.sign_in()
        page = await _back(s.browser, discord, ALICE)
        assert f"Continue to discord:{ALICE}'s page?" in page.text
        asked = await confirmed(s.browser, page)  # only now does the browser show its session
        assert "you are signed in as the owner" in asked.text
        assert (await s.get("/people")).status_code == 200
        await confirmed(s.browser, asked)
        assert (await s.get("/people")).status_code == 404
        assert [each["scope"] for each in await s.call("dashboard.sessions")] == ["own"], "none is left behind"


async def test_only_the_browser_that_began_can_come_back_and_once(tmp_path: Path, discord: Discord) -> None:
    async with site(tmp_path, TOML, CLIENT) as s, client(s.address) as owner, client(s.address) as other:
        to = (await owner.get("/login/discord")).headers["location"]
        await other.get("/login/discord")
        back = discord.agrees(to, OWNER)
        code, state = {"code": back["code"]}, {"state": back["state"]}
        for wrong in 3 * (
            back,
            code,
            state,
            {"error": "access_denied"},
            dict[str, str](),
        ):  # as often as any page of the web can send somebody there
            assert (await other.get("/login/discord/back", params=wrong)).status_code == 403
            assert (await other.get("/login?code=wrong")).status_code in (403, 429)
        assert discord.calls == 0
        first = await owner.get("/login/discord/back", params=back)
        assert first.status_code == 200
        assert (await confirmed(owner, first)).status_code == 200
        csrf_of((await owner.get("/commands")).text)
        assert (await owner.get("/login/discord/back", params=back)).status_code == 403
        for number in range(11):
            to = (await other.get("/login/discord")).headers["location"]
            made_up = {**discord.agrees(to, OWNER), "code": "x"}
            refused = await other.get("/login/discord/back", params=made_up)
            assert refused.status_code == (403 if number < 10 else 429)
        seed = dict(owner.cookies)
        assert "carina_attempt" not in seed


async def test_what_discord_does_wrong_signs_nobody_in(tmp_path: Path, discord: Discord) -> None:
    application = Application("77", "s" * 32, "http://127.0.0.1/back")
    attempt = Attempt.new()
    faults = [
        web.json_response({}, status=503), web.Response(text="[" * 60_000), web.Response(text="<html>"),
        web.json_response([]), web.json_response({"access_token": "x", "scope": "email"}),
        web.json_response({"access_token": "x" * 70_000, "scope": "identify"}),
        web.Response(status=302, headers={"Location": "http://127.0.0.1:1/"}),
    ]  # fmt: skip
    for discord.fault in faults:
        with pytest.raises(SignInFailed):
            await sign_in.account(application, attempt, "x")
    discord.fault = web.json_response({"error": "invalid_grant"}, status=400)
    with pytest.raises(SignInRefused):
        await sign_in.account(application, attempt, "x")
    discord.silent = True
    async with site(tmp_path, TOML, CLIENT) as s, asking(s, discord, OWNER) as (browser, answer):
        assert answer.status_code == 502
        assert (await browser.get("/people")).headers["location"] == "/login"


async def test_it_is_off_unless_both_settings_are_there(tmp_path: Path) -> None:
    async with site(tmp_path) as s:
        assert "/login/discord" not in (await s.get("/login")).text
        for path in ("/login/discord", "/login/discord/back?code=x&state=y"):
            assert (await s.get(path)).status_code == 404
    with pytest.raises(ConfigError, match="DISCORD_CLIENT_SECRET: not set"):
        load_config({"DISCORD_CLIENT_ID": "77"}, tmp_path)
