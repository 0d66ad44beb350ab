"""`/state`: how somebody says they are, known where they say it. Answers are seen by one person."""

from typing import Any

from discord import app_commands

from bot.desks.states import NOTHING, States
from bot.discord_ui.answering import Interaction, answer, defer, suggests_names
from bot.discord_ui.asking import approver_of, scope_here
from sources.discord.settings import DiscordSettings


def install_states(tree: app_commands.CommandTree[Any], states: States, settings: DiscordSettings) -> None:
    """Put the command into the tree."""

    @app_commands.command(name="state", description="How you are: a group can be there for that, where you say it")
    @app_commands.describe(state=f'A word, as "overwhelmed"; "{NOTHING}" takes it back; nothing shows what you said')
    async def command(interaction: Interaction, state: app_commands.Range[str, 1, 60] = "") -> None:
        if await defer(interaction):
            who, scope = approver_of(interaction, "command").person, await scope_here(interaction, settings)
            await answer(interaction, states.say(who, scope, state) if state else states.seen(who, scope))

    async def known(_interaction: Interaction) -> list[str]:
        return [*await states.known(), NOTHING]

    suggests_names(command, "state", known)
    tree.add_command(command)
