"""Where and with whom it talks, and under which name: modes, allow and deny lists, threads, webhooks."""

from pathlib import Path

import pytest

from tests.service.approvals.approvals import started
from tests.service.live_service import Live, live_service, may_wake_somebody, until
from tests.wire.discord import Channel, Message
from tests.wire.model import Answer

shared = pytest.mark.asyncio(loop_scope="module")


async def test_a_mention_opens_a_thread_where_that_is_wanted(tmp_path: Path) -> None:
    async with started(tmp_path, "merge_seconds = 0\nauto_thread = true", scripted=False) as t:
        said = await t.ana.say(t.general, "<@bot> remember that my bike is blue")
        await until(lambda: t.guild.threads and answers(t.guild.threads[0]))
        (thread,) = t.guild.threads
        assert "blue" in answers(thread)[0].text
        assert answers(t.general) == []
        assert said.thread is thread
        assert "blue" in (await t.ask(t.ana, thread, "which color is my bike?")).text


async def test_a_channel_of_the_owner_may_use_what_the_owner_said_in_private(tmp_path: Path) -> None:
    async with live_service(tmp_path) as t:
        den = t.guild.text_channel("den", private=True, members=[t.olga])
        t.configure(f"merge_seconds = 0\nowner_places = [{den.id}]")
        await t.service.start()
        await t.ask(t.olga, t.olga.direct, "remember that my safe is under the stairs")
        assert "stairs" in (await t.ask(t.olga, den, "<@bot> where is my safe?")).text
        assert "stairs" not in (await t.ask(t.olga, t.general, "<@bot> where is my safe?")).text


@pytest.mark.parametrize("length", [20, 4_500, 30_000])
@shared
async def test_agents_speak_under_their_names_through_a_webhook(named: Live, length: int) -> None:
    channel = named.guild.text_channel(f"names-{length}")
    text = f"@everyone {named.olga.mention} " + "word " * (length // 5) + "end"
    named.model.script(Answer(text), Answer("again"))
    said = await named.ana.say(channel, "<@bot> hello")
    await channel.wait_for_bot(lambda m: "end" in m.text or bool(m.attachments), after=said)
    answer = await named.ask(named.ana, channel, "and?", reply_to=answers(channel)[0], ping=False)
    assert answer.text == "again"
    spoken = answers(channel)
    assert {message.author_name for message in spoken} == {"Vega"}
    assert all(message.webhook is not None and message.webhook.channel is channel for message in spoken)
    assert not any(message.mention_everyone or message.mentions for message in spoken)
    if length < 10_000:
        assert " ".join(message.content for message in spoken[:-1]).split() == text.split()
    else:
        assert spoken[1].attachments[0].data.decode() == text
    hooks = [request for request in named.server.requests if request.path.startswith("/webhooks/")]
    assert hooks
    assert not any(map(may_wake_somebody, hooks))


def answers(channel: Channel) -> list[Message]:
    """What the bot said there, without notices of the platform."""
    return [message for message in channel.from_bot if message.text or message.attachments]
