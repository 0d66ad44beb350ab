"""The tool for tasks: whose they are that a turn may see and change."""

from dataclasses import replace
from pathlib import Path

import pytest

from bot.errors import ToolError
from bot.tools.base import ToolContext
from bot.tools.tasks import TaskArguments, TasksTool
from memory import tasks
from memory.audience import OWNER, Scope, Trust
from memory.database import Database, Tx
from memory.faults import commit_point
from memory.migrations import Kind, prepare
from memory.tasks import NewTask
from tests.bot.parts import ANN, NOON
from tests.bot.test_moves import AGENT, GUILD, TURN

CHANGE = commit_point("test_task_tool.change")


@pytest.mark.parametrize(
    "given",
    [{"operation": "list"}, {"operation": "add", "title": "x"}, {"operation": "cancel", "which": "passport"}],
)
async def test_a_turn_of_nobody_has_no_tasks_and_touches_nobodys(tmp_path: Path, given: dict[str, str]) -> None:
    prepare(tmp_path / "carina.db", Kind.CONSTELLATION)
    async with Database.open(tmp_path / "carina.db") as database:
        turn = replace(TURN, person=None, scope=Scope(OWNER))
        context = ToolContext(turn, AGENT, None, NOON, database)
        tool = TasksTool("UTC", lambda person: (person,))

        def work(tx: Tx) -> None:
            tasks.add(tx, NewTask("renew the passport", ANN.id, GUILD, Trust.APPROVED), NOON)
            with pytest.raises(ToolError, match="Nobody is talking to you"):
                tool.work(tx, context, TaskArguments.model_validate(given))
            assert [each.title for each in tasks.listing(tx, Scope(OWNER))] == ["renew the passport"]

        await database.write(CHANGE, work)
