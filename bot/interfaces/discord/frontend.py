"""Builds the Discord front end from configuration and services."""

import functools
from collections.abc import Mapping, Sequence
from datetime import datetime

import discord

from bot import logs
from bot.agents.owner_notices import owner_notices
from bot.config import Config
from bot.interfaces.discord.approval_clicks import ITEMS as REQUEST_ITEMS
from bot.interfaces.discord.approval_clicks import install_approvals
from bot.interfaces.discord.callers import refusal
from bot.interfaces.discord.chat_command import install_chat
from bot.interfaces.discord.commands import Commands, Items, keeping
from bot.interfaces.discord.components import OpenForm, hear_forms
from bot.interfaces.discord.help import install_help
from bot.interfaces.discord.memory_forms import ITEMS as MEMORY_ITEMS
from bot.interfaces.discord.memory_forms import block_form, correction_form, entry_form, fact_form, install_why
from bot.interfaces.discord.responses import Tree
from bot.interfaces.discord.settings_pages import CLOCKS, SettingsPages, install_settings
from bot.redactor import Redactor
from bot.services import titles
from bot.services.served_constellations import ServedConstellations, ServedRegistry, Shared
from bot.services.system.missed_messages import Gaps, HeardPlaces
from memory.people.admission_and_pairing import Rule
from memory.store.faults import commit_point
from memory.store.ids import PersonId, PlaceId, text_mark
from sources.base import Front
from sources.discord.cards import FORM
from sources.discord.command_tree import Commands as Offered
from sources.discord.settings import Direct, DiscordSettings, StoredDecisions
from sources.discord.shared_state import StoredMessage, Wiring
from sources.discord.source import DiscordSource
from texts import _

_COMPARED = 50  # stored messages of a place to compare with its history after downtime
_GAVE_UP = commit_point("discord.gave_up")
_MARK = "discord.commands"
_BEGUN = "discord.begun"


def connect(served: ServedConstellations) -> Front:
    """The Discord front end; nothing is connected before its source runs."""
    shared, access, config = served.shared, served.access, served.shared.config
    clock, accounts, marks, ignored = shared.clock, shared.accounts, shared.constellations, shared.choices.ignored
    heard_places, gaps = HeardPlaces(shared.configured, marks), Gaps(shared.home, clock, served.settle)

    async def recent(place: PlaceId) -> Sequence[StoredMessage]:
        found = await heard_places.recent(place, _COMPARED)
        return [StoredMessage(row.external_id or "", text_mark(row.text)) for row in found]

    async def never_wrote() -> Mapping[PersonId, datetime | None]:
        """People whose direct messages are searched: the owner, admins, and people allowed by name or code."""
        rules = access.rules
        allowed = {*settings.allow.persons, *_persons(rules, Rule.ALLOW)} - set(_persons(rules, Rule.DENY))
        in_charge = {*config.discord.admins.persons} | ({config.discord_owner} if config.discord_owner else set())
        others = sorted(map(str, allowed)) if settings.dm is not Direct.OFF else []
        named = [PersonId(f"discord:{each}") for each in (*sorted(in_charge), *others)]
        return await gaps.never_wrote([each for each in named if not ignored(each)])

    wiring = Wiring(
        cursors=functools.partial(heard_places.cursors, "discord"),
        recent=recent,
        never_wrote=never_wrote,
        gaps=gaps,
        listens_from=functools.partial(_listens_from, shared),
        on_ready=lambda name: logs.ready("discord", name=name),
        reachable=functools.partial(served.router.reachable, "discord"),
        commands=Offered(
            install=lambda tree: _install(tree, served, settings),
            synced=functools.partial(marks.position, _MARK),
            note=functools.partial(marks.note_position, _MARK),
            barred=lambda interaction: refusal(interaction, settings, ignored, keeping(served.configured.registry)),
            is_owner=lambda interaction: interaction.user.id == settings.owner_id,
            language=lambda interaction: accounts.language(PersonId(f"discord:{interaction.user.id}")),
            cleaned=Redactor(config.secrets()).clean,
        ),
        gave_up=functools.partial(_gave_up, served),
        ignored=ignored,
        unknown_wrote=lambda unknown: None if accounts.is_paused("discord") else access.unknown_wrote(unknown),
        clock=clock,
        paused=functools.partial(accounts.is_paused, "discord"),
        types=shared.typing.types,
        spoke=shared.typing.spoke,
        silence=functools.partial(_silence, shared),
    )
    decided = StoredDecisions(access.rules, accounts.modes, shared.audience.other_audiences)
    settings = settings_of(config, decided)
    source = DiscordSource(settings, wiring)
    words = {"discord": lambda: "; ".join(filter(None, (source.words, accounts.state("discord"))))}
    return Front(
        source, source.endpoint, source.pause, source.finish, lambda: source.readiness, source.read_back, words
    )


