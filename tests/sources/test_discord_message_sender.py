"""What is said on Discord, over real sockets: once, to those meant, and with honest failures."""

import asyncio
import copy
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import discord
import pytest

from memory.queue.message_files import File
from memory.store.ids import OutboxId, PersonId, PlaceId, RequestId, TurnId, snowflakes
from memory.store.records import replace
from sources.base import ANSWERED, Activity, Buttons, Delivery, DeliveryFailed, DeliveryUnclear, HistoryUnreadable
from sources.discord.cards import items_of
from sources.discord.message_sender import EDIT_EVERY
from sources.discord.places import direct_place, person_id, place_id
from tests.sources.running import connected
from tests.wire.discord import posting
from tests.wire.discord.channels import GuildChannel
from tests.wire.discord.messages import parts
from tests.wire.discord.person import Person
from tests.wire.discord.server import DiscordServer
from texts import speaking


def delivery(place: PlaceId, text: str, **more: Any) -> Delivery:
    return Delivery(OutboxId(snowflakes.next()), place, text, datetime.now(UTC), TurnId(1), **more)


@pytest.fixture
def ana(server: DiscordServer) -> Person:
    return server.person("ana")


@pytest.fixture
def general(server: DiscordServer, ana: Person) -> GuildChannel:
    guild = server.guild("Home")
    guild.add(ana)
    return guild.text_channel("general")


async def test_a_lost_answer_and_a_retry_make_one_message(server: DiscordServer, general: GuildChannel) -> None:
    async with connected(server) as running:
        server.faults.cut_after_applying("POST", "/channels/*/messages")
        said = delivery(place_id(general.id), "hello")
        with pytest.raises(DeliveryUnclear):
            await running.endpoint.send(said)
        again = await running.endpoint.send(said)
        assert again == await running.endpoint.send(said)
    assert [str(one.id) for one in general.from_bot] == [again]
    assert general.from_bot[0].nonce == str(said.id)


async def test_a_message_that_was_sent_and_deleted_counts_as_sent(server: DiscordServer, general: GuildChannel) -> None:
    async with connected(server) as running:
        server.faults.cut_after_applying("POST", "/channels/*/messages")
        said = delivery(place_id(general.id), "hello")
        with pytest.raises(DeliveryUnclear):
            await running.endpoint.send(said)
        posting.delete(server.world, general.from_bot[0])
        sent = await running.endpoint.send(said)
        assert not sent.isdecimal()
        assert general.from_bot == []
        await running.endpoint.withdraw(said.place, sent)
        with pytest.raises(DeliveryFailed):
            await running.endpoint.edit(said.place, sent, "other")


async def test_nobody_is_woken_who_was_not_meant(server: DiscordServer, general: GuildChannel, ana: Person) -> None:
    role = general.guild.role("All", mentionable=True)
    text = f"@everyone @here {role.mention} {ana.mention}"
    place = place_id(general.id)
    async with connected(server) as running:
        sent = await running.endpoint.send(delivery(place, text))
        await running.endpoint.edit(place, sent, text + "!")
        hooked = await running.endpoint.send(delivery(place, text, speaker="Nova"))
        await running.endpoint.edit(place, hooked, text + "?")
        await running.endpoint.send(delivery(place, text, may_mention=(person_id(ana.id), PersonId("tty:me"))))
    bodies = [r.body for r in server.requests if r.method in ("POST", "PATCH") and "allowed_mentions" in r.body]
    assert len(bodies) == 6, "the edit of a webhook's message is tried as the account first"
    assert [body["allowed_mentions"].get("parse", []) for body in bodies] == [[]] * 6
    assert [body["allowed_mentions"].get("users", []) for body in bodies[:5]] == [[]] * 5
    assert [int(one) for one in bodies[5]["allowed_mentions"]["users"]] == [ana.id]
    assert not any(post.mention_everyone or post.mention_roles for post in general.posts.values())
    assert [bool(post.mentions) for post in general.from_bot] == [False, False, True]


