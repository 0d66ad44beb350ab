"""Typed ids and the snowflakes behind them.

A snowflake is a positive 63-bit integer: 41 bits of milliseconds since 2025-01-01 UTC, 10 bits that are 0 (one service
at a time writes to a data folder), 12 bits of sequence. It sorts by time, is unique even when the clock stands still or
goes back, and serves as the position of a message.
"""

import functools
import hashlib
import threading
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NewType

ConstellationId = NewType("ConstellationId", str)
AgentId = NewType("AgentId", str)
GroupId = NewType("GroupId", str)
BlockId = NewType("BlockId", str)
EntryId = NewType("EntryId", str)
FolderId = NewType("FolderId", str)
FileId = NewType("FileId", str)

# External ids carry their source, so that two sources never clash: "discord:1234".
PersonId = NewType("PersonId", str)
PlaceId = NewType("PlaceId", str)
GuildId = NewType("GuildId", str)

MessageId = NewType("MessageId", int)
TurnId = NewType("TurnId", int)
InboxId = NewType("InboxId", int)
OutboxId = NewType("OutboxId", int)
RequestId = NewType("RequestId", int)
GrantId = NewType("GrantId", int)
ErasureId = NewType("ErasureId", int)
TaskId = NewType("TaskId", int)
ReminderId = NewType("ReminderId", int)
EventId = NewType("EventId", int)
FactId = NewType("FactId", int)
SessionId = NewType("SessionId", int)

_EPOCH_MS = int(datetime(2025, 1, 1, tzinfo=UTC).timestamp() * 1000)
_SEQUENCE_BITS, _SHIFT = 12, 22
_FARTHEST = 2**62


class Snowflakes:
    """A generator of snowflakes; never returns one twice, nor an older one after a newer one."""

    def __init__(self) -> None:
        self._last_ms = 0
        self._sequence = 0
        self._lock = threading.Lock()

    def next(self) -> int:
        with self._lock:
            now, part = divmod(time.time_ns() - _EPOCH_MS * 1_000_000, 1_000_000)
            if now > self._last_ms:
                self._last_ms, self._sequence = now, part >> _SEQUENCE_BITS  # else a million ids have 15,625 ends
            else:
                self._sequence += 1
                if self._sequence >= 1 << _SEQUENCE_BITS:
                    self._last_ms, self._sequence = self._last_ms + 1, 0
            return self._last_ms << _SHIFT | self._sequence

    def follow(self, newest: int) -> None:
        """Return only newer ones than this, of an earlier process: the clock may have been set back since.

        Not if it is of 2059 or later, as only a forged import says: few newer ones would be left, or none.
        """
        if newest > _FARTHEST:
            return
        with self._lock:
            last = newest >> _SHIFT, newest & (1 << _SHIFT) - 1
            self._last_ms, self._sequence = max((self._last_ms, self._sequence), last)


def snowflake_time(snowflake: int) -> datetime:
    """When a snowflake was made, to the millisecond, in UTC."""
    return datetime.fromtimestamp(((snowflake >> _SHIFT) + _EPOCH_MS) / 1000, tz=UTC)


snowflakes = Snowflakes()

LARGEST = 2**63 - 1  # SQLite's largest integer
SHORTEST, _CODE = 4, 6  # digits of a row's number that people may type, and that are shown


def code(identifier: int | str, among: Iterable[int | str] = ()) -> str:
    """The last digits of an id, by which people name a row: as many as make it unique in `among`."""
    digits, others = str(identifier), [str(each) for each in among if str(each) != str(identifier)]
    ends = (digits[-length:] for length in range(_CODE, len(digits)))
    return next((end for end in ends if not any(each.endswith(end) for each in others)), digits)


def new_id(prefix: str) -> str:
    """A new sortable text id such as "blk_4f2k0m3x9q": prefix, then the snowflake in base 32."""
    digits = "0123456789abcdefghjkmnpqrstvwxyz"
    number, text = snowflakes.next(), ""
    while number:
        number, digit = divmod(number, 32)
        text = digits[digit] + text
    return f"{prefix}_{text}"


@functools.lru_cache(maxsize=1_000)  # asked a dozen times in a turn
def place_source(place: PlaceId | PersonId) -> str:
    """The source of an external id."""
    return place.partition(":")[0]


def place_person(place: PlaceId) -> PersonId | None:
    """The person whose direct messages a place such as "discord:user:1" is."""
    source, _, rest = place.partition(":")
    return PersonId(f"{source}:{rest.removeprefix('user:')}") if rest.startswith("user:") else None


def text_mark(text: str, size: int = 6) -> str:
    """A digest of twice `size` hexadecimal digits; different texts have different digests, except by chance."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()
