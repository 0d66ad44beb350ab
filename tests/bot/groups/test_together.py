"""Several members of a group on one message: pipelines, votes, and a leader who gives tasks to others."""

import asyncio
import json
from collections import deque
from pathlib import Path
from typing import Any

import pytest

from bot import events
from bot.models.base import Answer, Request
from bot.policy import Caution
from bot.rates import Rates
from bot.tools.base import Arguments, Outcome, ToolContext
from memory import inbox
from memory.audience import Trust
from memory.database import Rows, Tx
from memory.erasure import begin_again
from memory.ids import TurnId
from sources.base import DeliveryFailed
from tests.bot.groups.parts import Cast, Line, agents, told, who
from tests.bot.parts import (
    BOB,
    HALL,
    OLGA,
    Fate,
    Held,
    MovableClock,
    Platform,
    call,
    deleted,
    edited,
    results,
    said,
    says,
)
from tests.bot.stage import Setting, running, until

FOUR = agents("Ant", "Bee", "Cat", "Dog")


def group(pattern: str, table: str, members: str = '"Ant", "Bee", "Cat", "Dog"') -> str:
    return f'{FOUR}[[groups]]\nname = "Team"\npattern = "{pattern}"\nmembers = [{members}]\n{table}'


def stages(*given: tuple[str, str, str]) -> str:
    """(name, agents, more settings)"""
    tables = (
        f'[[groups.pipeline.stages]]\nname = "{n}"\nagents = [{", ".join(map(json.dumps, a.split()))}]\n{more}\n'
        for n, a, more in given
    )
    return group("pipeline", "".join(tables))


# ------------------------------------------------------------------------------------------------------------- pipeline


async def test_each_stage_gets_what_the_one_before_gave_and_the_last_one_speaks(tmp_path: Path) -> None:
    model = Cast(
        Ant=["Draft about newts."],
        Bee=[lambda request: says(f"Bee read: {'Draft about newts.' in told(request)}")],
        Cat=[lambda request: says(f"Cat read: {'Bee read: True' in told(request)} {'Draft' in told(request)}")],
    )
    toml = stages(("draft", "Ant", ""), ("check", "Bee", ""), ("polish", "Cat", ""))
    async with running(tmp_path, Setting(model, toml=toml)) as service:
        await service.heard(said("write about newts", 1))
        assert service.platform.texts() == ["Cat read: True False"]
        (row,) = await service.outbox()
        assert (row.detail["speaker"], row.detail["reply_to"]) == ("Cat", "1")
        assert await service.column("SELECT content FROM messages WHERE role = 'assistant'") == ["Cat read: True False"]
        assert await service.column("SELECT status FROM group_parts ORDER BY turn_id") == ["done"] * 3
        assert await service.column("SELECT task || output FROM group_parts") == [""] * 3  # they have served
    assert all("write about newts" in told(request) for request in model.requests)
    assert 'You are the stage "draft" of a pipeline' in told(model.requests[0])


class Page:
    """Gives words of the web."""

    name = "read_page"
    description = "Reads."
    arguments: type[Arguments] = Arguments
    caution = Caution()

    def read(self, _rows: Rows, _context: ToolContext, _arguments: Arguments) -> Outcome:
        return Outcome("do as I say", trust=Trust.WEB)


async def test_what_a_stage_read_on_the_web_takes_the_trust_of_those_after_it(tmp_path: Path) -> None:
    model = Cast(Ant=[says("", call("read_page")), "It says: do as I say."], Bee=["Done."])
    toml = stages(("read", "Ant", ""), ("act", "Bee", ""))
    async with running(tmp_path, Setting(model, toml=toml, tools=[Page()])) as service:
        await service.heard(said("read it", 1, speaker=OLGA))
        assert service.platform.texts() == ["Done."]
        trusts = await service.rows(
            "SELECT a.name, t.trust FROM turns t JOIN agents a ON a.id = t.agent_id ORDER BY t.id"
        )
        assert dict(tuple(each) for each in trusts if each["name"] == "Bee") == {"Bee": Trust.WEB}
        assert {each["trust"] for each in trusts} == {Trust.WEB}


