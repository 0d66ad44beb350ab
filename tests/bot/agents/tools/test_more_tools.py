"""Which tools a prompt carries whole and which it names, and what a model does to get these."""

import json
from pathlib import Path

from bot.agents.tool_rules import MORE_TOOLS
from bot.models.base import Request
from tests.bot.parts import ANN, HALL, OLGA, call, direct, results, said, says, thread_in_public
from tests.bot.stage import OFFERED, Setting, offered, running, talked

PRIVATE = direct(OLGA)
MOST = 10_500


def shown(request: Request) -> list[str]:
    return [spec.name for spec in request.tools]


def characters(request: Request) -> int:
    """Of the part of a prompt that is the same in every turn, as Chat Completions sends it."""
    tools = [
        {
            "type": "function",
            "function": {"name": each.name, "description": each.description, "parameters": each.parameters},
        }
        for each in request.tools
    ]
    return len(request.system) + len(json.dumps(tools, ensure_ascii=False, separators=(",", ":")))


async def test_a_prompt_shows_what_is_needed_every_day_and_names_the_rest(tmp_path: Path) -> None:
    async with talked(tmp_path, Setting(), said("Hello", 1, PRIVATE, OLGA)) as service:
        await service.heard(said("Hello", 2, thread_in_public("ann"), ANN))
        at_home, in_public = service.model.requests
    everyday = ["context", "events", "recall", "reminders", "search", "tasks", "calculate"]
    assert shown(at_home) == [*everyday, MORE_TOOLS]
    assert shown(in_public) == ["bluesky_read", "context", "recall", "search", MORE_TOOLS]
    assert offered(at_home) == offered(in_public) == list(OFFERED)
    assert all(spec.name in at_home.tools[-1].description for spec in at_home.named_tools)
    assert characters(at_home) <= MOST
    assert characters(in_public) <= MOST


async def test_a_tool_comes_when_it_is_asked_for_and_stays_where_it_was_used(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        service.model.replies.extend(
            [
                says("", call(MORE_TOOLS, "1", names=["projects"])),
                says("", call("projects", "2", operation="prefer", text="no frameworks")),
                says("I will build without them."),
            ]
        )
        await service.heard(said("Build my pages without frameworks", 1, PRIVATE, OLGA))
        first, second, _third = service.model.requests
        await service.heard(said("Thanks", 2, PRIVATE, OLGA))
        await service.heard(said("Hello", 3, HALL, OLGA))
        later, elsewhere = service.model.requests[-2:]
    assert "projects" not in shown(first)
    assert "projects" in shown(second)
    assert results(second) == [("You can call projects now.", True)]
    assert "projects" in shown(later)
    assert "projects" not in shown(elsewhere)


def operations(request: Request, tool: str = "context") -> list[str]:
    (spec,) = (spec for spec in request.tools if spec.name == tool)
    return list(spec.parameters["properties"]["operation"]["enum"])


async def test_the_rest_of_a_tool_comes_for_one_turn_and_works_without_being_shown(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        undo = call("context", "2", operation="undo", label="scratchpad")
        service.model.replies.extend([says("", call(MORE_TOOLS, "1", names=["context"])), says("Here.")])
        await service.heard(said("Undo that", 1, PRIVATE, OLGA))
        service.model.replies.extend([says("", undo), says("Nothing to undo.")])
        await service.heard(said("Undo that again", 2, PRIVATE, OLGA))
        first, second, third, fourth = service.model.requests
    assert operations(first) == operations(third) == operations(fourth) == ["append", "replace", "write"]
    assert "context (undo" in first.tools[-1].description
    assert "undo" in operations(second)
    assert "context (" not in second.tools[-1].description
    told, _ = results(fourth)[-1]
    assert told == "you have nothing left to undo here"


async def test_blocks_that_are_not_shown_or_are_no_plain_text_bring_all_of_context(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        make = call("context", "1", operation="create", label="plan", description="What we plan", block_type="working")
        fields = call("context", "2", operation="change", label="plan", made_of="list")
        away = call("context", "3", operation="archive", label="plan")
        for number, made in enumerate((make, fields, away)):
            service.model.replies.extend([says("", made), says("Done.")])
            await service.heard(said("Go on", number + 1, PRIVATE, OLGA))
        await service.heard(said("Hello", 9, PRIVATE, OLGA))
        seen = [operations(request) for request in service.model.requests[::2]]
    assert ["archive" in each for each in seen] == [False, False, True, True]
