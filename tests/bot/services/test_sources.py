"""Sources by command: what cannot be read, or told, is refused when it is added; pauses say what comes true."""

from collections.abc import Callable, Collection, Iterable
from typing import Any

import pytest

from bot.agents.data_source_checks import DataSourceChecks
from bot.errors import CallError, UserError
from bot.runtime.group_routing import GroupRouting
from bot.services.caller import owner_at_terminal
from bot.services.people.place_settings import AccountSettings, Places
from bot.services.registry import Registry
from bot.services.system.jobs import JobRow, Schedule
from bot.services.system.sources import SourceSettings
from memory import data_sources, jobs
from memory.store.database import Database
from memory.store.errors import DatabaseBusy
from memory.store.ids import GroupId
from memory.store.records import replace
from sources.terminal import PERSON
from sources.web import Reader
from tests.bot.services.calling import NOW, PEOPLE, SETUP, registry
from texts import gettext_lazy, speaking

OLGA = owner_at_terminal()
FEED = "https://example.org/feed.xml"


async def resolve(host: str, _port: int) -> Iterable[str]:
    return ["93.184.216.34" if host == "example.org" else "127.0.0.1"]


def settings(
    database: Database, private_hosts: Collection[str] = (), read_back: Callable[[], None] | None = None
) -> SourceSettings:
    schedule = Schedule(database, lambda: NOW, lambda: None, lambda: None, (), lambda *_: None)
    checks = DataSourceChecks(Reader(resolving=resolve, private_hosts=private_hosts), PERSON)
    accounts, routing = AccountSettings(database, PEOPLE.selves), GroupRouting({}, GroupId("grp_one"))
    places = Places(database, routing, PEOPLE, lambda: NOW, accounts)
    fronts = {"discord": read_back, "bluesky": None}
    return SourceSettings(database, lambda: NOW, schedule, checks, lambda: None, lambda: None, places, fronts)


def sources(database: Database, private_hosts: Collection[str] = ()) -> Registry:
    return registry(settings(database, private_hosts))


@pytest.mark.parametrize("kind", ["feed", "calendar"])
@pytest.mark.parametrize("url", ["http://127.0.0.1:8480/feed", "http://localhost/feed", "http://inside.example/feed"])
async def test_an_address_of_this_computer_is_refused_unless_the_owner_named_its_host(
    database: Database, kind: str, url: str
) -> None:
    with pytest.raises(UserError, match="on this machine or in a private network"):
        await sources(database).call("source.add", OLGA, {"name": "own", kind: url})
    assert await database.read(data_sources.listing) == []
    assert await database.read(lambda rows: jobs.listing(rows, -1)) == []
    named = sources(database, ["127.0.0.1", "localhost", "inside.example"])
    await named.call("source.add", OLGA, {"name": "own", kind: url})
    assert [each.address for each in await database.read(data_sources.listing)] == [url]


@pytest.mark.parametrize("field", ["{title}", "{}", "{items2}"])
async def test_a_template_with_a_field_that_there_is_not_is_refused(database: Database, field: str) -> None:
    called, template = sources(database), f"New in {{source}}: {field}"
    with pytest.raises(CallError, match=r"template: it can contain .*not \{"):
        await called.call("source.add", OLGA, {"name": "news", "feed": FEED, "template": template})
    await called.call("source.add", OLGA, {"name": "news", "feed": FEED, "template": "{count} of {source}: {items}"})
    with pytest.raises(CallError, match=r"template: it can contain .*not \{"):
        await called.call("source.subscribe", OLGA, {"source": "news", "agent": "Ada", "template": template})


async def test_a_source_is_listed_with_why_it_fails_and_its_checks_by_its_name(database: Database) -> None:
    called = sources(database)
    await called.call("source.add", OLGA, {"name": "news", "feed": FEED})
    (source,) = await database.read(data_sources.listing)
    why = gettext_lazy("the server answered {status}", status=404)
    await database.write(SETUP, lambda tx: data_sources.failed(tx, source.id, why))
    assert "failing (the server answered 404)" in str((await called.call("source.list", OLGA, {})).data())
    with speaking("de"):
        assert "schlägt fehl (der Server antwortete mit 404)" in str(
            (await called.call("source.list", OLGA, {})).data()
        )
    schedule = Schedule(database, lambda: NOW, lambda: None, lambda: None, (), lambda *_: None)
    listed = await registry(schedule).call("jobs.list", OLGA, {})
    assert [each["id"] for each in listed.data()] == ["source:news"]
    (job,) = await database.read(lambda rows: jobs.listing(rows, -1))
    assert JobRow.of(job).title == "Check the source “news”"
    await called.call("source.remove", replace(OLGA, sure=True), {"source": "news"})
    assert (await registry(schedule).call("jobs.list", OLGA, {})).data() == []


async def test_reading_back_is_promised_only_of_a_source_that_does_it(database: Database) -> None:
    read = list[str]()
    own = settings(database, read_back=lambda: read.append("discord"))

    async def told(done: str, source: str) -> str:
        return str((await registry(own).call(f"source.{done}", OLGA, {"source": source})).data()["text"])

    assert "When you resume it, I'll read the newest messages in each place." in await told("pause", "discord")
    assert "I won't read what is said in the meantime." in await told("pause", "bluesky")
    with pytest.raises(UserError, match=r"discord is already paused\."):
        await told("pause", "discord")
    assert "I'm reading the newest messages" in await told("resume", "discord")
    assert "I haven't read what was said in the meantime" in await told("resume", "bluesky")
    with pytest.raises(UserError, match=r"bluesky is not paused\."):
        await told("resume", "bluesky")
    assert read == ["discord"]


@pytest.mark.parametrize("name", ["discord", "Bluesky", "terminal"])
async def test_a_feed_with_the_name_of_a_front_end_is_refused_because_that_could_not_be_paused(
    database: Database, name: str
) -> None:
    with pytest.raises(UserError, match="already a source"):
        await sources(database).call("source.add", OLGA, {"name": name, "feed": FEED})


async def test_an_unknown_source_cannot_be_paused_and_the_known_ones_are_listed_if_there_are_any(
    database: Database,
) -> None:
    for fronts, known in (({"discord": None, "bluesky": None}, r" Choose from: discord, bluesky\."), ({}, "")):
        own = registry(replace(settings(database), fronts=fronts))
        with pytest.raises(UserError, match=rf"There is no source “mail” here\.{known}$"):
            await own.call("source.pause", OLGA, {"source": "mail"})


async def test_a_source_is_paused_although_nothing_can_be_read_after_it(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def busy(_work: Any) -> None:
        raise DatabaseBusy("another program is locking the database")

    own = settings(database)
    monkeypatch.setattr(database, "read", busy)
    await registry(own).call("source.pause", OLGA, {"source": "discord"})
    assert own.places.accounts.is_paused("discord")
