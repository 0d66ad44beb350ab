"""The owner is told of blocks that were found damaged, once."""

from pathlib import Path

from bot.agents.owner_notices import Notices
from bot.upkeep.housekeeping import Monitor
from memory.blocks.repair import repair_block
from memory.store.database import Tx
from memory.store.ids import BlockId
from tests.bot.parts import ANN, HALL, ScriptedModel, call, direct, said, says
from tests.bot.stage import OWNERS_PLACE, Service, Setting, running


def watch(service: Service) -> Monitor:
    resume = service.resume
    notices = Notices(OWNERS_PLACE.id)
    return Monitor(service.database, notices, service.clock, resume, lambda: None)


def notes() -> ScriptedModel:
    written = [call("context", f"c{n}", operation="append", label="human", content=f"Likes tea {n}.") for n in range(3)]
    return ScriptedModel(says("", *written), says("Noted."))


async def spoiled(service: Service) -> None:
    """Damage the last stored change of a block, and let it be repaired."""

    def work(tx: Tx) -> None:
        (found,) = tx.all("SELECT block_id, max(seq) AS seq FROM memory_block_updates GROUP BY block_id HAVING seq > 2")
        sql = "UPDATE memory_block_updates SET update_blob = zeroblob(20) WHERE block_id = ? AND seq = ?"
        tx.run(sql, (found["block_id"], found["seq"]))
        repair_block(tx, BlockId(found["block_id"]), service.clock())

    await service.write(work)


async def test_the_owner_is_told_once_which_block_was_repaired(tmp_path: Path) -> None:
    async with running(tmp_path, Setting(model=notes())) as service:
        await service.heard(said("hello", 1, HALL))
        await watch(service).check()
        assert service.platform.texts(OWNERS_PLACE.id) == []
        await spoiled(service)
        for _ in range(2):
            await watch(service).check()
            await service.settled()
        told = service.platform.texts(OWNERS_PLACE.id)
        assert [text.startswith("Damage in memory: block ") for text in told] == [True] * len(told)
        assert sum("block “human” was damaged and rebuilt" in text for text in told) == 1


async def test_a_block_of_somebodys_direct_messages_is_not_named(tmp_path: Path) -> None:
    async with running(tmp_path, Setting(model=notes())) as service:
        await service.heard(said("hello", 1, direct(ANN)))
        await spoiled(service)
        await watch(service).check()
        await service.settled()
        told = " ".join(service.platform.texts(OWNERS_PLACE.id))
        assert "a block from somebody's direct messages was damaged and rebuilt" in told
        assert "tea" not in told
