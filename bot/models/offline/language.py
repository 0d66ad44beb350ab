"""A language of the offline model: its data file, loaded and compiled when it is first spoken, and its grammar.

A new language is a new TOML file and its frequent words in `languages.toml`. Patterns look at one cleaned sentence of
bounded length; they must be free of nested repetition, because anybody may send anything.
"""

import functools
import re
import tomllib
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from sources.text import one_line

_FOLDER = Path(__file__).parent
_FRAGMENT = r"\{\{(\w+)\}\}"


@functools.cache
def words(text: str) -> frozenset[str]:
    """A set of words; an underscore joins a phrase."""
    return frozenset(word.replace("_", " ") for word in text.split())


class LanguageMarks(NamedTuple):
    """By what a language is told from others: frequent words, letters of its own."""

    stops: frozenset[str]
    """Words without meaning of their own."""
    marks: frozenset[str]
    script: re.Pattern[str]
    spaced: bool


@functools.cache
def spoken() -> Mapping[str, LanguageMarks]:
    """Every language there is, by code; none of them is loaded for that."""
    listed = tomllib.loads((_FOLDER / "languages.toml").read_text("utf-8"))
    marked = {
        code: (words(each["stops"]), words(each["marks"]), re.compile(each["script"])) for code, each in listed.items()
    }
    return {
        code: LanguageMarks(stops, stops | marks, script, listed[code]["spaced"])
        for code, (stops, marks, script) in marked.items()
    }


@functools.cache
def language(code: str) -> "Language":
    """A language by its code, loaded when it is first asked for."""
    shared, own = (tomllib.loads((_FOLDER / f"{name}.toml").read_text("utf-8")) for name in ("patterns", code))
    return Language(code, own | {section: {**listed, **own.get(section, {})} for section, listed in shared.items()})