async def test_it_replies_only_when_the_channel_has_moved_on(
    server: DiscordServer, general: GuildChannel, ana: Person
) -> None:
    place = place_id(general.id)
    async with connected(server) as running:
        first = await ana.say(general, "<@bot> hi")
        await running.ear.wait(1)
        await running.endpoint.send(delivery(place, "straight", reply_to=str(first.id)))
        await running.endpoint.send(delivery(place, "and more", reply_to=str(first.id)))
        await ana.say(general, "by the way")
        await ana.say(general, "<@bot> also this")
        await running.ear.wait(2)
        await running.endpoint.send(delivery(place, "late", reply_to=str(first.id)))
        await ana.delete(first)
        await running.endpoint.send(delivery(place, "later", reply_to=str(first.id)))
    assert [one.reply_to for one in general.from_bot] == [None, None, first, None]


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (403, 50013, "no permission"),
        (403, 50001, "cannot see"),
        (404, 10003, "no longer exists"),
        (403, 50007, "direct messages"),
        (400, 50035, "50035"),
    ],
)
async def test_a_refusal_is_final_and_says_why(
    server: DiscordServer, general: GuildChannel, status: int, code: int, words: str
) -> None:
    async with connected(server) as running:
        server.faults.fail("POST", "/channels/*/messages", status, code=code)
        with pytest.raises(DeliveryFailed, match=words) as failure:
            await running.endpoint.send(delivery(place_id(general.id), "hello"))
    assert failure.value.retry_after is None


async def test_limits_and_outages_say_when_to_try_again(server: DiscordServer, general: GuildChannel) -> None:
    async with connected(server) as running:
        said = delivery(place_id(general.id), "hello")
        server.faults.rate_limit("POST", "/channels/*/messages", 120.0)
        with pytest.raises(DeliveryFailed) as limited:
            await running.endpoint.send(said)
        assert limited.value.retry_after == 120.0
        server.faults.rate_limit("POST", "/channels/*/messages", 0.1)
        await running.endpoint.send(said)
        await server.faults.refuse_rest()
        more = delivery(place_id(general.id), "more")
        with pytest.raises(DeliveryUnclear):
            await running.endpoint.send(more)
        with pytest.raises(DeliveryFailed) as down:
            await running.endpoint.send(more)
        assert down.value.retry_after
        await server.faults.accept_rest()
    assert [one.content for one in general.from_bot] == ["hello"]


async def test_an_unknown_channel_and_a_foreign_place_are_refused(server: DiscordServer, general: GuildChannel) -> None:
    async with connected(server) as running:
        for place in (PlaceId("discord:1"), PlaceId("terminal:me"), place_id(general.guild.forum("ideas").id)):
            with pytest.raises(DeliveryFailed) as failure:
                await running.endpoint.send(delivery(place, "hello"))
            assert failure.value.retry_after is None
        with pytest.raises(DeliveryFailed, match="nothing to say"):
            await running.endpoint.send(delivery(place_id(general.id), " \n"))


async def test_direct_messages_are_opened_by_person(server: DiscordServer, general: GuildChannel, ana: Person) -> None:
    async with connected(server) as running:
        sent = await running.endpoint.send(delivery(direct_place(ana.id), "psst"))
        found = await running.endpoint.find((delivery(direct_place(ana.id), "psst"),))
        assert ana.direct.from_bot[0].content == "psst"
        assert str(ana.direct.from_bot[0].id) == sent
        assert found == {}, "the message is that of another delivery"


async def test_a_long_answer_is_split_and_a_file_goes_out(server: DiscordServer, general: GuildChannel) -> None:
    place = place_id(general.id)
    text = "\n\n".join(f"Paragraph {n}: " + "word " * 100 for n in range(10))
    async with connected(server) as running:
        for piece in running.endpoint.split(text):
            await running.endpoint.send(delivery(place, piece))
        await running.endpoint.send(delivery(place, "see https://example.org", files=(File("all.md", text),)))
    *pieces, last = general.from_bot
    assert len(pieces) > 1
    assert " ".join(" ".join(one.content for one in pieces).split()) == " ".join(text.split())
    assert last.attachments[0].data.decode() == text
    assert last.flags & 4


async def test_agents_speak_under_their_names(server: DiscordServer, general: GuildChannel, ana: Person) -> None:
    plain = general.guild.text_channel("plain", webhooks=False)
    async with connected(server, show_names=True) as running:
        assert all(len(piece) <= 1960 for piece in running.endpoint.split("word " * 1000))
        for place in (general, plain, ana.direct):
            await running.endpoint.send(delivery(place_id(place.id), "hello", speaker="Nova\n# of Discord"))
        for n in range(3):
            sent = await running.endpoint.send(delivery(place_id(general.id), f"again {n}", speaker="Echo"))
        await running.endpoint.withdraw(place_id(general.id), sent)
    assert [(one.author_name, one.content) for one in general.messages] == [
        ("Nova # of Disc·ord", "hello"),
        ("Echo", "again 0"),
        ("Echo", "again 1"),
    ]
    assert plain.from_bot[0].content == ana.direct.from_bot[0].content == "**Nova # of Discord**: hello"
    assert len(server.world.webhooks) == 1


