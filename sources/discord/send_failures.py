"""What a failed request means for the message that was to be sent."""

from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp
import discord

from sources.base import DeliveryFailed, DeliveryUnclear
from texts import gettext_lazy

REFUSED = (discord.HTTPException, discord.RateLimited, aiohttp.ClientError, OSError, TimeoutError, RuntimeError)
"""Errors of a request to Discord: including `outside`'s timeout, and a closed session (RuntimeError)."""

REPEATED_AND_DELETED = 10008
NOT_OUR_MESSAGE = 50005
SOON = 5.0
SECOND_TRY = 0.9
"""discord.py waits at least a second before its retry: an earlier failure is that of its first try."""

WORDS = {
    10003: gettext_lazy("the channel no longer exists, or the bot cannot see it"),
    10004: gettext_lazy("the server no longer exists, or the bot left it"),
    10008: gettext_lazy("the message no longer exists"),
    10013: gettext_lazy("there is no such person"),
    50001: gettext_lazy("the bot cannot see that channel"),
    50006: gettext_lazy("the message is empty"),
    50007: gettext_lazy("this person does not accept direct messages from the bot"),
    50008: gettext_lazy("messages cannot be sent in that channel"),
    50013: gettext_lazy("the bot has no permission to do that there"),
    50083: gettext_lazy("the thread is archived and locked"),
    40005: gettext_lazy("the files are too large"),
    50033: gettext_lazy("this person does not accept direct messages from the bot"),
}


class DiscordUnreachable(DeliveryFailed):
    """Nothing was sent, because Discord is unreachable at the moment."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, retry_after=SOON, reached=False)


def verdict(why: Exception, elapsed: float) -> DeliveryFailed | DeliveryUnclear:
    """Whether a message was certainly not sent, or nobody knows; `elapsed` seconds after the call began."""
    match why:
        case discord.RateLimited():
            return DeliveryFailed(gettext_lazy("Discord asks the bot to wait"), retry_after=why.retry_after)
        case discord.HTTPException() if why.status < 500:
            return refusal(why.status, why.code, why.text, why.response.headers.get("Retry-After"))
        case discord.HTTPException():
            return DeliveryUnclear(gettext_lazy("Discord answered {status}", status=why.status))
        case aiohttp.ClientConnectorError() if elapsed < SECOND_TRY:
            return DiscordUnreachable(gettext_lazy("Discord cannot be reached"))
        case RuntimeError():
            return DiscordUnreachable(gettext_lazy("the connection to Discord is being closed"))
        case TimeoutError():
            return DeliveryUnclear(gettext_lazy("{name} did not answer in time", name="Discord"))
        case _:
            return DeliveryUnclear(gettext_lazy("the connection was lost before Discord answered"))


def refusal(status: int, code: int, text: str, retry_after: str | None = None) -> DeliveryFailed:
    """A status below 500: nothing was done."""
    if status == 429:
        return DeliveryFailed(gettext_lazy("Discord asks the bot to wait"), retry_after=_seconds(retry_after))
    return DeliveryFailed(
        WORDS.get(code)
        or gettext_lazy("Discord refused it ({status} {code}: {text})", status=status, code=code, text=text[:200])
    )


def _seconds(text: str | None) -> float:
    try:
        return max(1.0, float(text or SOON))
    except ValueError:
        return SOON


@contextmanager
def repeatable() -> Iterator[None]:
    """For requests that can simply be repeated: their errors become DeliveryFailed."""
    try:
        yield
    except REFUSED as why:
        outcome = verdict(why, 0)
        if isinstance(outcome, DeliveryFailed):
            raise outcome from why
        raise DeliveryFailed(outcome.reason, retry_after=SOON, reached=False) from why
