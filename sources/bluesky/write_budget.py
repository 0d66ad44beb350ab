"""How much the account may still write: the server counts points, and so do we, not to be refused in a thread's middle.

A server allows 5,000 points an hour and 35,000 a day; creating a record costs 3, deleting one 1
(https://docs.bsky.app/docs/advanced-guides/rate-limits).
"""

import time
from collections import deque
from collections.abc import Callable

CREATE, DELETE = 3, 1
_HOUR, _DAY = 3_600.0, 86_400.0


class Budget:
    """The points of the last hour and the last day, of what this process wrote."""

    def __init__(self, per_hour: int, per_day: int, now: Callable[[], float] = time.monotonic) -> None:
        self._limits = ((_HOUR, per_hour), (_DAY, per_day))
        self._now = now
        self._spent: deque[tuple[float, int]] = deque()

    def wait(self, points: int) -> float:
        """Seconds until so many points may be spent; 0 when they may be now."""
        now = self._now()
        while self._spent and self._spent[0][0] <= now - _DAY:
            self._spent.popleft()
        waits = [0.0]
        for window, most in self._limits:
            recent = [(at, cost) for at, cost in self._spent if at > now - window]
            over = sum(cost for _, cost in recent) + points - most
            for at, cost in recent:
                if over <= 0:
                    break
                over -= cost
                waits.append(at + window - now)
        return max(waits)

    def spend(self, points: int) -> None:
        self._spent.append((self._now(), points))
