"""Privacy in the real program: what a person may have done with what is kept of them, down to the files' bytes."""

import json
from pathlib import Path

import pytest

from tests.personal_copies import data_in
from tests.service.live_service import Live, agreed, first_of, live_service, until
from tests.wire.discord import Channel, Message, Person
from tests.wire.model import Answer, Call, Calls

WORD = "Quetzalcoatl"
KEEP = Call("recall", {"operation": "insert", "content": f"Ana's llama is {WORD}"})


async def lived(t: Live) -> None:
    """Ana speaks in the channel and directly, and something is remembered; Olga speaks as well."""
    t.model.script(Calls(KEEP), Answer(f"I keep it: {WORD}."), Answer(f"A secret {WORD}."), Answer("Tortoise, yes."))
    await t.ask(t.ana, t.general, f"<@bot> my llama is called {WORD}")
    await t.ask(t.ana, t.ana.direct, f"my secret is {WORD}")
    await t.ask(t.olga, t.general, "<@bot> the tortoise sleeps")
    assert t.holding(WORD)


async def asked_to_erase(person: Person, channel: Channel) -> Message:
    """The question whether it is meant."""
    message = (await person.command("privacy erase", None, channel)).shown
    assert [button["label"] for button in message.buttons] == ["Yes, do it", "No"]
    return message


async def test_a_person_sees_exports_and_erases_and_an_opt_out_holds(t: Live) -> None:
    await lived(t)
    seen = await t.ana.command("privacy see", None, t.general)
    assert "messages: 3 (including direct messages" in seen.shown.text
    assert WORD not in seen.text
    exported = await t.ana.command("privacy export", None, t.general)
    (file,) = exported.shown.attachments
    data = data_in(file.data)
    assert json.loads(data)["person"] == f"discord:{t.ana.id}"
    assert (f"my secret is {WORD}" in data, "tortoise" in data) == (True, False)

    question = await asked_to_erase(t.ana, t.general)
    assert t.holding(WORD)
    answered = await agreed(t.ana, question)
    assert question.text.startswith("You confirmed this:\n> What is kept about you:\n> - messages: 3")
    assert "This was deleted:\n- messages: " in answered.text
    assert "None of it is left in memory.\nI searched my files for the deleted words and found none." in answered.text
    assert WORD not in answered.text
    assert t.holding(WORD) == []
    assert t.holding(WORD[:6]) == []
    assert t.holding("the tortoise sleeps")

    assert "Opted out" in (await t.ana.command("privacy optout", None, t.general)).text
    await t.service.restart()
    asks = len(t.model.requests)
    await t.ana.say(t.general, f"<@bot> do you remember {WORD}?")
    await t.talk(t.olga, t.general, "<@bot> good morning", "Good morning.")
    (request,) = t.model.requests[asks:]
    assert WORD not in json.dumps(request.body)
    assert t.holding(WORD) == []
    t.model.script(Answer("There you are."))
    assert "Resumed" in (await t.ana.command("privacy resume", None, t.general)).text
    assert (await t.ask(t.ana, t.general, "<@bot> hello again")).text == "There you are."


FAULTS = ("privacy.erase:after", "privacy.receipt:before", "privacy.begin:after", "privacy.identities:before")


@pytest.mark.parametrize("fault", first_of(2, *FAULTS))
async def test_an_erasure_that_dies_half_way_is_ended_at_the_next_start(tmp_path: Path, fault: str) -> None:
    async with live_service(tmp_path, scripted=True) as t:
        async with t.service.dying(fault) as doing:
            await lived(t)
            doing(t.ana.press(await asked_to_erase(t.ana, t.general), "Yes, do it"))
        await t.service.start()
        assert t.holding(WORD) == []
        (receipt,) = (await t.service.data("privacy", "see", f"discord:{t.ana.id}"))["erasures"]
        assert receipt["done_at"]
        assert receipt["stores"][0]["before"]["archival"] == 1
        assert receipt["left"] == []


async def test_the_owner_does_the_same_by_command_with_and_without_a_service(t: Live) -> None:
    await lived(t)
    ana, run = f"discord:{t.ana.id}", t.service.run
    code, out, error = await run("privacy", "erase", ana)
    assert (code, out) == (2, "")
    assert "--yes" in error
    assert "is not a person" in await t.service.refused("privacy", "see", "ana")
    assert WORD in json.dumps((await t.service.data("privacy", "export", ana))["constellations"])
    assert "Opted out" in await t.service.said("privacy", "optout", ana)
    await run("jobs", "run", "upkeep.working")
    called = "SELECT 1 FROM jobs WHERE last_detail LIKE '%deleted from working memory%'"
    await until(lambda: t.rows(called), what="a word of hers in what a job says")
    assert "and found none" in await t.service.said("privacy", "erase", ana, "--yes")
    assert t.holding(WORD) == []
    await t.service.stop()

    assert "Opted out since" in await t.service.said("privacy", "see", ana)
    assert (await t.service.data("privacy", "erase", f"discord:{t.olga.id}", "--yes"))["left"] == []
    assert t.holding("the tortoise sleeps") == []
    assert "Resumed" in await t.service.said("privacy", "resume", ana)
    await t.service.start()
    await t.talk(t.ana, t.general, "<@bot> hello", "Hello Ana.")
