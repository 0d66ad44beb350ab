"""The examination for those who are not at the machine: made by a process of its own.

The service holds its databases open; a process that opens one of them a second time loses SQLite's locks when it closes
it (POSIX). Neither does looking at an embedder or a disk belong on the event loop.
"""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from dataclasses import dataclass

from bot import policy
from bot.errors import UserError
from bot.policy import Action, Approver, People
from sources.finding import Finding, State

_SECONDS = 120.0


@dataclass(frozen=True)
class Examining:
    """For the owner: it names folders and servers, and asks models, which costs a little."""

    people: People

    async def examine(self, who: Approver) -> list[Finding]:
        """What `carina doctor` finds. Raises UserError."""
        policy.require(self.people, who, Action.EXAMINE)
        command = [sys.executable, "-m", "bot", "doctor", "--json"]
        process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=PIPE)
        try:
            async with asyncio.timeout(_SECONDS):
                told, broken = await process.communicate()
        except TimeoutError:
            raise UserError(
                f"The examination was not done within {_SECONDS:.0f} seconds; try `carina doctor`."
            ) from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        try:
            return [Finding(**{**each, "state": State(each["state"])}) for each in json.loads(told)]
        except ValueError:
            why = broken.decode(errors="replace").strip()[-300:]
            raise UserError(f"The examination could not be made: {why}") from None
