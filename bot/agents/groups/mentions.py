"""Whom a message speaks to: "@name …", "name: …", "name, …" and "hey name …" at its beginning, "@all" for everybody."""

import re
from collections.abc import Collection, Iterable

_GREETINGS = r"(?:(?:hey|hi|hello|ok|okay|hallo)\s+)?"
_BEFORE = r"^\s*(?:@\S+\s+)?"
"""A mention of the account itself may stand before the name."""


def addressed(text: str, names: Collection[str], *, everybody: bool = True) -> list[str]:
    """The names among these that a message speaks to, in the order of `names`; all of them for "@all" where
    `everybody` can be meant."""
    if everybody and re.match(r"^\s*(?:@\S+\s+)?@all\b", text, re.IGNORECASE):
        return list(names)
    return _longest([name for name in names if _speaks_to(text, name)])


def signed(text: str, names: Collection[str]) -> list[str]:
    """The names among these that a message speaks to as "@name", which no other word can be taken for."""
    return _longest([name for name in names if re.match(_signed(name), text, re.IGNORECASE)])


def _longest(spoken: list[str]) -> list[str]:
    """Of "Ann" and "Ann Lee" the one that was said."""
    longest = max(map(len, spoken), default=0)
    return [name for name in spoken if len(name) == longest]


def _signed(name: str) -> str:
    return rf"^\s*(?:@\S+\s+)?@{re.escape(name)}(?!\w)"


def mentioned_words(text: str, words: Iterable[str]) -> list[str]:
    """The words or phrases among these that a text has, as whole words and in any case."""
    return [word for word in words if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE)]


def _speaks_to(text: str, name: str) -> bool:
    own = re.escape(name)
    forms = (
        _signed(name),
        rf"{_BEFORE}{_GREETINGS}{own}\s*[:,]",
        rf"{_BEFORE}(?:hey|hi|hello|ok|okay|hallo)\s+{own}(?!\w)",
    )
    return any(re.match(form, text, re.IGNORECASE) for form in forms)
