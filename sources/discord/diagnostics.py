"""Whether the bot's account on Discord can do its work: token, intents, permissions, owner. Nothing is changed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import discord
from discord.http import Route
from pydantic import SecretStr

from memory.store.faults import call_point, outside
from sources.diagnostics import Finding, State
from sources.discord.invite import PERMISSIONS, invite_url
from sources.discord.shared_state import REFUSED
from sources.text import one_line

_ASK = call_point("discord.examine")
_SECONDS = 15.0
_FEW_STARTS = 20  # of the 1,000 sessions a day; one is taken by each start and each lost connection
_SHOWN = 10
_PORTAL = "https://discord.com/developers/applications"


def gateway_url() -> str:
    """What answers anybody, and changes nothing."""
    return f"{Route.BASE}/gateway"


async def examine(token: SecretStr, owner: str) -> list[Finding]:
    """Ask Discord about the account, without taking its place at the gateway."""
    client = discord.Client(intents=discord.Intents(guilds=True))  # without guilds discord.py warns; none are heard
    try:
        await outside(_ASK, client.login(token.get_secret_value()), _SECONDS)
        return await _account(client, owner)
    except discord.LoginFailure:
        remedy = f"make a new token at {_PORTAL} (Bot, Reset Token) and set DISCORD_TOKEN"
        return [Finding("Discord", State.PROBLEM, "Discord refuses the token", remedy)]
    except REFUSED as why:
        if client.user is None:
            words = f"it cannot be reached: {str(why) or type(why).__name__}"
            return [Finding("Discord", State.PROBLEM, words, "see to the network, and https://discordstatus.com")]
        words = f"it stopped answering: {str(why) or type(why).__name__}"
        return [Finding("Discord", State.PROBLEM, words, "try again; see https://discordstatus.com")]
    finally:
        await client.http.close()  # also where the login failed, when discord.py does not count the client as open
        await client.close()


async def _account(client: discord.Client, owner: str) -> list[Finding]:
    application = await outside(_ASK, client.application_info(), _SECONDS)
    guilds = await outside(_ASK, client.http.get_guilds(200), _SECONDS)
    gateway = await outside(_ASK, client.http.request(Route("GET", "/gateway/bot")), _SECONDS)
    where = "1 server" if len(guilds) == 1 else f"{len(guilds)} servers"
    return [
        Finding("Discord", State.GOOD, f"the token is that of {client.user}, a member of {where}"),
        *_intents(application.flags),
        *_servers(guilds, application.id),
        *_starts(gateway["session_start_limit"]),
        *await _owner(client, owner),
    ]


def _intents(flags: discord.ApplicationFlags) -> Iterator[Finding]:
    remedy = f"switch it on at {_PORTAL} (Bot, Privileged Gateway Intents) and start again"
    if not (flags.gateway_message_content or flags.gateway_message_content_limited):
        words = "Message Content is off: only mentions, replies and direct messages are understood"
        yield Finding("Discord intents", State.DOUBT, words, remedy)
    if not (flags.gateway_guild_members or flags.gateway_guild_members_limited):
        words = "Server Members is off: who left a server is noticed late, roles are read when somebody speaks"
        yield Finding("Discord intents", State.DOUBT, words, remedy)


def _servers(guilds: Sequence[Mapping[str, Any]], application: int) -> Iterator[Finding]:
    if not guilds:
        words = "the bot is in no server: it can be reached by direct messages alone"
        yield Finding("Discord servers", State.DOUBT, words, f"open {invite_url(application)}")
    lacking = [(guild["name"], missing) for guild in guilds if (missing := _missing(int(guild["permissions"])))]
    for name, missing in lacking[:_SHOWN]:
        remedy = f"give its role these permissions, or invite it again: {invite_url(application)}"
        about = f"Discord server {one_line(name, 60)}"
        yield Finding(about, State.DOUBT, f"the bot lacks {', '.join(missing)}", remedy)
    if len(lacking) > _SHOWN:
        yield Finding("Discord servers", State.DOUBT, f"{len(lacking) - _SHOWN} more where permissions are missing")


def _missing(given: int) -> list[str]:
    """The permissions of those it is invited with that it has not in a server, by their names."""
    held = discord.Permissions(given)
    if held.administrator:
        return []
    wanted = discord.Permissions(PERMISSIONS)
    return [name.replace("_", " ") for name, needed in wanted if needed and not getattr(held, name)]


def _starts(limit: Mapping[str, int]) -> Iterator[Finding]:
    if limit["remaining"] < _FEW_STARTS:
        hours = limit["reset_after"] / 3_600_000
        words = f"{limit['remaining']} of {limit['total']} starts are left for the next {hours:.0f} hours"
        yield Finding("Discord starts", State.DOUBT, words, "find out what starts the service over and over")


async def _owner(client: discord.Client, owner: str) -> list[Finding]:
    if not owner:
        remedy = "set DISCORD_OWNER_ID to your user id, so that approvals reach you and commands obey you"
        return [Finding("Discord owner", State.UNSET, "nobody on Discord is the owner", remedy)]
    try:
        user = await outside(_ASK, client.fetch_user(int(owner)), _SECONDS)
    except discord.NotFound:
        remedy = "copy your user id in Discord (developer mode, right click on yourself) into DISCORD_OWNER_ID"
        return [Finding("Discord owner", State.PROBLEM, f"there is no user {owner}", remedy)]
    if user.bot:
        words, remedy = f"{user} is a bot", "set DISCORD_OWNER_ID to the id of your own account"
        return [Finding("Discord owner", State.PROBLEM, words, remedy)]
    return [Finding("Discord owner", State.GOOD, f"{user} is the owner")]
