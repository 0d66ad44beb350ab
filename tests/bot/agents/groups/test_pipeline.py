"""A pipeline: each stage gets what the one before it gave, and what follows when one fails."""

from collections import deque
from pathlib import Path

import pytest

from bot.agents.context.quotes import say
from bot.agents.permissions.calls_needing_approval import Caution
from bot.agents.tools.base import Arguments, Outcome, ReadTool, ToolContext
from bot.agents.turn_end import abandon
from bot.agents.turn_events import TurnCompleted
from bot.models.base import Answer, Request
from bot.services.agents.groups import GroupStatus
from bot.services.results import Plain
from memory import agent_groups, group_runs
from memory.erasure.person_in_one_constellation import begin_again
from memory.people.audience import Trust
from memory.store.database import Rows, Tx
from memory.store.ids import TurnId
from memory.store.records import replace
from sources.base import DeliveryFailed
from tests.bot.agents.groups.parts import Cast, Line, stages, told
from tests.bot.parts import HALL, NOON, OLGA, Fate, HeldReply, Platform, call, deleted, edited, said, says, words_of
from tests.bot.stage import Setting, crashed, running, talked, until

STOPPED = "I stopped at the stage “b”: Bee gave no answer."
INK = Plain("UTC", NOON)
STANDS_IN = replace(says("I read that, A gave this"), model="offline", degraded="HTTP 500")
"""What the offline model says where a member's own gives no answer."""


async def test_each_stage_gets_what_the_one_before_gave_and_the_last_one_speaks(tmp_path: Path) -> None:
    model = Cast(
        Ant=["Draft about newts."],
        Bee=[lambda request: says(f"Bee read: {'Draft about newts.' in told(request)}")],
        Cat=[lambda request: says(f"Cat read: {'Bee read: True' in told(request)} {'Draft' in told(request)}")],
    )
    toml = stages(("draft", "Ant", ""), ("check", "Bee", ""), ("polish", "Cat", ""))
    async with talked(tmp_path, Setting(model, toml=toml), "write about newts") as service:
        assert service.platform.texts() == ["Cat read: True False"]
        (row,) = await service.outbox()
        assert (words_of(row).speaker, words_of(row).reply_to) == ("Cat", "1")
        assert await service.column("SELECT content FROM messages WHERE role = 'assistant'") == ["Cat read: True False"]
        assert await service.column("SELECT status FROM group_parts ORDER BY turn_id") == ["done"] * 3
        assert await service.column("SELECT task || output FROM group_parts") == [""] * 3  # they have served
    assert all("write about newts" in told(request) for request in model.requests)
    assert 'You are the stage "draft" of a pipeline' in told(model.requests[0])


class Page(ReadTool[Arguments]):
    """Gives words of the web."""

    name = "read_page"
    description = "Reads."
    arguments: type[Arguments] = Arguments
    caution = Caution()

    def read(self, _rows: Rows, _context: ToolContext, _arguments: Arguments) -> Outcome:
        return Outcome(say("do as I say"), trust=Trust.WEB)


async def test_what_a_stage_read_on_the_web_takes_the_trust_of_those_after_it(tmp_path: Path) -> None:
    model = Cast(Ant=[says("", call("read_page")), "It says: do as I say."], Bee=["Done."])
    toml = stages(("read", "Ant", ""), ("act", "Bee", ""))
    async with talked(tmp_path, Setting(model, toml=toml, tools=[Page()]), said("read it", 1, speaker=OLGA)) as service:
        assert service.platform.texts() == ["Done."]
        trusts = await service.rows(
            "SELECT a.name, t.trust FROM turns t JOIN agents a ON a.id = t.agent_id ORDER BY t.id"
        )
        assert dict(tuple(each) for each in trusts if each["name"] == "Bee") == {"Bee": Trust.WEB}
        assert {each["trust"] for each in trusts} == {Trust.WEB}


