"""Messages as Discord writes them in JSON, and what a bot without the content intent sees of them."""

from __future__ import annotations

from typing import Any

from tests.wire.discord import payloads
from tests.wire.discord.messages import REPLY, THREAD_STARTER, Attachment, Json, Message
from tests.wire.discord.people import User


def message(of: Message, viewer: User, *, nonce: bool = False) -> Json:
    """The whole message; the nonce only where the sender gets it echoed."""
    data = _basic(of)
    data |= _reference(of)
    if of.reactions:
        data["reactions"] = [_reaction(emoji, users, viewer) for emoji, users in of.reactions.items() if users]
    if of.thread is not None:
        data["thread"] = of.thread.payload()
    if nonce and of.nonce is not None:
        data["nonce"] = of.nonce
    return data


def dispatched(of: Message, viewer: User) -> Json:
    """The message as MESSAGE_CREATE and MESSAGE_UPDATE carry it."""
    data = message(of, viewer, nonce=of.edited is None and of.author is viewer)
    data["channel_type"] = of.channel.kind
    guild = of.channel.guild
    if guild is None:
        return data
    data["guild_id"] = str(guild.id)
    for mentioned in data["mentions"]:
        if member := guild.members.get(int(mentioned["id"])):
            mentioned["member"] = payloads.member(member, with_user=False)
    if of.webhook is None and (member := guild.members.get(of.author.id)):
        data["member"] = payloads.member(member, with_user=False)
    return data


def _basic(of: Message) -> Json:
    data: Json = {
        "type": of.kind,
        "content": of.content,
        "mentions": [payloads.user(user) for user in of.mentions],
        "mention_roles": [str(role) for role in of.mention_roles],
        "attachments": [attachment(a) for a in of.attachments],
        "embeds": of.embeds,
        "timestamp": of.created.isoformat(),
        "edited_timestamp": of.edited.isoformat() if of.edited else None,
        "flags": of.flags,
        "components": of.components,
        "id": str(of.id),
        "channel_id": str(of.channel.id),
        "author": payloads.user(of.author),
        "pinned": False,
        "mention_everyone": of.mention_everyone,
        "tts": False,
    }
    if of.webhook is not None:
        data["webhook_id"] = str(of.webhook.id)
        data["author"] |= {"id": str(of.webhook.id), "discriminator": "0000", "bot": True}
    if of.interaction is not None:
        data["interaction_metadata"] = of.interaction
        data["webhook_id"] = data["application_id"] = str(of.channel.world.application_id)
    return data


def _reference(of: Message) -> Json:
    if of.points_to is not None:
        return {"message_reference": {"type": 0, "channel_id": str(of.points_to.id), **_guild_id(of)}}
    target = of.reply_to
    if target is None:
        return {}
    data: Json = {
        "message_reference": {
            "type": 0,
            "channel_id": str(target.channel.id),
            "message_id": str(target.id),
            **_guild_id(of),
        }
    }
    if of.kind in (REPLY, THREAD_STARTER):
        data["referenced_message"] = None if target.deleted else _basic(target)
    return data


def _guild_id(of: Message) -> dict[str, str]:
    return {"guild_id": str(of.channel.guild.id)} if of.channel.guild else {}


def attachment(of: Attachment) -> Json:
    data: Json = {
        "id": str(of.id),
        "filename": of.filename,
        "size": of.size,
        "url": of.url,
        "proxy_url": of.url,
    }
    if of.content_type:
        data["content_type"] = of.content_type
    if of.description:
        data["description"] = of.description
    return data


def emoji(text: str) -> Json:
    """An emoji as the path of a reaction names it: a character, or name:id."""
    name, _, number = text.partition(":")
    return {"id": number, "name": name} if number else {"id": None, "name": text}


def _reaction(text: str, users: list[User], viewer: User) -> Json:
    return {
        "emoji": emoji(text),
        "count": len(users),
        "count_details": {"burst": 0, "normal": len(users)},
        "burst_colors": [],
        "me_burst": False,
        "me": viewer in users,
    }


def blanked(data: Json, own: set[str], *, direct: bool) -> Json:
    """The payload for a bot without the message content intent: empty unless it concerns the bot.

    `own` holds the ids of the bot and of its webhooks.
    """
    result = dict(data)
    if isinstance(nested := data.get("referenced_message"), dict):
        result["referenced_message"] = blanked(nested, own, direct=direct)
    mentioned = any(user["id"] in own for user in data["mentions"])
    if not (direct or mentioned or data["author"]["id"] in own):
        empty: dict[str, Any] = {"content": "", "embeds": [], "attachments": [], "components": []}
        result |= empty
    return result
