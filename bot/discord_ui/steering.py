"""`/mode channel`, `/route` and `/source`: how a place is heard, who answers there, and pausing all of it."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Literal, TypeAlias

import discord
from discord import app_commands

from bot.cards import named
from bot.desks.steering import Origin, Steering
from bot.discord_ui.answering import Interaction, answer, defer, suggests_names
from bot.discord_ui.asking import approver_of
from bot.errors import UserError
from bot.policy import Approver
from memory.ids import PersonId, place_source
from sources.discord.places import NAME, Spot, bindings_of, spot_of
from sources.discord.settings import DiscordSettings, Mode

Command: TypeAlias = app_commands.Command[Any, ..., None]
Reach: TypeAlias = Literal["channel", "category", "server"]
Channel: TypeAlias = discord.abc.GuildChannel | discord.Thread

_CONFIGURED = "configured"
_SAYS = {
    Mode.OPEN: "everything is answered",
    Mode.MENTION: "only what is addressed to me is heard and answered",
    Mode.LISTEN: "everything is heard, only what is addressed to me is answered",
    Mode.OFF: "nothing is heard",
}


class _Channels(app_commands.Transformer):
    """Where anybody can talk. Media channels are not among what Discord's own description lets an option name."""

    @property
    def type(self) -> discord.AppCommandOptionType:
        return discord.AppCommandOptionType.channel

    @property
    def channel_types(self) -> list[discord.ChannelType]:
        kinds = discord.ChannelType
        return [
            kinds.text,
            kinds.news,
            kinds.voice,
            kinds.forum,
            kinds.public_thread,
            kinds.private_thread,
            kinds.news_thread,
        ]

    async def transform(self, _interaction: Interaction, value: Any, /) -> Channel:
        found = value.resolve()
        if found is None:
            raise app_commands.TransformerError(value, self.type, self)
        channel: Channel = found
        return channel


Place: TypeAlias = app_commands.Transform[Channel, _Channels]


def install_steering(tree: app_commands.CommandTree[Any], steering: Steering, settings: DiscordSettings) -> None:
    """Put the commands into the tree."""
    mode = app_commands.Group(name="mode", description="How much of a channel I hear and answer")
    mode.add_command(_mode(steering, settings))
    tree.add_command(mode)
    tree.add_command(_route(steering))
    source = app_commands.Group(name="source", description="Where I listen at all")
    source.add_command(_sources(steering))
    source.add_command(_switch("pause", "Hear and answer nothing of a source until it is resumed", steering.pause))
    source.add_command(_switch("resume", "Hear and answer a source again", steering.resume_source))
    tree.add_command(source)


def _mode(steering: Steering, settings: DiscordSettings) -> Command:
    @app_commands.command(name="channel", description="How much of a channel I hear and answer: see it, or set it")
    @app_commands.describe(
        mode="What to set; without it I say what holds", channel="Which; without it this one", reach="How far it holds"
    )
    async def command(
        interaction: Interaction,
        mode: Literal["open", "mention", "listen", "off", "configured"] | None = None,
        channel: Place | None = None,
        reach: Reach = "channel",
    ) -> None:
        if await defer(interaction):
            spot = spot_of(channel or interaction.channel)
            await answer(interaction, _moded(steering, settings, (spot, reach), mode, _who(interaction)))

    return command


async def _moded(
    steering: Steering, settings: DiscordSettings, where: tuple[Spot, Reach], mode: str | None, who: Approver
) -> str:
    spot, reach = where
    done = ""
    if spot.direct:
        raise UserError("Direct messages are always answered; who may write there is `/people`.")
    if mode is not None:
        subject = f"{NAME}:{_level(spot, reach)}"
        done = f"{await steering.mode(subject, None if mode == _CONFIGURED else mode, who)} "
    configured = {f"{NAME}:{one}": str(each) for one, each in settings.modes.items()}
    chain = tuple(f"{NAME}:{one}" for one in spot.chain)
    found = steering.origin("mode", chain, configured, str(settings.default_mode))
    return f"{done}Here it is **{found.value}**: {_SAYS[Mode(found.value)]} ({_origin(steering, found, spot)})."


def _origin(steering: Steering, found: Origin, spot: Spot) -> str:
    """Who decided it and for which level, as Discord shows persons and channels."""
    person = _called(steering, found.setting.by) if found.setting is not None else ""
    level = found.at.rpartition(":")[2]
    if level == str(spot.guild):
        return found.words(person, "this server")
    return found.words(person, f"<#{level}>" if level.isdecimal() else found.at)


def _level(spot: Spot, reach: Reach) -> int:
    """The id of the channel, of what is around it, or of its server. Raises UserError."""
    if reach == "server" and spot.guild is not None:
        return spot.guild
    if reach == "channel":
        return spot.id
    around = [one for one in spot.chain if one not in (spot.id, spot.parent, spot.guild)]
    if not around:
        raise UserError(f"This channel is in no {reach}.")
    return around[-1]


def _route(steering: Steering) -> Command:
    @app_commands.command(name="route", description="Which group of agents answers in a channel: see it, or set it")
    @app_commands.describe(
        group="Who is to answer; without it I say who does", channel="Which; without it this one", reach="How far"
    )
    async def command(
        interaction: Interaction,
        group: app_commands.Range[str, 1, 64] | None = None,
        channel: Place | None = None,
        reach: Literal["channel", "server"] = "channel",
    ) -> None:
        if await defer(interaction):
            spot = spot_of(channel or interaction.channel, interaction.user.id)
            await answer(interaction, _routed(steering, (spot, reach), group, _who(interaction)))

    async def groups(_interaction: Interaction) -> list[str]:
        return [*(each.name for each in await steering.groups()), _CONFIGURED]

    suggests_names(command, "group", groups)
    return command


async def _routed(steering: Steering, where: tuple[Spot, Reach], group: str | None, who: Approver) -> str:
    spot, reach = where
    bindings, done = bindings_of(spot), ""
    if group is not None:
        level = bindings[-1] if reach == "server" else bindings[0]
        done = f"{await steering.route(level, None if group == _CONFIGURED else group, who)} "
    found = steering.group_origin(bindings)
    name = next((each.name for each in await steering.groups() if each.id == found.value), found.value)
    return f"{done}**{discord.utils.escape_markdown(name)}** answers here ({_origin(steering, found, spot)})."


def _sources(steering: Steering) -> Command:
    async def words(_who: Approver) -> str:
        called = partial(_called, steering)
        lines = [f"- {each}: {steering.state(each, called) or 'heard and answered'}" for each in steering.sources]
        return "\n".join([*lines, "- terminal: heard and answered"])

    @app_commands.command(name="list", description="Where I listen, and what is paused")
    async def command(interaction: Interaction) -> None:
        if await defer(interaction):
            await answer(interaction, words(_who(interaction)))

    return command


def _called(steering: Steering, person: PersonId) -> str:
    """Who decided it, as Discord shows them, where it knows them."""
    return named(person, NAME) if place_source(person) == NAME else steering.called(person)


def _switch(name: str, description: str, work: Callable[[str, Approver], Awaitable[str]]) -> Command:
    @app_commands.command(name=name, description=description)
    @app_commands.describe(source="Which")
    async def command(interaction: Interaction, source: Literal["discord"]) -> None:
        if await defer(interaction):
            await answer(interaction, work(source, _who(interaction)))

    return command


def _who(interaction: Interaction) -> Approver:
    return approver_of(interaction, "command")
