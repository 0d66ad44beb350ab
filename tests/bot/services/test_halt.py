"""The emergency halt: now, for everything, over a restart, until it is released."""

import asyncio
from contextlib import AbstractContextManager
from pathlib import Path
from unittest.mock import AsyncMock

import pytest

from bot.errors import UserError
from bot.runtime.conversation import ConversationWorker
from bot.services.caller import Caller, owner_at_terminal
from bot.services.results import Markdown
from bot.services.system.halt import Halt
from memory.people.audience import Trust
from memory.store.database import Database
from memory.store.errors import StoreError
from memory.store.ids import TurnId
from tests.bot.parts import ANN, BOB, HALL, OLGA, HeldReply, Platform, ScriptedModel, person, said, says
from tests.bot.services.calling import registry, somebody
from tests.bot.stage import Service, Setting, locked, running, until

OWNER = owner_at_terminal()
pytestmark = pytest.mark.usefixtures("hurried")


class Switch:
    """The halt of a service, called as an interface does."""

    def __init__(self, service: Service) -> None:
        self._halt = Halt(service.halt, service.router.release, service.database)

    @property
    def since(self) -> str:
        return self._halt.state.since

    async def halt(self, caller: Caller = OWNER, operation: str = "halt.now") -> str:
        return "\n".join((await registry(self._halt).call(operation, caller, {})).lines(Markdown()))

    async def release(self, caller: Caller = OWNER) -> str:
        return await self.halt(caller, "halt.release")


async def stored(service: Service, count: int) -> None:
    await service.router.taken_in(30)
    assert len(await service.rows("SELECT 1 FROM inbox")) == count


async def test_a_turn_that_runs_is_stopped_and_goes_on_when_released(tmp_path: Path) -> None:
    held = HeldReply(says("Too late."))
    async with running(tmp_path, Setting(model=ScriptedModel(held, says("Here I am.")))) as service:
        halt = Switch(service)
        service.hear(said("hello", 1))
        await held.begun.wait()
        assert "Halted" in await halt.halt()
        held.free.set()
        service.hear(said("anybody?", 2, speaker=BOB))
        await stored(service, 2)
        assert service.platform.sends == []
        assert len(service.model.requests) == 1
        assert "has been halted since <t:" in await halt.halt()
        await halt.release()
        await service.settled()
        assert service.platform.texts() == ["Here I am.", "Yes."]


async def test_a_turn_that_is_still_stopping_when_released_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, stopped, spare = HeldReply(says("Too late.")), asyncio.Event(), ConversationWorker._spare

    async def slowly(worker: ConversationWorker, turn: TurnId) -> None:
        await stopped.wait()
        await spare(worker, turn)

    monkeypatch.setattr(ConversationWorker, "_spare", slowly)
    async with running(tmp_path, Setting(model=ScriptedModel(held, says("Here I am.")))) as service:
        halt = Switch(service)
        service.hear(said("hello", 1))
        await held.begun.wait()
        await halt.halt()
        await halt.release()
        await asyncio.sleep(0.1)  # in which it could be taken up
        stopped.set()
        await service.settled()
        assert service.platform.texts() == ["Here I am."]


async def test_it_is_released_even_if_the_database_cannot_be_read(service: Service) -> None:
    halt, broken = Switch(service), AsyncMock(spec=Database)
    broken.read.side_effect = StoreError("the disk is gone")
    halt._halt = Halt(service.halt, service.router.release, broken)
    await halt.halt()
    assert "Released" in await halt.release()
    assert not halt.since


async def test_it_holds_over_a_restart(tmp_path: Path) -> None:
    platform = Platform(Setting().clock)
    async with running(tmp_path, Setting(platform=platform)) as service:
        await Switch(service).halt()
        service.hear(said("hello", 1))
        await stored(service, 1)
        service.crash()
    async with running(tmp_path, Setting(platform=platform)) as service:
        halt = Switch(service)
        assert halt.since
        assert service.model.requests == []
        assert "Released" in await halt.release()
        await service.settled()
        assert platform.texts() == ["Yes."]
        assert not Switch(service).since


async def test_a_halt_wins_over_a_release_that_is_under_way(service: Service) -> None:
    halt = Switch(service)
    await halt.halt()
    released, halted = await asyncio.gather(halt.release(), halt.halt())
    assert "stays halted" in released
    assert "halted" in halted
    assert halt.since
    halted, released = await asyncio.gather(halt.halt(), halt.release())
    assert "halted" in halted
    assert "Released" in released


async def test_nobody_else_halts_or_releases(service: Service) -> None:
    halt = Switch(service)
    with pytest.raises(UserError, match="Only an admin"):
        await halt.halt(somebody(ANN.id))
    await halt.halt()
    with pytest.raises(UserError):
        await halt.release(somebody(BOB.id))
    assert service.halt.halted


@pytest.mark.parametrize("words", ["stop everything", "  Stop   EVERYTHING!! "])
async def test_the_owners_phrase_halts_anywhere(service: Service, words: str) -> None:
    halt = Switch(service)
    service.hear(said(words, 1, HALL, OLGA))
    await stored(service, 1)
    assert halt.since
    assert service.model.requests == []
    assert await service.constellations.position("halt") == halt.since


@pytest.mark.parametrize("words", ["please do not stop everything", "stop", ""])
async def test_other_words_do_not(service: Service, words: str) -> None:
    halt = Switch(service)
    service.hear(said(words, 1, HALL, OLGA), said("stop everything", 2, speaker=person("Olga", Trust.APPROVED)))
    await stored(service, 2)
    assert not halt.since


def registry_locked(service: Service) -> AbstractContextManager[None]:
    return locked(service.constellations.registry.path)


async def test_a_halt_that_cannot_be_stored_holds_says_so_and_is_stored_when_asked_again(service: Service) -> None:
    halt = Switch(service)
    with registry_locked(service), pytest.raises(UserError, match="could not be saved"):
        await halt.halt()
    assert service.halt.halted
    assert await service.constellations.position("halt") is None
    assert "Halted" in await halt.halt()
    assert await service.constellations.position("halt") == halt.since


async def test_a_release_that_cannot_be_stored_releases_nothing(service: Service) -> None:
    halt = Switch(service)
    await halt.halt()
    since = halt.since
    with registry_locked(service), pytest.raises(UserError, match="still halted"):
        await halt.release()
    assert service.halt.halted
    assert halt.since == since == await service.constellations.position("halt")
    assert "Released" in await halt.release()
    assert await service.constellations.position("halt") == ""


async def test_the_phrase_is_stored_as_a_halt_before_it_is_stored_as_words(service: Service) -> None:
    """Otherwise a crash between the two would leave words that are answered instead of obeyed."""
    halt = Switch(service)
    with registry_locked(service):
        service.hear(said("stop everything", 1, HALL, OLGA))
        assert service.halt.halted
        await until(lambda: any(log["event"] == "waiting_for_database" for log in service.logs))
        assert await service.rows("SELECT 1 FROM inbox") == []
    await stored(service, 1)
    assert await service.constellations.position("halt") == halt.since