async def _listens_from(shared: Shared) -> int:
    """The time of the bot's first attempt to connect, as a Discord snowflake."""
    stored = await shared.constellations.position(_BEGUN)
    if stored is None:
        stored = str(discord.utils.time_snowflake(shared.clock()))
        await shared.constellations.note_position(_BEGUN, stored)
    return int(stored)


def _silence(shared: Shared) -> str:
    """The reason why the bot answers nobody, for its presence; empty if it answers."""
    return _("Halted") if shared.halt.halted else _("Paused") if shared.accounts.is_paused("discord") else ""


async def _gave_up(served: ServedConstellations, channel: int) -> None:
    """Tell the owner that a message in a channel could not be handled, once a day for each channel."""
    shared, now = served.shared, served.shared.clock()
    key = f"not_handled/{channel}/{now:%Y-%m-%d}"
    text = _(
        "Something that arrived in <#{channel}> on Discord could not be processed after "
        "several attempts. A message may be unanswered, or an edit or deletion not applied. "
        "The log has the details; please report this.",
        channel=channel,
    )
    work = functools.partial(owner_notices(shared.config).tell_owner, key=key, text=text, now=now)
    await shared.home.write(_GAVE_UP, work)
    served.router.resume(shared.configured)


def _install(tree: Tree, served: ServedConstellations, settings: DiscordSettings) -> None:
    install_help(tree)
    install_approvals(tree, served)
    registry = ServedRegistry(served)
    forms = {
        "archival.add": OpenForm(entry_form),
        "facts.correct": fact_form(registry, settings),
        "memory.edit": block_form(registry, settings),
        "why.correct": correction_form(registry, settings),
    }
    items: Items = {**MEMORY_ITEMS, **REQUEST_ITEMS}
    commands = Commands(registry, titles(), settings, forms, items, configured=served.shared.configured)
    commands.install(tree)
    install_why(tree, commands)
    pages = SettingsPages(commands)
    install_settings(tree, pages)
    hear_forms(tree, {FORM: commands.sent, CLOCKS: pages.sent})
    install_chat(tree, served, settings)


def _persons(rules: Mapping[str, Rule], rule: Rule) -> list[int]:
    numbers = ((subject.partition(":")[2], found) for subject, found in rules.items() if subject.startswith("discord:"))
    return [int(number) for number, found in numbers if number.isdecimal() and found is rule]


def settings_of(config: Config, decided: StoredDecisions) -> DiscordSettings:
    """The source's settings from the configuration and by command. Raises ValueError without a token."""
    if config.discord_token is None:
        raise ValueError("DISCORD_TOKEN is not set")
    same = config.discord.as_fields_of(DiscordSettings)
    # In a group of several agents, each message shows the agent's name, which takes some of its length.
    same["show_names"] = config.discord.show_names or any(len(group.members) > 1 for group in config.groups)
    owner = int(config.discord_owner) if config.discord_owner else None
    return DiscordSettings(config.discord_token, decided, owner, **same)
