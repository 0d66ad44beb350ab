"""How a channel is heard, who answers there and under which name: by command and by configuration."""

from pathlib import Path

import pytest

from tests.service.live_service import Live, live_service, may_wake_somebody, refused, started, until
from tests.wire.discord import Channel, Message
from tests.wire.discord.messages import parts
from tests.wire.model import Answer

SECRET = "Quetzalcoatl"
TWO = """
[[agents]]
name = "Star"
system_prompt = "You are Star."
[[agents]]
name = "Moon"
system_prompt = "You are Moon."
[[groups]]
name = "Day"
members = ["Star"]
default = true
[[groups]]
name = "Night"
members = ["Moon"]
"""


async def through(t: Live) -> None:
    """Wait until what was said before is through."""
    await t.talk(t.olga, t.olga.direct, "are you there?", "Yes, Olga.")


async def test_a_channels_mode_is_set_by_command_and_lasts(t: Live) -> None:
    side = t.guild.text_channel("side")
    seen = await t.olga.command("admin mode channel", None, side)
    assert "**mention**" in seen.shown.text
    assert "by default" in seen.text
    refused(await t.ana.command("admin mode channel", {"mode": "open"}, t.ana.direct), "Only an admin may")
    done = await t.olga.command("admin mode channel", {"mode": "open"}, side)
    assert f"by <@{t.olga.id}> with a command" in done.text
    assert done.text.endswith(f":R>, for <#{side.id}>).")
    await t.talk(t.ana, side, "anybody here?", "I hear you.")
    await t.service.restart(kill=True)
    await t.talk(t.ana, side, "and now?", "Still.")
    assert "**mention**" in (await t.olga.command("admin mode channel", None, t.general)).text, "elsewhere as before"

    await t.olga.command("admin mode channel", {"mode": "off", "channel": side}, t.general)
    await t.ana.say(side, f"<@bot> do you hear {SECRET}?")
    await through(t)
    assert len(side.from_bot) == 2
    assert t.holding(SECRET) == []
    back = await t.olga.command("admin mode channel", {"mode": "configured"}, side)
    assert "**mention**" in back.text
    await t.service.restart(kill=True)
    await t.talk(t.ana, side, "<@bot> hello", "Here.")
    assert t.holding(SECRET) == [], "what was said while it was off is not read after a restart either"
    refused(await t.olga.command("admin mode channel", {"mode": "configured"}, side), "No command has changed this")
    refused(await t.olga.command("admin mode channel", {"mode": "off"}), "I always answer direct messages")


async def test_a_group_is_sent_to_a_channel_and_to_a_server(tmp_path: Path) -> None:
    async with started(tmp_path, toml=TWO) as t:
        side = t.guild.text_channel("side")
        assert "The group **Day** answers here (by default)" in (await t.olga.command("admin route", None, side)).text
        refused(await t.ana.command("admin route", {"group": "Night"}, t.ana.direct), "Only an admin may")
        refused(
            await t.olga.command("admin route", {"group": "Dawn"}, side),
            "There is no group “Dawn”. Choose from: Day, Night.",
        )
        assert [each.value for each in await t.olga.autocomplete("admin route", "group", "ni", side)] == ["Night"]
        assert (
            "The group **Night** answers here (by <@"
            in (await t.olga.command("admin route", {"group": "night"}, side)).text
        )
        await t.service.restart()
        await t.olga.command("admin route", {"group": "Night", "reach": "server"}, t.general)
        await t.olga.command("admin route", {"group": "Day", "channel": side}, t.general)
        prompts = []
        for channel in (side, t.general):
            await t.talk(t.ana, channel, "<@bot> who are you?", "Yes.")
            prompts.append(t.model.requests[-1].body["messages"][0]["content"].split(".")[0])
        assert prompts == ["You are Star", "You are Moon"]
        back = await t.olga.command("admin route", {"group": "configured", "reach": "server"}, t.general)
        assert "The group **Day** answers here (by default)" in back.text


