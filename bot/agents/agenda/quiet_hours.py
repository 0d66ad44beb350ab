"""Quiet hours of people: reminders and other messages to one person (`delivery_to_a_person.py`) and patrols
(`bot.agents.patrols`) are held back until they end. Those of groups are in `bot.agents.groups.sleeptime_triggers`.
"""

from collections.abc import Callable
from datetime import datetime, time
from typing import TypeAlias

from bot.agents.permissions.roles_and_rights import People
from memory.people import person_settings
from memory.store.database import Rows
from memory.store.ids import PersonId
from scheduler.job_kinds import JobResult
from scheduler.zones import Quiet
from texts import gettext_lazy

OwnersQuiet: TypeAlias = Callable[[Rows, datetime], datetime | None]
"""Returns the end of the owner's quiet hours; None outside them."""


def quiet_of(rows: Rows, accounts: tuple[PersonId, ...], default_zone: str) -> Quiet | None:
    """The quiet hours of the person with these accounts, if they have any."""
    times = person_settings.of(rows, accounts)
    if not times.quiet_from or not times.quiet_until:
        return None
    begin, end = time.fromisoformat(times.quiet_from), time.fromisoformat(times.quiet_until)
    return Quiet(begin, end, times.zone or default_zone)


def after_quiet(quiet: Quiet | None, at: datetime) -> datetime:
    """The time itself or, if it is quiet then, the end of the quiet hours."""
    return (None if quiet is None else quiet.until(at)) or at


def quiet_until(rows: Rows, accounts: tuple[PersonId, ...], default_zone: str, at: datetime) -> datetime | None:
    """The end of their quiet hours; None outside them."""
    quiet = quiet_of(rows, accounts, default_zone)
    return None if quiet is None else quiet.until(at)


def held_back(until: datetime | None) -> JobResult | None:
    """The status of a job that waits for quiet hours to end; None if they are over."""
    return None if until is None else JobResult(gettext_lazy("waiting for quiet hours to end"), again=until)


def owners_quiet(people: People, zone: str) -> OwnersQuiet:
    return lambda rows, now: quiet_until(rows, people.selves(people.owner[0]), zone, now)