EVIL = "https://evil.example/x"


async def test_what_is_said_edited_attached_and_found_again_hides_nothing(
    server: DiscordServer, general: GuildChannel
) -> None:
    async with connected(server) as running:
        plain = delivery(place_id(general.id), f"a\u202eb [good.example]({EVIL})")
        named = delivery(place_id(general.id), f"c\x07d [good.example]({EVIL})", speaker="Vega")
        sent = [await running.endpoint.send(each) for each in (plain, named)]
        filed = delivery(place_id(general.id), "see", files=(File("answer.md", "e\x1bf\u202e"),))
        await running.endpoint.send(filed)
        shown = [message.content for message in general.from_bot]
        attached = general.from_bot[2].attachments[0].data
        await running.endpoint.edit(place_id(general.id), sent[0], f"g\u200bh [good.example]({EVIL})")
    async with connected(server) as running:
        found = await running.endpoint.find((plain, named))
    assert shown == [f"ab good.example ({EVIL})", f"cd good.example ({EVIL})", "see"]
    assert attached == b"ef"
    assert general.from_bot[0].content == f"gh good.example ({EVIL})"
    assert found == {named.id: sent[1]}, "the first was changed"


async def test_a_card_shows_exactly_what_will_run(server: DiscordServer, general: GuildChannel) -> None:
    asked = f'This is exactly what will run:\n```json\n{{"text": "[good.example]({EVIL})"}}\n```'
    async with connected(server) as running:
        buttons = Buttons(RequestId(1), ("once", "deny"))
        said = delivery(place_id(general.id), asked, buttons=buttons, files=(File("all.json", "{}"),))
        sent = await running.endpoint.send(said)
        shown, card = parts(general.from_bot[0].components), copy.copy(general.from_bot[0])
        await running.endpoint.edit(place_id(general.id), sent, f"{asked}\n**Ana agreed**", buttons)
        still = parts(general.from_bot[0].components)
        await running.endpoint.edit(place_id(general.id), sent, "⛔ **Denied**", ANSWERED)
    async with connected(server) as running:
        found = await running.endpoint.find((replace(said, text="⛔ **Denied**"),))
    assert [part["type"] for part in shown] == [17, 10, 13, 1, 2, 2, 2], "a container: words, file, buttons"
    assert [part["type"] for part in still] == [17, 10, 13, 1, 2, 2, 2], "the file stays while others are to answer"
    assert (card.content, card.text, len(card.attachments)) == ("", asked, 1)
    assert [part["type"] for part in parts(general.from_bot[0].components)] == [17, 10], "it is one afterwards"
    assert found == {said.id: sent}


def test_the_buttons_of_a_card_are_in_the_language_of_its_text() -> None:
    with speaking("de"):
        buttons = Buttons(RequestId(1), ("once", "deny"))
    with speaking("ja"):
        once, deny, details = items_of(buttons)
    labels = [each.label for each in (once, deny, details) if isinstance(each, discord.ui.Button)]
    assert labels == ["Einmal erlauben", "Ablehnen", "Einzelheiten"]


async def test_a_notice_is_a_container_and_wakes_who_is_named(server: DiscordServer, general: GuildChannel) -> None:
    [ana] = [each for each in server.world.users.values() if each.username == "ana"]
    told = delivery(place_id(general.id), f"<@{ana.id}> was let in", may_mention=(person_id(ana.id),))
    async with connected(server) as running:
        await running.endpoint.send(replace(told, turn=None))
    [said] = general.from_bot
    assert [part["type"] for part in parts(said.components)] == [17, 10]
    assert [each.id for each in said.mentions] == [ana.id]


