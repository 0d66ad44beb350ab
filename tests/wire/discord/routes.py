"""What the bot asks for over REST: its account and places, messages, webhooks, commands, answers to interactions."""

from __future__ import annotations

import re
import secrets

from tests.wire.discord import interactions, payloads, posting
from tests.wire.discord.calls import NO_CONTENT, Answer, Reply, Request
from tests.wire.discord.channels import Channel, Thread
from tests.wire.discord.drafts import changed_draft, new_draft
from tests.wire.discord.errors import invalid, refuse
from tests.wire.discord.gateway import application_flags
from tests.wire.discord.messages import Json, Message, Webhook
from tests.wire.discord.people import User
from tests.wire.discord.world import World

# ------------------------------------------------------------------ the account, guilds, channels and threads


def me(world: World, request: Request) -> Answer:
    return payloads.user(world.bot) | {"mfa_enabled": False, "locale": "en-US", "verified": True}


def user(world: World, request: Request) -> Answer:
    return payloads.user(world.find_user(request.id("user_id")))


def application(world: World, request: Request) -> Answer:
    flags = application_flags(world)
    return {
        "id": str(world.application_id),
        "name": world.bot.username,
        "icon": None,
        "description": "",
        "type": None,
        "bot": payloads.user(world.bot),
        "bot_public": True,
        "bot_require_code_grant": False,
        "integration_types_config": {"0": {}, "1": {}},
        "verify_key": "0" * 64,
        "flags": flags,
        "flags_new": str(flags),
        "redirect_uris": [],
        "interactions_endpoint_url": None,
        "role_connections_verification_url": None,
        "owner": payloads.user(world.owner),
        "approximate_guild_count": len(world.guilds),
        "approximate_user_install_count": 0,
        "approximate_user_authorization_count": 0,
        "explicit_content_filter": 0,
        "team": None,
        "eligible_oauth2_scopes": [],
    }


def gateway(world: World, request: Request) -> Answer:
    return {"url": world.gateway_url}


def gateway_bot(world: World, request: Request) -> Answer:
    settings = world.settings
    reset = round(settings.starts_reset * 1000)
    limit = {"total": 1000, "remaining": settings.starts_left, "reset_after": reset, "max_concurrency": 1}
    return {"url": world.gateway_url, "session_start_limit": limit, "shards": 1}


def open_direct(world: World, request: Request) -> Answer:
    person = world.find_user(int(request.body["recipient_id"]))
    if person.bot:
        raise refuse(50007)
    return world.direct(person).payload()


def my_guilds(world: World, request: Request) -> Answer:
    return [
        {
            "id": str(guild.id),
            "name": guild.name,
            "icon": None,
            "banner": None,
            "owner": False,
            "permissions": str(guild.permissions_of(world.bot)),
            "features": [],
        }
        for guild in world.guilds.values()
        if guild.has_bot
    ]


def member(world: World, request: Request) -> Answer:
    found = world.find_guild(request.id("guild_id"))
    return payloads.member(found.member(world.find_user(request.id("user_id"))))


def channel(world: World, request: Request) -> Answer:
    found = world.find_channel(request.id("channel_id"))
    posting.require(found, world.bot)
    return found.payload()


def thread_from_message(world: World, request: Request) -> Answer:
    parent = world.find_channel(request.id("channel_id"))
    posting.require(parent, world.bot)
    message = world.find_message(parent, request.id("message_id"))
    return _created(world, posting.thread_on(world, message, world.bot, request.body["name"]))


def _created(world: World, made: Thread) -> Reply:
    return Reply(201, made.payload() | {"member": payloads.thread_member(made, world.bot)})


# ------------------------------------------------------------------ messages and typing


def shown(world: World, message: Message, *, nonce: bool = False) -> Json:
    """A message as the bot may see it."""
    data = payloads.message(message, world.bot, nonce=nonce)
    if "message_content" in world.settings.granted_privileged:
        return data
    return payloads.blanked(data, world.own_ids(), direct=message.channel.guild is None)


def _visible(world: World, request: Request) -> Channel:
    channel = world.find_channel(request.id("channel_id"))
    posting.require(channel, world.bot)
    return channel


def _message(world: World, request: Request) -> Message:
    return world.find_message(_visible(world, request), request.id("message_id"))


def create_message(world: World, request: Request) -> Answer:
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


def get_message(world: World, request: Request) -> Answer:
    channel = _visible(world, request)
    posting.require(channel, world.bot, "read_message_history")
    return shown(world, world.find_message(channel, request.id("message_id")))


def edit_message(world: World, request: Request) -> Answer:
    message = _message(world, request)
    if message.author is not world.bot:
        raise refuse(50005)
    return shown(world, posting.edit(world, message, changed_draft(world, message, request.body, request)))


def delete_message(world: World, request: Request) -> Answer:
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


# ------------------------------------------------------------------ webhooks, which know no nonce


def _check_name(name: str) -> None:
    if not 1 <= len(name) <= 80:
        raise invalid("username", "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 80 in length.")
    if found := re.search(r"discord|clyde", name, re.IGNORECASE):
        word = found[0].lower()
        raise invalid("username", "USERNAME_INVALID_CONTAINS", f'Username cannot contain "{word}"')


