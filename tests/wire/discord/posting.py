"""Making, changing and removing messages and threads: one set of rules for the bot, its webhooks and persons."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Literal

from tests.wire.discord import payloads
from tests.wire.discord.channels import (
    FORUM,
    PRIVATE_THREAD,
    PUBLIC_THREAD,
    Channel,
    DirectChannel,
    GuildChannel,
    Thread,
    Typing,
)
from tests.wire.discord.errors import invalid, refuse, too_long
from tests.wire.discord.messages import (
    COMPONENTS_V2,
    DEFAULT,
    HAS_THREAD,
    LOADING,
    REPLY,
    THREAD_CREATED,
    THREAD_STARTER,
    Draft,
    Json,
    LogEntry,
    Message,
    Webhook,
)
from tests.wire.discord.people import User
from tests.wire.discord.world import World

CONTENT_LIMIT = 2000


def require(channel: Channel, user: User, *names: str) -> None:
    """Refuse with 50001 when the channel is hidden, with 50013 when a permission is missing."""
    if not channel.may(user, "view_channel"):
        raise refuse(50001)
    if not channel.may(user, *names):
        raise refuse(50013)


def check_content(draft: Draft) -> None:
    """The limits every sender meets."""
    if len(draft.content) > CONTENT_LIMIT:
        raise too_long("content", CONTENT_LIMIT)
    if draft.nonce is not None and len(draft.nonce) > 25:
        raise too_long("nonce", 25)
    if draft.flags & COMPONENTS_V2:
        if draft.content:
            raise invalid("flags", "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2", "Invalid fields")
    elif any(component["type"] != 1 for component in draft.components):
        raise invalid("components.0.type", "UNION_TYPE_CHOICES", "Value of field must be one of (1,).")
    if not (draft.content or draft.attachments or draft.components):
        raise refuse(50006)


def check_may_send(channel: Channel, user: User, draft: Draft) -> None:
    """Whether this account may send this draft here."""
    if channel.kind == FORUM:
        raise refuse(50008)
    require(channel, user, "send_messages_in_threads" if isinstance(channel, Thread) else "send_messages")
    if isinstance(channel, DirectChannel) and user.bot and not channel.person.accepts_dms:
        raise refuse(50007)
    if draft.attachments:
        require(channel, user, "attach_files")
    if draft.reply_to is not None and not channel.may(user, "read_message_history"):
        raise refuse(160002)


def send(world: World, channel: Channel, author: User, draft: Draft) -> Message:
    """A message by an account; one with an enforced nonce that is already there is that one."""
    check_may_send(channel, author, draft)
    check_content(draft)
    if draft.nonce is not None and draft.enforce_nonce:
        known = world.recall_nonce(author, channel, draft.nonce)
        if known is not None:
            return known
    message = compose(world, channel, author, draft, from_bot=author is world.bot)
    if draft.enforce_nonce:
        world.remember_nonce(message)
    if isinstance(channel, Thread):
        _join_by_talking(channel, message)
    return publish(world, message)


def compose(
    world: World, channel: Channel, author: User, draft: Draft, *, from_bot: bool, webhook: Webhook | None = None
) -> Message:
    """The message a draft becomes, not yet anywhere."""
    message = Message(
        id=next(world.ids),
        channel=channel,
        author=author,
        content=draft.content.strip(),
        from_bot=from_bot,
        kind=draft.kind if draft.kind is not None else REPLY if draft.reply_to else DEFAULT,
        components=draft.components,
        attachments=draft.attachments,
        flags=draft.flags,
        reply_to=draft.reply_to,
        nonce=draft.nonce,
        allowed_mentions=draft.allowed_mentions,
        webhook=webhook,
    )
    _mention(world, message)
    return message


def publish(world: World, message: Message) -> Message:
    """Put a composed message into its channel and tell everyone."""
    message.channel.posts[message.id] = message
    note(message, "create")
    world.emit_message("MESSAGE_CREATE", message)
    return message


def note(message: Message, what: Literal["create", "edit", "delete"]) -> None:
    entry = LogEntry(what, message.id, message.author_name, message.words, message.nonce, message.from_bot)
    message.channel.log.append(entry)


def edit(world: World, message: Message, draft: Draft) -> Message:
    """Replace a message's visible parts."""
    draft.flags |= message.flags & COMPONENTS_V2
    check_content(draft)
    message.content = draft.content.strip()
    message.components = draft.components
    message.attachments = draft.attachments
    message.allowed_mentions = draft.allowed_mentions
    was_loading = message.loading
    message.flags = (message.flags | draft.flags) & ~LOADING
    message.edited = message.edited if was_loading else datetime.now(UTC)
    _mention(world, message)
    if message.only_for is None:
        note(message, "edit")
    world.emit_message("MESSAGE_UPDATE", message)
    return message


def delete(world: World, message: Message) -> None:
    message.deleted = True
    note(message, "delete")
    data = {"id": str(message.id), **payloads.location(message.channel)}
    world.emit("MESSAGE_DELETE", data, message.channel.guild, message.channel)


def bulk_delete(world: World, messages: list[Message]) -> None:
    """Remove several messages of one guild channel in one go, as a moderator does."""
    channel = messages[0].channel
    for message in messages:
        message.deleted = True
        note(message, "delete")
    data = {"ids": [str(m.id) for m in messages], **payloads.location(channel)}
    world.emit("MESSAGE_DELETE_BULK", data, channel.guild, channel)


