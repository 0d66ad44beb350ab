"""The bot's own account, guilds, channels and threads."""

from __future__ import annotations

from tests.wire.discord import payloads, posting, threads
from tests.wire.discord.calls import NO_CONTENT, Answer, Reply, Request
from tests.wire.discord.channels import PRIVATE_THREAD, GuildChannel, Thread
from tests.wire.discord.drafts import new_draft
from tests.wire.discord.errors import refuse
from tests.wire.discord.gateway import application_flags
from tests.wire.discord.messages import Json
from tests.wire.discord.people import User
from tests.wire.discord.routes_messages import shown
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
    return {"url": world.gateway_url, "session_start_limit": limit, "shards": settings.shards}


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


def guild(world: World, request: Request) -> Answer:
    found = world.find_guild(request.id("guild_id"))
    counts = {"approximate_member_count": len(found.members), "approximate_presence_count": 1}
    return payloads.guild(found) | (counts if request.query.get("with_counts") else {})


def leave_guild(world: World, request: Request) -> Answer:
    world.find_guild(request.id("guild_id")).remove(world.bot)
    return NO_CONTENT


def guild_channels(world: World, request: Request) -> Answer:
    return [channel.payload() for channel in world.find_guild(request.id("guild_id")).channels]


def guild_roles(world: World, request: Request) -> Answer:
    return [payloads.role(role) for role in world.find_guild(request.id("guild_id")).roles]


def members(world: World, request: Request) -> Answer:
    if "members" not in world.settings.granted_privileged:
        raise refuse(50001)
    found = world.find_guild(request.id("guild_id"))
    after, limit = int(request.query.get("after", "0")), int(request.query.get("limit", "1"))
    wanted = sorted((m for m in found.members.values() if m.user.id > after), key=lambda m: m.user.id)
    return [payloads.member(member) for member in wanted[:limit]]


def member(world: World, request: Request) -> Answer:
    found = world.find_guild(request.id("guild_id"))
    return payloads.member(found.member(world.find_user(request.id("user_id"))))


def active_threads(world: World, request: Request) -> Answer:
    found = world.find_guild(request.id("guild_id"))
    living = [t for t in found.threads if not t.archived and t.permissions_of(world.bot)]
    mine = [payloads.thread_member(t, world.bot) for t in living if world.bot.id in t.members]
    return {"threads": [t.payload() for t in living], "members": mine, "has_more": False}


def archived_threads(world: World, request: Request) -> Answer:
    parent = world.find_guild_channel(request.id("channel_id"))
    posting.require(parent, world.bot, "read_message_history")
    private = request.template.endswith("/private")
    found = [t for t in parent.threads if t.archived and t.private == private and t.permissions_of(world.bot)]
    return {"threads": [t.payload() for t in found], "members": [], "has_more": False}


def channel(world: World, request: Request) -> Answer:
    found = world.find_channel(request.id("channel_id"))
    posting.require(found, world.bot)
    return found.payload()


def edit_channel(world: World, request: Request) -> Answer:
    found = world.find_channel(request.id("channel_id"))
    posting.require(found, world.bot)
    if isinstance(found, Thread):
        if found.owner is not world.bot:
            posting.require(found, world.bot, "manage_threads")
        found.edit(
            name=request.body.get("name"),
            archived=request.body.get("archived"),
            locked=request.body.get("locked"),
        )
    elif isinstance(found, GuildChannel):
        posting.require(found, world.bot, "manage_channels")
        found.edit(name=request.body.get("name"), topic=request.body.get("topic"))
    else:
        raise refuse(50003)
    return found.payload()


def delete_channel(world: World, request: Request) -> Answer:
    found = world.find_channel(request.id("channel_id"))
    posting.require(found, world.bot)
    if isinstance(found, Thread):
        posting.require(found, world.bot, "manage_threads")
        found.delete()
    elif isinstance(found, GuildChannel):
        posting.require(found, world.bot, "manage_channels")
        found.delete()
    return found.payload()


def thread_from_message(world: World, request: Request) -> Answer:
    parent = world.find_channel(request.id("channel_id"))
    posting.require(parent, world.bot)
    message = world.find_message(parent, request.id("message_id"))
    return _created(world, threads.from_message(world, message, world.bot, request.body["name"]))


def thread(world: World, request: Request) -> Answer:
    parent = world.find_guild_channel(request.id("channel_id"))
    if "message" in request.body:
        draft = new_draft(world, parent, request.body["message"], request)
        post, message = threads.forum_post(world, parent, world.bot, request.body["name"], draft)
        reply = _created(world, post)
        reply.json["message"] = shown(world, message)
        return reply
    private = request.body.get("type", PRIVATE_THREAD) == PRIVATE_THREAD
    made = threads.without_message(world, parent, world.bot, request.body["name"], private=private)
    return _created(world, made)


def _created(world: World, made: Thread) -> Reply:
    return Reply(201, made.payload() | {"member": payloads.thread_member(made, world.bot)})


def _visible_thread(world: World, request: Request) -> Thread:
    found = world.find_thread(request.id("channel_id"))
    posting.require(found, world.bot)
    return found


def _person(world: World, request: Request) -> User:
    return world.find_user(request.id("user_id"))


def join_thread(world: World, request: Request) -> Answer:
    _visible_thread(world, request).add(world.bot)
    return NO_CONTENT


def leave_thread(world: World, request: Request) -> Answer:
    _visible_thread(world, request).remove(world.bot)
    return NO_CONTENT


def add_to_thread(world: World, request: Request) -> Answer:
    _visible_thread(world, request).add(_person(world, request))
    return NO_CONTENT


def remove_from_thread(world: World, request: Request) -> Answer:
    _visible_thread(world, request).remove(_person(world, request))
    return NO_CONTENT


def thread_members(world: World, request: Request) -> Answer:
    found = _visible_thread(world, request)
    known: list[Json] = [payloads.thread_member(found, world.users[n]) for n in found.members]
    return known


def thread_member(world: World, request: Request) -> Answer:
    found, person = _visible_thread(world, request), _person(world, request)
    if person.id not in found.members:
        raise refuse(10007)
    return payloads.thread_member(found, person)
