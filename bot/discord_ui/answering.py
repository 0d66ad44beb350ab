"""Answering interactions: promised within Discord's three seconds, seen by who asked alone, long texts as a file."""

import io
from collections.abc import Awaitable
from typing import Any, TypeAlias

import discord
import structlog

from bot.errors import UserError
from sources.discord.link import REFUSED

Interaction: TypeAlias = discord.Interaction[Any]

LONGEST = 1_900
"""Characters of an answer; what is longer goes into a file."""

_log = structlog.get_logger(__name__)


async def defer(interaction: Interaction) -> bool:
    """Tell Discord that an answer is coming; False when it is too late, and then nothing is done."""
    try:
        await interaction.response.defer(ephemeral=True, thinking=True)
    except discord.NotFound:
        _log.warning("interaction_too_late", hint="it was given more than 3 seconds ago; nothing was done")
        return False
    except REFUSED as why:
        _log.warning("interaction_unanswered", reason=str(why), hint="nothing was done; it can be done again")
        return False
    return True


async def tell(interaction: Interaction, text: str, *, file_name: str = "answer.md", **more: Any) -> None:
    """Answer who asked. When that cannot be said any more, what was done stands nevertheless.

    `more` goes to Discord as it is (a view, a file of one's own); `file_name` is that of a text that is too long.
    """
    if len(text) > LONGEST:
        more.setdefault("file", discord.File(io.BytesIO(text.encode()), filename=file_name))
        text = f"{text[:LONGEST]}\n(the whole of it is in the file)"
    try:
        await interaction.followup.send(text, ephemeral=True, **more)
    except REFUSED as why:
        _log.warning("interaction_unanswered", reason=str(why), hint="what was done stands")


async def answer(interaction: Interaction, work: Awaitable[str], *, file_name: str = "answer.md") -> None:
    """Tell what came of something, or why it may not or cannot be; to be given what was not begun yet."""
    try:
        words = await work
    except UserError as error:
        words = str(error)
    await tell(interaction, words, file_name=file_name)
