"""Messages under agents' own names, through a webhook of the channel.

Webhooks have no nonce, so a request without an answer must not be repeated before the history was checked. discord.py
repeats it (after 5xx) itself; therefore we send the request ourselves.
"""

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import discord
from discord.http import Route

from memory.queue.message_files import File
from memory.store.faults import call_point, outside
from memory.store.logs import Log
from memory.store.recent_values import RecentValues
from sources.base import DeliveryFailed, DeliveryUnclear
from sources.discord import send_failures
from sources.discord.send_failures import REFUSED
from sources.discord.shared_state import SharedState
from sources.names import flatten
from sources.outgoing_text import seen
from texts import gettext_lazy

log = Log(__name__)

HOOKS = call_point("discord.webhooks")
EXECUTE = call_point("discord.webhook_send")
CHANGE = call_point("discord.webhook_change")

SECONDS = 15.0
NONE_FOR = 600.0
"""Seconds for which a channel without a webhook of ours is not checked again."""

HOOK_NAME = "Carina"
SUPPRESS_EMBEDS = 1 << 2
UNKNOWN_WEBHOOK, INVALID_WEBHOOK_TOKEN = 10015, 50027


@dataclass(frozen=True)
class Hook:
    """A webhook of ours, and the thread below its channel, if any."""

    id: int
    token: str = field(repr=False)
    channel: int
    thread: int | None = None


def shown_name(speaker: str) -> str:
    """The agent's name as a webhook may carry it."""
    return re.sub(r"(?i)disc(?=ord)|cly(?=de)", lambda found: found[0] + "·", flatten(speaker, 76))


class Webhooks:
    """The webhooks of channels, found or created on first use."""

    def __init__(self, state: SharedState) -> None:
        self._state = state
        self._hooks: RecentValues[int, tuple[float, Hook | None]] = RecentValues(1_000)

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
        self._state.hooks.put(hook.id, None)
        return Hook(hook.id, hook.token, channel.id) if hook.token else None

    async def say(self, hook: Hook, payload: Mapping[str, Any], files: Sequence[File]) -> int | None:
        """Send once; returns the message id, None if the webhook is not permitted to. Never repeats anything."""
        status, body = await self._post(hook, payload, files)
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
                raise send_failures.refusal(429, 0, "", str(body.get("retry_after") or ""))
            case _ if status < 500:
                raise send_failures.refusal(status, int(body.get("code") or 0), str(body.get("message") or ""))
            case _:
                raise DeliveryUnclear(gettext_lazy("Discord answered {status}", status=status))

    async def edit(self, hook: Hook, message: int, text: str) -> None:
        """Raises the errors of a request to Discord."""
        call = self._partial(hook).edit_message(
            message, content=text, allowed_mentions=discord.AllowedMentions.none(), thread=_thread(hook)
        )
        await outside(CHANGE, call, SECONDS)

    async def withdraw(self, hook: Hook, message: int) -> None:
        """Raises the errors of a request to Discord."""
        await outside(CHANGE, self._partial(hook).delete_message(message, thread=_thread(hook)), SECONDS)

    def _partial(self, hook: Hook) -> discord.Webhook:
        return discord.Webhook.partial(hook.id, hook.token, client=self._state.client or discord.utils.MISSING)

    async def _post(self, hook: Hook, payload: Mapping[str, Any], files: Sequence[File]) -> tuple[int, dict[str, Any]]:
        began = time.monotonic()
        try:
            return await outside(EXECUTE, self._answer(hook, payload, files), SECONDS)
        except REFUSED as why:
            raise send_failures.verdict(why, time.monotonic() - began) from why

    async def _answer(
        self, hook: Hook, payload: Mapping[str, Any], files: Sequence[File]
    ) -> tuple[int, dict[str, Any]]:
        form = aiohttp.FormData(quote_fields=False, default_to_multipart=True)
        form.add_field("payload_json", json.dumps(payload), content_type="application/json")
        for number, file in enumerate(files):
            form.add_field(f"files[{number}]", seen(file.text).encode(), filename=file.name)
        url = f"{Route.BASE}/webhooks/{hook.id}/{hook.token}"
        query = {"wait": "true"} | ({} if hook.thread is None else {"thread_id": str(hook.thread)})
        async with (
            aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http,
            http.post(url, params=query, data=form) as answer,
        ):
            text = await answer.text()
        try:
            body = json.loads(text)
        except ValueError:
            body = {}
        return answer.status, body if isinstance(body, dict) else {}


def _thread(hook: Hook) -> Any:
    return discord.utils.MISSING if hook.thread is None else discord.Object(hook.thread)
