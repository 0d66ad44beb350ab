"""The tool for tasks: whose they are that a turn may see and change."""

from dataclasses import replace
from pathlib import Path

import pytest

from bot.agents.tools.base import ToolContext
from bot.agents.tools.tasks import TaskArguments, TasksTool
from bot.errors import ToolError
from memory.agenda import tasks
from memory.agenda.tasks import NewTask
from memory.people.audience import OWNER, Scope, Trust
from memory.store.database import Database, Tx
from memory.store.faults import commit_point
from memory.store.migrations import Kind, prepare
from tests.bot.agents.test_steps import AGENT, GUILD, TURN
from tests.bot.parts import ANN, NOON

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