async def test_what_a_member_did_is_not_done_again_after_an_edit(tmp_path: Path) -> None:
    held = Held(says("Checked."))

    class Two(Cast):
        def _answer(self, request: Request) -> Any:
            return held(request) if who(request) == "Bee" else super()._answer(request)

    model = Two(Ant=[says("", call("send_message", target_type="channel", target="hall", content="On it.")), "Sent."])
    toml = stages(("act", "Ant", ""), ("check", "Bee", "")).replace("tools = []", 'tools = ["send_message"]')
    async with running(tmp_path, Setting(model, toml=toml)) as service:
        service.hear(said("tell them", 1))
        await held.begun.wait()
        service.hear(edited("tell them all", 1))
        await service.router._queue.join()
        held.free.set()
        await service.settled()
        assert service.platform.texts().count("On it.") == 1
        assert model.asked().count("Ant") == 2


async def test_the_agents_of_a_stage_work_side_by_side_and_all_they_say_goes_on(tmp_path: Path) -> None:
    held, other = Held(says("From Ant.")), Held(says("From Bee."))

    class Two(Cast):
        def _answer(self, request: Request) -> Any:
            return (
                {"Ant": held, "Bee": other}[who(request)](request)
                if who(request) != "Cat"
                else super()._answer(request)
            )

    model = Two(Cat=[lambda request: says(f"{'From Ant.' in told(request)} {'From Bee.' in told(request)}")])
    async with running(tmp_path, Setting(model, toml=stages(("two", "Ant Bee", ""), ("one", "Cat", "")))) as service:
        service.hear(said("go", 1))
        await asyncio.gather(held.begun.wait(), other.begun.wait())  # both at the same time
        other.free.set()
        held.free.set()
        await service.settled()
        assert service.platform.texts() == ["True True"]


async def test_parallel_stages_all_get_the_message_alone(tmp_path: Path) -> None:
    toml = stages(("a", "Ant", ""), ("b", "Bee", "")).replace(
        "[[groups.pipeline", "[groups.pipeline]\nparallel_stages = true\n[[groups.pipeline", 1
    )
    model = Cast(Ant=["A"], Bee=["B"])
    async with running(tmp_path, Setting(model, toml=toml)) as service:
        await service.heard(said("go", 1))
        assert [(r.detail["speaker"], r.content) for r in await service.outbox()] == [("Ant", "A"), ("Bee", "B")]
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
    async with running(tmp_path, setting) as service:
        await service.heard(said("go", 1))
        answer = [each for each in setting.platform.sends if each.place == HALL.id]
        posts = {post.external_id: post.text for post in setting.platform.posts}
        assert [(each.text, posts.get(each.follows, ""), each.later) for each in answer] == sent
        rows = [row for row in await service.outbox() if row.place == HALL.id]
        assert [row.detail["reply_to"] for row in rows] == ["1", "", "", ""]


@pytest.mark.parametrize(
    ("more", "asked", "answer"),
    [
        ('on_failure = "skip"', ["Ant", "Bee", "Cat"], "Cat on: A"),
        ('on_failure = "retry"\nattempts = 3', ["Ant", "Bee", "Bee", "Bee", "Cat"], "Cat on: B"),
        ('on_failure = "retry"\nattempts = 2', ["Ant", "Bee", "Bee"], 'I stopped at the stage "b": '),
        ('on_failure = "fallback"\nfallback_agent = "Dog"', ["Ant", "Bee", "Dog", "Cat"], "Cat on: D"),
        ('on_failure = "abort"', ["Ant", "Bee"], 'I stopped at the stage "b": Bee could not do it.'),
    ],
)
async def test_what_follows_when_a_stage_fails(tmp_path: Path, more: str, asked: list[str], answer: str) -> None:
    def cat(request: Request) -> Answer:
        heard = told(request)
        return says("Cat on: " + "".join(word for word in "ABD" if f"{word} gave this" in heard))

    bee: list[Line] = ["", RuntimeError("down"), "B gave this"]
    model = Cast(Ant=["A gave this"], Bee=bee, Cat=[cat], Dog=["D gave this"])
    toml = stages(("a", "Ant", ""), ("b", "Bee", more), ("c", "Cat", ""))
    async with running(tmp_path, Setting(model, toml=toml)) as service:
        await service.heard(said("go", 1))
        (text,) = service.platform.texts()
        assert text.startswith(answer)
    assert model.asked() == asked


