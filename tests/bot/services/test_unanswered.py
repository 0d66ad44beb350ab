"""What was given up is said with a way to have it answered, for who asked and for the owner, also after a restart."""

from pathlib import Path

import pytest

from bot.errors import UserError
from bot.runtime.turn_retries import GIVEN_UP
from bot.services.caller import Caller
from bot.services.registry import Registry
from bot.services.results import Markdown
from bot.services.system.inbox import GivenUpMessages
from memory.store.ids import PersonId
from sources.base import ANSWERED, Place, Speaker
from tests.bot.parts import ANN, BOB, HALL, OLGA, ScriptedModel, deleted, said, says
from tests.bot.services.calling import registry, somebody
from tests.bot.stage import Service, Setting, running


def offered(service: Service, *, halted: bool = False) -> Registry:
    """The operation, for people as they are here."""
    people = service.approvals.people
    unanswered = GivenUpMessages(service.database, people, service.clock, service.resume, lambda: halted)
    return registry(unanswered, people=people)


def caller(person: PersonId) -> Caller:
    return somebody(person)


async def retried(service: Service, person: PersonId, number: str) -> str:
    result = await offered(service).call("retry", caller(person), {"message": number})
    return result.lines(Markdown())[0]


def broken(*more: str) -> Setting:
    return Setting(ScriptedModel(*[ValueError("boom")] * 5, *map(says, more)))


async def given_up(service: Service, place: Place = HALL) -> str:
    """Ann says something that is given up; gives its number, as the button under the word to her has it."""
    await service.heard(said("hello", 1, place))
    (delivery,) = [each for each in service.platform.sends if each.place == place.id]
    assert delivery.text == GIVEN_UP
    assert delivery.buttons is not None
    assert (delivery.buttons.kind, delivery.buttons.offers) == ("retry", ("retry",))
    return str(delivery.buttons.request)


@pytest.mark.parametrize("who", [ANN, OLGA])
async def test_who_asked_and_the_owner_have_it_answered_after_all_also_after_a_restart(
    tmp_path: Path, who: Speaker
) -> None:
    async with running(tmp_path, broken()) as service:
        number = await given_up(service)
        platform = service.platform
    setting = Setting(ScriptedModel(says("Now.")), platform=platform)
    async with running(tmp_path, setting) as service:
        assert await retried(service, who.id, number) == "I am trying again now."
        await service.settled()
        assert platform.texts() == [GIVEN_UP, "Now."]
        assert [post.buttons for post in platform.posts] == [ANSWERED, ANSWERED, None], "nothing is left to press"
        assert await retried(service, who.id, number) == "That has been answered."


@pytest.mark.parametrize("number", ["{}", "7", "x", "#9999999999999999999999999"])
async def test_nobody_else_has_it_answered_or_learns_whether_there_is_one(tmp_path: Path, number: str) -> None:
    async with running(tmp_path, broken()) as service:
        theirs = await given_up(service)
        with pytest.raises(UserError, match="You have no failed message that I could try again"):
            await retried(service, BOB.id, number.format(theirs))
        assert await service.column("SELECT status FROM inbox") == ["dead"]


async def test_during_a_halt_nobody_is_told_that_it_is_tried_now(tmp_path: Path) -> None:
    async with running(tmp_path, broken("Now.")) as service:
        given = {"message": await given_up(service)}
        result = await offered(service, halted=True).call("retry", caller(ANN.id), given)
        assert result.lines(Markdown()) == ["Everything is halted now. I will try again afterward."]


async def test_what_was_deleted_is_not_answered(tmp_path: Path) -> None:
    async with running(tmp_path, broken("Now.")) as service:
        number = await given_up(service)
        await service.heard(deleted(1))
        with pytest.raises(UserError, match="was deleted"):
            await retried(service, ANN.id, number)
