"""Whether the bot's account on Discord can do its work: token, intents, permissions, owner. Nothing is changed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import discord
from discord.http import Route
from pydantic import SecretStr

from memory.store.faults import call_point, outside
from sources.discord.connection import ungranted
from sources.discord.markup import PERMISSIONS, invite_url
from sources.discord.send_failures import REFUSED
from sources.findings import Finding, State
from sources.text import one_line
from texts import _, gettext_lazy, ngettext

_ASK = call_point("discord.examine")
_SECONDS = 15.0
_SHOWN = 10
_PORTAL = "https://discord.com/developers/applications"


def gateway_url() -> str:
    """A URL that answers anybody and changes nothing."""
    return f"{Route.BASE}/gateway"


async def examine(token: SecretStr, owner: str) -> list[Finding]:
    """Ask Discord about the account, without taking its place at the gateway."""
    client = discord.Client(intents=discord.Intents(guilds=True))  # without guilds discord.py warns; none are heard
    try:
        await outside(_ASK, client.login(token.get_secret_value()), _SECONDS)
        return await _account(client, owner)
    except discord.LoginFailure:
        remedy = _("create a new token at {portal} (Bot, Reset Token) and set DISCORD_TOKEN", portal=_PORTAL)
        return [Finding("Discord", State.PROBLEM, _("Discord refused the token"), remedy)]
    except REFUSED as why:
        words = _("it cannot be reached: {why}", why=str(why) or type(why).__name__)
        return [Finding("Discord", State.PROBLEM, words, _("check the network, and https://discordstatus.com"))]
    finally:
        await client.http.close()  # also where the login failed, when discord.py does not count the client as open
        await client.close()


async def _account(client: discord.Client, owner: str) -> list[Finding]:
    application = await outside(_ASK, client.application_info(), _SECONDS)
    guilds = await outside(_ASK, client.http.get_guilds(200), _SECONDS)
    where = ngettext("{count} server", "{count} servers", len(guilds))
    return [
        Finding(
            "Discord", State.GOOD, _("the token belongs to {user}, a member of {where}", user=client.user, where=where)
        ),
        *_intents(application.flags),
        *_servers(guilds, application.id),
        *await _owner(client, owner),
    ]


def _intents(flags: discord.ApplicationFlags) -> Iterator[Finding]:
    remedy = _("turn it on at {portal} (Bot, Privileged Gateway Intents) and restart", portal=_PORTAL)
    missing = ungranted(flags)
    if "message_content" in missing:
        words = _("Message Content is off: only mentions, replies and direct messages are understood")
        yield Finding("Discord intents", State.DOUBT, words, remedy)
    if "members" in missing:
        words = _(
            "Server Members is off: it takes a while to notice that somebody left a server, and "
            "roles are read only when somebody writes"
        )
        yield Finding("Discord intents", State.DOUBT, words, remedy)


def _servers(guilds: Sequence[Mapping[str, Any]], application: int) -> Iterator[Finding]:
    if not guilds:
        words = _("the bot is not on any server: it can be reached only by direct message")
        yield Finding("Discord servers", State.DOUBT, words, _("open {url}", url=invite_url(application)))
    lacking = [(guild["name"], missing) for guild in guilds if (missing := _missing(int(guild["permissions"])))]
    for name, missing in lacking[:_SHOWN]:
        remedy = _("give its role these permissions, or invite it again: {url}", url=invite_url(application))
        about = gettext_lazy("Discord server {name}", name=one_line(name, 60))
        yield Finding(about, State.DOUBT, _("the bot lacks {missing}", missing=", ".join(missing)), remedy)
    if len(lacking) > _SHOWN:
        yield Finding(
            "Discord servers", State.DOUBT, _("{count} more where permissions are missing", count=len(lacking) - _SHOWN)
        )


def _missing(given: int) -> list[str]:
    """The names of the permissions that the bot is invited with but lacks in a server."""
    held = discord.Permissions(given)
    if held.administrator:
        return []
    wanted = discord.Permissions(PERMISSIONS)
    return [name.replace("_", " ") for name, needed in wanted if needed and not getattr(held, name)]


async def _owner(client: discord.Client, owner: str) -> list[Finding]:
    if not owner:
        remedy = _(
            "set DISCORD_OWNER_ID to your user ID, so that you get approval requests and can use the owner's commands"
        )
        return [Finding("Discord owner", State.UNSET, _("no Discord account is set as the owner"), remedy)]
    try:
        user = await outside(_ASK, client.fetch_user(int(owner)), _SECONDS)
    except discord.NotFound:
        remedy = _("copy your user ID from Discord (developer mode, right-click your name) into DISCORD_OWNER_ID")
        return [Finding("Discord owner", State.PROBLEM, _("there is no user {owner}", owner=owner), remedy)]
    if user.bot:
        words, remedy = _("{user} is a bot", user=user), _("set DISCORD_OWNER_ID to the ID of your own account")
        return [Finding("Discord owner", State.PROBLEM, words, remedy)]
    return [Finding("Discord owner", State.GOOD, _("{user} is the owner", user=user))]
