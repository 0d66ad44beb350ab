"""The inbox by command: what arrived without words that its caller may not read, and what was given up tried again."""

from pathlib import Path
from typing import Any

import pytest

from bot.agents.permissions.policy import People
from bot.errors import UserError
from bot.runtime.turn_retries import GIVEN_UP
from bot.services.caller import Caller, owner_at_terminal
from bot.services.results import Markdown
from bot.services.system.backups import Databases
from bot.services.system.inbox import Inbox, Wake
from memory.store.clock import utc_now
from memory.store.ids import GroupId, PlaceId, code
from sources.terminal import PERSON
from tests.bot.parts import ANN, BOB, HALL, ScriptedModel, direct, said, says
from tests.bot.services.calling import registry, somebody
from tests.bot.stage import Service, Setting, running

IN_CHARGE = People((PERSON,), (BOB.id,))


async def call(
    service: Service, name: str, caller: Caller | None = None, wake: Wake | None = None, **given: Any
) -> Any:
    inbox = Inbox(service.database, wake or service.runtime.answer, utc_now)
    offered = registry(inbox, Databases(service.constellations), people=IN_CHARGE)
    return (await offered.call(name, caller or owner_at_terminal(), given)).data()


async def test_the_owner_reads_a_guilds_words_and_not_another_persons(service: Service) -> None:
    await service.heard(said("in the hall", 1), said("to you alone", 2, direct(ANN)))
    alone, hall = [str(row["id"]) for row in await call(service, "inbox.list")]
    assert (await call(service, "inbox.show", row=hall))["text"] == "in the hall"
    hidden = "(you cannot read it, or it is gone)"
    assert (await call(service, "inbox.show", row=alone))["text"] == hidden
    assert (await call(service, "inbox.show", somebody(BOB.id), row=hall))["text"] == hidden, "not known there"
    for unknown in ("7", "x", "9" * 20):
        with pytest.raises(UserError, match=f"There is no message {unknown}"):
            await call(service, "inbox.show", row=unknown)


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
    model = ScriptedModel(*[ValueError("boom")] * 5, says("Now."))
    async with running(tmp_path, Setting(model)) as service:
        await service.heard(said("hello", 1))
        (row,) = await call(service, "inbox.list", dead=True)
        again = await call(service, "inbox.retry", row=str(row["id"]))
        assert (again["status"], again["attempts"]) == ("received", 0)
        await service.settled()
        assert service.platform.texts() == [GIVEN_UP, "Now."]
        with pytest.raises(UserError, match=f"Message {code(row['id'])} has not failed"):
            await call(service, "inbox.retry", row=code(row["id"]))
        with pytest.raises(UserError, match="There is no message 7"):
            await call(service, "inbox.retry", row="7")


async def test_without_a_running_service_a_retried_row_waits_for_the_next_start(tmp_path: Path) -> None:
    woken: list[tuple[PlaceId, GroupId]] = []
    async with running(tmp_path, Setting(ScriptedModel(otherwise=ValueError("boom")))) as service:
        await service.heard(said("hello", 1))
        (row,) = await call(service, "inbox.list", dead=True)
        await call(service, "inbox.retry", wake=lambda *each: woken.append(each), row=str(row["id"]))
        assert [place for place, _group in woken] == [HALL.id]
        platform = service.platform
        service.crash()
    async with running(tmp_path, Setting(platform=platform)) as service:
        await service.settled()
        assert platform.texts() == [GIVEN_UP, "Yes."]


async def test_on_discord_rows_are_suggested_and_show_no_numbers(tmp_path: Path) -> None:
    async with running(tmp_path, Setting(ScriptedModel(otherwise=ValueError("boom")))) as service:
        await service.heard(said("hello", 1))
        offered = registry(Inbox(service.database, lambda *_each: None, utc_now), people=IN_CHARGE)
        (row,) = await offered.suggest("inbox.retry", "row", somebody(BOB.id), {})
        listed = (await offered.call("inbox.list", somebody(BOB.id), {})).lines(Markdown())[0]
        assert "failed: ValueError" in listed
        assert row[0] not in listed
