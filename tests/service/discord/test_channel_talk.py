"""What people say to each other in a channel is before the model's eyes when the bot is asked about it, and stays."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.service.live_service import live_service
from tests.wire.discord import Message, Person
from tests.wire.model import Answer, Request, text_of


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
        await t.service.stop()


async def test_without_a_language_model_too(tmp_path: Path) -> None:
    async with live_service(tmp_path) as t:
        bo = t.member("Bo")
        await t.service.start()
        await t.ana.say(t.general, "the paint shop closes at 18:00")
        await t.ana.say(t.general, "the ladder is in the garage")
        first = await t.ask(bo, t.general, "<@bot> when does the paint shop close?")
        assert first.text.startswith("Annie said here: “the paint shop closes at 18:00”")
        later = await t.ask(bo, t.general, "<@bot> where is the ladder?")
        assert later.text.startswith("Annie said here: “the ladder is in the garage”")
        await t.service.stop()
