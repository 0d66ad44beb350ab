"""`/halt now` and `/halt release`."""

import asyncio
from typing import Any, TypeAlias

from discord import app_commands

from bot.desks.halting import Halt
from bot.discord_ui.answering import Interaction, answer, defer
from bot.discord_ui.asking import approver_of

Command: TypeAlias = app_commands.Command[Any, ..., None]


def install_halt(tree: app_commands.CommandTree[Any], halt: Halt) -> None:
    """Put the commands into the tree."""
    group = app_commands.Group(name="halt", description="Stop everything in an emergency")
    group.add_command(_now(halt))
    group.add_command(_release(halt))
    tree.add_command(group)


def _now(halt: Halt) -> Command:
    @app_commands.command(name="now", description="Stop every answer and every message now, until it is released")
    async def command(interaction: Interaction) -> None:
        # In an emergency it is done first, and also when Discord takes no answer any more.
        halting = asyncio.create_task(halt.halt(approver_of(interaction, "command")), name="halt")
        if await defer(interaction):
            await answer(interaction, halting)
        else:
            await asyncio.gather(halting, return_exceptions=True)

    return command


def _release(halt: Halt) -> Command:
    @app_commands.command(name="release", description="Go on after a halt")
    async def command(interaction: Interaction) -> None:
        if await defer(interaction):
            await answer(interaction, halt.release(approver_of(interaction, "command")))

    return command
