"""The language of a text, by the frequent words of each one in `language_detection.toml`."""

import functools
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any


@functools.cache
def words(text: str) -> frozenset[str]:
    """A set of words; an underscore joins a phrase."""
    return frozenset(word.replace("_", " ") for word in text.split())


@functools.cache
def spoken() -> Mapping[str, Mapping[str, Any]]:
    """The distinguishing words of each language, by its code."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def languages(text: str) -> list[str]:
    """The possible languages of a text: more than one if it is ambiguous."""
    part, scores = text[:2_000].lower(), {}
    found = re.findall(r"[^\W_]+(?:['’][^\W_]+)*", part)
    for code, each in spoken().items():
        scripted = re.search(each["script"], part) is not None
        marks = words(f"{each['stops']} {each['marks']}")
        scores[code] = sum(map(marks.__contains__, found)) + (2 if each["spaced"] else 1_000) * scripted
    return [code for code, score in scores.items() if score == max(scores.values())]
