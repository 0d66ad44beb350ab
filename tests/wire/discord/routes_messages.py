"""Messages, reactions and typing, as the bot asks for them."""

from __future__ import annotations

from tests.wire.discord import message_payloads, posting
from tests.wire.discord.calls import NO_CONTENT, Answer, Request
from tests.wire.discord.channels import Channel
from tests.wire.discord.drafts import changed_draft, new_draft
from tests.wire.discord.errors import invalid, refuse
from tests.wire.discord.messages import Json, Message
from tests.wire.discord.world import World


def shown(world: World, message: Message, *, nonce: bool = False) -> Json:
    """A message as the bot may see it."""
    data = message_payloads.message(message, world.bot, nonce=nonce)
    if "message_content" in world.settings.granted_privileged:
        return data
    return message_payloads.blanked(data, world.own_ids(), direct=message.channel.guild is None)


def _visible(world: World, request: Request) -> Channel:
    channel = world.find_channel(request.id("channel_id"))
    posting.require(channel, world.bot)
    return channel


def _message(world: World, request: Request) -> Message:
    return world.find_message(_visible(world, request), request.id("message_id"))


def create(world: World, request: Request) -> Answer:
    channel = world.find_channel(request.id("channel_id"))
    posting.require(channel, world.bot)
    draft = new_draft(world, channel, request.body, request)
    return shown(world, posting.send(world, channel, world.bot, draft), nonce=True)


def history(world: World, request: Request) -> Answer:
    """Newest first; around `around`, before `before`, or the ones just after `after`."""
    channel = _visible(world, request)
    limit = int(request.query.get("limit", "50"))
    if not 1 <= limit <= 100:
        raise invalid("limit", "NUMBER_TYPE_MAX", "int value should be between 1 and 100.")
    if not channel.may(world.bot, "read_message_history"):
        return []
    return [shown(world, message) for message in _page(channel.messages, request.query, limit)]


def _page(oldest_first: list[Message], query: dict[str, str], limit: int) -> list[Message]:
    if "after" in query:
        newer = [message for message in oldest_first if message.id > int(query["after"])]
        return newer[:limit][::-1]
    if "around" in query:
        middle = int(query["around"])
        before = [message for message in oldest_first if message.id < middle][-(limit // 2) :]
        since = [message for message in oldest_first if message.id >= middle][: limit - len(before)]
        return (before + since)[::-1]
    before_id = int(query.get("before", str(1 << 63)))
    return [message for message in oldest_first if message.id < before_id][::-1][:limit]


def get(world: World, request: Request) -> Answer:
    channel = _visible(world, request)
    posting.require(channel, world.bot, "read_message_history")
    return shown(world, world.find_message(channel, request.id("message_id")))


def edit(world: World, request: Request) -> Answer:
    message = _message(world, request)
    if message.author is not world.bot:
        raise refuse(50005)
    return shown(world, posting.edit(world, message, changed_draft(world, message, request.body, request)))


def delete(world: World, request: Request) -> Answer:
    message = _message(world, request)
    if message.author is not world.bot:
        if message.channel.guild is None:
            raise refuse(50003)
        posting.require(message.channel, world.bot, "manage_messages")
    posting.delete(world, message)
    return NO_CONTENT


def typing(world: World, request: Request) -> Answer:
    posting.type_in(world, _visible(world, request), world.bot)
    return NO_CONTENT
