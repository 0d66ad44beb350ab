"""The inbox by command: what arrived without words that its caller may not read, and what was given up tried again.

What was given up is said with a way to have it answered, for who asked and for the owner, also after a restart.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bot.agents.permissions.roles_and_rights import People
from bot.errors import CallError, UserError
from bot.runtime.turn_retries import GIVEN_UP
from bot.services.caller import Caller, owner_at_terminal
from bot.services.registry import Registry
from bot.services.results import Markdown
from bot.services.system.databases import Databases
from bot.services.system.inbox import Inbox
from memory.people import person_settings
from memory.people.person_settings import Times
from memory.queue.notifications import Place, Speaker
from memory.store.clock import Clock, utc_now
from memory.store.ids import PersonId, PlaceId, code
from sources.base import ANSWERED
from sources.terminal import PERSON
from tests.bot.agents.groups.parts import Cast, group
from tests.bot.parts import ANN, BOB, HALL, NOON, OLGA, ScriptedModel, deleted, direct, said, says
from tests.bot.services.calling import registry, somebody
from tests.bot.stage import Service, Setting, running, talked
from texts import speaking

IN_CHARGE = People((PERSON,), (BOB.id,))


async def call(
    service: Service, name: str, caller: Caller | None = None, wake: Callable[[], None] | None = None,
    clock: Clock = utc_now, **given: Any,
) -> Any:  # fmt: skip
    inbox = Inbox(service.database, IN_CHARGE, clock, "UTC", wake or service.resume, lambda: False)
    offered = registry(inbox, Databases(service.constellations), people=IN_CHARGE)
    return (await offered.call(name, caller or owner_at_terminal(), given)).data()


async def test_the_owner_reads_a_guilds_words_and_not_another_persons(service: Service) -> None:
    await service.heard(said("in the hall", 1), said("to you alone", 2, direct(ANN)))
    alone, hall = [str(row["id"]) for row in await call(service, "inbox.list")]
    assert (await call(service, "inbox.show", row=hall))["text"] == "in the hall"
    listed = Inbox(service.database, IN_CHARGE, utc_now, "UTC", service.resume, lambda: False)
    shown = await listed.list_rows(owner_at_terminal())
    assert [each.what for each in shown.rows] == ["Message", "Message from Ann"]
    hidden = "(you cannot read it, or it is gone)"
    assert (await call(service, "inbox.show", row=alone))["text"] == hidden
    assert (await call(service, "inbox.show", somebody(BOB.id), row=hall))["text"] == hidden, "not known there"
    for unknown in ("7", "x", "9" * 20):
        with pytest.raises(UserError, match=f"There is no message “{unknown}”"):
            await call(service, "inbox.show", row=unknown)
    with pytest.raises(CallError, match="--before: expected a number of at most"):
        await call(service, "inbox.list", before=2**63)


async def test_days_are_those_of_whoever_asks(service: Service) -> None:
    await service.heard(said("hello", 1))  # at noon, which is 2 AM of the next day on Kiritimati
    heard = dict[str, dict[str, int]]()
    for zone in ("", "Asia/Kathmandu", "Pacific/Kiritimati"):
        await service.write(partial(person_settings.put, people=(PERSON,), times=Times(zone=zone), now=NOON))
        found = await call(service, "inbox.days", days=2, clock=service.clock)
        heard[zone] = {each["day"]: each["heard"] for each in found}
    usual = {"2026-11-21": 0, "2026-11-22": 1}
    assert heard == {"": usual, "Asia/Kathmandu": usual, "Pacific/Kiritimati": {"2026-11-22": 0, "2026-11-23": 1}}


async def test_what_went_wrong_with_another_persons_words_is_told_without_them(tmp_path: Path) -> None:
    model = ScriptedModel(otherwise=ValueError("cannot read: to you alone"))
    async with running(tmp_path, Setting(model)) as service:
        await service.heard(said("to you alone", 1, direct(ANN)), said("hall", 2))
        hall, alone = await call(service, "inbox.list", dead=True)
        assert hall["last_error"] == "ValueError: cannot read: to you alone"
        assert alone["last_error"] == "ValueError"
        assert {row["last_error"] for row in await call(service, "inbox.list", somebody(BOB.id))} == {"ValueError"}
        told = service.platform.texts(PlaceId("discord:user:olga"))
        assert sum("to you alone" in text for text in told) == 1  # of the hall's


async def test_a_dead_row_is_tried_again_and_its_conversation_woken(tmp_path: Path) -> None:
    async with talked(tmp_path, broken("Now."), "hello") as service:
        (row,) = await call(service, "inbox.list", dead=True)
        again = await call(service, "inbox.retry", row=str(row["id"]))
        assert (again["status"], again["attempts"]) == ("received", 0)
        await service.settled()
        assert service.platform.texts() == [GIVEN_UP, "Now."]
        with pytest.raises(UserError, match=f"Message {code(row['id'])} has not failed"):
            await call(service, "inbox.retry", row=code(row["id"]))
        with pytest.raises(UserError, match="There is no message “7”"):
            await call(service, "inbox.retry", row="7")


async def test_a_dead_row_is_discarded_and_nobody_has_it_answered_any_more(tmp_path: Path) -> None:
    async with talked(tmp_path, broken("Now."), "hello") as service:
        (row,) = await call(service, "inbox.list", dead=True)
        gone = await call(service, "inbox.drop", row=str(row["id"]))
        assert (gone["status"], gone["last_error"]) == ("done", "discarded")
        assert await call(service, "inbox.list", dead=True) == []
        for again in ("inbox.retry", "inbox.drop"):
            with pytest.raises(UserError, match=f"Message {code(row['id'])} has not failed"):
                await call(service, again, row=code(row["id"]))
        with pytest.raises(UserError, match="I can no longer answer that"):
            await call(service, "retry", somebody(ANN.id), message=str(row["id"]))
        await service.settled()
        assert service.platform.texts() == [GIVEN_UP]
        assert (await call(service, "inbox.show", row=str(row["id"])))["text"] == "hello", "it was said all the same"


async def test_without_a_running_service_a_retried_row_waits_for_the_next_start(tmp_path: Path) -> None:
    woken: list[str] = []
    async with talked(tmp_path, broken(), "hello") as service:
        (row,) = await call(service, "inbox.list", dead=True)
        await call(service, "inbox.retry", wake=lambda: woken.append("woken"), row=str(row["id"]))
        assert woken == ["woken"]
        platform = service.platform
        service.crash()
    async with running(tmp_path, Setting(platform=platform)) as service:
        await service.settled()
        assert platform.texts() == [GIVEN_UP, "Yes."]


async def test_why_a_group_gave_no_answer_is_told_in_the_language_of_the_reader(tmp_path: Path) -> None:
    down = [RuntimeError("down")] * 5
    toml = group("dynamic", "", '"Ant", "Bee"')
    async with talked(tmp_path, Setting(Cast(Ant=down, Bee=down), toml=toml), "@all go") as service:
        for language, words in (
            ("en", "nobody in the group “Team” answered"),
            ("de", "niemand aus der Gruppe „Team“ hat geantwortet"),
        ):
            with speaking(language):
                (row,) = await call(service, "inbox.list")
            assert row["last_error"].startswith(f"GroupFailed: {words}: Ant: failed (RuntimeError)")


async def test_on_discord_rows_are_suggested_and_show_no_numbers(tmp_path: Path) -> None:
    async with talked(tmp_path, broken(), "hello") as service:
        offered = registry(
            Inbox(service.database, IN_CHARGE, utc_now, "UTC", lambda: None, lambda: False), people=IN_CHARGE
        )
        (row,) = await offered.suggest("inbox.retry", "row", somebody(BOB.id), {})
        listed = (await offered.call("inbox.list", somebody(BOB.id), {})).lines(Markdown())[0]
        assert "failed: ValueError" in listed
        assert row[0] not in listed


# ------------------------------------------------------------------ by whoever wrote it


def offered(service: Service, *, halted: bool = False) -> Registry:
    """The operation, for people as they are here."""
    people = service.approvals.people
    unanswered = Inbox(service.database, people, service.clock, "UTC", service.resume, lambda: halted)
    return registry(unanswered, people=people)


async def retried(service: Service, person: PersonId, number: str) -> str:
    result = await offered(service).call("retry", somebody(person), {"message": number})
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
        assert await retried(service, who.id, number) == "I'm trying again now."
        await service.settled()
        assert platform.texts() == [GIVEN_UP, "Now."]
        assert [post.buttons for post in platform.posts] == [ANSWERED, ANSWERED, None], "nothing is left to press"
        assert await retried(service, who.id, number) == "That has already been answered."


@pytest.mark.parametrize("number", ["{}", "7", "x", "#9999999999999999999999999"])
async def test_nobody_else_has_it_answered_or_learns_whether_there_is_one(tmp_path: Path, number: str) -> None:
    async with running(tmp_path, broken()) as service:
        theirs = await given_up(service)
        with pytest.raises(UserError, match="You have no failed messages to retry"):
            await retried(service, BOB.id, number.format(theirs))
        assert await service.column("SELECT status FROM inbox") == ["dead"]


async def test_during_a_halt_nobody_is_told_that_it_is_tried_now(tmp_path: Path) -> None:
    async with running(tmp_path, broken("Now.")) as service:
        given = {"message": await given_up(service)}
        result = await offered(service, halted=True).call("retry", somebody(ANN.id), given)
        assert result.lines(Markdown()) == ["Everything is halted. I'll try again when the halt is released."]


async def test_what_was_deleted_is_not_answered(tmp_path: Path) -> None:
    async with running(tmp_path, broken("Now.")) as service:
        number = await given_up(service)
        await service.heard(deleted(1))
        with pytest.raises(UserError, match="was deleted"):
            await retried(service, ANN.id, number)
