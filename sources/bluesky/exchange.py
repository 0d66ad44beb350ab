"""Whether a thread has become an exchange of two machines that do not say what they are: pure.

People pause, and say one thing in three words and the next in thirty. Two bots that answer each other alternate without
a gap, each time within seconds, with posts of like length. Slow ones keep the same pace and length for longer than
people do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import mean, pstdev

from sources.bluesky.records import Post

ROUNDS = 5
"""Answers of theirs, one after the other, from which on a pattern is looked for."""
SLOW_ROUNDS = 10
"""How many it takes if they are not quick."""
_QUICK, _STEADY = 20.0, 0.35
"""Seconds within which a machine answers; how far its pauses and lengths vary, as shares of their means."""
_LONG, _TYPED = 60, 10.0
"""Characters from which on a post takes its time to be typed, and how many a quick writer types in a second."""
_SHORT = 20
"""Shorter ones, such as "yes" and "no", are alike whoever writes them."""


@dataclass(frozen=True)
class _Round:
    """A post of theirs, and after how many seconds it answered ours."""

    wait: float
    text: str


def machine(post: Post, parents: Sequence[Post], us: str) -> bool:
    """Whether the author of a post that answers us goes on like a machine; `parents` lead to it, oldest first."""
    rounds = _rounds([*parents, post], post.author.did, us)
    if len(rounds) < ROUNDS:
        return False
    last = rounds[-ROUNDS:]
    if max(each.wait for each in last) > _QUICK:
        return len(rounds) >= SLOW_ROUNDS and _is_steady(rounds[-SLOW_ROUNDS:])
    typed = any(len(each.text) < _LONG or each.wait > len(each.text) / _TYPED for each in last)
    return not typed or _is_steady(last) or len({each.text for each in last}) == 1


def _is_steady(rounds: Sequence[_Round]) -> bool:
    """Whether pace and length stay alike."""
    lengths = [len(each.text) for each in rounds]
    return mean(lengths) >= _SHORT and _even([each.wait for each in rounds]) and _even(lengths)


def _rounds(thread: Sequence[Post], them: str, us: str) -> list[_Round]:
    """Their answers to ours at the end of a thread, as long as only the two of them speak by turns."""
    found: list[_Round] = []
    for earlier, later in zip(reversed(thread[:-1]), reversed(thread[1:]), strict=True):
        if {earlier.author.did, later.author.did} != {them, us}:
            break
        if later.author.did == them:
            found.append(_Round(_seconds(earlier.at, later.at), later.text))
    return list(reversed(found))


def _seconds(begin: datetime, end: datetime) -> float:
    return max((end - begin).total_seconds(), 0.0)


def _even(values: Sequence[float]) -> bool:
    return pstdev(values) <= _STEADY * max(mean(values), 1.0)
