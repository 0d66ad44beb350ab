"""`emergency_halt`: stops everything, this agent included, once a person approves."""

import asyncio
from collections.abc import Awaitable, Callable

from pydantic import Field

from bot.agents.context.quotes import say
from bot.agents.permissions.calls_needing_approval import Caution
from bot.agents.tools.base import Arguments, Outcome, OutsideTool, Rarely, ToolContext
from bot.errors import ToolError
from texts import gettext_noop


class HaltArguments(Arguments):
    reason: str = Field(min_length=1, max_length=500, description="what is wrong, for whoever decides")


class EmergencyHaltTool(OutsideTool[HaltArguments]):
    name = "emergency_halt"
    shown = gettext_noop("the emergency stop")
    rarely = Rarely("stop every agent when harm is happening")
    description = (
        "Ask the people in charge to stop every agent at once, yourself included, until they release it. Only for "
        "harm that is happening: agents going in circles, messages that must not go on, somebody abusing you. Not "
        "for a person in need: answer them and name help instead."
    )
    caution = Caution(asks="always", once_only=True)
    idempotent = False

    def __init__(self, stop: Callable[[str], Awaitable[None]] | None) -> None:
        self._stop = stop
        """Halts and records the halt; None if no service runs."""
        self._stopping: set[asyncio.Task[None]] = set()

    async def run(self, context: ToolContext, arguments: HaltArguments) -> Outcome:
        if self._stop is None:
            raise ToolError("Nothing can be halted here: Carina is not running.")
        # A separate task: the halt ends this very turn, and must not be canceled with it.
        stopping = asyncio.ensure_future(self._stop(f"{context.agent.name}: {arguments.reason}"))
        self._stopping.add(stopping)
        stopping.add_done_callback(self._stopping.discard)
        await asyncio.shield(stopping)
        return Outcome(say("Everything was halted."))
