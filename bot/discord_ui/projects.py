"""`/project`: what was learned from projects, as far as the asker may know it here; only they see the answer."""

from collections.abc import Iterable
from typing import Any, TypeAlias

import discord
from discord import app_commands

from bot.desks.projects import Projects
from bot.discord_ui.answering import Interaction, answer, defer, suggests
from bot.discord_ui.asking import approver_of, asker_of
from bot.turns.knowing import project_line
from memory.audience import Trust
from memory.projects import LONGEST, LONGEST_TECH, Learning
from sources.discord.hearing import trust_of
from sources.discord.reading import author_of
from sources.discord.settings import DiscordSettings

Command: TypeAlias = app_commands.Command[Any, ..., None]
Points: TypeAlias = app_commands.Range[int, 1, 5]


def install_projects(tree: app_commands.CommandTree[Any], projects: Projects, settings: DiscordSettings) -> None:
    """Put the commands into the tree."""
    group = app_commands.Group(name="project", description="What I learn from projects: reviews, wishes, ratings")
    _add_telling(group, projects, settings)
    _add_rating(group, projects, settings)
    _add_listing(group, projects, settings)
    tree.add_command(group)


def _add_telling(group: app_commands.Group, projects: Projects, settings: DiscordSettings) -> None:
    @group.command(name="review", description="Keep what a review found; what comes up again I am shown")
    @app_commands.describe(text="One issue, or several numbered ones")
    async def review(interaction: Interaction, text: app_commands.Range[str, 1, 4000]) -> None:
        if await defer(interaction):
            asker, trust = await asker_of(interaction, settings), _trust(interaction, settings)
            await answer(interaction, _kept(projects.review(asker, trust, text)))

    @group.command(name="prefer", description="Keep what you want for projects")
    @app_commands.describe(text="What you want")
    async def prefer(interaction: Interaction, text: app_commands.Range[str, 1, LONGEST_TECH]) -> None:
        if await defer(interaction):
            asker, trust = await asker_of(interaction, settings), _trust(interaction, settings)
            await answer(interaction, _kept(projects.prefer(asker, trust, text)))

    @group.command(name="done", description="A project is done: now it can be rated")
    @app_commands.describe(text="What it was", tech="What it was made with")
    async def done(
        interaction: Interaction,
        text: app_commands.Range[str, 1, LONGEST],
        tech: app_commands.Range[str, 0, LONGEST_TECH] = "",
    ) -> None:
        if await defer(interaction):
            asker, trust = await asker_of(interaction, settings), _trust(interaction, settings)
            await answer(interaction, _kept(projects.done(asker, trust, text, tech)))


def _add_rating(group: app_commands.Group, projects: Projects, settings: DiscordSettings) -> None:
    @group.command(name="rate", description="Rate your newest project, 1 to 5, on one or more axes")
    @app_commands.rename(interaction_points="interaction")
    async def rate(
        interaction: Interaction,
        creativity: Points | None = None,
        visual: Points | None = None,
        interaction_points: Points | None = None,
        completeness: Points | None = None,
        engagement: Points | None = None,
    ) -> None:
        if await defer(interaction):
            given = {"creativity": creativity, "visual": visual, "interaction": interaction_points}
            given |= {"completeness": completeness, "engagement": engagement}
            ratings = {axis: int(points) for axis, points in given.items() if points is not None}
            asker, trust = await asker_of(interaction, settings), _trust(interaction, settings)
            await answer(interaction, _kept(projects.rate(asker, trust, ratings)))


def _add_listing(group: app_commands.Group, projects: Projects, settings: DiscordSettings) -> None:
    async def words(interaction: Interaction) -> str:
        found = await projects.listing(await asker_of(interaction, settings))
        return "\n".join(map(_line, found)) or "Nothing was learned from projects that you may know here."

    @group.command(name="list", description="What was learned from projects that you may know here")
    async def listed(interaction: Interaction) -> None:
        if await defer(interaction):
            await answer(interaction, words(interaction), file_name="projects.md")

    @group.command(name="forget", description="Take something of it away")
    @app_commands.describe(which="Its number, as /project list shows it")
    async def forget(interaction: Interaction, which: app_commands.Range[str, 1, 30]) -> None:
        if await defer(interaction):
            who = approver_of(interaction, "command")
            await answer(interaction, projects.forget(await asker_of(interaction, settings), who, which))

    async def known(interaction: Interaction) -> Iterable[tuple[str, str]]:
        found = await projects.listing(await asker_of(interaction, settings))
        return ((str(each.id), project_line(each)[2:]) for each in found)

    suggests(forget, "which", known)


def _trust(interaction: Interaction, settings: DiscordSettings) -> Trust:
    return trust_of(author_of(interaction.user), settings)


def _line(each: Learning) -> str:
    return f"- {discord.utils.escape_markdown(project_line(each)[2:])} `{each.id}`"


async def _kept(work: Any) -> str:
    found: list[Learning] = await work
    return "\n".join(["Kept:", *map(_line, found)])
