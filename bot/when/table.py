"""What a language is to the reading of times: patterns, each with the rule that it stands for."""

import re
from dataclasses import dataclass


def said(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


@dataclass(frozen=True)
class WhenTable:
    """Each pattern is looked for anywhere in a text, the first of a list that fits counts.

    `spans` have the groups "n" and "unit" (by `units`: minutes, hours, days, weeks, months); `numbers` are words for
    numbers. `days` give days from today, `parts` an hour of the day. `dates` have "day", "month" (number or name) and
    perhaps "year". `times` have "hour", perhaps "minute", "half" and "ampm". `repeats` give a part of a rule: "DAILY",
    "WEEKLY", "MONTHLY", "YEARLY", "WEEKDAYS", or "BYDAY" with the group "weekday".
    """

    spans: tuple[re.Pattern[str], ...]
    units: dict[str, str]
    numbers: dict[str, float]
    days: tuple[tuple[re.Pattern[str], int], ...]
    weekdays: tuple[str, ...]
    weekday: re.Pattern[str]
    dates: tuple[re.Pattern[str], ...]
    months: tuple[str, ...]
    times: tuple[re.Pattern[str], ...]
    parts: tuple[tuple[re.Pattern[str], int], ...]
    repeats: tuple[tuple[re.Pattern[str], str], ...]
    filler: re.Pattern[str]
    """Words that may be left over of a time ("at", "on")."""
    afternoon: bool = False
    """Whether a small hour without more is one of the afternoon ("tomorrow at 3")."""
