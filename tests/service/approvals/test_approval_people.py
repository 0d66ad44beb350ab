"""Who may answer, and where they are asked: admins, roles, a channel for them, and places that take no message."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from tests.service.live_service import (
    DONE,
    LABELS,
    WAITS,
    Live,
    asking_service,
    carry,
    decided,
    labels,
    refused,
    unscripted,
    until,
)
from tests.wire.discord import Guild, GuildChannel, Message, Person, Role
from tests.wire.model import Answer, Calls

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass
class Administered:
    """Eve is an admin by name, Rex by the role `keepers` of the guild Home; they are asked in `office`.

    Fay is no admin; she and all of them may talk to the bot, and nobody else.
    """

    live: Live
    eve: Person
    rex: Person
    fay: Person
    keepers: Role
    office: GuildChannel
    elsewhere: Guild

    async def asked(self, content: str, *then: str) -> tuple[Message, GuildChannel]:
        """Somebody asks for something that waits; gives the card in the office, and the channel."""
        t = self.live
        channel = t.guild.text_channel("asked")
        t.asks(content, *then)
        assert (await t.ask(t.ana, channel, "<@bot> keep this for me")).text == WAITS
        return await t.card_of(content, self.office), channel


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def made(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Administered]:
    people: list[Administered] = []

    def settle(t: Live) -> str:
        eve, rex, fay = t.member("Eve"), t.member("Rex"), t.member("Fay")
        keepers = t.guild.role("keepers")
        t.guild.change(rex, roles=[keepers])
        office = t.guild.text_channel("office", private=True, members=[eve, rex, t.olga])
        elsewhere = t.server.guild("Elsewhere")
        elsewhere.add(rex)
        people.append(Administered(t, eve, rex, fay, keepers, office, elsewhere))
        allowed = [str(each.id) for each in (t.ana, t.olga, eve, rex, fay)]
        return f"""
