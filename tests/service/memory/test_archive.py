"""`/memory archival`, `/memory context`, `/facts`, `/search` and their twins: each shows and changes what one may."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.service.live_service import Live, keep, live_service, refused, started
from tests.wire.discord import Channel, Person
from tests.wire.model import Answer, Calls

SECRET = "Quetzalcoatl"


async def kept(t: Live, person: Person, channel: Channel, content: str) -> str:
    """The agent keeps something there; gives the entry's id."""
    t.model.script(Calls(keep(content)), Answer("Kept."))
    await t.ask(person, channel, f"<@bot> keep this: {content}")
    ((found,),) = t.rows("SELECT id FROM archival_entries WHERE content = ?", content)
    return str(found)


async def test_entries_are_listed_shown_and_forgotten_as_far_as_one_may(t: Live) -> None:
    bea = t.member("Bea")
    shared = await kept(t, t.ana, t.general, "The stork is back.")
    secret = await kept(t, t.ana, t.ana.direct, f"My llama is {SECRET}.")
    listed = await t.ana.command("memory archival list")
    assert SECRET in listed.shown.text
    assert "stork" in (await bea.command("memory archival list", None, t.general)).text
    for person, channel in ((bea, t.general), (bea, bea.direct), (t.olga, t.olga.direct)):
        assert SECRET not in (await person.command("memory archival list", {"limit": 100}, channel)).text
        refused(await person.command("memory archival show", {"entry": secret}, channel), "There is no entry")
        refused(await person.command("memory archival delete", {"entry": secret}, channel), "There is no entry")
        assert secret not in [
            each.value for each in await person.autocomplete("memory archival show", "entry", "", channel)
        ]
    (choice,) = await t.ana.autocomplete("memory archival show", "entry", "llama")
    assert SECRET in (await t.ana.command("memory archival show", {"entry": choice.value})).text
    refused(await bea.command("memory archival delete", {"entry": shared}, t.general), "You cannot have this forgotten")
    assert "Forgotten" in (await t.ana.command("memory archival delete", {"entry": secret})).text
    assert t.holding(SECRET) in ([], ["carina.db-wal"])  # pages that were replaced stand in the log for a while
    assert not t.rows("SELECT 1 FROM archival_entries WHERE id = ?", secret)
    assert "Forgotten" in (await t.olga.command("memory archival delete", {"entry": shared})).text


async def test_what_is_added_by_a_form_is_for_direct_messages(t: Live) -> None:
    opened = await t.ana.command("memory archival add", None, t.general)
    assert opened.modal is not None
    done = await t.ana.submit_modal(opened, {"text": f"My llama is {SECRET}.", "label": "llama"}, t.general)
    assert "as llama" in done.shown.text
    audience = f"person:discord:{t.ana.id}"
    assert t.rows("SELECT label, audience, trust FROM archival_entries") == [("llama", audience, 1)]
    opened = await t.ana.command("memory archival add", None, t.general)
    again = await t.ana.submit_modal(opened, {"text": "Another llama.", "label": "llama"}, t.general)
    refused(again, "cannot be stored")
    opened = await t.ana.command("memory archival add", None, t.general)
    again = await t.ana.submit_modal(opened, {"text": "Another llama.", "label": "<@1>"}, t.general)
    refused(again, "a label must be one line of 1 to")
    opened = await t.ana.command("memory archival add", None, t.general)
    again = await t.ana.submit_modal(opened, {"text": f"My llama is {SECRET}.", "label": "pet"}, t.general)
    assert "Not saved: the label: it is “llama”." in again.text
    assert SECRET in (await t.ana.command("memory archival show", {"entry": "llama"})).text
    await t.talk(t.olga, t.general, "<@bot> what is the llama called?", "I do not know.")
    assert SECRET not in json.dumps(t.model.requests[-1].body)


async def test_context_shows_the_memory_that_an_answer_in_the_place_sees(t: Live) -> None:
    t.model.script(Answer("Hello Ana."), Answer("Hello."))
    await t.ask(t.ana, t.ana.direct, "hello")
    await t.ask(t.ana, t.general, "<@bot> hello")
    await t.ana.command("facts add", {"fact": "I am allergic to peanuts"})
    here = await t.ana.command("memory context", None, t.general)
    assert "persona: always shown, about " in here.shown.text
    assert "Memory blocks: about " in here.shown.text
    why = (await t.ana.command("why", None, t.general)).text
    for block in "Annie", "\\#general in Home":
        assert f"{block}: from the last answer here" in here.shown.text
        assert f"Block “{block}”" in why
    assert "your answer is heard by" not in here.text, "the prompt itself is the owner's"
    direct = await t.ana.command("memory context")
    assert "persona: always shown" in direct.text
    assert "scratchpad in our direct messages: pinned" in direct.text
    assert "allergic to peanuts: one of the facts" in direct.text
    assert "peanuts" not in here.text


