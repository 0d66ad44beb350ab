"""What was said while nobody listened is answered, also where it could not be read at once."""

from pathlib import Path

from tests.service.approvals.approvals import rows
from tests.service.live_service import Live, live_service, until
from tests.wire.discord import GuildChannel, Message

LATER = 60.0  # a gap is tried again 15 s after it was noted, on a machine that others use too


def history(of: GuildChannel) -> str:
    return f"/channels/{of.id}/messages"


async def answered(t: Live, missed: Message) -> None:
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
