"""`/budget list|set|clear`: what may be spent on language models."""

from typing import Any, Literal, TypeAlias

from discord import app_commands

from bot.desks.budgeting import Budgeting, standing_line
from bot.discord_ui.answering import Interaction, answer, defer, suggests
from bot.discord_ui.asking import approver_of
from bot.policy import Approver
from memory.budgets import Limit

Command: TypeAlias = app_commands.Command[Any, ..., None]

_GENERAL = [(each, each) for each in ("constellation", "person", "guild")]


def install_budgets(tree: app_commands.CommandTree[Any], budgeting: Budgeting) -> None:
    """Put the commands into the tree."""
    group = app_commands.Group(name="budget", description="What may be spent on language models")
    for command in (_list(budgeting), _set(budgeting), _clear(budgeting)):
        group.add_command(command)
    tree.add_command(group)


async def budget_lines(budgeting: Budgeting, who: Approver) -> str:
    """Every budget and what is left of it. Raises UserError."""
    standings = await budgeting.standings(who)
    return "\n".join(f"- {standing_line(each)}" for each in standings) or "There is no budget."


def _list(budgeting: Budgeting) -> Command:
    @app_commands.command(name="list", description="Every budget, and what is left of it")
    async def command(interaction: Interaction) -> None:
        if await defer(interaction):
            await answer(interaction, budget_lines(budgeting, approver_of(interaction, "command")))

    return command


def _set(budgeting: Budgeting) -> Command:
    @app_commands.command(name="set", description="Set a budget; it holds at once. 0 asks no provider at all")
    @app_commands.describe(
        of="constellation, agent:NAME, person or guild (each of them), person:1234, guild:1234",
        period="Each day or each month (UTC)",
        usd="Dollars",
        tokens="Tokens, in and out",
    )
    async def command(
        interaction: Interaction,
        of: app_commands.Range[str, 1, 100],
        period: Literal["day", "month"] = "day",
        usd: app_commands.Range[float, 0.0, 1_000_000.0] | None = None,
        tokens: app_commands.Range[int, 0, 10**12] | None = None,
    ) -> None:
        if await defer(interaction):
            wanted = Limit(of, period, usd, tokens)
            await answer(interaction, budgeting.set(wanted, approver_of(interaction, "command")))

    async def known(interaction: Interaction) -> list[tuple[str, str]]:
        return [*_GENERAL, *await _said(budgeting, interaction)]

    suggests(command, "of", known)
    return command


async def _said(budgeting: Budgeting, interaction: Interaction) -> list[tuple[str, str]]:
    standings = await budgeting.standings(approver_of(interaction, "command"))
    there = dict.fromkeys(each.limit.subject for each in standings)
    return [(subject, subject) for subject in there if (subject, subject) not in _GENERAL]


def _clear(budgeting: Budgeting) -> Command:
    @app_commands.command(name="clear", description="Take back a budget that was set by command")
    @app_commands.describe(of="Of what, as /budget list shows it", period="Each day or each month")
    async def command(
        interaction: Interaction, of: app_commands.Range[str, 1, 100], period: Literal["day", "month"] = "day"
    ) -> None:
        if await defer(interaction):
            await answer(interaction, budgeting.clear(of, period, approver_of(interaction, "command")))

    async def known(interaction: Interaction) -> list[tuple[str, str]]:
        standings = await budgeting.standings(approver_of(interaction, "command"))
        return [(each.limit.subject, standing_line(each)) for each in standings if each.by_command]

    suggests(command, "of", known)
    return command
