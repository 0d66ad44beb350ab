"""Discord forms, buttons and questions: heard by their ids, also after a restart. They serve whom a command would."""

import re
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import discord
from msgspec import Struct

from bot.agents.permissions.policy import Approver
from bot.errors import UserError
from bot.interfaces.discord.callers import approver_of, caller_of
from bot.interfaces.discord.responses import Interaction, Tree, answer, defer, tell, text_file
from bot.services.composition import ServedConstellations
from bot.services.people.approvals import Approvals
from bot.services.registry import Registry
from bot.services.results import Markdown
from memory.requests import Verdict
from memory.store.errors import DatabaseBusy, DatabaseFull
from memory.store.ids import ConstellationId
from memory.store.logs import Log
from memory.store.records import replace
from sources.discord.cards import DONE, LONGER, LONGEST, NO, PATTERN, PRESS, SNOOZE
from sources.discord.client import BROKEN, answer_anyhow, not_stored
from sources.discord.settings import DiscordSettings
from texts import _, error_sentence, gettext_noop

Buttons: TypeAlias = type[discord.ui.DynamicItem[discord.ui.Button[Any]]]
Pressed: TypeAlias = Callable[[Interaction, re.Match[str]], Awaitable[None]]
"""Takes a button that was pressed: what its id says."""
Choices: TypeAlias = type[discord.ui.DynamicItem[discord.ui.Select[Any]]]
Chosen: TypeAlias = Callable[[Interaction, re.Match[str], str], Awaitable[None]]
"""Takes what was chosen from a menu: what the menu's id says, and the value."""
Sent: TypeAlias = Callable[[Interaction, re.Match[str], dict[str, str]], Awaitable[None]]
"""Takes a form that was sent: what its id says, and what was written into each of its fields."""

_log = Log(__name__)

LONGEST_FIELD = 4_000
"""Characters that Discord takes in one field."""


class OpenForm(Struct, frozen=True):
    """A form that a command opens instead of doing something; who hears the form calls an operation."""

    make: Callable[[Interaction, Mapping[str, Any]], Awaitable[discord.ui.Modal]]
    """Takes the options that were given. Raises UserError with words for who asked."""
    options: tuple[str, ...] = ()
    """The arguments of the operation that are options of the command; the form asks for the others."""


class Entry(Struct, frozen=True):
    name: str
    label: str
    longest: int = LONGEST_FIELD
    text: str = ""
    """What it opens with."""
    required: bool = False
    lines: bool = False
    """It takes several lines."""


def modal(title: str, identifier: str, *entries: Entry) -> discord.ui.Modal:
    """A form, which is heard by its id, also after a restart."""
    form = discord.ui.Modal(title=title, custom_id=identifier, timeout=None)
    for each in entries:
        style = discord.TextStyle.long if each.lines else discord.TextStyle.short
        field = discord.ui.TextInput[Any](
            custom_id=each.name,
            style=style,
            default=each.text or None,
            required=each.required,
            max_length=each.longest,
        )
        form.add_item(discord.ui.Label(text=each.label, component=field))
    form.stop()  # discord.py need not keep it
    return form


def hear_form(tree: Tree, pattern: re.Pattern[str], sent: Sent) -> None:
    """Have every form with such an id heard; whoever is not answered otherwise is not answered here either."""
    before: Callable[[Interaction], Awaitable[None]] | None = getattr(tree.client, "on_interaction", None)

    async def on_interaction(interaction: Interaction) -> None:
        if before is not None:  # a client has one handler; other forms are heard there
            await before(interaction)
        if interaction.type is not discord.InteractionType.modal_submit:
            return
        data: Mapping[str, Any] = dict(interaction.data or {})
        named = pattern.fullmatch(str(data.get("custom_id", "")))
        if named is not None and await tree.interaction_check(interaction):
            await _stored(interaction, sent(interaction, named, dict(_fields(data.get("components", [])))))

    tree.client.event(on_interaction)


