"""Points at which tests kill the process: before and after every commit and every external call.

Every write and external call requires a `Point`, so the list of points is complete by construction. Tests arm one and
the process dies there as by SIGKILL; an unarmed point costs one comparison.
"""

import asyncio
import os
import signal
from collections.abc import Awaitable
from enum import StrEnum
from typing import TypeVar

from msgspec import Struct

T = TypeVar("T")


class Kind(StrEnum):
    COMMIT = "commit"
    CALL = "call"


class Point(Struct, frozen=True):
    """A place in the program where the process may die; `name` is unique."""

    name: str
    kind: Kind


class Faults:
    """The registry of points, and the armed one."""

    def __init__(self) -> None:
        self._points: dict[str, Point] = {}
        self._armed = ""
        self._countdown = 0

    def point(self, name: str, kind: Kind) -> Point:
        if name in self._points:
            raise ValueError(f"fault point {name!r} is defined twice")
        self._points[name] = Point(name, kind)
        return self._points[name]

    def all(self) -> tuple[Point, ...]:
        return tuple(self._points.values())

    def arm(self, spec: str) -> None:
        """Die at `spec`: "name:before" or "name:after", optionally "name:before:3" for the third time.

        The point need not exist yet: a front end defines its points when it is loaded.
        """
        name, _, rest = spec.partition(":")
        side, _, nth = rest.partition(":")
        if not name or side not in ("before", "after"):
            raise ValueError(f"{spec!r} names no fault: it is a point, ':' and 'before' or 'after'")
        self._armed, self._countdown = f"{name}:{side}", int(nth or 1)

    def reach(self, side: str, *points: Point) -> None:
        for point in points if self._armed else ():
            if self._armed == f"{point.name}:{side}":
                self._countdown -= 1
                if self._countdown == 0:
                    os.kill(os.getpid(), signal.SIGKILL)


faults = Faults()


def commit_point(name: str) -> Point:
    """Declare a write; pass it to `Database.write`."""
    return faults.point(name, Kind.COMMIT)


def call_point(name: str) -> Point:
    """Declare an external call; pass it to `outside`."""
    return faults.point(name, Kind.CALL)


async def outside(point: Point, call: Awaitable[T], seconds: float) -> T:
    """Await an external call for at most `seconds`; raises TimeoutError after that."""
    faults.reach("before", point)
    async with asyncio.timeout(seconds):
        result = await call
    faults.reach("after", point)
    return result
