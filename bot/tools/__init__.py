"""The tools of agents."""

import importlib
from collections.abc import Callable, Iterable, Mapping

from bot.config.sections import FOLDER_TOOLS, TOOLS, Web
from bot.rules import Rules
from bot.tools.aliases import ALIASES
from bot.tools.base import Tool, Toolset
from bot.tools.bluesky import SOURCE as BLUESKY
from bot.tools.bluesky import BlueskyTool
from bot.tools.bluesky_reading import BlueskyReadTool
from bot.tools.calculator import CalculateTool
from bot.tools.context import ContextTool
from bot.tools.coord import CoordTool
from bot.tools.events import EventsTool
from bot.tools.facts import FactsTool
from bot.tools.file import FileTool, FileWriteTool
from bot.tools.members import BallotTool, ChooseTool, DelegateTool
from bot.tools.projects import ProjectsTool
from bot.tools.recall import RecallTool
from bot.tools.reminders import RemindersTool
from bot.tools.search import SearchTool
from bot.tools.send_message import SendMessageTool
from bot.tools.tasks import TasksTool
from bot.tools.working_memory import WorkingMemoryTool
from memory.agents import Agent
from memory.ids import PersonId
from sources.base import Endpoint

_BY_FOLDERS = {"": (), "read": ("file",), "read_write": ("file", "file_write")}
"""The tools that come with the folders of an agent, and go with them."""


RESERVED = frozenset((*TOOLS, *FOLDER_TOOLS, *ALIASES, *(each.name for each in (DelegateTool, BallotTool, ChooseTool))))
"""Names that no tool of somebody else may have."""


_RECALL = RecallTool()


def _alone(person: PersonId) -> tuple[PersonId, ...]:
    """Nobody has linked accounts."""
    return (person,)


def _none(_agent: Agent) -> tuple[Tool, ...]:
    """Nobody else offers tools."""
    return ()


def make_tools(
    endpoints: Mapping[str, Endpoint],
    *more: Tool,
    zone: str = "UTC",
    selves: Callable[[PersonId], tuple[PersonId, ...]] = _alone,
    foreign: Callable[[Agent], Iterable[Tool]] = _none,
    recall: Tool = _RECALL,
) -> Callable[[Agent], Toolset]:
    """The tools there are, as a function that gives an agent those it has.

    `zone` is that of people who named none, `selves` gives every account of somebody, `foreign` what somebody else
    offers to an agent now, `recall` is the tool over entries.
    """
    memory = ContextTool(), recall, SearchTool(), WorkingMemoryTool()
    agenda = EventsTool(zone, selves), RemindersTool(zone, selves), TasksTool(zone, selves)
    usual: tuple[Tool, ...] = (
        *(CalculateTool(), CoordTool(), FactsTool(), ProjectsTool()),
        *(*memory, SendMessageTool(endpoints), *agenda),
    )
    grouped = (DelegateTool(), BallotTool(), ChooseTool())  # they come with a part in a group
    files: tuple[Tool, ...] = (FileTool(), FileWriteTool())
    bluesky: tuple[Tool, ...] = (BlueskyTool(endpoints), BlueskyReadTool(endpoints))

    def tools(agent: Agent) -> Toolset:
        others = tuple(foreign(agent))
        there = (*others, *usual, *grouped, *files, *(bluesky if BLUESKY in endpoints else ()), *more)  # ours win
        enabled = (*agent.tools, *(tool.name for tool in others), *_BY_FOLDERS[agent.files])
        return Toolset.of(there, enabled, Rules.of(agent).operations())

    return tools


def web_tools(settings: Web) -> tuple[Tool, ...]:
    """Those that are switched on. What they need is loaded only then."""
    if not (settings.fetch or settings.search):
        return ()
    made: tuple[Tool, ...] = importlib.import_module("bot.tools.web").made(settings)
    return made
