"""The tools of agents."""

import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from bot.agents.rules import MORE_TOOLS, Rules
from bot.agents.tools.agenda import EventsTool, RemindersTool, TasksTool
from bot.agents.tools.base import Tool, Toolset
from bot.agents.tools.bluesky import SOURCE as BLUESKY
from bot.agents.tools.bluesky import BlueskyReadTool, BlueskyTool
from bot.agents.tools.calculator import CalculateTool
from bot.agents.tools.context import ContextTool
from bot.agents.tools.coord import CoordTool
from bot.agents.tools.facts import FactsTool
from bot.agents.tools.file import FileTool, FileWriteTool
from bot.agents.tools.members import BallotTool, ChooseTool, DelegateTool
from bot.agents.tools.more import ALIASES, NAMED_TOOLS, MoreToolsTool
from bot.agents.tools.projects import ProjectsTool
from bot.agents.tools.recall import RecallTool
from bot.agents.tools.search import SearchTool
from bot.agents.tools.send_message import SendMessageTool
from bot.agents.tools.sources import SourcesTool, SourceSubscribeTool
from bot.agents.tools.working_memory import WorkingMemoryTool
from bot.config.tables import CHOSEN_TOOLS, FOLDER_TOOLS, TOOLS, Web
from memory.agents import Agent
from memory.store.ids import PersonId
from sources.base import Endpoint

_BY_FOLDERS = {"": (), "read": ("file",), "read_write": ("file", "file_write")}
"""The tools that come with the folders of an agent, and go with them."""


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
"""Names that no tool of somebody else may have."""


_RECALL = RecallTool()


def make_tools(
    endpoints: Mapping[str, Endpoint],
    *more: Tool,
    zone: str = "UTC",
    selves: Callable[[PersonId], tuple[PersonId, ...]] = lambda person: (person,),
    foreign: Callable[[Agent], Iterable[Tool]] = lambda _agent: (),
    recall: Tool = _RECALL,
) -> Callable[[Agent], Toolset]:
    """The tools there are, as a function that gives an agent those it has.

    `zone` is that of people who named none, `selves` gives every account of somebody, `foreign` what somebody else
    offers to an agent now, `recall` is the tool over entries.
    """
    memory = ContextTool(), recall, SearchTool(), WorkingMemoryTool()
    agenda = EventsTool(zone, selves), RemindersTool(zone, selves), TasksTool(zone, selves)
    usual: tuple[Tool, ...] = (
        *(CalculateTool(), CoordTool(zone, selves), FactsTool(), ProjectsTool()),
        *(*memory, SendMessageTool(endpoints), *agenda),
        *(SourcesTool(), SourceSubscribeTool()),
    )
    grouped = (DelegateTool(), BallotTool(), ChooseTool())  # they come with a part in a group
    files: tuple[Tool, ...] = (FileTool(), FileWriteTool())
    bluesky: tuple[Tool, ...] = (BlueskyTool(endpoints), BlueskyReadTool(endpoints))

    def tools(agent: Agent) -> Toolset:
        others = tuple(foreign(agent))
        there = (*others, *usual, *grouped, *files, *(bluesky if BLUESKY in endpoints else ()), *more)  # ours win
        enabled = (*agent.tools, *(tool.name for tool in others), *_BY_FOLDERS[agent.files])
        found = Toolset.of(there, enabled, Rules.of(agent).operations())
        if not found.tools.keys() & NAMED_TOOLS:
            return found
        return replace(found, tools={**found.tools, MORE_TOOLS: MoreToolsTool(found.tools.keys())})

    return tools


def web_tools(settings: Web) -> tuple[Tool, ...]:
    """Those that are switched on. What they need is loaded only then."""
    if not (settings.fetch or settings.search):
        return ()
    made: tuple[Tool, ...] = importlib.import_module("bot.agents.tools.web").made(settings)
    return made