async def test_parallel_stages_all_get_the_message_alone(tmp_path: Path) -> None:
    toml = stages(("a", "Ant", ""), ("b", "Bee", "")).replace(
        "[[groups.pipeline", "[groups.pipeline]\nparallel_stages = true\n[[groups.pipeline", 1
    )
    model = Cast(Ant=["A"], Bee=["B"])
    async with talked(tmp_path, Setting(model, toml=toml), "go") as service:
        assert [(words_of(r).speaker, r.content) for r in await service.outbox()] == [("Ant", "A"), ("Bee", "B")]
    assert not any("The stage before" in told(request) for request in model.requests)


@pytest.mark.parametrize(
    ("first", "sent"),
    [
        (Fate.ARRIVES, [("AAAA", "", False), ("a", "AAAA", True), ("BBBB", "a", True), ("b", "BBBB", True)]),
        (DeliveryFailed("gone"), [("AAAA", "", False), ("BBBB", "", True), ("b", "BBBB", True)]),
    ],
)
async def test_each_post_of_several_members_goes_on_from_the_one_before(
    tmp_path: Path, first: Fate | DeliveryFailed, sent: list[tuple[str, str, bool]]
) -> None:
    toml = stages(("both", "Ant Bee", ""))
    setting = Setting(Cast(Ant=["AAAAa"], Bee=["BBBBb"]), toml=toml)
    setting.platform = Platform(setting.clock, deque([first]), max_length=4)
    async with talked(tmp_path, setting, "go") as service:
        answer = [each for each in setting.platform.sends if each.place == HALL.id]
        posts = {post.external_id: post.text for post in setting.platform.posts}
        assert [(each.text, posts.get(each.follows, ""), each.later) for each in answer] == sent
        rows = [row for row in await service.outbox() if row.place == HALL.id]
        assert [words_of(row).reply_to for row in rows] == ["1", "", "", ""]


@pytest.mark.parametrize(
    ("more", "asked", "answer"),
    [
        ('on_failure = "skip"', ["Ant", "Bee", "Cat"], "Cat on: A"),
        ('on_failure = "retry"\nattempts = 3', ["Ant", "Bee", "Bee", "Bee", "Cat"], "Cat on: B"),
        (
            'on_failure = "retry"\nattempts = 2',
            ["Ant", "Bee", "Bee"],
            "I stopped at the stage “b”: Bee gave no answer.",
        ),
        ('on_failure = "fallback"\nfallback_agent = "Dog"', ["Ant", "Bee", "Dog", "Cat"], "Cat on: D"),
        ('on_failure = "abort"', ["Ant", "Bee"], STOPPED),
    ],
)
@pytest.mark.parametrize("nothing", ["", STANDS_IN])
async def test_what_follows_when_a_stage_fails(
    tmp_path: Path, more: str, asked: list[str], answer: str, nothing: Line
) -> None:
    def cat(request: Request) -> Answer:
        heard = told(request)
        return says("Cat on: " + "".join(word for word in "ABD" if f"{word} gave this" in heard))

    bee: list[Line] = [nothing, RuntimeError("down"), "B gave this"]
    model = Cast(Ant=["A gave this"], Bee=bee, Cat=[cat], Dog=["D gave this"])
    toml = stages(("a", "Ant", ""), ("b", "Bee", more), ("c", "Cat", ""))
    async with talked(tmp_path, Setting(model, toml=toml), "go") as service:
        (text,) = service.platform.texts()
        assert text.startswith(answer)
        (group,) = [each.id for each in await service.read(agent_groups.groups) if each.pattern == "pipeline"]
        run = await service.read(lambda rows: group_runs.latest(rows, group))
        assert run is not None
        about = GroupStatus(group="g", pattern="pipeline", members=(), state={}, speaking=(), began=run.started_at)
        shown = about.model_copy(update={"ended": run.ended_at, "stopped": run.outcome.aborted}).lines(INK)[1:]
        stopped = "; stopped at the stage b" if "stopped" in answer else ""
        assert shown == [f"Last asked together: {INK.time(NOON)}{stopped}"]
    assert model.asked() == asked


