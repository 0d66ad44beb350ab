"""A slash command for every operation that Discord offers. `sources.discord.command_tree` syncs them with Discord.

Answers are ephemeral: only the person who used the command sees them.
"""

import asyncio
import functools
import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias
from urllib.parse import parse_qs

import discord
from discord import app_commands
from msgspec import Struct, field

from bot.errors import CallError, UserError
from bot.interfaces.discord.callers import caller_of, location_of
from bot.interfaces.discord.components import OpenForm, hear, open_form
from bot.interfaces.discord.confirmations import OpenQuestion, Questions
from bot.interfaces.discord.responses import (
    Interaction,
    Tree,
    change,
    defer,
    sent_file,
    stands_under_answer,
    suggests,
    tell,
    without_secrets,
)
from bot.interfaces.discord.row_actions import PAGE, PICK, menu, page_buttons, step_buttons
from bot.services.caller import Caller, Unconfirmed, Via
from bot.services.registry import Operation, Parameter, Registry
from bot.services.results import Listing, Markdown, Result
from bot.services.slash_names import CARD_TITLES, HIDDEN, TITLES, names_of, operation_words
from memory.store.logs import Log
from memory.store.records import replace
from sources.discord.cards import CALL, EARLIER, NO, PLAIN, CardStyle, Tone, paged
from sources.discord.places import person_id
from sources.discord.settings import DiscordSettings, role_subject
from texts import _, error_sentence

Command: TypeAlias = app_commands.Command[Any, ..., None]
Group: TypeAlias = app_commands.Group
Items: TypeAlias = Mapping[str, Callable[[Any], Sequence[discord.ui.Item[Any]]]]
"""Buttons and menus under a result, by the name of the operation."""
_TYPES: Mapping[str, type] = {"text": str, "integer": int, "number": float, "flag": bool}


class Channels(app_commands.Transformer):
    """Channels with messages. discord.py has no type for an option that excludes media channels."""

    @property
    def type(self) -> discord.AppCommandOptionType:
        return discord.AppCommandOptionType.channel

    @property
    def channel_types(self) -> list[discord.ChannelType]:
        kinds = discord.ChannelType
        threads = kinds.public_thread, kinds.private_thread, kinds.news_thread
        return [kinds.text, kinds.news, kinds.voice, kinds.forum, *threads]

    async def transform(self, _interaction: Interaction, value: Any, /) -> Any:
        found = value.resolve()
        if found is None:
            raise app_commands.TransformerError(value, self.type, self)
        return found


_PICKED: Mapping[str, Any] = {
    "person": discord.User,
    "role": discord.Role,
    "location": app_commands.Transform[Any, Channels],
}
"""Options that Discord fills from its own lists of people, roles and channels."""
_INK = Markdown()
_log = Log(__name__)
_LARGEST = 2**53  # limit of Discord's integer options
_LONGEST = 6_000  # limit of an option on Discord; a longer text needs a form or the terminal