async def test_in_direct_messages_commands_use_what_a_message_there_may_and_nothing_more(tmp_path: Path) -> None:
    async with live_service(tmp_path, scripted=True) as t:
        bea, cid, dan = t.member("Bea"), t.member("Cid"), t.server.person("dan")
        away = t.server.guild("Away")
        for one in (t.ana, dan):
            away.add(one)
        there = away.text_channel("there")
        t.configure(f'merge_seconds = 0\ndm = "pair"\nallow.persons = ["{t.ana.id}", "{bea.id}", "{dan.id}"]')
        await t.service.start()
        await kept(t, t.ana, t.general, "The stork is back home.")
        await kept(t, t.ana, there, "The stork is back abroad.")
        private = t.guild.text_channel("staff", private=True, members=[t.ana])
        await kept(t, t.ana, private, "The stork is back in private.")
        await bea.command("privacy optout")
        places = ("home", "abroad", "in private")
        known = {t.ana: {"home", "abroad"}, dan: {"abroad"}, bea: set(), cid: set()}
        for person, may in known.items():
            for command, options in (("memory archival list", None), ("memory archival search", {"text": "stork"})):
                text = (await person.command(command, options)).text
                assert {place for place in places if f"is back {place}" in text} == may, (person.username, command)
        away.remove(t.ana)
        text = (await t.ana.command("search", {"text": "stork"})).text
        assert ("back home" in text, "back abroad" in text) == (True, False)


CAKE, QUETZAL = "loves apple cake", "loves the Quetzalcoatl"


def number(t: Live, text: str) -> str:
    found = {fact: identifier for identifier, fact in t.rows("SELECT id, fact FROM facts WHERE superseded_by IS NULL")}
    return str(found[text])


async def test_everybody_sees_what_they_may_know_and_changes_what_is_theirs(t: Live) -> None:
    await t.talk(t.ana, t.general, "<@bot> I love apple cake.", "Noted.", within=45)
    await t.talk(t.ana, t.ana.direct, "I love the Quetzalcoatl.", "Noted.")
    shown = await t.ana.command("facts list", None, t.general)
    assert CAKE in shown.shown.text
    assert QUETZAL in (await t.ana.command("facts list")).text
    assert QUETZAL not in (await t.olga.command("facts list")).text
    assert CAKE in (await t.olga.command("facts list", None, t.general)).text
    cake, secret = number(t, CAKE), number(t, QUETZAL)
    offered = await t.ana.autocomplete("facts forget", "fact", "apple", t.general)
    assert [choice.value for choice in offered] == [cake]
    other = t.member("Bob")
    refused(await other.command("facts forget", {"fact": cake}, t.general), "You cannot have this forgotten")
    listed = (await other.command("facts list", None, t.general)).shown
    chosen = (await other.select(listed, "Choose one", cake)).shown
    refused(await other.press(chosen, "Correct"), "You cannot correct this")
    refused(await t.olga.command("facts forget", {"fact": secret}), "There is no fact")
    refused(await t.ana.command("facts confirm", {"fact": "a pie"}), "There is no fact “a pie” here. Choose")
    assert "There is no fact “1” here." in await t.service.refused("facts", "confirm", "1")
    refused(await t.ana.command("facts confirm", {"fact": "love"}), "Several facts match “love”")
    for which in (f"#{cake[-6:]}", "apple"):
        assert "Confirmed" in (await t.ana.command("facts confirm", {"fact": which}, t.general)).text
    now = {"fact": cake, "text": "loves cherry pie"}
    assert "Corrected: loves cherry pie" in (await t.ana.command("facts correct", now, t.general)).text
    assert CAKE not in (await t.ana.command("facts list", None, t.general)).text
    gone = await t.ana.command("facts forget", {"fact": number(t, "loves cherry pie")}, t.general)
    assert gone.text == "Forgotten: loves cherry pie"
    assert "Saved" in (await t.ana.command("facts add", {"fact": "prefers tea with milk"}, t.general)).text
    assert t.rows("SELECT audience FROM facts WHERE fact = 'prefers tea with milk'") == [
        (f"person:discord:{t.ana.id}",)
    ]
    refused(await t.ana.command("facts add", {"fact": "tea", "agent": "Moon"}, t.general), "no agent “Moon”")


