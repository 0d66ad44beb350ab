"""The dashboard and the API of a whole service, over real sockets."""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx

from bot.agents.permissions.roles_and_rights import Approver
from bot.app import App, build
from bot.config import load_config
from bot.services.caller import Caller, PlaceScope, Via, owner_at_terminal
from memory.people.audience import Audience, Scope, Trust, person_audience
from memory.store.ids import PersonId, PlaceId
from tests.bot.stage import until

TOML = """
[web.server]
listen = "127.0.0.1:0"
"""


@dataclass
class Site:
    """A service that is up, and a browser that is not signed in."""

    app: App
    address: str
    browser: httpx.AsyncClient
    csrf: str = ""
    more: list[httpx.AsyncClient] = field(default_factory=list)

    async def call(self, operation: str, **given: Any) -> Any:
        """What the owner's command gives to a program."""
        found = await self.app.services.registry.call(operation, owner_at_terminal(sure=True), given)
        return found.data()

    async def link(self) -> str:
        return str((await self.call("dashboard.open"))["url"])

    async def open(self, link: str) -> httpx.Response:
        """Open a sign-in link and press its button, if there is one."""
        return await confirmed(self.browser, await self.get(link))

    async def sign_in(self) -> None:
        """As somebody does who opens the link."""
        assert (await self.open(await self.link())).status_code == 200
        self.csrf = csrf_of((await self.get("/commands")).text)

    async def sign_in_as(self, person: str) -> "Site":
        """The same service in a browser of somebody else's, with a link to their own page."""
        self.more.append(client(self.address))
        other = Site(self.app, self.address, self.more[-1])
        link = (await self.call("dashboard.open", person=person))["url"]
        assert (await other.open(link)).status_code == 200
        other.csrf = csrf_of((await other.get("/me")).text)
        return other

    async def call_as(self, person: str, operation: str, audience: str = "", /, **given: Any) -> Any:
        """What somebody's command on Discord gives, in their direct messages or where another audience hears it."""
        scope = Scope(Audience(audience) if audience else person_audience(PersonId(person)))
        alone = PlaceScope(PlaceId(person.replace(":", ":user:")), scope)
        caller = Caller(Approver(PersonId(person)), Via.DISCORD, scope, alone, Trust.STRANGER, sure=True)
        return (await self.app.services.registry.call(operation, caller, given)).data()

    async def get(self, path: str, **more: Any) -> httpx.Response:
        return await self.browser.get(path, **more)

    async def post(self, path: str, /, **fields: str) -> httpx.Response:
        """A form of the page, sent."""
        return await self.browser.post(path, data={"csrf": self.csrf, **fields})

    async def program(self, scope: str, **given: str) -> httpx.AsyncClient:
        token = (await self.call("token.create", name=f"{scope}-{len(self.more)}", scope=scope, **given))["token"]
        self.more.append(client(self.address, headers={"Authorization": f"Bearer {token}"}))
        return self.more[-1]


async def confirmed(browser: httpx.AsyncClient, page: httpx.Response) -> httpx.Response:
    """What comes of the button on the page that asks before it signs in; any other page as it is."""
    fields = dict(re.findall(r'name="(code|ends)" value="([^"]*)"', page.text))
    return await browser.post("/login", data=fields) if fields else page


def csrf_of(page: str) -> str:
    found = re.search(r'data-csrf="(\w+)"', page)
    assert found is not None
    return found[1]


def client(address: str, **more: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=address, timeout=20, trust_env=False, **more)


@asynccontextmanager
async def site(
    folder: Path, toml: str = TOML, more: Mapping[str, str] = MappingProxyType({}), *, listens: bool = True
) -> AsyncIterator[Site]:
    """Everything up on a free port, with the offline model."""
    (folder / "carina.toml").write_text(toml, "utf-8")
    environment = {"CARINA_HOME": str(folder / "data"), "EMBEDDING_MODEL": "none", **more}
    config = load_config(environment, folder)
    async with build(config, fronts=False) as app, app.running():
        listening = app.web.parts.listening

        async def up() -> bool:
            return bool(listening.address) if listens else bool(listening.problem)

        await until(up, 30)
        made = Site(app, listening.address, client(listening.address))
        try:
            yield made
        finally:
            for each in (made.browser, *made.more):
                await each.aclose()
