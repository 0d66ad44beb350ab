"""Rules about tools: what is refused, what a turn may not end without, and how a model is brought to it."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import ValidationError

from bot.agents.tool_rules import RuleName, Rules, ToolRule
from bot.models.base import Answer, Call, Request, UserMessage
from memory.people.audience import Trust
from memory.queue.steps import CallDone, CallFailed, CallWaits, MessagesJoined, ModelAnswer, Step, StepBody
from memory.store.ids import RequestId
from tests.bot.parts import ANN, HALL, ScriptedModel, call, channel, direct, results, said, says
from tests.bot.stage import Service, Setting, running, talked

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
AGENT = '[[agents]]\nname = "Carina"\n'


def rule(name: str, tool: str = "", **more: Any) -> ToolRule:
    return ToolRule.model_validate({"rule": name, "tool": tool, **more})


def steps(*done: str) -> list[Step]:
    """An answer, then results: "bell" worked, "!bell" failed, "?bell" waits for a yes, "-bell" broke a rule."""
    found = [Step(1, ModelAnswer(""), NOON)]
    for number, name in enumerate(done):
        found.append(Step(number + 2, ended(str(number), name), NOON + timedelta(seconds=number)))
    return found


def ended(call: str, name: str) -> StepBody:
    match name[0]:
        case "?":
            return CallWaits(call, name[1:], "", RequestId(7))
        case "!" | "-" as how:
            return CallFailed(call, name[1:], "", "start_constraint" if how == "-" else "")
        case _:
            return CallDone(call, name, "", True, None, Trust.SYSTEM)


def refused(rules: Rules, tool: str, *done: str, later: float = 0, used: dict[str, datetime] | None = None) -> str:
    found = rules.refusal(Call("x", tool, "{}"), steps(*done), used or {}, NOON + timedelta(seconds=later))
    return "" if found is None else found.rule


def wanted(rules: Rules, *done: str, used: dict[str, datetime] | None = None) -> list[str]:
    return [demand.tool for demand in rules.demands(steps(*done), used or {}, NOON)]


# ----------------------------------------------------------------------------------------------------- what is refused


def test_what_begins_a_turn() -> None:
    rules = Rules((rule("start_constraint", "context"),))
    assert refused(rules, "search") == "start_constraint"
    assert not refused(rules, "context")
    assert not refused(rules, "search", "context")
    assert refused(rules, "search", "!context") == "start_constraint"


def test_groups_that_exclude_each_other() -> None:
    rules = Rules((rule("exclusive_groups", groups=[["read", "list"], ["write"]]),))
    assert not refused(rules, "write")
    assert refused(rules, "write", "read") == "exclusive_groups"
    assert not refused(rules, "list", "read")
    assert not refused(rules, "other", "read")
    assert not refused(rules, "write", "!read")


def test_how_soon_again() -> None:
    rules = Rules((rule("cooldown", "bell", seconds=60),))
    assert not refused(rules, "bell")
    assert refused(rules, "bell", "bell", later=59) == "cooldown"
    assert not refused(rules, "bell", "bell", later=60)
    assert refused(rules, "bell", used={"bell": NOON - timedelta(seconds=59)}) == "cooldown"
    assert not refused(rules, "bell", used={"bell": NOON - timedelta(seconds=60)})
    assert not refused(rules, "horn", "bell")


def test_which_operations() -> None:
    rules = Rules((rule("allowed_operations", "recall", operations=["read", "insert"]),))
    for arguments, name in (("read", ""), ("delete", "allowed_operations")):
        given = call("recall", operation=arguments)
        found = rules.refusal(given, (), {}, NOON)
        assert ("" if found is None else found.rule) == name


def test_a_refusal_says_what_to_do() -> None:
    rules = Rules((rule("start_constraint", "context"),))
    first, second = (rules.refusal(Call("x", "search", "{}"), steps(*done), {}, NOON) for done in ((), ("-search",)))
    assert first is not None
    assert first.text == "`context` must be called before any other tool in a turn; `search` was not called."
    assert second is not None
    assert "reminder" in second.text


# ------------------------------------------------------------------------------------------- what must come to the end


def test_what_a_turn_may_not_end_without() -> None:
    rules = Rules((rule("required_before_exit", "bell"),))
    assert wanted(rules) == ["bell"]
    assert wanted(rules, "!bell") == ["bell"]
    assert wanted(rules, "?bell") == []  # it waits for somebody's yes: more cannot be done
    assert wanted(rules, "bell") == []


def test_what_is_wanted_only_after_something() -> None:
    rules = Rules((rule("required_before_exit_if", "bell", tools=["horn", "drum"]),))
    assert wanted(rules) == []
    assert wanted(rules, "drum") == ["bell"]
    assert wanted(rules, "bell", "drum") == []


def test_what_must_follow() -> None:
    rules = Rules((rule("requires_following", "write", tools=["check"]),))
    assert wanted(rules) == []
    assert wanted(rules, "check", "write") == ["check"]
    assert wanted(rules, "write", "check") == []


def test_what_must_come_now_and_then() -> None:
    rules = Rules((rule("periodic", "bell", seconds=3600),))
    assert wanted(rules) == ["bell"]
    assert wanted(rules, used={"bell": NOON - timedelta(seconds=3600)}) == ["bell"]
    assert wanted(rules, used={"bell": NOON - timedelta(seconds=3599)}) == []


def test_what_ends_a_turn() -> None:
    rules = Rules((rule("exit_loop", "*"), rule("continue_loop", "search")))
    assert not rules.ends(steps("search"))
    assert rules.ends(steps("send"))
    assert not rules.ends(steps("!send"))
    assert not rules.ends([*steps("send"), Step(9, MessagesJoined(()), NOON)])
    assert not Rules().ends(steps("send"))


def test_what_an_agent_cannot_work_without() -> None:
    assert Rules((rule("needed", "search"), rule("needed", "recall"))).missing(["search"]) == ["recall"]


def test_every_rule_has_words() -> None:
    needed: dict[str, Any] = {"count": 2, "seconds": 7200, "operations": ["read"], "groups": [["a"], ["b"]]}
    for name in get_args(RuleName):
        for key in ("", "tools", *needed):
            try:
                made = rule(name, "" if key == "groups" else "bell", **({key: needed.get(key, ["a"])} if key else {}))
            except ValidationError:
                continue
            (sentence,) = Rules((made,)).sentences()
            assert sentence.endswith(".")
            assert "{" not in sentence
            break
        else:
            raise AssertionError(f"no form of {name} is accepted")


def test_the_documentation_names_every_rule_and_no_other() -> None:
    text = (Path(__file__).parents[3] / "docs" / "rules.md").read_text("utf-8")
    table = text.partition("| rule | needs | meaning |")[2].partition("\n\n")[0]
    assert re.findall(r"(?m)^\| `(\w+)` \|", table) == list(get_args(RuleName))


@pytest.mark.parametrize(
    "wrong",
    [
        {"rule": "max_calls", "tool": "bell"},
        {"rule": "max_calls", "tool": "bell", "count": 1, "seconds": 3},
        {"rule": "requires_preceding", "tool": "bell"},
        {"rule": "requires_preceding", "tool": "*", "tools": ["a"]},
        {"rule": "exclusive_groups", "tool": "bell", "groups": [["a"]]},
        {"rule": "exit_loop"},
        {"rule": "dance", "tool": "bell"},
    ],
)
def test_a_rule_that_cannot_be_kept_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ToolRule.model_validate(wrong)


# ----------------------------------------------------------------------------------------------------- in a real turn


def ruled(*rules: str) -> str:
    return AGENT + "".join(f"[[agents.rules]]\n{each}\n" for each in rules)


def forced(requests: Iterable[Request]) -> list[str]:
    return [request.force_tool for request in requests]


async def failures(service: Service) -> list[str]:
    return [text for text, ok in results(service.model.requests[-1]) if not ok]


async def test_the_model_is_told_the_rules_and_shown_only_what_is_allowed(tmp_path: Path) -> None:
    toml = ruled('rule = "allowed_operations"\ntool = "recall"\noperations = ["read"]')
    async with talked(tmp_path, Setting(toml=toml), "hello") as service:
        (request,) = service.model.requests
        assert "## Rules of your tools\n- Of `recall` you may use only: read." in request.system
        schema = next(tool.parameters for tool in request.tools if tool.name == "recall")
        assert schema["properties"]["operation"]["enum"] == ["read"]


async def test_a_call_against_a_rule_is_not_made(tmp_path: Path) -> None:
    toml = ruled('rule = "requires_preceding"\ntool = "recall"\ntools = ["search"]')
    insert = call("recall", "one", operation="insert", content="the bus is 17")
    again = call("recall", "two", operation="insert", content="the bus is 17")
    model = ScriptedModel(says("", insert), says("", call("search", "s", query="bus"), again), says("Kept."))
    async with talked(tmp_path, Setting(model, toml=toml), "remember the bus") as service:
        assert service.platform.texts() == ["Kept."]
        assert await failures(service) == [
            "`recall` may be called only after `search` in the same turn; still to come: `search`."
        ]
        assert await service.column("SELECT content FROM archival_entries") == ["the bus is 17"]


async def test_a_turn_does_not_end_before_what_it_needs(tmp_path: Path) -> None:
    """Error, reminder, forced call; then the whole answer is asked for again."""
    toml = ruled('rule = "required_before_exit"\ntool = "search"')
    model = ScriptedModel(
        says("One."), says("Two."), says("Three."), says("", call("search", "s", query="x")), says("At last.")
    )
    async with talked(tmp_path, Setting(model, toml=toml), "hello") as service:
        assert service.platform.texts() == ["At last."]
        assert forced(model.requests) == ["", "", "", "search", ""]
        told = [request.messages[-1].text for request in model.requests[1:4]]
        assert "was not sent yet" in told[0]
        assert "Reminder" in told[1]
        assert "have to call it" in told[2]


async def test_a_model_that_does_not_even_make_a_forced_call_is_not_asked_for_ever(tmp_path: Path) -> None:
    toml = ruled('rule = "required_before_exit"\ntool = "search"')
    async with talked(tmp_path, Setting(ScriptedModel(otherwise=says("No.")), toml=toml), "hello") as service:
        assert service.platform.texts() == ["No."]
        assert len(service.model.requests) == 4


async def test_a_call_that_ends_the_turn_is_followed_by_no_other_question(tmp_path: Path) -> None:
    toml = ruled('rule = "exit_loop"\ntool = "recall"')
    keep = call("recall", operation="insert", content="the bus is 17")
    async with running(tmp_path, Setting(ScriptedModel(says("Kept it.", keep)), toml=toml)) as service:
        await service.heard(said("remember the bus", 1))
        assert service.platform.texts() == ["Kept it."]
        assert len(service.model.requests) == 1


async def test_a_rest_between_calls_is_kept_over_turns_but_not_told_elsewhere(tmp_path: Path) -> None:
    """A call in direct messages must not show by a refusal in a channel."""
    toml = ruled('rule = "cooldown"\ntool = "search"\nseconds = 600')

    def answer(request: Request) -> Answer:
        if isinstance(request.messages[-1], UserMessage):
            return says("", call("search", f"s{len(request.messages)}", query="x"))
        return says("ok" if results(request)[-1][1] else "refused")

    async with running(tmp_path, Setting(ScriptedModel(otherwise=answer), toml=toml)) as service:
        await service.heard(said("a", 1, direct(ANN)))
        await service.heard(said("b", 2, HALL))
        await service.heard(said("c", 3, channel("attic")))
        assert service.platform.texts(direct(ANN).id) == ["ok"]
        assert service.platform.texts(HALL.id) == ["ok"]
        assert service.platform.texts(channel("attic").id) == ["refused"]
        service.clock.forward(601)
        await service.heard(said("d", 4, channel("attic")))
        assert service.platform.texts(channel("attic").id)[-1] == "ok"
