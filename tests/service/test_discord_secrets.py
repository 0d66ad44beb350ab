"""Who hears what: one server, its people, their direct messages, threads and commands, with the offline model."""

import pytest

from tests.service.live_service import Live
from tests.wire.discord import Channel, Impossible, Person

pytestmark = pytest.mark.asyncio(loop_scope="module")

DENTIST = "remember that my dentist is on Elm Street"


async def test_a_fact_told_in_a_dm_is_used_there_and_not_in_a_public_channel(offline_service: Live) -> None:
    t = offline_service
    channel, bea = t.guild.text_channel("secrets"), t.member("Bea")
    await t.ask(bea, bea.direct, DENTIST)
    assert "Elm Street" not in (await t.ask(bea, channel, "<@bot> where is my dentist?")).text
    assert "Elm Street" not in (await t.ask(bea, channel, "<@bot> what do you know about me?")).text
    assert "Elm Street" in (await t.ask(bea, bea.direct, "where is my dentist?")).text


async def test_a_fact_told_in_a_private_channel_stays_there(offline_service: Live) -> None:
    t = offline_service
    cid = t.member("Cid")
    private = t.guild.text_channel("staff", private=True, members=[cid])
    open_to_all = t.guild.text_channel("lobby")
    await t.ask(cid, private, "<@bot> remember that my locker is number 99")
    assert "99" not in (await t.ask(cid, open_to_all, "<@bot> where is my locker?")).text
    assert "99" in (await t.ask(cid, private, "<@bot> where is my locker?")).text


async def test_a_fact_told_in_one_guild_is_not_used_in_another(offline_service: Live) -> None:
    t = offline_service
    dan = t.member("Dan")
    elsewhere = t.server.guild("Elsewhere")
    elsewhere.add(dan)
    there, here = elsewhere.text_channel("there"), t.guild.text_channel("here")
    await t.ask(dan, here, "<@bot> remember that my boat is called Albatross")
    assert "Albatross" not in (await t.ask(dan, there, "<@bot> what is my boat called?")).text
    assert "Albatross" in (await t.ask(dan, here, "<@bot> what is my boat called?")).text


async def test_the_owner_is_answered_in_the_dm_and_may_use_what_was_said_in_the_guild(
    offline_service: Live,
) -> None:
    t = offline_service
    channel = t.guild.text_channel("owner")
    await t.ask(t.olga, channel, "<@bot> remember that my garden is behind the mill")
    assert "behind the mill" in (await t.ask(t.olga, t.olga.direct, "where is my garden?")).text
    await t.ask(t.olga, t.olga.direct, "remember that my safe is under the stairs")
    assert "stairs" not in (await t.ask(t.olga, channel, "<@bot> where is my safe?")).text


async def test_the_owner_does_not_hear_what_another_person_said_in_a_dm(offline_service: Live) -> None:
    t = offline_service
    eli = t.member("Eli")
    await t.ask(eli, eli.direct, "remember that the treasure is buried in Tasmania")
    assert "Tasmania" not in (await t.ask(t.olga, t.olga.direct, "where is the treasure buried?")).text
    found = await t.olga.command("search", {"text": "Tasmania"})
    assert found.ephemeral
    assert "buried" not in found.text


async def test_a_dm_of_somebody_who_shares_no_guild_is_not_answered(offline_service: Live) -> None:
    t = offline_service
    stranger, fay = t.server.person("stranger"), t.member("Fay")
    await stranger.dm("hello?")
    await t.ask(fay, fay.direct, "hello")
    assert stranger.direct.from_bot == []


async def test_a_reply_to_the_bot_is_answered_without_a_mention(offline_service: Live) -> None:
    t = offline_service
    channel = t.guild.text_channel("replies")
    answer = await t.ask(t.ana, channel, "<@bot> remember that my piano is a Steinway")
    again = await t.ask(t.ana, channel, "what brand is my piano?", reply_to=answer, ping=False)
    assert "Steinway" in again.text
    bystander = await t.ana.say(channel, "talking to nobody")
    last = await t.ask(t.ana, channel, "<@bot> thanks")
    assert [message for message in channel.from_bot if bystander.id < message.id] == [last]


async def test_a_thread_it_takes_part_in_is_answered_without_a_mention(offline_service: Live) -> None:
    t = offline_service
    channel = t.guild.text_channel("threads")
    thread = await t.ana.thread(channel, "about boats")
    await t.ask(t.ana, thread, "<@bot> remember that my boat is green")
    assert "green" in (await t.ask(t.ana, thread, "which color is my boat?")).text
    assert channel.from_bot == []


async def test_a_thread_begun_on_its_own_message_is_answered_without_a_mention(offline_service: Live) -> None:
    t = offline_service
    channel = t.guild.text_channel("begun")
    answer = await t.ask(t.ana, channel, "<@bot> remember that my kite is yellow")
    thread = await t.ana.thread(answer, "about kites")
    assert "yellow" in (await t.ask(t.ana, thread, "which color is my kite?")).text
    other = await t.ana.thread(await t.ana.say(channel, "kites, anybody?"), "among us")
    await t.ana.say(other, "which color is my kite?")
    await t.ask(t.ana, channel, "<@bot> thanks")
    assert other.from_bot == []


