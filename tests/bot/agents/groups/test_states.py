"""How a person is chooses who answers, as far as those who hear the answer may know how they are."""

from pathlib import Path

import pytest

from bot.agents.groups.settings import State
from bot.errors import CallError
from bot.runtime.group_routing import holds
from bot.services.people.people_and_linked_accounts import KnownPeople
from memory import agent_groups, agents, blocks
from memory.blocks import Author
from memory.blocks.document import agent_writer
from memory.people import person_states
from memory.people.audience import Scope
from memory.queue.notifications import Place
from memory.store.database import Tx
from memory.store.records import replace
from tests.bot.agents.groups.parts import Cast
from tests.bot.agents.groups.parts import agents as tables
from tests.bot.parts import ANN, BOB, HALL, NOON, direct, said
from tests.bot.services.calling import registry, somebody
from tests.bot.stage import Service, Setting, running, talked

TIRED = '{ block = "current_state", field = "energy", below = 2 }'
TOML = (
    tables("Ant", "Bee", "Cat").replace(
        'You are Ant."\nblocks = []',
        'You are Ant."\nblocks = [{ label = "current_state", template = "current_state" }]',
    )
    + f"""
[[groups]]
name = "Main"
members = ["Ant"]
default = true
[[groups]]
name = "Crisis"
members = ["Bee"]
states = ["overwhelmed"]
[[groups]]
name = "Slow"
members = ["Cat"]
states = [{TIRED}]
"""
)


async def say(service: Service, place: Place, word: str) -> str:
    """Say how Ann is, or without a word what she said."""
    caller = replace(somebody(ANN.id), scope=Scope(place.audience, frozenset(place.within)))
    offered = KnownPeople(service.database, service.approvals.people, service.clock)
    return str((await registry(offered).call("state", caller, {"state": word})).data()["text"])


async def test_who_said_to_be_overwhelmed_is_answered_by_the_group_for_that_until_they_are_not(tmp_path: Path) -> None:
    model = Cast()
    async with talked(tmp_path, Setting(model, toml=TOML), "hello") as service:
        assert "The group that responds to it answers" in await say(service, HALL, "Overwhelmed")
        await service.heard(said("hello", 2), said("hello", 3, speaker=BOB))
        await service.heard(said("Main: hello", 4))
        (main,) = [each.id for each in await service.read(agent_groups.groups) if each.name == "Main"]
        await service.heard(replace(said("hello", 6), to=main))
        await say(service, HALL, "none")
        await service.heard(said("hello", 5))
    assert [model.asked()[0], sorted(model.asked()[1:3]), *model.asked()[3:]] == ["Ant", ["Ant", "Bee"], *["Ant"] * 3]


async def test_what_was_said_alone_chooses_nobody_where_others_hear_it(tmp_path: Path) -> None:
    model = Cast()
    async with running(tmp_path, Setting(model, toml=TOML)) as service:
        await say(service, direct(ANN), "overwhelmed")
        await service.heard(said("hello", 1))
        await service.heard(said("hello", 2, direct(ANN)))
    assert model.asked() == ["Ant", "Bee"]


async def test_a_field_of_a_block_about_the_person_chooses_where_it_may_be_known(tmp_path: Path) -> None:
    model, place = Cast(), direct(ANN)
    async with running(tmp_path, Setting(model, toml=TOML)) as service:
        await service.heard(said("hello", 1, place))  # makes the block

        def tired(tx: Tx) -> None:
            ant = agents.agent_named(tx, "Ant")
            assert ant is not None
            author = Author(ant.id, Scope(place.audience), agent_writer(ant.id), ANN.trust, NOON)
            blocks.set_field(tx, author, "current_state", "energy", 1)

        await service.write(tired)
        await service.heard(said("hello", 2, place))
        await service.heard(said("hello", 3))
        await service.heard(said("hello", 4, direct(BOB), BOB))
        await service.write(lambda tx: tx.run("UPDATE memory_blocks SET deleted_at = ?", (NOON,)))
        await service.heard(said("hello", 5, place))
    assert model.asked() == ["Ant", "Cat", "Ant", "Ant", "Ant"]


async def test_a_state_lasts_over_a_restart_and_a_long_one_is_refused(tmp_path: Path) -> None:
    model = Cast()
    async with running(tmp_path, Setting(toml=TOML)) as service:
        await say(service, HALL, "overwhelmed")
        with pytest.raises(CallError, match="40 or fewer characters"):
            await say(service, HALL, "x" * 41)
        assert "so the same agents answer as before" in await say(service, direct(ANN), "sleepy")
    async with talked(tmp_path, Setting(model, toml=TOML), "hello") as service:
        seen = await say(service, HALL, "")
        service.clock.forward(person_states.LASTS.total_seconds())
        assert "You haven't told me" in await say(service, HALL, "")
    assert model.asked() == ["Bee"]
    assert seen == "Your state is “overwhelmed”. Groups respond to these states: overwhelmed."


@pytest.mark.parametrize(
    ("state", "content", "expected"),
    [
        (State(block="b", field="mood", value="Low"), "energy: 3\nmood: low", True),
        (State(block="b", field="mood", value="low"), "mood: lower", False),
        (State(block="b", field="mood", value="low"), "a mood: low", False),
        (State(block="b", field="energy", below=3), "energy: 2.5", True),
        (State(block="b", field="energy", below=3), "energy: 3", False),
        (State(block="b", field="energy", above=3), "energy: 4", True),
        (State(block="b", field="energy", above=3), "energy: (not set)", False),
        (State(block="b", field="energy", above=3), "", False),
    ],
)
def test_a_field_holds_by_its_whole_value(state: State, content: str, expected: bool) -> None:
    assert holds(state, content) is expected


@pytest.mark.parametrize(
    "wrong", [{}, {"said": "low", "block": "b"}, {"block": "b", "field": "f"}, {"said": "low", "above": 2}]
)
def test_a_state_that_says_nothing_or_two_things_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r'either "said"|one of "value"'):
        State.model_validate(wrong)
