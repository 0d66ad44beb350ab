"""What an examination of something outside came to, for people who look after the service."""

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How far something that was looked at is as it should be."""

    GOOD = "good"
    UNSET = "not configured"
    DOUBT = "look at this"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Finding:
    """`about` is what was looked at, `words` what was seen, `remedy` what to do; empty where there is nothing to do."""

    about: str
    state: State
    words: str
    remedy: str = ""