async def test_a_private_thread_is_not_heard_by_its_channel(offline_service: Live) -> None:
    t = offline_service
    channel, gil = t.guild.text_channel("private-threads"), t.member("Gil")
    thread = await gil.thread(channel, "between us", private=True)
    thread.add(t.server.bot)
    await t.ask(gil, thread, "<@bot> remember that my password hint is banana")
    assert "banana" not in (await t.ask(gil, channel, "<@bot> what is my password hint?")).text
    assert "banana" in (await t.ask(gil, thread, "what is my password hint?")).text


async def test_bots_and_webhooks_are_ignored(offline_service: Live) -> None:
    t = offline_service
    channel = t.guild.text_channel("bots")
    robot = t.server.person("robot", bot=True)
    t.guild.add(robot)
    await robot.say(channel, "<@bot> hello from a bot")
    await t.server.webhook_say(channel, "News", "<@bot> hello from a webhook")
    answer = await t.ask(t.ana, channel, "<@bot> hello")
    assert channel.from_bot == [answer]


# ---------------------------------------------------------------------- commands


async def test_help_is_shown_to_who_asks_alone(offline_service: Live) -> None:
    t = offline_service
    for place in (t.general, t.ana.direct):
        shown = await t.ana.command("help", channel=place)
        assert shown.ephemeral
        commands = {command["name"] for command in t.server.commands if command.get("type", 1) == 1} - {"help"}
        assert {name for name in commands if f"/{name}" not in shown.text} == set()


async def test_status_is_for_the_owner(offline_service: Live) -> None:
    t = offline_service
    refused = await t.ana.command("admin status")
    assert refused.ephemeral
    assert "Only an admin may" in refused.text
    shown = await t.olga.command("admin status")
    assert (shown.ephemeral, shown.deferred) == (True, True)
    assert "connected as carina" in shown.text
    assert "agent Carina: answers without a language model" in shown.text


async def test_memory_show_lists_and_shows_blocks_with_suggestions(offline_service: Live) -> None:
    t = offline_service
    listed = await t.ana.command("memory show", channel=t.general)
    assert (listed.ephemeral, listed.deferred) == (True, True)
    assert "`persona`" in listed.text
    choices = await t.ana.autocomplete("memory show", "label", "pers", t.general)
    assert [choice.value for choice in choices] == ["persona"]
    shown = await t.ana.command("memory show", {"label": "persona"}, t.general)
    assert "My name is Carina" in shown.text
    missing = await t.ana.command("memory show", {"label": "no such block"}, t.general)
    assert "There is no block" in missing.text


async def test_search_finds_what_the_asker_may_know_there_and_nothing_else(offline_service: Live) -> None:
    t = offline_service
    hugo, ida = t.member("Hugo"), t.member("Ida")
    channel = t.guild.text_channel("searching")
    elsewhere = t.server.guild("Far away")
    elsewhere.add(hugo)
    far = elsewhere.text_channel("far")
    await t.ask(hugo, channel, "<@bot> remember that the zebra of the guild is striped")
    await t.ask(hugo, hugo.direct, "remember that the zebra of the dm is spotted")
    await t.ask(hugo, far, "<@bot> remember that the zebra of far away is purple")

    async def found(person: Person, place: Channel) -> set[str]:
        answered = await person.command("search", {"text": "zebra", "limit": 20}, place)
        assert (answered.ephemeral, answered.deferred) == (True, True)
        return {word for word in ("striped", "spotted", "purple") if word in answered.text}

    assert await found(hugo, channel) == {"striped", "spotted"}
    assert await found(ida, channel) == {"striped"}
    assert await found(hugo, far) == {"spotted", "purple"}
    assert await found(ida, ida.direct) == {"striped"}, "she is a member of that server alone"
    assert await found(hugo, hugo.direct) == {"striped", "spotted", "purple"}
    nothing = await ida.command("search", {"text": "xylophone"}, channel)
    assert nothing.text.startswith("Nothing was found. Searched: ")


async def test_a_command_in_a_guild_without_the_bot_shows_nothing_of_elsewhere(offline_service: Live) -> None:
    t = offline_service
    jan = t.member("Jan")
    channel = t.guild.text_channel("installed")
    await t.ask(jan, channel, "<@bot> remember that the okapi is shy")
    foreign = t.server.guild("Foreign", with_bot=False)
    foreign.add(jan)
    place = foreign.text_channel("foreign")
    with pytest.raises(Impossible):
        await jan.command("search", {"text": "okapi"}, place)
    jan.installed = True
    answered = await jan.command("search", {"text": "okapi"}, place)
    assert answered.ephemeral
    assert "shy" not in answered.text


async def test_the_owner_sees_agents_with_their_tools_and_what_arrived(scripted: Live) -> None:
    channel = scripted.guild.text_channel("house")
    await scripted.ask(scripted.ana, channel, "<@bot> hello")
    assert "calculate, context, coord" in (await scripted.olga.command("admin agent show", {"agent": "Carina"})).text
    assert ", done" in (await scripted.olga.command("admin inbox list")).text
    assert "There is no message 5." in (await scripted.olga.command("admin inbox retry", {"row": "5"})).text