class Language:
    """One language. Nothing of it is compiled before it is used."""

    def __init__(self, code: str, data: Mapping[str, Any]) -> None:
        self.code, self._data = code, data
        self.stops, self.spaced = spoken()[code].stops, spoken()[code].spaced
        self.compounds: bool = data["compounds"]
        """Whether a long word may continue another one (Zahnarzt, Zahnarzttermin)."""
        ideas: Mapping[str, Mapping[str, str]] = data["ideas"]
        self.asked = {name: words(each["asked"]) for name, each in ideas.items()}
        self.stated = {name: words(each.get("stated", each["asked"])) for name, each in ideas.items()}
        """By idea the words that a question about it is asked with, and those that answer it."""
        self.telling = frozenset[str]().union(*self.asked.values())
        """Words that carry meaning, though they mostly do not."""
        self.negated: Mapping[str, str] = data["negated"]
        """What an idea becomes under a negation."""
        tables = {name: "|".join(sorted(data[name], key=len, reverse=True)) for name in ("spell", "turn", "verbs")}
        self._fragments = {**data["fragments"], **tables}
        self._same = {form: base for base, forms in data["same"].items() for form in (base, *forms.split())}
        self.patterns = functools.cache(self._patterns)
        self.stem = functools.lru_cache(4096)(self._stem)

    # ------------------------------------------------------------------------------------------------- the data

    def words(self, name: str, section: str = "words") -> frozenset[str]:
        return words(self._data[section][name])

    def names(self, section: str, prefix: str = "") -> list[str]:
        """What a section has whose name begins so, in its order."""
        return [name for name in self._data[section] if name.startswith(prefix)]

    def say(self, phrase: str, **filled: object) -> str:
        """A phrase by name; one that counts has a form for one."""
        text = self._data["say"][phrase]
        if isinstance(text, dict):
            text = text["one" if filled["count"] == 1 else "other"]
        return str(text).format(**filled)

    def quote(self, text: str) -> str:
        return self.say("quote", text=text)

    def day(self, day: date) -> str:
        """A date as it is written."""
        month = self.say("months").split()[day.month - 1]
        return self.say("date", day=day.day, month=month, number=day.month, year=day.year)

    # --------------------------------------------------------------------------------------------- its patterns

    def _patterns(self, section: str, name: str) -> tuple[tuple[re.Pattern[str], str], ...]:
        """The patterns of one name, each with what stands instead where it replaces something.

        Fragments are put in, those of `begin` look from the beginning of a sentence; line breaks are none of them.
        """
        found, compiled = self._data[section].get(name, ()), []
        for each in [found] if isinstance(found, str) else found:
            text, instead = (each, "") if isinstance(each, str) else each
            text = f"{{{{start}}}}(?:{text})" if section == "begin" else text
            while fragment := re.search(_FRAGMENT, text):
                text = text.replace(fragment[0], self._fragments[fragment[1]])
            compiled.append((re.compile(text.replace("\n", ""), re.IGNORECASE | re.DOTALL), instead))
        return tuple(compiled)

    def begins(self, name: str, text: str) -> re.Match[str] | None:
        return next((found for each, _ in self.patterns("begin", name) if (found := each.match(text))), None)

    def search(self, name: str, text: str, section: str = "search") -> re.Match[str] | None:
        return next((found for each, _ in self.patterns(section, name) if (found := each.search(text))), None)

    def groups(self, name: str, text: str) -> list[list[str]]:
        """The groups of every match of a pattern that hold anything; the whole match of one without groups."""
        found = [match for each, _ in self.patterns("search", name) for match in each.finditer(text)]
        return [[part for part in match.groups() or (match[0],) if part] for match in found]

    def split(self, name: str, text: str) -> list[str]:
        """The parts of a text between the matches of a pattern; the text where a language has none of that name."""
        return [part for each, _ in self.patterns("search", name) for part in each.split(text)] or [text]

    # ----------------------------------------------------------------------------------------------- its words

    def rewrite(self, name: str, text: str, *, once: bool = False) -> str:
        """A text with every pattern of a list replaced, one after the other, or only the first that is found."""
        for pattern, instead in self.patterns("rewrites", name):
            text, found = pattern.subn(instead, text)
            if found and once:
                break
        return text

    def replaced(self, table: str, text: str) -> str:
        """A text with the words of a table replaced: those left out in typing (spell), or seen from our side (turn)."""
        instead: Mapping[str, str] = self._data[table]
        for pattern, _ in self.patterns("search", table) if instead else ():
            text = pattern.sub(lambda found: instead[found[0].lower()], text)
        return text

    def _stem(self, text: str) -> str:
        """Forms of a word fall together; crude, as full text search stems too."""
        stems = []
        for word in text.split():
            first = self.rewrite("first", word)
            stems.append(self.rewrite("last", self.rewrite("endings", self._same.get(first, first), once=True)))
        return " ".join(stems)

    def variants(self, word: str) -> tuple[str, ...]:
        """Further forms of a word for full text search, whose stemmer is English."""
        base, formed = self._same.get(word), self.rewrite("forms", word, once=True).split()
        forms = (*(form for form, of in self._same.items() if of == base), *formed)
        return tuple(form for form in dict.fromkeys(forms) if form != word)

    # ------------------------------------------------------------------------------------------------ its order

    def turn(self, fact: str) -> str:
        """The speaker's words seen from our side (my -> your, ich wohne -> du wohnst)."""
        if self.search("i", fact):
            fact = self.rewrite("second_person", self.replaced("verbs", fact))
        return self.replaced("turn", fact)

    def mend(self, clause: str) -> str:
        """A subordinate clause as a main clause, verb second; what cannot be put in order stays as it is."""
        mended = self.rewrite("mend", clause, once=True)
        return clause if mended == clause else " ".join(mended.split())

    def order(self, sentence: str) -> str:
        """A statement with its subject first, for looking at only ("in Graz wohne ich" -> "ich wohne in Graz")."""
        return self.rewrite("order", sentence, once=True)

    def shown(self, fact: str, longest: int = 600) -> str:
        """The person's own words seen from our side; quoted where turning would get them wrong."""
        text = self.mend(one_line(fact, longest).rstrip(" .!。！"))
        return self.quote(text) if self.search("unturnable", text) else self.turn(text)
