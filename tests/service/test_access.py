"""Strangers in direct messages: told a code and nothing else, let in by it, shut out, all of it lasting."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.service.live_service import Live, agreed, as_seen, live_service, refused, started, until
from tests.wire.discord import Message, Person

CODE = re.compile(r"`([2-9A-Z]{4}-[2-9A-Z]{4})`")
PAIR = 'merge_seconds = 0\ndm = "pair"'
SECRET = "Quetzalcoatl"


@pytest.fixture
async def t(tmp_path: Path) -> AsyncIterator[Live]:
    """The program running for people it knows, and strangers."""
    async with started(tmp_path, PAIR) as made:
        yield made


async def told(t: Live, person: Person, text: str = SECRET) -> str:
    """Somebody writes directly and is told a code, and the owner is shown their card."""
    answered = await t.ask(person, person.direct, text)
    await t.olga.direct.wait_for_bot(lambda m: f"<@{person.id}>" in m.text)
    found = CODE.search(answered.text)
    assert found is not None, answered.text
    return found[1]


async def heard_elsewhere(t: Live) -> None:
    """Wait until everything that was written before this is through: a turn of the owner's comes after it."""
    await t.talk(t.olga, t.olga.direct, "are you there?", "Yes, Olga.")


async def test_a_stranger_is_told_a_code_once_and_is_let_in_by_it(t: Live) -> None:
    code = await told(t, t.ana)
    await t.ana.dm(f"hello? {SECRET} again")
    await t.ana.dm(f"are you there, {SECRET}?")
    await heard_elsewhere(t)
    assert len(t.ana.direct.from_bot) == 1, "one message, however much they write"
    assert [request for request in t.model.requests if SECRET in json.dumps(request.body)] == []
    assert t.holding(SECRET) == [], "nothing of what a stranger wrote is in any file"
    assert len(t.model.requests) == 1, "and no model was asked for her"

    listed = await t.olga.command("owner people list")
    assert f"<@{t.ana.id}>" in listed.shown.text
    assert code not in listed.text, "the code comes from her, not from the list"
    refused(await t.ana.command("owner people list"), "Only the owner may")
    refused(await t.ana.command("owner pair approve", {"code": code}), "Only the owner may")
    refused(await t.olga.command("owner pair approve", {"code": "ABCD-2345"}), "no open request with this code")

    approved = await t.olga.command("owner pair approve", {"code": f" {code.replace('-', '').lower()} "})
    assert f"(<@{t.ana.id}>) is now allowed" in approved.shown.text
    await t.ana.direct.wait_for_bot(lambda m: "You can talk to me now" in m.text)
    refused(await t.olga.command("owner pair approve", {"code": code}), "no open request with this code")
    assert "allowed with a code by" in (await t.olga.command("owner people list")).text

    await t.talk(t.ana, t.ana.direct, "hello", "Hello Ana.")
    assert "; wrote only in private, last" in (await t.olga.command("owner people list")).text
    assert t.rows("SELECT trust FROM messages WHERE role = 'user' AND content = 'hello'") == [(2,)]
    assert SECRET not in json.dumps([request.body for request in t.model.requests])


async def test_who_waits_is_listed_with_what_they_wrote_elsewhere(t: Live) -> None:
    await t.talk(t.ana, t.general, "<@bot> hello", "Hello Ana.")
    await told(t, t.ana)
    listed = (await t.olga.command("owner people list")).text
    assert "waiting until" in listed
    assert "; 1 message, last" in listed


async def card_of(t: Live, stranger: Person) -> Message:
    card = await t.olga.direct.wait_for_bot(lambda m: f"<@{stranger.id}>" in m.text and bool(m.buttons))
    assert [each["label"] for each in card.buttons] == ["Allow", "Deny", "Ignore"]
    return card


