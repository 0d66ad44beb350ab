"""The words of a language for times: a TOML file, loaded and compiled when that language is first read.

`spans` have the groups "n" and "unit" (by `units`: seconds to years), perhaps "half" (and a half) and a second pair,
"n2" and "unit2"; `numbers` are words for numbers. `figures` turn words into figures before anything is read. `days`
give days from today, or "month" and "year" for the last day of one; `parts` an hour of the day. `dates` have "day",
perhaps "month" (number or name) and "year"; `weekday` has "weekday", and "week" for the one of next week. `times` have
"hour", perhaps "minute", "half" and "ampm". `repeats` give a rule of RFC 5545 with what they found: "days" (weekdays,
by `named`), "day" of the month, "unit" as {frequency}, "n" of them, and {nth} by a group of that name (first to
fourth, last). A line break in a pattern is none of it; {{name}} stands for a fragment.
"""

import functools
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

Ruled: TypeAlias = tuple[tuple[re.Pattern[str], Any], ...]


@functools.cache
def grammar(code: str) -> "Grammar":
    """The grammar of a language."""
    path = Path(__file__).with_name(f"{code}.toml")
    return Grammar(tomllib.loads(path.read_text("utf-8")))


class Grammar:
    def __init__(self, data: Mapping[str, Any]) -> None:
        numbers: dict[str, float] = data["numbers"]
        self._fragments = {
            **data["fragments"],
            "numbers": "|".join(sorted(numbers, key=len, reverse=True)) or "(?!)",
            "hours": "|".join(data["hours"]) or "(?!)",
            "days": "|".join(data["weekdays"].split()),
            "months": "|".join(data["months"].split()),
        }
        self.numbers = numbers
        self.hours: dict[str, int] = data["hours"]
        """Words for the hours of a clock."""
        self.units: dict[str, str] = {word: unit for unit, listed in data["units"].items() for word in listed.split()}
        self.weekdays, self.months = data["weekdays"].split(), data["months"].split()
        self.afternoon: bool = data["afternoon"]
        """Whether a small hour without more is one of the afternoon ("tomorrow at 3")."""
        self.weekday, self.named, self.filler = (self._said(data[each]) for each in ("weekday", "named", "filler"))
        """The weekday of a sentence, one in a list of them, and words that may be left over of a time ("at", "on")."""
        self.spans, self.dates, self.times = (
            tuple(self._said(each) for each in data[name]) for name in ("spans", "dates", "times")
        )
        self.figures, self.days, self.parts, self.repeats = (
            self._ruled(data[name]) for name in ("figures", "days", "parts", "repeats")
        )

    def _said(self, text: str) -> re.Pattern[str]:
        while found := re.search(r"\{\{(\w+)\}\}", text):
            text = text.replace(found[0], self._fragments[found[1]])
        return re.compile(text.replace("\n", ""), re.IGNORECASE)

    def _ruled(self, listed: list[list[Any]]) -> Ruled:
        return tuple((self._said(pattern), rule) for pattern, rule in listed)

    def in_figures(self, text: str) -> str:
        """The text with times of day in figures: "at half past seven" is "at 7:30"."""
        for pattern, instead in self.figures:
            text = pattern.sub(functools.partial(self._figure, instead), text)
        return text

    def _figure(self, instead: str, found: re.Match[str]) -> str:
        said = found["hour"].casefold()
        hour = self.hours[said] if said in self.hours else int(said)
        before = (hour - 2) % 12 + 1 if hour <= 12 else hour - 1
        return str(instead).format(hour=hour, before=before, at=found.groupdict().get("at") or "")

    def number(self, said: str) -> float:
        """A number in words or figures."""
        known = self.numbers.get(" ".join(said.casefold().split()))
        return float(said.replace(",", ".")) if known is None else known

    def unit(self, said: str) -> str:
        """A unit of time by its name, as timedelta calls it."""
        return self.units.get(said.casefold()) or self.units[said.casefold().removesuffix("s")]

    def weekdays_of(self, said: str) -> list[int]:
        """The weekdays of a list, by number from Monday on; perhaps shortened."""
        found = self.named.findall(said.casefold())
        return [next(at for at, day in enumerate(self.weekdays) if day.startswith(each)) for each in found]
