"""People, guilds, channels and messages as Discord writes them in JSON, and what of them needs the content intent."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tests.wire.discord.messages import REPLY, THREAD_STARTER, Attachment, Json, Message
from tests.wire.discord.people import Member, Role, User

if TYPE_CHECKING:
    from tests.wire.discord.channels import Channel, DirectChannel, GuildChannel, Overwrite, Thread
    from tests.wire.discord.guild import Guild
    from tests.wire.discord.messages import Webhook
    from tests.wire.discord.world import World


def user(user: User) -> Json:
    data: Json = {
        "id": str(user.id),
        "username": user.username,
        "avatar": None,
        "discriminator": "0",
        "public_flags": 0,
        "flags": 0,
        "banner": None,
        "accent_color": None,
        "global_name": user.global_name,
        "avatar_decoration_data": None,
        "collectibles": None,
        "primary_guild": None,
    }
    if user.bot:
        data["bot"] = True
    return data


def role(role: Role) -> Json:
    data: Json = {
        "id": str(role.id),
        "name": role.name,
        "permissions": str(role.permissions),
        "position": role.position,
        "color": 0,
        "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
        "hoist": False,
        "managed": role.managed,
        "mentionable": role.mentionable,
        "icon": None,
        "unicode_emoji": None,
        "flags": 0,
    }
    if role.bot_id is not None:
        data["tags"] = {"bot_id": str(role.bot_id)}
    return data


def member(member: Member, *, with_user: bool = True) -> Json:
    data: Json = {
        "avatar": None,
        "banner": None,
        "communication_disabled_until": None,
        "flags": 0,
        "joined_at": member.joined.isoformat(),
        "nick": member.nick,
        "pending": False,
        "premium_since": None,
        "roles": [str(role.id) for role in member.roles],
        "mute": False,
        "deaf": False,
    }
    if with_user:
        data["user"] = user(member.user)
    return data


def overwrite(overwrite: Overwrite) -> Json:
    return {
        "id": str(overwrite.target),
        "type": 0 if overwrite.is_role else 1,
        "allow": str(overwrite.allow),
        "deny": str(overwrite.deny),
    }


def location(channel: Channel) -> Json:
    """Where something happened, as events name it."""
    guild = channel.guild
    return {"channel_id": str(channel.id)} | ({"guild_id": str(guild.id)} if guild else {})


def _last_message(channel: Channel) -> str | None:
    return str(next(reversed(channel.posts))) if channel.posts else None


def direct(channel: DirectChannel) -> Json:
    return {
        "id": str(channel.id),
        "type": channel.kind,
        "last_message_id": _last_message(channel),
        "flags": 0,
        "recipients": [user(channel.person)],
    }


def guild_channel(channel: GuildChannel) -> Json:
    data: Json = {
        "id": str(channel.id),
        "type": channel.kind,
        "last_message_id": _last_message(channel),
        "flags": 0,
        "guild_id": str(channel.guild.id),
        "name": channel.name,
        "parent_id": None,
        "rate_limit_per_user": 0,
        "topic": channel.topic,
        "position": channel.position,
        "permission_overwrites": [overwrite(o) for o in channel.overwrites.values()],
        "nsfw": False,
    }
    if channel.kind == 15:
        data |= {"available_tags": [], "default_reaction_emoji": None, "default_sort_order": None}
        data |= {"default_forum_layout": 0}
    return data


def thread(thread: Thread) -> Json:
    metadata = {
        "archived": False,
        "archive_timestamp": thread.created.isoformat(),
        "auto_archive_duration": 1440,
        "locked": False,
        "create_timestamp": thread.created.isoformat(),
    }
    if thread.private:
        metadata["invitable"] = True
    return {
        "id": str(thread.id),
        "type": thread.kind,
        "last_message_id": _last_message(thread),
        "flags": 0,
        "guild_id": str(thread.guild.id),
        "name": thread.name,
        "parent_id": str(thread.parent.id),
        "rate_limit_per_user": 0,
        "owner_id": str(thread.owner.id),
        "thread_metadata": metadata,
        "message_count": len(thread.messages),
        "member_count": len(thread.members),
        "total_message_sent": len(thread.posts),
    }


def thread_member(thread: Thread, user: User) -> Json:
    joined = thread.members.get(user.id, datetime.now(UTC))
    return {"id": str(thread.id), "user_id": str(user.id), "join_timestamp": joined.isoformat(), "flags": 0}


def guild(guild: Guild) -> Json:
    """The guild as GET /guilds/{id} gives it."""
    null = (
        "icon description home_header splash discovery_splash banner application_id afk_channel_id "
        "system_channel_id widget_channel_id max_presences vanity_url_code rules_channel_id "
        "safety_alerts_channel_id public_updates_channel_id incidents_data"
    )
    zero = (
        "system_channel_flags verification_level default_message_notifications mfa_level "
        "explicit_content_filter premium_tier premium_subscription_count nsfw_level"
    )
    return (
        dict.fromkeys(null.split())
        | dict.fromkeys(zero.split(), 0)
        | {
            "id": str(guild.id),
            "name": guild.name,
            "owner_id": str(guild.owner.id),
            "region": "deprecated",
            "features": [],
            "afk_timeout": 300,
            "widget_enabled": False,
            "roles": [role(r) for r in guild.roles],
            "max_members": 500000,
            "max_stage_video_channel_users": 50,
            "max_video_channel_users": 25,
            "preferred_locale": "en-US",
            "premium_progress_bar_enabled": False,
            "nsfw": False,
            "emojis": [],
            "stickers": [],
        }
    )


def guild_create(of: Guild, *, all_members: bool) -> Json:
    """The guild as the gateway gives it to the bot."""
    bot = of.world.bot
    members = of.members.values() if all_members else [of.members[bot.id]]
    return guild(of) | {
        "joined_at": of.members[bot.id].joined.isoformat(),
        "large": False,
        "unavailable": False,
        "member_count": len(of.members),
        "members": [member(m) for m in members],
        "channels": [c.payload() for c in of.channels],
        "threads": [t.payload() for t in of.threads if t.permissions_of(bot)],
        "presences": [],
        "voice_states": [],
        "stage_instances": [],
        "guild_scheduled_events": [],
        "soundboard_sounds": [],
    }


def webhook(webhook: Webhook, world: World) -> Json:
    return {
        "application_id": str(world.application_id),
        "avatar": None,
        "channel_id": str(webhook.channel.id),
        "guild_id": str(webhook.channel.guild.id) if webhook.channel.guild else None,
        "id": str(webhook.id),
        "name": webhook.name,
        "type": 1,
        "user": user(webhook.creator),
        "token": webhook.token,
        "url": f"{world.rest_url}/webhooks/{webhook.id}/{webhook.token}",
    }


# ------------------------------------------------------------------ messages


def message(of: Message, viewer: User, *, nonce: bool = False) -> Json:
    """The whole message; the nonce only where the sender gets it echoed."""
    data = _basic(of)
    data |= _reference(of)
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
        if known := guild.members.get(int(mentioned["id"])):
            mentioned["member"] = member(known, with_user=False)
    if of.webhook is None and (known := guild.members.get(of.author.id)):
        data["member"] = member(known, with_user=False)
    return data


def _basic(of: Message) -> Json:
    data: Json = {
        "type": of.kind,
        "content": of.content,
        "mentions": [user(each) for each in of.mentions],
        "mention_roles": [str(role) for role in of.mention_roles],
        "attachments": [attachment(a) for a in of.attachments],
        "embeds": of.embeds,
        "timestamp": of.created.isoformat(),
        "edited_timestamp": of.edited.isoformat() if of.edited else None,
        "flags": of.flags,
        "components": of.components,
        "id": str(of.id),
        "channel_id": str(of.channel.id),
        "author": user(of.author),
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
        return {"message_reference": {"type": 0, **location(of.points_to)}}
    target = of.reply_to
    if target is None:
        return {}
    data: Json = {"message_reference": {"type": 0, "message_id": str(target.id), **location(target.channel)}}
    if of.kind in (REPLY, THREAD_STARTER):
        data["referenced_message"] = None if target.deleted else _basic(target)
    return data


def attachment(of: Attachment) -> Json:
    data: Json = {"id": str(of.id), "filename": of.filename, "size": of.size, "url": of.url, "proxy_url": of.url}
    if of.content_type:
        data["content_type"] = of.content_type
    return data


def emoji(text: str) -> Json:
    """An emoji as the path of a reaction names it: a character, or name:id."""
    name, _, number = text.partition(":")
    return {"id": number, "name": name} if number else {"id": None, "name": text}


def blanked(data: Json, own: set[str], *, direct: bool) -> Json:
    """The payload for a bot without the message content intent: empty unless it concerns the bot.

    `own` holds the ids of the bot and of its webhooks.
    """
    result = dict(data)
    if isinstance(nested := data.get("referenced_message"), dict):
        result["referenced_message"] = blanked(nested, own, direct=direct)
    mentioned = any(each["id"] in own for each in data["mentions"])
    if not (direct or mentioned or data["author"]["id"] in own):
        empty: dict[str, Any] = {"content": "", "embeds": [], "attachments": [], "components": []}
        result |= empty
    return result
