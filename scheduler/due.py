"""What to do with a job at a given time, and quiet hours: pure functions over values."""

from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import TypeAlias

from scheduler.triggers import Trigger, newest_due, next_run
from scheduler.zones import instant, zone_of

LATE = timedelta(minutes=2)
"""The delay from which a run counts as late: wake-ups are at most a minute apart."""


@dataclass(frozen=True)
class Run:
    """Run it once now, for `missed` due times, the newest of which is `due`. `after` is the next one."""

    due: datetime
    missed: int
    after: datetime | None


@dataclass(frozen=True)
class Skip:
    """Its grace period is over: do not run it, and record that. `after` is the next due time."""

    due: datetime
    missed: int
    after: datetime | None


@dataclass(frozen=True)
class Wait:
    until: datetime


Decision: TypeAlias = Run | Skip | Wait


def decide(trigger: Trigger, planned: datetime, grace: timedelta | None, now: datetime) -> Decision:
    """What to do with a job due at `planned`. Several due times run as one; the newest starts the grace period."""
    if planned > now:
        return Wait(planned)
    due, missed = newest_due(trigger, planned, now)
    after = next_run(trigger, now)
    if grace is not None and now - due > grace:
        return Skip(due, missed, after)
    return Run(due, missed, after)


def replanned(trigger: Trigger, planned: datetime, now: datetime) -> datetime:
    """When a job is due after the clock was set back to `now`: at its first time from now on at the latest."""
    found = next_run(trigger, now)
    return planned if found is None else min(planned, found)


@dataclass(frozen=True)
class Quiet:
    """Daily hours in a time zone in which somebody is not disturbed; they may pass midnight."""

    begin: time
    end: time
    zone: str

    def until(self, moment: datetime) -> datetime | None:
        """The end of the quiet hours that contain this time; None if it is not quiet."""
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
        return end if end > moment else moment + timedelta(minutes=1)  # clocks repeat this hour: try the next minute
