"""Discord's components: buttons, menus and forms, recognized by their ids, even after a restart.

Every click comes in here (`hear`), from the same people as commands. What each component does is in
`approval_clicks.py`, `confirmations.py`, `commands.py`, `help.py`, `memory_forms.py`, `row_actions.py` and
`settings_pages.py`.
"""

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import discord
from msgspec import Struct

from bot.errors import UserError
from bot.interfaces.discord.responses import Interaction, Tree, defer, stands_under_answer, tell
from memory.store.errors import DatabaseBusy, DatabaseFull
from memory.store.logs import Log
from sources.discord.cards import NO
from sources.discord.command_tree import BROKEN, answer_anyhow, not_stored
from sources.discord.send_failures import REFUSED
from sources.text import one_line
from texts import _, error_sentence

_log = Log(__name__)

Heard: TypeAlias = type[discord.ui.DynamicItem[Any]]
Pressed: TypeAlias = Callable[[Interaction, re.Match[str], str], Awaitable[None]]
"""Handles a button or menu: takes the match of its id, and the chosen value, which is empty for a button."""
Sent: TypeAlias = Callable[[Interaction, re.Match[str], dict[str, str]], Awaitable[None]]
"""Handles a submitted form: takes the match of its id, and the text of each field, empty if blank."""

LONGEST_FIELD, LONGEST_ID = 4_000, 100
"""Discord's limits for a field and an id, in characters."""
_OPTIONS, _LABEL = 25, 100  # of a menu, and characters of one


class OpenForm(Struct, frozen=True):
    """A form that a command opens; the handler of the submitted form calls the operation."""

    make: Callable[[Interaction, Mapping[str, Any]], Awaitable[discord.ui.Modal]]
    """Makes the form from the given options. Raises UserError."""
    options: tuple[str, ...] = ()
    """The arguments that are options of the command; the form asks for the others."""
    of_command: bool = True
    """Whether the command opens it, not only a button."""


class Entry(Struct, frozen=True):
    name: str
    label: str
    longest: int = LONGEST_FIELD
    text: str = ""
    """The initial text."""
    required: bool = False
    lines: bool = False
    """Whether it has several lines."""


async def open_form(interaction: Interaction, form: OpenForm, given: Mapping[str, Any]) -> None:
    """Open a form. Discord only takes it as the first response, so an error is the only other answer."""
    try:
        await interaction.response.send_modal(await form.make(interaction, given))
    except UserError as error:
        if await defer(interaction):
            await tell(interaction, error_sentence(error), looks=NO)
    except REFUSED as why:
        _log.warning("interaction_unanswered", reason=str(why), hint="nothing was done; it can be done again")


def modal(title: str, identifier: str, *entries: Entry) -> discord.ui.Modal:
    """A form, recognized by its id, also after a restart."""
    form = discord.ui.Modal(title=title, custom_id=identifier, timeout=None)
    for each in entries:
        style = discord.TextStyle.long if each.lines else discord.TextStyle.short
        field = discord.ui.TextInput[Any](
            custom_id=each.name, style=style, default=each.text or None, required=each.required, max_length=each.longest
        )
        form.add_item(discord.ui.Label(text=each.label, component=field))
    form.stop()  # discord.py need not keep it
    return form


def select(
    identifier: str, options: Iterable[tuple[str, str]], title: str = "", chosen: str = ""
) -> list[discord.ui.Item[Any]]:
    """A menu of values and their labels, as many as Discord allows; empty without any."""
    found = [
        discord.SelectOption(label=one_line(words, _LABEL) or value, value=value, default=value == chosen)
        for value, words in options
        if 0 < len(value) <= LONGEST_ID
    ]
    shown = discord.ui.Select[Any](custom_id=identifier, placeholder=title or None, options=found[:_OPTIONS])
    return [shown] if found else []


def hear_forms(tree: Tree, heard: Mapping[re.Pattern[str], Sent]) -> None:
    """Handle all submitted forms, by their ids, from the same people as commands.

    The response is deferred first. A blank field resets its setting, because forms open with the current ones.
    """

    async def on_interaction(interaction: Interaction) -> None:
        if interaction.type is not discord.InteractionType.modal_submit:
            return
        data: Mapping[str, Any] = dict(interaction.data or {})
        for pattern, sent in heard.items():
            named = pattern.fullmatch(str(data.get("custom_id", "")))
            if named is None or not await tree.interaction_check(interaction):
                continue
            if await defer(interaction, quietly=stands_under_answer(interaction)):
                await _stored(interaction, sent(interaction, named, dict(_fields(data.get("components", [])))))

    tree.client.event(on_interaction)


def _fields(components: Sequence[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for frame in components:
        for part in (frame, frame.get("component") or {}, *frame.get("components", ())):
            if "value" in part:
                written = str(part["value"] or "")
                yield str(part.get("custom_id")), written if written.strip() else ""


async def _stored(interaction: Interaction, work: Awaitable[None]) -> None:
    """Await it; on a failure, tell the person as for a command."""
    try:
        await work
    except (DatabaseBusy, DatabaseFull) as why:
        await tell(interaction, not_stored(why))
    except Exception:  # discord.py would log it without answering the sender
        _log.exception("interaction_failed")
        await answer_anyhow(interaction, _(BROKEN))


def hear(pattern: re.Pattern[str], work: Pressed) -> Heard:
    class Component(discord.ui.DynamicItem[Any], template=pattern):
        """A component of an existing message; it checks people as a command does."""

        def __init__(self, named: re.Match[str], shown: discord.ui.Item[Any]) -> None:
            super().__init__(shown)
            self.named = named

        @classmethod
        async def from_custom_id(
            cls, _interaction: Interaction, item: discord.ui.Item[Any], match: re.Match[str], /
        ) -> "Component":
            return cls(match, item)

        async def callback(self, interaction: Interaction) -> Any:
            chosen = self.item.values if isinstance(self.item, discord.ui.Select) else ()
            await _stored(interaction, work(interaction, self.named, next(iter(chosen), "")))

        async def interaction_check(self, interaction: Interaction, /) -> bool:
            return bool(await interaction.client.tree.interaction_check(interaction))

    return Component
