"""`/summary`: what was said here, what agents did and what happened in short; what was written while nobody watched."""

from collections.abc import Iterable
from typing import Any, TypeAlias

import discord
from discord import app_commands

from bot.desks.desk import Asker
from bot.desks.nights import LASTING
from bot.desks.remembering import Asking
from bot.desks.summaries import Of, Summaries, summary_lines
from bot.discord_ui.answering import Interaction, Names, answer, defer, suggests_names
from bot.discord_ui.asking import approver_of, asker_of
from bot.discord_ui.dreams import report_command
from bot.dreams.desk import Dreams
from memory.ids import PlaceId
from sources.discord.hearing import trust_of
from sources.discord.places import place_id
from sources.discord.reading import author_of
from sources.discord.settings import DiscordSettings

Command: TypeAlias = app_commands.Command[Any, ..., None]
Name: TypeAlias = app_commands.Range[str, 1, 64]
Night: TypeAlias = app_commands.Range[str, 10, 10]

_NIGHT = "The date on which it began, as 2026-11-22; without it last night"
_NOTHING = "Nothing was summarised yet that you may know here."


def install_summaries(
    tree: app_commands.CommandTree[Any], summaries: Summaries, dreams: Dreams, settings: DiscordSettings
) -> None:
    """Put the commands into the tree."""
    group = app_commands.Group(name="summary", description="Earlier talk, agents, days and nights in short")
    for make in (_conversation, _agent, _constellation, _night, _undo):
        group.add_command(make(summaries, settings))
    group.add_command(report_command(dreams, settings, "dream", "What tidying the long-term memory did lately"))
    tree.add_command(group)


def _conversation(summaries: Summaries, settings: DiscordSettings) -> Command:
    async def words(asker: Asker, place: PlaceId) -> str:
        return _shown(await summaries.conversation(asker, place))

    @app_commands.command(name="conversation", description="Earlier talk here, in short")
    async def command(interaction: Interaction) -> None:
        if await defer(interaction):
            asker = await asker_of(interaction, settings)
            await answer(interaction, words(asker, place_id(interaction.channel_id or 0)), file_name="summary.md")

    return command


def _agent(summaries: Summaries, settings: DiscordSettings) -> Command:
    async def words(asker: Asker, name: str) -> str:
        return _shown(await summaries.agent(asker, name))

    @app_commands.command(name="agent", description="What agents did lately, in short")
    @app_commands.describe(agent="Only this one")
    async def command(interaction: Interaction, agent: Name = "") -> None:
        if await defer(interaction):
            await answer(interaction, words(await asker_of(interaction, settings), agent), file_name="summary.md")

    async def names(_interaction: Interaction) -> list[str]:
        return await summaries.names()

    suggests_names(command, "agent", names)
    return command


def _constellation(summaries: Summaries, settings: DiscordSettings) -> Command:
    async def words(asker: Asker, of: Of, count: int) -> str:
        return _shown(await summaries.constellation(asker, of, count))

    @app_commands.command(name="constellation", description="What happened on days and in weeks, in short")
    @app_commands.describe(of="Only days, or only weeks", count="How many")
    @app_commands.choices(
        of=[app_commands.Choice(name="days", value="day"), app_commands.Choice(name="weeks", value="week")]
    )
    async def command(interaction: Interaction, of: str = "", count: app_commands.Range[int, 1, 60] = 7) -> None:
        if await defer(interaction):
            span: Of = "day" if of == "day" else "week" if of == "week" else ""
            asker = await asker_of(interaction, settings)
            await answer(interaction, words(asker, span, count), file_name="summary.md")

    return command


def _night(summaries: Summaries, settings: DiscordSettings) -> Command:
    async def words(asker: Asker, night: str) -> str:
        lines = []
        for row in await summaries.nights.report(asker, night):
            head = f"**{_escape(row['agent'])}** ({_escape(row['group'])}, {row['at'][:16].replace('T', ' ')} UTC)"
            lines.append(f"{head}: {_escape(row['text'])}" if row["agent"] else row["text"])
        return "\n".join(lines) or "No agent acted by itself that night, as far as you may know here."

    @app_commands.command(name="night", description="What agents did in a night by themselves, and why")
    @app_commands.describe(night=_NIGHT)
    async def command(interaction: Interaction, night: Night = "") -> None:
        if await defer(interaction):
            await answer(interaction, words(await asker_of(interaction, settings), night), file_name="night.md")

    suggests_names(command, "night", _nights(summaries, settings))
    return command


def _undo(summaries: Summaries, settings: DiscordSettings) -> Command:
    async def words(asking: Asking, night: str) -> str:
        done = await summaries.nights.undo(asking, night)
        lines = [f"- {_escape(item['what'])}: {item['state']} ({_escape(item['text'])})" for item in done]
        return "\n".join([*lines, LASTING]) if done else "Nothing was written that night that could be taken back."

    @app_commands.command(name="undo-night", description="Take back what agents wrote in a night by themselves")
    @app_commands.describe(night=_NIGHT)
    async def command(interaction: Interaction, night: Night = "") -> None:
        if await defer(interaction):
            who, trust = approver_of(interaction, "command"), trust_of(author_of(interaction.user), settings)
            scope = (await asker_of(interaction, settings)).scope
            await answer(interaction, words(Asking(who, scope, trust), night), file_name="night.md")

    suggests_names(command, "night", _nights(summaries, settings))
    return command


def _nights(summaries: Summaries, settings: DiscordSettings) -> Names:
    async def known(interaction: Interaction) -> Iterable[str]:
        return await summaries.nights.known(await asker_of(interaction, settings))

    return known


def _shown(found: list[dict[str, Any]]) -> str:
    return "\n\n".join(map(_escape, summary_lines(found))) or _NOTHING


def _escape(text: str) -> str:
    return discord.utils.escape_markdown(text, as_needed=True)
