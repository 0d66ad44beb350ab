"""`/job list|run|pause|resume` and `/backup create|list`, for the owner; jobs for admins too."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import discord
from discord import app_commands

from bot.desks.backups import Backups
from bot.desks.schedule import Schedule
from bot.discord_ui.answering import Interaction, answer, defer, suggests_names
from bot.discord_ui.asking import approver_of
from bot.policy import Approver

Command: TypeAlias = app_commands.Command[Any, ..., None]


def install_jobs(tree: app_commands.CommandTree[Any], schedule: Schedule) -> None:
    """Put the commands into the tree."""
    group = app_commands.Group(name="job", description="Scheduled work: what is due when, and what came of it")
    group.add_command(_list(schedule))
    group.add_command(_act(schedule, "run", "Have a job run now, beside its plan", schedule.run_now))
    group.add_command(_act(schedule, "pause", "Run a job no more by itself, until it is resumed", schedule.pause))
    group.add_command(_act(schedule, "resume", "Run a job by itself again", schedule.resume))
    tree.add_command(group)


def install_backup(tree: app_commands.CommandTree[Any], backups: Backups) -> None:
    """Put `/backup` into the tree; putting one back is for the command line, as the service must not run then."""
    group = app_commands.Group(name="backup", description="Verified copies of everything")

    @group.command(name="create", description="Make and verify a backup now")
    async def create(interaction: Interaction) -> None:
        if await defer(interaction):
            await answer(interaction, backups.create(approver_of(interaction, "command")))

    @group.command(name="list", description="The backups, newest first")
    async def listed(interaction: Interaction) -> None:
        if await defer(interaction):
            await answer(interaction, _backups(backups, approver_of(interaction, "command")))

    tree.add_command(group)


async def _backups(backups: Backups, who: Approver) -> str:
    found = await backups.listed(who)
    lines = [f"- `{each['name']}`: " + (each["reason"] or f"{each['bytes']:,} bytes") for each in found]
    return "\n".join(lines) or "There are no backups yet."


def _list(schedule: Schedule) -> Command:
    @app_commands.command(name="list", description="What is scheduled, the next first")
    async def command(interaction: Interaction) -> None:
        if await defer(interaction):
            await answer(interaction, _listed(schedule, approver_of(interaction, "command")), file_name="jobs.md")

    return command


async def _listed(schedule: Schedule, who: Approver) -> str:
    return "\n".join(map(_line, await schedule.listed(who))) or "Nothing is scheduled."


def _line(job: dict[str, Any]) -> str:
    last = f"; last {job['last'][:16]}: {job['outcome']}, {job['text']}" if job["last"] else ""
    line = f"{job['id']} ({job['when']}), {job['state']}, next {job['next'][:16] or 'never'}{last}"
    return f"- {discord.utils.escape_markdown(line, as_needed=True)}"


def _act(schedule: Schedule, name: str, description: str, work: Callable[[str, Approver], Awaitable[str]]) -> Command:
    @app_commands.command(name=name, description=description)
    @app_commands.describe(job="Which")
    async def command(interaction: Interaction, job: app_commands.Range[str, 1, 100]) -> None:
        if await defer(interaction):
            await answer(interaction, work(job, approver_of(interaction, "command")))

    async def jobs(interaction: Interaction) -> list[str]:
        return [each["id"] for each in await schedule.listed(approver_of(interaction, "command"))]

    suggests_names(command, "job", jobs)
    return command