def unfurl(world: World, message: Message, embeds: list[Json]) -> None:
    """Add link previews: an update that is no edit."""
    message.embeds = message.embeds + embeds
    world.emit_message("MESSAGE_UPDATE", message)


def react(world: World, message: Message, user: User, emoji: str) -> None:
    channel = message.channel
    require(channel, user, "read_message_history")
    users = message.reactions.setdefault(emoji, [])
    if not users:
        require(channel, user, "add_reactions")
    if user in users:
        return
    users.append(user)
    data = _reaction_event(message, user, emoji) | {"message_author_id": str(message.author.id)}
    guild = channel.guild
    if guild is not None and user.id in guild.members:
        data["member"] = payloads.member(guild.members[user.id])
    world.emit("MESSAGE_REACTION_ADD", data, guild, channel)


def unreact(world: World, message: Message, user: User, emoji: str) -> None:
    users = message.reactions.get(emoji, [])
    if user in users:
        users.remove(user)
        data = _reaction_event(message, user, emoji)
        world.emit("MESSAGE_REACTION_REMOVE", data, message.channel.guild, message.channel)


def _reaction_event(message: Message, user: User, emoji: str) -> Json:
    said = {"user_id": str(user.id), "message_id": str(message.id), "emoji": payloads.emoji(emoji)}
    return said | {"type": 0, "burst": False} | payloads.location(message.channel)


def type_in(world: World, channel: Channel, user: User) -> None:
    require(channel, user, "send_messages")
    typing = Typing(user)
    channel.typings.append(typing)
    data: Json = {"user_id": str(user.id), "timestamp": int(typing.at.timestamp()), **payloads.location(channel)}
    guild = channel.guild
    if guild is not None:
        data["member"] = payloads.member(guild.member(user))
    world.emit("TYPING_START", data, guild, channel)


def _mention(world: World, message: Message) -> None:
    """Find whom the text reaches, as far as allowed_mentions lets it."""
    allowed = message.allowed_mentions
    kinds = {"users", "roles", "everyone"} if allowed is None else set(allowed.get("parse") or [])
    users = {int(n) for n in (allowed or {}).get("users") or []}
    roles = {int(n) for n in (allowed or {}).get("roles") or []}
    named = dict.fromkeys(int(n) for n in re.findall(r"<@!?(\d+)>", message.words))
    message.mentions = [world.users[i] for i in named if i in world.users and ("users" in kinds or i in users)]
    answered = message.reply_to.author if message.kind == REPLY and message.reply_to else None
    pings = True if allowed is None else bool(allowed.get("replied_user"))
    if answered is not None and pings and answered not in message.mentions and answered.id in world.users:
        message.mentions.append(answered)
    named_roles = dict.fromkeys(int(n) for n in re.findall(r"<@&(\d+)>", message.words))
    message.mention_roles = [i for i in named_roles if "roles" in kinds or i in roles]
    loud = bool(re.search(r"@(everyone|here)\b", message.words))
    message.mention_everyone = loud and "everyone" in kinds and message.channel.may(message.author, "mention_everyone")


def _join_by_talking(thread: Thread, message: Message) -> None:
    """Who speaks in a thread, or is called into it, takes part in it."""
    for user in (message.author, *message.mentions):
        if thread.parent.permissions_of(user):
            thread.add(user)


# ------------------------------------------------------------------ threads, by the bot or by a person


def thread_on(world: World, message: Message, author: User, name: str) -> Thread:
    """A public thread hanging on a message; it has the message's id."""
    parent = message.channel
    if not isinstance(parent, GuildChannel):
        raise refuse(50024)
    require(parent, author, "create_public_threads")
    if message.thread is not None:
        raise refuse(160004)
    thread = Thread(parent, message.id, PUBLIC_THREAD, name, author)
    message.thread = thread
    message.flags |= HAS_THREAD
    _announce_thread(world, thread, author)
    world.emit_message("MESSAGE_UPDATE", message)
    starter = Draft(kind=THREAD_STARTER, reply_to=message)
    publish(world, compose(world, thread, author, starter, from_bot=author is world.bot))
    return thread


def thread_below(world: World, parent: GuildChannel, author: User, name: str, *, private: bool) -> Thread:
    """A thread below a text channel that hangs on no message."""
    require(parent, author, "create_private_threads" if private else "create_public_threads")
    if parent.kind == FORUM:
        raise refuse(50024)
    thread = Thread(parent, next(world.ids), PRIVATE_THREAD if private else PUBLIC_THREAD, name, author)
    _announce_thread(world, thread, author)
    if not private:
        draft = Draft(content=name, kind=THREAD_CREATED)
        note = compose(world, parent, author, draft, from_bot=author is world.bot)
        note.points_to = thread
        publish(world, note)
    return thread


def forum_post(world: World, forum: GuildChannel, author: User, name: str, draft: Draft) -> tuple[Thread, Message]:
    """A post: a thread and its first message, both with the same id."""
    require(forum, author, "send_messages")
    if forum.kind != FORUM:
        raise refuse(50024)
    check_content(draft)
    thread = Thread(forum, next(world.ids), PUBLIC_THREAD, name, author)
    _announce_thread(world, thread, author)
    message = compose(world, thread, author, draft, from_bot=author is world.bot)
    message.id = thread.id
    return thread, publish(world, message)


def _announce_thread(world: World, thread: Thread, author: User) -> None:
    thread.guild.threads.append(thread)
    data = thread.payload() | {"newly_created": True}
    if author is world.bot:
        data["member"] = payloads.thread_member(thread, author)
    world.emit("THREAD_CREATE", data, thread.guild, thread)