@asynccontextmanager
async def birds(folder: Path) -> AsyncIterator[Live]:
    """Storks are spoken of in two channels and in direct messages, and the owner keeps something of them."""
    async with started(folder) as t:
        pond = t.guild.text_channel("pond")
        for person, place, text in (
            (t.ana, t.general, "the stork of general"),
            (t.member("Bea"), pond, "the stork of the pond"),
            (t.ana, t.ana.direct, "the stork of a direct message"),
        ):
            await t.talk(person, place, text if place is t.ana.direct else f"<@bot> {text}", "I see.")
        t.model.script(Calls(keep("The stork nests.", category="birds/nests", tags=["roof", "nest"])), Answer("Kept."))
        await t.ask(t.ana, t.general, "<@bot> keep that")
        yield t


async def searched(t: Live, *words: str) -> list[str]:
    """What the terminal finds, by its words."""
    return [hit["text"].removeprefix("<@bot> ") for hit in (await t.service.data("search", *words))["hits"]]


async def offered(person: Person, option: str, typed: str, channel: Channel) -> list[str]:
    return [choice.name for choice in await person.autocomplete("search", option, typed, channel)]


async def test_discord_finds_suggests_and_says_only_what_the_asker_may_know(tmp_path: Path) -> None:
    async with birds(tmp_path) as t:
        secret = t.guild.text_channel("den", private=True, members=[t.ana])
        kept = keep("The stork is ill.", category="secrets", tags=["hush"])
        t.model.script(Calls(kept), Answer("Kept."))
        await t.ask(t.ana, secret, "<@bot> keep this")
        cid = t.member("Cid")

        async def found(person: Person, channel: Channel, **options: Any) -> str:
            shown = await person.command("search", options, channel)
            assert (shown.ephemeral, shown.deferred) == (True, True)
            return shown.text

        (place,) = [each.value for each in await cid.autocomplete("search", "place", "pond", t.general)]
        text = await found(cid, t.general, place=place, role="user")
        assert ("the stork of the pond" in text, "general" in text) == (True, False)
        assert "The stork nests." in await found(cid, t.general, tag="nest, roof", domain="archival_memory")
        assert "the stork of general" in await found(cid, t.general, text="stork", author="annie", since="1h")
        assert "direct message" in await found(t.ana, t.ana.direct, author="me", domain="conversations", limit=20)
        assert "direct message" not in await found(cid, t.general, author="annie", limit=20)
        assert await offered(cid, "category", "", t.general) == ["birds/nests"]
        assert await offered(t.ana, "category", "", secret) == ["birds/nests", "secrets"]
        assert await offered(cid, "tag", "", t.general) == ["nest", "roof"]
        t.model.script(Calls(keep("The heron stands.", tags=["pond, lake"])), Answer("Kept."))
        await t.ask(t.ana, t.general, "<@bot> keep that too")
        (together,) = await offered(cid, "tag", "pond", t.general)
        assert (together, "The heron stands." in await found(cid, t.general, tag=together)) == ("pond, lake", True)
        assert "hush" in await offered(t.ana, "tag", "", secret)
        assert {"me", "Carina"} <= set(await offered(cid, "author", "", t.general))
        assert not [name for name in await offered(cid, "place", "", t.general) if "den" in name]
        assert [name for name in await offered(t.ana, "place", "", secret) if "den" in name]
        for options, told in (
            ({"place": "den"}, "There is no place “den” here."),
            ({"category": "secrets"}, "There is no category “secrets” here. Choose from: birds/nests."),
            ({"tag": "hush"}, "There is no tag “hush” here. Choose from: nest, pond, lake, roof."),
            ({"since": "soon"}, "“soon” is not a time. Use a day such as 2026-11-22"),
            (
                {"tag": "nest", "role": "user"},
                "Nothing was searched: the filters “role, tag” do not apply together to anything you chose to search.",
            ),
        ):
            assert told in await found(cid, t.general, **options)
