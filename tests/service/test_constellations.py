"""Two Discord servers that belong to two constellations of one service: nothing of one is seen in the other."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.service.live_service import ASKS_FIRST, WAITS, Live, keep, live_service
from tests.wire.discord import GuildChannel
from tests.wire.model import Answer, Calls, text_of

HOME_WORD, BOAT_WORD = "tangerine", "periwinkle"


@dataclass
class Two:
    """Olga and Ana are in both servers."""

    t: Live
    deck: GuildChannel

    async def run(self, *words: str) -> Any:
        return await self.t.service.data(*words)

    async def say(self, place: GuildChannel, text: str, answer: str = "I see.") -> None:
        self.t.model.script(Answer(answer))
        assert (await self.t.ask(self.t.ana, place, f"<@bot> {text}")).text == answer


@asynccontextmanager
async def two(folder: Path) -> AsyncIterator[Two]:
    async with live_service(folder, scripted=True) as t:
        away = t.server.guild("Away")
        away.add(t.ana)
        away.add(t.olga)
        deck = away.text_channel("deck")
        t.configure(toml=ASKS_FIRST)
        await t.service.start()
        made = Two(t, deck)
        await made.run("constellation", "create", "boat")
        await made.run("constellation", "assign", f"discord:guild:{away.id}", "boat")
        yield made


async def test_commands_and_agents_of_one_server_show_nothing_of_the_other(tmp_path: Path) -> None:
    async with two(tmp_path) as made:
        t = made.t
        await made.say(t.general, f"the word is {HOME_WORD}")
        await made.say(made.deck, f"the word is {BOAT_WORD}")
        for place, own, other in ((t.general, HOME_WORD, BOAT_WORD), (made.deck, BOAT_WORD, HOME_WORD)):
            for words in ("word", other):
                found = (await t.olga.command("search", {"text": words}, place)).text
                assert other not in found.replace(f"“{other}”", "").replace(f"`{other}`", "")
            assert own in (await t.olga.command("search", {"text": "word"}, place)).text
            assert other not in (await t.ana.command("search", {"text": "word"}, place)).text
        await made.say(made.deck, "what is the word?", "I do not know.")
        prompt = "\n".join(map(text_of, t.model.requests[-1].messages))
        assert BOAT_WORD in prompt
        assert HOME_WORD not in prompt
        assert [hit["text"] for hit in (await made.run("search", HOME_WORD, "--constellation", "boat"))["hits"]] == []
        assert (await made.run("search", HOME_WORD))["hits"] != []


async def test_a_button_in_the_owners_messages_answers_the_constellation_that_asked(tmp_path: Path) -> None:
    async with two(tmp_path) as made:
        t = made.t
        t.model.script(Calls(keep("The boat leaks.")), Answer(WAITS), Answer("It is kept now."))
        assert (await t.ask(t.ana, made.deck, "<@bot> keep this for me")).text == WAITS
        card = await t.olga.direct.wait_for_bot(lambda m: "The boat leaks." in m.text)
        await t.olga.press(card, "Allow once")
        await made.deck.wait_for_bot(lambda m: m.text == "It is kept now.")
        assert "llowed once" in await t.final(card)
        found = await made.run("search", "leaks", "--domain", "archival_memory", "--constellation", "boat")
        assert [hit["text"] for hit in found["hits"]] == ["The boat leaks."]
        assert (await made.run("search", "leaks", "--domain", "archival_memory"))["hits"] == []
