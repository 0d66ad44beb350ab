"""The tool for tasks: whose they are that a turn may see and change."""

from typing import Any

import pytest

from bot.agents.tools.agenda import TaskArguments, TasksTool
from bot.agents.tools.base import ToolContext
from bot.errors import ToolError
from memory.agenda import tasks
from memory.agenda.tasks import Task
from memory.people.audience import OWNER, Scope, Trust, person_audience
from memory.store.database import Tx
from memory.store.errors import Refused
from memory.store.records import replace
from tests.bot.agents.test_next_step import AGENT, GUILD, TURN
from tests.bot.parts import ANN, NOON
from tests.memory.parts import store

ALONE = person_audience(ANN.id)
NO_DATABASE: Any = None


def used(tx: Tx, turn: Any, **given: Any) -> str:
    context = ToolContext(turn, AGENT, None, NOON, NO_DATABASE)
    return TasksTool("UTC", lambda person: (person,)).work(tx, context, TaskArguments.model_validate(given)).text


@pytest.mark.parametrize(
    "given", [{"operation": "list"}, {"operation": "add", "title": "x"}, {"operation": "cancel", "which": "passport"}]
)
def test_a_turn_of_nobody_has_no_tasks_and_touches_nobodys(given: dict[str, str]) -> None:
    tx = store()
    tasks.add(tx, Task("renew the passport", ANN.id, GUILD, Trust.APPROVED, NOON))
    with pytest.raises(ToolError, match="Nobody is talking to you"):
        used(tx, replace(TURN, person=None, scope=Scope(OWNER)), **given)
    assert [each.title for each in tasks.listing(tx, Scope(OWNER))] == ["renew the passport"]


def test_words_of_a_direct_message_do_not_go_into_a_task_that_others_see() -> None:
    tx, turn = store(), replace(TURN, person=ANN.id, scope=Scope(ALONE, frozenset({GUILD})))
    task = tasks.add(tx, Task("buy a present", ANN.id, GUILD, Trust.APPROVED, NOON))
    for given in ({"notes": "the diamond"}, {"fields": {"what": "the diamond"}}):
        with pytest.raises(ToolError, match="Change it where they are"):
            used(tx, turn, operation="update", which="present", **given)
    assert used(tx, turn, operation="done", which="present") == "buy a present is done now"
    assert used(tx, turn, operation="reopen", which="present") == "buy a present is open now"
    assert tasks.get(tx, task.id, Scope(GUILD)) == task


def test_a_task_is_not_linked_with_one_that_not_all_who_see_it_can_see() -> None:
    tx = store()
    party = tasks.add(tx, Task("plan the party", ANN.id, GUILD, Trust.APPROVED, NOON))
    secret = tasks.add(tx, Task("buy the diamond", ANN.id, ALONE, Trust.APPROVED, NOON))
    with pytest.raises(Refused, match="cannot be linked"):
        tasks.needing(tx, party, secret)
    with pytest.raises(Refused, match="cannot be linked"):
        tasks.change(tx, party, {"parent_id": secret.id}, Scope(ALONE, frozenset({GUILD})), NOON)
    tx.run("UPDATE tasks SET needs = json_array(?) WHERE id = ?", (secret.id, party.id))
    seen = [tasks.get(tx, party.id, scope) for scope in (Scope(GUILD), Scope(ALONE, frozenset({GUILD})))]
    assert [each and each.waits_for for each in seen] == [(), ("buy the diamond",)]
