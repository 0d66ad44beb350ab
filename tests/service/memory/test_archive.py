"""`/memory archival`, `/memory context` and their twins at the terminal: each shows and changes what the asker may."""

import json
from pathlib import Path

from tests.service.approvals.approvals import keep, refused, rows, started
from tests.service.live_service import Live, live_service
from tests.service.memory.test_privacy import holding
from tests.wire.discord import Channel, Person
from tests.wire.model import Answer, Calls

SECRET = "Quetzalcoatl"


async def kept(t: Live, person: Person, channel: Channel, content: str) -> str:
    """The agent keeps something there; gives the entry's id."""
    t.model.script(Calls(keep(content)), Answer("Kept."))
    await t.ask(person, channel, f"<@bot> keep this: {content}")
    ((found,),) = rows(t, "SELECT id FROM archival_entries WHERE content = ?", content)
    return str(found)


async def test_entries_are_listed_shown_and_forgotten_as_far_as_one_may(tmp_path: Path) -> None:
    async with started(tmp_path) as t:
        bea = t.member("Bea")
        shared = await kept(t, t.ana, t.general, "The stork is back.")
        secret = await kept(t, t.ana, t.ana.direct, f"My llama is {SECRET}.")
        listed = await t.ana.command("memory archival list")
        assert listed.ephemeral
        assert SECRET in listed.text
        assert "stork" in (await bea.command("memory archival list", None, t.general)).text
        for person, channel in ((bea, t.general), (bea, bea.direct), (t.olga, t.olga.direct)):
            assert SECRET not in (await person.command("memory archival list", {"limit": 100}, channel)).text
            refused(await person.command("memory archival show", {"entry": secret}, channel), "that you can see here")
            refused(await person.command("memory archival delete", {"entry": secret}, channel), "that you can see here")
            assert secret not in [
                each.value for each in await person.autocomplete("memory archival show", "entry", "", channel)
            ]
        (choice,) = await t.ana.autocomplete("memory archival show", "entry", "llama")
        assert SECRET in (await t.ana.command("memory archival show", {"entry": choice.value})).text
        refused(
            await bea.command("memory archival delete", {"entry": shared}, t.general), "You cannot have this forgotten"
        )
        assert "Forgotten" in (await t.ana.command("memory archival delete", {"entry": secret})).text
        assert holding(t, SECRET) in ([], ["carina.db-wal"])  # pages that were replaced stand in the log for a while
        assert not rows(t, "SELECT 1 FROM archival_entries WHERE id = ?", secret)
        assert "Forgotten" in (await t.olga.command("memory archival delete", {"entry": shared})).text


async def test_what_is_added_by_a_form_is_for_direct_messages(tmp_path: Path) -> None:
    async with started(tmp_path) as t:
        opened = await t.ana.command("memory archival add", None, t.general)
        assert opened.modal is not None
        done = await t.ana.submit_modal(opened, {"text": f"My llama is {SECRET}.", "label": "llama"}, t.general)
        assert done.ephemeral
        assert "as llama" in done.text
        audience = f"person:discord:{t.ana.id}"
        assert rows(t, "SELECT label, audience, trust FROM archival_entries") == [("llama", audience, 1)]
        opened = await t.ana.command("memory archival add", None, t.general)
        again = await t.ana.submit_modal(opened, {"text": "Another llama.", "label": "llama"}, t.general)
        refused(again, "cannot be stored")
        opened = await t.ana.command("memory archival add", None, t.general)
        again = await t.ana.submit_modal(opened, {"text": "Another llama.", "label": "<@1>"}, t.general)
        refused(again, "a label is one line of 1 to")
        opened = await t.ana.command("memory archival add", None, t.general)
        again = await t.ana.submit_modal(opened, {"text": f"My llama is {SECRET}.", "label": "pet"}, t.general)
        assert "Not carried over: the label 'pet': it has the label 'llama'." in again.text
        assert SECRET in (await t.ana.command("memory archival show", {"entry": "llama"})).text
        t.model.script(Answer("I do not know."))
        await t.ask(t.olga, t.general, "<@bot> what is the llama called?")
        assert SECRET not in json.dumps(t.model.requests[-1].body)


async def test_context_shows_the_blocks_of_the_place_with_their_sizes(tmp_path: Path) -> None:
    async with started(tmp_path) as t:
        t.model.script(Answer("Hello Ana."), Answer("Hello."))
        await t.ask(t.ana, t.ana.direct, "hello")
        await t.ask(t.ana, t.general, "<@bot> hello")
        here = await t.ana.command("memory context", None, t.general)
        assert here.ephemeral
        assert "persona" in here.text
        assert "; for Home" in here.text
        assert "this person" not in here.text
        assert " tokens in total" in here.text
        direct = await t.ana.command("memory context")
        assert "; for our direct messages" in direct.text
        assert "; for Home" in direct.text, "she is a member of it"


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
        await t.service.stop()
