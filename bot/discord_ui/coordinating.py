"""`/coord` and `/activity`: what agents know of each other, as far as the asker may know it here."""

from typing import Any, Literal, TypeAlias

import discord
from discord import app_commands

from bot.desks.coordinating import Coordinating, Sought, Wish, status_lines
from bot.desks.desk import Asker
from bot.discord_ui.answering import Interaction, Suggest, answer, defer, suggests
from bot.discord_ui.asking import approver_of, asker_of, scope_here
from bot.turns.surroundings import event_line
from memory.activity import Importance
from sources.discord.hearing import trust_of
from sources.discord.reading import author_of
from sources.discord.settings import DiscordSettings

Command: TypeAlias = app_commands.Command[Any, ..., None]
Name: TypeAlias = app_commands.Range[str, 1, 64]
Words: TypeAlias = app_commands.Range[str, 1, 2000]


def install_coordinating(
    tree: app_commands.CommandTree[Any], coordinating: Coordinating, settings: DiscordSettings
) -> None:
    """Put the commands into the tree."""
    group = app_commands.Group(name="coord", description="What agents arrange with each other")
    group.add_command(_status(coordinating, settings))
    group.add_command(_assign(coordinating, settings))
    group.add_command(_complete(coordinating, settings))
    group.add_command(_handoff(coordinating, settings))
    group.add_command(_note(coordinating, settings))
    tree.add_command(group)
    tree.add_command(_activity(coordinating, settings))


async def _arrange(interaction: Interaction, coordinating: Coordinating, settings: DiscordSettings, wish: Wish) -> None:
    if not await defer(interaction):
        return
    trust, who = trust_of(author_of(interaction.user), settings), approver_of(interaction, "command")
    await answer(interaction, coordinating.arrange(who, await scope_here(interaction, settings), trust, wish))


def _status(coordinating: Coordinating, settings: DiscordSettings) -> Command:
    async def words(asker: Asker) -> str:
        return "\n".join(_escape(line) for line in status_lines(await coordinating.status(asker)))

    @app_commands.command(name="status", description="Who is here, open tasks, handoffs and notes")
    async def command(interaction: Interaction) -> None:
        if await defer(interaction):
            await answer(interaction, words(await asker_of(interaction, settings)), file_name="coord.md")

    return command


def _assign(coordinating: Coordinating, settings: DiscordSettings) -> Command:
    @app_commands.command(name="assign", description="Give an agent a task, known to those who read here")
    @app_commands.describe(task="What is to be done", agent="Who is to do it; without it anyone")
    async def command(
        interaction: Interaction, task: Words, agent: Name = "", importance: Importance = "medium"
    ) -> None:
        await _arrange(interaction, coordinating, settings, Wish("assign", task, agent, importance=importance))

    suggests(command, "agent", _named(coordinating, settings))
    return command


def _named(coordinating: Coordinating, settings: DiscordSettings) -> Suggest:
    async def agents(interaction: Interaction) -> list[tuple[str, str]]:
        found = await coordinating.status(await asker_of(interaction, settings))
        return [(each["name"], each["name"]) for each in found["agents"]]

    return agents


def _complete(coordinating: Coordinating, settings: DiscordSettings) -> Command:
    @app_commands.command(name="complete", description="Say that a task is done")
    @app_commands.describe(task="Its id, as /coord status shows it")
    async def command(interaction: Interaction, task: Name) -> None:
        await _arrange(interaction, coordinating, settings, Wish("complete", task=task))

    async def open_tasks(interaction: Interaction) -> list[tuple[str, str]]:
        found = await coordinating.status(await asker_of(interaction, settings))
        return [(each["id"], each["line"]) for each in found["tasks"]]

    suggests(command, "task", open_tasks)
    return command


def _handoff(coordinating: Coordinating, settings: DiscordSettings) -> Command:
    @app_commands.command(name="handoff", description="Leave an agent a note that it reads in its next turn")
    @app_commands.describe(note="What it must know", agent="Who reads it; without it whoever comes next")
    async def command(interaction: Interaction, note: Words, agent: Name = "") -> None:
        await _arrange(interaction, coordinating, settings, Wish("handoff", note, agent))

    suggests(command, "agent", _named(coordinating, settings))
    return command


def _note(coordinating: Coordinating, settings: DiscordSettings) -> Command:
    @app_commands.command(name="note", description="Note something for all agents, known to those who read here")
    @app_commands.describe(
        note="What was decided or matters", importance="From medium on agents are told that were away"
    )
    async def command(interaction: Interaction, note: Words, importance: Importance = "medium") -> None:
        await _arrange(interaction, coordinating, settings, Wish("note", note, importance=importance))

    return command


def _activity(coordinating: Coordinating, settings: DiscordSettings) -> Command:
    async def words(asker: Asker, sought: Sought) -> str:
        found = await coordinating.activity(asker, sought)
        lines = [f"- {discord.utils.format_dt(event.at, 'R')} {_escape(event_line(event))}" for event in found]
        return "\n".join(lines) or "Nothing happened in that time that you may know here."

    @app_commands.command(name="activity", description="What agents did lately, as far as you may know it here")
    @app_commands.describe(
        hours="How far back",
        agent="Only this agent",
        kind="Only events of this kind",
        text="Only events with these words",
    )
    async def command(
        interaction: Interaction,
        hours: app_commands.Range[float, 0.1, 8784.0] = 24.0,
        agent: Name = "",
        kind: Literal[
            "agent_activated",
            "agent_deactivated",
            "message_received",
            "message_sent",
            "tool_executed",
            "memory_block_updated",
            "file_accessed",
            "task_assigned",
            "handoff_initiated",
            "notable",
        ]
        | None = None,
        text: app_commands.Range[str, 1, 200] = "",
    ) -> None:
        if await defer(interaction):
            asker = await asker_of(interaction, settings)
            await answer(interaction, words(asker, Sought(hours, agent, kind or "", text)), file_name="activity.md")

    suggests(command, "agent", _named(coordinating, settings))
    return command


def _escape(text: str) -> str:
    return discord.utils.escape_markdown(text, as_needed=True)
