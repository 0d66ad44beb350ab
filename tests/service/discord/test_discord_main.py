"""People talk to an agent and to each other on Discord, and it remembers; also what was said while it was away."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.service.live_service import Live, live_service, started, until
from tests.wire.discord import Message, Person
from tests.wire.model import Answer, Request, Slow, text_of


async def test_nothing_is_shown_for_a_moment_while_the_person_is_typing(tmp_path: Path) -> None:
    async with started(tmp_path) as t:
        t.model.script(Answer("too early"), Answer("both"))
        await t.ana.say(t.general, "<@bot> I have two questions")
        await t.ana.type_in(t.general)
        await t.model.wait_for(1)
        said = await t.ana.say(t.general, "<@bot> here is the second")
        answer = await t.general.wait_for_bot(after=said)
        assert [message.text for message in t.general.from_bot] == [answer.text] == ["both"]


async def test_what_was_said_while_it_was_down_is_answered_once_after_the_restart(tmp_path: Path) -> None:
    async with started(tmp_path, scripted=False) as t:
        await t.ask(t.ana, t.general, "<@bot> remember that my cat is called Minka")
        told = await t.ask(t.ana, t.ana.direct, "hello there")
        await t.service.kill()

        in_general = await t.ana.say(t.general, "<@bot> what is my cat called?")
        in_direct = await t.ana.dm("remember that my shoe size is 41")
        await t.ana.say(t.general, "nobody is meant by this")
        await t.service.start()
        answer = await t.general.wait_for_bot(after=in_general)
        assert "Minka" in answer.text
        assert answer.reply_to is in_general
        assert "41" in (await t.ana.direct.wait_for_bot(after=in_direct)).text
        await t.service.restart()
        await t.ask(t.ana, t.general, "<@bot> thank you")
        assert len([m for m in t.general.from_bot if m.id > in_general.id]) == 2
        assert len([m for m in t.ana.direct.from_bot if m.id > told.id]) == 1


async def test_a_message_during_the_shutdown_is_answered_once_after_the_restart(tmp_path: Path) -> None:
    async with started(tmp_path) as t:
        bob = t.member("Bob")
        t.model.script(Slow(2, Answer("for Annie")), Answer("for Bob"))
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


LATER = 60.0  # a gap is tried again 15 s after it was noted, on a machine that others use too


async def miss(t: Live) -> Message:
    """The service heard something in the channel, ended, and somebody asked something meanwhile."""
    await t.service.start()
    await t.ask(t.ana, t.general, "<@bot> remember that my dentist is on Elm Street")
    await t.service.stop()
    return await t.ana.say(t.general, "<@bot> where is my dentist?")


async def test_a_gap_outlives_the_death_of_the_service(tmp_path: Path) -> None:
    async with live_service(tmp_path) as t:
        missed = await miss(t)
        fault = t.server.faults.fail("GET", f"/channels/{t.general.id}/messages", 503, times=1_000)
        await t.service.start()
        await until(lambda: fault.hits == 1)
        await t.ask(t.olga, t.general, "<@bot> hello")
        (gap,) = t.rows(
            "SELECT place_id, reason, tries FROM gaps WHERE closed_at IS NULL AND place_id NOT LIKE '%user%'"
        )
        assert (gap[0], "503" in gap[1], gap[2]) == (f"discord:{t.general.id}", True, 0)
        await t.service.kill()
        t.server.faults.clear()
        await t.service.start()
        await t.general.wait_for_bot(lambda message: "Elm Street" in message.text, after=missed, timeout=LATER)
        later = [message for message in t.general.from_bot if message.id > missed.id]
        assert len(later) == 2, "and the live one has its own"
        await until(lambda: not t.rows("SELECT 1 FROM gaps"), what="the gap to be read")


def spoken_in(request: Request, lines: list[str]) -> list[str]:
    """Those of the lines that the model is shown, in the order and as often as it is shown them."""
    shown = "\n".join(text_of(message) for message in request.messages)
    found = [(at, line) for line in lines for at in range(len(shown)) if shown.startswith(line, at)]
    return [line for _, line in sorted(found)]


def before_the_newest(request: Request) -> list[Any]:
    """What of the conversation was there before what the model is to answer."""
    *earlier, _newest = [message for message in request.messages if message["role"] != "system"]
    return earlier


async def test_five_people_over_two_days(tmp_path: Path) -> None:
    async with live_service(tmp_path, scripted=True) as t:
        ana, bo, cy, dee, eve = t.ana, *(t.member(name) for name in ("Bo", "Cy", "Dee", "Eve"))
        answers = ["Green suits it.", "It hides the moss.", "The blue one costs nine.", "No, it is closed by then."]
        t.model.script(*map(Answer, answers))
        lines: list[str] = []

        async def say(person: Person, words: str, **more: Any) -> Message:
            lines.append(words.removeprefix("<@bot> "))
            return await person.say(t.general, words, **more)

        async def ask(person: Person, words: str, **more: Any) -> list[str]:
            said = await say(person, f"<@bot> {words}", **more)
            answer = await t.general.wait_for_bot(after=said)
            shown = spoken_in(t.model.requests[-1], lines)
            lines.append(answer.text)
            return shown

        t.server.world.ids.move(timedelta(days=-1))
        await say(ana, "we should repaint the shed in green")
        await say(bo, "or the fence in blue, it is rotting")
        await t.service.start()
        await say(dee, "my brother says that green is ugly")
        assert await ask(cy, "what do you think?") == lines[:4]
        shop = await say(bo, "the paint shop closes at six")
        await say(eve, "they have two kinds of green")
        assert await ask(cy, "why?") == lines[:8]

        t.server.world.ids.move(timedelta())
        await say(ana, "I was there and took the first kind")
        await t.service.stop()
        await say(eve, "the other is for fences, it said")
        await t.service.start()
        assert await ask(dee, "and the other one?") == lines[:12]
        await say(eve, "then I go there at seven")
        assert await ask(ana, "will that do?", reply_to=shop) == lines[:15]

        asked = t.model.requests
        for earlier, later in pairwise(asked):
            kept = before_the_newest(earlier)
            assert before_the_newest(later)[: len(kept)] == kept
        assert "[the message below answers that of Bo, " in asked[-1].last_user
        yesterday, first = datetime.now(UTC) - timedelta(days=1), text_of(before_the_newest(asked[-1])[0])
        assert f"(discord:{ana.id}) · {yesterday:%Y-%m-%d}" in first
        assert first.endswith(" · overheard]\nwe should repaint the shed in green")


async def test_without_a_language_model_too(tmp_path: Path) -> None:
    async with started(tmp_path, scripted=False) as t:
        bo = t.member("Bo")
        await t.ana.say(t.general, "the paint shop closes at 18:00")
        await t.ana.say(t.general, "the ladder is in the garage")
        first = await t.ask(bo, t.general, "<@bot> when does the paint shop close?")
        assert first.text.startswith("Annie said here: “the paint shop closes at 18:00”")
        later = await t.ask(bo, t.general, "<@bot> where is the ladder?")
        assert later.text.startswith("Annie said here: “the ladder is in the garage”")
        await t.ask(t.ana, t.general, "<@bot> remember that my locker code is 4711")
        assert "4711" in (await t.ask(t.ana, t.general, "<@bot> forget my locker code")).text
        assert "4711" not in (await t.ask(bo, t.general, "<@bot> yes")).text
        assert (await t.ask(t.ana, t.general, "<@bot> yes")).text.startswith("Forgotten"), "it was her question"
