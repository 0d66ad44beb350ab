"""The bot's own account, guilds, channels and threads."""

from __future__ import annotations

from tests.wire.discord import payloads, posting, threads
from tests.wire.discord.calls import Answer, Reply, Request
from tests.wire.discord.channels import Thread
from tests.wire.discord.errors import refuse
from tests.wire.discord.gateway import application_flags
from tests.wire.discord.world import World


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
    return _created(world, threads.from_message(world, message, world.bot, request.body["name"]))


def _created(world: World, made: Thread) -> Reply:
    return Reply(201, made.payload() | {"member": payloads.thread_member(made, world.bot)})
