"""Notes for the blocks that a message brings: of its channel or thread, and of who wrote it."""

from collections.abc import Iterable

from memory.queue.payloads import BlockNote
from memory.store.ids import PersonId
from sources.base import PlaceKind
from sources.discord.admission_and_answer_rules import Author
from sources.discord.markup import BLOCKS_ARE_FOR
from sources.discord.places import ChannelInfo, person_id
from sources.names import flatten

MOST_ROLES = 20
"""Roles of a person that are named; the others are counted."""


def role_names(author: Author) -> tuple[str, ...]:
    return tuple(name for name in (flatten(role) for role in list(author.roles.values())[:MOST_ROLES]) if name)


def _more(author: Author) -> str:
    left = len(author.roles) - MOST_ROLES
    return f" and {left} more" if left > 0 else ""


def block_notes(author: Author, info: ChannelInfo, participants: Iterable[str]) -> tuple[BlockNote, ...]:
    """Of the place and of the person, by id, so that they survive a rename."""
    thread = info.kind is PlaceKind.THREAD
    lines = [
        ("Thread" if thread else "Channel", info.name),
        ("Server", info.guild_name),
        ("Topic", info.topic),
        ("Recently here", ", ".join(participants)),
    ]
    user = [
        ("Name here", author.shown),
        ("Username", flatten(author.username)),
        ("Roles here", ", ".join(role_names(author)) + _more(author)),
        ("Member since", author.joined.date().isoformat() if author.joined else ""),
    ]
    about: PersonId = person_id(author.id)
    return (
        BlockNote(
            label=f"discord_{'thread' if thread else 'channel'}:{info.id}",
            description=BLOCKS_ARE_FOR[1 if thread else 0],
            profile=_profile(lines),
        ),
        BlockNote(
            label=f"discord_user:{author.id}", description=BLOCKS_ARE_FOR[2], profile=_profile(user), about=about
        ),
    )


def _profile(lines: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"{what}: {value}" for what, value in lines if value)
