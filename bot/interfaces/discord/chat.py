"""`/chat agent|group`: talking to one by name.

What is said by `/chat` stands in the place for everybody there, as a message would, and is answered there.
"""

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import discord
from discord import app_commands

from bot.errors import UserError
from bot.interfaces.discord.responses import Interaction, answer_now, suggests_names
from bot.services.chat import Addressee, Talking
from bot.services.front_ends import FrontEnds
from memory.store.clock import Clock
from sources.base import Kind, Notification, Place
from sources.discord import notifications
from sources.discord.notifications import Surroundings
from sources.discord.payloads import author_of
from sources.discord.places import NAME, place_of, spot_of
from sources.discord.settings import DiscordSettings, Mode
from sources.discord.shared_state import REFUSED
from texts import _

Command: TypeAlias = app_commands.Command[Any, ..., None]
Find: TypeAlias = Callable[[str, Place], Awaitable[Addressee]]

_SHOWN = 1_700  # characters of what was said that are repeated in the place


def install_talking(
    tree: app_commands.CommandTree[Any], talking: Talking, front_ends: FrontEnds, settings: DiscordSettings
) -> None:
    """Put `/chat` into the tree."""

    async def of_group(name: str, _place: Place) -> Addressee:
        return await talking.group(name)

    async def group_names() -> list[str]:
        return [group.name for group in await talking.places.groups()]

    group = app_commands.Group(name="chat", description="Talk to one agent or group by name, here")
    group.add_command(_chat("agent", talking, (talking.agent, front_ends.agent_names), (settings, front_ends.clock)))
    group.add_command(_chat("group", talking, (of_group, group_names), (settings, front_ends.clock)))
    tree.add_command(group)


def _chat(
    kind: str,
    talking: Talking,
    whom: tuple[Find, Callable[[], Awaitable[list[str]]]],
    around: tuple[DiscordSettings, Clock],
) -> Command:
    find, names = whom

    @app_commands.command(name=kind, description=f"Talk to one {kind} by name, here")
    @app_commands.describe(name="Which", text="What you say")
    async def command(
        interaction: Interaction, name: app_commands.Range[str, 1, 64], text: app_commands.Range[str, 1, 4000]
    ) -> None:
        try:
            surroundings = _surroundings(interaction, around[0])
            addressee = await find(name, surroundings.place)
        except UserError as error:
            await answer_now(interaction, str(error))
            return
        if (shown := await _repeat(interaction, addressee, text)) is not None:
            talking.say(_said(interaction, shown, text, surroundings, around[1]), addressee)

    async def called(_interaction: Interaction) -> list[str]:
        return await names()

    suggests_names(command, "name", called)
    return command


def _surroundings(interaction: Interaction, settings: DiscordSettings) -> Surroundings:
    """The place of a command, where its giver may talk. Raises UserError where nothing that is said is answered."""
    if interaction.channel is None or (interaction.guild_id is not None and interaction.guild is None):
        raise UserError(_("I am not a member of this server, so I cannot answer here."))
    author, spot = author_of(interaction.user), spot_of(interaction.channel, interaction.user.id)
    shared = tuple(guild.id for guild in interaction.user.mutual_guilds) if spot.direct else ()
    if not notifications.admitted(author, spot, settings, shares_guild=bool(shared)):
        raise UserError(_("You are not allowed to talk to me here. The person who runs me can change that."))
    if not spot.direct and settings.mode(spot.chain or (spot.id,)) is Mode.OFF:
        raise UserError(_("I do not read or answer anything in this channel."))
    me = interaction.client.user.id if interaction.client.user is not None else 0
    return Surroundings(me, spot, place_of(spot, settings, shared), settings, (author.shown,))


async def _repeat(interaction: Interaction, to: Addressee, text: str) -> int | None:
    """Show in the place what is said to whom; gives the message's id, None when it could not be said."""
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …"
    words = _("**To {escape_markdown}:** {shown}", escape_markdown=discord.utils.escape_markdown(to.name), shown=shown)
    try:
        done = await interaction.response.send_message(words, allowed_mentions=discord.AllowedMentions.none())
    except REFUSED:
        return None
    return done.message_id


def _said(interaction: Interaction, shown: int, text: str, around: Surroundings, clock: Clock) -> Notification:
    """What was said, as a message of who gave the command. The same interaction is the same message."""
    author = author_of(interaction.user)
    return Notification(
        source=NAME,
        external_id=f"interaction/{interaction.id}",
        kind=Kind.MESSAGE,
        place=around.place,
        speaker=notifications.speaker_of(author, around.settings),
        subject=str(shown),
        at=clock(),
        text=text,
        blocks=notifications.blocks(author, around),
    )