def _fields(components: Sequence[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for frame in components:
        for part in (frame, frame.get("component") or {}, *frame.get("components", ())):
            if "value" in part:
                yield str(part.get("custom_id")), str(part["value"] or "")


async def _stored(interaction: Interaction, work: Awaitable[None]) -> None:
    """Do it, or say that the database takes no writes, or that it went wrong, as for commands."""
    try:
        await work
    except (DatabaseBusy, DatabaseFull) as why:
        await tell(interaction, not_stored(why))
    except Exception:  # discord.py would log it, but leave whoever sent it waiting
        _log.exception("interaction_failed")
        await answer_anyhow(interaction, BROKEN)


def hear_button(pattern: re.Pattern[str], work: Pressed) -> Buttons:
    return _heard(pattern, discord.ui.Button, lambda interaction, named, _item: work(interaction, named))


def hear_choice(pattern: re.Pattern[str], work: Chosen) -> Choices:
    return _heard(
        pattern, discord.ui.Select, lambda interaction, named, item: work(interaction, named, (item.values or [""])[0])
    )


def _heard(
    pattern: re.Pattern[str], kind: type, work: Callable[[Interaction, re.Match[str], Any], Awaitable[None]]
) -> type[discord.ui.DynamicItem[Any]]:
    class Heard(discord.ui.DynamicItem[Any], template=pattern):
        """Answers whom a command would: whoever is shut out is told so."""

        def __init__(self, named: re.Match[str], shown: discord.ui.Item[Any]) -> None:
            super().__init__(shown)
            self.named = named

        @classmethod
        async def from_custom_id(
            cls, _interaction: Interaction, item: discord.ui.Item[Any], match: re.Match[str], /
        ) -> "Heard":
            if not isinstance(item, kind):
                raise TypeError(f"a {kind.__name__} has the id {match[0]}, not {type(item).__name__}")
            return cls(match, item)

        async def callback(self, interaction: Interaction) -> Any:
            await _stored(interaction, work(interaction, self.named, self.item))

        async def interaction_check(self, interaction: Interaction, /) -> bool:
            return bool(await interaction.client.tree.interaction_check(interaction))

    return Heard


_ID = re.compile(r"carina:sure:(?P<name>[a-z._-]+):(?P<answer>yes|no):(?P<token>[0-9a-f]+)")
_SECONDS = 900.0
_MOST = 1_000
_OVER = gettext_noop("This question was already answered or has expired, so nothing was done. Use the command again.")


Confirmed: TypeAlias = Callable[..., Awaitable[None]]
"""Does an operation for somebody who is sure: the interaction, its name, what was given, and the question, `shown`."""


class OpenQuestion(Struct, frozen=True):
    """What would be done for whom, and what they are asked before."""

    person: int
    name: str
    given: Mapping[str, Any]
    question: str


@dataclass(frozen=True)
class Questions:
    """Those that stand. Each is answered once, by who asked for it."""

    clock: Callable[[], float] = time.monotonic
    _open: dict[str, tuple[float, OpenQuestion]] = field(default_factory=dict, init=False)

    def ask(self, asked: OpenQuestion) -> list[discord.ui.Button[Any]]:
        now, token = self.clock(), secrets.token_hex(8)
        for old in [each for each, (until, _asked) in self._open.items() if until <= now]:
            del self._open[old]
        if len(self._open) >= _MOST:
            del self._open[next(iter(self._open))]
        self._open[token] = now + _SECONDS, asked
        buttons = list[discord.ui.Button[Any]]()
        for said, label, style in (
            ("yes", _("Yes, do it"), discord.ButtonStyle.danger),
            ("no", _("No"), discord.ButtonStyle.secondary),
        ):
            custom_id = f"carina:sure:{asked.name}:{said}:{token}"
            buttons.append(discord.ui.Button(label=label, style=style, custom_id=custom_id))
        return buttons

    def take(self, token: str, person: int) -> OpenQuestion | None:
        """What was asked, where it stands still; from now on it does not."""
        until, asked = self._open.get(token, (0.0, None))
        if asked is None or asked.person != person or until <= self.clock():
            return None
        del self._open[token]
        return asked

    def button(self, confirmed: Confirmed) -> Buttons:
        """What hears the buttons; who may do it is decided anew."""

        async def pressed(interaction: Interaction, named: re.Match[str]) -> None:
            if not await defer(interaction):
                return
            asked = self.take(named["token"], interaction.user.id)
            if asked is None:
                await tell(interaction, _(_OVER))
            elif named["answer"] == "no":
                await tell(interaction, _("Nothing was done."))
            else:
                await confirmed(interaction, asked.name, asked.given, shown=asked.question)

        return hear_button(_ID, pressed)


def install_approvals(tree: Tree, served: ServedConstellations) -> None:
    """Have the buttons and menus of every card heard, also of those sent before a restart."""

    async def answered(interaction: Interaction, named: re.Match[str], offer: str) -> None:
        if not await defer(interaction):
            return
        constellation = ConstellationId(named["of"]) if named["of"] else served.shared.configured
        if not served.shared.constellations.has(constellation):
            await tell(interaction, _("The constellation that asked this was deleted."), looks=NO)
            return
        who, request = approver_of(interaction, "button"), int(named["request"])
        async with served.use(constellation) as services:
            if offer == "details":
                await _details(interaction, services.approvals, request, who)
            elif offer in list(Verdict):
                ruling = await services.approvals.answer(request, who, Verdict(offer))
                await tell(interaction, ruling.words, looks=DONE if ruling.counted else NO)
            else:
                await tell(interaction, _("This button no longer works."), looks=NO)

    async def pressed(interaction: Interaction, named: re.Match[str]) -> None:
        await answered(interaction, named, named["offer"])

    tree.client.add_dynamic_items(hear_button(PATTERN, pressed), hear_choice(LONGER, answered))


async def _details(interaction: Interaction, approvals: Approvals, request: int, who: Approver) -> None:
    try:
        words, arguments = await approvals.details(request, who)
    except UserError as error:
        await tell(interaction, error_sentence(error), looks=NO)
        return
    shown = f"{words}\n```json\n{arguments}\n```"
    if len(shown) <= LONGEST:
        await tell(interaction, shown)
        return
    await tell(interaction, words, file=text_file(interaction, arguments, f"request-{request}.json"))


_CALLS: Mapping[tuple[str, str], tuple[str, str]] = {
    ("reminder", "done"): ("remind.done", "reminder"),
    ("reminder", "snooze"): ("remind.snooze", "reminder"),
    ("reminder", "cancel"): ("remind.cancel", "reminder"),
    ("retry", "retry"): ("retry", "message"),
    ("preference", "allow"): ("dream.allow", "entry"),
    ("preference", "refuse"): ("dream.refuse", "entry"),
    ("pairing", "let"): ("pair.let-in", "person"),
    ("pairing", "block"): ("pair.block", "person"),
    ("pairing", "ignore"): ("pair.ignore", "person"),
}
"""By what a button stands under and what it offers: the operation, and the argument that its id is."""


def operation_buttons(registry: Registry, settings: DiscordSettings, configured: str = "") -> tuple[Buttons, Choices]:
    """Hear them; the id of a button says which operation it calls, on what, and in which constellation."""

    async def called(interaction: Interaction, named: re.Match[str], name: str, given: Mapping[str, str]) -> str:
        if not name:
            raise UserError("This button no longer works.")
        caller = replace(await caller_of(interaction, settings, "button"), constellation=named["of"] or configured)
        result = await registry.call(name, caller, given)
        return "\n".join(result.lines(Markdown()))

    async def pressed(interaction: Interaction, named: re.Match[str]) -> None:
        name, argument = _CALLS.get((named["kind"], named["offer"]), ("", ""))
        if await defer(interaction):
            await answer(interaction, called(interaction, named, name, {argument: named["id"]}))

    async def put_off(interaction: Interaction, named: re.Match[str], chosen: str) -> None:
        argument, _equals, value = chosen.partition("=")
        if await defer(interaction):
            given = {"reminder": named["id"], argument: value}
            await answer(interaction, called(interaction, named, "remind.snooze", given))

    return hear_button(PRESS, pressed), hear_choice(SNOOZE, put_off)
