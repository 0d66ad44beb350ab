"""`/remind`, `/tasks`, `/events` and `/quiet`, and the buttons under reminders. All answers are seen by one person."""

import re
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import discord
from discord import app_commands

from bot.desks.agenda import Agenda, Asked
from bot.discord_ui.answering import Interaction, answer, defer, suggests
from bot.discord_ui.asking import approver_of, asker_of, scope_here
from bot.discord_ui.forms import Door
from bot.planning import Plan
from bot.policy import Approver
from bot.reminding import Wanted
from memory.audience import OWNER, Scope, person_audience
from memory.ids import PlaceId
from memory.tasks import Status
from sources.discord.buttons import REMINDER
from sources.discord.hearing import trust_of
from sources.discord.places import place_id
from sources.discord.reading import author_of
from sources.discord.settings import DiscordSettings

Command: TypeAlias = app_commands.Command[Any, ..., None]

_YEAR = 366  # days of events that are suggested


def install_agenda(tree: app_commands.CommandTree[Any], agenda: Agenda, settings: DiscordSettings) -> None:
    """Put the commands into the tree, and have buttons heard, also of what was said before a restart."""
    remind = app_commands.Group(name="remind", description="Being told something at a time")
    remind.add_command(_remind_me(agenda, settings))
    remind.add_command(_reminders(agenda, settings))
    remind.add_command(_cancel(agenda, settings))
    tree.add_command(remind)
    tasks = app_commands.Group(name="tasks", description="What you want to do")
    tasks.add_command(_add(agenda, settings))
    tasks.add_command(_tasks(agenda, settings))
    tasks.add_command(_end(agenda, settings, "done", "Something is done", Status.COMPLETED))
    tasks.add_command(_end(agenda, settings, "cancel", "Something is not to be done any more", Status.CANCELLED))
    tree.add_command(tasks)
    tree.add_command(_quiet(agenda))
    tree.add_command(_events(agenda, settings))
    tree.client.add_dynamic_items(_buttons(agenda))


def _buttons(agenda: Agenda) -> type[discord.ui.DynamicItem[discord.ui.Button[Any]]]:
    class Press(Door, discord.ui.DynamicItem[discord.ui.Button[Any]], template=REMINDER):
        """One button under one reminder; its id says which."""

        def __init__(self, offer: str, reminder: int, shown: discord.ui.Button[Any]) -> None:
            super().__init__(shown)
            self.offer, self.reminder = offer, reminder

        @classmethod
        async def from_custom_id(
            cls, _interaction: Interaction, item: discord.ui.Item[Any], match: re.Match[str], /
        ) -> "Press":
            if not isinstance(item, discord.ui.Button):
                raise TypeError(f"a button has the id {match[0]}, not {type(item).__name__}")
            return cls(match["offer"], int(match["reminder"]), item)

        async def pressed(self, interaction: Interaction) -> None:
            if await defer(interaction):
                who = approver_of(interaction, "button")
                await answer(interaction, agenda.press(self.reminder, self.offer, who))

    return Press


def _own(interaction: Interaction, settings: DiscordSettings) -> Asked:
    """What only they hear, where, and how far what they write down is trusted."""
    who = approver_of(interaction, "command").person
    audience = OWNER if interaction.user.id == settings.owner_id else person_audience(who)
    place = PlaceId(f"discord:user:{interaction.user.id}")
    return Asked(Scope(audience), place, trust_of(author_of(interaction.user), settings))


def _remind_me(agenda: Agenda, settings: DiscordSettings) -> Command:
    @app_commands.command(name="me", description="Be told something at a time")
    @app_commands.describe(
        text="What I am to say then",
        when='When: "in 20 minutes", "tomorrow at 9", "every monday at 8", "morgen um 9", or 2026-12-31 18:00',
        where="Where I am to say it",
    )
    async def command(
        interaction: Interaction,
        text: app_commands.Range[str, 1, 1000],
        when: app_commands.Range[str, 1, 200],
        where: Literal["privately", "here"] = "privately",
    ) -> None:
        if not await defer(interaction):
            return
        asked = _own(interaction, settings)
        if where == "here" and interaction.channel_id is not None and interaction.guild is not None:
            scope, place = await scope_here(interaction, settings), place_id(interaction.channel_id)
            asked = replace(asked, scope=scope, place=place)
        await answer(interaction, agenda.remind(text, when, approver_of(interaction, "command"), asked))

    return command


def _reminders(agenda: Agenda, settings: DiscordSettings) -> Command:
    @app_commands.command(name="list", description="What I am to remind you of")
    async def command(interaction: Interaction) -> None:
        if await defer(interaction):
            scope = (await asker_of(interaction, settings)).scope
            found = agenda.reminders(approver_of(interaction, "command"), scope)
            await answer(interaction, _joined(found, "You have no reminders that I may show here."))

    return command


def _cancel(agenda: Agenda, settings: DiscordSettings) -> Command:
    @app_commands.command(name="cancel", description="Take a reminder back, with its repetitions")
    @app_commands.describe(reminder="Its number, or words that stand in it")
    async def command(interaction: Interaction, reminder: app_commands.Range[str, 1, 300]) -> None:
        if await defer(interaction):
            scope = (await asker_of(interaction, settings)).scope
            await answer(interaction, agenda.cancel_reminder(reminder, approver_of(interaction, "command"), scope))

    async def known(interaction: Interaction) -> list[tuple[str, str]]:
        scope = (await asker_of(interaction, settings)).scope
        return _numbered(await agenda.reminders(approver_of(interaction, "command"), scope))

    suggests(command, "reminder", known)
    return command


