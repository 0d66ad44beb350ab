"""One person with several accounts: linked by codes from both sides, and what that opens, and closes again."""

import json
from pathlib import Path

import pytest

from tests.personal_copies import data_in
from tests.service.live_service import Live, agreed, live_service, refused
from tests.service.test_access import CODE
from tests.wire.discord import Channel, Person
from tests.wire.model import Answer, Call, Calls

SECRET = "Quetzalcoatl"
FIND = Call("search", {"query": SECRET})


def code_in(text: str) -> str:
    found = CODE.search(text)
    assert found is not None, text
    return found[1]


async def linked(one: Person, other: Person) -> None:
    """Both sides prove it."""
    told = (await one.command("my link start")).text
    assert "Use `/my link say` on Discord." in told
    asked = await other.command("my link say", {"code": code_in(told)})
    assert f"The code that you entered was given to <@{one.id}>" in asked.text
    done = await one.command("my link say", {"code": code_in(asked.text)})
    assert done.shown.text.startswith("Done. I now treat ")


async def told(t: Live, person: Person, text: str) -> None:
    """Something is said directly, and kept."""
    t.model.script(Calls(Call("recall", {"operation": "insert", "content": text})), Answer("Kept."))
    await t.ask(person, person.direct, text)


async def found(t: Live, person: Person, channel: Channel) -> bool:
    """Whether the agent is shown the secret when it looks for it there."""
    before = len(t.model.requests)
    t.model.script(Calls(FIND), Answer("I looked."))
    said = "<@bot> look" if channel is not person.direct else "look"
    assert (await t.ask(person, channel, said)).text == "I looked."
    shown = [message for request in t.model.requests[before:] for message in request.body["messages"]]
    return any(SECRET in json.dumps(message) for message in shown if message["role"] != "assistant")


async def test_linked_accounts_know_in_direct_messages_what_each_was_told(t: Live) -> None:
    anna, bea = t.member("Anna"), t.member("Bea")
    await told(t, t.ana, f"my llama is {SECRET}")
    assert not await found(t, anna, anna.direct)
    await linked(t.ana, anna)
    assert await found(t, anna, anna.direct)
    assert not await found(t, anna, t.general), "never where others read"
    assert not await found(t, bea, bea.direct), "nor anybody else"
    assert not await found(t, t.olga, t.olga.direct), "nor the owner"
    (entry,) = t.rows("SELECT audience FROM archival_entries")
    assert entry == (f"person:discord:{t.ana.id}",), "rows stay under the account that said them"
    assert f"person:discord:{t.ana.id}" in str(t.rows("SELECT within FROM places"))
    searched = await anna.command("search", {"text": SECRET})
    assert SECRET in searched.text
    assert SECRET not in (await bea.command("search", {"text": SECRET})).text

    await t.service.restart(kill=True)
    assert f"<@{t.ana.id}>" in (await anna.command("my link list")).text


async def test_unlinking_closes_it_again_whatever_dies(tmp_path: Path) -> None:
    async with live_service(tmp_path, scripted=True) as t:
        anna = t.member("Anna")
        async with t.service.dying("command.write:after:4") as doing:  # after three to link them
            await told(t, t.ana, f"my llama is {SECRET}")
            await linked(t.ana, anna)
            t.model.script(Answer("Hello Anna."))
            await t.ask(anna, anna.direct, "hello")  # her place knows of it now
            assert "person:" in str(t.rows("SELECT within FROM places"))
            doing(t.ana.command("my link remove"))
        assert "person:" in str(t.rows("SELECT within FROM places"))
        await t.service.start()
        assert "person:" not in str(t.rows("SELECT within FROM places"))
        assert not await found(t, anna, anna.direct)
        assert SECRET not in (await anna.command("search", {"text": SECRET})).text
        refused(await t.ana.command("my link remove"), "not linked to another one")
        await linked(t.ana, anna)
        assert await found(t, anna, anna.direct)
        assert "Unlinked <@" in (await anna.command("my link remove")).text
        assert "You have no linked accounts" in (await t.ana.command("my link list")).text


async def test_a_code_alone_links_nobody_and_guessing_ends(t: Live) -> None:
    bea = t.member("Bea")
    first = code_in((await t.ana.command("my link start")).text)
    refused(await t.ana.command("my link say", {"code": first}), "You cannot enter this code")
    asked = await bea.command("my link say", {"code": first.lower()})
    assert "stop here" in asked.text
    second = code_in(asked.text)
    refused(await bea.command("my link say", {"code": second}), "You cannot enter this code")
    refused(await t.olga.command("my link say", {"code": second}), "You cannot enter this code")
    assert "You have no linked accounts" in (await t.ana.command("my link list")).text
    for _ in range(4):
        refused(await bea.command("my link say", {"code": "ABCD-2345"}), "You cannot enter this code")
    refused(await bea.command("my link say", {"code": "ABCD-2345"}), "the wrong code 5 times")
    assert "Done" in (await t.ana.command("my link say", {"code": second})).text


async def test_privacy_is_about_all_accounts_of_a_person(t: Live) -> None:
    anna = t.member("Anna")
    await told(t, t.ana, f"my llama is {SECRET}")
    await told(t, anna, "my tortoise is Gertrude")
    await linked(t.ana, anna)
    seen = await anna.command("privacy see")
    assert f"<@{t.ana.id}>" in seen.text
    assert "- stored entries: 2 (things to remember)" in seen.text
    exported = (await anna.command("privacy export")).shown
    data = data_in(exported.attachments[0].data)
    assert (SECRET in data, "Gertrude" in data) == (True, True)

    await t.ana.command("privacy pause")
    asks = len(t.model.requests)
    await anna.dm("do you hear me?")
    await t.talk(t.olga, t.olga.direct, "are you there?", "Yes, Olga.")
    assert len(t.model.requests) == asks + 1
    await anna.command("privacy resume")
    await t.talk(t.ana, t.ana.direct, "and me?", "Yes, Ana.")

    question = (await anna.command("privacy erase")).shown
    erased = await agreed(anna, question)
    assert erased.text.count("Erased on") == 2
    assert erased.text.count("None of it is left in memory.") == 2
    assert (t.holding(SECRET), t.holding("Gertrude")) == ([], [])
    assert "You have no linked accounts" in (await anna.command("my link list")).text
    assert (await t.service.data("privacy", "see", f"discord:{t.ana.id}"))["persons"] == [f"discord:{t.ana.id}"]


@pytest.mark.parametrize("fault", ["privacy.begin:after", "privacy.identities:after"])
async def test_an_erasure_of_two_accounts_that_dies_is_ended_for_both(tmp_path: Path, fault: str) -> None:
    async with live_service(tmp_path, scripted=True) as t:
        anna = t.member("Anna")
        async with t.service.dying(fault) as doing:
            await told(t, t.ana, f"my llama is {SECRET}")
            await told(t, anna, f"her llama is {SECRET}")
            await linked(t.ana, anna)
            question = (await anna.command("privacy erase")).shown
            doing(anna.press(question, "Yes, do it"))
        assert t.holding(SECRET)
        await t.service.start()
        assert t.holding(SECRET) == []
