"""Privacy in the real program: what a person may have done with what is kept of them, down to the files' bytes."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.service.approvals.approvals import rows
from tests.service.live_service import Live, files_holding, first_of, live_service, until
from tests.wire.discord import Channel, Message, Person
from tests.wire.model import Answer, Call, Calls

WORD = "Quetzalcoatl"
KEEP = Call("recall", {"operation": "insert", "content": f"Ana's llama is {WORD}"})


def holding(t: Live, word: str = WORD) -> list[str]:
    """The files of the data folder with that word in their bytes, whatever its case."""
    assert (t.service.home / "global.db").is_file()
    return files_holding(t.service.home, word)


async def lived(t: Live) -> None:
    """Ana speaks in the channel and directly, and something is remembered; Olga speaks as well."""
    t.model.script(Calls(KEEP), Answer(f"I keep it: {WORD}."), Answer(f"A secret {WORD}."), Answer("Tortoise, yes."))
    await t.ask(t.ana, t.general, f"<@bot> my llama is called {WORD}")
    await t.ask(t.ana, t.ana.direct, f"my secret is {WORD}")
    await t.ask(t.olga, t.general, "<@bot> the tortoise sleeps")
    assert holding(t)


async def asked_to_erase(person: Person, channel: Channel) -> Message:
    """The question whether it is meant."""
    asked = await person.command("privacy erase", None, channel)
    assert asked.ephemeral
    message = asked.message
    assert message is not None
    assert [button["label"] for button in message.buttons] == ["Yes, do it", "No"]
    return message


async def test_a_person_sees_exports_and_erases_and_an_opt_out_holds(t: Live) -> None:
    await lived(t)
    seen = await t.ana.command("privacy see", None, t.general)
    assert seen.ephemeral
    assert "messages: 3 (including direct messages" in seen.text
    assert WORD not in seen.text
    exported = await t.ana.command("privacy export", None, t.general)
    assert exported.message is not None
    (file,) = exported.message.attachments
    data = t.server.world.files[file.id].data.decode()
    assert json.loads(data)["person"] == f"discord:{t.ana.id}"
    assert (f"my secret is {WORD}" in data, "tortoise" in data) == (True, False)

    question = await asked_to_erase(t.ana, t.general)
    assert holding(t)
    answered = await t.ana.press(question, "Yes, do it")
    assert answered.ephemeral
    assert "and found none" in answered.text
    assert WORD not in answered.text
    assert holding(t) == []
    assert holding(t, WORD[:6]) == []
    assert holding(t, "the tortoise sleeps")

    assert "Opted out" in (await t.ana.command("privacy optout", None, t.general)).text
    await t.service.stop()
    await t.service.start()
    asks = len(t.model.requests)
    await t.ana.say(t.general, f"<@bot> do you remember {WORD}?")
    t.model.script(Answer("Good morning."))
    await t.ask(t.olga, t.general, "<@bot> good morning")
    (request,) = t.model.requests[asks:]
    assert WORD not in json.dumps(request.body)
    assert holding(t) == []
    t.model.script(Answer("There you are."))
    assert "Resumed" in (await t.ana.command("privacy resume", None, t.general)).text
    assert (await t.ask(t.ana, t.general, "<@bot> hello again")).text == "There you are."


async def test_who_answers_somebody_that_opted_out_quotes_nothing_of_them(t: Live) -> None:
    await t.ana.command("privacy optout", None, t.general)
    hers = await t.ana.say(t.general, f"my llama is called {WORD}")
    t.model.script(Answer("I do not know."))
    await t.ask(t.olga, t.general, "<@bot> what is it called?", reply_to=hers)
    (request,) = t.model.requests
    assert WORD not in json.dumps(request.body)
    assert holding(t) == []


FAULTS = ("privacy.erase:after", "privacy.receipt:before", "privacy.begin:after", "privacy.identities:before")


@pytest.mark.parametrize("fault", first_of(2, *FAULTS))
async def test_an_erasure_that_dies_half_way_is_ended_at_the_next_start(tmp_path: Path, fault: str) -> None:
    async with live_service(tmp_path, scripted=True) as t:
        t.service.environment["CARINA_FAULT"] = fault
        await t.service.start()
        await lived(t)
        question = await asked_to_erase(t.ana, t.general)
        pressing = asyncio.create_task(t.ana.press(question, "Yes, do it"))
        assert await t.service.ended() != 0
        pressing.cancel()
        await asyncio.gather(pressing, return_exceptions=True)
        del t.service.environment["CARINA_FAULT"]
        await t.service.start()
        assert holding(t) == []
        code, out, _ = await t.service.run("privacy", "see", f"discord:{t.ana.id}", "--json")
        assert code == 0
        (receipt,) = json.loads(out)["erasures"]
        assert receipt["done_at"]
        assert receipt["stores"][0]["before"]["archival"] == 1
        assert receipt["left"] == []
        await t.service.stop()


async def test_the_owner_does_the_same_by_command_with_and_without_a_service(t: Live) -> None:
    await lived(t)
    ana, run = f"discord:{t.ana.id}", t.service.run
    code, out, error = await run("privacy", "erase", ana)
    assert (code, out) == (2, "")
    assert "--yes" in error
    code, _, error = await run("privacy", "see", "ana")
    assert code == 1
    assert "is not a person" in error
    code, out, _ = await run("privacy", "export", ana, "--json")
    assert WORD in json.dumps(json.loads(out)["constellations"])
    code, out, _ = await run("privacy", "optout", ana)
    assert (code, "Opted out" in out) == (0, True)
    await run("jobs", "run", "sleeptime")
    called = "SELECT 1 FROM jobs WHERE last_detail = 'no turn was needed'"
    await until(lambda: rows(t, called), what="a word of hers in what a job says")
    code, out, _ = await run("privacy", "erase", ana, "--yes")
    assert code == 0
    assert "and found none" in out
    assert holding(t) == []
    await t.service.stop()

    code, out, _ = await run("privacy", "see", ana)
    assert "Opted out since" in out
    code, out, _ = await run("privacy", "erase", f"discord:{t.olga.id}", "--yes", "--json")
    assert json.loads(out)["left"] == []
    assert holding(t, "the tortoise sleeps") == []
    code, out, _ = await run("privacy", "resume", ana)
    assert (code, "Resumed" in out) == (0, True)
    await t.service.start()
    t.model.script(Answer("Hello Ana."))
    assert (await t.ask(t.ana, t.general, "<@bot> hello")).text == "Hello Ana."