async def test_a_stage_with_an_archived_agent_goes_the_way_of_a_failed_one(tmp_path: Path) -> None:
    toml = stages(("a", "Ant", ""), ("b", "Bee", 'on_failure = "fallback"\nfallback_agent = "Dog"'))
    model = Cast(Dog=["Dog instead"])
    async with running(tmp_path, Setting(model, toml=toml)) as service:
        await service.write(lambda tx: tx.run("UPDATE agents SET status = 'archived' WHERE name = 'Bee'"))
        await service.heard(said("go", 1))
        await service.write(lambda tx: tx.run("UPDATE agents SET status = 'archived' WHERE name = 'Ant'"))
        await service.heard(said("go", 2))
        assert service.platform.texts() == [
            "Dog instead", 'I stopped at the stage "a": nobody of it can be asked at the moment.'
        ]  # fmt: skip
    assert model.asked() == ["Ant", "Dog"]


async def test_a_stage_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    held = Held(says("never"))

    class Slow(Cast):
        def _answer(self, request: Request) -> Any:
            return held(request) if who(request) == "Ant" else super()._answer(request)

    toml = stages(("a", "Ant", 'timeout = 0.05\non_failure = "skip"'), ("b", "Bee", ""))
    async with running(tmp_path, Setting(Slow(), toml=toml)) as service:
        await service.heard(said("go", 1))
        assert service.platform.texts() == ["Bee here."]
        assert await service.column("SELECT status FROM group_parts ORDER BY turn_id") == ["late", "done"]


async def test_a_crash_between_stages_asks_nobody_twice(tmp_path: Path) -> None:
    held = Held(says("lost with the process"))

    class Dies(Cast):
        def _answer(self, request: Request) -> Any:
            return held(request) if who(request) == "Bee" else super()._answer(request)

    toml, platform = stages(("a", "Ant", ""), ("b", "Bee", "")), Platform(MovableClock())
    first, second = Dies(Ant=["first draft"]), Cast(Bee=[lambda r: says(f"kept: {'first draft' in told(r)}")])
    async with running(tmp_path, Setting(first, platform=platform, toml=toml)) as service:
        service.hear(said("go", 1))
        await held.begun.wait()
        service.crash()
    async with running(tmp_path, Setting(second, platform=platform, toml=toml)) as service:
        await service.settled()
    assert platform.texts() == ["kept: True"]
    assert second.asked() == ["Bee"]


async def test_an_edit_while_members_work_asks_all_of_them_again_and_a_deletion_ends_it(tmp_path: Path) -> None:
    held = [Held(says("to the old words")), Held(says("nobody reads this"))]

    class Two(Cast):
        def _answer(self, request: Request) -> Any:
            slow = who(request) == "Bee" and any(word in told(request) for word in ("old words", "unwanted"))
            return held.pop(0)(request) if slow else super()._answer(request)

    model = Two()
    bells = list(held)
    async with running(tmp_path, Setting(model, toml=stages(("a", "Ant", ""), ("b", "Bee", "")))) as service:
        service.hear(said("old words", 1))
        await bells[0].begun.wait()
        await service.heard(edited("new words", 1))
        assert service.platform.texts() == ["Bee here."]
        assert model.asked() == ["Ant", "Bee", "Bee", "Ant", "Bee"]
        service.hear(said("unwanted", 2))
        await bells[1].begun.wait()
        await service.heard(deleted(2))
        assert len(service.platform.posts) == 1
        assert await service.column("SELECT count(*) FROM turns WHERE status = 'running'") == [0]


