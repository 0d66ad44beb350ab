"""Rules for repeating in words, where words are shorter than the rule; any other stays as it is written."""

from memory.amounts import many

_UNITS = {"HOURLY": "hour", "DAILY": "day", "WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year"}
_DAYS = dict(
    zip(
        ("MO", "TU", "WE", "TH", "FR", "SA", "SU"),
        ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
        strict=True,
    )
)
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_ORDINALS = {"1": "first", "2": "second", "3": "third", "4": "fourth", "5": "fifth", "-1": "last", "-2": "last but one"}
_WORKDAYS = "MO,TU,WE,TH,FR"
_SAID = {"FREQ", "INTERVAL", "BYDAY", "BYMONTHDAY", "BYMONTH", "COUNT", "UNTIL", "WKST", "BYHOUR", "BYMINUTE"}


def rule_words(rule: str) -> str:
    """A rule of RFC 5545 for a person: "every Monday and Thursday", "every 2 months on the last Friday, 5 times".

    The time of day is not said: whoever shows a rule shows the next time beside it.
    """
    parts = dict(part.split("=", 1) for part in rule.upper().split(";") if "=" in part)
    several = any("," in parts.get(name, "") for name in ("BYHOUR", "BYMINUTE"))
    if parts.get("FREQ") not in _UNITS or several or not parts.keys() <= _SAID:
        return rule
    days = _days(parts.get("BYDAY", ""))
    if days is None:
        return rule
    words = _often(parts, days)
    if parts.get("BYMONTHDAY"):
        words += f" on {_listed([_day_of_month(day) for day in parts['BYMONTHDAY'].split(',')])}"
    if parts.get("BYMONTH"):
        words += f" in {_listed([_MONTHS[int(month) - 1] for month in parts['BYMONTH'].split(',')])}"
    if "COUNT" in parts:
        words += f", {many(int(parts['COUNT']), 'time')}"
    if "UNTIL" in parts:
        words += f", until {parts['UNTIL'][:4]}-{parts['UNTIL'][4:6]}-{parts['UNTIL'][6:8]}"
    return words


def _often(parts: dict[str, str], days: list[str]) -> str:
    count, unit = int(parts.get("INTERVAL", "1")), _UNITS[parts["FREQ"]]
    if days and count == 1 and unit in ("day", "week"):
        return "every weekday" if parts["BYDAY"] == _WORKDAYS else f"every {_listed(days)}"
    often = f"every {unit}" if count == 1 else f"every {count} {unit}s"
    return f"{often} on {_listed(days)}" if days else often


def _days(text: str) -> list[str] | None:
    """Weekdays by name, "the last Friday" for -1FR; None for one that has no name here."""
    found = []
    for each in filter(None, text.split(",")):
        number, day = each[:-2].lstrip("+"), _DAYS.get(each[-2:])
        if day is None or (number and number not in _ORDINALS):
            return None
        found.append(f"the {_ORDINALS[number]} {day}" if number else day)
    return found


def _day_of_month(day: str) -> str:
    return f"the {_ORDINALS[day]} day" if day in ("-1", "-2") else f"day {day}"


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