async def test_a_paused_source_hears_and_answers_nothing_until_it_is_resumed(t: Live) -> None:
    refused(await t.ana.command("owner source pause", {"source": "discord"}), "Only the owner may")
    paused = await t.olga.command("owner source pause", {"source": "discord"})
    assert "is paused" in paused.text
    refused(await t.olga.command("owner source pause", {"source": "Discord"}), "already paused")
    await t.ana.say(t.general, f"<@bot> do you hear {SECRET}?")
    refused(await t.ana.command("chat agent", {"name": "Carina", "text": SECRET}, t.general), "Discord is paused.")
    assert f"Discord: paused by <@{t.olga.id}>, <t:" in (await t.olga.command("owner source list")).text
    assert "; paused; " in (await t.olga.command("admin status")).text
    await t.service.stop()
    await t.ana.say(t.general, f"<@bot> and {SECRET} now?")
    await t.service.start()
    assert "paused; `carina source resume` ends that" in await t.service.said("status")
    assert [each["paused"] for each in await t.service.data("source", "list")] == [True, False]
    await t.service.said("chat", "--once", "hello from the terminal")
    assert "can't be paused" in await t.service.refused("source", "pause", "terminal")
    await until(lambda: t.server.gateway.presences[-1:] == [("dnd", ["Paused"])])
    assert t.general.from_bot == []
    assert not t.rows("SELECT 1 FROM messages WHERE content LIKE '%Quetzal%'")
    t.model.script(Answer("Now I do."), Answer("Now I do."))
    assert "I'm active on Discord again" in await t.service.said("source", "resume", "discord")
    await t.general.wait_for_bot(lambda m: m.text == "Now I do.")
    heard = "SELECT content FROM messages WHERE role = 'user' AND content LIKE '%Quetzal%' ORDER BY id"
    await until(lambda: len(t.rows(heard)) == 2, what="both messages to be read back")
    assert [text for (text,) in t.rows(heard)] == [f"do you hear {SECRET}?", f"and {SECRET} now?"]
    refused(await t.olga.command("owner source resume", {"source": "discord"}), "not paused")


def marked(page: Message) -> list[str]:
    """The values that its menus show as chosen, but for the page itself."""
    menus = [part for part in parts(page.components) if part["type"] == 3]
    return [each["value"] for menu in menus for each in menu["options"] if each.get("default")]


