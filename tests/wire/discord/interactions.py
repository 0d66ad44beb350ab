"""Interactions: what a person set off, what the bot answered, and the rules between."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field
from typing import Any

from tests.wire.discord import payloads, permissions, posting
from tests.wire.discord.calls import Request
from tests.wire.discord.channels import Channel
from tests.wire.discord.drafts import changed_draft, new_draft
from tests.wire.discord.errors import refuse
from tests.wire.discord.messages import (
    COMMAND_ANSWER,
    DEFAULT,
    EPHEMERAL,
    LOADING,
    MENU_ANSWER,
    REPLY,
    Draft,
    Json,
    Message,
    parts,
)
from tests.wire.discord.people import User
from tests.wire.discord.world import World

COMMAND, COMPONENT, AUTOCOMPLETE, MODAL = 2, 3, 4, 5


@dataclass(frozen=True)
class Choice:
    name: str
    value: Any


@dataclass(frozen=True)
class Modal:
    """A form the bot opened for a person."""

    custom_id: str
    title: str
    components: list[Json]
    source: Message | None
    place: Channel

    @property
    def inputs(self) -> dict[str, Json]:
        """The fields by custom_id."""
        return {part["custom_id"]: part for part in parts(self.components) if "custom_id" in part}

    def label_of(self, custom_id: str) -> str | None:
        for part in parts(self.components):
            if part.get("custom_id") == custom_id and part.get("label"):
                return str(part["label"])
            if part["type"] == 18 and part["component"].get("custom_id") == custom_id:
                return str(part["label"])
        return None


@dataclass(eq=False)
class Answered:
    """What came back to a person: a message (ephemeral or not), a form, suggestions, or nothing."""

    kind: int | None = None
    """The callback type; None while (or when) the bot said nothing."""
    message: Message | None = None
    followups: list[Message] = field(default_factory=list)
    modal: Modal | None = None
    choices: list[Choice] | None = None
    failed: bool = False

    @property
    def text(self) -> str:
        return self.message.text if self.message else ""

    @property
    def ephemeral(self) -> bool:
        return self.message is not None and self.message.ephemeral

    @property
    def shown(self) -> Message:
        """The message, which nobody else sees."""
        assert self.message is not None
        assert self.message.ephemeral
        return self.message

    @property
    def deferred(self) -> bool:
        return self.kind in (5, 6)

    @property
    def settled(self) -> bool:
        """Whether the person sees an end: no more "is thinking"."""
        if self.kind is None:
            return self.failed
        return self.message is None or not self.message.loading or self.message.deleted


@dataclass(eq=False)
class Interaction:
    """One interaction from its event to the end of its token."""

    id: int
    kind: int
    user: User
    channel: Channel
    data: Json
    source: Message | None = None
    token: str = field(default_factory=lambda: secrets.token_urlsafe(60))
    born: float = field(default_factory=time.monotonic)
    answered: Answered = field(default_factory=Answered)

    @property
    def age(self) -> float:
        return time.monotonic() - self.born


def start(
    world: World, kind: int, user: User, channel: Channel, data: Json, source: Message | None = None
) -> Interaction:
    """Tell the bot that a person did something."""
    interaction = Interaction(next(world.ids), kind, user, channel, data, source)
    world.interactions[interaction.token] = interaction
    place = channel.guild if channel.guild and channel.guild.has_bot else None
    world.emit("INTERACTION_CREATE", _event(world, interaction), place)
    return interaction


def _owners(interaction: Interaction) -> dict[str, str]:
    """For whom the application is installed: the guild, the person, or the direct channel."""
    guild = interaction.channel.guild
    owners = {"1": str(interaction.user.id)} if interaction.user.installed else {}
    if has_bot(interaction.channel):
        owners["0"] = str(guild.id) if guild else "0"
    return owners


def _event(world: World, interaction: Interaction) -> Json:
    channel, user, guild = interaction.channel, interaction.user, interaction.channel.guild
    event: Json = {
        "id": str(interaction.id),
        "application_id": str(world.application_id),
        "type": interaction.kind,
        "token": interaction.token,
        "version": 1,
        "attachment_size_limit": 10485760,
        "data": interaction.data,
        "channel": channel.payload(),
        "channel_id": str(channel.id),
        "app_permissions": str(channel.permissions_of(world.bot)),
        "locale": world.settings.locale,
        "entitlements": [],
        "authorizing_integration_owners": _owners(interaction),
        "context": context_of(channel),
    }
    if guild is None:
        event["user"] = payloads.user(user)
    else:
        held = str(channel.permissions_of(user))
        event["member"] = payloads.member(guild.member(user)) | {"permissions": held}
        event |= {"guild_id": str(guild.id), "guild_locale": "en-US"}
        event["guild"] = {"id": str(guild.id), "locale": "en-US", "features": []}
    if interaction.source is not None:
        event["message"] = payloads.message(interaction.source, world.bot)
    return event


def respond(world: World, interaction: Interaction, request: Request) -> Json:
    """The bot's first answer, within the time for it and only once."""
    if interaction.answered.kind is not None:
        raise refuse(40060)
    if interaction.age > world.settings.answer_seconds:
        raise refuse(10062)
    body = request.body
    kind: int = body["type"]
    data: Json = body.get("data") or {}
    answered = interaction.answered
    resource: Json = {"type": kind}
    match kind:
        case 4:
            draft = new_draft(world, interaction.channel, data, request)
            posting.check_content(draft)
            answered.message = _post(world, interaction, draft)
        case 5:
            draft = Draft(flags=(data.get("flags") or 0) & EPHEMERAL | LOADING)
            answered.message = _post(world, interaction, draft)
        case 6 | 7:
            answered.message = _update(world, interaction, kind, data, request)
        case 8:
            answered.choices = [Choice(choice["name"], choice["value"]) for choice in data["choices"]]
        case 9:
            place, source = interaction.channel, interaction.source
            answered.modal = Modal(data["custom_id"], data["title"], data["components"], source, place)
    answered.kind = kind
    world.changes.notify()
    return _callback(world, interaction, resource)