async def test_the_owner_decides_by_a_card_that_says_who_asks_and_from_where(t: Live) -> None:
    bea, code = t.member("Bea"), await told(t, t.ana)
    eve = t.server.person("eve", global_name="**Olga** [click](https://evil.example) @everyone")
    t.guild.add(eve)
    card = await card_of(t, t.ana)
    assert "**Ana** wants to talk to me." in card.text
    assert f"servers in common: {t.guild.name}" in card.text
    assert SECRET not in card.text
    await t.service.restart(kill=True)
    refused(await bea.press(as_seen(card, t.general), "Allow"), "Only the owner may")
    assert "is now allowed and has been notified" in (await t.olga.press(card, "Allow")).text
    await t.ana.direct.wait_for_bot(lambda m: "You can talk to me now" in m.text)
    await until(lambda: card.text == f"✅ <@{t.ana.id}> may talk to me.", what="a card of one line")
    assert card.buttons == []
    refused(await t.olga.command("owner pair approve", {"code": code}), "no open request with this code")

    await told(t, bea)
    shown, kept = await card_of(t, bea), await told(t, eve)
    card = as_seen(shown)
    pressed = await asyncio.gather(t.olga.press(card, "Deny"), t.olga.press(card, "Allow"))
    assert sorted("has been notified" in each.text for each in pressed) == [False, True], "the first one counts"
    await t.olga.command("owner people allow", {"person": bea})
    offered = {choice.value: choice.name for choice in await t.olga.autocomplete("owner people forget", "who", "")}
    assert offered[f"discord:{bea.id}"] == f"somebody who has not written yet (…{str(bea.id)[-4:]}) (allowed)"
    await until(lambda: shown.text == f"✅ <@{bea.id}> may talk to me.", what="what was decided last")
    await t.olga.command("owner people forget", {"who": f"discord:{bea.id}"})
    refused(await t.olga.command("owner people forget", {"who": f"discord:{bea.id}"}), "have no open request")
    said = t.rows("SELECT content FROM outbox WHERE key GLOB 'pairing/*' ORDER BY id DESC LIMIT 1")
    await until(
        lambda: shown.text == f"<@{bea.id}> is no longer allowed or blocked by name.", what="that nothing is decided"
    )
    assert said == [(shown.text,)]
    flat = await card_of(t, eve)
    assert r"**Olga\*\* (click)" in flat.text, "on one line, without marks and links"
    assert (flat.allowed_mentions or {})["parse"] == []
    assert "I won't answer" in (await t.olga.press(flat, "Ignore")).text
    refused(await t.olga.command("owner pair approve", {"code": kept}), "no open request with this code")
    assert len(eve.direct.from_bot) == 1


async def test_who_is_shut_out_is_told_and_heard_nothing(t: Live) -> None:
    refused(await t.ana.command("owner people deny", {"person": t.olga}), "Only the owner may")
    refused(await t.olga.command("owner people deny", {"person": t.olga}), "cannot be blocked")
    refused(await t.olga.command("owner people deny"), "Choose one: a person, a role or a server")
    refused(
        await t.olga.command("owner people deny", {"person": t.ana, "server": "1"}),
        "Choose one: a person, a role or a server",
    )
    refused(await t.olga.command("owner people allow", {"server": "home"}), "Choose a server that I know")
    assert "is blocked" in (await t.olga.command("owner people deny", {"person": t.ana})).text
    await t.ana.dm(f"let me in, {SECRET}")
    await t.ana.say(t.general, f"<@bot> let me in, {SECRET}")
    await heard_elsewhere(t)
    assert (t.ana.direct.from_bot, t.general.from_bot) == ([], [])
    assert t.holding(SECRET) == []
    for name, given in (("help", None), ("search", {"text": "tea"}), ("my link start", None)):
        refused(await t.ana.command(name, given), "You are blocked here. Only `/privacy` works for you")
    refused(await t.ana.command("memory list", None, t.general), "You are blocked here")
    assert await t.ana.autocomplete("memory show", "label", "", t.general) == []
    own = await t.ana.command("privacy see")
    assert "about you" in own.shown.text
    await t.service.restart(kill=True)
    refused(await t.ana.command("help"), "You are blocked here")
    assert "is allowed" in (await t.olga.command("owner people allow", {"person": t.ana})).text
    await t.talk(t.ana, t.ana.direct, "hello", "Here I am.")
    await t.talk(t.ana, t.general, "<@bot> hello", "Here too.")
    (choice,) = await t.olga.autocomplete("owner people forget", "who", str(t.ana.id))
    assert str(t.ana.id) not in choice.name
    assert await t.ana.autocomplete("owner people forget", "who", "") == []
    ana = {"who": choice.value}
    assert "is no longer allowed or blocked" in (await t.olga.command("owner people forget", ana)).text
    refused(await t.olga.command("owner people forget", ana), "No command has allowed or blocked")
    code = await told(t, t.ana)
    assert f"Canceled the code for <@{t.ana.id}>" in (await t.olga.command("owner people forget", ana)).text
    refused(await t.olga.command("owner pair approve", {"code": code}), "no open request with this code")


