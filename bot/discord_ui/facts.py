"""`/facts`: what agents learned, as far as the asker may know it here; only they see the answer."""

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

import discord
from discord import app_commands

from bot.desks.desk import Asker, Desk
from bot.desks.facts import Entered, Facts
from bot.discord_ui.answering import Interaction, Names, Suggest, answer, defer, suggests, suggests_names
from bot.discord_ui.asking import approver_of, asker_of
from bot.policy import Approver
from bot.turns.knowing import numbered_line
from memory.facts import LONGEST
from sources.discord.hearing import trust_of
from sources.discord.reading import author_of
from sources.discord.settings import DiscordSettings

Command: TypeAlias = app_commands.Command[Any, ..., None]
Which: TypeAlias = app_commands.Range[str, 1, 20]
Words: TypeAlias = app_commands.Range[str, 1, LONGEST]
Category: TypeAlias = Literal["user_preference", "codebase_pattern", "workflow_habit", "lesson_learned"]


def install_facts(tree: app_commands.CommandTree[Any], facts: Facts, desk: Desk, settings: DiscordSettings) -> None:
    """Put the commands into the tree."""

    async def names(_interaction: Interaction) -> Iterable[str]:
        return await desk.agent_names()

    group = app_commands.Group(name="facts", description="What I learned from what people say")
    group.add_command(_list(facts, settings, names))
    group.add_command(_add(facts, settings, names))
    for command in (_confirm(facts, settings), _correct(facts, settings), _forget(facts, settings)):
        suggests(command, "fact", _known(facts, settings))
        group.add_command(command)
    tree.add_command(group)


def _known(facts: Facts, settings: DiscordSettings) -> Suggest:
    async def known(interaction: Interaction) -> Iterable[tuple[str, str]]:
        found = await facts.known(await asker_of(interaction, settings))
        return ((str(fact.id), numbered_line(fact)[2:]) for fact in found)

    return known


def _list(facts: Facts, settings: DiscordSettings, names: Names) -> Command:
    async def words(asker: Asker, agent: str, *, mine: bool) -> str:
        found = await facts.known(asker, agent, mine=mine)
        lines = [discord.utils.escape_markdown(numbered_line(fact)[2:]) for fact in found]
        return "\n".join(f"- {line}" for line in lines) or "Nothing was learned that you may know here."

    @app_commands.command(name="list", description="What was learned that you may know here")
    @app_commands.describe(agent="Of which agent", mine="Only from you")
    async def command(interaction: Interaction, agent: app_commands.Range[str, 0, 64] = "", mine: bool = False) -> None:
        if await defer(interaction):
            await answer(
                interaction, words(await asker_of(interaction, settings), agent, mine=mine), file_name="facts.md"
            )

    suggests_names(command, "agent", names)
    return command


def _add(facts: Facts, settings: DiscordSettings, names: Names) -> Command:
    async def words(interaction: Interaction, entered: Entered) -> str:
        trust = trust_of(author_of(interaction.user), settings)
        return f"Kept: {numbered_line(await facts.add(await asker_of(interaction, settings), trust, entered))[2:]}"

    @app_commands.command(name="add", description="Tell me a fact about you, for when I talk to you alone")
    @app_commands.describe(fact="One statement", category="What kind of thing it is", agent="Which agent keeps it")
    async def command(
        interaction: Interaction,
        fact: Words,
        category: Category = "user_preference",
        agent: app_commands.Range[str, 0, 64] = "",
    ) -> None:
        if await defer(interaction):
            await answer(interaction, words(interaction, Entered(fact, category, agent)))

    suggests_names(command, "agent", names)
    return command


def _confirm(facts: Facts, settings: DiscordSettings) -> Command:
    async def words(asker: Asker, who: Approver, fact: str) -> str:
        return f"Confirmed: {numbered_line(await facts.confirm(asker, who, fact))[2:]}"

    @app_commands.command(name="confirm", description="Say that a fact of yours holds")
    @app_commands.describe(fact="Which one")
    async def command(interaction: Interaction, fact: Which) -> None:
        if await defer(interaction):
            who = approver_of(interaction, "command")
            await answer(interaction, words(await asker_of(interaction, settings), who, fact))

    return command


def _correct(facts: Facts, settings: DiscordSettings) -> Command:
    async def words(asker: Asker, who: Approver, fact: str, text: str) -> str:
        return f"Now: {numbered_line(await facts.correct(asker, who, fact, text))[2:]}"

    @app_commands.command(name="correct", description="Put other words in the place of a fact of yours")
    @app_commands.describe(fact="Which one", text="What holds instead")
    async def command(interaction: Interaction, fact: Which, text: Words) -> None:
        if await defer(interaction):
            who = approver_of(interaction, "command")
            await answer(interaction, words(await asker_of(interaction, settings), who, fact, text))

    return command


def _forget(facts: Facts, settings: DiscordSettings) -> Command:
    @app_commands.command(name="forget", description="Take a fact of yours away")
    @app_commands.describe(fact="Which one")
    async def command(interaction: Interaction, fact: Which) -> None:
        if await defer(interaction):
            who = approver_of(interaction, "command")
            await answer(interaction, facts.forget(await asker_of(interaction, settings), who, fact))

    return command