class Commands(Struct, frozen=True):
    registry: Registry
    titles: Mapping[str, str]
    """The description of each command group, by its name with dots."""
    settings: DiscordSettings
    forms: Mapping[str, OpenForm] = field(default_factory=dict)
    """Forms that a command opens before it calls its operation, by the name of the operation."""
    items: Items = field(default_factory=dict)
    questions: Questions = field(default_factory=Questions)
    configured: str = ""
    """The name of the constellation in carina.toml."""

    def install(self, tree: Tree) -> None:
        groups: dict[str, Group] = {}
        for words, shown in names_of(self.registry.operations.values()).items():
            declared = self.registry.operations[words.replace(" ", ".")]
            *above, name = shown.split()
            place: Any = tree
            for depth in range(1, len(above) + 1):
                place = self._group(".".join(above[:depth]), place, groups)
            place.add_command(self.command(name, declared))
        tree.client.add_dynamic_items(
            self.questions.button(self.answer),
            hear(PAGE, self._turn),
            hear(PICK, self._pick),
            hear(CALL, self._call),
            hear(EARLIER, _gone),
        )

    def _group(self, path: str, place: Any, groups: dict[str, Group]) -> Group:
        if path not in groups:
            below = path.partition(".")[2]
            title = self.titles[path] if path in self.titles else self.titles[below] if below else TITLES[path]
            # Discord only hides it from members who cannot manage the server; rights are checked at each call.
            hidden = discord.Permissions(manage_guild=True) if path in HIDDEN else None
            groups[path] = Group(name=path.rpartition(".")[2], description=title, default_permissions=hidden)
            place.add_command(groups[path])
        return groups[path]

    def command(self, name: str, declared: Operation) -> Command:
        form = found if (found := self.forms.get(declared.name)) and found.of_command else None
        options = [each for each in offered(declared) if form is None or each.name in form.options]
        default = {each.name: _default(each) for each in options}

        async def called(interaction: Interaction, /, **given: Any) -> None:
            # discord.py fills in defaults, which may be outside of the limits.
            chosen = {name: self._value(interaction, value) for name, value in given.items() if value != default[name]}
            if form is not None:
                await open_form(interaction, form, chosen)
                return
            chosen |= _listed(declared, chosen)
            if declared.first:
                # In an emergency, it runs before the answer, and even if Discord no longer accepts one.
                words, answers = await asyncio.gather(
                    self._result(interaction, declared.name, chosen), defer(interaction)
                )
                if answers:
                    await tell(interaction, words[0], **words[1])
            elif await defer(interaction):
                await self.answer(interaction, declared.name, chosen)

        vars(called)["__signature__"] = _signature(options)
        app_commands.describe(**{each.name: each.help for each in options})(called)
        app_commands.choices(**{each.name: _choices(each) for each in options if each.choices})(called)
        command: Command = app_commands.Command(name=name, description=declared.summary, callback=called)
        vars(called).clear()  # the command has read it; it takes 2 kB
        for each in options:
            if each.suggests:
                suggests(command, each.name, self._suggest(declared, each.name))
        return command

    async def answer(self, interaction: Interaction, name: str, given: Mapping[str, Any], **said: Any) -> None:
        """Call an operation and send its result, or ask for confirmation; `said` are fields of the caller."""
        words, more = await self._result(interaction, name, given, **said)
        await tell(interaction, words, **more)

    async def _turn(self, interaction: Interaction, named: re.Match[str], _chosen: str) -> None:
        """Show another page of a list, read anew."""
        declared = self.registry.operations.get(named["name"])
        if declared is None or declared.changes:
            await _gone(interaction)
            return
        if not await defer(interaction, quietly=True):
            return
        given, page = _given(declared, named["given"]), int(named["page"])
        words, more = await self._result(interaction, declared.name, given, number=page)
        await change(interaction, words, more.get("looks", PLAIN))

    async def _pick(self, interaction: Interaction, named: re.Match[str], chosen: str) -> None:
        """Show the chosen item with a button for each operation on it."""
        if (declared := self.registry.operations.get(named["name"])) is None:
            await _gone(interaction)
            return
        if not await defer(interaction):
            return
        caller = await caller_of(interaction, self.settings)
        words, buttons = await step_buttons(self.registry, caller, declared, chosen)
        gone = _("That is no longer in the list. Use the command again.")
        await tell(interaction, _INK.text(words) if buttons else gone, looks=CardStyle(items=buttons))

    async def _call(self, interaction: Interaction, named: re.Match[str], chosen: str) -> None:
        """Call the operation that a button or menu names, or open its form for the missing arguments."""
        if (declared := self.registry.operations.get(named["name"])) is None:
            await _gone(interaction)
            return
        given = _given(declared, named["given"]) | _given(declared, chosen)
        if declared.name in self.forms:
            await open_form(interaction, self.forms[declared.name], given)
        elif await defer(interaction, quietly=declared.changes and stands_under_answer(interaction)):
            where: dict[str, Any] = {} if named["of"] is None else {"constellation": named["of"] or self.configured}
            await self._replace(interaction, declared, *await self._result(interaction, declared.name, given, **where))

    async def sent(self, interaction: Interaction, named: re.Match[str], fields: dict[str, str]) -> None:
        """Call the operation of a submitted form."""
        declared = self.registry.operations[named["name"]]
        words, more = await self._result(interaction, declared.name, _given(declared, named["given"]) | fields)
        words = with_fields(words, fields) if more.get("looks") is NO else words
        await self._replace(interaction, declared, words, more)

    async def _replace(self, interaction: Interaction, declared: Operation, words: str, more: dict[str, Any]) -> None:
        """Replace the answer whose button was pressed, so that it cannot be pressed again."""
        there = declared.changes and stands_under_answer(interaction) and more.get("looks") is not NO
        await (change if there else tell)(interaction, words, **more)

    async def _result(
        self, interaction: Interaction, name: str, given: Mapping[str, Any], number: int = 1, **said: Any
    ) -> tuple[str, dict[str, Any]]:
        caller = replace(await caller_of(interaction, self.settings), **said)
        declared = self.registry.operations[name]
        try:
            found = await self.registry.call(name, caller, given)
            words, more = await self._said(interaction, caller, declared, given, found, number)
        except Unconfirmed as question:
            asked = OpenQuestion(interaction.user.id, name, given, str(question))
            words, more = _INK.text(asked.question), {"looks": CardStyle(Tone.ASKS, items=self.questions.ask(asked))}
        except (UserError, CallError) as error:
            words, more = error_sentence(error), {"looks": NO}
        return words, {"file_name": declared.file_name, **more}

    async def _said(
        self,
        interaction: Interaction,
        caller: Caller,
        declared: Operation,
        given: Mapping[str, Any],
        found: Result,
        number: int,
    ) -> tuple[str, dict[str, Any]]:
        """The text of a result, with its file, buttons and pages."""
        lines = found.lines(_INK)
        file, items, footer = None, list[discord.ui.Item[Any]](), ""
        if document := found.document:
            clean = functools.partial(without_secrets, interaction)
            file = sent_file(await asyncio.to_thread(found.attachment, clean), declared.file_name)
            if without_secrets(interaction, document) != document:
                lines.append(_("Secrets are left out."))
        if declared.name in self.items:
            items += self.items[declared.name](found)
        tone = Tone.DONE if declared.changes else Tone.ASKS if found.code else Tone.PLAIN
        words, title = "\n".join(lines), ""
        if isinstance(found, Listing) and not declared.changes:  # turning a page would run it again
            pages = paged(lines)
            number = max(1, min(number, len(pages)))
            if len(pages) > 1 and (turning := page_buttons(declared.name, given, number, len(pages))):
                words, items = pages[number - 1], [*turning, *items]
                footer = _("Page {number} of {count}", number=number, count=len(pages))
            if found.rows:
                title = _(heading) if (heading := CARD_TITLES.get(declared.name)) else ""
                there = {line.lstrip(" -") for line in words.split("\n")}
                listed = [row for row in found.rows if row.line(_INK).partition("\n")[0] in there]
                items += await menu(self.registry, caller, declared, listed)
        return words, {"file": file, "looks": CardStyle(tone, title, footer, items)}

    def _value(self, interaction: Interaction, value: Any) -> Any:
        """A person, role or channel that Discord resolved, as operations take it."""
        match value:
            case discord.User() | discord.Member():
                return person_id(value.id)
            case discord.Role():
                return role_subject(value.id)
            case discord.abc.GuildChannel() | discord.Thread():
                return location_of(value, self.settings, interaction.user.id)
            case _:
                return value

    def _suggest(
        self, declared: Operation, argument: str
    ) -> Callable[[Interaction], Awaitable[Iterable[tuple[str, str]]]]:
        async def known(interaction: Interaction) -> Iterable[tuple[str, str]]:
            caller = await caller_of(interaction, self.settings)
            return await self.registry.suggest(declared.name, argument, caller, dict(iter(interaction.namespace)))

        return known


