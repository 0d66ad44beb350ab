"""What a text says that is worth keeping: found by rules, sentence by sentence, without a model. Pure.

A rule looks at a whole sentence from its beginning, so that half of one never passes for a statement. What is quoted,
asked or supposed is left out. `patterns` has the rules.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memory.knowledge.facts.patterns import (
    ASIDE,
    BEGINS,
    BULLET,
    CORRECTS,
    FENCED,
    GERMAN,
    KNOWN,
    LEAD,
    MINE,
    OF_ANY,
    OF_SELF,
    POINTING,
    QUOTED,
    QUOTED_LINE,
    SENTENCE,
    SUPPOSED,
    Category,
    Rule,
)
from memory.knowledge.facts.similarity import fingerprint, is_unspaced
from memory.store.fulltext import content_words

MOST = 10
"""Statements that are taken from one text; the first ones."""
LONGEST, LONGEST_UNSPACED = 120, 50
"""Characters of one statement, and of one in a script without spaces, which says as much in fewer; what is longer ends
at the word before."""
READ = 4_000
"""Characters of a text that are looked at: the rules take half a millisecond for so many."""
_LONGEST_SENTENCE = 500  # longer ones are lists or listings, not statements


@dataclass(frozen=True)
class Statement:
    """One thing that somebody said. `corrects`: it was said to put something right."""

    category: Category
    text: str
    corrects: bool = False


def statements(text: str, *, own: bool) -> list[Statement]:
    """What a text says; `own`: it is a person's message, so that "I" is that person. The first `MOST`, each once."""
    found: dict[str, Statement] = {}
    for sentence, corrects in _sentences(text[:READ]):
        said = _said(sentence, own=own)
        if said is not None:
            found.setdefault(fingerprint(said.text), Statement(said.category, said.text, corrects and own))
        if len(found) == MOST:
            break
    return list(found.values())


def _sentences(text: str) -> Iterator[tuple[str, bool]]:
    """Sentences without what is quoted or asked; whether each, or what stands before it, takes something back."""
    text = QUOTED.sub(" … ", QUOTED_LINE.sub("", FENCED.sub("\n", text)))
    corrects = False
    for part in SENTENCE.split(text):
        if len(part) > _LONGEST_SENTENCE:
            continue
        sentence = BULLET.sub("", part).strip().strip("*_")
        if not sentence:
            continue
        rest = CORRECTS.sub("", f"{sentence} ").strip()
        corrects = corrects or len(rest) < len(sentence)
        rest = LEAD.sub("", rest)
        if rest and not rest.endswith(("?", "？")) and _is_worth_reading(rest):
            yield rest, corrects
        corrects = corrects and not rest


def _is_worth_reading(sentence: str) -> bool:
    begins = BEGINS.match(sentence) is not None and SUPPOSED.match(sentence) is None
    return begins or KNOWN.search(sentence) is not None


def _said(sentence: str, *, own: bool) -> Statement | None:
    bare = sentence.rstrip(" .!;。！…")
    for rule in (*OF_SELF, *OF_ANY) if own else OF_ANY:
        if (match := rule.pattern.fullmatch(bare)) is not None:
            text = _text(rule, match)
            return None if text is None else Statement(rule.category, text)
    return None


def _text(rule: Rule, match: re.Match[str]) -> str | None:
    """The statement as it is kept; None when nothing is left that says anything."""
    words = ASIDE.sub("", match["x"]).strip(" ,:;*_")
    if rule.category is Category.PREFERENCE and POINTING.match(words):
        return None
    if rule.own:
        for pattern, other in MINE:
            words = pattern.sub(other, words)
    groups = {name: value or "" for name, value in match.groupdict().items()}
    verb = groups.get("verb", "").casefold()
    groups |= {"x": words, "verb": verb, "german": GERMAN.get(verb, verb)}
    text = shortened(" ".join(rule.says.format(**groups).split()))
    return text if "…" not in text and content_words(words) else None


def shortened(text: str) -> str:
    """As long as a statement may be, ending with a whole word."""
    most = LONGEST_UNSPACED if is_unspaced(text) else LONGEST
    if len(text) <= most:
        return text
    cut = text[: most + 1].rpartition(" ")[0]
    return (cut if len(cut) > most // 2 else text[:most]).rstrip(" ,;:")
