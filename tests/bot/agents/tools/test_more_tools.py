"""Which tools a prompt carries whole and which it names, and what a model does to get these."""

import json
from pathlib import Path

from bot.agents.rules import MORE_TOOLS
from bot.models.base import Request
from tests.bot.parts import ANN, HALL, OLGA, call, direct, results, said, says, thread_in_public
from tests.bot.stage import OFFERED, offered, running

PRIVATE = direct(OLGA)
MOST = 11_500


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
    async with running(tmp_path) as service:
        await service.heard(said("Hello", 1, PRIVATE, OLGA))
        await service.heard(said("Hello", 2, thread_in_public("ann"), ANN))
        at_home, in_public = service.model.requests
    assert shown(at_home) == ["context", "recall", "reminders", "search", MORE_TOOLS]
    assert shown(in_public) == ["bluesky_read", "context", "recall", "search", MORE_TOOLS]
    assert offered(at_home) == offered(in_public) == list(OFFERED)
    assert all(spec.name in at_home.tools[-1].description for spec in at_home.named_tools)
    assert characters(at_home) <= MOST
    assert characters(in_public) <= MOST


async def test_a_tool_comes_when_it_is_asked_for_and_stays_where_it_was_used(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        service.model.replies.extend(
            [
                says("", call(MORE_TOOLS, "1", names=["tasks"])),
                says("", call("tasks", "2", operation="add", title="Buy milk")),
                says("It is on your list."),
            ]
        )
        await service.heard(said("Put milk on my list", 1, PRIVATE, OLGA))
        first, second, _third = service.model.requests
        await service.heard(said("Thanks", 2, PRIVATE, OLGA))
        await service.heard(said("Hello", 3, HALL, OLGA))
        later, elsewhere = service.model.requests[-2:]
    assert "tasks" not in shown(first)
    assert "tasks" in shown(second)
    assert results(second) == [("You can call tasks now.", True)]
    assert "tasks" in shown(later)
    assert "tasks" not in shown(elsewhere)