def _add(agenda: Agenda, settings: DiscordSettings) -> Command:
    @app_commands.command(name="add", description="Write down something you want to do")
    @app_commands.describe(title="What", due='Until when, as "friday at 18:00"', priority="How pressing it is")
    async def command(
        interaction: Interaction,
        title: app_commands.Range[str, 1, 300],
        due: app_commands.Range[str, 1, 200] = "",
        priority: Literal["low", "medium", "high", "urgent"] = "medium",
    ) -> None:
        if await defer(interaction):
            asked, who = _own(interaction, settings), approver_of(interaction, "command")
            await answer(interaction, agenda.add_task(title, due, priority, who, asked))

    return command


def _tasks(agenda: Agenda, settings: DiscordSettings) -> Command:
    @app_commands.command(name="list", description="What you want to do")
    @app_commands.describe(done="Also what is over")
    async def command(interaction: Interaction, done: bool = False) -> None:
        if await defer(interaction):
            scope = (await asker_of(interaction, settings)).scope
            found = agenda.tasks(approver_of(interaction, "command"), scope, done=done)
            await answer(interaction, _joined(found, "You have no tasks that I may show here."), file_name="tasks.md")

    return command


def _end(agenda: Agenda, settings: DiscordSettings, name: str, description: str, status: Status) -> Command:
    @app_commands.command(name=name, description=description)
    @app_commands.describe(task="Its number, or words that stand in it")
    async def command(interaction: Interaction, task: app_commands.Range[str, 1, 300]) -> None:
        if await defer(interaction):
            scope = (await asker_of(interaction, settings)).scope
            who = approver_of(interaction, "command")
            await answer(interaction, agenda.end_task(task, who, scope, status=status))

    async def known(interaction: Interaction) -> list[tuple[str, str]]:
        scope = (await asker_of(interaction, settings)).scope
        return _numbered(await agenda.tasks(approver_of(interaction, "command"), scope))

    suggests(command, "task", known)
    return command


def _numbered(lines: Sequence[str]) -> list[tuple[str, str]]:
    """What lists show, each line by the number at its end."""
    cut = [line.removeprefix("- ").rstrip("`").rpartition(" `") for line in lines]
    return [(number, words) for words, _, number in cut if number.isdecimal()]


def _quiet(agenda: Agenda) -> Command:
    @app_commands.command(name="quiet", description="Your clocks, and hours in which I do not disturb you")
    @app_commands.describe(
        begin='When quiet hours begin, as "22:30"; "off" ends them', end='When they end, as "7:00"',
        zone="Your time zone, as Europe/Vienna",
    )  # fmt: skip
    async def command(
        interaction: Interaction,
        begin: app_commands.Range[str, 1, 5] = "",
        end: app_commands.Range[str, 1, 5] = "",
        zone: app_commands.Range[str, 1, 60] = "",
    ) -> None:
        if await defer(interaction):
            await answer(interaction, _timed(agenda, approver_of(interaction, "command"), (begin, end), zone))

    return command


async def _timed(agenda: Agenda, who: Approver, hours: tuple[str, str], zone: str) -> str:
    if not any(hours) and not zone:
        return await agenda.times(who)
    quiet = ("", "") if hours[0].casefold() == "off" else hours if any(hours) else None
    return await agenda.set_times(who, zone or None, quiet)


async def _joined(found: Awaitable[list[str]], empty: str) -> str:
    return "\n".join(await found) or empty


def _events(agenda: Agenda, settings: DiscordSettings) -> app_commands.Group:
    group = app_commands.Group(name="events", description="What happens when")

    @group.command(name="add", description="Write down what happens at a time; I tell you before it")
    @app_commands.describe(
        title="What happens", when='When it begins, as "friday at 18:00"', ends='When it ends, as "at 19:30"',
        minutes="How many minutes before it I tell you; -1 for not at all",
    )  # fmt: skip
    async def add(
        interaction: Interaction,
        title: app_commands.Range[str, 1, 300],
        when: app_commands.Range[str, 1, 200],
        ends: app_commands.Range[str, 1, 200] = "",
        minutes: app_commands.Range[int, -1, 44_640] = 15,
    ) -> None:
        if await defer(interaction):
            asked, who = _own(interaction, settings), approver_of(interaction, "command")
            wanted = Wanted(title, when, who.person, asked.place, asked.scope, asked.trust)
            await answer(interaction, agenda.add_event(Plan(wanted, ends, minutes), who))

    @group.command(name="list", description="What comes, the next first")
    async def listed(interaction: Interaction, days: app_commands.Range[int, 1, 3660] = 31) -> None:
        if await defer(interaction):
            scope = (await asker_of(interaction, settings)).scope
            found = agenda.events(approver_of(interaction, "command"), scope, days)
            await answer(interaction, _joined(found, "Nothing is planned that I may show here."), file_name="events.md")

    @group.command(name="cancel", description="Take an event out, with its repetitions")
    @app_commands.describe(event="Its number, or words of its title")
    async def cancel(interaction: Interaction, event: app_commands.Range[str, 1, 300]) -> None:
        if await defer(interaction):
            scope = (await asker_of(interaction, settings)).scope
            await answer(interaction, agenda.cancel_event(event, approver_of(interaction, "command"), scope))

    async def known(interaction: Interaction) -> list[tuple[str, str]]:
        scope = (await asker_of(interaction, settings)).scope
        return _numbered(await agenda.events(approver_of(interaction, "command"), scope, _YEAR))

    suggests(cancel, "event", known)
    return group
