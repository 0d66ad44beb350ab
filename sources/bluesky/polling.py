"""When to look again: more often while people talk to us, later when the server asks to wait."""

import time
from collections.abc import Mapping

_BUSY_SECONDS = 120.0
"""How long after something was heard it is looked for more often."""
_BUSY_SHARE = 5
_LEAST = 1.0
_FEW_LEFT = 0.1
"""Of the requests that the server allows, when it is looked seldom."""
_FIRST_WAIT, _LONGEST_WAIT = 1.0, 60.0


class Pace:
    """Says how many seconds to wait before the next look."""

    def __init__(self, usual: float) -> None:
        self._usual = usual
        self._heard = -_BUSY_SECONDS
        self._failures = 0

    def heard(self, now: float) -> None:
        """Something was addressed to us."""
        self._heard = now

    def failed(self, asked: float | None = None) -> float:
        """The look failed: the wait before the next one, or what the server asks for."""
        self._failures += 1
        grown = min(_FIRST_WAIT * 2.0 ** min(self._failures - 1, 10), _LONGEST_WAIT)
        return max(asked, 1.0) if asked is not None else min(grown, max(self._usual, _FIRST_WAIT) * 4)

    def next(self, now: float, headers: Mapping[str, str], clock: float | None = None) -> float:
        """The wait after a look that succeeded; `clock` is the time in seconds since 1970."""
        self._failures = 0
        least = min(_LEAST, self._usual)
        busy = now - self._heard < _BUSY_SECONDS
        wait = max(self._usual / _BUSY_SHARE, least) if busy else self._usual
        return max(wait, _until_reset(headers, time.time() if clock is None else clock))


def _until_reset(headers: Mapping[str, str], clock: float) -> float:
    """Seconds until the server's count begins anew, when little of it is left; else 0."""
    try:
        limit, left = int(headers.get("ratelimit-limit", "")), int(headers.get("ratelimit-remaining", ""))
        reset = float(headers.get("ratelimit-reset", ""))
    except ValueError:
        return 0.0
    return min(max(reset - clock, 0.0), 300.0) if left < limit * _FEW_LEFT else 0.0
