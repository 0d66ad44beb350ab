"""Messages under agents' own names, through a webhook of the channel.

Webhooks have no nonce, so a request without an answer must not be repeated before the history was checked. discord.py
repeats it (after 5xx) itself; therefore we send the request ourselves.
"""

import json
import re
import time
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import discord
from discord.http import Route

from memory.store.faults import call_point, outside
from memory.store.logs import Log
from memory.store.recent import Recent
from sources.base import DeliveryFailed, DeliveryUnclear, OutFile
from sources.discord import outcomes
from sources.discord.shared_state import REFUSED, Link
from sources.outgoing import seen
from sources.text import flatten
from texts import gettext_lazy

log = Log(__name__)

HOOKS = call_point("discord.webhooks")
EXECUTE = call_point("discord.webhook_send")
CHANGE = call_point("discord.webhook_change")

SECONDS = 15.0
NONE_FOR = 600.0
"""Seconds for which a channel without a webhook of ours is not checked again."""

HOOK_NAME = "Carina"
NO_MENTIONS: dict[str, Any] = {"parse": []}
SUPPRESS_EMBEDS = 1 << 2
UNKNOWN_WEBHOOK, INVALID_WEBHOOK_TOKEN = 10015, 50027


@dataclass(frozen=True)
class Hook:
    """A webhook of ours, and the thread below its channel, if any."""

    id: int
    token: str = field(repr=False)
    channel: int
    thread: int | None = None

    @property
    def url(self) -> str:
        return f"{Route.BASE}/webhooks/{self.id}/{self.token}"

    @property
    def query(self) -> dict[str, str]:
        return {} if self.thread is None else {"thread_id": str(self.thread)}


@dataclass(frozen=True)
class Words:
    name: str
    text: str
    mentions: dict[str, Any]
    quiet_links: bool
    files: tuple[OutFile, ...] = ()
    avatar: str = ""

    def payload(self) -> dict[str, Any]:
        flags = SUPPRESS_EMBEDS if self.quiet_links else 0
        shown = {"avatar_url": self.avatar} if self.avatar else {}
        return {
            "content": self.text,
            "username": self.name,
            **shown,
            "allowed_mentions": self.mentions,
            "flags": flags,
        }


def shown_name(speaker: str) -> str:
    """The agent's name as a webhook may carry it."""
    return re.sub(r"(?i)disc(?=ord)|cly(?=de)", lambda found: found[0] + "·", flatten(speaker, 76))


class Webhooks:
    """The webhooks of channels, found or created on first use."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._hooks: Recent[int, tuple[float, Hook | None]] = Recent(1_000)
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def hook(self, channel: Any) -> Hook | None:
        """Our webhook for a channel or thread; None if there can be none."""
        parent = channel.parent if isinstance(channel, discord.Thread) else channel
        thread = channel.id if isinstance(channel, discord.Thread) else None
        fitting = discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.ForumChannel
        if not isinstance(parent, fitting) or parent.guild.me is None:
            return None
        known = self._hooks.get(parent.id)
        if known is None or (known[1] is None and time.monotonic() - known[0] > NONE_FOR):
            known = self._hooks.put(parent.id, (time.monotonic(), await self._make(parent)))
        hook = known[1]
        return Hook(hook.id, hook.token, hook.channel, thread) if hook else None

    async def _make(self, channel: Any) -> Hook | None:
        me = channel.guild.me
        if not channel.permissions_for(me).manage_webhooks:
            return None
        try:
            hooks: list[discord.Webhook] = await outside(HOOKS, channel.webhooks(), SECONDS)
            ours = [hook for hook in hooks if hook.token and hook.user is not None and hook.user.id == me.id]
            hook = ours[0] if ours else await outside(HOOKS, channel.create_webhook(name=HOOK_NAME), SECONDS)
        except REFUSED as why:
            log.info("webhook_unavailable", channel=channel.id, reason=str(why))
            return None
        self._link.hooks.put(hook.id, None)
        return Hook(hook.id, hook.token, channel.id) if hook.token else None

    async def say(self, hook: Hook, words: Words) -> int | None:
        """Send once; returns the message id, None if the webhook is not permitted to. Never repeats anything."""
        query = hook.query | {"wait": "true"}
        status, body = await self._request(EXECUTE, "POST", hook.url, query=query, data=_form(words))
        match status:
            case 200:
                return int(body["id"])
            case 401 | 404 if body.get("code") in (UNKNOWN_WEBHOOK, INVALID_WEBHOOK_TOKEN):
                self._hooks.put(hook.channel, (time.monotonic() - 2 * NONE_FOR, None))
                raise DeliveryFailed(gettext_lazy("the webhook is gone"), retry_after=1.0)
            case 400 | 403:
                log.info("webhook_refused", channel=hook.channel, answer=body)
                return None
            case 429:
                raise outcomes.refusal(429, 0, "", str(body.get("retry_after") or ""))
            case _ if status < 500:
                raise outcomes.refusal(status, int(body.get("code") or 0), str(body.get("message") or ""))
            case _:
                raise DeliveryUnclear(gettext_lazy("Discord answered {status}", status=status))

    async def edit(self, hook: Hook, message: int, text: str) -> None:
        await self._change(hook, "PATCH", message, json.dumps({"content": text, "allowed_mentions": NO_MENTIONS}))

    async def withdraw(self, hook: Hook, message: int) -> None:
        await self._change(hook, "DELETE", message, None)

    async def _change(self, hook: Hook, method: str, message: int, data: str | None) -> None:
        url = f"{hook.url}/messages/{message}"
        try:
            status, body = await self._request(CHANGE, method, url, query=hook.query, data=data)
        except DeliveryUnclear as why:
            raise DeliveryFailed(why.reason, retry_after=outcomes.SOON, reached=False) from why
        if status >= 500:
            raise DeliveryFailed(
                gettext_lazy("Discord answered {status}", status=status), retry_after=outcomes.SOON, reached=False
            )
        if status >= 400 and not (method == "DELETE" and status == 404):
            waiting = str(body.get("retry_after") or "")
            raise outcomes.refusal(status, int(body.get("code") or 0), str(body.get("message") or ""), waiting)

    async def _request(
        self, point: Any, method: str, url: str, *, query: dict[str, str], data: Any
    ) -> tuple[int, dict[str, Any]]:
        began = time.monotonic()
        try:
            return await outside(point, self._answer(method, url, query, data), SECONDS)
        except REFUSED as why:
            raise outcomes.verdict(why, time.monotonic() - began) from why

    async def _answer(self, method: str, url: str, query: dict[str, str], data: Any) -> tuple[int, dict[str, Any]]:
        self._session = self._session or aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar())
        headers = {"Content-Type": "application/json"} if isinstance(data, str) else {}
        async with self._session.request(method, url, params=query, data=data, headers=headers) as answer:
            text = await answer.text()
        try:
            body = json.loads(text)
        except ValueError:
            body = {}
        return answer.status, body if isinstance(body, dict) else {}


def _form(words: Words) -> Any:
    """The body: JSON, or a form when files come with it."""
    payload = json.dumps(words.payload())
    if not words.files:
        return payload
    form = aiohttp.FormData(quote_fields=False)
    form.add_field("payload_json", payload, content_type="application/json")
    for number, file in enumerate(words.files):
        form.add_field(f"files[{number}]", seen(file.text).encode(), filename=file.name)
    return form