async def test_a_webhook_is_never_repeated_by_itself(server: DiscordServer, general: GuildChannel) -> None:
    async with connected(server) as running:
        for fault in (server.faults.cut_after_applying, server.faults.fail):
            rule = fault("POST", "/webhooks/*")
            with pytest.raises(DeliveryUnclear):
                await running.endpoint.send(delivery(place_id(general.id), "hello", speaker="Nova"))
            assert rule.hits == 1
        assert len(general.from_bot) == 1
        server.faults.rate_limit("POST", "/webhooks/*", 3.5)
        with pytest.raises(DeliveryFailed) as limited:
            await running.endpoint.send(delivery(place_id(general.id), "hello", speaker="Nova"))
        assert limited.value.retry_after == 3.5
        server.faults.fail("POST", "/webhooks/*", 403, code=50013)
        await running.endpoint.send(delivery(place_id(general.id), "as myself", speaker="Nova"))
    assert general.from_bot[-1].content == "**Nova**: as myself"


async def test_what_arrived_is_found_in_history(server: DiscordServer, general: GuildChannel, ana: Person) -> None:
    place = place_id(general.id)
    thread = await ana.thread(general, "aside")
    said = [delivery(place, text) for text in ("same", "same", "  other\n", "never sent")]
    hooked = delivery(place_id(thread.id), "by webhook", speaker="Nova")
    async with connected(server) as running:
        for one in (*said[:1], said[2], hooked):
            await running.endpoint.send(one)
        await ana.say(general, "same")
    async with connected(server) as running:
        found = await running.endpoint.find(tuple(said))
        assert found == {said[0].id: str(general.from_bot[0].id), said[2].id: str(general.from_bot[1].id)}
        later = delivery(place, "same")
        late = Delivery(later.id, place, "same", later.created_at + timedelta(seconds=60))
        assert await running.endpoint.find((late,)) == {}
        assert set(await running.endpoint.find((hooked,))) == {hooked.id}
        general.deny(server.bot, "read_message_history")
        await asyncio.sleep(0.1)
        with pytest.raises(HistoryUnreadable):
            await running.endpoint.find((said[3],))
        server.faults.fail("GET", "/channels/*/messages", 403, code=50001)
        with pytest.raises(HistoryUnreadable):
            await running.endpoint.find((delivery(place_id(thread.id), "x"),))


async def test_an_answer_does_not_replace_its_last_preview_within_the_second(
    server: DiscordServer, general: GuildChannel
) -> None:
    place = place_id(general.id)
    async with connected(server) as running:
        said = await running.endpoint.send(delivery(place, "one"))
        began = time.monotonic()
        await running.endpoint.edit(place, said, "one …")
        await running.endpoint.edit(place, said, "one, and all of it")
        assert time.monotonic() - began >= EDIT_EVERY
    assert [one.content for one in general.from_bot] == ["one, and all of it"]


async def test_edits_withdrawals_and_what_is_gone(server: DiscordServer, general: GuildChannel, ana: Person) -> None:
    place = place_id(general.id)
    async with connected(server) as running:
        sent = await running.endpoint.send(delivery(place, "draft"))
        await running.endpoint.edit(place, sent, "final")
        assert general.from_bot[0].content == "final"
        await running.endpoint.withdraw(place, sent)
        await running.endpoint.withdraw(place, sent)
        assert general.from_bot == []
        with pytest.raises(DeliveryFailed) as gone:
            await running.endpoint.edit(place, sent, "too late")
        assert gone.value.retry_after is None
        said = await ana.say(general, "<@bot> now")
        assert [one.subject for one in await running.ear.wait(1)] == [str(said.id)], "our own deletion is no news"


async def test_typing_is_shown_while_busy_and_never_fails(
    server: DiscordServer, general: GuildChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sources.discord.message_sender.TYPING_EVERY", 0.05)
    place = place_id(general.id)
    async with connected(server) as running:
        running.endpoint.show(Activity(place, busy=True))
        running.endpoint.show(Activity(place, busy=True))
        await server.wait_for_request("POST", "/channels/*/typing", count=3)
        running.endpoint.show(Activity(place, busy=False))
        running.endpoint.show(Activity(place, busy=False))
        await asyncio.sleep(0.1)
        seen = len(server.requests_to("POST", "/channels/*/typing"))
        server.faults.fail("POST", "/channels/*/typing", 403, code=50013)
        running.endpoint.show(Activity(place, busy=True))
        await server.wait_for_request("POST", "/channels/*/typing", count=seen + 1)
        await asyncio.sleep(0.1)
        assert len(server.requests_to("POST", "/channels/*/typing")) == seen + 1
        assert not running.task.done()
