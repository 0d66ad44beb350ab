"""A language of the offline model: its data file, loaded and compiled when it is first spoken, and its grammar.

A new language is a new TOML file and its frequent words in `languages.toml`. Patterns look at one cleaned sentence of
bounded length; they must be free of nested repetition, because anybody may send anything.
"""

import functools
import re
import tomllib
from collections.abc import Iterable, Mapping
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


class Spoken(NamedTuple):
    """By what a language is told from others: frequent words, letters of its own."""

    code: str
    stops: frozenset[str]
    """Words without meaning of their own."""
    marks: frozenset[str]
    script: re.Pattern[str] | None
    spaced: bool


@functools.cache
def spoken() -> tuple[Spoken, ...]:
    """Every language there is; none of them is loaded for that."""
    listed = tomllib.loads((_FOLDER / "languages.toml").read_text("utf-8"))
    return tuple(
        Spoken(
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

    def __init__(self, mark: Spoken, data: Mapping[str, Any]) -> None:
        self.code, self.stops, self.spaced = mark.code, mark.stops, mark.spaced
        self.my: str = data["my"]
        self.compounds: bool = data["compounds"]
        """Whether a long word may continue another one (Zahnarzt, Zahnarzttermin)."""
        self._data = data
        self._compiled: dict[str, tuple[re.Pattern[str], ...]] = {}
        self.stem = functools.lru_cache(4096)(self._stem)

    # ------------------------------------------------------------------------------------------------- the data

    def words(self, name: str) -> frozenset[str]:
        """A set of words by name."""
        return words(self._data["words"][name])

    @functools.cached_property
    def ideas(self) -> Mapping[str, Idea]:
        found = self._data["ideas"]
        return {
            name: Idea(words(each["asked"]), words(each.get("stated", each["asked"]))) for name, each in found.items()
        }

    @functools.cached_property
    def asked(self) -> frozenset[str]:
        """Every word that asks for an idea."""
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
        known = {**_FRAGMENTS, **self._data["fragments"], **more}
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
        """What a sentence says from its beginning on."""
        for each in self.patterns("begin", name):  # asked for each of some fifty names: a generator would cost twice
            if (found := each.match(text)) is not None:
                return found
        return None

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

    def rewrites(self, name: str) -> tuple[tuple[re.Pattern[str], str], ...]:
        """Patterns by name, each with what stands instead."""
        listed = self._data["rewrites"].get(name, ())
        if name not in self._compiled:
            self._compiled[name] = tuple(self.compile(each) for each, _ in listed)
        return tuple(zip(self._compiled[name], (instead for _, instead in listed), strict=True))

    @functools.cached_property
    def _same(self) -> Mapping[str, str]:
        """Irregular forms, each with its base."""
        return {form: base for base, forms in self._data["same"].items() for form in forms.split()}

    def _stem(self, word: str) -> str:
        """Forms of a word fall together; crude, as full text search stems too."""
        for pattern, instead in self.rewrites("first"):
            word = pattern.sub(instead, word)
        word = self._same.get(word, word)
        for pattern, instead in self.rewrites("endings"):
            if pattern.search(word):
                word = pattern.sub(instead, word)
                break
        for pattern, instead in self.rewrites("last"):
            word = pattern.sub(instead, word)
        return word

    def variants(self, word: str) -> tuple[str, ...]:
        """Further forms of a word for full text search, whose stemmer is English."""
        base = self._same.get(word, word)
        found = [base, *(form for form, of in self._same.items() if of == base)] if base in self._same.values() else []
        for pattern, forms in self.rewrites("forms"):
            if match := pattern.match(word):
                found += match.expand(forms).split()
        return tuple(form for form in dict.fromkeys(found) if form != word)

    def _replaced(self, table: str, text: str, shape: str) -> str:
        """A text with the words of a table replaced."""
        listed: dict[str, str] = self._data[table]
        if not listed:
            return text
        if table not in self._compiled:
            keys = "|".join(sorted(listed, key=len, reverse=True))
            self._compiled[table] = (self.compile(shape, keys=keys),)
        return self._compiled[table][0].sub(lambda found: listed[found[0].lower()], text)

    def spell(self, text: str) -> str:
        """What is often left out in typing is put back (im -> I'm)."""
        return self._replaced("spell", text, _WORD)

    # ------------------------------------------------------------------------------------------------ its order

    def turn(self, fact: str) -> str:
        """The speaker's words seen from our side (my -> your)."""
        if self.search("around_i", fact):
            verbs = self._data["verbs"]
            for pattern in self.patterns("search", "joined_verb"):
                fact = pattern.sub(lambda found: found[1] + verbs[found[2].lower()], fact)
            for pattern in self.patterns("search", "around_i"):
                fact = pattern.sub(self._conjugate, fact)
        return self._replaced("turn", fact, self._data["turned"])

    def _finite(self, verb: str) -> str:
        """A verb beside "I" in its full form (vertrag -> vertrage); empty when it is none."""
        low, known = verb.lower(), self._data["verbs"]
        if low in known or low + "e" in known:
            return low if low in known else low + "e"
        return low if low.endswith("e") and len(low) >= 4 and low not in self.words("no_verbs") else ""

    def _second_person(self, verb: str) -> str:
        """I am -> you are; a word that is no verb stays."""
        full = self._finite(verb)
        if not full or full in self._data["verbs"]:
            return str(self._data["verbs"].get(full, verb))
        for pattern, instead in self.rewrites("second_person"):
            if pattern.search(full):
                return pattern.sub(instead, full)
        return full

    def _conjugate(self, found: re.Match[str]) -> str:
        """The verb beside "I": before it when that is one (esse ich), otherwise behind it."""
        before, after = found["before"] or "", found["after"] or ""
        if before and self._finite(before):
            before = self._second_person(before)
        elif after:
            after = self._second_person(after)
        return before + (found["gap"] or "") + found["i"] + (found["space"] or "") + after

    def mend(self, clause: str) -> str:
        """A subordinate clause as a main clause, verb second; what cannot be put in order stays as it is."""
        found = self.search("clause", clause)
        if found is None or self.search("two_clauses", clause):
            return clause
        subject, verb, rest, own = found["subject"], found["verb"], found["rest"] or "", found["subject"] == "ich"
        parted = self.search("parted", verb)
        if parted and parted["verb"].endswith("e" if own else "t"):
            return " ".join(filter(None, (subject, parted["verb"], rest, parted["away"])))
        third = self.search("third_person", verb) is not None
        is_verb = bool(self._finite(verb)) if own else third or (verb[:1].islower() and verb.endswith("t"))
        return " ".join(filter(None, (subject, verb, rest))) if is_verb else clause

    def order(self, sentence: str) -> str:
        """A statement with its subject first, for looking at only ("in Graz wohne ich" -> "ich wohne in Graz")."""
        for pattern, instead in self.rewrites("order"):
            found = pattern.search(sentence)
            if found and ("own" not in found.re.groupindex or self._finite(found["own"])):
                return found.expand(instead) + sentence[found.end() :]
        return sentence

    def shown(self, fact: str, longest: int = 600) -> str:
        """The person's own words seen from our side; quoted where turning would get them wrong."""
        text = self.mend(one_line(fact, longest).rstrip(" .!。！"))
        return self.quote(text) if self.search("unturnable", text) else self.turn(text)


def others(spoken_now: Language) -> Iterable[Language]:
    """The languages beside one, which are loaded for it."""
    return (language(each.code) for each in spoken() if each.code != spoken_now.code)
