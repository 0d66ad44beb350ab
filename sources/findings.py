"""The results of checks of something outside, for the operator."""

from enum import StrEnum

from msgspec import Struct


class State(StrEnum):
    """How well something passed its check."""

    GOOD = "good"
    UNSET = "not configured"
    DOUBT = "look at this"
    PROBLEM = "problem"


class Finding(Struct, frozen=True):
    """`about` is what was checked, a message that is translated when it is shown; `words` is the result, and `remedy`
    what to do, if anything."""

    about: str
    state: State
    words: str
    remedy: str = ""
