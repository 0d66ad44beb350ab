"""What to do with a job at a moment, and when somebody is not to be disturbed: pure functions over values."""

from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import TypeAlias

from scheduler.triggers import Trigger, newest_due, next_run
from scheduler.zones import instant, zone_of

LATE = timedelta(minutes=2)
"""From when on a run counts as late: a wake-up comes at least once a minute."""


@dataclass(frozen=True)
class Run:
    """It is to be run now, once, for `missed` due times, of which `due` is the newest. `after` is the next one."""

    due: datetime
    missed: int
    after: datetime | None


@dataclass(frozen=True)
class Skip:
    """Its grace is over: it is not run for these, and says so. `after` is the next one."""

    due: datetime
    missed: int
    after: datetime | None


@dataclass(frozen=True)
class Wait:
    until: datetime


Decision: TypeAlias = Run | Skip | Wait


def decide(trigger: Trigger, planned: datetime, grace: timedelta | None, now: datetime) -> Decision:
    """What to do with a job planned for `planned`. Several due times run as one; the newest is what grace is about."""
    if planned > now:
        return Wait(planned)
    due, missed = newest_due(trigger, planned, now)
    after = next_run(trigger, now)
    if grace is not None and now - due > grace:
        return Skip(due, missed, after)
    return Run(due, missed, after)


def replanned(trigger: Trigger, planned: datetime, now: datetime) -> datetime:
    """When a job is due after the clock was set back to `now`: never later than its first time from now on."""
    found = next_run(trigger, now)
    return planned if found is None else min(planned, found)


@dataclass(frozen=True)
class Quiet:
    """Hours of every day in which somebody is left alone, on the clocks of their zone; they may pass midnight."""

    begin: time
    end: time
    zone: str

    def until(self, moment: datetime) -> datetime | None:
        """When the quiet hours end in which this moment lies; None when it lies in none."""
        zone = zone_of(self.zone)
        local = moment.astimezone(zone)
        clock = local.time()
        if self.begin == self.end:
            return None
        over_midnight = self.begin > self.end
        within = clock >= self.begin or clock < self.end if over_midnight else self.begin <= clock < self.end
        if not within:
            return None
        tomorrow = over_midnight and clock >= self.begin
        day = local.date() + timedelta(days=1) if tomorrow else local.date()
        end = instant(datetime.combine(day, self.end), zone)
        return end if end > moment else moment + timedelta(minutes=1)  # clocks repeat this hour: look again
