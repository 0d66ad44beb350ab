"""Those who chose not to be heard are not quoted, listed or given a thread either, over real sockets."""

from sources.discord.places import person_id
from tests.sources.running import Ear, connected
from tests.wire.discord.server import DiscordServer


async def test_what_they_said_is_not_overheard_and_not_quoted(server: DiscordServer) -> None:
    guild = server.guild("Home")
    general = guild.text_channel("general")
    ana, bo, cy = server.person("ana"), server.person("bo", global_name="Bo"), server.person("cy", global_name="Cy")
    for person in (ana, bo, cy):
        guild.add(person)
    secret = await bo.say(general, "I bought a boat")
    said = await cy.say(general, "it floats")
    async with connected(server, Ear(ignored={person_id(bo.id)}), earlier_lines=10) as running:
        await ana.say(general, "<@bot> what did Bo buy?", reply_to=secret)
        await ana.say(general, "<@bot> does it?", reply_to=said)
        heard = await running.ear.wait(3)
    assert [(one.text, one.answer) for one in heard] == [
        ("it floats", False),
        ("what did Bo buy?", True),
        ("does it?", True),
    ]
    assert [one.quoted and one.quoted.text for one in heard] == [None, None, "it floats"]
    assert "Bo" not in heard[1].blocks[0].profile


async def test_they_are_heard_no_more_among_who_was_there_and_get_no_thread(server: DiscordServer) -> None:
    guild = server.guild("Home")
    general = guild.text_channel("general")
    ana, bo = server.person("ana", global_name="Ana"), server.person("bo", global_name="Bo")
    guild.add(ana)
    guild.add(bo)
    ear = Ear()
    async with connected(server, ear, auto_thread=True) as running:
        before = await bo.say(general, "<@bot> hello")
        await ear.wait(1)
        ear.ignored.add(person_id(bo.id))
        after = await bo.say(general, "<@bot> plan my garden")
        seen = await ana.say(general, "<@bot> and mine")
        notifications = await running.ear.wait(3)
    assert before.thread is not None
    assert after.thread is None
    assert seen.thread is not None
    profiles = [notification.blocks[0].profile for notification in notifications]
    assert not [profile for profile in profiles[1:] if "Bo" in profile]
    assert notifications[1].position == str(after.id)  # the place is read on
