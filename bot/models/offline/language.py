"""A language of the offline model: its data file, loaded and compiled when it is first spoken, and its grammar.

A new language is a new TOML file and its frequent words in `languages.toml`. Patterns look at one cleaned sentence of
bounded length; they must be free of nested repetition, because anybody may send anything.
"""

import functools
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sources.text import one_line

_FOLDER = Path(__file__).parent
_START = r"^[\s(*_~-]{0,8}"
"""List signs and emphasis that may stand before a sentence; no quotation marks: what is quoted is nobody's order."""
_FRAGMENTS = {"start": _START, "end": r"[\W_]{0,12}$"}
_FRAGMENT = r"\{\{(\w+)\}\}"
_WORD = r"(?<![\w.'@/-])(?:{{keys}})(?![\w'/@-]|\.\w)"
"""A word by itself; no part of an address."""


@functools.cache
def words(text: str) -> frozenset[str]:
    """A set of words; an underscore joins a phrase."""
    return frozenset(word.replace("_", " ") for word in text.split())


class Idea(NamedTuple):
    """An association: words a question is asked with, and words that answer it."""

    asked: frozenset[str]
    stated: frozenset[str]


class Kind(NamedTuple):
    """What sort of answer a question wants: how it is asked, words that only say so, how such an answer looks."""

    asked: re.Pattern[str]
    words: frozenset[str]
    stated: re.Pattern[str]


class LanguageMarks(NamedTuple):
    """By what a language is told from others: frequent words, letters of its own."""

    code: str
    stops: frozenset[str]
    """Words without meaning of their own."""
    marks: frozenset[str]
    script: re.Pattern[str] | None
    spaced: bool


@functools.cache
def spoken() -> tuple[LanguageMarks, ...]:
    """Every language there is; none of them is loaded for that."""
    listed = tomllib.loads((_FOLDER / "languages.toml").read_text("utf-8"))
    return tuple(
        LanguageMarks(
            code,
            words(each["stops"]),
            words(each["stops"]) | words(each["marks"]),
            re.compile(each["script"]) if each["script"] else None,
            each["spaced"],
        )
        for code, each in listed.items()
    )


@functools.cache
def language(code: str) -> "Language":
    """A language by its code, loaded when it is first asked for."""
    data = tomllib.loads((_FOLDER / f"{code}.toml").read_text("utf-8"))
    return Language(next(each for each in spoken() if each.code == code), data)


