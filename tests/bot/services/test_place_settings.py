"""What is decided by command: models of places, and languages."""

import dataclasses
import re

import pytest

from bot.agents.permissions.roles_and_rights import People
from bot.errors import UserError
from bot.runtime.group_routing import GroupRouting
from bot.services.caller import owner_at_terminal
from bot.services.people.place_settings import AccountSettings, Places
from bot.services.results import Plain
from memory import agent_groups, agents
from memory.erasure.personal_tables import STORES
from memory.queue.notifications import Place
from memory.store.database import Tx
from memory.store.ids import GroupId, PersonId
from memory.store.records import replace
from sources.terminal import PERSON
from tests.bot.parts import channel, private, said
from tests.bot.services.calling import registry, somebody
from tests.bot.stage import Service


def places_of(service: Service) -> Places:
    answering, people = GroupRouting({}, GroupId("grp_one")), People((PERSON,))
    accounts, models = AccountSettings(service.database, people.selves), ("offline", "openai:gpt-5")
    return Places(service.database, answering, people, service.clock, accounts, models=models)


async def test_a_place_is_answered_by_the_model_chosen_for_it_or_for_what_is_around_it(service: Service) -> None:
    places, owner = places_of(service), owner_at_terminal()
    offered, (hall, attic) = registry(places), (channel("1"), channel("2"))
    thread = private("3", inside="1")

    async def chosen(model: str, place: str) -> str:
        given = {"model": model, "place": place}
        return "".join((await offered.call("model", owner, given)).lines(Plain("UTC", service.clock())))

    async def answered(place: Place, number: int) -> str:
        await service.heard(said("hello", number, place))
        return service.setting.asked[-1].model

    with pytest.raises(UserError, match=r"“gpt-9” is not set up. Choose from: offline, openai:gpt-5"):
        await chosen("gpt-9", hall.id)
    with pytest.raises(UserError, match="“the hall” is not a place"):
        await chosen("offline", "the hall")
    with pytest.raises(UserError, match="--place discord:1234"):
        await offered.call("model", owner, {})
    usual = await answered(hall, 1)
    assert re.search(
        r"The model here is \*\*openai:gpt-5\*\* \(by .+ with a command", await chosen("openai:gpt-5", hall.id)
    )
    assert await answered(hall, 2) == "openai:gpt-5"
    assert await answered(thread, 3) == "openai:gpt-5", "a thread is answered as its channel is"
    assert await answered(attic, 4) == usual
    await chosen("offline", thread.id)
    assert await answered(thread, 5) == "offline", "the narrower place wins"
    await chosen("configured", hall.id)
    assert await answered(hall, 6) == usual


async def test_a_group_with_an_archived_member_still_tells_its_model(service: Service) -> None:
    (group, *_others) = await service.read(agent_groups.groups)
    offered = registry(dataclasses.replace(places_of(service), answering=GroupRouting({}, group.id)))

    async def told() -> str:
        found = await offered.call("model", owner_at_terminal(), {"place": channel("1").id})
        return "".join(found.lines(Plain("UTC", service.clock())))

    assert "The model here is **offline** (" in await told()
    (member,) = group.members
    await service.write(lambda tx: agents.set_status(tx, member.agent, "archived", service.clock()))
    assert "Nobody answers here (" in await told()


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
