"""`/doctor`, `/restart` and `/export`, for the owner."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeAlias

import discord
from discord import app_commands

from bot import policy
from bot.desks.household import Household
from bot.desks.restarting import Restart
from bot.discord_ui.answering import Interaction, answer, cleaned, defer, suggests_names, tell, text_file
from bot.discord_ui.asking import approver_of
from bot.errors import UserError
from bot.examining.apart import Examining
from bot.policy import Action, Approver, People
from sources.finding import Finding, State

Command: TypeAlias = app_commands.Command[Any, ..., None]

_MARKS = {State.GOOD: "✅", State.UNSET: "▫️", State.DOUBT: "⚠️", State.PROBLEM: "❌"}


def install_doctor(tree: app_commands.CommandTree[Any], examining: Examining) -> None:
    """Put `/doctor` into the tree."""

    async def words(who: Approver) -> str:
        return "\n".join(line for each in await examining.examine(who) for line in _lines(each))

    @app_commands.command(name="doctor", description="Examine what I stand on, from disk to models, and what to do")
    async def command(interaction: Interaction) -> None:
        if await defer(interaction):
            await answer(interaction, words(approver_of(interaction, "command")), file_name="doctor.md")

    tree.add_command(command)


def _lines(finding: Finding) -> Iterable[str]:
    escape = discord.utils.escape_markdown
    yield f"{_MARKS[finding.state]} **{escape(finding.about)}**: {escape(finding.words, as_needed=True)}"
    if finding.remedy:
        yield f"-# {escape(finding.remedy, as_needed=True)}"


def install_restart(tree: app_commands.CommandTree[Any], restart: Restart) -> None:
    """Put `/restart` into the tree."""

    @app_commands.command(name="restart", description="Have me end in order and start again with the configuration")
    @app_commands.describe(sure="Do it; without it I say whether the configuration is sound")
    async def command(interaction: Interaction, sure: bool = False) -> None:
        if await defer(interaction):
            await answer(interaction, restart.ask(approver_of(interaction, "command"), sure=sure))

    tree.add_command(command)


def install_export(tree: app_commands.CommandTree[Any], household: Household, people: People) -> None:
    """Put `/export` into the tree."""
    group = app_commands.Group(name="export", description="Settings as TOML that `carina` takes in again")
    staff, grouping = household.staff, household.grouping

    async def agents() -> list[str]:
        return [str(each["agent"]) for each in await staff.listing()]

    async def groups() -> list[str]:
        return [str(each["group"]) for each in await grouping.listing()]

    group.add_command(_export("agent", (staff.export, agents), people))
    group.add_command(_export("group", (grouping.export, groups), people))
    tree.add_command(group)


def _export(
    kind: str,
    works: tuple[Callable[[list[str]], Awaitable[dict[str, Any]]], Callable[[], Awaitable[list[str]]]],
    people: People,
) -> Command:
    export, names = works

    @app_commands.command(name=kind, description=f"One {kind} with all its settings; without a name every {kind}")
    @app_commands.describe(name="Which")
    async def command(interaction: Interaction, name: app_commands.Range[str, 0, 64] = "") -> None:
        if not await defer(interaction):
            return
        try:
            policy.require(people, approver_of(interaction, "command"), Action.EXPORT)
            toml = str((await export([name] if name else []))["toml"])
        except UserError as error:
            await tell(interaction, str(error))
            return
        again = f"`carina {kind} import` takes it in again."
        if cleaned(interaction, toml) != toml:
            again += f" Secrets in it are left out; `carina {kind} export` where I run writes them too."
        await tell(interaction, again, file=text_file(interaction, toml, f"{kind}s.toml"))

    async def known(_interaction: Interaction) -> list[str]:
        return await names()

    suggests_names(command, "name", known)
    return command
