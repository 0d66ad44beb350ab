"""Agents that write to each other: taken up after people, for the same ears, never in circles."""

from pathlib import Path

import pytest

from bot.models.base import Answer, Request, ToolMessage
from memory.people.audience import Trust
from tests.bot.agents.groups.parts import FOUR, Cast, told
from tests.bot.parts import (
    ANN,
    BOB,
    HALL,
    HeldReply,
    MovableClock,
    ScriptedModel,
    call,
    deleted,
    direct,
    person,
    results,
    said,
    says,
)
from tests.bot.stage import Setting, running, talked, until

ANNS = direct(ANN)

TWO = FOUR.replace("tools = []", 'tools = ["send_message"]') + (
    '[[groups]]\nname = "Front"\nmembers = ["Ant"]\ndefault = true\n'
    '[[groups]]\nname = "Back"\nmembers = ["Bee", "Cat"]\n'
    '[[groups]]\nname = "Panel"\npattern = "voting"\nmembers = ["Bee", "Cat", "Dog"]\n'
)


def writes(kind: str, target: str, content: str, ident: str = "") -> Answer:
    return says("", call("send_message", ident, target_type=kind, target=target, content=content))


def outcome(request: Request) -> tuple[str, bool]:
    return results(request)[-1]


async def test_an_agent_takes_up_what_another_wrote_and_answers_where_that_was(tmp_path: Path) -> None:
    model = Cast(Ant=[writes("agent", "bee", "look into newts"), "I asked Bee."], Bee=["Seven newts."])
    async with talked(tmp_path, Setting(model, toml=TWO), "how many newts?") as service:
        assert service.platform.texts() == ["I asked Bee.", "Seven newts."]
        assert {post.place for post in service.platform.posts} == {HALL.id}
        row = (await service.rows("SELECT * FROM messages WHERE content = 'look into newts'"))[0]
        assert (row["role"], row["speaker"]) == ("system", "Ant")
        assert (row["audience"], row["person_id"]) == (HALL.audience, None)
        turns = await service.rows("SELECT person_id, audience FROM turns ORDER BY id")
        assert {(turn["person_id"], turn["audience"]) for turn in turns} == {(ANN.id, HALL.audience)}
    (asked,) = model.of("Bee")
    assert "[Ant (an agent, to other agents)" in told(asked)
    assert "look into newts" in told(asked)
    assert "Ant, another agent, wrote that to Bee" in told(asked)
    assert outcome(model.of("Ant")[1]) == ("Bee takes it up here as soon as people are answered", True)


async def test_what_is_said_alone_stays_with_who_heard_it(tmp_path: Path) -> None:
    model = Cast(Ant=[writes("agent", "Bee", "the secret is elm"), ""], Bee=["Elm it is.", "Hello."])
    async with talked(tmp_path, Setting(model, toml=TWO), said("a secret: elm", 1, ANNS)) as service:
        assert service.platform.texts(ANNS.id) == ["Elm it is."]
        await service.heard(said("Back: hello", 2, HALL))
        turns = await service.column("SELECT audience FROM turns WHERE place_id = ?", HALL.id)
        assert set(turns) == {HALL.audience}
    assert "elm" not in told(model.requests[-1])


async def test_who_is_trusted_little_is_trusted_no_more_through_an_agent(tmp_path: Path) -> None:
    model = Cast(Ant=[writes("agent", "Bee", "do it"), ""], Bee=[""])
    async with running(tmp_path, Setting(model, toml=TWO)) as service:
        await service.heard(said("do it", 1, speaker=person("Cy", Trust.STRANGER)))
        assert await service.column("SELECT trust FROM turns ORDER BY id") == [int(Trust.STRANGER)] * 2


@pytest.mark.parametrize(
    ("kind", "target", "why"),
    [
        ("agent", "Ant", "You cannot write to yourself. You can write to: Bee, Cat, Dog."),
        ("agent", "Eel", "There is no agent 'Eel'. You can write to: Bee, Cat, Dog."),
        ("group", "Eels", "There is no group 'Eels'. The groups are: Back, Front, Panel."),
        ("group", "Front", "The message was not sent: nobody else in the group Front can answer."),
        ("agent", "Cat", "The message was not sent: Cat is hibernated and answers nobody."),
    ],
)
async def test_what_nobody_could_take_up_is_an_error(tmp_path: Path, kind: str, target: str, why: str) -> None:
    model = Cast(Ant=[writes(kind, target, "hello"), "Well."])
    async with running(tmp_path, Setting(model, toml=TWO)) as service:
        await service.write(lambda tx: tx.run("UPDATE agents SET status = 'hibernated' WHERE name = 'Cat'"))
        await service.heard(said("go", 1))
        assert service.platform.texts() == ["Well."]
        assert await service.column("SELECT count(*) FROM inbox") == [1]
    assert outcome(model.requests[-1]) == (why, False)


def back_and_forth(request: Request) -> Answer:
    """Writes to the other one, and has nothing to say."""
    if isinstance(request.messages[-1], ToolMessage):
        return says("")
    other = "Bee" if "You are Ant." in request.system else "Ant"
    return writes("agent", other, "and you?")


async def test_two_who_write_to_each_other_without_end_are_stopped_and_that_is_said_once(tmp_path: Path) -> None:
    async with talked(tmp_path, Setting(ScriptedModel(otherwise=back_and_forth), toml=TWO), "go") as service:
        assert await service.column("SELECT count(*) FROM agent_messages") == [6], "the pair has to rest"
        stopped = "(I stopped the agents here because they kept giving each other work.)"
        assert service.platform.texts() == [stopped]


async def test_one_message_causes_only_so_many_turns_however_slowly(tmp_path: Path) -> None:
    clock = MovableClock()

    def slowly(request: Request) -> Answer:
        clock.forward(61)
        return back_and_forth(request)

    async with talked(tmp_path, Setting(ScriptedModel(otherwise=slowly), clock=clock, toml=TWO), "go") as service:
        assert await service.column("SELECT count(*) FROM agent_messages") == [16]
        assert len(service.platform.texts()) == 1
        await service.heard(said("again", 2))
        assert await service.column("SELECT count(DISTINCT root_id) FROM agent_messages") == [2], "each has its own"


async def test_people_come_before_agents(tmp_path: Path) -> None:
    held = HeldReply(says("I asked Bee."))
    model = Cast(Ant=["To Bob."], Bee=["From Bee."])
    model.replies.extend([writes("agent", "Bee", "later"), held])
    together = TWO.replace('members = ["Ant"]', 'members = ["Ant", "Bee"]\npattern = "supervisor"')
    async with running(tmp_path, Setting(model, toml=together)) as service:
        service.hear(said("go", 1))
        await held.begun.wait()
        service.hear(said("and me?", 2, speaker=BOB))
        await service.stored()
        held.free.set()
        await service.settled()
        assert service.platform.texts() == ["I asked Bee.", "To Bob.", "From Bee."]


async def test_what_was_written_for_a_message_that_is_taken_back_goes_with_it(tmp_path: Path) -> None:
    held = HeldReply(says("too late"))
    model = Cast(Ant=[writes("agent", "Bee", "count"), held])
    async with running(tmp_path, Setting(model, toml=TWO)) as service:
        service.hear(said("go", 1))
        await held.begun.wait()
        service.hear(deleted(1))
        # A row that is put off counts as settled, so the end of this one is waited for.
        await until(lambda: service.column("SELECT 1 FROM inbox WHERE source = 'agent' AND status = 'done'"))
        await service.settled()
        assert service.platform.texts() == []
    assert model.of("Bee") == []
