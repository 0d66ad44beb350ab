"""`/halt now` and `/halt release`."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import discord
from discord import app_commands

from bot.discord_ui.asking import approver_of
from bot.errors import UserError
from bot.halting import Halt
from bot.policy import Approver

Interaction: TypeAlias = discord.Interaction[Any]


def install_halt(tree: app_commands.CommandTree[Any], halt: Halt) -> None:
    """Put the commands into the tree."""
    group = app_commands.Group(name="halt", description="Stop everything in an emergency")
    group.add_command(_command("now", "Stop every answer and every message now, until it is released", halt.halt))
    group.add_command(_command("release", "Go on after a halt", halt.release))
    tree.add_command(group)


def _command(
    name: str, description: str, work: Callable[[Approver], Awaitable[str]]
) -> app_commands.Command[Any, ..., None]:
    @app_commands.command(name=name, description=description)
    async def command(interaction: Interaction) -> None:
        await interaction.response.defer(ephemeral=True)
        try:
            words = await work(approver_of(interaction, "command"))
        except UserError as error:
            words = str(error)
        await interaction.followup.send(words, ephemeral=True)

    return command
