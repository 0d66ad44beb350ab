"""Quiet hours: pure functions over values."""

from dataclasses import dataclass
from datetime import datetime, time, timedelta

from scheduler.zones import instant, zone_of


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
