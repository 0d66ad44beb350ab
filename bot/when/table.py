"""What a language is to the reading of times: patterns, each with the rule that it stands for."""

import re
from dataclasses import dataclass


def said(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


@dataclass(frozen=True)
class WhenTable:
    """Each pattern is looked for anywhere in a text, the first of a list that fits counts.

    `spans` have the groups "n" and "unit" (by `units`: seconds to years), perhaps "half" (and a half) and a second
    pair, "n2" and "unit2"; `numbers` are words for numbers. `days` give days from today, `parts` an hour of the day.
    `dates` have "day", perhaps "month" (number or name) and "year"; `weekday` has "weekday", and "week" for the one of
    next week. `times` have "hour", perhaps "minute", "half" and "ampm". `repeats` give a rule of RFC 5545 with what
    they found: "days" (weekdays, by `named`), "day" of the month, "unit" as {frequency}, "n" of them, and {nth} by a
    group of that name (first to fourth, last).
    """

    spans: tuple[re.Pattern[str], ...]
    units: dict[str, str]
    numbers: dict[str, float]
    days: tuple[tuple[re.Pattern[str], int], ...]
    weekdays: tuple[str, ...]
    weekday: re.Pattern[str]
    named: re.Pattern[str]
    """A weekday in a list of them, with so much of its name as tells it from others."""
    dates: tuple[re.Pattern[str], ...]
    months: tuple[str, ...]
    times: tuple[re.Pattern[str], ...]
    parts: tuple[tuple[re.Pattern[str], int], ...]
    repeats: tuple[tuple[re.Pattern[str], str], ...]
    filler: re.Pattern[str]
    """Words that may be left over of a time ("at", "on")."""
    afternoon: bool = False
    """Whether a small hour without more is one of the afternoon ("tomorrow at 3")."""
