"""A person talks to an agent on Discord, and it remembers: the program as a process, Discord over sockets."""

from pathlib import Path

from tests.service.live_service import live_service, until
from tests.wire.discord import Upload
from tests.wire.model import Answer, Slow

ELM_STREET = "remember that my dentist is on Elm Street"


async def test_a_fact_told_before_a_kill_is_known_after_the_restart(tmp_path: Path) -> None:
    async with live_service(tmp_path) as t:
        await t.service.start()
        stored = await t.ask(t.ana, t.general, f"<@bot> {ELM_STREET}")
        assert "Elm Street" in stored.text
        await t.service.kill()

        await t.service.start()
        answer = await t.ask(t.ana, t.general, "<@bot> where is my dentist?")
        assert "Elm Street" in answer.text
        await t.service.stop()


async def test_a_burst_of_one_person_is_answered_as_one(tmp_path: Path) -> None:
    async with live_service(tmp_path, scripted=True) as t:
        t.configure("merge_seconds = 2")  # many times what three messages take to be stored
        t.model.script(Answer("all three"))
        await t.service.start()
        for words in ("<@bot> I have", "<@bot> three", "<@bot> questions"):
            said = await t.ana.say(t.general, words)
        await t.general.wait_for_bot(after=said)
        await t.service.stop()
        assert [message.text for message in t.general.from_bot] == ["all three"]
        (request,) = t.model.requests
        heard = [message["content"] for message in request.messages if message["role"] == "user"]
        assert [text for text in ("I have", "three", "questions") if text in "\n".join(map(str, heard))] == [
            "I have",
            "three",
            "questions",
        ]


async def test_what_is_added_before_the_answer_is_shown_is_answered_with_it(tmp_path: Path) -> None:
    async with live_service(tmp_path, scripted=True) as t:
        t.model.script(Slow(20, Answer("never said")), Answer("both"))
        await t.service.start()
        await t.ana.say(t.general, "<@bot> I have two questions")
        await t.model.wait_for(1)
        said = await t.ana.say(t.general, "<@bot> here is the second")
        answer = await t.general.wait_for_bot(after=said)
        assert answer.text == "both"
        assert [message.text for message in t.general.from_bot] == ["both"]
        first, second = t.model.requests
        assert first.abandoned
        assert "here is the second" in second.last_user
        await t.service.stop()


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
    async with live_service(tmp_path) as t:
        await t.service.start()
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
        await t.service.stop()


async def test_what_was_edited_and_deleted_while_it_was_down_is_followed_through(tmp_path: Path) -> None:
    async with live_service(tmp_path, scripted=True) as t:
        t.model.script(Answer("one"), Answer("two"), Answer("three"))
        await t.service.start()
        edited = await t.ana.say(t.general, "<@bot> we meet at noon")
        await t.general.wait_for_bot(after=edited)
        deleted = await t.ana.say(t.general, "<@bot> the code is 4711")
        await t.general.wait_for_bot(after=deleted)
        await t.service.kill()
        await t.ana.edit(edited, "<@bot> we meet at dusk")
        await t.ana.delete(deleted)
        await t.service.start()
        await t.ask(t.ana, t.general, "<@bot> anything new?")
        shown = str(t.model.requests[-1].messages)
        assert "we meet at dusk" in shown
        assert "noon" not in shown
        assert "4711" not in shown
        await t.service.stop()


async def test_what_was_missed_when_a_session_could_not_be_resumed_is_answered_once(tmp_path: Path) -> None:
    async with live_service(tmp_path) as t:
        await t.service.start()
        await t.ask(t.ana, t.general, "<@bot> remember that my car is red")
        t.server.faults.forget_sessions()
        await t.server.faults.refuse_gateway()
        t.server.faults.cut()
        missed = await t.ana.say(t.general, "<@bot> which color is my car?")
        await t.server.faults.accept_gateway()
        answer = await t.general.wait_for_bot(after=missed)
        assert "red" in answer.text
        t.server.faults.keep_sessions()
        await t.ask(t.ana, t.general, "<@bot> thank you")
        assert len([m for m in t.general.from_bot if m.id > missed.id]) == 2
        await t.service.stop()


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


async def test_files_are_read_back_as_well(tmp_path: Path) -> None:
    async with live_service(tmp_path, scripted=True) as t:
        t.model.script(Answer("one"), Answer("read"))
        await t.service.start()
        await t.ask(t.ana, t.general, "<@bot> hello")
        await t.service.kill()
        file = Upload("plan.md", b"# Plan\nfirst the roof", "text/markdown")
        said = await t.ana.say(t.general, "<@bot> what comes first?", attachments=[file])
        await t.service.start()
        await t.general.wait_for_bot(after=said)
        await until(lambda: len(t.model.requests) == 2)
        assert "first the roof" in t.model.requests[1].last_user
        await t.service.stop()
