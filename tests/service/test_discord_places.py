"""Where and with whom it talks, and under which name: modes, allow and deny lists, threads, webhooks."""

from pathlib import Path

import pytest

from tests.service.live_service import Live, live_service, may_wake_somebody, until
from tests.wire.discord import Channel, Message
from tests.wire.model import Answer, text_of

shared = pytest.mark.asyncio(loop_scope="module")


async def test_each_channel_has_its_mode_and_its_threads_inherit_it(tmp_path: Path) -> None:
    async with live_service(tmp_path, scripted=True) as t:
        open_, off = t.guild.text_channel("open"), t.guild.text_channel("off")
        listening, plain = t.guild.text_channel("listening"), t.guild.text_channel("plain")
        modes = f'{open_.id} = "open"\n{off.id} = "off"\n{listening.id} = "listen"\n'
        t.configure(f"merge_seconds = 0\n[discord.modes]\n{modes}")
        t.model.default = lambda request: Answer(f"heard {len(request.messages)}")
        await t.service.start()

        assert (await t.ask(t.ana, open_, "nobody is named here")).text
        thread = await t.ana.thread(open_, "below open")
        assert (await t.ask(t.ana, thread, "nor here")).text

        await t.ana.say(off, "<@bot> are you there?")
        await t.ana.say(plain, "this is for others")
        await t.ana.say(listening, "the picnic is on Saturday")
        assert (await t.ask(t.ana, plain, "<@bot> hello")).text
        assert (await t.ask(t.ana, listening, "<@bot> when is it?")).text
        assert off.from_bot == []
        assert len(listening.from_bot) == len(plain.from_bot) == 1
        heard = ["\n".join(map(text_of, request.messages)) for request in t.model.requests]
        assert "the picnic is on Saturday" in heard[-1]
        assert not any("this is for others" in text for text in heard[:-2])
        assert not any("are you there" in text for text in heard)
        await t.service.stop()


async def test_lists_decide_who_is_answered(tmp_path: Path) -> None:
    async with live_service(tmp_path) as t:
        role, banned = t.guild.role("friends"), t.guild.role("banned")
        friend, stranger, rude = t.member("Friend"), t.member("Stranger"), t.member("Rude")
        t.guild.change(friend, roles=[role])
        t.guild.change(rude, roles=[role, banned])
        t.configure(
            f"merge_seconds = 0\n[discord.allow]\npersons = [{t.ana.id}]\nroles = [{role.id}]\n"
            f"[discord.deny]\nroles = [{banned.id}]\n"
        )
        await t.service.start()
        await stranger.say(t.general, "<@bot> hello")
        await rude.say(t.general, "<@bot> hello")
        await stranger.dm("hello")
        for person in (t.ana, friend, t.olga):
            answer = await t.ask(person, t.general, "<@bot> hello")
            assert answers(t.general)[-1] is answer
        assert len(answers(t.general)) == 3
        assert (await t.ask(t.ana, t.ana.direct, "hello")).text
        assert answers(stranger.direct) == []
        await t.service.stop()


async def test_a_guild_that_is_not_on_the_list_is_not_answered(tmp_path: Path) -> None:
    async with live_service(tmp_path) as t:
        elsewhere = t.server.guild("Elsewhere")
        guest = t.server.person("guest")
        elsewhere.add(guest)
        elsewhere.add(t.olga)
        there = elsewhere.text_channel("there")
        t.configure(f"merge_seconds = 0\n[discord.allow]\nguilds = [{t.guild.id}]\n")
        await t.service.start()
        await guest.say(there, "<@bot> hello")
        assert (await t.ask(t.olga, there, "<@bot> hello")).text, "the owner may everywhere"
        assert (await t.ask(t.ana, t.general, "<@bot> hello")).text
        assert len(answers(there)) == 1
        await t.service.stop()


async def test_a_mention_opens_a_thread_where_that_is_wanted(tmp_path: Path) -> None:
    async with live_service(tmp_path) as t:
        t.configure("merge_seconds = 0\nauto_thread = true")
        await t.service.start()
        said = await t.ana.say(t.general, "<@bot> remember that my bike is blue")
        await until(lambda: t.guild.threads and answers(t.guild.threads[0]))
        (thread,) = t.guild.threads
        assert "blue" in answers(thread)[0].text
        assert answers(t.general) == []
        assert said.thread is thread
        assert "blue" in (await t.ask(t.ana, thread, "which color is my bike?")).text
        await t.service.stop()


async def test_a_channel_of_the_owner_may_use_what_the_owner_said_in_private(tmp_path: Path) -> None:
    async with live_service(tmp_path) as t:
        den = t.guild.text_channel("den", private=True, members=[t.olga])
        t.configure(f"merge_seconds = 0\nowner_places = [{den.id}]")
        await t.service.start()
        await t.ask(t.olga, t.olga.direct, "remember that my safe is under the stairs")
        assert "stairs" in (await t.ask(t.olga, den, "<@bot> where is my safe?")).text
        assert "stairs" not in (await t.ask(t.olga, t.general, "<@bot> where is my safe?")).text
        await t.service.stop()


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


@shared
async def test_a_slow_answer_under_a_name_has_no_preview_under_another(named: Live) -> None:
    channel = named.guild.text_channel("slow-names")
    named.model.script(Answer("one two three four five six seven eight nine ten", chunks=16, pace=0.25))
    answer = await named.ask(named.ana, channel, "<@bot> count")
    assert answer.content.endswith("nine ten")
    assert [(entry.what, entry.author) for entry in channel.log if entry.from_bot] == [("create", "Vega")]


@shared
async def test_where_webhooks_are_not_allowed_the_name_stands_before_the_text(named: Live) -> None:
    channel = named.guild.text_channel("no-webhooks", webhooks=False)
    named.model.script(Answer("hello"), Answer("psst"))
    assert (await named.ask(named.ana, channel, "<@bot> hello")).content == "**Vega**: hello"
    assert (await named.ask(named.ana, named.ana.direct, "hello")).content == "**Vega**: psst"


def answers(channel: Channel) -> list[Message]:
    """What the bot said there, without notices of the platform."""
    return [message for message in channel.from_bot if message.text or message.attachments]
