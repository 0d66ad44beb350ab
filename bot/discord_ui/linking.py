"""`/link`: several accounts that are one person's, proven by codes that are said on both sides."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from discord import app_commands

from bot.desks.identities import Identities
from bot.discord_ui.answering import Interaction, answer, defer
from bot.discord_ui.asking import approver_of
from bot.policy import Approver

Command: TypeAlias = app_commands.Command[Any, ..., None]


def install_link(tree: app_commands.CommandTree[Any], identities: Identities) -> None:
    """Put the commands into the tree."""
    group = app_commands.Group(name="link", description="Your other accounts, so that I know you as one person")
    group.add_command(_plain("start", "Get a code to say from your other account", identities.start))
    group.add_command(_say(identities))
    group.add_command(_list(identities))
    group.add_command(_plain("remove", "Let this account stand by itself again", identities.remove))
    tree.add_command(group)


def _plain(name: str, description: str, work: Callable[[Approver], Awaitable[str]]) -> Command:
    @app_commands.command(name=name, description=description)
    async def command(interaction: Interaction) -> None:
        if await defer(interaction):
            await answer(interaction, work(approver_of(interaction, "command")))

    return command


def _say(identities: Identities) -> Command:
    @app_commands.command(name="say", description="Say the code that your other account was told")
    @app_commands.describe(code="The code, such as ABCD-2345")
    async def command(interaction: Interaction, code: app_commands.Range[str, 1, 40]) -> None:
        if await defer(interaction):
            await answer(interaction, identities.say(code, approver_of(interaction, "command")))

    return command


def _list(identities: Identities) -> Command:
    async def words(who: Approver) -> str:
        first, *others = await identities.listed(who)
        if not others:
            return f"I know you as `{first}` alone. `/link start` links another account."
        return "\n".join([f"I know you as `{first}` and as:", *(f"- `{each}`" for each in others)])

    return _plain("list", "The accounts that I know to be yours", words)
