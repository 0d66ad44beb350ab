"""Making threads, by the bot or by a person."""

from __future__ import annotations

from tests.wire.discord import payloads, posting
from tests.wire.discord.channels import FORUM, PRIVATE_THREAD, PUBLIC_THREAD, GuildChannel, Thread
from tests.wire.discord.errors import refuse
from tests.wire.discord.messages import HAS_THREAD, THREAD_CREATED, THREAD_STARTER, Draft, Message
from tests.wire.discord.people import User
from tests.wire.discord.world import World


def from_message(world: World, message: Message, author: User, name: str) -> Thread:
    """A public thread hanging on a message; it has the message's id."""
    parent = message.channel
    if not isinstance(parent, GuildChannel):
        raise refuse(50024)
    posting.require(parent, author, "create_public_threads")
    if message.thread is not None:
        raise refuse(160004)
    thread = Thread(parent, message.id, PUBLIC_THREAD, name, author)
    message.thread = thread
    message.flags |= HAS_THREAD
    _announce(world, thread, author)
    world.emit_message("MESSAGE_UPDATE", message)
    starter = Draft(kind=THREAD_STARTER, reply_to=message)
    posting.publish(world, posting.compose(world, thread, author, starter, from_bot=author is world.bot))
    return thread


def without_message(world: World, parent: GuildChannel, author: User, name: str, *, private: bool) -> Thread:
    """A thread below a text channel that hangs on no message."""
    posting.require(parent, author, "create_private_threads" if private else "create_public_threads")
    if parent.kind == FORUM:
        raise refuse(50024)
    thread = Thread(parent, next(world.ids), PRIVATE_THREAD if private else PUBLIC_THREAD, name, author)
    _announce(world, thread, author)
    if not private:
        draft = Draft(content=name, kind=THREAD_CREATED)
        note = posting.compose(world, parent, author, draft, from_bot=author is world.bot)
        note.points_to = thread
        posting.publish(world, note)
    return thread


def forum_post(world: World, forum: GuildChannel, author: User, name: str, draft: Draft) -> tuple[Thread, Message]:
    """A post: a thread and its first message, both with the same id."""
    posting.require(forum, author, "send_messages")
    if forum.kind != FORUM:
        raise refuse(50024)
    posting.check_content(draft)
    thread = Thread(forum, next(world.ids), PUBLIC_THREAD, name, author)
    _announce(world, thread, author)
    message = posting.compose(world, thread, author, draft, from_bot=author is world.bot)
    message.id = thread.id
    return thread, posting.publish(world, message)


def _announce(world: World, thread: Thread, author: User) -> None:
    thread.guild.threads.append(thread)
    data = thread.payload() | {"newly_created": True}
    if author is world.bot:
        data["member"] = payloads.thread_member(thread, author)
    world.emit("THREAD_CREATE", data, thread.guild, thread)
