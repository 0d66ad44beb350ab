"""Making the Discord front end from configuration and desk."""

import functools
from collections.abc import Sequence
from dataclasses import replace

import discord

from bot import logs
from bot.config import Config
from bot.discord_ui.agenda import install_agenda
from bot.discord_ui.approvals import install_approvals
from bot.discord_ui.archive import install_archive
from bot.discord_ui.asking import barred
from bot.discord_ui.books import install_cost, install_grant
from bot.discord_ui.budgets import install_budgets
from bot.discord_ui.commands import Tree, install
from bot.discord_ui.coordinating import install_coordinating
from bot.discord_ui.doctor import install_doctor, install_export, install_restart
from bot.discord_ui.dreams import install_dreams
from bot.discord_ui.facts import install_facts
from bot.discord_ui.halting import install_halt
from bot.discord_ui.house import install_agent, install_house
from bot.discord_ui.linking import install_link
from bot.discord_ui.memory import install_memory
from bot.discord_ui.outbox import install_outbox
from bot.discord_ui.people import install_people
from bot.discord_ui.privacy import install_privacy
from bot.discord_ui.projects import install_projects
from bot.discord_ui.schedule import install_backup, install_jobs
from bot.discord_ui.searching import install_search
from bot.discord_ui.states import install_states
from bot.discord_ui.steering import install_steering
from bot.discord_ui.summaries import install_summaries
from bot.discord_ui.talking import install_groups, install_talking
from bot.discord_ui.why import install_why
from bot.fronts import Desks
from bot.secrets import Redactor
from memory.clock import Clock
from memory.ids import PlaceId
from sources.base import Front
from sources.discord.client import Commands
from sources.discord.hearing import text_mark
from sources.discord.readback import Known
from sources.discord.settings import Decided, Direct, DiscordSettings, Mode, People
from sources.discord.source import DiscordSource, DiscordStatus, Wiring

_COMPARED = 50  # stored messages of a place that are compared with its history after a time away
_MARK = "discord.commands"
_BEGUN = "discord.begun"


def connect(config: Config, desks: Desks, clock: Clock) -> Front:
    """The Discord front end; nothing is connected before its source runs."""
    desk, community, steering = desks.desk, desks.community, desks.steering
    withheld = community.privacy.choices.withheld

    async def recent(place: PlaceId) -> Sequence[Known]:
        found = await desk.recent(place, _COMPARED)
        return [Known(row.external_id or "", text_mark(row.text)) for row in found]

    async def begun() -> int:
        """When the bot first set out to connect, as Discord writes times."""
        stored = await desk.mark(_BEGUN)
        if stored is None:
            stored = str(discord.utils.time_snowflake(clock()))
            await desk.set_mark(_BEGUN, stored)
        return int(stored)

    wiring = Wiring(
        cursors=functools.partial(desk.cursors, "discord"),
        recent=recent,
        begun=begun,
        on_ready=lambda name: logs.ready("discord", name=name),
        commands=Commands(
            install=lambda tree: _install(tree, desks, settings),
            synced=functools.partial(desk.mark, _MARK),
            note=functools.partial(desk.set_mark, _MARK),
            barred=lambda interaction: barred(interaction, settings, withheld),
            cleaned=Redactor(config.secrets()).clean,
        ),
        withheld=withheld,
        knocks=lambda who, place: None if steering.deaf("discord") else community.admission.knocks(who, place),
        clock=clock,
        deaf=functools.partial(steering.deaf, "discord"),
    )
    settings = replace(
        settings_of(config),
        decided=Decided(community.admission.rules, steering.modes, community.identities.other_audiences),
    )
    source = DiscordSource(settings, wiring)
    steering.resumed["discord"] = source.read_back
    desk.front_states["discord"] = lambda: "; ".join(filter(None, (_words(source.status), steering.state("discord"))))
    return Front(source, source.endpoint, source.pause, source.finish)


def _install(tree: Tree, desks: Desks, settings: DiscordSettings) -> None:
    install(tree, desks.desk, desks.approvals.people)
    install_approvals(tree, desks.approvals)
    install_grant(tree, desks.granting, desks.desk, settings)
    install_search(tree, desks.searching, settings)
    install_archive(tree, desks.archive, desks.searching, settings)
    install_coordinating(tree, desks.coordinating, settings)
    install_facts(tree, desks.facts, desks.desk, settings)
    install_projects(tree, desks.projects, settings)
    install_cost(tree, desks.costs, desks.budgeting)
    install_budgets(tree, desks.budgeting)
    install_halt(tree, desks.halt)
    install_privacy(tree, desks.community.privacy)
    install_why(tree, desks.why, settings)
    install_memory(tree, desks.remembering, desks.desk, settings)
    install_people(tree, desks.community.admission)
    install_states(tree, desks.states, settings)
    install_steering(tree, desks.steering, settings)
    install_jobs(tree, desks.schedule)
    install_backup(tree, desks.backups)
    install_agenda(tree, desks.agenda, settings)
    install_link(tree, desks.community.identities)
    install_talking(tree, desks.talking, desks.desk, settings)
    install_groups(tree, desks.household.grouping, desks.approvals.people)
    install_house(tree, desks.desk, desks.operations, desks.approvals.people)
    install_agent(tree, desks.household.staff)
    install_outbox(tree, desks.outbox)
    install_summaries(tree, desks.summaries, desks.dreams, settings)
    install_dreams(tree, desks.dreams, settings)
    install_doctor(tree, desks.examining)
    install_restart(tree, desks.restart)
    install_export(tree, desks.household, desks.approvals.people)


def settings_of(config: Config) -> DiscordSettings:
    """The configuration's words as the source takes them. Raises ValueError without a token."""
    if config.discord_token is None:
        raise ValueError("DISCORD_TOKEN is not set")
    given = config.discord
    return DiscordSettings(
        token=config.discord_token,
        owner_id=int(config.discord_owner) if config.discord_owner else None,
        default_mode=Mode(given.default_mode),
        modes={int(place): Mode(mode) for place, mode in given.modes.items()},
        allow=_people(given.allow.persons, given.allow.roles, given.allow.guilds),
        deny=_people(given.deny.persons, given.deny.roles, given.deny.guilds),
        direct=Direct(given.dm),
        owner_places=frozenset(map(int, given.owner_places)),
        auto_thread=given.auto_thread,
        # Where several speak, each does so under its name, which takes room in every message.
        show_names=given.show_names or any(len(group.members) > 1 for group in config.groups),
        merge_seconds=given.merge_seconds,
    )


def _people(persons: frozenset[str], roles: frozenset[str], guilds: frozenset[str]) -> People:
    return People(frozenset(map(int, persons)), frozenset(map(int, roles)), frozenset(map(int, guilds)))


def _words(status: DiscordStatus) -> str:
    if not status.connected:
        return f"not connected: {status.trouble}; it is tried again" if status.trouble else "not connected"
    names = ", ".join(sorted(status.missing_intents))
    missing = f"; without {names} (Discord's developer portal grants that under Bot)" if names else ""
    delay = f", {status.latency * 1000:.0f} ms" if status.latency is not None else ""
    return f"connected as {status.name}{delay}{missing}"