def create_webhook(world: World, request: Request) -> Answer:
    channel = world.find_guild_channel(request.id("channel_id"))
    posting.require(channel, world.bot, "manage_webhooks")
    _check_name(name := request.body["name"])
    if len([hook for hook in world.webhooks.values() if hook.channel is channel]) >= 15:
        raise refuse(30007)
    hook = Webhook(next(world.ids), secrets.token_urlsafe(51), name, channel, world.bot)
    world.webhooks[hook.id] = hook
    world.emit("WEBHOOKS_UPDATE", payloads.location(channel), channel.guild, channel)
    return payloads.webhook(hook, world)


def webhooks_of(world: World, request: Request) -> Answer:
    channel = world.find_guild_channel(request.id("channel_id"))
    posting.require(channel, world.bot, "manage_webhooks")
    return [payloads.webhook(hook, world) for hook in world.webhooks.values() if hook.channel is channel]


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


def execute_webhook(world: World, request: Request) -> Answer:
    hook = _hook(world, request)
    name = request.body.get("username") or hook.name
    _check_name(name)
    speaker = User(hook.id, name, bot=True)
    place = _place(hook, request)
    draft = new_draft(world, place, request.body, request)
    posting.check_content(draft)
    draft.nonce = None
    message = posting.compose(world, place, speaker, draft, from_bot=True, webhook=hook)
    posting.publish(world, message)
    return shown(world, message) if request.query.get("wait") in ("true", "1", "True") else NO_CONTENT


def _hook_message(world: World, request: Request) -> Message:
    hook = _hook(world, request)
    message = world.find_message(_place(hook, request), request.id("message_id"))
    if message.webhook is not hook:
        raise refuse(10008)
    return message


def edit_by_webhook(world: World, request: Request) -> Answer:
    message = _hook_message(world, request)
    return shown(world, posting.edit(world, message, changed_draft(world, message, request.body, request)))


def delete_by_webhook(world: World, request: Request) -> Answer:
    posting.delete(world, _hook_message(world, request))
    return NO_CONTENT


# ------------------------------------------------------------------ commands, and answers to interactions


def _registered(world: World, command: Json, known: list[Json]) -> Json:
    """A command as Discord gives it back: with ids, defaults and without nulls in its options."""
    same = [c for c in known if c["name"] == command["name"] and c["type"] == (command.get("type") or 1)]
    registered: Json = {
        "id": same[0]["id"] if same else str(next(world.ids)),
        "application_id": str(world.application_id),
        "version": str(next(world.ids)),
        "default_member_permissions": None,
        "type": 1,
        "description": "",
        "nsfw": False,
        "integration_types": [0],
        "contexts": None,
        "dm_permission": True,
    }
    registered |= {key: value for key, value in command.items() if value is not None}
    if registered["default_member_permissions"] is not None:
        registered["default_member_permissions"] = str(registered["default_member_permissions"])
    if "options" in registered:
        registered["options"] = [_option(option) for option in registered["options"]]
    return registered


def _option(option: Json) -> Json:
    kept = {key: value for key, value in option.items() if value not in (None, [], {})}
    if "options" in kept:
        kept["options"] = [_option(inner) for inner in kept["options"]]
    return kept


def _check_unique(commands: list[Json]) -> None:
    seen: set[tuple[str, int]] = set()
    for index, command in enumerate(commands):
        key = (command["name"], command.get("type") or 1)
        if key in seen:
            code = "APPLICATION_COMMANDS_DUPLICATE_NAME"
            raise invalid(f"{index}", code, "Application command names must be unique")
        seen.add(key)
    if sum(1 for _, kind in seen if kind == 1) > 100:
        raise invalid("_errors", "APPLICATION_COMMANDS_MAX", "Maximum number of commands reached (100)")


def set_commands(world: World, request: Request) -> Answer:
    _check_unique(request.json or [])
    world.commands = [_registered(world, c, world.commands) for c in request.json or []]
    world.changes.notify()
    return world.commands


def callback(world: World, request: Request) -> Answer:
    interaction = world.interactions.get(request.params["interaction_token"])
    if interaction is None or str(interaction.id) != request.params["interaction_id"]:
        raise refuse(10062)
    answer = interactions.respond(world, interaction, request)
    return answer if request.query.get("with_response") in ("1", "true") else NO_CONTENT


def execute(world: World, request: Request) -> Answer:
    """A message by a webhook; the application's own id stands for the one of an interaction."""
    if request.params["webhook_id"] != str(world.application_id):
        return execute_webhook(world, request)
    interaction = interactions.living(world, request.params["webhook_token"])
    message = interactions.follow_up(world, interaction, request)
    return payloads.message(message, world.bot)


def edit_original(world: World, request: Request) -> Answer:
    """The first answer to an interaction."""
    found = interactions.living(world, request.params["webhook_token"]).answered.message
    if found is None or found.deleted:
        raise refuse(10008)
    posting.edit(world, found, changed_draft(world, found, request.body, request))
    return payloads.message(found, world.bot)
