"""A language of the offline model: its data file, loaded when somebody first uses it.

Its frequent words are in `../language_detection.toml`. Anybody may write anything: no pattern has nested repetition.
"""

import functools
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from bot.models.language_detection import languages, spoken, words
from memory.store import fulltext
from sources.text import one_line

LONGEST = 4_000  # characters of a text that are read
_FOLDER = Path(__file__).parent
_SHORTEST_LAST, _SHORTEST_FIRST, _LONGEST_COMPOUND = 5, 8, 80  # letters of its parts that are ideas (Nuss-allergie)
_TABLES = ("spell", "turn", "verbs")  # rewrites whose replacement is looked up
_MOST_QUERIES, _MOST_WORDS, _MOST_SENTENCES = 8, 24, 40


def detect(text: str, fallback: str = "en") -> "Language":
    """The language of a text; the fallback if it is ambiguous (a number, a name, "ok")."""
    best = languages(text)
    return language(fallback if fallback in best else best[0])


@functools.cache
def language(code: str) -> "Language":
    """A language by its code, loaded at its first use."""
    shared, own = (tomllib.loads((_FOLDER / f"{name}.toml").read_text("utf-8")) for name in ("patterns", code))
    return Language(code, own | {section: {**listed, **own.get(section, {})} for section, listed in shared.items()})


