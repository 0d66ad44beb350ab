"""A leader who gives tasks to other members."""

from pathlib import Path

import pytest

from tests.bot.agents.groups.parts import LED, Cast, delegates, group, told
from tests.bot.parts import HeldReply, results, said, says
from tests.bot.requests import Bell, answer, ring, waiting
from tests.bot.stage import Setting, crashed, running, talked


async def test_a_task_goes_to_the_member_and_what_it_says_comes_back_to_the_leader(tmp_path: Path) -> None:
    model = Cast(
        Ant=[delegates("bee", "count the newts"), lambda request: says(f"Bee says: {results(request)[0][0]}")],
        Bee=["Seven newts."],
    )
    async with talked(tmp_path, Setting(model, toml=LED), "how many newts?") as service:
        assert service.platform.texts() == ["Bee says: Seven newts."]
        assert await service.column("SELECT kind || ' ' || status FROM group_parts") == ["task done"]
    (asked,) = model.of("Bee")
    assert "count the newts" in told(asked)
    assert "how many newts?" in told(asked)
    assert [spec.name for spec in asked.tools] == []  # only who leads gives tasks
    assert [spec.name for spec in model.of("Ant")[0].tools] == ["delegate"]


async def test_tasks_of_a_turn_that_goes_on_after_a_yes_have_served_too(tmp_path: Path) -> None:
    model = Cast(Ant=[says("", ring(times=1)), "It waits.", delegates("bee", "count the newts"), "Seven."], Bee=["7"])
    async with talked(tmp_path, Setting(model, toml=LED, tools=[Bell()]), "how many newts?") as service:
        await answer(service, await waiting(service))
        assert len(model.of("Bee")) == 1
        assert await service.column("SELECT task || output FROM group_parts") == [""]


async def test_nobody_gives_a_task_to_itself_to_strangers_or_too_many_to_one(tmp_path: Path) -> None:
    calls = [
        delegates("Ant", "x", "c1"), delegates("Eel", "x", "c2"), delegates("Bee", "1", "c3"),
        delegates("Bee", "2", "c4"), delegates("Bee", "3", "c5"),
    ]  # fmt: skip
    model = Cast(Ant=[*calls, "I give up."])
    async with talked(tmp_path, Setting(model, toml=LED), "go") as service:
        assert service.platform.texts() == ["I give up."]
    can = "You can give tasks to: Bee, Cat, Dog."
    assert results(model.requests[-1]) == [
        (f"You cannot give a task to yourself: do it, or give it to somebody else. {can}", False),
        (f"'Eel' is not in this group. {can}", False),
        ("Bee here.", True),
        ("Bee here.", True),
        ("Bee has had 2 tasks for this message, which is as many as one may have. Do it yourself.", False),
    ]  # fmt: skip


async def test_a_task_never_goes_in_a_circle(tmp_path: Path) -> None:
    members = '{ agent = "Ant", role = "supervisor" }, { agent = "Bee", role = "supervisor" }, "Cat"'
    toml = group("supervisor", '[groups.supervisor]\nleader = "Ant"\n', members)
    model = Cast(
        Ant=[delegates("Bee", "do it"), "done"],
        Bee=[delegates("Ant", "no, you"), lambda request: says(results(request)[-1][0])],
    )
    async with talked(tmp_path, Setting(model, toml=toml), "go") as service:
        assert service.platform.texts() == ["done"]
    assert results(model.of("Ant")[1])[0] == (
        "Ant is waiting for you, so that would be circular. You can give tasks to: Cat.", True
    )  # fmt: skip


@pytest.mark.parametrize(("strategy", "chosen"), [("capability", "Cat"), ("round_robin", "Dog"), ("least_busy", "Dog")])
async def test_a_task_for_nobody_by_name_goes_by_the_strategy(tmp_path: Path, strategy: str, chosen: str) -> None:
    members = '"Ant", "Bee", { agent = "Cat", capabilities = ["newts"] }, "Dog"'
    toml = group("supervisor", f'[groups.supervisor]\nleader = "Ant"\nstrategy = "{strategy}"\n', members)
    model = Cast(Ant=[delegates("Bee", "x", "c1"), delegates("Cat", "x", "c2"), delegates("", "newts", "c3"), "done"])
    async with running(tmp_path, Setting(model, toml=toml)) as service:
        await service.heard(said("go", 1))
    assert model.asked() == ["Ant", "Bee", "Ant", "Cat", "Ant", chosen, "Ant"]


async def test_what_nobody_can_take_now_is_done_afterwards_and_told(tmp_path: Path) -> None:
    toml = LED.replace("max_delegations = 2", 'max_delegations = 1\nfallback = "queue"')
    model = Cast(Ant=[delegates("Bee", "1", "c1"), delegates("Bee", "2", "c2"), "Bee goes on."], Bee=["one", "two"])
    async with talked(tmp_path, Setting(model, toml=toml), "go") as service:
        assert service.platform.texts() == ["Bee goes on.", "two"]
    assert "A task was left for you while a message here was answered: 2" in told(model.of("Bee")[1])


@pytest.mark.parametrize(
    ("fallback", "told_so"), [("handle_self", "Do it yourself."), ("fail", "The task is not done")]
)
async def test_a_leader_is_told_what_happens_to_a_task_that_nobody_can_take(
    tmp_path: Path, fallback: str, told_so: str
) -> None:
    toml = LED.replace("max_delegations = 2", f'max_delegations = 1\nfallback = "{fallback}"')
    model = Cast(Ant=[delegates("Bee", "1", "c1"), delegates("Bee", "2", "c2"), "done"], Bee=["one"])
    async with talked(tmp_path, Setting(model, toml=toml), "go") as service:
        assert service.platform.texts() == ["done"]
    assert told_so in results(model.of("Ant")[-1])[-1][0]


async def test_a_crash_while_a_member_works_goes_on_with_that_member_alone(tmp_path: Path) -> None:
    held = HeldReply(says("lost"))
    first = Cast(Ant=[delegates("Bee", "count")], Bee=[held])
    platform = await crashed(tmp_path, Setting(first, toml=LED), held.begun)
    second = Cast(Bee=["Seven."], Ant=[lambda request: says(results(request)[0][0])])
    async with running(tmp_path, Setting(second, platform=platform, toml=LED)) as service:
        await service.settled()
        assert await service.column("SELECT count(*) FROM group_parts") == [1]
    assert platform.texts() == ["Seven."]
    assert second.asked() == ["Bee", "Ant"]


async def test_agents_that_keep_each_other_busy_are_stopped_and_that_is_said_once(tmp_path: Path) -> None:
    toml = LED.replace("max_delegations = 2", "max_delegations = 50")
    names = ["Bee", "Cat", "Dog"]
    calls = [delegates(names[number % 3], "again", f"c{number}") for number in range(20)]
    model = Cast(Ant=[*calls, "Enough."])
    limits = Setting().limits.__class__(max_steps=30)
    async with talked(tmp_path, Setting(model, toml=toml, limits=limits), "go") as service:
        texts = service.platform.texts()
        assert sum("I stopped the agents here" in text for text in texts) == 1
        assert texts[-1] == "Enough."
        assert await service.column("SELECT count(*) FROM group_parts") == [16]
