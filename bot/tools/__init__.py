"""The tools of agents."""

from collections.abc import Callable, Mapping

from bot.rules import Rules
from bot.tools.base import Tool, Toolset
from bot.tools.context import ContextTool
from bot.tools.recall import RecallTool
from bot.tools.search import SearchTool
from bot.tools.send_message import SendMessageTool
from memory.agents import Agent
from sources.base import Endpoint


def make_tools(endpoints: Mapping[str, Endpoint]) -> Callable[[Agent], Toolset]:
    """The tools there are, as a function that gives an agent those it has."""
    every: tuple[Tool, ...] = (ContextTool(), RecallTool(), SearchTool(), SendMessageTool(endpoints))
    return lambda agent: Toolset.of(every, agent.tools, Rules.of(agent).operations())