class Language:
    """One language. Nothing of it is compiled before it is used.

    `stops` mean nothing by themselves; `telling` words do. With `compounds`, a long word may continue another one
    (Zahnarzt, Zahnarzttermin). `asked`, `stated`: by idea, the words of a question about it and of what answers it.
    """

    def __init__(self, code: str, data: Mapping[str, Any]) -> None:
        self.code, self.data = code, data
        self.spaced: bool = spoken()[code]["spaced"]
        self.stops = words(spoken()[code]["stops"])
        self.compounds: bool = data["compounds"]
        self.asked = {name: words(each["asked"]) for name, each in data["ideas"].items()}
        self.stated = {name: words(each.get("stated", each["asked"])) for name, each in data["ideas"].items()}
        self.telling = frozenset[str]().union(*self.asked.values())
        tables = {each: "|".join(sorted(data[each], key=len, reverse=True)) or "(?!)" for each in _TABLES}
        self._fragments = {**data["fragments"], **tables, "months": data["say"]["months"].replace(" ", "|")}
        self._same = {form: base for base, forms in data["same"].items() for form in (base, *forms.split())}
        self.patterns = functools.cache(self._patterns)
        self.stem = functools.lru_cache(4096)(self._stem)

    def words(self, name: str, section: str = "words") -> frozenset[str]:
        return words(self.data[section][name])

    def say(self, phrase: str, **filled: object) -> str:
        """A phrase by name; one with a count has a singular form."""
        text = self.data["say"][phrase]
        if isinstance(text, dict):
            text = text["one" if filled["count"] == 1 else "other"]
        return str(text).format(**filled)

    def _patterns(self, section: str, name: str) -> tuple[tuple[re.Pattern[str], str], ...]:
        """The patterns of one name, each with its replacement; those of `begin` match at a sentence's beginning."""
        found, compiled = self.data[section].get(name, ()), []
        for each in [found] if isinstance(found, str) else found:
            text, instead = (each, "") if isinstance(each, str) else each
            text = f"{{{{start}}}}(?:{text})" if section == "begin" else text
            while fragment := re.search(r"\{\{(\w+)\}\}", text):
                text = text.replace(fragment[0], self._fragments[fragment[1]])
            compiled.append((re.compile(text.replace("\n", ""), re.IGNORECASE | re.DOTALL), instead))
        return tuple(compiled)

    def begins(self, name: str, text: str) -> re.Match[str] | None:
        return next((found for each, _ in self.patterns("begin", name) if (found := each.match(text))), None)

    def search(self, name: str, text: str, section: str = "search") -> re.Match[str] | None:
        return next((found for each, _ in self.patterns(section, name) if (found := each.search(text))), None)

    def groups(self, name: str, text: str) -> list[str]:
        """Every match of a pattern; of one with groups, the nonempty ones."""
        found = [match for each, _ in self.patterns("search", name) for match in each.finditer(text)]
        return [" ".join(filter(None, match.groups() or (match[0],))) for match in found]

    def split(self, name: str, text: str) -> list[str]:
        """The parts of a text between the matches of a pattern; the whole text if a language has none of that name."""
        return [part for each, _ in self.patterns("search", name) for part in each.split(text)] or [text]

    def rewrite(self, name: str, text: str) -> str:
        """A text with every pattern of a list replaced; for lists in `once`, only the first match."""
        table: Mapping[str, str] = self.data[name] if name in _TABLES else {}
        for pattern, instead in self.patterns("rewrites", name):
            by = (lambda found: table.get(found[0].lower(), found[0])) if table else instead
            text, found = pattern.subn(by, text)
            if found and name in self.words("once"):
                break
        return text

    def _stem(self, text: str) -> str:
        """The stem of a word: crude, like the stemming of full text search."""
        first = [self.rewrite("first", word) for word in text.split()]
        return " ".join(self.rewrite("last", self.rewrite("endings", self._same.get(word, word))) for word in first)

    def variants(self, word: str) -> tuple[str, ...]:
        """Further forms of a word for full text search, whose stemmer is English."""
        base, formed = self._same.get(word), self.rewrite("forms", word).split()
        forms = (*(form for form, of in self._same.items() if of == base), *formed)
        return tuple(form for form in dict.fromkeys(forms) if form != word)

    def among(self, stem: str, stems: Iterable[str]) -> bool:
        """Whether a word is one of these; without spaces also a part of one, in compounds its beginning."""
        for short, long in (sorted((stem, other), key=len) for other in stems if stem):
            begins = self.compounds and len(short) >= _SHORTEST_LAST and long.startswith(short)
            if short == long or begins or (not self.spaced and len(short) > 1 and short in long):
                return True
        return False

    def shown(self, fact: str, longest: int = 600) -> str:
        """The person's own words as a main clause from our perspective; quoted if the conversion would be wrong."""
        text = " ".join(self.rewrite("mend", one_line(fact, longest).rstrip(" .!。！")).split())
        turned = self.rewrite("turn", self.rewrite("second_person", self.rewrite("verbs", text)))  # my -> your
        return self.say("quote", text=text) if self.search("unturnable", text) else turned

    def clean(self, text: str) -> str:
        """The beginning of a message without control characters, and with omitted letters restored."""
        part = text[: LONGEST + 1].replace("’", "'")
        part = "".join([" " if unicodedata.category(c)[0] == "C" and c not in "\n\u200d" else c for c in part])
        return self.rewrite("spell", self.rewrite("address", part.strip()))

    def sentences(self, text: str) -> Iterator[str]:
        """The sentences. Quoted speech is not split but part of its sentence."""
        ((pattern, _),) = self.patterns("search", "sentence")
        found = [each for each in pattern.finditer(text) if each[0].strip()]
        yield from (each[0] for each in found[:_MOST_SENTENCES])
        if found[_MOST_SENTENCES:]:
            yield text[found[_MOST_SENTENCES].start() :]

    def tokens(self, text: str) -> list[str]:
        """The words in order, lower case, in compatibility normalization (full-width digits)."""
        return self.groups("token", unicodedata.normalize("NFKC", text[:LONGEST]).lower().replace("’", "'"))

    def content_words(self, text: str) -> tuple[str, ...]:
        """The words that carry meaning, lower case, each once, in order."""
        found: list[str] = []
        for token in self.tokens(text):
            kana = self.search("kana", token)
            for word in self.split("glue", token) if kana else (token.removesuffix("'s"),):
                short = len(word) < 2 and not word.isdigit() and (self.spaced or kana or word.isascii())
                if not short and (word not in self.stops or (word in self.telling and not kana)):
                    found.append(word)
        return tuple(dict.fromkeys(found))[:_MOST_WORDS]

    def stems(self, text: str) -> frozenset[str]:
        return frozenset(map(self.stem, self.content_words(text)))

    def grouped(self, text: str, which: str) -> list[frozenset[str]]:
        """The stems of every match of a pattern, its groups taken together."""
        return [stems for found in self.groups(which, text) if (stems := self.stems(found))]

    def meant(self, concepts: Iterable[str], text: str) -> frozenset[str]:
        """The ideas as a text means them: a negation inverts some (what is not eaten is a diet)."""
        turned: Mapping[str, str] = self.data["negated"] if self.search("negated", text) else {}
        return frozenset(turned.get(name, name) for name in concepts)

    def ideas(self, text: str, *, asked: bool) -> dict[str, frozenset[str]]:
        """The ideas that a text mentions, each with its words; without spaces and in compounds also as a part."""
        stems, gap, hits = list(map(self.stem, self.tokens(text))), " " * self.spaced, set()
        joined = [stem for stem in stems if self.compounds and len(stem) <= _LONGEST_COMPOUND]
        parts = [stem[at:] for stem in joined for at in range(1, len(stem) - _SHORTEST_LAST)]
        line, listed = f"{gap}{gap.join((*stems, *parts))}{gap}", self.asked if asked else self.stated
        for term in sorted(frozenset[str]().union(*listed.values()), key=len, reverse=True):
            stem = self.stem(term)
            begins = self.compounds and len(stem) >= _SHORTEST_FIRST
            if f"{gap}{stem}{'' if begins else gap}" in line:
                hits.add(term)
                line = line if gap else line.replace(stem, "\0")  # 叔母 is no 母
        return {name: found for name, terms in listed.items() if (found := terms & hits)}

    def queries(self, asked: Iterable[str], touched: Iterable[str]) -> tuple[str, ...]:
        """Queries for full text search: the words, their other forms, and their answers in every language."""
        parts, touched = list(asked), sorted(touched)
        parts += [form for word in tuple(parts) for form in self.variants(word)]
        for other in sorted(map(language, spoken() if touched else ()), key=lambda each: each is not self):
            terms = [term for name in touched for term in sorted(other.stated.get(name, ()))]
            parts += [word for term in terms for word in term.split() if len(word) > 2 or not other.spaced]
            parts += [form for term in terms for form in other.variants(term) if not other.spaced]
        return tuple(fulltext.packed(parts)[:_MOST_QUERIES])