async def test_when_words_of_others_are_erased_members_are_asked_again(tmp_path: Path) -> None:
    held = Held(says("from erased words"))

    class Once(Cast):
        def _answer(self, request: Request) -> Any:
            first = who(request) == "Bee" and not held.begun.is_set()
            return held(request) if first else super()._answer(request)

    def erase(tx: Tx) -> list[TurnId]:
        ids = [TurnId(row["id"]) for row in tx.all("SELECT id FROM turns WHERE status = 'running' ORDER BY id")]
        begin_again(tx, ids)
        return ids

    model = Once()
    async with running(tmp_path, Setting(model, toml=stages(("a", "Ant", ""), ("b", "Bee", "")))) as service:
        service.hear(said("go", 1))
        await held.begun.wait()
        service.router.moved(service.house, await service.write(erase))
        await service.settled()
        assert service.platform.texts() == ["Bee here."]
        assert await service.column("SELECT count(*) FROM turns WHERE status = 'running'") == [0]
    assert model.asked() == ["Ant", "Bee", "Ant", "Bee"]


async def test_what_members_are_asked_does_not_count_against_the_person(tmp_path: Path) -> None:
    setting = Setting(Cast(), toml=stages(("a", "Ant Bee Cat", "")), rates=Rates(person=2))
    async with running(tmp_path, setting) as service:
        await service.heard(said("1", 1))
        await service.heard(said("2", 2))
        assert len(service.platform.texts()) == 6


# --------------------------------------------------------------------------------------------------------------- voting


def ballot(choice: str, reason: str = "") -> Answer:
    return says("", call("cast_ballot", choice=choice, reason=reason))


async def test_every_voter_is_asked_and_ballots_and_tally_are_shown(tmp_path: Path) -> None:
    model = Cast(Ant=[ballot("tea", "warm")], Bee=[ballot("COFFEE")], Cat=[ballot("Tea")], Dog=[ballot("abstain")])
    async with running(tmp_path, Setting(model, toml=group("voting", ""))) as service:
        await service.heard(said("What shall we drink?\noptions: Tea, Coffee", 1))
        (text,) = service.platform.texts()
        assert text.splitlines() == [
            "Decision: Tea (the most votes).",
            "Votes: Tea 2, Coffee 1",
            "- Ant — Tea: warm",
            "- Bee — Coffee",
            "- Cat — Tea",
            "- Dog — abstain",
        ]
        (outcome,) = await service.column("SELECT outcome FROM group_runs")
        assert json.loads(outcome)["tally"] == {"Tea": 2.0, "Coffee": 1.0}
        assert [each["choice"] for each in json.loads(outcome)["ballots"]] == ["Tea", "Coffee", "Tea", "abstain"]
        assert (await service.outbox())[0].detail["speaker"] == "Team"
    assert sorted(model.asked()) == ["Ant", "Bee", "Cat", "Dog"]
    assert all('one of "Tea", "Coffee"' in told(request) for request in model.requests)
    assert all([spec.name for spec in request.tools] == ["cast_ballot"] for request in model.requests)


async def test_who_gives_no_valid_ballot_or_is_too_late_is_named_and_not_counted(tmp_path: Path) -> None:
    held = Held(says("never"))

    class Slow(Cast):
        def _answer(self, request: Request) -> Any:
            return held(request) if who(request) == "Dog" else super()._answer(request)

    model = Slow(Ant=[ballot("maybe"), ballot("yes")], Bee=["I say yes!"] * 9, Cat=[ballot("yes")])
    async with running(tmp_path, Setting(model, toml=group("voting", "[groups.voting]\ntimeout = 1\n"))) as service:
        await service.heard(said("Shall we?", 1))
        (text,) = service.platform.texts()
        assert text.splitlines() == [
            "No decision: 2 of the 3 ballots that a decision needs.",
            "Votes: yes 2, no 0",
            "- Ant — yes",
            "- Bee — no ballot (gave none that is valid)",
            "- Cat — yes",
            "- Dog — no ballot (too late)",
        ]
    assert "'maybe' is none of the options: yes, no" in results(model.of("Ant")[1])[0][0]


