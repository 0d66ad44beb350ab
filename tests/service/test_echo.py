"""A model that repeats lines of its prompt, as small ones do: over sockets, what people get is its own words."""

from pathlib import Path

import pytest

from tests.service.bluesky import skies
from tests.service.live_service import Live
from tests.wire.model import Answer, Request

HEARD = "[now in general; your answer is heard by: this server]"
MEMORY = '<block:human permission="read_write" readers="this server">\nTea, not coffee.\n</block:human>'


def repeated(request: Request) -> str:
    """The prompt's last message down to the line that says who speaks."""
    head, _, _ = request.last_user.rpartition("\n")
    return head


@pytest.mark.asyncio(loop_scope="module")
async def test_on_discord_no_line_of_the_prompt_is_seen_not_even_while_it_is_written(scripted: Live) -> None:
    channel = scripted.guild.text_channel("general-echo")
    scripted.model.default = lambda request: Answer(
        f"{MEMORY}\n{repeated(request)}\nHello Annie.\n{HEARD}", chunks=60, pace=0.1
    )
    said = await scripted.ana.say(channel, "<@bot> hello")
    await channel.wait_for_bot(lambda message: message.text == "Hello Annie.", after=said)
    shown = "\n".join(each.content for each in channel.log if each.from_bot)
    assert channel.log
    assert not [mark for mark in ("heard by", "UTC", "[now", "block:", "Tea") if mark in shown]


async def test_on_bluesky_neither(tmp_path: Path) -> None:
    async with skies(tmp_path) as sky:
        sky.model.default = lambda request: Answer(
            f"{repeated(request)}\nHello Ana.\n\n[now in x; your answer is heard by: y]"
        )
        await sky.service.start()
        sky.mention("hello")
        answer = await sky.server.wait_for_post(sky.bot)
    assert answer.text == "Hello Ana."
