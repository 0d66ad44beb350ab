"""`/privacy see|export|pause|resume|optout|erase`: what is kept about the asker, who alone sees the answers."""

import gzip
import io
import json
import re
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import discord
from discord import app_commands

from bot.desks.privacy import Privacy, receipt_lines, seen_lines
from bot.discord_ui.answering import Interaction, defer, tell
from bot.discord_ui.asking import approver_of
from bot.discord_ui.forms import Door
from bot.errors import UserError
from bot.policy import Approver
from memory.people.privacy import Choice

Tree: TypeAlias = app_commands.CommandTree[Any]

_NAME = "privacy.md"  # of an answer that is too long for a message
_LARGEST_FILE = 8_000_000  # bytes; Discord takes a little more
_PATTERN = re.compile(r"carina:privacy:(?P<answer>erase|keep)")
_SURE = (
    "Erase all of it? What you said, what was said to you alone and what was remembered of you goes, here and in every "
    "place. It cannot be brought back. Whether you are heard afterwards is another question: `/privacy optout`."
)


def install_privacy(tree: Tree, privacy: Privacy) -> None:
    """Put the commands into the tree, and have the buttons heard by which an erasure is confirmed."""
    group = app_commands.Group(name="privacy", description="What I keep about you: see, export, pause or erase it")
    group.add_command(_command("see", "How much I keep about you", privacy, _see))
    group.add_command(_command("export", "Everything I keep about you, as a file", privacy, _export))
    for name, description, choice in (
        ("pause", "Stop keeping and answering what you say, until you resume", Choice.PAUSED),
        ("optout", "Never keep or answer what you say, until you resume", Choice.OPTED_OUT),
        ("resume", "Hear you again", None),
    ):
        group.add_command(_command(name, description, privacy, _chooser(choice)))
    group.add_command(_command("erase", "Erase everything I keep about you", privacy, _ask_to_erase))
    tree.add_command(group)
    tree.client.add_dynamic_items(_buttons(privacy))


_Work: TypeAlias = Callable[[Interaction, Privacy, Approver], Awaitable[None]]


def _command(name: str, description: str, privacy: Privacy, work: _Work) -> app_commands.Command[Any, ..., None]:
    @app_commands.command(name=name, description=description)
    async def command(interaction: Interaction) -> None:
        if not await defer(interaction):
            return
        try:
            await work(interaction, privacy, approver_of(interaction, "command"))
        except UserError as error:
            await tell(interaction, str(error))

    return command


async def _see(interaction: Interaction, privacy: Privacy, who: Approver) -> None:
    await tell(interaction, "\n".join(seen_lines(await privacy.see(who.person, who))), file_name=_NAME)


async def _export(interaction: Interaction, privacy: Privacy, who: Approver) -> None:
    found = await privacy.export(who.person, who)
    data, name = json.dumps(found, ensure_ascii=False, indent=1).encode("utf-8", "replace"), "privacy.json"
    if len(data) > _LARGEST_FILE:
        data, name = gzip.compress(data), "privacy.json.gz"
    if len(data) > _LARGEST_FILE:
        text = (
            "That is more than fits into a file here. Whoever runs me gets it with `carina privacy export`: ask them."
        )
        await tell(interaction, text)
        return
    await tell(interaction, "Everything I keep about you:", file=discord.File(io.BytesIO(data), filename=name))


def _chooser(choice: Choice | None) -> _Work:
    async def work(interaction: Interaction, privacy: Privacy, who: Approver) -> None:
        await tell(interaction, await privacy.choose(who.person, who, choice))

    return work


async def _ask_to_erase(interaction: Interaction, privacy: Privacy, who: Approver) -> None:
    seen = seen_lines(await privacy.see(who.person, who))
    view = discord.ui.View(timeout=None)
    erase, keep = discord.ButtonStyle.danger, discord.ButtonStyle.secondary
    view.add_item(discord.ui.Button(label="Erase everything", style=erase, custom_id="carina:privacy:erase"))
    view.add_item(discord.ui.Button(label="Keep it", style=keep, custom_id="carina:privacy:keep"))
    view.stop()  # pressed, it is heard by the handler below, also after a restart
    await tell(interaction, "\n".join([*seen, _SURE]), view=view)


def _buttons(privacy: Privacy) -> type[discord.ui.DynamicItem[discord.ui.Button[Any]]]:
    class Confirm(Door, discord.ui.DynamicItem[discord.ui.Button[Any]], template=_PATTERN):
        """Both buttons; whoever presses means themselves, whatever message it stands under."""

        def __init__(self, answer: str, shown: discord.ui.Button[Any]) -> None:
            super().__init__(shown)
            self.answer = answer

        @classmethod
        async def from_custom_id(
            cls, _interaction: Interaction, item: discord.ui.Item[Any], match: re.Match[str], /
        ) -> "Confirm":
            if not isinstance(item, discord.ui.Button):
                raise TypeError(f"a button has the id {match[0]}, not {type(item).__name__}")
            return cls(match["answer"], item)

        async def pressed(self, interaction: Interaction) -> None:
            if not await defer(interaction):
                return
            if self.answer == "keep":
                await tell(interaction, "Nothing was erased.")
                return
            who = approver_of(interaction, "button")
            try:
                receipt = await privacy.erase(who.person, who)
            except UserError as error:
                await tell(interaction, str(error))
                return
            await tell(interaction, "\n".join(receipt_lines(receipt)), file_name=_NAME)

    return Confirm
