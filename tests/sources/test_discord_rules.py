"""The rules of hearing and speaking on Discord, as tables."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import discord
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from memory.people.admission_and_pairing import Rule
from memory.people.audience import OWNER, Audience, Trust, channel_audience, guild_audience, person_audience
from memory.queue.message_files import File
from memory.queue.payloads import Quotation
from memory.store.ids import OutboxId, PlaceId
from memory.store.records import replace
from sources.attachments import decode
from sources.base import Delivery, PlaceKind
from sources.discord.admission_and_answer_rules import Author, DiscordMessage, is_admitted, is_answered, trust_of
from sources.discord.conversion import MessageContext, forwarded_lines, from_discord, readable, to_notification
from sources.discord.markup import tables_as_code
from sources.discord.message_sender import HistoryMessage, allowed_mentions, matched, prefixed
from sources.discord.places import (
    ChannelInfo,
    channel_number,
    guild_id,
    person_id,
    place_id,
    place_of,
    shortened,
    user_number,
)
from sources.discord.settings import Direct, DiscordSettings, Mode, People, StoredDecisions
from tests.sources.running import NOTHING_DECIDED

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ME, ANA, OZ = 1, 2, 3
GUILD, CATEGORY, CHANNEL, THREAD = 10, 11, 12, 13
HERE = guild_audience(guild_id(GUILD))
OWN, PARENT = channel_audience(place_id(THREAD)), channel_audience(place_id(CHANNEL))


def settings(**changes: Any) -> DiscordSettings:
    return replace(DiscordSettings(SecretStr("secret"), NOTHING_DECIDED, OZ), **changes)


def info(**changes: Any) -> ChannelInfo:
    plain = ChannelInfo(
        CHANNEL, PlaceKind.GUILD, "general", chain=(CHANNEL, CATEGORY, GUILD), guild=GUILD, everyone=True
    )
    return replace(plain, **changes)


def thread(**changes: Any) -> ChannelInfo:
    chain = (THREAD, CHANNEL, CATEGORY, GUILD)
    return info(**({"id": THREAD, "kind": PlaceKind.THREAD, "parent": CHANNEL, "chain": chain} | changes))


def direct(person: int | None) -> ChannelInfo:
    return ChannelInfo(99, PlaceKind.DIRECT, chain=(99,), person=person)


BOUND = {GUILD: f"discord:guild:{GUILD}"}
"""What the configuration names otherwise than by the bare id."""

AUDIENCES: list[tuple[ChannelInfo, tuple[int, ...], Audience, tuple[Audience, ...]]] = [
    (info(), (), HERE, ()),
    (info(id=THREAD, everyone=False), (), OWN, (HERE,)),
    (thread(), (), HERE, ()),
    (thread(private=True), (), OWN, (HERE,)),
    (thread(everyone=False), (), OWN, (PARENT, HERE)),
    (thread(everyone=False, private=True), (), OWN, (PARENT, HERE)),
    (info(id=50), (), OWNER, ()),
    (thread(parent=50, everyone=False), (), OWNER, ()),
    (direct(ANA), (), person_audience(person_id(ANA)), ()),
    (direct(ANA), (GUILD,), person_audience(person_id(ANA)), (HERE,)),
    (direct(OZ), (GUILD,), OWNER, ()),
    (direct(None), (), channel_audience(place_id(99)), ()),
    (ChannelInfo(99, PlaceKind.GROUP, chain=(99,)), (), channel_audience(place_id(99)), ()),
]


@pytest.mark.parametrize(("where", "shared", "audience", "within"), AUDIENCES)
def test_who_hears_what_is_said(
    where: ChannelInfo, shared: tuple[int, ...], audience: Audience, within: tuple[Audience, ...]
) -> None:
    place = place_of(where, settings(owner_places=frozenset({50})), shared)
    assert (place.audience, place.within) == (audience, within)
    assert place.id == place_id(where.id)
    assert place.bindings == tuple(BOUND.get(one, f"discord:{one}") for one in where.chain)


def message(content: str = "hello", **changes: Any) -> DiscordMessage:
    plain = DiscordMessage(100, Author(ANA, "Ana", "ana"), NOW, content)
    return replace(plain, **changes)


CALLED = message(calls_us=True)
REPLIED = message(quoted=Quotation("Carina", "before", by_us=True, external_id="7"))
OTHER_REPLY = message(quoted=Quotation("Bo", "before", external_id="7"))


@pytest.mark.parametrize(
    ("mode", "heard", "where", "outcome"),
    [
        (Mode.OPEN, message(), info(), True),
        (Mode.MENTION, message(), info(), None),
        (Mode.MENTION, CALLED, info(), True),
        (Mode.MENTION, REPLIED, info(), True),
        (Mode.MENTION, OTHER_REPLY, info(), None),
        (Mode.MENTION, message(), thread(ours=True), True),
        (Mode.MENTION, message(to_others=True), thread(ours=True), False),
        (Mode.MENTION, message(calls_us=True, to_others=True), thread(ours=True), True),
        (Mode.MENTION, message(), thread(), None),
        (Mode.LISTEN, message(), info(), False),
        (Mode.LISTEN, message(), thread(ours=True), False),
        (Mode.LISTEN, CALLED, info(), True),
        (Mode.OFF, CALLED, info(), None),
        (Mode.OFF, message(), direct(ANA), True),
    ],
)
def test_what_becomes_of_a_message(mode: Mode, heard: DiscordMessage, where: ChannelInfo, outcome: bool | None) -> None:
    assert is_answered(heard, where, settings(default_mode=mode)) is outcome


COOK = Author(ANA, "Ana", roles={77: "Cooks"})
PLAIN = Author(ANA, "Ana")


def decided(subject: str, rule: Rule = Rule.ALLOW) -> StoredDecisions:
    return replace(NOTHING_DECIDED, rules={subject: rule})


LET_IN, SHUT_OUT = decided(person_id(ANA)), decided(person_id(ANA), Rule.DENY)


@pytest.mark.parametrize(
    ("author", "where", "changes", "shares", "may"),
    [
        (PLAIN, info(), {}, False, True),
        (PLAIN, direct(ANA), {}, True, True),
        (PLAIN, direct(ANA), {}, False, False),
        (PLAIN, direct(ANA), {"dm": Direct.EVERYONE}, False, True),
        (PLAIN, direct(ANA), {"dm": Direct.ALLOWED}, True, False),
        (PLAIN, direct(ANA), {"dm": Direct.ALLOWED, "allow": People(frozenset({ANA}))}, False, True),
        (PLAIN, direct(ANA), {"dm": Direct.PAIR}, True, False),
        (PLAIN, direct(ANA), {"dm": Direct.PAIR, "allow": People(frozenset({ANA}))}, False, True),
        (PLAIN, direct(ANA), {"dm": Direct.PAIR, "decided": LET_IN}, False, True),
        (PLAIN, direct(ANA), {"dm": Direct.ALLOWED, "decided": LET_IN}, False, True),
        (PLAIN, direct(ANA), {"dm": Direct.OFF, "decided": LET_IN}, True, False),
        (PLAIN, direct(ANA), {"dm": Direct.EVERYONE, "decided": SHUT_OUT}, True, False),
        (PLAIN, direct(ANA), {"decided": LET_IN, "deny": People(frozenset({ANA}))}, True, False),
        (PLAIN, direct(4), {"decided": LET_IN}, True, True),
        (Author(4, "Di"), info(), {"decided": LET_IN}, False, True),
        (PLAIN, info(), {"decided": SHUT_OUT}, False, False),
        (PLAIN, info(), {"decided": LET_IN, "allow": People(frozenset({4}))}, False, True),
        (COOK, info(), {"decided": decided("discord:role:77", Rule.DENY)}, False, False),
        (PLAIN, info(), {"decided": decided("discord:role:77", Rule.DENY)}, False, True),
        (COOK, info(), {"decided": decided("discord:role:77"), "allow": People(frozenset({4}))}, False, True),
        (PLAIN, info(), {"decided": decided("discord:guild:10", Rule.DENY)}, False, False),
        (PLAIN, info(), {"decided": decided("discord:guild:10"), "allow": People(guilds=frozenset({9}))}, False, True),
        (Author(OZ, "Oz"), info(), {"decided": decided("discord:3", Rule.DENY)}, False, True),
        (PLAIN, direct(ANA), {"dm": Direct.OFF, "allow": People(frozenset({ANA}))}, True, False),
        (PLAIN, info(), {"allow": People(frozenset({8}))}, True, False),
        (PLAIN, info(), {"allow": People(frozenset({ANA}))}, True, True),
        (COOK, info(), {"allow": People(roles=frozenset({77}))}, True, True),
        (COOK, direct(ANA), {"allow": People(roles=frozenset({77}))}, True, False),
        (PLAIN, info(), {"allow": People(guilds=frozenset({9}))}, True, False),
        (PLAIN, info(), {"allow": People(guilds=frozenset({GUILD}))}, True, True),
        (PLAIN, info(), {"deny": People(frozenset({ANA})), "allow": People(frozenset({ANA}))}, True, False),
        (COOK, info(), {"deny": People(roles=frozenset({77}))}, True, False),
        (PLAIN, info(), {"deny": People(guilds=frozenset({GUILD}))}, True, False),
        (Author(OZ, "Oz"), info(), {"deny": People(frozenset({OZ}), guilds=frozenset({GUILD}))}, False, True),
        (Author(OZ, "Oz"), direct(OZ), {"dm": Direct.OFF}, False, True),
    ],
)
def test_who_may_talk(author: Author, where: ChannelInfo, changes: dict[str, object], shares: bool, may: bool) -> None:
    assert is_admitted(author, where, settings(**changes), shares_guild=shares) is may


def test_trust_is_stamped_from_ids_only() -> None:
    approving = settings(allow=People(frozenset({8}), frozenset({77})))
    assert trust_of(Author(OZ, "anybody"), approving) is Trust.OWNER
    assert trust_of(Author(ANA, "Oz (owner)"), approving) is Trust.STRANGER
    assert trust_of(COOK, approving) is trust_of(Author(8, "x"), approving) is Trust.APPROVED


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("<@1> remember this", "remember this"),
        ("<@!1>, what now?", "what now?"),
        ("hey <@1>!", "hey!"),
        ("Hi <@1>, remember that I like tea", "Hi, remember that I like tea"),
        ("remember that I like tea, <@1>", "remember that I like tea"),
        ("where is my cup <@!1> ?", "where is my cup?"),
        ("私は紅茶が好きです<@1>", "私は紅茶が好きです"),
        ("<@1> I like tea <@1>", "I like tea"),
        ("I like tea <@&9>", "I like tea"),
        ("<@&9> I like tea", "I like tea"),
        ("what do you know about <@1>?", "what do you know about @Tea Pot?"),
        ("I like tea, <@2>", "I like tea, @Ana # x"),
        ("I like tea <@1> and cake", "I like tea @Tea Pot and cake"),
        ("I like tea" + " " * 5_000 + "<@1>", "I like tea" + " " * 5_000 + "@Tea Pot"),
        ("ask <@2> in <#12> or <@&77>", "ask @Ana # x in #general or @Cooks"),
        ("<@5> stays", "<@5> stays"),
        ("nice <:blob:123> and <a:party:1>", "nice :blob: and :party:"),
        ("<@1>", ""),
    ],
)
def test_the_text_is_what_readers_see(content: str, text: str) -> None:
    heard = message(
        content,
        mentions={ME: "Tea Pot", ANA: "Ana\n# x"},
        mentioned_channels={CHANNEL: "general"},
        mentioned_roles={77: "Cooks", 9: "Tea Pot"},
        own_roles=frozenset({9}),
    )
    assert readable(heard, ME) == text


def test_stickers_and_forwards_are_lines_of_the_text() -> None:
    assert readable(message("", extras=("[sticker: Wave]",)), ME) == "[sticker: Wave]"


def forwarded(content: str = "", **parts: Any) -> list[str]:
    empty: dict[str, Any] = {"embeds": [], "stickers": [], "components": [], "attachments": []}
    part: Any = SimpleNamespace(content=content, **(empty | parts))
    return forwarded_lines(part)


def test_of_a_forwarded_message_nothing_is_left_out_unsaid() -> None:
    long = "word " * 790
    assert forwarded(long) == [f"[forwarded: {long.strip()}]"]
    assert forwarded("see", attachments=[object()]) == ["[forwarded: see]"]
    assert forwarded(attachments=[object()]) == []
    assert forwarded() == ["[forwarded: a message without words]"]
    embeds = [discord.Embed(title="News", description="d" * 1_001), discord.Embed()]
    news, other = forwarded(embeds=embeds)
    assert news.endswith("… (cut: it has 1,007 characters)]")
    assert other == "[forwarded embed: without words]"
    more = forwarded(stickers=[SimpleNamespace(name="Wave")], components=[object()])
    assert more == ["[forwarded sticker: Wave]", "[forwarded: buttons or other parts that only Discord shows]"]


def test_what_is_cut_says_how_long_it_was() -> None:
    assert shortened("x" * 300) == "x" * 300
    assert shortened("x" * 301) == "x" * 299 + "… (cut: it has 301 characters)"


NAMES = st.text(max_size=40)


@given(NAMES, NAMES, NAMES, st.text(max_size=60))
def test_no_name_or_topic_adds_a_line(name: str, role: str, channel: str, text: str) -> None:
    author = Author(ANA, name, name, {77: role})
    where = info(name=channel.strip() and "general", topic="topic")
    around = MessageContext(ME, where, place_of(where, settings()), settings(), (name,) if name.isprintable() else ())
    made = to_notification(message(text, author=author), around, answer=True)
    assert made.speaker is not None
    assert len(made.speaker.name.splitlines()) == 1
    assert made.extras.blocks[0].profile.count("\n") <= 2
    assert made.extras.blocks[1].profile.count("\n") <= 3
    assert made.text == readable(message(text), ME)


@pytest.mark.parametrize(
    ("url", "trusted"),
    [
        ("https://cdn.discordapp.com/attachments/1/2/a.txt?ex=1", True),
        ("https://media.discordapp.net/attachments/1/2/a.txt", True),
        ("http://cdn.discordapp.com/a.txt", False),
        ("https://cdn.discordapp.com.evil.example/a.txt", False),
        ("https://cdn.discordapp.com@evil.example/a.txt", False),
        ("https://cdn.discordapp.com:8443/a.txt", False),
        ("http://169.254.169.254/latest/meta-data", False),
        ("file:///etc/passwd", False),
    ],
)
def test_files_come_from_discord_only(url: str, trusted: bool) -> None:
    assert from_discord(url) is trusted


def test_bytes_become_text_when_they_are() -> None:
    assert decode("é".encode()) == decode("\ufeffé".encode()) == decode("é".encode("utf-16")) == "é"
    assert decode(b"\xff\xfe\x00") is None
    assert decode(b"a\0b") is None


def delivery(number: int, text: str, **more: Any) -> Delivery:
    plain = Delivery(OutboxId(number), place_id(CHANNEL), text, NOW)
    return replace(plain, **more)


def test_identical_messages_are_matched_in_order() -> None:
    rows = (delivery(1, "same"), delivery(2, "other"), delivery(3, "same"), delivery(4, "same"))
    said = [HistoryMessage(12, NOW, "same"), HistoryMessage(11, NOW, "same"), HistoryMessage(13, NOW, "else")]
    assert matched(rows, said, (), 2000) == {1: "11", 3: "12"}
    assert matched(rows, said, {11}, 2000) == {1: "12"}


@pytest.mark.parametrize(
    ("row", "said", "found"),
    [
        (delivery(1, " a\n\nb "), HistoryMessage(9, NOW, "a\n\nb"), True),
        (delivery(1, "a"), HistoryMessage(9, NOW - timedelta(seconds=3), "a"), True),
        (delivery(1, "a"), HistoryMessage(9, NOW - timedelta(seconds=30), "a"), False),
        (delivery(1, "a", reply_to="5"), HistoryMessage(9, NOW, "a", reply_to="5"), True),
        (delivery(1, "a", reply_to="5"), HistoryMessage(9, NOW, "a"), True),
        (delivery(1, "a", reply_to="5"), HistoryMessage(9, NOW, "a", reply_to="6"), False),
        (delivery(1, "a", speaker="Nova"), HistoryMessage(9, NOW, "**Nova**: a"), True),
        (delivery(1, "a", speaker="Nova"), HistoryMessage(9, NOW, "a"), True),
        (delivery(1, "", files=(File("a.txt", "x"),)), HistoryMessage(9, NOW, "", files=1), True),
        (delivery(1, "", files=(File("a.txt", "x"),)), HistoryMessage(9, NOW, ""), False),
        (delivery(1, "a\ud800"), HistoryMessage(9, NOW, "a\ufffd"), True),
    ],
)
def test_what_counts_as_having_been_said(row: Delivery, said: HistoryMessage, found: bool) -> None:
    assert bool(matched((row,), [said], (), 2000)) is found


def test_a_name_goes_before_the_text_where_there_is_room() -> None:
    assert prefixed("Nova", "hi", 2000) == "**Nova**: hi"
    assert prefixed("Nova", "x" * 1995, 2000) == "x" * 1995
    assert prefixed("\n", "hi", 2000) == "hi"


def test_nothing_but_the_named_persons_is_parsed() -> None:
    nobody = allowed_mentions(()).to_dict()
    assert nobody["parse"] == []
    assert not nobody.get("users")
    some = allowed_mentions([person_id(2), person_id(2)]).to_dict()
    assert some["parse"] == []
    assert some["users"] == [2]
    merged = discord.AllowedMentions.none().merge(allowed_mentions(())).to_dict()
    assert not any(merged.get(key) for key in ("parse", "users", "roles", "replied_user"))


def test_places_and_persons_are_read_back_from_their_ids() -> None:
    assert (channel_number(place_id(5)), channel_number(PlaceId("bluesky:5"))) == (5, None)
    assert user_number(person_id(5)) == user_number("discord:user:5") == 5
    assert user_number("bluesky:5") is user_number("discord:x") is None


# ------------------------------------------------------------- tables that a model wrote, as Discord can show them


def test_a_table_is_aligned_in_code() -> None:
    text = "Here:\n| Name | **Age** |\n|:--|--:|\n| Ana | `7` |\n| 日本 | 31 |\n\nThat is all."
    assert tables_as_code(text).split("\n") == [
        "Here:",
        "```",
        "Name  Age",
        "────  ───",
        "Ana   7",
        "日本  31",
        "```",
        "",
        "That is all.",
    ]


def test_a_wide_table_stands_as_a_paragraph_for_each_row() -> None:
    text = f"| a | b | c |\n|--|--|--|\n| x | {'long ' * 20}| |"
    assert tables_as_code(text) == f"**a**: x; **b**: {('long ' * 20).strip()}"


@pytest.mark.parametrize(
    "text", ["a | b", "```\n| a | b |\n|--|--|\n| 1 | 2 |\n```", "| a | b |\n|--|", "either | or\n---\nnothing", ""]
)
def test_all_else_stays_as_it_is(text: str) -> None:
    assert tables_as_code(text) == text


def test_nothing_in_a_cell_ends_the_code() -> None:
    assert tables_as_code("| a |\n|--|\n| ```x |").count("```") == 2
    assert tables_as_code(r"| a \| b | c |" "\n|--|--|\n| 1 | 2 |").split("\n")[1] == "a | b  c"
