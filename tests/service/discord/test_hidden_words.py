"""Every command and suggestion is asked for words that are kept from who asks: no answer, name or error has them."""

import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.service.discord.test_commands import leaves
from tests.service.live_service import ASKS_FIRST, NO_MERGING, WAITS, Live, live_service, said_in, until
from tests.wire.discord import Channel, Person
from tests.wire.discord.using import Impossible
from tests.wire.model import Answer, Call, Calls

NOT_ASKED = {"admin dream run", "admin dream undo", "admin halt now", "admin halt release", "admin summary undo-night"}
NOT_ASKED |= {"chat agent", "chat group", "owner backup create", "owner doctor", "owner restart", "my link remove"}
NOT_ASKED |= {f"privacy {word}" for word in ("erase", "export", "optout", "page", "pause", "resume")}
"""They do something for everybody, or to who gives them, also without a name."""
DIRECT, OWNERS, ABROAD, DEN = "Quetzalcoatl", "Tlaloc", "Huitzilin", "Xolotl"
"""What somebody says to the agent alone, what the owner does, and what is known in another server, and in private."""
TOML = """
[web.server]
listen = "127.0.0.1:0"
"""


def wrong(option: Mapping[str, Any], person: Person, place: Channel) -> Any:
    """Something for an option that has to be given; where it is a name, one of nothing."""
    if option.get("choices"):
        return option["choices"][0]["value"]
    return {3: "zzz", 4: option.get("min_value", 1), 6: person, 7: place, 10: option.get("min_value", 1)}.get(
        option["type"], True
    )


async def all_that_is_told(t: Live, person: Person, place: Channel) -> dict[str, str]:
    """What each command answers, and what is suggested for each option, also beside what is suggested for another."""
    told = dict[str, str]()
    for name, options in (each for command in await t.server.wait_for_commands() for each in leaves(command)):
        if name in NOT_ASKED:
            continue
        try:
            given = {each["name"]: wrong(each, person, t.general) for each in options if each.get("required")}
            answered = await person.command(name, given, place)
        except Impossible:  # Discord does not show it to them, or not there
            continue
        told[name] = " ".join((answered.text, *(message.text for message in answered.followups)))
        suggesting = [each["name"] for each in options if each.get("autocomplete")]
        for option in suggesting:
            found = await person.autocomplete(name, option, "", place)
            told[f"{name}, {option}"] = str([(each.name, each.value) for each in found])
            for other in suggesting if found and option in ("agent", "label") else ():
                beside = await person.autocomplete(name, other, "", place, options={option: found[0].value})
                told[f"{name}, {other} beside {option}"] = str([(each.name, each.value) for each in beside])
    return told


async def hold_nothing(t: Live, person: Person, place: Channel, words: Iterable[str]) -> None:
    told = await all_that_is_told(t, person, place)
    assert len(told) > 100
    found = [(name, word) for name, text in told.items() for word in words if word.casefold() in text.casefold()]
    assert found == [], (person, place)


async def set_down(person: Person, place: Channel, word: str) -> None:
    """Something of everything that people keep for themselves."""
    for name, given in (
        ("tasks add", {"title": f"{word} task"}),
        ("tasks template save", {"name": f"{word} template", "task": word}),
        ("events add", {"title": f"{word} event", "when": "in 3 days"}),
        ("remind me", {"text": f"{word} reminder", "when": "in 3 days"}),
        ("facts add", {"fact": f"I love {word}."}),
        ("my state", {"state": word}),
    ):
        answered = await person.command(name, given, place)
        assert word in answered.text, answered.text
    form = await person.command("memory archival add", None, place)
    assert word in (await person.submit_modal(form, {"text": f"My llama is {word}.", "label": word}, place)).text


async def arrange(owner: Person, place: Channel, word: str) -> None:
    """Something of everything that the owner has agents know in a place."""
    for name, given in (
        ("admin coord assign", {"task": f"{word} task"}),
        ("admin coord handoff", {"note": f"{word} handoff"}),
        ("admin coord note", {"note": f"{word} note"}),
        ("admin memory create", {"label": word, "description": f"{word} block"}),
    ):
        assert "no" not in (await owner.command(name, given, place)).text.split()


