"""The tools of agents. A new one is added to `make_tools` here and named in `TOOLS` (`bot.config.values`)."""

import functools
import importlib
from collections.abc import Callable, Iterable, Mapping

from bot.agents.owner_notices import Notices
from bot.agents.permissions.roles_and_rights import Selves
from bot.agents.tool_rules import MORE_TOOLS, Rules
from bot.agents.tools.agenda import EventsTool, RemindersTool, TasksTool
from bot.agents.tools.aliases import ALIASES
from bot.agents.tools.base import Tool, Toolset
from bot.agents.tools.blocks import BlockTool
from bot.agents.tools.bluesky import SOURCE as BLUESKY
from bot.agents.tools.bluesky import BlueskyReadTool, BlueskyTool
from bot.agents.tools.calculator import CalculateTool
from bot.agents.tools.coordination import CoordinationTool
from bot.agents.tools.delegation_and_votes import BallotTool, ChooseTool, DelegateTool
from bot.agents.tools.facts import FactsTool, ProjectsTool
from bot.agents.tools.file import FileTool, FileWriteTool
from bot.agents.tools.more_tools import MoreToolsTool
from bot.agents.tools.recall import RecallTool
from bot.agents.tools.search import SearchTool
from bot.agents.tools.send_message import SendMessageTool
from bot.agents.tools.sources import SourcesTool, SourceSubscribeTool
from bot.agents.tools.working_memory import WorkingMemoryTool
from bot.config.file_settings import Web
from bot.config.values import CHOSEN_TOOLS, FOLDER_TOOLS, TOOLS
from memory.agents import Agent
from sources.base import Endpoint
from sources.terminal import PLACE

_BY_FOLDERS = {"": (), "read": ("file",), "read_write": ("file", "file_write")}
"""The tools that an agent has only while it has a folder."""


RESERVED = frozenset(
    (
        *TOOLS,
        *CHOSEN_TOOLS,
        *FOLDER_TOOLS,
        *ALIASES,
        MORE_TOOLS,
        *(each.name for each in (DelegateTool, BallotTool, ChooseTool)),
    )
)
"""Names that foreign tools may not have."""


_RECALL = RecallTool()
_NOTICES = Notices(PLACE.id)


def make_tools(
    endpoints: Mapping[str, Endpoint],
    *more: Tool,
    selves: Selves,
    foreign: Callable[[Agent], Iterable[Tool]],
    zone: str = "UTC",
    recall: Tool = _RECALL,
    notices: Notices = _NOTICES,
) -> Callable[[Agent], Toolset]:
    """Make all tools; returns a function that gives an agent its own.

    `zone` is for people who set none, `selves` returns all accounts of a person, `foreign` the current tools of MCP
    servers for an agent, `recall` is the tool for entries, `notices` tells where the owner is notified.
    """
    memory = BlockTool(), recall, SearchTool(), WorkingMemoryTool()
    agenda = EventsTool(zone, selves), RemindersTool(zone, selves, notices), TasksTool(zone, selves)
    usual: tuple[Tool, ...] = (
        *(CalculateTool(), CoordinationTool(zone, selves), FactsTool(), ProjectsTool()),
        *(*memory, SendMessageTool(endpoints), *agenda),
        *(SourcesTool(), SourceSubscribeTool()),
    )
    grouped = (DelegateTool(), BallotTool(), ChooseTool())  # they come with a part in a group
    files: tuple[Tool, ...] = (FileTool(), FileWriteTool())
    bluesky: tuple[Tool, ...] = (BlueskyTool(endpoints), BlueskyReadTool(endpoints))

    @functools.lru_cache(maxsize=100)
    def made(
        named: Iterable[str], others: tuple[Tool, ...], operations: Iterable[tuple[str, tuple[str, ...]]]
    ) -> Toolset:
        """Cached, so that values derived from a toolset are cached as well."""
        there = (*others, *usual, *grouped, *files, *(bluesky if BLUESKY in endpoints else ()), *more)  # ours win
        wanted = {*named, *(tool.name for tool in others)}
        found = {tool.name: tool for tool in there if tool.name in wanted}
        if any(tool.rarely for tool in found.values()):
            found[MORE_TOOLS] = MoreToolsTool(frozenset(found))
        return Toolset(found, dict(operations))

    def tools(agent: Agent) -> Toolset:
        left = tuple(Rules.of(agent).operations().items()) if agent.rules else ()
        return made((*agent.tools, *_BY_FOLDERS[agent.files]), tuple(foreign(agent)), left)

    return tools


def web_tools(settings: Web) -> tuple[Tool, ...]:
    """The web tools that are turned on; their libraries are loaded only then."""
    if not (settings.fetch or settings.search):
        return ()
    made: tuple[Tool, ...] = importlib.import_module("bot.agents.tools.web").made(settings)
    return made
