"""Names of things on Bluesky: places, people, messages, and the keys of records that we make."""

import re
from datetime import UTC, datetime

from memory.store.ids import OutboxId, PersonId, PlaceId, snowflake_time

NAME = "bluesky"
POSTS = "app.bsky.feed.post"

_SIGNS = "234567abcdefghijklmnopqrstuvwxyz"
"""Base 32 whose order is that of the numbers: https://atproto.com/specs/tid."""
_URI = re.compile(
    r"at://(?P<did>did:[a-z]+:[A-Za-z0-9._:%-]+)/(?P<collection>[A-Za-z0-9.-]+)/(?P<key>[A-Za-z0-9._:~-]+)"
)


def person_id(did: str) -> PersonId:
    return PersonId(f"{NAME}:{did}")


def thread_place(root: str) -> PlaceId:
    return PlaceId(f"{NAME}:{root}")


def direct_place(did: str) -> PlaceId:
    return PlaceId(f"{NAME}:user:{did}")


def user_of(place: PlaceId) -> str:
    """With whom one talks alone in a place; empty for others."""
    source, _, user = place.partition(":user:")
    return user if source == NAME else ""


def root_of(place: PlaceId) -> str:
    """The first post of a thread's place; empty for other places."""
    _, _, root = place.partition(":")
    return root if root.startswith("at://") else ""


def message_id(uri: str, cid: str) -> str:
    """A post as a message: which record it is, and which content of it."""
    return f"{uri}#{cid}"


def uri_and_cid(message: str) -> tuple[str, str]:
    """Back from `message_id`; two empty texts for what is none."""
    uri, _, cid = message.partition("#")
    return (uri, cid) if cid and _URI.fullmatch(uri) else ("", "")


def author_of(uri: str) -> str:
    """The DID whose record it is; empty for what is no such URI."""
    found = _URI.fullmatch(uri)
    return found["did"] if found else ""


def record_key(row: OutboxId) -> str:
    """The key of the record that an outbox row becomes: always the same, so that trying again cannot post twice.

    It is a TID: 53 bits of microseconds since 1970 and 10 bits of a clock's number. The snowflake's 12 bits of sequence
    go half into the microseconds of its millisecond, half into the clock's number, the process into what is left there.
    """
    low = row & 0x3FFFFF
    sequence, process = low & 0xFFF, low >> 12
    milliseconds = int(snowflake_time(row).timestamp() * 1000 + 0.5)
    number = (milliseconds * 1000 + (sequence >> 3)) << 10 | (sequence & 7) << 7 | process & 0x7F
    return tid(number)


def tid(number: int) -> str:
    """A number of at most 63 bits as a TID."""
    signs = []
    for _ in range(13):
        number, sign = divmod(number, 32)
        signs.append(_SIGNS[sign])
    return "".join(reversed(signs))


def moment(text: str) -> datetime:
    """A time as records have it; records of others may have anything there, which counts as long ago."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return datetime(1970, 1, 1, tzinfo=UTC)
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
