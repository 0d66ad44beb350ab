"""An exception at an await of every task of the real program: it goes on, and everybody is answered, once."""

from pathlib import Path

import pytest

from tests.kill.lives import changed
from tests.service.live_service import NO_MERGING, Live, live_service
from tests.wire.bluesky import BlueskyServer
from tests.wire.model import Answer

PATIENT = 120.0
ALWAYS = {"Supervisor._keep discord", "Supervisor._keep bluesky", "Supervisor._keep intake", "Supervisor._keep jobs"}
"""Tasks that wait at once, so that each is hit at its first await."""


@pytest.mark.timeout(300)
@pytest.mark.parametrize("at", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 14))])
async def test_an_exception_in_every_task_leaves_everybody_answered_once(at: int, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    async with BlueskyServer.start() as sky, live_service(tmp_path, scripted=True) as t:
        bot, eve = sky.user("carina.test", "Carina"), sky.user("eve.test", "Eve")
        t.service.environment |= {
            "BLUESKY_HANDLE": bot.handle,
            "BLUESKY_APP_PASSWORD": bot.password,
            "BLUESKY_SERVICE": sky.url,
            "BLUESKY_POLL_SECONDS": "0.1",
        }
        t.service.environment = changed(t.service.environment, trace, KILL_TEST_RAISE=str(at))
        t.configure(NO_MERGING, "[bluesky]\nbatch_seconds = 0")
        t.model.default = lambda _: Answer("Yes.")
        await t.service.launch()
        await t.service.logged("ready", front_end="discord", within=PATIENT)
        await t.service.logged("ready", front_end="bluesky", within=PATIENT)
        # The owner's direct messages are looked for after a session that failed; others' only where they wrote before.
        places = t.general, t.guild.text_channel("attic"), t.olga.direct
        for text in ("<@bot> hello", "<@bot> hello again"):
            for place in places:
                said = await t.olga.say(place, text)
                await place.wait_for_bot(lambda post: post.text == "Yes.", after=said, timeout=PATIENT)
        eve.post("@carina.test hello", mentions=(bot,))
        assert (await sky.wait_for_post(bot, within=PATIENT)).text == "Yes."
        await t.service.stop()
        assert [post.text for place in places for post in place.from_bot if post.text == "Yes."] == ["Yes."] * 6
        assert [post.text for post in bot.posts] == ["Yes."]
        raised = {line.removeprefix("raised in ") for line in trace.read_text("utf-8").splitlines() if " in " in line}
        assert raised
        assert at or raised >= ALWAYS
        forgive(t)


def forgive(t: Live) -> None:
    """What is logged because of such an exception is no error of the program's."""
    for event in t.service.events:
        if "Injected" in str(event.get("exception")) or "never retrieved" in event["event"]:
            t.service.expected_errors.add(event["event"])