async def test_settings_are_pages_on_which_each_changes_what_is_theirs(tmp_path: Path) -> None:
    async with started(tmp_path, scripted=False) as t:
        told = (await t.ana.command("help", None, t.general)).shown
        await t.ana.select(told, "carina:help", "Your data")
        await until(lambda: "/privacy see" in told.text)
        assert "mentioning me" not in told.text
        own = (await t.ana.command("settings", None, t.general)).shown
        assert "Quiet hours: none" in own.text
        assert "where you ask an agent for them, but in direct messages if you use a command." in own.text
        task = {"text": "soup", "when": "in 20 minutes"}
        private = "It will arrive in a direct message."
        assert private in (await t.ana.command("remind me", task, t.general)).text
        assert private not in (await t.ana.command("remind me", {**task, "where": "here"}, t.general)).text
        assert private not in (await t.ana.command("remind me", task, t.ana.direct)).text
        assert marked(own) == []
        assert [part["custom_id"] for part in parts(own.components) if part["type"] == 3] == [
            "carina:set:quiet:reminders",
            "carina:set:language:language",
        ], "no group has states"
        await t.ana.select(own, "carina:set:quiet:reminders", "In direct messages")
        await until(lambda: "Reminders arrive in direct messages." in own.text)
        assert marked(own) == ["privately"]
        assert private in (await t.ana.command("remind me", {**task, "where": "here"}, t.general)).text, "so it is sent"
        await t.ana.select(own, "carina:set:language:language", "Deutsch")
        await until(lambda: "Sprache: Deutsch." in own.text)
        assert "Ruhezeit: keine" in (await t.ana.command("my quiet", None, t.general)).text
        await t.ana.select(own, "carina:set:language:language", "Automatisch")
        await until(lambda: "Language: English (automatic)." in own.text)
        form = await t.ana.press(own, "Change time zone and quiet hours")
        await t.ana.submit_modal(form, {"zone": "Asia/Tokyo", "begin": "22:30", "end": "7:00"})
        await until(lambda: "Time zone: Asia/Tokyo. Quiet hours: from 10:30 PM to 7:00 AM." in own.text)
        form = await t.ana.press(own, "Change time zone and quiet hours")
        assert form.modal
        opened = {name: each.get("value") for name, each in form.modal.inputs.items()}
        assert opened == {"zone": "Asia/Tokyo", "begin": "22:30", "end": "07:00"}
        await t.ana.submit_modal(form, {"zone": "Europe/Vienna", "begin": "", "end": " "})
        await until(lambda: "Time zone: Europe/Vienna. Quiet hours: none." in own.text)
        await t.ana.submit_modal(form, {"zone": "Mars/Olympus", "begin": "", "end": ""})
        await until(lambda: "This is what you wrote:\nMars/Olympus" in own.text)
        assert "Time zone: Europe/Vienna." in own.text
        form = await t.ana.press(own, "Change time zone and quiet hours")
        await t.ana.submit_modal(form, {"zone": "", "begin": "", "end": ""})
        await until(lambda: "(the default). Quiet hours: none." in own.text)
        pages = (await t.olga.command("settings", None, t.general)).shown
        await t.olga.select(pages, "carina:settings:page", "This channel")
        await until(lambda: "The mode here is" in pages.text)
        assert "The model here is **offline** (by default)" in pages.text
        assert marked(pages)[1:] == ["configured", "configured", "configured"]
        await t.olga.select(pages, "carina:set:model:model", "offline")
        await until(lambda: "The model here is **offline** (by <@" in pages.text)
        assert marked(pages)[1:] == ["configured", "configured", "offline"]
        await t.olga.select(pages, "carina:set:model:model", "As configured")
        await until(lambda: "The model here is **offline** (by default)" in pages.text)
        await t.olga.select(pages, "carina:set:mode.channel:mode", "Off")
        await until(lambda: "off" in pages.text.partition("The mode here is")[2].split(":")[0])
        (menu,) = (each for each in parts(pages.components) if each.get("custom_id") == "carina:set:model:model")
        menu["custom_id"] = "carina:set:gone:setting"  # as an earlier version drew it
        await t.olga.select(pages, "carina:set:gone:setting", "offline")
        await until(lambda: "This setting no longer exists." in pages.text)


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
        theirs = await t.olga.say(thread, f"{t.ana.mention} what is 2+2?")
        await t.ana.say(thread, "what is 3+3?", reply_to=theirs)
        assert "16" in (await t.ask(t.ana, thread, "what is 8+8?")).text
        assert len(answers(thread)) == 3, "what they say to each other is not answered"
        t.server.settings.locale = "de"
        blocks = (await t.ana.command("memory list", None, thread)).text
        assert f"`#{thread.name}" in blocks
        assert "Was über diesen Thread bekannt ist" in blocks
        assert "discord_" not in blocks
        assert "Notes on" not in blocks
        added = (await t.ana.command("memory append", {"label": "Annie", "text": "rides"}, thread)).text
        assert "Block „Annie“" in added
        assert "-# du, " in (await t.ana.command("search", {"text": "bike"}, thread)).text
        await t.ask(t.ana, t.ana.direct, "hi")
        assert "- `Direktnachrichten" in (await t.ana.command("memory list", None, t.ana.direct)).text


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


async def test_who_paused_finds_their_own_reminders_of_a_channel_but_nothing_else_of_it(t: Live) -> None:
    await t.talk(t.ana, t.general, "<@bot> zebras eat grass", "So they do.")
    await t.ana.command("remind me", {"text": "buy bread", "when": "in 2 hours", "where": "here"}, t.general)
    await t.olga.command("remind me", {"text": "feed zebras", "when": "in 2 hours", "where": "here"}, t.general)
    before = (await t.ana.command("remind list", None, t.ana.direct)).text
    assert ("buy bread" in before, "zebras" in before) == (True, False)
    assert "grass" in (await t.ana.command("search", {"text": "zebras"}, t.ana.direct)).text
    await t.ana.command("privacy pause")
    assert (await t.ana.command("remind list", None, t.ana.direct)).text == before
    assert "grass" not in (await t.ana.command("search", {"text": "zebras"}, t.ana.direct)).text
    assert "Canceled: buy bread" in (await t.ana.command("remind cancel", {"reminder": "bread"}, t.ana.direct)).text


def answers(channel: Channel) -> list[Message]:
    """What the bot said there, without notices of the platform."""
    return [message for message in channel.from_bot if message.text or message.attachments]
