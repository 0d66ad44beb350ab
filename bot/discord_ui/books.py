"""`/cost` and `/permits grant`."""

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

from discord import app_commands

from bot.desks.budgeting import Budgeting, standing_line
from bot.desks.costs import Costs, bill_lines
from bot.desks.desk import Desk
from bot.desks.granting import Granting, Wanted
from bot.discord_ui.answering import Interaction, answer, defer, suggests_names
from bot.discord_ui.asking import approver_of, asker_of
from bot.policy import Approver
from memory.agents import Agent
from memory.amounts import many
from memory.audience import Audience
from memory.usage import By
from sources.discord.places import place_of, spot_of
from sources.discord.settings import DiscordSettings

Command: TypeAlias = app_commands.Command[Any, ..., None]


def install_cost(tree: app_commands.CommandTree[Any], costs: Costs, budgeting: Budgeting) -> None:
    """Put `/cost` into the tree."""

    async def words(days: int, by: By, who: Approver) -> str:
        bills = await costs.bills(days, by, who)
        lines = [f"**Last {many(days, 'day')}, by {by}**", *bill_lines(bills)] if bills else ["No model was asked."]
        left = [f"- {standing_line(each)}" for each in await budgeting.standings(who)]
        return "\n".join([*lines, *(["**Budgets**", *left] if left else [])])

    @app_commands.command(name="cost", description="What models cost: calls, tokens, and money where that is known")
    @app_commands.describe(days="How many days back", by="What to add up by")
    async def command(
        interaction: Interaction,
        days: app_commands.Range[int, 1, 3660] = 30,
        by: Literal["agent", "model", "day"] = "model",
    ) -> None:
        if await defer(interaction):
            await answer(interaction, words(days, by, approver_of(interaction, "command")), file_name="cost.md")

    tree.add_command(command)


def install_grant(
    tree: app_commands.CommandTree[Any], granting: Granting, desk: Desk, settings: DiscordSettings
) -> None:
    """Put `/permits grant` beside the other commands of that group."""
    group = tree.get_command("permits")
    if isinstance(group, app_commands.Group):
        group.add_command(_grant(granting, desk, settings))


def _grant(granting: Granting, desk: Desk, settings: DiscordSettings) -> Command:
    @app_commands.command(name="grant", description="Allow an agent something for what is said here, before it asks")
    @app_commands.describe(
        agent="Which agent",
        tool="Which of its tools",
        block="Or: which of its memory blocks it may write",
        arguments='Arguments that a call must have, as JSON: {"operation": "insert"}; without them any call',
        hours="For how long; without it until it is revoked",
    )
    async def command(
        interaction: Interaction,
        agent: app_commands.Range[str, 1, 64],
        tool: app_commands.Range[str, 1, 64] = "",
        block: app_commands.Range[str, 1, 64] = "",
        arguments: app_commands.Range[str, 1, 1000] = "",
        hours: app_commands.Range[float, 0.1, 8784.0] | None = None,
    ) -> None:
        if not await defer(interaction):
            return
        wanted = Wanted(agent, _heard_here(interaction, settings), tool, block, arguments, hours)
        await answer(interaction, _granted(granting, wanted, approver_of(interaction, "command")))

    async def agents(_interaction: Interaction) -> Iterable[str]:
        return await desk.agent_names()

    async def tools(interaction: Interaction) -> Iterable[str]:
        return [tool for agent in await desk.agents() if _meant(interaction, agent) for tool in agent.tools]

    async def blocks(interaction: Interaction) -> Iterable[str]:
        found = await desk.blocks(await asker_of(interaction, settings))
        return [block.label for agent, held in found if _meant(interaction, agent) for block in held]

    suggests_names(command, "agent", agents)
    suggests_names(command, "tool", tools)
    suggests_names(command, "block", blocks)
    return command


def _meant(interaction: Interaction, agent: Agent) -> bool:
    """Whether it is the agent that the command names already; every agent while it names none."""
    named = str(interaction.namespace.agent or "").casefold()
    return not named or agent.name.casefold() == named


async def _granted(granting: Granting, wanted: Wanted, who: Approver) -> str:
    grant = await granting.give(wanted, who)
    until = "until it is revoked" if grant.expires_at is None else f"until {grant.expires_at:%Y-%m-%d %H:%M} UTC"
    bound = ", ".join(f"{name}={value!r}" for name, value in grant.pattern.items()) or "any arguments"
    what = wanted.tool or f"writing block {wanted.block}"
    return f"Allowed, for what {grant.audience} hears: `{grant.id}` {what} ({bound}) {until}."


def _heard_here(interaction: Interaction, settings: DiscordSettings) -> Audience:
    return place_of(spot_of(interaction.channel, interaction.user.id), settings).audience
