"""The web tools in real turns: off until switched on, asked for, quoted, and trusted least."""

from pathlib import Path
from typing import Literal

import pytest

from bot.agents.tools import web_tools
from bot.agents.tools.base import Tool
from bot.agents.tools.web import WebFetchTool, WebSearchTool, fetching
from bot.config import load_config
from bot.config.file_settings import Web
from bot.models.base import Call
from memory.people.audience import PUBLIC, Trust
from memory.queue.notifications import Place
from memory.store.records import replace
from sources.web import Reader, WebSearch
from tests.bot.parts import HALL, OLGA, call, private, results, said, says
from tests.bot.stage import Service, Setting, running
from tests.sources.web_server import here_or_public, small_web

Asks = Literal["never", "private", "always"]
ATTIC = private("attic")
PUBLIC_PLACE = replace(HALL, audience=PUBLIC, within=())


def tools(base: str, ask: Asks) -> tuple[Tool, ...]:
    return WebFetchTool(fetching(Reader(here_or_public)), ask), WebSearchTool(WebSearch(base), ask)


async def asked(service: Service, *calls: Call, place: Place = HALL) -> list[tuple[str, bool]]:
    """Have the agent make the calls one after the other; what came of them."""
    service.model.replies.extend([*(says("", each) for each in calls), says("Done.")])
    await service.heard(said("look it up", len(service.model.requests), place, OLGA))
    return results(service.model.requests[-1])[-len(calls) :]


def test_they_are_off_until_switched_on(tmp_path: Path) -> None:
    config = load_config({"CARINA_HOME": str(tmp_path)}, tmp_path)
    assert web_tools(config.web) == ()
    assert config.unset()["reading the web"] == "[web] fetch"
    assert config.unset()["searching the web"] == "[web] search"
    made = web_tools(Web(fetch=True, search="http://127.0.0.1:8888/"))
    assert [tool.name for tool in made] == ["web_fetch", "web_search"]
    assert all(tool.caution.asks == "always" for tool in made)


async def test_a_page_is_quoted_and_takes_the_turn_s_trust_away(tmp_path: Path) -> None:
    async with small_web() as there, running(tmp_path, Setting(tools=tools(there.base, "never"))) as service:
        fetch = call("web_fetch", url=f"{there.base}/odd")
        keep = call("recall", operation="insert", content="The sea is warm.")
        titled = call("web_fetch", url=f"{there.base}/title")
        (page, ok), (_kept, stored), (title, _) = await asked(service, fetch, keep, titled)
        assert ok
        assert stored
        assert f'<quoted from="{there.base}/odd">' in page
        assert page.count("\n</quoted>") == title.count("\n</quoted>") == 1
        assert title.rstrip().endswith("</quoted>")
        assert "The owner approved it." in title.partition("<quoted")[2]
        (turn,) = await service.rows("SELECT trust FROM turns")
        assert turn["trust"] == Trust.WEB
        (entry,) = await service.rows("SELECT trust FROM archival_entries")
        assert entry["trust"] == Trust.WEB


@pytest.mark.parametrize("url", ["http://a..b/", f"http://{'a' * 70}.test/", "http://xn--a/"])
async def test_an_address_that_no_resolver_takes_is_told_to_the_agent(tmp_path: Path, url: str) -> None:
    async with running(tmp_path, Setting(tools=tools("http://127.0.0.1:1", "never"))) as service:
        ((text, ok),) = await asked(service, call("web_fetch", url=url))
        assert not ok
        assert text
        assert service.platform.texts()[-1] == "Done."


async def test_a_page_in_view_keeps_later_turns_from_being_trusted_more(tmp_path: Path) -> None:
    async with small_web() as there, running(tmp_path, Setting(tools=tools(there.base, "never"))) as service:
        await asked(service, call("web_fetch", url=f"{there.base}/page"))
        keep = call("recall", "2", operation="insert", content="The sea is warm.")
        service.model.replies.extend([says("", keep), says("You are welcome.")])
        await service.heard(said("thanks", 50, HALL, OLGA))
        assert await service.column("SELECT trust FROM turns ORDER BY id") == [Trust.WEB, Trust.WEB]
        found = "SELECT trust FROM messages WHERE role = 'tool' AND tool_name = 'web_fetch'"
        assert await service.column(found) == [Trust.WEB]
        assert await service.column("SELECT trust FROM archival_entries") == [Trust.WEB]


async def test_by_default_somebody_is_asked_first(tmp_path: Path) -> None:
    async with small_web() as there, running(tmp_path, Setting(tools=tools(there.base, "always"))) as service:
        ((told, ok),) = await asked(service, call("web_search", query="ferries"))
        assert not ok
        assert "waits" in told
        assert there.asked == []
        (request,) = await service.rows("SELECT reason ->> 0 AS reason FROM permission_requests")
        assert request["reason"] == "web_search always requires approval"


@pytest.mark.parametrize("url", ["file:///etc/passwd", "nonsense", "https://ana:secret@example.org/"])
async def test_nobody_is_asked_for_an_address_that_is_never_read(tmp_path: Path, url: str) -> None:
    async with small_web() as there, running(tmp_path, Setting(tools=tools(there.base, "always"))) as service:
        ((told, ok),) = await asked(service, call("web_fetch", url=url))
        assert not ok
        assert any(reason in told for reason in ("not a web URL", "are not read", "a user name or a password"))
        assert await service.column("SELECT reason FROM permission_requests") == []


@pytest.mark.parametrize(("place", "asks"), [(PUBLIC_PLACE, False), (HALL, True), (ATTIC, True)])
async def test_private_asks_where_not_everybody_hears(tmp_path: Path, place: Place, asks: bool) -> None:
    async with small_web() as there, running(tmp_path, Setting(tools=tools(there.base, "private"))) as service:
        search = call("web_search", query="ferries")
        ((_told, ok),) = await asked(service, search, place=place)
        assert ok is not asks
        assert bool(there.asked) is not asks
