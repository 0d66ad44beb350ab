"""`/chat agent|group`: talking to an agent or a group by name.

Everybody in the place sees the message and the answer, as if the message had been sent without a command.
"""

from typing import Any, TypeAlias

import discord
from discord import app_commands

from bot.errors import UserError
from bot.interfaces.discord.callers import is_elsewhere
from bot.interfaces.discord.responses import Interaction, Tree, answer_now, suggests
from bot.services.agents.addressees import Addressee
from bot.services.served_constellations import ServedConstellations
from memory.queue.notifications import Kind, Notification
from memory.queue.payloads import Extras
from memory.store.clock import Clock
from sources.discord import admission_and_answer_rules, conversion
from sources.discord.block_notes import block_notes
from sources.discord.conversion import MessageContext, author_of
from sources.discord.places import NAME, bindings_of, channel_info, place_of
from sources.discord.send_failures import REFUSED
from sources.discord.settings import DiscordSettings, Mode
from sources.names import source_name
from texts import _, error_sentence, gettext_noop

Command: TypeAlias = app_commands.Command[Any, ..., None]

_TALK = {"agent": gettext_noop("Talk to an agent by name"), "group": gettext_noop("Talk to a group by name")}
_SHOWN = 1_700  # characters of the message that are repeated in the place


def install_chat(tree: Tree, served: ServedConstellations, settings: DiscordSettings) -> None:
    group = app_commands.Group(name="chat", description=gettext_noop("Talk to an agent or group by name"))
    for kind in ("agent", "group"):
        group.add_command(_chat(kind, served, settings))
    tree.add_command(group)


def _chat(kind: str, served: ServedConstellations, settings: DiscordSettings) -> Command:
    clock = served.shared.clock

    @app_commands.command(name=kind, description=_TALK[kind])
    @app_commands.describe(name=gettext_noop("Name"), text=gettext_noop("What to say"))
    async def command(
        interaction: Interaction, name: app_commands.Range[str, 1, 64], text: app_commands.Range[str, 1, 4000]
    ) -> None:
        try:
            if served.shared.accounts.is_paused(NAME):  # messages are read when the pause ends, commands are not
                raise UserError("{source} is paused.", source=source_name(NAME))
            around = await _context(interaction, settings)
            async with served.at(around.place.bindings) as services:
                talking = services.talking
                found = talking.agent(name, around.place) if kind == "agent" else talking.group(name)
                addressee = await found
        except UserError as error:
            await answer_now(interaction, error_sentence(error))
            return
        if await _repeat(interaction, addressee, text):
            talking.say(_said(interaction, text, around, clock), addressee)

    async def called(interaction: Interaction) -> list[tuple[str, str]]:
        if interaction.channel is None:
            return []
        async with served.at(bindings_of(channel_info(interaction.channel, interaction.user.id))) as services:
            agents, groups = services.talking.names, services.places.groups
            found = await agents() if kind == "agent" else [each.name for each in await groups()]
        return [(name, name) for name in dict.fromkeys(found)]

    suggests(command, "name", called)
    return command


async def _context(interaction: Interaction, settings: DiscordSettings) -> MessageContext:
    """The place of a command. Raises UserError where this person's messages are not answered."""
    if interaction.channel is None or is_elsewhere(interaction):
        raise UserError("I'm not a member here, so I can't answer.")
    author, info = author_of(interaction.user), channel_info(interaction.channel, interaction.user.id)
    shared = await interaction.client.memberships.shared(info)
    if not admission_and_answer_rules.is_admitted(author, info, settings, shares_guild=bool(shared)):
        raise UserError("You aren't allowed to talk to me here. The person who runs me can change that.")
    if not info.direct and settings.mode(info.chain or (info.id,)) is Mode.OFF:
        raise UserError("I don't read or answer anything in this channel.")
    me = interaction.client.user.id if interaction.client.user is not None else 0
    return MessageContext(me, info, place_of(info, settings, shared), settings, (author.shown,))


async def _repeat(interaction: Interaction, to: Addressee, text: str) -> bool:
    """Post the text with its addressee; False if Discord refuses."""
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …"
    words = _("**To {escape_markdown}:** {shown}", escape_markdown=discord.utils.escape_markdown(to.name), shown=shown)
    try:
        await interaction.response.send_message(words, allowed_mentions=discord.AllowedMentions.none())
    except REFUSED:
        return False
    return True


def _said(interaction: Interaction, text: str, around: MessageContext, clock: Clock) -> Notification:
    """The text as a message of the person who used the command, identified by the interaction."""
    author = author_of(interaction.user)
    return Notification(
        source=NAME,
        external_id=f"interaction/{interaction.id}",
        kind=Kind.MESSAGE,
        place=around.place,
        speaker=conversion.speaker_of(author, around.settings),
        at=clock(),
        text=text,
        extras=Extras(block_notes(author, around.info, around.participants)),
    )
