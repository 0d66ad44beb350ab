"""`/outbox list|retry|drop`: what could not be delivered, for the owner."""

import re
from typing import Any, TypeAlias

import discord
from discord import app_commands

from bot.desks.undelivered import Outbox
from bot.discord_ui.answering import Interaction, answer, defer, suggests, tell
from bot.discord_ui.asking import approver_of
from bot.discord_ui.forms import Door
from bot.errors import UserError
from bot.policy import Approver

Command: TypeAlias = app_commands.Command[Any, ..., None]
Row: TypeAlias = app_commands.Range[str, 1, 20]

_LISTED = 15
_SUGGESTED = 100
_PATTERN = re.compile(r"carina:outbox:(?P<row>[0-9]{1,20})")


def install_outbox(tree: app_commands.CommandTree[Any], outbox: Outbox) -> None:
    """Put the commands into the tree, and have the button heard by which a second delivery is confirmed."""
    group = app_commands.Group(name="outbox", description="What could not be delivered: shown, sent again, dropped")
    group.add_command(_list(outbox))
    group.add_command(_retry(outbox))
    group.add_command(_drop(outbox))
    tree.add_command(group)
    tree.client.add_dynamic_items(_button(outbox))


def _list(outbox: Outbox) -> Command:
    @app_commands.command(name="list", description="What could not be delivered, and why")
    async def command(interaction: Interaction) -> None:
        if await defer(interaction):
            await answer(interaction, _listed(outbox, approver_of(interaction, "command")), file_name="outbox.md")

    return command


async def _listed(outbox: Outbox, who: Approver) -> str:
    rows = await outbox.listing(who, _LISTED)
    return "\n".join(map(_line, rows)) or "Everything was delivered."


def _line(row: dict[str, Any]) -> str:
    more = f", {row['pieces']} pieces" if row["pieces"] > 1 else ""
    place, reason, text = (discord.utils.escape_markdown(row[name]) for name in ("place", "reason", "text"))
    return f"`{row['id']}` {row['what']} in {place}{more}, **{row['status']}**: {reason}\n> {text}"


def _retry(outbox: Outbox) -> Command:
    @app_commands.command(name="retry", description="Send something again that could not be delivered")
    @app_commands.describe(row="Its number, as /outbox list shows it")
    async def command(interaction: Interaction, row: Row) -> None:
        if not await defer(interaction):
            return
        try:
            done = await outbox.retry(approver_of(interaction, "command"), _number(row))
        except UserError as error:
            await tell(interaction, str(error))
            return
        if done["asks"]:
            await tell(interaction, done["asks"], view=_confirming(done["id"]))
        else:
            await tell(interaction, _sent(done))

    suggests(command, "row", lambda interaction: _undelivered(outbox, interaction))
    return command


async def _undelivered(outbox: Outbox, interaction: Interaction) -> list[tuple[str, str]]:
    rows = await outbox.listing(approver_of(interaction, "command"), _SUGGESTED)
    return [(row["id"], f"{row['id']} {row['what']} in {row['place']}: {row['text']}") for row in rows]


def _sent(done: dict[str, Any]) -> str:
    return f"`{done['id']}` is sent again. If that fails too, you are told."


def _confirming(row: str) -> discord.ui.View:
    view = discord.ui.View(timeout=None)
    style, name = discord.ButtonStyle.danger, "Send it nevertheless"
    view.add_item(discord.ui.Button(label=name, style=style, custom_id=f"carina:outbox:{row}"))
    view.stop()  # pressed, it is heard by the handler below, also after a restart
    return view


def _drop(outbox: Outbox) -> Command:
    @app_commands.command(name="drop", description="Give something up for good that could not be delivered")
    @app_commands.describe(row="Its number, as /outbox list shows it")
    async def command(interaction: Interaction, row: Row) -> None:
        if await defer(interaction):
            await answer(interaction, _dropped(outbox, approver_of(interaction, "command"), row))

    suggests(command, "row", lambda interaction: _undelivered(outbox, interaction))
    return command


async def _dropped(outbox: Outbox, who: Approver, row: str) -> str:
    done = await outbox.drop(who, _number(row))
    return f"`{done['id']}` is dropped; what it said is forgotten."


def _number(row: str) -> int:
    if not row.isdecimal():
        raise UserError("a row is named by its number; `/outbox list` shows them")
    return int(row)


def _button(outbox: Outbox) -> type[discord.ui.DynamicItem[discord.ui.Button[Any]]]:
    class Confirm(Door, discord.ui.DynamicItem[discord.ui.Button[Any]], template=_PATTERN):
        """Sends a row again that may appear twice; whether whoever presses may is decided anew."""

        def __init__(self, identifier: int, shown: discord.ui.Button[Any]) -> None:
            super().__init__(shown)
            self.identifier = identifier

        @classmethod
        async def from_custom_id(
            cls, _interaction: Interaction, item: discord.ui.Item[Any], match: re.Match[str], /
        ) -> "Confirm":
            if not isinstance(item, discord.ui.Button):
                raise TypeError(f"a button has the id {match[0]}, not {type(item).__name__}")
            return cls(int(match["row"]), item)

        async def pressed(self, interaction: Interaction) -> None:
            if await defer(interaction):
                await answer(interaction, _repeated(outbox, approver_of(interaction, "button"), self.identifier))

    return Confirm


async def _repeated(outbox: Outbox, who: Approver, row: int) -> str:
    return _sent(await outbox.retry(who, row, twice=True))
