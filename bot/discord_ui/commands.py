"""The slash commands: `/help`, `/status`, `/memory show`, `/search`. All answers are seen by the asker alone.

What an answer shows is what the asker may know in that place: the scope is worked out from where the command
was given, as for a message said there, and an ephemeral answer is heard by one person.
"""

import io
from typing import Any, TypeAlias

import discord
from discord import app_commands

from bot import policy
from bot.desk import Desk, ServiceStatus
from bot.discord_ui.asking import approver_of, asker_of
from bot.policy import Action, People
from memory.agents import Agent
from memory.blocks import Block
from memory.search import Results
from sources.discord.settings import DiscordSettings

Interaction: TypeAlias = discord.Interaction[Any]
Tree: TypeAlias = app_commands.CommandTree[Any]

_MOST = 1_900  # characters that an answer shows; what is longer goes into a file
_SHOWN = 300  # characters of one hit

_HELP = """**Talk to me** by mentioning me, answering one of my messages, or in a direct message.
I remember what you tell me. What you say in a direct message stays there: I never use it where others can read.
`/search` finds what was said or stored, as far as you may know it here.
`/memory show` shows what I keep in mind here.
`/why` shows what my last answer was made from; in a message's menu under Apps it is *Why did you say this?*
`/status` says how I am doing (for my owner and admins).
`/permits list` shows what waits for your yes; `/approve` and `/deny` answer it.
`/privacy see` shows how much I keep about you; `export`, `pause`, `optout` and `erase` are there too."""


def install(tree: Tree, desk: Desk, people: People, settings: DiscordSettings) -> None:
    """Put the commands into the tree."""
    tree.add_command(_help())
    tree.add_command(_status(desk, people))
    tree.add_command(_search(desk, settings))
    group = app_commands.Group(name="memory", description="What I keep in mind")
    group.add_command(_memory_show(desk, settings))
    tree.add_command(group)


def _help() -> app_commands.Command[Any, ..., None]:
    @app_commands.command(name="help", description="How to talk to me, and what I do with what you say")
    async def command(interaction: Interaction) -> None:
        await interaction.response.send_message(_HELP, ephemeral=True)

    return command


def _status(desk: Desk, people: People) -> app_commands.Command[Any, ..., None]:
    @app_commands.command(name="status", description="How I am doing: connections, models, what waits")
    async def command(interaction: Interaction) -> None:
        if not policy.may(people, approver_of(interaction, "command"), Action.STATUS):
            text = "Only my owner and admins can see this. Whoever runs me sets DISCORD_OWNER_ID and [discord.admins]."
            await interaction.response.send_message(text, ephemeral=True)
            return
        await interaction.response.defer(ephemeral=True)
        await _answer(interaction, status_text(await desk.status()), "status.md")

    return command


def _search(desk: Desk, settings: DiscordSettings) -> app_commands.Command[Any, ..., None]:
    @app_commands.command(name="search", description="Find what was said or stored, as far as you may know it here")
    @app_commands.describe(text="Words to look for", limit="How many to show")
    async def command(
        interaction: Interaction,
        text: app_commands.Range[str, 1, 200],
        limit: app_commands.Range[int, 1, 20] = 5,
    ) -> None:
        await interaction.response.defer(ephemeral=True)
        asker = await asker_of(interaction, settings)
        await _answer(interaction, results_text(await desk.search(asker, text, limit)), "search.md")

    return command


def _memory_show(desk: Desk, settings: DiscordSettings) -> app_commands.Command[Any, ..., None]:
    @app_commands.command(name="show", description="Show a block of my memory, or which there are")
    @app_commands.describe(label="Which block; without it you see which there are")
    async def command(interaction: Interaction, label: app_commands.Range[str, 0, 100] = "") -> None:
        await interaction.response.defer(ephemeral=True)
        found = await desk.blocks(await asker_of(interaction, settings))
        await _answer(interaction, blocks_text(found, label), "memory.md")

    @command.autocomplete("label")
    async def labels(interaction: Interaction, typed: str) -> list[app_commands.Choice[str]]:
        found = await desk.blocks(await asker_of(interaction, settings))
        names = dict.fromkeys(block.label for _agent, blocks in found for block in blocks)
        fitting = [name for name in names if typed.casefold() in name.casefold()]
        return [app_commands.Choice(name=name[:100], value=name[:100]) for name in fitting[:25]]

    return command


async def _answer(interaction: Interaction, text: str, file_name: str) -> None:
    if len(text) <= _MOST:
        await interaction.followup.send(text, ephemeral=True)
        return
    file = discord.File(io.BytesIO(text.encode()), filename=file_name)
    await interaction.followup.send(f"{text[:_MOST]}\n(the whole of it is in the file)", file=file, ephemeral=True)


def status_text(status: ServiceStatus) -> str:
    """How things stand, for a person."""
    lines = [f"**{status.constellation}**"]
    lines += [f"- {discord.utils.escape_markdown(line, as_needed=True)}" for line in status.lines()]
    if status.dead:
        lines.append("`carina inbox list --dead` shows what was given up.")
    return "\n".join(lines)


def results_text(results: Results) -> str:
    """Hits as quotations."""
    if not results.hits:
        where = ", ".join(f"{results.seen.get(domain, 0)} {domain}" for domain in results.searched)
        return f"Nothing was found. I searched what you may know here: {where}."
    return "\n".join(
        f"> {discord.utils.escape_markdown(' '.join(hit.text[:_SHOWN].split()))}\n"
        f"-# {hit.kind}{f' by {hit.speaker}' if hit.speaker else ''}, {discord.utils.format_dt(hit.when)}"
        for hit in results.hits
    )


def blocks_text(found: list[tuple[Agent, list[Block]]], label: str) -> str:
    """One block in full, or the list of them."""
    shown = [(agent, block) for agent, blocks in found for block in blocks if not label or block.label == label]
    if not shown:
        return f"There is no block {label!r} that you may see here." if label else "There is nothing to see here."
    if not label:
        lines = [f"- `{block.label}` ({agent.name}): {block.description}" for agent, block in shown]
        return "\n".join(dict.fromkeys(lines))
    agent, block = shown[0]
    size = f"{len(block.content):,} of {block.char_limit:,} characters"
    content = "\n".join(part for part in (block.profile, block.content) if part) or "(empty)"
    return f"**{block.label}** ({agent.name}, {size})\n{block.description}\n\n{content}"
