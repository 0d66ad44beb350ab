"""What is decided by command: pauses, of which the owner is told what comes true, models of places, and languages."""

import dataclasses
from typing import Any

import pytest

from bot.agents.permissions.policy import People
from bot.errors import UserError
from bot.runtime.group_routing import RoutingTable
from bot.services.caller import owner_at_terminal
from bot.services.people.account_settings import AccountSettings
from bot.services.people.places import Places
from bot.services.results import Plain
from memory import agents
from memory.erasure.stores import STORES
from memory.store.database import Tx
from memory.store.errors import DatabaseBusy
from memory.store.ids import GroupId, PersonId
from memory.store.records import replace
from sources.base import Place
from sources.terminal import PERSON
from tests.bot.parts import channel, private, said
from tests.bot.services.calling import registry, somebody
from tests.bot.stage import Service


def places_of(service: Service) -> Places:
    answering, people = RoutingTable({}, GroupId("grp_one")), People((PERSON,))
    sources = ("discord", "bluesky")
    accounts, models = AccountSettings(service.database, people.selves), ("offline", "openai:gpt-5")
    return Places(service.database, answering, people, service.clock, lambda: None, sources, accounts, models=models)


async def test_reading_back_is_promised_only_of_a_source_that_does_it(service: Service) -> None:
    places, read = places_of(service), list[str]()
    places.accounts.resumed["discord"] = lambda: read.append("discord")

    async def told(done: str, source: str) -> str:
        given = {"source": source}
        return str((await registry(places).call(f"source.{done}", owner_at_terminal(), given)).data()["text"])

    assert "I will then read the newest messages of each place." in await told("pause", "discord")
    assert "I will not read what is said in the meantime." in await told("pause", "bluesky")
    assert "I am reading the newest messages" in await told("resume", "discord")
    assert "I have not read what was said in the meantime" in await told("resume", "bluesky")
    assert read == ["discord"]


async def test_an_unknown_source_cannot_be_paused_and_the_known_ones_are_listed_if_there_are_any(
    service: Service,
) -> None:
    places = places_of(service)
    with pytest.raises(UserError, match=r"There is no source 'mail' to pause\. Choose from: discord, bluesky\.$"):
        await registry(places).call("source.pause", owner_at_terminal(), {"source": "mail"})
    places.sources = ()
    with pytest.raises(UserError, match=r"There is no source 'mail' to pause\.$"):
        await registry(places).call("source.pause", owner_at_terminal(), {"source": "mail"})


async def test_a_source_is_paused_although_nothing_can_be_read_after_it(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def busy(_work: Any) -> None:
        raise DatabaseBusy("another program holds the database")

    places = places_of(service)
    monkeypatch.setattr(service.database, "read", busy)
    await registry(places).call("source.pause", owner_at_terminal(), {"source": "discord"})
    assert places.accounts.is_paused("discord")


async def test_a_place_is_answered_by_the_model_chosen_for_it_or_for_what_is_around_it(
    service: Service,
) -> None:
    places, owner = places_of(service), owner_at_terminal()
    offered, (hall, attic) = registry(places), (channel("1"), channel("2"))
    thread = private("3", inside="1")

    async def chosen(model: str, place: str) -> str:
        given = {"model": model, "place": place}
        return "".join((await offered.call("model", owner, given)).lines(Plain("UTC", service.clock())))

    async def answered(place: Place, number: int) -> str:
        await service.heard(said("hello", number, place))
        return service.setting.asked[-1].model

    with pytest.raises(UserError, match=r"gpt-9 is not configured. Choose from offline, openai:gpt-5"):
        await chosen("gpt-9", hall.id)
    with pytest.raises(UserError, match="'the hall' is not a place"):
        await chosen("offline", "the hall")
    usual = await answered(hall, 1)
    assert "**openai:gpt-5** answers here (by command" in await chosen("openai:gpt-5", hall.id)
    assert await answered(hall, 2) == "openai:gpt-5"
    assert await answered(thread, 3) == "openai:gpt-5", "a thread is answered as its channel is"
    assert await answered(attic, 4) == usual
    await chosen("offline", thread.id)
    assert await answered(thread, 5) == "offline", "the narrower place wins"
    await chosen("configured", hall.id)
    assert await answered(hall, 6) == usual


async def test_a_group_with_an_archived_member_still_tells_its_model(service: Service) -> None:
    (group, *_others) = await service.read(agents.groups)
    offered = registry(dataclasses.replace(places_of(service), answering=RoutingTable({}, group.id)))

    async def told() -> str:
        found = await offered.call("model", owner_at_terminal(), {"place": channel("1").id})
        return "".join(found.lines(Plain("UTC", service.clock())))

    assert "**offline** answers here" in await told()
    (member,) = group.members
    await service.write(lambda tx: agents.set_status(tx, member.agent, "archived", service.clock()))
    assert "**nobody** answers here" in await told()


async def test_a_chosen_language_is_spoken_from_the_answer_on_and_lasts(service: Service) -> None:
    places, caller = places_of(service), replace(somebody(PersonId("discord:5")), locale="ja")

    async def said_of(language: str | None) -> str:
        given = {"language": language} if language else {}
        return str((await registry(places).call("language", caller, given)).data()["text"])

    assert await said_of(None) == "言語：日本語（自動）。"
    assert await said_of("de") == "Sprache: Deutsch."
    assert await said_of("auto") == "言語：日本語（自動）。"
    assert await said_of("de") == "Sprache: Deutsch."
    again = AccountSettings(service.database, lambda person: (person,), "ja")
    await again.load()
    assert (again.language(caller.person), again.spoken(caller.person)) == ("de", "de")
    assert (again.language(PersonId("discord:6")), again.spoken(PersonId("discord:6"))) == ("", "ja")
    await service.write(lambda tx: erase_steering(tx, caller.person))
    await again.load()
    assert again.language(caller.person) == "", "an erasure takes it"


def erase_steering(tx: Tx, person: PersonId) -> None:
    assert next(store for store in STORES if store.name == "steering").erase(tx, person) == 1