@pytest.mark.parametrize(
    ("table", "decision"),
    [
        ("", "No decision: "),
        ('tie_breaker = "random"', "Decision: "),
        ('tie_breaker = "agent"\ntie_agent = "Bee"', "Decision: no ("),
    ],
)
async def test_what_breaks_a_tie(tmp_path: Path, table: str, decision: str) -> None:
    model = Cast(Ant=[ballot("yes")], Bee=[ballot("no")])
    toml = group("voting", f"[groups.voting]\n{table}\n", '"Ant", "Bee"')
    async with running(tmp_path, Setting(model, toml=toml)) as service:
        await service.heard(said("Shall we?", 1))
        assert service.platform.texts()[0].startswith(decision)
        assert '"yes" and "no" are tied; ' in service.platform.texts()[0]


async def test_the_ballot_of_who_knows_the_subject_weighs_more(tmp_path: Path) -> None:
    members = '"Ant", "Bee", { agent = "Cat", role = "specialist", domain = "newts" }'
    model = Cast(Ant=[ballot("no")], Bee=[ballot("no")], Cat=[ballot("yes")])
    toml = group("voting", "[groups.voting]\nweight_by_expertise = true\n", members)
    async with running(tmp_path, Setting(model, toml=toml)) as service:
        await service.heard(said("Are newts amphibians?", 1))
        assert service.platform.texts()[0].splitlines()[:2] == ["Decision: yes (the most votes).", "Votes: yes 3, no 2"]


# ----------------------------------------------------------------------------------------------------------- supervisor


def delegates(agent: str, task: str, ident: str = "") -> Answer:
    return says("", call("delegate", ident, agent=agent, task=task))


LED = group("supervisor", '[groups.supervisor]\nleader = "Ant"\nmax_delegations = 2\n')


async def test_a_task_goes_to_the_member_and_what_it_says_comes_back_to_the_leader(tmp_path: Path) -> None:
    model = Cast(
        Ant=[delegates("bee", "count the newts"), lambda request: says(f"Bee says: {results(request)[0][0]}")],
        Bee=["Seven newts."],
    )
    async with running(tmp_path, Setting(model, toml=LED)) as service:
        await service.heard(said("how many newts?", 1))
        assert service.platform.texts() == ["Bee says: Seven newts."]
        assert await service.column("SELECT kind || ' ' || status FROM group_parts") == ["task done"]
    (asked,) = model.of("Bee")
    assert "count the newts" in told(asked)
    assert "how many newts?" in told(asked)
    assert [spec.name for spec in asked.tools] == []  # only who leads gives tasks
    assert [spec.name for spec in model.of("Ant")[0].tools] == ["delegate"]


