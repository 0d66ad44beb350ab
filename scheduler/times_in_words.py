"""Times and repetition rules in words, in the reader's language. The words are in `wording.toml`."""

import functools
import tomllib
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from scheduler.cron import read_crontab
from scheduler.zones import zone_of
from texts import DAY_END, language, source, timestamp

_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_WORKDAYS = "MO,TU,WE,TH,FR"
_SAID = {"FREQ", "INTERVAL", "BYDAY", "BYMONTHDAY", "BYMONTH", "COUNT", "UNTIL", "WKST", "BYHOUR", "BYMINUTE"}
_ONE_DAY = ("BYDAY", "BYMONTHDAY")
_MOST_TIMES = 6  # times of day that are listed individually
_SOON = timedelta(hours=1)
_NEAR = timedelta(days=300)  # times further away include the year


@functools.cache
def _words(code: str) -> Mapping[str, Any]:
    listed = tomllib.loads(Path(__file__).with_name("wording.toml").read_text("utf-8"))
    return dict(listed[code])


def moment_words(
    moment: datetime, now: datetime, zone: str, code: str, *, ends: datetime | None = None, stamped: bool = False
) -> str:
    """When something will be, in a time zone: "at 8:28 PM (in 2 minutes)", "Mo., 23.11., 09:00". An end on
    another day is given with its day.

    `stamped`: as timestamps of Discord, which each reader sees in their own zone. Of `DAY_END` only the day is said.
    """
    words, there, here = _words(code), moment.astimezone(zone_of(zone)), now.astimezone(zone_of(zone))
    over = ends and ends.astimezone(zone_of(zone))
    same_day = over is not None and over.date() == there.date()
    if stamped:
        until = f"–<t:{ends.timestamp():.0f}:{'t' if same_day else 'f'}>, " if ends else ", "
        return str(words["stamped"]).format(stamp=timestamp(there).replace(", ", until))
    minutes, days = round((moment - now).total_seconds() / 60), (there.date() - here.date()).days
    shape = "today" if timedelta() <= moment - now < _SOON else {0: "later_today", 1: "tomorrow"}.get(days, "other")
    shape = "far" if abs(moment - now) >= _NEAR else shape
    if there.time() == DAY_END:
        return _dated(words, f"{shape}_day", there)
    soon = words["soon"][minutes != 1].format(n=minutes) if minutes else words["at_once"]
    said = _dated(words, shape, there, time=time_words(there, code), soon=soon)
    if over is None:
        return said
    ending = time_words(over, code)
    return f"{said}–{ending}" if same_day else f"{said} – {_dated(words, 'ending', over, time=ending)}"


def date_words(day: date) -> str:
    """A date: "Nov 26, 2026", "26.11.2026"."""
    return _dated(_words(language()), "date", day)


def long_date(code: str, *days: date) -> str:
    """A date, or a first and a last one, in a sentence of a language: "November 26, 2026", "26. November 2026"."""
    return " – ".join(dict.fromkeys(_dated(_words(code), "long_date", day) for day in days))


def past_words(moment: datetime, code: str, *, stamped: bool, zoned: bool) -> dict[str, str]:
    """The "date" and the "time" of a moment, in a sentence of a language.

    `stamped`: as timestamps of Discord, which each reader sees in their own zone; otherwise `zoned` names UTC.
    """
    if stamped:
        return {"date": f"<t:{moment.timestamp():.0f}:D>", "time": f"<t:{moment.timestamp():.0f}:t>"}
    return {"date": long_date(code, moment), "time": time_words(moment, code) + " UTC" * zoned}


def clock_words(moment: datetime, zone: str) -> str:
    """A time in a zone with its date: "Thu, Nov 26, 2026, 9:00 AM", "Do., 26.11.2026, 09:00"; of `DAY_END` the date."""
    there, words = moment.astimezone(zone_of(zone)), _words(language())
    day = _dated(words, "full_date", there, date=date_words(there))
    if there.time() == DAY_END:
        return day
    return _dated(words, "clock", there, full_date=day, time=time_words(there))


def zone_name(moment: datetime) -> str:
    """The short name of a moment's time zone; some have none but their offset from UTC."""
    return f"{moment:%Z}".replace("+", "UTC+").replace("-", "UTC-")


def time_words(clock: time | datetime, code: str = "") -> str:
    """A time of day as it is read in a language, by default the reader's: "9:00 AM", "09:00"."""
    return str(_words(code or language())["time"]).format(clock=clock, hour=clock.hour % 12 or 12)


def _dated(words: Mapping[str, Any], shape: str, day: date, **more: str) -> str:
    return str(words[shape]).format(
        weekday=words["days"].split()[day.weekday()],
        day=day.day,
        month=words["months"].split()[day.month - 1],
        number=day.month,
        year=day.year,
        **more,
    )