async def test_roles_and_servers_are_shut_out_and_let_in_where_they_are(t: Live) -> None:
    muted, elsewhere = t.guild.role("muted"), t.server.guild("Elsewhere")
    hall = elsewhere.text_channel("hall")
    elsewhere.add(t.ana)
    t.guild.change(t.olga, roles=[t.guild.role("staff", "manage_guild")])  # roles are named in their server
    await t.olga.command("owner people deny", {"role": muted}, t.general)
    await t.olga.command("owner people deny", {"server": str(elsewhere.id)})
    t.guild.change(t.ana, roles=[muted])
    await t.ana.say(t.general, "<@bot> muted")
    await t.ana.say(hall, "<@bot> banned")
    await heard_elsewhere(t)
    assert (t.general.from_bot, hall.from_bot) == ([], [])
    refused(await t.ana.command("help", None, t.general), "You are blocked here")
    refused(await t.ana.command("help", None, hall), "You are blocked here")
    assert "Talk to me" in (await t.ana.command("help")).text, "a role counts in its own server only"
    listed = (await t.olga.command("owner people list")).text
    assert f"<@&{muted.id}>" in listed
    assert f"server `{elsewhere.id}`: blocked with a command by <@{t.olga.id}>, " in listed
    t.guild.change(t.ana, roles=[])
    await t.olga.command("owner people forget", {"who": f"discord:guild:{elsewhere.id}"})
    await t.talk(t.ana, t.general, "<@bot> now?", "Yes.")
    await t.talk(t.ana, hall, "<@bot> now?", "Yes.")


async def test_letting_one_person_in_shuts_nobody_else_out(t: Live) -> None:
    bea = t.member("Bea")
    await t.olga.command("owner people allow", {"person": t.ana})
    await t.talk(bea, t.general, "<@bot> hello", "Hello Bea.")


async def test_what_the_configuration_shuts_out_stays_out_and_who_it_lets_in_needs_no_code(tmp_path: Path) -> None:
    async with live_service(tmp_path, scripted=True) as t:
        bea = t.member("Bea")
        lists = f'[discord.deny]\npersons = ["{t.ana.id}"]\n[discord.allow]\npersons = ["{bea.id}"]'
        t.configure(f"{PAIR}\n{lists}")
        await t.service.start()
        refused(await t.olga.command("owner people allow", {"person": t.ana}), "[discord.deny]")
        refused(await t.olga.command("owner people forget", {"who": f"discord:{t.ana.id}"}), "in the configuration")
        assert "in the configuration" in (await t.olga.command("owner people list")).text
        await t.ana.dm("let me in")
        await t.talk(bea, bea.direct, "hello", "Hello Bea.")
        assert t.ana.direct.from_bot == []


async def test_who_opted_out_is_told_no_code_and_erasing_ends_being_let_in(t: Live) -> None:
    await t.ana.command("privacy optout")
    await t.ana.dm("let me in")
    await heard_elsewhere(t)
    assert t.ana.direct.from_bot == []
    await t.ana.command("privacy resume")
    await t.olga.command("owner pair approve", {"code": await told(t, t.ana)})
    await t.ana.direct.wait_for_bot(lambda m: "You can talk to me now" in m.text)
    assert "pairing requests and approvals" in (await t.ana.command("privacy see")).text
    question = (await t.ana.command("privacy erase")).shown
    assert "None of it is left in memory." in (await agreed(t.ana, question)).text
    await told(t, t.ana)


@pytest.mark.parametrize("fault", ["admission.pairing:before", "admission.pairing:after"])
async def test_a_stranger_is_told_one_code_whatever_dies(tmp_path: Path, fault: str) -> None:
    async with live_service(tmp_path, scripted=True) as t:
        t.configure(PAIR)
        async with t.service.dying(fault):
            await t.ana.dm("let me in")
        await t.service.start()
        if fault.endswith("before"):
            await t.ana.dm("let me in")
        answered = await t.ana.direct.wait_for_bot()
        found = CODE.search(answered.text)
        assert found is not None
        assert "is now allowed" in (await t.olga.command("owner pair approve", {"code": found[1]})).text
        assert len([m for m in t.ana.direct.from_bot if CODE.search(m.text)]) == 1


async def test_two_who_approve_at_once_let_in_once(t: Live) -> None:
    code = await told(t, t.ana)
    both = await asyncio.gather(
        t.olga.command("owner pair approve", {"code": code}), t.service.run("pair", "approve", code)
    )
    said = [both[0].text, both[1][1] + both[1][2]]
    assert sorted("is now allowed" in text for text in said) == [False, True]
    await until(lambda: len(t.ana.direct.from_bot) == 2, what="one code and one welcome")
