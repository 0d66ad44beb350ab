"""The tools of agents."""

import importlib
from collections.abc import Callable, Mapping

from bot.config.sections import Web
from bot.rules import Rules
from bot.tools.base import Tool, Toolset
from bot.tools.calculator import CalculateTool
from bot.tools.context import ContextTool
from bot.tools.coord import CoordTool
from bot.tools.members import BallotTool, ChooseTool, DelegateTool
from bot.tools.recall import RecallTool
from bot.tools.search import SearchTool
from bot.tools.send_message import SendMessageTool
from memory.agents import Agent
from sources.base import Endpoint


def make_tools(endpoints: Mapping[str, Endpoint], *more: Tool) -> Callable[[Agent], Toolset]:
    """The tools there are, as a function that gives an agent those it has."""
    memory = ContextTool(), RecallTool(), SearchTool()
    usual: tuple[Tool, ...] = (CalculateTool(), CoordTool(), *memory, SendMessageTool(endpoints))
    grouped = (DelegateTool(), BallotTool(), ChooseTool())  # they come with a part in a group
    return lambda agent: Toolset.of((*usual, *grouped, *more), agent.tools, Rules.of(agent).operations())


def web_tools(settings: Web) -> tuple[Tool, ...]:
    """Those that are switched on. What they need is loaded only then."""
    if not (settings.fetch or settings.search):
        return ()
    made: tuple[Tool, ...] = importlib.import_module("bot.tools.web").made(settings)
    return made
