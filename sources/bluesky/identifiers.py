"""Identifiers on Bluesky: places, people, messages, and the keys of our records."""

import re
from datetime import UTC, datetime

from memory.store.ids import OutboxId, PersonId, PlaceId, snowflake_time

NAME = "bluesky"
POSTS = "app.bsky.feed.post"

_SIGNS = "234567abcdefghijklmnopqrstuvwxyz"
"""Base 32 in numeric order: https://atproto.com/specs/tid."""
DID = r"did:[a-z]+:[A-Za-z0-9._:%-]{1,200}"
_URI = re.compile(rf"at://(?P<did>{DID})/(?P<collection>[A-Za-z0-9.-]+)/(?P<key>[A-Za-z0-9._:~-]+)")
LONG_AGO = "1970-01-01T00:00:00.000Z"


def person_id(did: str) -> PersonId:
    return PersonId(f"{NAME}:{did}")


def thread_place(root: str) -> PlaceId:
    return PlaceId(f"{NAME}:{root}")


def direct_place(did: str) -> PlaceId:
    return PlaceId(f"{NAME}:user:{did}")


def user_of(place: PlaceId) -> str:
    """The other person in a place for two; empty for other places."""
    source, _, user = place.partition(":user:")
    return user if source == NAME else ""


def root_of(place: PlaceId) -> str:
    """The first post of a thread's place; empty for other places."""
    _, _, root = place.partition(":")
    return root if root.startswith("at://") else ""


def message_id(uri: str, cid: str) -> str:
    """A post as a message id: the record, and the version of its content."""
    return f"{uri}#{cid}"


def uri_and_cid(message: str) -> tuple[str, str]:
    """The inverse of `message_id`; two empty texts for any other id."""
    uri, _, cid = message.partition("#")
    return (uri, cid) if cid and _URI.fullmatch(uri) else ("", "")


def author_of(uri: str) -> str:
    """The DID of the record's owner; empty for an invalid URI."""
    found = _URI.fullmatch(uri)
    return found["did"] if found else ""


def record_key(row: OutboxId) -> str:
    """The key of an outbox row's record: always the same, so that a retry cannot post twice.

    It is a TID: 53 bits of microseconds since 1970 and 10 bits of a clock id. Of the snowflake's 12 bits of sequence,
    half go into the microseconds of its millisecond and half into the clock id; the process fills the remaining bits.
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
    """Parse a record's time; an invalid one counts as long ago, since other people's records may contain anything."""
    try:
        found = datetime.fromisoformat(text)
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError):  # the last hours of the year 9999 are later elsewhere
        return datetime(1970, 1, 1, tzinfo=UTC)
