"""Groups on Discord: the unmodified program over sockets, each pattern in a channel of its own."""

from collections.abc import AsyncIterator, Callable
from functools import partial

import pytest
import pytest_asyncio

from tests.service.live_service import NO_MERGING, Live, live_service, until
from tests.wire.discord import GuildChannel, Message
from tests.wire.model import Answer, Call, Calls, Held, Reply, Request, text_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

AGENTS = "".join(f'[[agents]]\nname = "{name}"\nsystem_prompt = "You are {name}."\n' for name in ("Ant", "Bee", "Cat"))
GROUPS = {
    "round": 'members = ["Ant", "Bee", "Cat"]\ndefault = true\n',
    "dynamic": """members = [
  { agent = "Ant", capabilities = ["invoices"] },
  { agent = "Bee", capabilities = ["plants"] },
]
pattern = "dynamic"
""",
    "pipeline": """members = ["Ant", "Bee"]
pattern = "pipeline"
[[groups.pipeline.stages]]
name = "draft"
agents = ["Ant"]
[[groups.pipeline.stages]]
name = "final"
agents = ["Bee"]
""",
    "voting": 'members = ["Ant", "Bee", "Cat"]\npattern = "voting"\n',
    "calm": 'members = ["Cat"]\nstates = ["overwhelmed"]\n',
    "led": 'members = ["Ant", "Bee"]\npattern = "supervisor"\n[groups.supervisor]\nleader = "Ant"\n',
}


def rule(shown: Callable[[], bool], request: Request) -> Reply:
    """Each agent says who it is and does what its part asks for; who may take their time does until that is shown."""
    name = request.system.partition("You are ")[2].partition(".")[0]
    heard = "\n".join(text_of(message) for message in request.messages if message["role"] == "user")
    if request.results:
        return Answer(f"{name} was told: {request.results[-1]}")
    if "cast_ballot" in request.tools:
        return Calls(Call("cast_ballot", {"choice": "no" if name == "Cat" else "yes", "reason": f"says {name}"}))
    if "delegate" in request.tools:
        return Calls(Call("delegate", {"agent": "Bee", "task": "count the newts"}))
    if 'stage "draft"' in heard:
        draft = Answer("the draft of Ant")
        return Held(shown, draft) if "take your time" in heard else draft
    if 'stage "final"' in heard:
        return Answer(f"Bee got the draft: {'the draft of Ant' in heard}")
    if "gives you this task" in heard:
        return Answer(f"seven newts, {'count the newts' in heard}")
    return Answer(f"{name} speaking")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def grouped(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Live, dict[str, GuildChannel]]]:
    async with live_service(tmp_path_factory.mktemp("groups"), scripted=True) as made:
        channels = {name: made.guild.text_channel(f"{name}-room") for name in GROUPS}
        tables = (
            f'[[groups]]\nname = "{name}"\nplaces = ["discord:{channels[name].id}"]\n{table}'
            for name, table in GROUPS.items()
        )
        made.configure(f'{NO_MERGING}\ndefault_mode = "open"', AGENTS + "".join(tables))
        log = channels["pipeline"].log
        made.model.default = partial(rule, lambda: any("is working on this" in entry.content for entry in log))
        await made.service.start()
        yield made, channels


def speaker(message: Message) -> str:
    """The name that people see on a message."""
    return message.author_name


async def test_members_of_a_round_speak_in_turn_also_after_a_kill(
    grouped: tuple[Live, dict[str, GuildChannel]],
) -> None:
    made, rooms = grouped
    spoken = [await made.ask(made.ana, rooms["round"], f"next {number}") for number in range(2)]
    await made.service.restart(kill=True)
    spoken += [await made.ask(made.ana, rooms["round"], f"next {number}") for number in range(2, 4)]
    assert [message.content for message in spoken] == ["Ant speaking", "Bee speaking", "Cat speaking", "Ant speaking"]
    assert [speaker(message) for message in spoken] == ["Ant", "Bee", "Cat", "Ant"]


async def test_what_takes_long_is_shown_in_one_message_that_goes_after_the_answer(
    grouped: tuple[Live, dict[str, GuildChannel]],
) -> None:
    made, rooms = grouped
    room = rooms["pipeline"]
    earlier = len(room.log)
    said = await made.ana.say(room, "write something, take your time")
    await room.wait_for_bot(lambda m: m.content == "Bee got the draft: True", after=said)
    await until(lambda: [each.what for each in room.log[earlier:]][-1] == "delete", what="its end")
    told = [(each.what, each.content) for each in room.log[earlier:] if each.from_bot]
    assert told[0] == ("create", "pipeline is working on this: stage 1 of 2.\n… Ant: draft")
    assert [what for what, _ in told] in (["create", "create", "delete"], ["create", "edit", "create", "delete"]), (
        "the second stage may be over before the message changes"
    )
    assert len([each for each in room.from_bot if each.id > said.id]) == 1
