"""`/why` and the menu "Why did you say this?", with what can be done to a memory then. One person sees all of it.

Buttons, the choice among memories and the form hold ids alone and are heard by their ids, so they work for as long
as they are to be seen, restarts or not; whether somebody may do it is decided when they do it.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias, cast

import discord
import structlog
from discord import app_commands

from bot.desks.why import Curious, Explained, Why
from bot.desks.why_text import account_text, memory_text
from bot.discord_ui.answering import Interaction, cleaned, defer, tell
from bot.discord_ui.asking import approver_of, asker_of
from bot.discord_ui.forms import LONGEST, Door, hear_form
from bot.errors import UserError
from bot.policy import Change
from memory.ids import PersonId
from memory.marks import text_mark
from memory.why import Kind, Memory
from sources.discord.hearing import trust_of
from sources.discord.link import REFUSED
from sources.discord.places import place_id
from sources.discord.reading import author_of
from sources.discord.settings import DiscordSettings
from sources.text import one_line

Tree: TypeAlias = app_commands.CommandTree[Any]
Ask: TypeAlias = Callable[[Interaction], Awaitable[Curious]]

MENU = "Why did you say this?"
PICK = "carina:why:pick"
_ID = r"[a-z0-9_]{1,40}"
_BUTTON = re.compile(rf"carina:why:(?P<change>[a-z]{{1,10}}):(?P<kind>entry|message):(?P<id>{_ID})")
_PICK = re.compile(PICK)
_FORM = re.compile(rf"carina:why:text:(?P<id>{_ID}):(?P<mark>[0-9a-f]{{12}})")
_NAMED = re.compile(r"(?:https://(?:\w+\.)?discord(?:app)?\.com/channels/(?:@me|\d+)/\d+/)?(\d{1,20})")

_FULL = 1_500  # characters of one memory that is shown by itself
_OPTIONS = 25  # that Discord takes in one select menu

_LOOKS = {
    Change.FORGET: ("Forget", discord.ButtonStyle.danger),
    Change.CORRECT: ("Correct", discord.ButtonStyle.primary),
    Change.NARROW: ("Only in DM", discord.ButtonStyle.secondary),
}
_log = structlog.get_logger(__name__)


def install_why(tree: Tree, why: Why, settings: DiscordSettings) -> None:
    """Put command and menu into the tree, and have what is pressed, chosen and sent heard, whenever it was shown."""

    async def ask(interaction: Interaction) -> Curious:
        scope = (await asker_of(interaction, settings)).scope
        trust = trust_of(author_of(interaction.user), settings)
        return Curious(approver_of(interaction, "why"), scope, place_id(interaction.channel_id or 0), trust)

    tree.add_command(_command(why, ask))
    tree.add_command(_menu(why, ask))
    tree.client.add_dynamic_items(_buttons(why, ask), _picks(why, ask))

    async def sent(interaction: Interaction, named: re.Match[str], fields: dict[str, str]) -> None:
        text = fields.get("text", "")
        await _do(interaction, ask, lambda curious: why.correct(curious, named["id"], named["mark"], text))

    hear_form(tree, _FORM, sent)


def _command(why: Why, ask: Ask) -> app_commands.Command[Any, ..., None]:
    @app_commands.command(name="why", description="What my last answer here was made from, or the one you name")
    @app_commands.describe(message="Link or id of one of my answers here; without it the newest one")
    async def command(interaction: Interaction, message: app_commands.Range[str, 0, 120] = "") -> None:
        if not await defer(interaction):
            return
        named = _NAMED.fullmatch(message.strip())
        if message.strip() and named is None:
            await _tell(interaction, "A message is named by its link (*Copy Message Link*) or its id.")
            return
        curious = await ask(interaction)
        await _explain(interaction, why.of_message(curious, named[1]) if named else why.newest(curious))

    return command


def _menu(why: Why, ask: Ask) -> app_commands.ContextMenu:
    async def menu(interaction: Interaction, message: discord.Message) -> None:
        if await defer(interaction):
            await _explain(interaction, why.of_message(await ask(interaction), str(message.id)))

    return app_commands.ContextMenu(name=MENU, callback=menu)


async def _explain(interaction: Interaction, asked: Awaitable[Explained]) -> None:
    try:
        explained = await asked
    except UserError as error:
        await _tell(interaction, str(error))
        return
    text = account_text(explained.account, _person(interaction), _escape)
    if len(explained.mine) == 1:
        ((memory, changes),) = explained.mine
        await _tell(interaction, text, _offers(memory, changes))
    else:
        await _tell(interaction, text, _choice([memory for memory, _changes in explained.mine]))


# --------------------------------------------------------------------------------------------- what can be pressed


def _offers(memory: Memory, changes: Sequence[Change]) -> discord.ui.View | None:
    items = []
    for change in changes:
        label, style = _LOOKS[change]
        identifier = f"carina:why:{change}:{memory.kind}:{memory.id}"
        items.append(discord.ui.Button[Any](label=label, style=style, custom_id=identifier))
    return _view(items)


def _choice(memories: Sequence[Memory]) -> discord.ui.View | None:
    options = [
        discord.SelectOption(label=one_line(memory.text, 90), value=f"{memory.kind}:{memory.id}")
        for memory in memories[:_OPTIONS]
    ]
    select = discord.ui.Select[Any](custom_id=PICK, placeholder="Choose a memory to change", options=options)
    return _view([select] if options else [])


def _view(items: Sequence[discord.ui.Item[Any]]) -> discord.ui.View | None:
    if not items:
        return None
    view = discord.ui.View(timeout=None)
    for item in items:
        view.add_item(item)
    view.stop()  # one handler hears them all by their ids: discord.py need not keep each view
    return view


def _buttons(why: Why, ask: Ask) -> type[discord.ui.DynamicItem[discord.ui.Button[Any]]]:
    class Press(Door, discord.ui.DynamicItem[discord.ui.Button[Any]], template=_BUTTON):
        """One way to change one memory."""

        def __init__(self, named: re.Match[str], shown: discord.ui.Button[Any]) -> None:
            super().__init__(shown)
            self.named = named

        @classmethod
        async def from_custom_id(
            cls, _interaction: Interaction, item: discord.ui.Item[Any], match: re.Match[str], /
        ) -> "Press":
            return cls(match, cast("discord.ui.Button[Any]", item))

        async def pressed(self, interaction: Interaction) -> None:
            kind, identifier = cast("Kind", self.named["kind"]), self.named["id"]
            match self.named["change"]:
                case Change.CORRECT:
                    await _open_form(interaction, why, await ask(interaction), identifier)
                case Change.FORGET:
                    await _do(interaction, ask, lambda curious: why.forget(curious, kind, identifier))
                case Change.NARROW:
                    await _do(interaction, ask, lambda curious: why.narrow(curious, kind, identifier))
                case _:
                    if await defer(interaction):
                        await _tell(interaction, "This button means nothing to me.")

    return Press


def _picks(why: Why, ask: Ask) -> type[discord.ui.DynamicItem[discord.ui.Select[Any]]]:
    class Pick(Door, discord.ui.DynamicItem[discord.ui.Select[Any]], template=_PICK):
        """The choice among several memories: shows the chosen one, with its buttons."""

        @classmethod
        async def from_custom_id(
            cls, _interaction: Interaction, item: discord.ui.Item[Any], _match: re.Match[str], /
        ) -> "Pick":
            return cls(cast("discord.ui.Select[Any]", item))

        async def pressed(self, interaction: Interaction) -> None:
            if not await defer(interaction):
                return
            kind, _, identifier = (self.item.values or [""])[0].partition(":")
            try:
                memory, changes = await why.memory(await ask(interaction), cast("Kind", kind), identifier)
            except UserError as error:
                await _tell(interaction, str(error))
                return
            shown = memory_text(memory, _person(interaction), _escape, _FULL)
            await _tell(interaction, shown, _offers(memory, changes))

    return Pick


async def _do(interaction: Interaction, ask: Ask, change: Callable[[Curious], Awaitable[str]]) -> None:
    if not await defer(interaction):
        return
    try:
        words = await change(await ask(interaction))
    except UserError as error:
        words = str(error)
    await _tell(interaction, _escape(words))


# ------------------------------------------------------------------------------------------------------- the form


async def _open_form(interaction: Interaction, why: Why, curious: Curious, identifier: str) -> None:
    """A form has to be the first answer, so what goes into it is read before anything is said."""
    try:
        memory = await why.to_correct(curious, identifier)
        if len(memory.text) > LONGEST:
            size = f"{len(memory.text):,} characters, and a form takes {LONGEST:,}"
            raise UserError(f"It has {size}. Tell me in words what to change, or forget it and tell me anew.")
    except UserError as error:
        if await defer(interaction):
            await _tell(interaction, str(error))
        return
    form = discord.ui.Modal(
        title="Correct what I remember", custom_id=f"carina:why:text:{memory.id}:{text_mark(memory.text)}", timeout=None
    )
    field = discord.ui.TextInput[Any](
        custom_id="text", style=discord.TextStyle.long, default=cleaned(interaction, memory.text), max_length=LONGEST
    )
    form.add_item(discord.ui.Label(text="What it should say", component=field))
    form.stop()  # what is sent is heard by its id, also after a restart
    try:
        await interaction.response.send_modal(form)
    except REFUSED as reason:
        _log.warning("interaction_unanswered", reason=str(reason), hint="nothing was done; it can be pressed again")


# ------------------------------------------------------------------------------------------------------ answering


def _person(interaction: Interaction) -> PersonId:
    return approver_of(interaction, "why").person


def _escape(text: str) -> str:
    return discord.utils.escape_markdown(text, as_needed=True)


async def _tell(interaction: Interaction, text: str, view: discord.ui.View | None = None) -> None:
    more: dict[str, Any] = {} if view is None else {"view": view}
    await tell(interaction, text, file_name="why.md", **more)
