"""Where a message can be looked at on its platform, as an address to open."""

from collections.abc import Iterable

from memory.people.audience import Audience
from memory.store.ids import PlaceId

_DISCORD = "discord:"


def message_link(place: PlaceId, kind: str, heard_by: Iterable[Audience], external_id: str) -> str:
    """The address of a message; empty where there is none (the terminal), or not enough is known of the place.

    `kind` is the place's, `heard_by` its audience and those within which it lies: they name its guild.
    """
    channel = place.removeprefix(_DISCORD)
    if not (place.startswith(_DISCORD) and channel.isdecimal() and external_id.isdecimal()):
        return ""
    guilds = [audience.removeprefix(f"guild:{_DISCORD}") for audience in heard_by if audience.startswith("guild:")]
    guild = "@me" if kind in ("direct", "group") else next(iter(guilds), "")
    return f"https://discord.com/channels/{guild}/{channel}/{external_id}" if guild else ""