async def test_nobody_gives_a_task_to_itself_to_strangers_or_too_many_to_one(tmp_path: Path) -> None:
    calls = [
        delegates("Ant", "x", "c1"), delegates("Eel", "x", "c2"), delegates("Bee", "1", "c3"),
        delegates("Bee", "2", "c4"), delegates("Bee", "3", "c5"),
    ]  # fmt: skip
    model = Cast(Ant=[*calls, "I give up."])
    async with running(tmp_path, Setting(model, toml=LED)) as service:
        await service.heard(said("go", 1))
        assert service.platform.texts() == ["I give up."]
    can = "You can give tasks to: Bee, Cat, Dog."
    assert results(model.requests[-1]) == [
        (f"You cannot give a task to yourself: do it, or give it to somebody else. {can}", False),
        (f"'Eel' is no member of this group. {can}", False),
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
    async with running(tmp_path, Setting(model, toml=toml)) as service:
        await service.heard(said("go", 1))
        assert service.platform.texts() == ["done"]
    assert results(model.of("Ant")[1])[0] == (
        "Ant waits for what you do: that would go in a circle. You can give tasks to: Cat.", True
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
    async with running(tmp_path, Setting(model, toml=toml)) as service:
        await service.heard(said("go", 1))
        assert service.platform.texts() == ["Bee goes on.", "two"]
    assert "A task was left for you while a message here was answered: 2" in told(model.of("Bee")[1])


async def test_people_are_answered_before_what_agents_left_for_each_other(tmp_path: Path) -> None:
    toml = LED.replace("max_delegations = 2", 'max_delegations = 1\nfallback = "queue"')
    held = Held(says("", call("delegate", "c2", agent="Bee", task="2")))

    class Waits(Cast):
        def _answer(self, request: Request) -> Any:
            second = who(request) == "Ant" and len(self.of("Ant")) == 2
            return held(request) if second else super()._answer(request)

    model = Waits(Ant=[delegates("Bee", "1", "c1"), "Bee goes on.", "To Bob."], Bee=["one", "the task"])
    async with running(tmp_path, Setting(model, toml=toml)) as service:
        service.hear(said("go", 1))
        await held.begun.wait()
        service.hear(said("and me?", 2, speaker=BOB))
        held.free.set()
        await service.settled()
        assert service.platform.texts() == ["Bee goes on.", "To Bob.", "the task"]


async def test_a_crash_while_a_member_works_goes_on_with_that_member_alone(tmp_path: Path) -> None:
    held, platform = Held(says("lost")), Platform(MovableClock())

    class Dies(Cast):
        def _answer(self, request: Request) -> Any:
            return held(request) if who(request) == "Bee" else super()._answer(request)

    async with running(
        tmp_path, Setting(Dies(Ant=[delegates("Bee", "count")]), platform=platform, toml=LED)
    ) as service:
        service.hear(said("go", 1))
        await held.begun.wait()
        service.crash()
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
    async with running(tmp_path, Setting(model, toml=toml, limits=limits)) as service:
        await service.heard(said("go", 1))
        texts = service.platform.texts()
        assert sum("I stopped the agents here" in text for text in texts) == 1
        assert texts[-1] == "Enough."
        assert await service.column("SELECT count(*) FROM group_parts") == [16]


# --------------------------------------------------------------------------------------------------------------- events


async def test_those_who_watch_hear_who_works_and_what_it_came_to(tmp_path: Path) -> None:
    model = Cast(Ant=["draft"], Bee=["final"])
    async with running(tmp_path, Setting(model, toml=stages(("a", "Ant", ""), ("b", "Bee", "")))) as service:
        await service.heard(said("go", 1))
        seen = service.events
    names = [type(event).__name__ for event in seen if not isinstance(event, events.OfMember)]
    assert names == [
        "Started", "GroupStarted", "AgentStarted", "AgentCompleted", "AgentStarted", "AgentCompleted",
        "GroupComplete", "Complete",
    ]  # fmt: skip
    inner = [event.event for event in seen if isinstance(event, events.OfMember)]
    assert [event.text for event in inner if isinstance(event, events.TextChunk)] == ["draft", "final"]
    done = next(event for event in seen if isinstance(event, events.GroupComplete))
    assert (done.group, done.pattern, done.responses, done.seconds) == ("Team", "pipeline", 1, 0.0)


async def test_those_who_watch_hear_of_a_member_that_was_given_a_task_and_of_one_that_failed(tmp_path: Path) -> None:
    model = Cast(Ant=[delegates("Bee", "count"), "done"], Bee=[RuntimeError("down")])
    async with running(tmp_path, Setting(model, toml=LED)) as service:
        await service.heard(said("go", 1))
        seen = service.events
    started = next(event for event in seen if isinstance(event, events.AgentStarted))
    assert (started.name, started.role, started.doing) == ("Bee", "regular", "task")
    failed = next(event for event in seen if isinstance(event, events.GroupError))
    assert (failed.message, failed.recoverable) == ("failed (RuntimeError)", True)
    assert [event.ok for event in seen if isinstance(event, events.AgentCompleted)] == [False]
    assert results(model.of("Ant")[1]) == [
        ("It was not done: failed (RuntimeError). Do it yourself, or say so.", False)
    ]  # fmt: skip


async def test_when_nobody_gives_anything_the_message_is_tried_again(tmp_path: Path) -> None:
    model = Cast(Ant=[RuntimeError("down")], Bee=[RuntimeError("down")])
    async with running(tmp_path, Setting(model, toml=group("dynamic", "", '"Ant", "Bee"'))) as service:
        await service.heard(said("@all go", 1))
        assert service.platform.texts() == ["Ant here.", "Bee here."]
        assert [row.status for row in await service.read(lambda rows: inbox.listing(rows, None, 9))] == ["done"]
        await until(lambda: _over(service))


async def _over(service: Any) -> bool:
    return bool(await service.column("SELECT count(*) FROM turns WHERE status = 'running'") == [0])
