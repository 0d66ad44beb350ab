"""The real program with a folder, over Discord's sockets: a file is used once, wherever the program dies meanwhile."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bot.config import load_config
from bot.services.caller import owner_at_terminal
from bot.services.memory.folders import Folders
from bot.upkeep.embedding import Embedders
from memory.store.clock import utc_now
from memory.store.constellations import Constellations
from tests.bot.seeding import seeded
from tests.bot.services.calling import registry
from tests.service.live_service import Live, first_of, live_service
from tests.wire.discord import Message
from tests.wire.model import Answer, Call, Calls, Reply, Request

READ = Call("file", {"operation": "read", "path": "papers/a.txt"})
APPEND = Call("file_write", {"operation": "append", "path": "notes/b.txt", "content": "blue"})
FERRY = "The ferry leaves at nine."


def using(call: Call) -> Callable[[Request], Reply]:
    """A model that makes the call, and answers with what came of it in one line: lines that quote are taken out."""

    def reply(request: Request) -> Reply:
        return Answer(" ".join(request.results[-1].split())) if request.results else Calls(call)

    return reply


async def prepared(t: Live, folder: Path) -> None:
    """What the owner's commands leave behind: a local folder, and a virtual one that may be written in."""
    papers = folder / "papers"
    papers.mkdir()
    (papers / "a.txt").write_text(FERRY)
    (papers / "b.txt").write_text("red")
    config = load_config({"CARINA_HOME": str(t.service.home)}, folder)
    async with Constellations.open(config.home, utc_now) as constellations:
        home, _answering = await seeded(config, constellations)
        async with constellations.use(home) as database:
            made, owner = (
                registry(Folders(database, utc_now, config.home, Embedders(config).require)),
                owner_at_terminal(),
            )
            await made.call("folder.create", owner, {"name": "papers", "path": str(papers)})
            await made.call("folder.attach", owner, {"name": "papers", "agent": "Carina"})
            await made.call("folder.create", owner, {"name": "notes"})
            await made.call("folder.attach", owner, {"name": "notes", "agent": "Carina", "write": True})
            await made.call("folder.upload", owner, {"name": "notes", "file": str(papers / "b.txt")})


async def dying(t: Live, folder: Path, call: Call, fault: str) -> Message:
    """The owner's question is answered after the program died at that point."""
    await prepared(t, folder)
    t.model.default = using(call)
    async with t.service.dying(fault):
        await t.olga.dm("what do my papers say?")
    await t.service.start()
    return await t.olga.direct.wait_for_bot(timeout=60)


@pytest.mark.parametrize("fault", first_of(1, "tool.outside:after", "tool.outside:before", "turn.tool_begin:after"))
async def test_reading_is_done_again(tmp_path: Path, fault: str) -> None:
    (tmp_path / "service").mkdir()
    async with live_service(tmp_path / "service", scripted=True) as t:
        answered = await dying(t, tmp_path, READ, fault)
        assert FERRY in answered.text
        assert len(t.olga.direct.from_bot) == 1


@pytest.mark.parametrize(("fault", "content"), [("filing.write:before", 3), ("filing.write:after", 8)])
async def test_writing_is_done_at_most_once_and_its_end_is_not_made_up(
    tmp_path: Path, fault: str, content: int
) -> None:
    (tmp_path / "service").mkdir()
    async with live_service(tmp_path / "service", scripted=True) as t:
        answered = await dying(t, tmp_path, APPEND, fault)
        assert "nobody knows whether it took effect" in answered.text
        assert [each["bytes"] for each in await t.service.data("folder", "show", "notes")] == [content]
