"""Signing in with Discord, against a server that speaks OAuth 2 as Discord does."""

import asyncio
import base64
import hashlib
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest
from aiohttp import web

from bot.config import load_config
from bot.errors import ConfigError
from sources.discord import sign_in
from sources.discord.sign_in import Application, Attempt, SignInFailed, SignInRefused
from tests.web.site import TOML, Site, client, csrf_of, site

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
    """A browser of somebody's that comes back from Discord."""
    async with client(s.address) as browser:
        to = (await browser.get("/login/discord")).headers["location"]
        yield browser, await browser.get("/login/discord/back", params=discord.agrees(to, user))


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
            assert "does not know you" in answer.text
            assert (await browser.get("/me")).headers["location"] == "/login"
        named = [(each["scope"], each["person"]) for each in await s.call("dashboard.sessions")]
        assert sorted(named) == [("admin", ""), ("own", f"discord:{ALICE}")]


async def test_only_the_browser_that_began_can_come_back_and_once(tmp_path: Path, discord: Discord) -> None:
    async with site(tmp_path, TOML, CLIENT) as s, client(s.address) as owner, client(s.address) as other:
        to = (await owner.get("/login/discord")).headers["location"]
        await other.get("/login/discord")
        back = discord.agrees(to, OWNER)
        wrongs: tuple[dict[str, str], ...] = (
            back,
            {"code": back["code"]},
            {"state": back["state"]},
            {"error": "access_denied"},
            {},
        )
        for wrong in (*wrongs, *wrongs, *wrongs):  # as often as any page of the web can send somebody there
            assert (await other.get("/login/discord/back", params=wrong)).status_code == 403
            assert (await other.get("/login?code=wrong")).status_code in (403, 429)
        assert discord.calls == 0
        first = await owner.get("/login/discord/back", params=back)
        assert first.status_code == 200
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