def with_fields(refused: str, fields: Mapping[str, str]) -> str:
    """An error with the text of the form: Discord discards it when the form is submitted."""
    written = "\n".join(filter(None, fields.values()))
    return _("{refused}\n\nThis is what you wrote:\n{given}", refused=refused, given=written) if written else refused


async def _gone(interaction: Interaction, *_pressed: object) -> None:
    """Answer a button that only an earlier version supported."""
    if await defer(interaction):
        await tell(interaction, _("This button no longer works. Use the command instead."), looks=NO)


def _given(declared: Operation, told: str) -> dict[str, Any]:
    """The arguments in a component's id."""
    many = {each.name for each in declared.parameters if each.kind == "many"}
    return {key: each if key in many else each[0] for key, each in parse_qs(told).items()}


def _listed(declared: Operation, given: Mapping[str, Any]) -> dict[str, list[str]]:
    """The lists among the arguments, split at commas: on Discord, an option cannot be repeated."""
    names = (each.name for each in declared.parameters if each.kind == "many" and each.name in given)
    return {name: [part.strip() for part in given[name].split(",") if part.strip()] for name in names}


def offered(declared: Operation) -> list[Parameter]:
    return [each for each in declared.taken(Via.DISCORD) if each.help]


def keeping(registry: Registry) -> Callable[[str, bool], bool]:
    """Whether a slash command ("facts add"), with options or without, stores words of the person who uses it."""

    def keeps(words: str, given: bool) -> bool:
        declared = registry.operations.get(operation_words(words).replace(" ", "."))
        return declared is not None and declared.keeps_of(given)

    return keeps


def _signature(options: Iterable[Parameter]) -> inspect.Signature:
    """The signature from which discord.py makes the options."""
    first = inspect.Parameter("_interaction", inspect.Parameter.POSITIONAL_ONLY, annotation=Interaction)
    return inspect.Signature([first, *map(_slash_parameter, options)])


def _slash_parameter(told: Parameter) -> inspect.Parameter:
    default = inspect.Parameter.empty if told.required else _default(told)
    annotation = _annotation(told)
    return inspect.Parameter(told.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation)


def _default(told: Parameter) -> Any:
    return "" if told.kind == "many" else told.default


def _choices(told: Parameter) -> list[app_commands.Choice[str]]:
    return [
        app_commands.Choice(name=name, value=value)
        for value, name in zip(told.choices, told.choice_labels, strict=True)
    ]


def _number(limit: float | None) -> float | None:
    return None if limit is None else float(limit)


def _annotation(told: Parameter) -> Any:
    ranged: Any = app_commands.Range
    if told.kind in _PICKED:
        return _PICKED[told.kind] if told.required else _PICKED[told.kind] | None
    if told.kind == "text" and (told.shortest is not None or told.longest is not None):
        return ranged[str, told.shortest or 0, min(told.longest or _LONGEST, _LONGEST)]
    if told.kind == "number" and (told.low is not None or told.high is not None):
        return ranged[float, _number(told.low), _number(told.high)]
    if told.kind == "integer" and (told.low is not None or told.high is not None):
        return ranged[int, told.low, None if (told.high or 0) > _LARGEST else told.high]
    return _TYPES.get(told.kind, str)
