"""`/settings`: pages for people's own settings and, for the owner and admins, those of channels and agents.

Each page shows the results of operations without arguments, with a menu for each; choosing a value calls the operation.
Menus are recognized by their ids, even after a restart.
"""

import re
from collections.abc import Mapping
from typing import Any, cast

import discord
from discord import app_commands
from msgspec import Struct

from bot.errors import CallError, UserError
from bot.interfaces.discord.callers import caller_of
from bot.interfaces.discord.commands import Commands, with_fields
from bot.interfaces.discord.components import Entry, OpenForm, hear, modal, open_form, select
from bot.interfaces.discord.responses import Interaction, Tree, change, defer, tell
from bot.interfaces.discord.row_actions import menu
from bot.services.caller import Caller
from bot.services.people.agenda import Clocks
from bot.services.people.place_settings import CONFIGURED, PlaceSetting
from bot.services.registry import Operation
from bot.services.results import Listing, Markdown
from bot.services.slash_names import CARD_TITLES
from memory.store.records import replace
from sources.discord.cards import DONE, NO, PLAIN, CardStyle
from texts import _, error_sentence, gettext_noop

_PAGE = re.compile(r"carina:settings:page")
CLOCKS = re.compile(r"carina:settings:clocks")
"""Matches the button for time zone and quiet hours, and the form that it opens."""
_SET = re.compile(r"carina:set:(?P<name>[a-z.-]{1,40}):(?P<argument>[a-z_]{1,20})")


class Page(Struct, frozen=True):
    """The content of a page: operations, each with the argument that can be chosen; empty for those without one."""

    title: str
    shows: Mapping[str, str]


PAGES = {
    "you": Page(gettext_noop("You"), {"quiet": "reminders", "language": "language", "state": "state"}),
    "here": Page(gettext_noop("This channel"), {"mode.channel": "mode", "route": "group", "model": "model"}),
    "agents": Page(gettext_noop("Agents and their models"), {"agent.list": ""}),
}
_ABOUT = gettext_noop("See and change settings for yourself or a channel")


def install_settings(tree: Tree, pages: "SettingsPages") -> None:
    @app_commands.command(name="settings", description=_ABOUT)
    async def command(interaction: Interaction) -> None:
        if await defer(interaction):
            words, looks = await pages.page(interaction, "you")
            await tell(interaction, words, looks=looks)

    tree.add_command(command)
    tree.client.add_dynamic_items(hear(_PAGE, pages.turn), hear(_SET, pages.set), hear(CLOCKS, pages.clocks))


class SettingsPages(Struct, frozen=True):
    """Renders the pages, and carries out choices."""

    commands: Commands

    async def page(
        self, interaction: Interaction, name: str, done: str = "", looks: CardStyle = PLAIN
    ) -> tuple[str, CardStyle]:
        """A page as text, with its menus; `done` is the result of a choice on it."""
        caller = await caller_of(interaction, self.commands.settings)
        registry, page, lines = self.commands.registry, PAGES[name], [done] if done else []
        items = await self._turning(caller, name)
        for each, argument in page.shows.items():
            declared = registry.operations[each]
            try:
                result = await registry.call(each, caller, {})
            except (UserError, CallError) as error:
                lines.append(error_sentence(error))
                continue
            lines += result.lines(Markdown())
            chosen = result.reminders if isinstance(result, Clocks) else ""
            if isinstance(result, PlaceSetting):
                chosen = result.value if result.since else CONFIGURED
            items += await self._choices(caller, declared, argument, chosen) if argument else []
            items += await menu(registry, caller, declared, result.rows) if isinstance(result, Listing) else []
        if name == "you":
            label = _("Change time zone and quiet hours")
            items.append(discord.ui.Button(label=label, custom_id=CLOCKS.pattern))
        return "\n".join(lines), replace(looks, title=_(page.title), items=items)

    async def _turning(self, caller: Caller, name: str) -> list[discord.ui.Item[Any]]:
        """The menu of the pages that the caller may change."""
        found = list[tuple[str, str]]()
        for each, page in PAGES.items():
            needed = [self._setting(name, argument) for name, argument in page.shows.items()]
            if each in ("you", name) or await self.commands.registry.permitted(needed, caller):
                found.append((each, _(page.title)))
        return select("carina:settings:page", found, chosen=name) if len(found) > 1 else []

    def _setting(self, name: str, argument: str) -> Operation:
        """An operation with the right to set its argument; operations that only list are for admins and the owner."""
        declared = self.commands.registry.operations[name]
        needs = next((each.needs for each in declared.parameters if each.name == argument and each.needs), None)
        return replace(declared, needs=needs or self.commands.registry.operations["agent.show"].needs)

    async def _choices(
        self, caller: Caller, declared: Operation, argument: str, chosen: str
    ) -> list[discord.ui.Item[Any]]:
        told = next(each for each in declared.parameters if each.name == argument)
        setting = self._setting(declared.name, argument)
        if told.needs is not None and not await self.commands.registry.permitted([setting], caller):
            return []
        found = list(zip(told.choices, told.choice_labels, strict=True))
        if told.suggests:
            found = list(await self.commands.registry.suggest(declared.name, argument, caller, {}))
        title = _(CARD_TITLES.get(declared.name, told.help))
        shown = ((value, _(label)) for value, label in found)
        return select(f"carina:set:{declared.name}:{argument}", shown, title, chosen)

    async def turn(self, interaction: Interaction, _named: re.Match[str], chosen: str) -> None:
        if await defer(interaction, quietly=True):
            await change(interaction, *await self.page(interaction, chosen if chosen in PAGES else "you"))

    async def set(self, interaction: Interaction, named: re.Match[str], chosen: str) -> None:
        """Carry out a choice, and show the updated page."""
        name, argument = named["name"], named["argument"]
        place = next((each for each, page in PAGES.items() if page.shows.get(name) == argument), "")
        if await defer(interaction, quietly=True):
            await self._set(interaction, place, name, {argument: chosen})

    async def sent(self, interaction: Interaction, _named: re.Match[str], fields: dict[str, str]) -> None:
        """Apply the form for time zone and quiet hours, and show the updated page."""
        await self._set(interaction, "you", "quiet", fields, fields)

    async def _set(
        self,
        interaction: Interaction,
        place: str,
        name: str,
        given: Mapping[str, str],
        fields: Mapping[str, str] | None = None,
    ) -> None:
        caller = await caller_of(interaction, self.commands.settings)
        try:
            done, looks = "", DONE
            if not place:  # an earlier version rendered the menu
                raise UserError("This setting no longer exists.")
            found = await self.commands.registry.call(name, caller, given)
            done = found.note.strip() if isinstance(found, Clocks) else ""
        except (UserError, CallError) as error:
            done, looks = with_fields(error_sentence(error), fields or {}), NO
        await change(interaction, *await self.page(interaction, place or "you", done, looks))

    async def clocks(self, interaction: Interaction, _named: re.Match[str], _chosen: str) -> None:
        await open_form(interaction, OpenForm(self._clocks_form), {})

    async def _clocks_form(self, interaction: Interaction, given: Mapping[str, Any]) -> discord.ui.Modal:
        caller = await caller_of(interaction, self.commands.settings)
        found = cast("Clocks", await self.commands.registry.call("quiet", caller, given))
        return modal(
            _("Time zone and quiet hours"),
            CLOCKS.pattern,
            Entry("zone", _("Your time zone, such as Europe/Vienna"), 60, found.zone),
            Entry("begin", _("Quiet from, such as 22:30, or off"), 5, found.quiet_from),
            Entry("end", _("Quiet until, such as 7:00"), 5, found.quiet_until),
        )