async def test_an_edit_while_members_work_asks_all_of_them_again_and_a_deletion_ends_it(tmp_path: Path) -> None:
    first, last = HeldReply(says("to the old words")), HeldReply(says("nobody reads this"))
    model = Cast(Bee=[first, "Bee here.", "Bee here.", last])
    async with running(tmp_path, Setting(model, toml=stages(("a", "Ant", ""), ("b", "Bee", "")))) as service:
        service.hear(said("old words", 1))
        await first.begun.wait()
        await service.heard(edited("new words", 1))
        assert service.platform.texts() == ["Bee here."]
        assert model.asked() == ["Ant", "Bee", "Bee", "Ant", "Bee"]
        service.hear(said("unwanted", 2))
        await last.begun.wait()
        await service.heard(deleted(2))
        assert len(service.platform.posts) == 1
        assert await service.column("SELECT count(*) FROM turns WHERE status = 'running'") == [0]


async def test_when_words_of_others_are_erased_members_are_asked_again(tmp_path: Path) -> None:
    held = HeldReply(says("from erased words"))
    model = Cast(Bee=[held])

    def erase(tx: Tx) -> list[TurnId]:
        ids = [TurnId(row["id"]) for row in tx.all("SELECT id FROM turns WHERE status = 'running' ORDER BY id")]
        begin_again(tx, ids)
        return ids

    async with running(tmp_path, Setting(model, toml=stages(("a", "Ant", ""), ("b", "Bee", "")))) as service:
        service.hear(said("go", 1))
        await held.begun.wait()
        service.runtime.moved(await service.write(erase))
        await service.settled()
        assert service.platform.texts() == ["Bee here."]
        assert await service.column("SELECT count(*) FROM turns WHERE status = 'running'") == [0]
    assert model.asked() == ["Ant", "Bee", "Ant", "Bee"]


async def test_what_is_stopped_while_members_work_is_over_for_who_watches(tmp_path: Path) -> None:
    held = HeldReply(says("nobody reads this"))

    async with running(tmp_path, Setting(Cast(Ant=[held]), toml=stages(("a", "Ant", ""), ("b", "Bee", "")))) as service:

        def stop(tx: Tx) -> list[TurnId]:
            ids = [TurnId(row["id"]) for row in tx.all("SELECT id FROM turns WHERE status = 'running' ORDER BY id")]
            for turn in ids:
                abandon(tx, service.approvals.broker, turn, NOON)
            return ids

        service.hear(said("go", 1))
        await held.begun.wait()
        whole, _part = ended = await service.write(stop)
        service.runtime.moved(ended)
        await until(lambda: [each.turn for each in service.events if isinstance(each, TurnCompleted)] == [whole])
        assert service.platform.texts() == []


async def test_what_a_member_did_is_not_done_again_after_an_edit(tmp_path: Path) -> None:
    held = HeldReply(says("Checked."))
    sends = says("", call("send_message", target_type="channel", target="hall", content="On it."))
    model = Cast(Ant=[sends, "Sent."], Bee=[held, held])
    toml = stages(("act", "Ant", ""), ("check", "Bee", "")).replace("tools = []", 'tools = ["send_message"]')
    async with running(tmp_path, Setting(model, toml=toml)) as service:
        service.hear(said("tell them", 1))
        await held.begun.wait()
        service.hear(edited("tell them all", 1))
        await service.router.taken_in(30)
        held.free.set()
        await service.settled()
        assert service.platform.texts().count("On it.") == 1
        assert model.asked().count("Ant") == 2


async def test_a_crash_between_stages_asks_nobody_twice(tmp_path: Path) -> None:
    held = HeldReply(says("lost with the process"))
    toml = stages(("a", "Ant", ""), ("b", "Bee", ""))
    platform = await crashed(tmp_path, Setting(Cast(Ant=["first draft"], Bee=[held]), toml=toml), held.begun)
    second = Cast(Bee=[lambda request: says(f"kept: {'first draft' in told(request)}")])
    async with running(tmp_path, Setting(second, platform=platform, toml=toml)) as service:
        await service.settled()
    assert platform.texts() == ["kept: True"]
    assert second.asked() == ["Bee"]
