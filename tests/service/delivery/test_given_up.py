"""A message that was given up, on Discord: said with a button that works after a restart, for who asked alone."""

from pathlib import Path

from bot.runtime.conversation import GIVEN_UP
from tests.kill.lives import changed
from tests.service.live_service import NO_MERGING, live_service
from tests.wire.model import Answer


async def test_a_message_that_was_given_up_is_answered_at_the_press_of_a_button_after_a_restart(tmp_path: Path) -> None:
    async with live_service(tmp_path, scripted=True) as t:
        t.configure(NO_MERGING, "[limits]\nattempts = 1")
        usual = t.service.environment
        t.service.environment = changed(usual, tmp_path / "trace", KILL_TEST_STUMBLE="1")
        t.service.expected_errors.add("turn_failed")
        t.model.default = lambda _: Answer("It is noon.")
        await t.service.start()
        said = await t.ask(t.ana, t.general, "<@bot> what time is it?")
        assert said.text == GIVEN_UP
        assert [button["label"] for button in said.buttons] == ["Try again"]
        told = await t.olga.direct.wait_for_bot(lambda m: "I could not answer a message" in m.text)
        assert [button["label"] for button in told.buttons] == ["Try again"]

        await t.service.kill()
        t.service.environment = usual
        await t.service.start()
        bob = t.member("Bob")
        assert "You have no failed message" in (await bob.press(said, "Try again")).text
        assert t.model.requests == []
        assert (await t.ana.press(said, "Try again")).text == "I am trying again now."
        await t.general.wait_for_bot(lambda m: m.text == "It is noon.", after=said)
        await t.server.until(lambda: said.buttons == told.buttons == [], what="nothing to be pressed any more")
        await t.service.stop()
