"""What was said while nobody listened is answered, also where it could not be read at once."""

import json
from pathlib import Path

from tests.service.approvals import rows
from tests.service.live_service import Live, live_service, until
from tests.wire.discord import GuildChannel, Message

LATER = 60.0  # a gap is tried again 15 s after it was noted, on a machine that others use too


def history(of: GuildChannel) -> str:
    return f"/channels/{of.id}/messages"


async def answered(t: Live, missed: Message) -> None:
    """What was missed has its one answer."""
    await t.general.wait_for_bot(lambda message: "Elm Street" in message.text, after=missed, timeout=LATER)
    assert len([message for message in t.general.from_bot if message.id > missed.id]) == 2, (
        "and the live one has its own"
    )


async def miss(t: Live) -> Message:
    """The service heard something in the channel, ended, and somebody asked something meanwhile."""
    await t.service.start()
    await t.ask(t.ana, t.general, "<@bot> remember that my dentist is on Elm Street")
    await t.service.stop()
    return await t.ana.say(t.general, "<@bot> where is my dentist?")


async def test_a_mention_is_answered_although_its_place_was_not_readable_at_the_start(tmp_path: Path) -> None:
    async with live_service(tmp_path) as t:
        missed = await miss(t)
        fault = t.server.faults.fail("GET", history(t.general), 503)
        await t.service.start()
        await until(lambda: fault.hits == 1)
        await t.ask(t.olga, t.general, "<@bot> hello")
        (gap,) = rows(
            t, "SELECT place_id, reason, tries FROM gaps WHERE closed_at IS NULL AND place_id NOT LIKE '%user%'"
        )
        assert (gap[0], "503" in gap[1], gap[2]) == (f"discord:{t.general.id}", True, 0)
        await answered(t, missed)
        await until(lambda: not rows(t, "SELECT 1 FROM gaps"), what="the gap to be read")
        await t.service.stop()


async def test_a_gap_outlives_the_death_of_the_service(tmp_path: Path) -> None:
    async with live_service(tmp_path) as t:
        missed = await miss(t)
        fault = t.server.faults.fail("GET", history(t.general), 503, times=1_000)
        await t.service.start()
        await until(lambda: fault.hits == 1)
        await t.ask(t.olga, t.general, "<@bot> hello")
        await t.service.kill()
        t.server.faults.clear()
        await t.service.start()
        await answered(t, missed)
        await t.service.stop()


async def test_a_message_is_heard_although_the_lines_before_it_are_not_understood(tmp_path: Path) -> None:
    async with live_service(tmp_path) as t:
        await t.service.start()
        rule = t.server.faults.answer_oddly("GET", history(t.general), body=[{}], times=1_000)
        assert (await t.ask(t.ana, t.general, "<@bot> hello")).text
        assert rule.hits > 0
        # What was missed may still be looked for just then.
        t.service.expected_errors |= {"earlier_lines_not_understood", "discord_answer_not_understood"}
        await t.service.stop()


async def test_a_place_that_is_gone_is_given_up_and_shown(tmp_path: Path) -> None:
    async with live_service(tmp_path) as t:
        await miss(t)
        t.server.faults.fail("GET", history(t.general), 403, code=50001, times=1_000)
        await t.service.start()
        closed = await t.service.logged("gap_closed")
        assert (closed["place"], closed["reason"]) == (f"discord:{t.general.id}", "the bot may not see the channel")
        shown = (await t.service.run("status"))[1]
        assert f"not read: discord:{t.general.id}: messages missed before" in shown
        assert "will not be read" in shown
        findings = json.loads((await t.service.run("doctor", "--json"))[1])
        assert [each["state"] for each in findings if each["about"] == "missed messages"] == ["look at this"]
        assert (await t.ask(t.ana, t.ana.direct, "hello")).text
        await t.service.stop()
        await t.service.start()
        assert (await t.ask(t.ana, t.ana.direct, "hello")).text
        assert t.service.logged_events("gap_closed") == [], "it is said once"
        await t.service.stop()


async def test_the_first_direct_messages_of_the_owner_and_of_paired_people_are_answered(tmp_path: Path) -> None:
    async with live_service(tmp_path) as t:
        eve = t.server.person("eve", global_name="Eve")
        t.configure('merge_seconds = 0\ndm = "pair"')
        await t.service.start()
        assert (await t.service.run("people", "allow", f"discord:{t.ana.id}"))[0] == 0
        await until(lambda: not rows(t, "SELECT 1 FROM gaps"), LATER, "the owner's messages to be looked for")
        await t.service.stop()
        said = [await each.dm("remember that my dentist is on Elm Street") for each in (t.olga, t.ana, eve)]
        await t.service.start()
        for person, message in zip((t.olga, t.ana), said, strict=False):
            assert (await person.direct.wait_for_bot(after=message, timeout=LATER)).text
        await until(lambda: not rows(t, "SELECT 1 FROM gaps"), LATER, "all to be read")
        assert eve.direct.from_bot == [], "who was not let in is not looked for"
        await t.service.stop()
