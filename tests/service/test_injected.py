"""An exception wherever a task of the real program awaits: it goes on, and everybody is answered, once."""

from pathlib import Path

import pytest

from tests.kill.lives import changed
from tests.service.bluesky import account
from tests.service.live_service import NO_MERGING, Live, live_service
from tests.wire.bluesky import BlueskyServer
from tests.wire.model import Answer

PATIENT = 120.0


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("lives", [1, pytest.param(1000, marks=pytest.mark.slow)])
async def test_an_exception_in_every_task_leaves_everybody_answered_once(lives: int, tmp_path: Path) -> None:
    """In each life at one more of the places where each kind of task awaits, until there is none left."""
    trace = tmp_path / "trace"
    async with BlueskyServer.start() as sky, live_service(tmp_path, scripted=True) as t:
        bot, eve = sky.user("carina.test", "Carina"), sky.user("eve.test", "Eve")
        t.service.environment |= account(bot, sky)
        t.service.environment = changed(t.service.environment, trace, KILL_TEST_RAISE="1")
        t.configure(NO_MERGING, "[bluesky]\nbatch_seconds = 0\nperson_per_hour = 0\nthread_per_hour = 0")
        t.model.default = lambda _: Answer("Yes.")
        # The owner's direct messages are looked for after a session that failed; others' only where they wrote before.
        places = t.general, t.guild.text_channel("attic"), t.olga.direct
        raised, before, life = set[str](), -1, 0
        while life < lives and len(raised) > before:
            before, life = len(raised), life + 1
            await t.service.launch()
            await t.service.logged("ready", front_end="discord", within=PATIENT)
            await t.service.logged("ready", front_end="bluesky", within=PATIENT)
            for text in ("<@bot> hello", "<@bot> hello again"):
                for place in places:
                    said = await t.olga.say(place, text)
                    await place.wait_for_bot(lambda post: post.text == "Yes.", after=said, timeout=PATIENT)
            eve.post("@carina.test hello", mentions=(bot,))
            assert (await sky.wait_for_post(bot, life - 1, within=PATIENT)).text == "Yes."
            await t.service.stop()
            answers = [post.text for place in places for post in place.from_bot if post.text == "Yes."]
            assert answers == ["Yes."] * 6 * life
            assert [post.text for post in bot.posts] == ["Yes."] * life
            raised = {line for line in trace.read_text("utf-8").splitlines() if line.startswith("raised in ")}
            kept = {line.partition(" at ")[0].removeprefix("raised in Supervisor._keep ") for line in raised}
            fronts = {str(event["front_end"]) for event in t.service.events if event["event"] == "ready"}
            assert kept >= fronts
            forgive(t)
        assert life < 1000


def forgive(t: Live) -> None:
    """What is logged because of such an exception is no error of the program's."""
    for event in t.service.events:
        if "Injected" in str(event.get("exception")) or "never retrieved" in event["event"]:
            t.service.expected_errors.add(event["event"])