async def test_no_command_tells_of_what_is_kept_from_its_giver(tmp_path: Path) -> None:
    async with live_service(tmp_path) as t:
        bea, cid, rex = t.member("Bea"), t.member("Cid"), t.member("Rex")
        keepers = t.guild.role("keepers", "manage_guild")
        t.guild.change(rex, roles=[keepers])
        away, dan = t.server.guild(ABROAD), t.server.person("dan", global_name=f"Dan {ABROAD}")
        away.add(dan)
        there, garden = away.text_channel(ABROAD), t.guild.text_channel("garden")
        t.configure(f'{NO_MERGING}\n[discord.admins]\nroles = {{ "{t.guild.id}" = ["{keepers.id}"] }}', TOML)
        await t.service.start()
        t.pause_jobs()
        await t.ask(t.ana, t.ana.direct, f"remember that my secret is {DIRECT}")
        await t.ask(t.olga, t.olga.direct, f"remember that my code is {OWNERS}")
        await set_down(t.ana, t.ana.direct, DIRECT)
        await set_down(t.olga, t.olga.direct, OWNERS)
        await arrange(t.olga, t.olga.direct, OWNERS)
        await t.service.said("source", "add", OWNERS, "--webhook")
        await t.service.said("folder", "create", OWNERS.lower())
        await t.ask(dan, there, f"<@bot> remember that the plan is {ABROAD}")
        await t.service.said("budget", "set", f"person:discord:{dan.id}", "--tokens", "100000")
        await t.service.said("budget", "set", f"guild:discord:{away.id}", "--tokens", "100000")
        # It is spoken in while everybody sees it; then it is named anew where they do not.
        await t.ask(bea, garden, "<@bot> remember that the roses are red")
        garden.name = DEN
        for insider in (t.server.bot, bea):
            garden.allow(insider, "view_channel")
        garden.deny(t.guild.everyone, "view_channel")
        await t.ask(bea, garden, f"<@bot> remember that the plan is {DEN}")
        assert "roses" in (await t.ask(cid, t.general, "<@bot> what color are the roses?")).text
        assert "Bea in a channel" in (await cid.command("why", None, t.general)).text
        activity = (await cid.command("memory activity", None, t.general)).text
        assert "received a message from Bea in a channel" in activity
        everything = (DIRECT, OWNERS, ABROAD, DEN)
        for person, place, words in (
            (cid, t.general, everything),
            (cid, cid.direct, everything),
            (rex, t.general, everything),
            (dan, dan.direct, (DIRECT, OWNERS, DEN)),
            (t.ana, t.ana.direct, (OWNERS, ABROAD, DEN)),
            (t.olga, t.olga.direct, (DIRECT,)),
        ):
            await hold_nothing(t, person, place, words)
        assert DEN in (await bea.command("memory activity", None, garden)).text
        assert OWNERS in (await t.olga.command("owner source list")).text


def _said(t: Live, words: str) -> bool:
    return words in said_in(t.ana.direct)


async def test_who_left_a_server_hears_nothing_of_it_when_their_request_is_allowed_later(tmp_path: Path) -> None:
    async with live_service(tmp_path, scripted=True) as t:
        bea = t.member("Bea")
        t.configure(f'{NO_MERGING}\nallow.persons = ["{t.ana.id}", "{bea.id}"]', ASKS_FIRST)
        await t.service.start()
        for allowed, last in ((True, "Found."), (False, "Nothing.")):
            content = f"My llama, {last}"
            t.asks(content)
            assert (await t.ask(t.ana, t.ana.direct, "keep this for me")).text == WAITS
            if not allowed:
                t.guild.remove(t.ana)
            await t.talk(bea, t.general, f"<@bot> the {ABROAD} of {last}", "I see.")
            looks = Call("search", {"query": ABROAD, "domain": "constellation_messages"})
            t.model.script(Calls(looks), Answer(last))
            request = {"request": str(t.request_of(content))}
            assert "Allowed once" in (await t.olga.command("permits approve", request)).text
            await until(functools.partial(_said, t, last), what=last)
            found = [each for each in t.model.requests[-1].results if ABROAD in each]
            assert bool(found) is allowed
        await until(lambda: t.rows("SELECT within FROM places WHERE kind = 'direct'") == [("[]",)])


async def test_a_channel_that_is_mentioned_is_named_to_those_alone_who_know_it(tmp_path: Path) -> None:
    async with live_service(tmp_path, scripted=True) as t:
        bea = t.member("Bea")
        pond, den = t.guild.text_channel("pond"), t.guild.text_channel(DEN, private=True, members=[bea])
        inner = await bea.thread(den, OWNERS, private=True)
        inner.add(t.server.bot)
        t.configure(f"{NO_MERGING}\nauto_thread = true")
        await t.service.start()
        said = f"<@bot> what of <#{pond.id}>, <#{den.id}> and <#{inner.id}>?"
        await t.ana.say(t.general, said)
        (request,) = await t.model.wait_for(1)
        assert f"what of #pond, <#{den.id}> and <#{inner.id}>?" in str(request.messages)
        await until(lambda: any(said_in(each) for each in t.guild.threads), what="an answer in a thread")
        (thread,) = (each for each in t.guild.threads if each is not inner)
        assert "pond" in thread.name
        for name in (DEN, OWNERS):
            assert name not in thread.name
            assert name not in str(request.body)
        await bea.say(den, f"<@bot> what of <#{den.id}>, and of <#{inner.id}>?")
        request = (await t.model.wait_for(2))[1]
        assert f"what of #{DEN}, and of <#{inner.id}>?" in str(request.messages)
