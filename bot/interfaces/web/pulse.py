"""What changed since a moment ago, read once for all who have a page open."""

import asyncio
import time
from dataclasses import dataclass, field

from memory.queue import metrics
from memory.store.database import Database


@dataclass
class Pulse:
    """Marks of what pages show, by topic; read at most every two seconds, however many ask."""

    database: Database
    seconds: float = 2.0
    _marks: dict[str, str] = field(default_factory=dict)
    _read_at: float = float("-inf")
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def current(self) -> dict[str, str]:
        """By topic, with how many requests wait under "waiting"."""
        async with self._lock:
            if time.monotonic() - self._read_at >= self.seconds / 2:
                self._marks = await self.database.read(metrics.marks)
                self._read_at = time.monotonic()
            return dict(self._marks)
