"""Webhooks of channels: making them, and speaking through them. They know no nonce."""

from __future__ import annotations

import re
import secrets

from tests.wire.discord import payloads, posting, threads
from tests.wire.discord.calls import NO_CONTENT, Answer, Request
from tests.wire.discord.channels import FORUM, Channel, GuildChannel, Thread
from tests.wire.discord.drafts import changed_draft, new_draft
from tests.wire.discord.errors import invalid, refuse
from tests.wire.discord.messages import Json, Message, Webhook
from tests.wire.discord.people import User
from tests.wire.discord.routes_messages import shown
from tests.wire.discord.world import World


def make(world: World, channel: GuildChannel, creator: User, name: str) -> Webhook:
    """A new webhook in a channel, within Discord's limits."""
    _check_name(name)
    if len([hook for hook in world.webhooks.values() if hook.channel is channel]) >= 15:
        raise refuse(30007)
    application = world.application_id if creator is world.bot else None
    hook = Webhook(next(world.ids), secrets.token_urlsafe(51), name, channel, creator, application)
    world.webhooks[hook.id] = hook
    _updated(world, channel)
    return hook


def _check_name(name: str) -> None:
    if not 1 <= len(name) <= 80:
        raise invalid("username", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 80 in length.")
    if found := re.search(r"discord|clyde", name, re.IGNORECASE):
        word = found[0].lower()
        raise invalid("username", "USERNAME_INVALID_CONTAINS", f'Username cannot contain "{word}"')


def _updated(world: World, channel: Channel) -> None:
    assert channel.guild is not None
    data = {"guild_id": str(channel.guild.id), "channel_id": str(channel.id)}
    world.emit("WEBHOOKS_UPDATE", data, channel.guild, channel)


def _payload(world: World, hook: Webhook) -> Json:
    data = payloads.webhook(hook, world.rest_url)
    if hook.application_id != world.application_id:
        del data["token"], data["url"]
    return data


def create(world: World, request: Request) -> Answer:
    channel = world.find_guild_channel(request.id("channel_id"))
    posting.require(channel, world.bot, "manage_webhooks")
    return _payload(world, make(world, channel, world.bot, request.body["name"]))


def of_channel(world: World, request: Request) -> Answer:
    channel = world.find_guild_channel(request.id("channel_id"))
    posting.require(channel, world.bot, "manage_webhooks")
    return [_payload(world, hook) for hook in world.webhooks.values() if hook.channel is channel]


def _hook(world: World, request: Request) -> Webhook:
    hook = world.webhooks.get(request.id("webhook_id"))
    if hook is None:
        raise refuse(10015)
    if "webhook_token" in request.params and request.params["webhook_token"] != hook.token:
        raise refuse(50027)
    return hook


def _place(hook: Webhook, request: Request) -> Channel:
    """The webhook's channel, or the thread of it that the request names."""
    if "thread_id" not in request.query:
        return hook.channel
    place = hook.channel.world.find_channel(int(request.query["thread_id"]))
    if not isinstance(place, Thread) or place.parent is not hook.channel:
        raise refuse(10003)
    return place


def execute(world: World, request: Request) -> Answer:
    hook = _hook(world, request)
    name = request.body.get("username") or hook.name
    _check_name(name)
    speaker = User(hook.id, name, bot=True)
    place = _place(hook, request)
    draft = new_draft(world, place, request.body, request)
    posting.check_content(draft)
    if place.kind == FORUM:
        place = _new_post(world, hook, request)
    draft.nonce = None
    ours = hook.application_id == world.application_id
    message = posting.compose(world, place, speaker, draft, from_bot=ours, webhook=hook)
    posting.publish(world, message)
    return shown(world, message) if request.query.get("wait") in ("true", "1", "True") else NO_CONTENT


def _new_post(world: World, hook: Webhook, request: Request) -> Thread:
    name = request.body.get("thread_name")
    if not name:
        raise refuse(50008)
    assert isinstance(hook.channel, GuildChannel)
    return threads.open_post(world, hook.channel, hook.creator, name)


def _message(world: World, request: Request) -> Message:
    hook = _hook(world, request)
    message = world.find_message(_place(hook, request), request.id("message_id"))
    if message.webhook is not hook:
        raise refuse(10008)
    return message


def get_message(world: World, request: Request) -> Answer:
    return shown(world, _message(world, request))


def edit_message(world: World, request: Request) -> Answer:
    message = _message(world, request)
    return shown(world, posting.edit(world, message, changed_draft(world, message, request.body, request)))


def delete_message(world: World, request: Request) -> Answer:
    posting.delete(world, _message(world, request))
    return NO_CONTENT