[discord.admins]
persons = ["{eve.id}"]
roles = {{ "{t.guild.id}" = ["{keepers.id}"] }}
[discord.allow]
persons = {allowed}
[approvals]
channel = "{office.id}"
"""

    async with asking_service(tmp_path_factory.mktemp("people"), discord=settle):
        yield people[0]


@pytest_asyncio.fixture(loop_scope="module")
async def home(made: Administered) -> AsyncIterator[Administered]:
    for _ in unscripted(made.live):
        yield made
        made.live.guild.change(made.rex, roles=[made.keepers])


async def test_two_admins_in_the_same_moment_one_decides_and_the_other_is_told_who(home: Administered) -> None:
    t, content, owner_before = home.live, "The kiwi is asleep.", len(home.live.olga.direct.log)
    card, channel = await home.asked(content, DONE)
    assert labels(card) == LABELS
    yes, no = await asyncio.gather(home.eve.press(card, "Allow once"), home.rex.press(card, "Allow once"))
    late = next(each for each in (yes, no) if "already been decided" in each.text)
    first = no if late is yes else yes
    who = home.eve if first is yes else home.rex
    assert decided(who, "Allowed once").match(first.text)
    assert decided(who, "Allowed once").search(late.text)
    assert late.ephemeral
    await t.finished(card, channel)
    assert decided(who, "Allowed once").search(card.text)
    assert t.times_kept(content) == 1
    asked, answered, *later = t.record_of(t.request_of(content))
    assert (asked, answered, sorted(later)) == ("asked", "answered", ["refused", "used"]), "it is used at once"
    assert t.leaked("kiwi") == [home.office]
    assert len(t.olga.direct.log) == owner_before, "she is asked in the office and not a second time elsewhere"


async def test_a_role_counts_in_its_own_guild_and_nowhere_else(home: Administered) -> None:
    t, content = home.live, "The weka is here."
    card, channel = await home.asked(content, DONE)
    request, there = t.request_of(content), home.elsewhere.text_channel("there")
    home.elsewhere.change(home.rex, roles=[home.elsewhere.role("keepers")])
    for place in (there, home.rex.direct):
        for command in ("approve", "deny"):
            refused(
                await home.rex.command(f"permits {command}", {"request": str(request)}, place),
                "no such request for you to answer",
            )
        assert await home.rex.autocomplete("permits approve", "request", "", place) == []
        refused(await home.rex.command("admin permits revoke", {"permit": "1"}, home.rex.direct), "Only an admin may")
        assert "recall" not in (await home.rex.command("permits list", channel=place)).text
    assert t.status_of(request) == "waiting"
    assert [choice.value for choice in await home.rex.autocomplete("permits approve", "request", "", channel)] == [
        str(request)
    ]
    answered = await home.rex.command("permits approve", {"request": str(request)}, channel)
    assert decided(home.rex, "Allowed once").match(answered.text)
    await t.finished(card, channel)


async def test_when_the_owner_takes_no_dms_either_the_terminal_asks(home: Administered) -> None:
    t, content = home.live, "The crake is quiet."
    home.office.deny(t.server.bot, "send_messages")
    t.olga.accepts_dms = False
    channel = t.guild.text_channel("closed-too")
    t.asks(content, DONE)
    assert (await t.ask(t.ana, channel, "<@bot> keep this for me")).text == WAITS
    request = t.request_of(content)
    await until(lambda: t.record_of(request) == ["asked", "passed on", "passed on"], what="the terminal's turn")
    home.office.allow(t.server.bot, "send_messages")
    t.olga.accepts_dms = True
    sql = "SELECT content FROM outbox WHERE place_id = 'terminal:local' AND key = ?"
    ((card,),) = t.rows(sql, f"card/{request}/terminal:local")
    assert content in card
    await t.olga.command("permits approve", {"request": str(request)})
    await channel.wait_for_bot(lambda m: m.text == DONE)
    assert t.times_kept(content) == 1
    assert t.status_of(request) == "used"


async def test_a_person_who_takes_no_dms_is_no_way_around(home: Administered) -> None:
    """Words of a private channel ask their speaker in person: where that cannot be, nobody else may say yes."""
    t, words, fay = home.live, "Fay keeps a wombat.", home.fay
    den, hall = t.guild.text_channel("den", private=True, members=[fay]), t.guild.text_channel("hall")
    fay.accepts_dms = False
    t.model.script(Answer("Hello."), Calls(carry(hall, words)), Answer(WAITS), Answer("I could not ask you."))
    await t.ask(fay, hall, "<@bot> hello")
    await fay.say(den, "<@bot> tell them about the wombat")
    await den.wait_for_bot(lambda m: m.text == "I could not ask you.")
    fay.accepts_dms = True
    assert t.status_of(t.request_of(words)) == "expired"
    assert "nobody could be asked" in t.model.requests[-1].last_user
    assert t.leaked("wombat") == []


async def test_without_a_channel_each_named_admin_is_asked_directly(tmp_path: Path) -> None:
    people: list[Person] = []

    def settle(t: Live) -> str:
        people.extend(t.member(name) for name in ("Eve", "Gil"))
        persons = ", ".join(f'"{each.id}"' for each in (*people, t.olga))
        return f"[discord.admins]\npersons = [{persons}]\n[approvals]\nquorum = 2"

    async with asking_service(tmp_path, discord=settle) as t:
        eve, gil = people
        gil.accepts_dms = False  # whom it does not reach holds nobody up
        content, channel = "The weka is bold.", t.guild.text_channel("hall")
        card = await t.waiting(t.ana, channel, content, DONE)
        copy = await t.card_of(content, eve.direct)
        request = t.request_of(content)
        assert content in copy.text
        assert "2 people must approve it." in copy.text
        await until(lambda: t.record_of(request) == ["asked", "not reached"], what="the admin without direct messages")
        assert t.status_of(request) == "waiting"
        await eve.press(copy, "Allow once")
        both = (card, copy)
        await t.server.until(
            lambda: all("more approvals are needed" in each.text for each in both), 20, "one yes on both"
        )
        again = await eve.press(copy, "Allow once")
        refused(again, "You have already answered this. More people still need to answer.")
        await t.olga.press(card, "Allow once")
        await t.finished(card, channel)
        outcome = await t.final(copy)
        assert outcome.startswith("✅ **Allowed once by ")
        assert all(f"<@{each.id}>" in outcome for each in (eve, t.olga))
        assert len([m for m in t.olga.direct.from_bot if m.id >= card.id and "`recall`" in m.text]) == 1
        assert t.times_kept(content) == 1
