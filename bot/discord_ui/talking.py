"""`/chat agent|group` and `/groups list|show|status`: who there is to talk to, and talking to one by name.

What is said by `/chat` stands in the place for everybody there, as a message would, and is answered there.
"""

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import discord
from discord import app_commands

from bot import policy
from bot.desks.desk import Desk
from bot.desks.grouping import Grouping
from bot.desks.talking import Addressee, Talking
from bot.discord_ui.answering import Interaction, answer, answer_now, defer, suggests_names
from bot.discord_ui.asking import approver_of
from bot.errors import UserError
from bot.policy import Action, Approver, People
from memory.clock import Clock
from sources.base import Kind, Notification, Place
from sources.discord import hearing
from sources.discord.hearing import Surroundings
from sources.discord.link import REFUSED
from sources.discord.places import NAME, place_of, spot_of
from sources.discord.reading import author_of
from sources.discord.settings import DiscordSettings, Mode

Command: TypeAlias = app_commands.Command[Any, ..., None]
Find: TypeAlias = Callable[[str, Place], Awaitable[Addressee]]

_SHOWN = 1_700  # characters of what was said that are repeated in the place


def install_talking(
    tree: app_commands.CommandTree[Any], talking: Talking, desk: Desk, settings: DiscordSettings
) -> None:
    """Put `/chat` into the tree."""

    async def of_group(name: str, _place: Place) -> Addressee:
        return await talking.group(name)

    async def group_names() -> list[str]:
        return [group.name for group in await talking.steering.groups()]

    group = app_commands.Group(name="chat", description="Talk to one agent or group by name, here")
    group.add_command(_chat("agent", talking, (talking.agent, desk.agent_names), (settings, desk.clock)))
    group.add_command(_chat("group", talking, (of_group, group_names), (settings, desk.clock)))
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
        raise UserError("I am no member of this server, so I cannot answer here.")
    author, spot = author_of(interaction.user), spot_of(interaction.channel, interaction.user.id)
    shared = tuple(guild.id for guild in interaction.user.mutual_guilds) if spot.direct else ()
    if not hearing.admitted(author, spot, settings, shares_guild=bool(shared)):
        raise UserError("You were not let in here; whoever runs me can do that.")
    if not spot.direct and settings.mode(spot.chain or (spot.id,)) is Mode.OFF:
        raise UserError("In this channel I neither hear nor answer anything.")
    me = interaction.client.user.id if interaction.client.user is not None else 0
    return Surroundings(me, spot, place_of(spot, settings, shared), settings, (author.shown,))


async def _repeat(interaction: Interaction, to: Addressee, text: str) -> int | None:
    """Show in the place what is said to whom; gives the message's id, None when it could not be said."""
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …"
    words = f"**To {discord.utils.escape_markdown(to.name)}:** {shown}"
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
        speaker=hearing.speaker_of(author, around.settings),
        subject=str(shown),
        at=clock(),
        text=text,
        blocks=hearing.blocks(author, around),
    )


def install_groups(tree: app_commands.CommandTree[Any], grouping: Grouping, people: People) -> None:
    """Put `/groups` into the tree."""

    async def listed(_who: Approver) -> str:
        return "\n".join(
            f"- **{discord.utils.escape_markdown(row['group'])}** ({row['pattern']}): "
            f"{discord.utils.escape_markdown(row['members'])}"
            for row in await grouping.listing()
        )

    async def shown(who: Approver, name: str) -> str:
        policy.require(people, who, Action.STATUS)
        found = await grouping.show(name)
        return f"{found['file']}\n```toml\n{found['toml'].replace('```', '``')}```"

    async def status(who: Approver, name: str) -> str:
        policy.require(people, who, Action.STATUS)
        found = await grouping.status(name)
        members = [_member_line(each) for each in found["members"]]
        kept = [f"- {discord.utils.escape_markdown(line)}" for line in found["kept"]]
        return "\n".join([f"**{discord.utils.escape_markdown(found['group'])}**: {found['pattern']}", *members, *kept])

    group = app_commands.Group(name="groups", description="The groups in which agents answer")

    @group.command(name="list", description="Which groups there are, and who is in them")
    async def list_groups(interaction: Interaction) -> None:
        if await defer(interaction):
            await answer(interaction, listed(approver_of(interaction, "command")))

    for name, description, work in (
        ("show", "One group with all its settings", shown),
        ("status", "Who is in a group, how each stands, and what its pattern remembers", status),
    ):
        group.add_command(_of_one(name, description, work, grouping))
    tree.add_command(group)


def _member_line(member: dict[str, Any]) -> str:
    name = discord.utils.escape_markdown(member["agent"])
    return f"- {name}: {member['status']}, {member['role']}, model `{member['model']}`"


def _of_one(
    name: str, description: str, work: Callable[[Approver, str], Awaitable[str]], grouping: Grouping
) -> Command:
    @app_commands.command(name=name, description=description)
    @app_commands.describe(group="Which")
    async def command(interaction: Interaction, group: app_commands.Range[str, 1, 64]) -> None:
        if await defer(interaction):
            await answer(interaction, work(approver_of(interaction, "command"), group), file_name="group.toml")

    async def names(_interaction: Interaction) -> list[str]:
        return [str(row["group"]) for row in await grouping.listing()]

    suggests_names(command, "group", names)
    return command
