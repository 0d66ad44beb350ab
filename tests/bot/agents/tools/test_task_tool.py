"""The tool for tasks: whose they are that a turn may see and change."""

from pathlib import Path

import pytest

from bot.agents.tools.agenda import TaskArguments, TasksTool
from bot.agents.tools.base import ToolContext
from bot.errors import ToolError
from memory.agenda import tasks
from memory.agenda.tasks import NewTask
from memory.people.audience import OWNER, Scope, Trust, person_audience
from memory.store.database import Database, Tx
from memory.store.errors import Refused
from memory.store.faults import commit_point
from memory.store.migrations import Kind, prepare
from memory.store.records import replace
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


async def test_words_of_a_direct_message_do_not_go_into_a_task_that_others_see(tmp_path: Path) -> None:
    prepare(tmp_path / "carina.db", Kind.CONSTELLATION)
    async with Database.open(tmp_path / "carina.db") as database:
        turn = replace(TURN, person=ANN.id, scope=Scope(person_audience(ANN.id), frozenset({GUILD})))
        context = ToolContext(turn, AGENT, None, NOON, database)
        tool = TasksTool("UTC", lambda person: (person,))

        def work(tx: Tx) -> None:
            task = tasks.add(tx, NewTask("buy a present", ANN.id, GUILD, Trust.APPROVED), NOON)
            for given in ({"notes": "the diamond"}, {"fields": {"what": "the diamond"}}):
                asked = {"operation": "update", "which": "present", **given}
                with pytest.raises(ToolError, match="where they hear it too"):
                    tool.work(tx, context, TaskArguments.model_validate(asked))
            done = tool.work(tx, context, TaskArguments.model_validate({"operation": "done", "which": "present"}))
            assert done.text == "buy a present is done now"
            again = {"operation": "reopen", "which": "present"}
            assert tool.work(tx, context, TaskArguments.model_validate(again)).text == "buy a present is open now"
            assert tasks.get(tx, task.id, Scope(GUILD)) == task

        await database.write(CHANGE, work)


async def test_a_task_is_not_linked_with_one_that_not_all_who_see_it_can_see(tmp_path: Path) -> None:
    prepare(tmp_path / "carina.db", Kind.CONSTELLATION)
    async with Database.open(tmp_path / "carina.db") as database:

        def work(tx: Tx) -> None:
            alone = person_audience(ANN.id)
            party = tasks.add(tx, NewTask("plan the party", ANN.id, GUILD, Trust.APPROVED), NOON)
            secret = tasks.add(tx, NewTask("buy the diamond", ANN.id, alone, Trust.APPROVED), NOON)
            with pytest.raises(Refused, match="cannot be linked"):
                tasks.needing(tx, party, secret)
            with pytest.raises(Refused, match="cannot be linked"):
                tasks.change(tx, party, {"parent_id": secret.id}, Scope(alone, frozenset({GUILD})), NOON)
            tx.run("UPDATE tasks SET needs = json_array(?) WHERE id = ?", (secret.id, party.id))
            seen = [tasks.get(tx, party.id, scope) for scope in (Scope(GUILD), Scope(alone, frozenset({GUILD})))]
            assert [each and each.waits_for for each in seen] == [(), ("buy the diamond",)]

        await database.write(CHANGE, work)
