"""What `[memory]` says of checkpoints and history holds for everybody who writes blocks: agents, the system, people."""

import itertools
from pathlib import Path

from tests.service.approvals.approvals import rows, started
from tests.service.live_service import Live
from tests.service.memory.test_memory import edited, memory
from tests.wire.model import Answer, Call, Calls


def checkpoints(t: Live, label: str) -> list[int]:
    """The versions of which whole copies of the block of that label are kept."""
    sql = """SELECT c.up_to_seq FROM memory_block_checkpoints c JOIN memory_blocks b ON b.id = c.block_id
             WHERE b.label = ? AND b.next_seq > 2 ORDER BY c.up_to_seq"""
    return [row[0] for row in rows(t, sql, label)]


async def noted(t: Live, times: int) -> None:
    """The agent writes in a block, one turn after the other."""
    for number in range(times):
        change = {"operation": "append", "label": "scratchpad", "content": f"{number}\n"}
        t.model.script(Calls(Call("context", change)), Answer(f"Noted {number}."))
        assert (await t.ask(t.ana, t.general, "<@bot> note it")).text == f"Noted {number}."


async def test_agents_and_the_system_keep_to_it(tmp_path: Path) -> None:
    toml = "[memory]\ncheckpoint_updates = 3\ncheckpoints_kept = 2\nhistory_changes = 10"
    async with started(tmp_path, toml=toml) as t:
        await noted(t, 15)
        written, logged = checkpoints(t, "scratchpad"), checkpoints(t, "tool_execution_log")
        archives = rows(t, "SELECT b.label FROM memory_block_archives a JOIN memory_blocks b ON b.id = a.block_id")
    assert [later - earlier for earlier, later in itertools.pairwise(written)] == [3]
    assert [later - earlier for earlier, later in itertools.pairwise(logged)] == [3]
    assert ("scratchpad",) in archives


async def test_changes_that_are_too_old_go_for_good(tmp_path: Path) -> None:
    async with started(tmp_path, toml="[memory]\ncheckpoint_updates = 1\nhistory_days = 1e-9") as t:
        for number in range(3):
            await edited(t.olga, t.general, "persona", f"My name is Carina, and {number}.")
        history = (await memory(t.olga, "history", t.general, label="persona")).text
        await t.service.stop()
        assert "to 4 (what was before is not kept)" in history
        await t.service.said("memory", "edit", "persona", "--text", "Carina.")
        assert checkpoints(t, "persona")[-1] == 5, "the command line keeps to it without a service"