class Language:
    """One language. Nothing of it is compiled before it is used."""

    def __init__(self, mark: LanguageMarks, data: Mapping[str, Any]) -> None:
        self.code, self.stops, self.spaced = mark.code, mark.stops, mark.spaced
        self.my: str = data["my"]
        self.compounds: bool = data["compounds"]
        """Whether a long word may continue another one (Zahnarzt, Zahnarzttermin)."""
        self._data = data
        self._compiled: dict[str, tuple[re.Pattern[str], ...]] = {}
        self.stem = functools.lru_cache(4096)(self._stem)

    # ------------------------------------------------------------------------------------------------- the data

    def words(self, name: str) -> frozenset[str]:
        return words(self._data["words"][name])

    @functools.cached_property
    def ideas(self) -> Mapping[str, Idea]:
        found = self._data["ideas"]
        return {
            name: Idea(words(each["asked"]), words(each.get("stated", each["asked"]))) for name, each in found.items()
        }

    @functools.cached_property
    def asked(self) -> frozenset[str]:
        return frozenset(word for idea in self.ideas.values() for word in idea.asked)

    @functools.cached_property
    def kinds(self) -> Mapping[str, Kind]:
        found = self._data["kinds"]
        return {
            name: Kind(self.compile(each["asked"]), words(each["words"]), self.compile(each["stated"]))
            for name, each in found.items()
        }

    @functools.cached_property
    def months(self) -> tuple[str, ...]:
        return tuple(str(self._data["calendar"]["months"]).split())

    @functools.cached_property
    def days(self) -> tuple[tuple[re.Pattern[str], str], ...]:
        """Days of the past, and weeks and months, each with its rule."""
        return tuple((self.compile(each), rule) for each, rule in self._data["calendar"]["days"])

    def written(self, **parts: object) -> str:
        """A date from day, month, number and year."""
        return str(self._data["calendar"]["written"]).format(**parts)

    def say(self, phrase: str, **filled: object) -> str:
        """A phrase by name; one that counts has a form for one."""
        text = self._data["say"][phrase]
        if isinstance(text, dict):
            text = text["one" if filled["count"] == 1 else "other"]
        return str(text).format(**filled)

    def quote(self, text: str) -> str:
        return self.say("quote", text=text)

    # --------------------------------------------------------------------------------------------- its patterns

    def compile(self, text: str, **more: str) -> re.Pattern[str]:
        """A pattern with its fragments put in; the line breaks of the file are none of it."""
        verbs = "|".join(self._data["verbs"])
        known = {**_FRAGMENTS, "verbs": verbs, **self._data["fragments"], **more}
        while found := re.search(_FRAGMENT, text):
            text = text.replace(found[0], known[found[1]])
        return re.compile(text.replace("\n", ""), re.IGNORECASE | re.DOTALL)

    def patterns(self, section: str, name: str) -> tuple[re.Pattern[str], ...]:
        """The patterns of one name, those of `begin` from the beginning of a sentence."""
        if (key := f"{section}.{name}") not in self._compiled:
            found = self._data[section].get(name, ())
            before = _START if section == "begin" else ""
            listed = [found] if isinstance(found, str) else found
            self._compiled[key] = tuple(self.compile(f"{before}(?:{each})" if before else each) for each in listed)
        return self._compiled[key]

    def begins(self, name: str, text: str) -> re.Match[str] | None:
        return self.first((name,), text)[1]

    def first(self, names: Sequence[str], text: str) -> tuple[str, re.Match[str] | None]:
        """The first of these names with which a text begins, and what matches; nothing if it begins with none."""
        for name in names:
            for each in self._compiled.get(f"begin.{name}") or self.patterns("begin", name):
                if (found := each.match(text)) is not None:
                    return name, found
        return "", None

    def search(self, name: str, text: str) -> re.Match[str] | None:
        return next((found for each in self.patterns("search", name) if (found := each.search(text))), None)

    def groups(self, name: str, text: str) -> list[list[str]]:
        """The groups of every match of a pattern that hold anything; the whole match of one without groups."""
        found = [match for each in self.patterns("search", name) for match in each.finditer(text)]
        return [[part for part in match.groups() or (match[0],) if part] for match in found]

    def spans(self, said: str) -> tuple[str, ...]:
        """A number of minutes or an hour, as a time is said in a sentence."""
        return tuple(each.format(said=said) for each in self._data["spans"])

    def names(self, prefix: str) -> list[str]:
        """The patterns from the beginning that have a prefix, in their order."""
        return [name for name in self._data["begin"] if name.startswith(prefix)]

    # ----------------------------------------------------------------------------------------------- its words

    def _rewrites(self, name: str) -> tuple[tuple[re.Pattern[str], str], ...]:
        listed = self._data["rewrites"].get(name, ())
        if name not in self._compiled:
            self._compiled[name] = tuple(self.compile(each) for each, _ in listed)
        return tuple(zip(self._compiled[name], (instead for _, instead in listed), strict=True))

    def rewrite(self, name: str, text: str) -> str:
        """A text with every pattern of a list replaced, one after the other."""
        for pattern, instead in self._rewrites(name):
            text = pattern.sub(instead, text)
        return text

    def rewrite_once(self, name: str, text: str) -> str:
        """A text with the first pattern of a list replaced that is found."""
        for pattern, instead in self._rewrites(name):
            if found := pattern.search(text):
                return text[: found.start()] + found.expand(instead) + text[found.end() :]
        return text

    @functools.cached_property
    def _same(self) -> Mapping[str, str]:
        return {form: base for base, forms in self._data["same"].items() for form in forms.split()}

    def _stem(self, word: str) -> str:
        """Forms of a word fall together; crude, as full text search stems too."""
        word = self.rewrite("first", word)
        return self.rewrite("last", self.rewrite_once("endings", self._same.get(word, word)))

    def variants(self, word: str) -> tuple[str, ...]:
        """Further forms of a word for full text search, whose stemmer is English."""
        base = self._same.get(word, word)
        found = [base, *(form for form, of in self._same.items() if of == base)] if base in self._same.values() else []
        found += self.rewrite_once("forms", word).split()
        return tuple(form for form in dict.fromkeys(found) if form != word)

    def _replaced(self, table: str, shape: str, text: str) -> str:
        listed: dict[str, str] = self._data[table]
        if not listed:
            return text
        if table not in self._compiled:
            keys = "|".join(sorted(listed, key=len, reverse=True))
            self._compiled[table] = (self.compile(shape, keys=keys),)
        return self._compiled[table][0].sub(lambda found: listed[found[0].lower()], text)

    def spell(self, text: str) -> str:
        """What is often left out in typing is put back (im -> I'm)."""
        return self._replaced("spell", _WORD, text)

    # ------------------------------------------------------------------------------------------------ its order

    def turn(self, fact: str) -> str:
        """The speaker's words seen from our side (my -> your, ich wohne -> du wohnst)."""
        if self.search("i", fact):
            fact = self.rewrite("second_person", self._replaced("verbs", self._data["beside_i"], fact))
        return self._replaced("turn", self._data["turned"], fact)

    def mend(self, clause: str) -> str:
        """A subordinate clause as a main clause, verb second; what cannot be put in order stays as it is."""
        mended = self.rewrite_once("mend", clause)
        return clause if mended == clause else " ".join(mended.split())

    def order(self, sentence: str) -> str:
        """A statement with its subject first, for looking at only ("in Graz wohne ich" -> "ich wohne in Graz")."""
        return self.rewrite_once("order", sentence)

    def shown(self, fact: str, longest: int = 600) -> str:
        """The person's own words seen from our side; quoted where turning would get them wrong."""
        text = self.mend(one_line(fact, longest).rstrip(" .!。！"))
        return self.quote(text) if self.search("unturnable", text) else self.turn(text)


def others(spoken_now: Language) -> Iterable[Language]:
    return (language(each.code) for each in spoken() if each.code != spoken_now.code)
