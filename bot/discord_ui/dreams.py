"""`/dream report|run|undo|waiting|allow|refuse`, and the buttons that ask whether something inferred may be used."""

import re
from typing import Any, TypeAlias

import discord
from discord import app_commands

from bot.desks.desk import Asker
from bot.discord_ui.answering import Interaction, answer, defer, suggests
from bot.discord_ui.asking import approver_of, asker_of
from bot.discord_ui.forms import Door
from bot.dreams.desk import Dreams, report_lines
from sources.discord.buttons import PREFERENCE
from sources.discord.settings import DiscordSettings

Command: TypeAlias = app_commands.Command[Any, ..., None]


def install_dreams(tree: app_commands.CommandTree[Any], dreams: Dreams, settings: DiscordSettings) -> None:
    """Put the commands into the tree."""
    group = app_commands.Group(name="dream", description="Tidying the long-term memory while nobody talks")
    group.add_command(report_command(dreams, settings, "report", "What the newest run did, and what it left"))
    _add_acts(group, dreams)
    _add_waiting(group, dreams, settings)
    tree.add_command(group)
    tree.client.add_dynamic_items(_buttons(dreams, settings))


def _buttons(dreams: Dreams, settings: DiscordSettings) -> type[discord.ui.DynamicItem[discord.ui.Button[Any]]]:
    class Decide(Door, discord.ui.DynamicItem[discord.ui.Button[Any]], template=PREFERENCE):
        """One button under what was inferred about somebody; its id says which."""

        def __init__(self, offer: str, entry: str, shown: discord.ui.Button[Any]) -> None:
            super().__init__(shown)
            self.offer, self.entry = offer, entry

        @classmethod
        async def from_custom_id(
            cls, _interaction: Interaction, item: discord.ui.Item[Any], match: re.Match[str], /
        ) -> "Decide":
            if not isinstance(item, discord.ui.Button):
                raise TypeError(f"a button has the id {match[0]}, not {type(item).__name__}")
            return cls(match["offer"], match["entry"], item)

        async def pressed(self, interaction: Interaction) -> None:
            if await defer(interaction):
                asker = await asker_of(interaction, settings)
                await answer(interaction, dreams.permit(asker, self.entry, yes=self.offer == "allow"))

    return Decide


def report_command(dreams: Dreams, settings: DiscordSettings, name: str, description: str) -> Command:
    """The report as a command of that name; `/summary` has it as well."""

    @app_commands.command(name=name, description=description)
    async def command(interaction: Interaction) -> None:
        if await defer(interaction):
            await answer(interaction, _reported(dreams, await asker_of(interaction, settings)), file_name="dream.md")

    return command


async def _reported(dreams: Dreams, asker: Asker) -> str:
    return "\n".join(report_lines(await dreams.report(asker)))


def _add_acts(group: app_commands.Group, dreams: Dreams) -> None:
    @group.command(name="run", description="Tidy now, whatever the time")
    async def run(interaction: Interaction) -> None:
        if await defer(interaction):
            await answer(interaction, dreams.run(approver_of(interaction, "command")))

    @group.command(name="undo", description="Take the newest run back that changed something")
    async def undo(interaction: Interaction) -> None:
        if await defer(interaction):
            await answer(interaction, dreams.undo(approver_of(interaction, "command")))


def _add_waiting(group: app_commands.Group, dreams: Dreams, settings: DiscordSettings) -> None:
    @group.command(name="waiting", description="What was inferred about you and waits for your yes")
    async def waiting(interaction: Interaction) -> None:
        if await defer(interaction):
            await answer(interaction, _waiting(dreams, await asker_of(interaction, settings)))

    @group.command(name="allow", description="Let something that waits for your yes be used")
    @app_commands.describe(entry="Its id, as /dream waiting shows it")
    async def allow(interaction: Interaction, entry: app_commands.Range[str, 1, 100]) -> None:
        if await defer(interaction):
            await answer(interaction, dreams.permit(await asker_of(interaction, settings), entry, yes=True))

    @group.command(name="refuse", description="Have something that waits for your yes forgotten")
    @app_commands.describe(entry="Its id, as /dream waiting shows it")
    async def refuse(interaction: Interaction, entry: app_commands.Range[str, 1, 100]) -> None:
        if await defer(interaction):
            await answer(interaction, dreams.permit(await asker_of(interaction, settings), entry, yes=False))

    async def guesses(interaction: Interaction) -> list[tuple[str, str]]:
        found = await dreams.waiting(await asker_of(interaction, settings))
        return [(str(each["id"]), str(each["text"])) for each in found]

    suggests(allow, "entry", guesses)
    suggests(refuse, "entry", guesses)


async def _waiting(dreams: Dreams, asker: Asker) -> str:
    found = await dreams.waiting(asker)
    return "\n".join(f"- `{each['id']}`: {each['text']}" for each in found) or "Nothing waits for your yes."