def rule_words(rule: str, code: str = "", *, dated: bool = True) -> str:
    """An RFC 5545 rule in words: "every Monday and Thursday", "every 2 months on the last Friday, 5 times".

    A rule whose words would not be shorter stays as it is. The time of day is left out: the next time is always shown
    beside a rule. So is the only day of a week or month, unless it is `dated`: in the reader's zone it may be another.
    """
    parts = dict(part.split("=", 1) for part in rule.upper().split(";") if "=" in part)
    words = _words(code or language())
    several = any("," in parts.get(name, "") for name in ("BYHOUR", "BYMINUTE"))
    if parts.get("FREQ") not in words["units"] or several or not parts.keys() <= _SAID:
        return rule
    days = _days(parts.get("BYDAY", ""), words)
    if days is None:
        return rule
    if not dated and parts["FREQ"] != "DAILY":
        parts = {name: each for name, each in parts.items() if name not in _ONE_DAY or "," in each}
        days = days if "BYDAY" in parts else []
    said = _often(parts, days, words)
    if parts.get("BYMONTHDAY"):
        named = [_day_of_month(day, words) for day in parts["BYMONTHDAY"].split(",")]
        said = words["on"].format(often=said, days=_listed(named, words))
    if parts.get("BYMONTH"):
        months = words["months"].split()
        named = [months[int(month) - 1] for month in parts["BYMONTH"].split(",")]
        said += words["in_months"].format(months=_listed(named, words))
    if "COUNT" in parts:
        said += words["count"][parts["COUNT"] != "1"].format(n=parts["COUNT"])
    if "UNTIL" in parts:
        until = date.fromisoformat(parts["UNTIL"][:8])
        said += words["until"].format(date=_dated(words, "date", until))
    return said


def crontab_words(line: str, zone: str = "UTC") -> str:
    """A crontab line in words: "every day at 3:00 AM", "every 30 minutes". If there are no words for it, the line."""
    tab, words = read_crontab(line, "UTC"), _words(language())
    parts = {"FREQ": "DAILY"}
    if len(tab.weekdays) < 7:
        days = ",".join(_DAYS[day - 1] for day in sorted(tab.weekdays, key=lambda day: day or 7))
        parts = {"FREQ": "WEEKLY", "BYDAY": days}
    if len(tab.days) < 31:
        parts = {"FREQ": "MONTHLY", "BYMONTHDAY": ",".join(map(str, sorted(tab.days)))}
    if len(tab.months) < 12:
        parts["BYMONTH"] = ",".join(map(str, sorted(tab.months)))
    if tab.either or (len(tab.weekdays) < 7 and "BYMONTHDAY" in parts):
        return line
    if len(tab.hours) == 24:
        return _within_days(tab.minutes, parts, words) or line
    stamped = source() == "discord" and not any("," in each for each in parts.values())
    clocks = [time(hour, minute) for hour in tab.hours for minute in tab.minutes]
    times = [_time_stamp(each, zone) if stamped else time_words(each) for each in clocks]
    often = rule_words(";".join(f"{name}={value}" for name, value in parts.items()), dated=not stamped)
    return line if len(times) > _MOST_TIMES else str(words["at_times"].format(often=often, times=_listed(times, words)))


def _time_stamp(clock: time, zone: str) -> str:
    """A time of day in the zone as a timestamp of Discord, which each reader sees in their own."""
    return f"<t:{datetime.combine(datetime.now(zone_of(zone)), clock, zone_of(zone)).timestamp():.0f}:t>"


def _within_days(minutes: tuple[int, ...], parts: Mapping[str, str], words: Mapping[str, Any]) -> str:
    """The words for something within hours; empty if there are none."""
    step = 60 // len(minutes)
    regular = minutes == tuple(range(minutes[0], 60, step)) and minutes[0] + 60 - minutes[-1] == step
    if parts != {"FREQ": "DAILY"} or not regular:
        return ""
    if len(minutes) > 1:
        return rule_words(f"FREQ=MINUTELY;INTERVAL={step}")
    often = rule_words("FREQ=HOURLY")
    return str(words["at_minute"].format(often=often, n=minutes[0])) if minutes[0] else often


def _often(parts: Mapping[str, str], days: list[str], words: Mapping[str, Any]) -> str:
    count, (one, several) = int(parts.get("INTERVAL", "1")), words["units"][parts["FREQ"]]
    if days and count == 1 and parts["FREQ"] in ("DAILY", "WEEKLY"):
        each = words["each"].format(days=_listed(days, words))
        return str(words["workdays"] if parts["BYDAY"] == _WORKDAYS else each)
    often = str(words["one"].format(unit=one) if count == 1 else words["several"].format(n=count, unit=several))
    return str(words["on"].format(often=often, days=_listed(days, words))) if days else often


def _days(text: str, words: Mapping[str, Any]) -> list[str] | None:
    """The names of weekdays, "the last Friday" for -1FR; None if one has no name here."""
    found = []
    for each in filter(None, text.split(",")):
        number, day = each[:-2].lstrip("+"), each[-2:]
        if day not in _DAYS or (number and number not in words["ordinals"]):
            return None
        name = words["days"].split()[_DAYS.index(day)]
        found.append(words["nth"].format(nth=words["ordinals"][number], day=name) if number else name)
    return found


def _day_of_month(day: str, words: Mapping[str, Any]) -> str:
    if day in ("-1", "-2"):
        return str(words["last_day"].format(nth=words["ordinals"][day]))
    return str(words["day"].format(n=day))


def _listed(found: list[str], words: Mapping[str, Any]) -> str:
    return str(words["and"]).join(filter(None, (str(words["comma"]).join(found[:-1]), found[-1])))
