"""`/agents`, `/agent` and `/inbox`: who lives here and who sleeps, and what arrived and how it stands."""

from typing import Any, TypeAlias

import discord
from discord import app_commands

from bot import policy
from bot.desks.desk import Desk
from bot.desks.operations import Operations
from bot.desks.staff import Staff
from bot.discord_ui.answering import answer, defer, suggests, suggests_names, tell
from bot.discord_ui.asking import approver_of
from bot.errors import UserError
from bot.policy import Action, Approver, People
from bot.rules import Rules
from memory.agents import Agent

Interaction: TypeAlias = discord.Interaction[Any]
Command: TypeAlias = app_commands.Command[Any, ..., None]

_LISTED = 15
_SUGGESTED = 100


def install_house(tree: app_commands.CommandTree[Any], desk: Desk, operations: Operations, people: People) -> None:
    """Put the commands into the tree."""
    tree.add_command(_agents(desk, people))
    group = app_commands.Group(name="inbox", description="What arrived and how it was answered")
    group.add_command(_list(operations, people))
    group.add_command(_retry(operations, people))
    tree.add_command(group)


def _agents(desk: Desk, people: People) -> Command:
    @app_commands.command(name="agents", description="Who lives here, and what they may do")
    async def command(interaction: Interaction) -> None:
        if await defer(interaction):
            whole = policy.may(people, approver_of(interaction, "command"), Action.STATUS)
            lines = [agent_line(agent, desk, whole=whole) for agent in await desk.agents()]
            await tell(interaction, "\n".join(lines) or "Every agent is archived.", file_name="agents.md")

    return command


def install_agent(tree: app_commands.CommandTree[Any], staff: Staff) -> None:
    """Put `/agent hibernate|wake` into the tree."""
    group = app_commands.Group(name="agent", description="Letting an agent sleep, and waking it")
    group.add_command(_sleep(staff, "hibernate", "Let an agent sleep: it is asked nothing until it is woken"))
    group.add_command(_sleep(staff, "wake", "Let an agent that sleeps be asked again"))
    tree.add_command(group)


def _sleep(staff: Staff, name: str, description: str) -> Command:
    @app_commands.command(name=name, description=description)
    @app_commands.describe(agent="Which")
    async def command(interaction: Interaction, agent: app_commands.Range[str, 1, 64]) -> None:
        if await defer(interaction):
            who = approver_of(interaction, "command")
            await answer(interaction, staff.sleep_by(who, agent, awake=name == "wake"))

    async def fitting(_interaction: Interaction) -> list[str]:
        wanted = "hibernated" if name == "wake" else "active"
        return [str(each["agent"]) for each in await staff.listing() if each["status"] == wanted]

    suggests_names(command, "agent", fitting)
    return command


def agent_line(agent: Agent, desk: Desk, *, whole: bool) -> str:
    """An agent; `whole` with its model, its tools and its rules."""
    name = discord.utils.escape_markdown(agent.name)
    about = f": {discord.utils.escape_markdown(agent.description)}" if agent.description else ""
    about = f" (hibernated){about}" if agent.status == "hibernated" else about
    if not whole:
        return f"- **{name}**{about}"
    tools = ", ".join(f"{tool} (asks first)" if tool in agent.consent else tool for tool in desk.tools_of(agent))
    rules = "".join(f"\n  - {sentence}" for sentence in Rules.of(agent).sentences())
    return f"- **{name}**{about}\n  model `{desk.model_of(agent)}`, tools: {tools or 'none'}{rules}"


def _list(operations: Operations, people: People) -> Command:
    async def listed(who: Approver, *, dead: bool) -> str:
        policy.require(people, who, Action.INBOX)
        lines = [_row_line(row) for row in await operations.inbox_list("dead" if dead else "", _LISTED)]
        return "\n".join(lines) or ("Nothing was given up." if dead else "Nothing has arrived yet.")

    @app_commands.command(name="list", description="The newest notifications and how they stand")
    @app_commands.describe(dead="Only what was given up")
    async def command(interaction: Interaction, dead: bool = False) -> None:
        if await defer(interaction):
            await answer(interaction, listed(approver_of(interaction, "command"), dead=dead), file_name="inbox.md")

    return command


def _row_line(row: dict[str, Any]) -> str:
    error = f": {discord.utils.escape_markdown(row['last_error'])}" if row["last_error"] else ""
    return f"`{row['id']}` {row['kind']} in {row['place']}, **{row['status']}**{error}"


def _retry(operations: Operations, people: People) -> Command:
    async def retried(who: Approver, row: str) -> str:
        policy.require(people, who, Action.INBOX)
        if not row.isdecimal():
            raise UserError("A row is named by its number; `/inbox list` shows them.")
        await operations.inbox_retry(int(row))
        return f"`{row}` is tried again."

    @app_commands.command(name="retry", description="Let something that was given up be tried again")
    @app_commands.describe(row="Its number, as /inbox list shows it")
    async def command(interaction: Interaction, row: app_commands.Range[str, 1, 20]) -> None:
        if await defer(interaction):
            await answer(interaction, retried(approver_of(interaction, "command"), row))

    async def dead(interaction: Interaction) -> list[tuple[str, str]]:
        policy.require(people, approver_of(interaction, "command"), Action.INBOX)
        return [(str(row["id"]), _suggestion(row)) for row in await operations.inbox_list("dead", _SUGGESTED)]

    suggests(command, "row", dead)
    return command


def _suggestion(row: dict[str, Any]) -> str:
    return f"{row['id']} {row['kind']} in {row['place']}: {row['last_error']}"
