"""What commands ask of the service."""

from pathlib import Path

import pytest

from bot.desks.operations import Operations
from bot.errors import UserError
from memory.ids import ConstellationId, GroupId, PlaceId
from tests.bot.parts import ANN, HALL, ScriptedModel, direct, said, says
from tests.bot.stage import Service, Setting, running


def operations(service: Service) -> Operations:
    return Operations(service.constellations, service.house, service.router.answer)


async def test_the_inbox_is_listed_newest_first_without_words(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        await service.heard(said("first words", 1), said("second words", 2))
        found = await operations(service).inbox_list()
        assert [(row["kind"], row["place"], row["status"]) for row in found] == [("message", HALL.id, "done")] * 2
        assert found[0]["id"] > found[1]["id"]
        assert "words" not in str(found)
        assert len(await operations(service).inbox_list(limit=1)) == 1
        assert await operations(service).inbox_list("dead") == []


async def test_a_status_that_does_not_exist_is_named_with_those_that_do(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        with pytest.raises(UserError, match="no status 'lost': received, claimed, done, dead"):
            await operations(service).inbox_list("lost")


async def test_the_owner_reads_a_guilds_words_and_not_another_persons(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        await service.heard(said("in the hall", 1), said("to you alone", 2, direct(ANN)))
        alone, hall = [row["id"] for row in await operations(service).inbox_list()]
        assert (await operations(service).inbox_show(hall))["text"] == "in the hall"
        shown = await operations(service).inbox_show(alone)
        assert shown["text"] == "(not for the owner to read, or no longer there)"
        with pytest.raises(UserError, match="no inbox row 7;"):
            await operations(service).inbox_show(7)


async def test_what_went_wrong_with_another_persons_words_is_told_without_them(tmp_path: Path) -> None:
    model = ScriptedModel(otherwise=ValueError("cannot read: to you alone"))
    async with running(tmp_path, Setting(model)) as service:
        await service.heard(said("to you alone", 1, direct(ANN)), said("hall", 2))
        hall, alone = await operations(service).inbox_list("dead")
        assert hall["last_error"] == "ValueError: cannot read: to you alone"
        assert alone["last_error"] == "ValueError"
        told = service.platform.texts(PlaceId("discord:user:olga"))
        assert sum("to you alone" in text for text in told) == 1  # of the hall's


async def test_a_dead_row_is_tried_again_and_its_lane_woken(tmp_path: Path) -> None:
    model = ScriptedModel(*[ValueError("boom")] * 5, says("Now."))
    async with running(tmp_path, Setting(model)) as service:
        await service.heard(said("hello", 1))
        (row,) = await operations(service).inbox_list("dead")
        again = await operations(service).inbox_retry(row["id"])
        assert (again["status"], again["attempts"]) == ("received", 0)
        await service.settled()
        assert service.platform.texts() == ["Now."]
        with pytest.raises(UserError, match="is not dead"):
            await operations(service).inbox_retry(row["id"])
        with pytest.raises(UserError, match="no inbox row 7;"):
            await operations(service).inbox_retry(7)


async def test_without_a_running_service_a_retried_row_waits_for_the_next_start(tmp_path: Path) -> None:
    woken: list[tuple[ConstellationId, PlaceId, GroupId]] = []
    async with running(tmp_path, Setting(ScriptedModel(otherwise=ValueError("boom")))) as service:
        await service.heard(said("hello", 1))
        alone = Operations(service.constellations, service.house, lambda *lane: woken.append(lane))
        (row,) = await alone.inbox_list("dead")
        await alone.inbox_retry(row["id"])
        assert [lane[:2] for lane in woken] == [(service.house, HALL.id)]
        platform = service.platform
        service.crash()
    async with running(tmp_path, Setting(platform=platform)) as service:
        await service.settled()
        assert platform.texts() == ["Yes."]


async def test_vacuum_gives_pages_back_while_the_service_runs(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        await service.heard(said("x" * 200_000, 1, answer=False))
        await service.write(lambda tx: tx.run("DELETE FROM messages"))
        done = await operations(service).db_vacuum()
        assert [row["file"] for row in done] == [f"constellations/{service.house}/carina.db", "global.db"]
        assert done[0]["bytes_after"] < done[0]["bytes_before"] - 100_000
        await service.heard(said("still there?", 2))
        assert service.platform.texts() == ["Yes."]
