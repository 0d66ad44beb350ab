"""The emergency halt: now, for everything, over a restart, until it is released."""

from pathlib import Path

import pytest

from bot.errors import UserError
from bot.halting import Halt
from bot.policy import Approver, People
from memory.audience import Trust
from tests.bot.parts import ANN, BOB, HALL, OLGA, Held, Platform, ScriptedModel, person, said, says
from tests.bot.stage import Service, Setting, running

OWNER = Approver(OLGA.id, door="test")
PEOPLE = People((OLGA.id,))


async def switch(service: Service, phrase: str = "stop everything") -> Halt:
    halt = Halt(service.constellations, service.router, PEOPLE, service.clock, phrase)
    service.router.on_message = halt.hear
    await halt.restore()
    return halt


async def stored(service: Service, count: int) -> None:
    await service.router._queue.join()
    assert len(await service.rows("SELECT 1 FROM inbox")) == count


async def test_a_turn_that_runs_is_stopped_and_goes_on_when_released(tmp_path: Path) -> None:
    held = Held(says("Too late."))
    async with running(tmp_path, Setting(model=ScriptedModel(held, says("Here I am.")))) as service:
        halt = await switch(service)
        service.hear(said("hello", 1))
        await held.begun.wait()
        assert "Halted" in await halt.halt(OWNER)
        held.free.set()
        service.hear(said("anybody?", 2, speaker=BOB))
        await stored(service, 2)
        assert service.platform.sends == []
        assert len(service.model.requests) == 1
        await halt.release(OWNER)
        await service.settled()
        assert service.platform.texts() == ["Here I am.", "Yes."]


async def test_what_was_queued_is_not_sent(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        halt = await switch(service)
        await halt.halt(OWNER)
        service.hear(said("hello", 1))
        await stored(service, 1)
        assert service.model.requests == []
        assert "already" in await halt.halt(OWNER)


async def test_it_holds_over_a_restart(tmp_path: Path) -> None:
    platform = Platform(Setting().clock)
    async with running(tmp_path, Setting(platform=platform)) as service:
        await (await switch(service)).halt(OWNER)
        service.hear(said("hello", 1))
        await stored(service, 1)
        service.crash()
    async with running(tmp_path, Setting(platform=platform, halted=True)) as service:
        halt = await switch(service)
        assert halt.since
        assert service.model.requests == []
        assert "Released" in await halt.release(OWNER)
        await service.settled()
        assert platform.texts() == ["Yes."]
        assert not (await switch(service)).since


async def test_nobody_else_halts_or_releases(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        halt = await switch(service)
        with pytest.raises(UserError, match="Only an admin"):
            await halt.halt(Approver(ANN.id))
        await halt.halt(OWNER)
        with pytest.raises(UserError):
            await halt.release(Approver(BOB.id, name=OLGA.id))
        assert service.router.halted


@pytest.mark.parametrize("words", ["stop everything", "  Stop   EVERYTHING!! "])
async def test_the_owners_phrase_halts_anywhere(tmp_path: Path, words: str) -> None:
    async with running(tmp_path) as service:
        halt = await switch(service)
        service.hear(said(words, 1, HALL, OLGA))
        await stored(service, 1)
        assert halt.since
        assert service.model.requests == []
        assert await service.constellations.position("halt") == halt.since


@pytest.mark.parametrize("words", ["please do not stop everything", "stop", ""])
async def test_other_words_do_not(tmp_path: Path, words: str) -> None:
    async with running(tmp_path) as service:
        halt = await switch(service)
        service.hear(said(words, 1, HALL, OLGA), said("stop everything", 2, speaker=person("Olga", Trust.APPROVED)))
        await stored(service, 2)
        assert not halt.since


async def test_without_a_phrase_silence_halts_nothing(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        halt = await switch(service, phrase="")
        service.hear(said("", 1, HALL, OLGA))
        await stored(service, 1)
        assert not halt.since
