"""A person talks to an agent on Discord, and it remembers: the program as a process, Discord over sockets."""

from pathlib import Path

from tests.service.approvals.approvals import started
from tests.service.live_service import live_service
from tests.wire.model import Answer, Slow

ELM_STREET = "remember that my dentist is on Elm Street"


async def test_a_fact_told_before_a_kill_is_known_after_the_restart(tmp_path: Path) -> None:
    async with started(tmp_path, scripted=False) as t:
        stored = await t.ask(t.ana, t.general, f"<@bot> {ELM_STREET}")
        assert "Elm Street" in stored.text
        await t.service.kill()

        await t.service.start()
        answer = await t.ask(t.ana, t.general, "<@bot> where is my dentist?")
        assert "Elm Street" in answer.text


async def test_nothing_is_shown_for_a_moment_while_the_person_is_typing(tmp_path: Path) -> None:
    async with live_service(tmp_path, scripted=True) as t:
        t.model.script(Answer("too early"), Answer("both"))
        await t.service.start()
        await t.ana.say(t.general, "<@bot> I have two questions")
        await t.ana.type_in(t.general)
        await t.model.wait_for(1)
        said = await t.ana.say(t.general, "<@bot> here is the second")
        answer = await t.general.wait_for_bot(after=said)
        assert [message.text for message in t.general.from_bot] == [answer.text] == ["both"]
        await t.service.stop()


async def test_what_was_said_while_it_was_down_is_answered_once_after_the_restart(tmp_path: Path) -> None:
    async with started(tmp_path, scripted=False) as t:
        await t.ask(t.ana, t.general, "<@bot> remember that my cat is called Minka")
        told = await t.ask(t.ana, t.ana.direct, "hello there")
        await t.service.stop()

        in_general = await t.ana.say(t.general, "<@bot> what is my cat called?")
        in_direct = await t.ana.dm("remember that my shoe size is 41")
        await t.ana.say(t.general, "nobody is meant by this")
        await t.service.start()
        answer = await t.general.wait_for_bot(after=in_general)
        assert "Minka" in answer.text
        assert answer.reply_to is in_general
        assert "41" in (await t.ana.direct.wait_for_bot(after=in_direct)).text
        await t.service.stop()
        await t.service.start()
        await t.ask(t.ana, t.general, "<@bot> thank you")
        assert len([m for m in t.general.from_bot if m.id > in_general.id]) == 2
        assert len([m for m in t.ana.direct.from_bot if m.id > told.id]) == 1


async def test_a_message_during_the_shutdown_is_answered_once_after_the_restart(tmp_path: Path) -> None:
    async with live_service(tmp_path, scripted=True) as t:
        bob = t.member("Bob")
        t.model.script(Slow(2, Answer("for Annie")), Answer("for Bob"))
        await t.service.start()
        first = await t.ana.say(t.general, "<@bot> a question")
        await t.model.wait_for(1)
        t.service.terminate()
        second = await bob.say(t.general, "<@bot> another one")
        assert await t.service.ended() == 0
        assert len(t.model.requests) == 1

        await t.service.start()
        await t.general.wait_for_bot(lambda m: m.text == "for Bob", after=second)
        await t.service.stop()
        assert [m.text for m in t.general.from_bot if m.id > first.id] == ["for Annie", "for Bob"]