def _update(world: World, interaction: Interaction, kind: int, data: Json, request: Request) -> Message:
    """Types 6 and 7 concern the message that carried the component."""
    if interaction.source is None:
        raise refuse(50024)
    if kind == 7:
        posting.edit(world, interaction.source, changed_draft(world, interaction.source, data, request))
    return interaction.source


def _callback(world: World, interaction: Interaction, resource: Json) -> Json:
    message = interaction.answered.message
    about: Json = {"id": str(interaction.id), "type": interaction.kind}
    if message is not None:
        about["response_message_id"] = str(message.id)
        about["response_message_loading"] = message.loading
        about["response_message_ephemeral"] = message.ephemeral
    if message is not None and resource["type"] in (4, 7):
        resource["message"] = payloads.message(message, world.bot)
        return {"interaction": about, "resource": resource}
    return {"interaction": about}


def _post(world: World, interaction: Interaction, draft: Draft) -> Message:
    """An answer in the channel, or one that only the person sees."""
    menu = interaction.data.get("type") in (2, 3)
    draft.kind = {COMMAND: MENU_ANSWER if menu else COMMAND_ANSWER, COMPONENT: REPLY}.get(interaction.kind, DEFAULT)
    if interaction.kind == COMPONENT:
        draft.reply_to = interaction.source
    message = posting.compose(world, interaction.channel, world.bot, draft, from_bot=True)
    message.interaction = _metadata(world, interaction)
    if draft.flags & EPHEMERAL:
        message.only_for = interaction.user
        world.changes.notify()
        return message
    return posting.publish(world, message)


def _metadata(world: World, interaction: Interaction) -> Json:
    data: Json = {
        "id": str(interaction.id),
        "type": interaction.kind,
        "user": payloads.user(interaction.user),
        "authorizing_integration_owners": _owners(interaction),
    }
    if interaction.kind == COMPONENT and interaction.source is not None:
        data["interacted_message_id"] = str(interaction.source.id)
    if interaction.kind == MODAL:
        data["triggering_interaction_metadata"] = data | {"id": str(interaction.id), "type": COMMAND}
    return data


def living(world: World, token: str) -> Interaction:
    """The interaction behind a followup's token."""
    interaction = world.interactions.get(token)
    if interaction is None:
        raise refuse(50027)
    if interaction.answered.kind is None:
        raise refuse(10015)
    return interaction


def follow_up(world: World, interaction: Interaction, request: Request) -> Message:
    """A further message; the first one after a deferral fills the deferred message."""
    first = interaction.answered.message
    if first is not None and first.loading and not first.deleted:
        return posting.edit(world, first, changed_draft(world, first, request.body, request))
    draft = new_draft(world, interaction.channel, request.body, request)
    posting.check_content(draft)
    message = _post(world, interaction, draft)
    interaction.answered.followups.append(message)
    world.changes.notify()
    return message


def has_bot(channel: Channel) -> bool:
    return channel.guild.has_bot if channel.guild else bool(channel.permissions_of(channel.world.bot))


def context_of(channel: Channel) -> int:
    """A guild, direct messages with the bot, or a conversation of others."""
    return 0 if channel.guild else 1 if has_bot(channel) else 2


def may_use_commands(channel: Channel, user: User) -> bool:
    """Whether the channel lets this person use commands at all."""
    return channel.guild is None or bool(channel.permissions_of(user) & permissions.bits(["use_application_commands"]))
