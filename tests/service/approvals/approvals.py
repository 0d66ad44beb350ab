"""Services whose agent asks before it keeps anything: what the model calls, the cards that come of it, the store."""

import contextlib
import copy
import dataclasses
import re
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.service.live_service import NO_MERGING, Live, live_service, until
from tests.wire.discord import Answered, Channel, GuildChannel, Message, Person
from tests.wire.model import Answer, Call, Calls

ASKS_FIRST = """\
[[agents]]
name = "Carina"
rules = [{ rule = "requires_consent", tool = "recall" }]
"""
WAITS, DONE = "That waits for approval.", "It is kept now."
QUESTION = "asks for your approval"
LABELS = ["Allow once", "Deny", "Details"]
LONGER = ["For 1 hour", "Always for this"]


@contextlib.asynccontextmanager
async def started(
    folder: Path, discord: str | Callable[[Live], str] = NO_MERGING, toml: str = "", *, scripted: bool = True
) -> AsyncIterator[Live]:
    """The program running until the block ends, and its jobs at rest: a backup would hold what is looked for.

    `discord` is what the table of that name says, or a function that makes people and places and returns that.
    """
    async with live_service(folder, scripted=scripted) as made:
        made.configure(discord if isinstance(discord, str) else f"{NO_MERGING}\n{discord(made)}", toml)
        await made.service.start()
        pause_jobs(made)
        yield made
        check_requests(made)


def asking_service(
    folder: Path, toml: str = "", discord: str | Callable[[Live], str] = NO_MERGING
) -> contextlib.AbstractAsyncContextManager[Live]:
    """The same with an agent that asks before it keeps anything."""
    return started(folder, discord, f"{ASKS_FIRST}{toml}")


def check_requests(t: Live) -> None:
    """The model server refuses a request in which a call has no result right after it; there must be none."""
    assert [request.problem for request in t.model.requests if request.problem] == []


def unscripted(made: Live) -> Iterator[Live]:
    """The service for one test: the model was asked nothing yet, and its script must be used up."""
    made.model.requests.clear()
    yield made
    left = list(made.model.pending)
    made.model.pending.clear()
    made.server.faults.clear()
    check_requests(made)
    assert left == []


def keep(content: str, **more: Any) -> Call:
    """A call that needs a yes; its content stands nowhere else."""
    return Call("recall", {"operation": "insert", "content": content, **more})


def carry(channel: Channel, words: str) -> Call:
    """A call that says something in another place."""
    arguments = {"target_type": "channel", "target": f"discord:{channel.id}", "content": words}
    return Call("send_message", arguments)


def asks(t: Live, content: str, *then: str) -> None:
    """Script a turn whose call waits, and what is answered in the turns after it."""
    t.model.script(Calls(keep(content)), Answer(WAITS), *map(Answer, then))


async def waiting(t: Live, person: Person, channel: Channel, content: str, *then: str) -> Message:
    """Somebody asks for something that has to wait; gives the card in the owner's direct messages."""
    asks(t, content, *then)
    assert (await t.ask(person, channel, "<@bot> keep this for me")).text == WAITS
    return await card_of(t, content)


async def card_of(t: Live, content: str, place: Channel | None = None) -> Message:
    """The card with these arguments, where the owner (or who else is asked) finds it."""
    found = request_of(t, content)
    return await (place or t.olga.direct).wait_for_bot(
        lambda m: QUESTION in m.text and any(str(found) in each["custom_id"] for each in m.buttons)
    )


async def answer(person: Person, card: Message, words: str) -> Answered:
    """Press a button of a card, or choose from its menu."""
    if words in LONGER:
        return await person.select(card, "Allow for longer", words)
    return await person.press(card, words)


async def final(t: Live, card: Message) -> str:
    """The last line of a card, once nothing can be pressed on it any more."""
    await t.server.until(lambda: not card.buttons, what="the card's final state")
    return card.text.splitlines()[-1]


async def finished(t: Live, card: Message, channel: Channel, text: str = DONE) -> Message:
    """The answer that follows a decision, once it is said and the card tells of the decision."""
    said = await channel.wait_for_bot(lambda m: m.text == text)
    await final(t, card)
    return said


def labels(card: Message) -> list[str]:
    return [button["label"] for button in card.buttons]


def decided(person: Person, words: str) -> re.Pattern[str]:
    """How a card, or an answer to who pressed, tells of a decision: what, by whom, and when."""
    return re.compile(rf"{words} by <@{person.id}>, <t:\d+:f>, <t:\d+:R>")


def forge(card: Message, label: str, custom_id: str) -> str:
    """Give a button of a card another id, as if somebody had made one up; gives the label for pressing it."""
    next(part for part in card.buttons if part["label"] == label)["custom_id"] = custom_id
    return label


def as_seen(card: Message, channel: Channel | None = None) -> Message:
    """A card as a client shows it that does not hear of its edits; elsewhere, as if others could see it too."""
    return dataclasses.replace(card, channel=channel or card.channel, components=copy.deepcopy(card.components))


def refused(answered: Answered, words: str) -> None:
    """Only who pressed is told, in these words."""
    assert answered.ephemeral
    assert words in answered.text


def said_in(channel: Channel) -> list[str]:
    return [message.text for message in channel.from_bot]


def leaked(t: Live, words: str) -> list[GuildChannel]:
    """The guild's channels in which the bot ever said these words."""
    return [
        channel
        for channel in t.guild.channels
        if any(entry.from_bot and words.casefold() in entry.content.casefold() for entry in channel.log)
    ]


# ------------------------------------------------------------------------------------------------------ the store


def store(t: Live) -> Path:
    return next(t.service.home.glob("constellations/*/carina.db"))


def rows(t: Live, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """Read beside the running service."""
    with closing(sqlite3.connect(f"file:{store(t)}?mode=ro", uri=True)) as connection:
        return connection.execute(sql, values).fetchall()


def change(t: Live, sql: str, *values: Any) -> int:
    """Change something behind the program's back; gives how many rows."""
    with closing(sqlite3.connect(store(t), timeout=10)) as connection, connection:
        return connection.execute(sql, values).rowcount


def pause_jobs(t: Live) -> None:
    """Let the jobs that there are run when they are asked for and not by the clock, which may strike in any test."""
    change(t, "UPDATE jobs SET status = 'paused'")


def times_kept(t: Live, content: str) -> int:
    """How often that call took effect: the same words a second time strengthen the entry."""
    return sum(
        1 + again for (again,) in rows(t, "SELECT reinforcement FROM archival_entries WHERE content = ?", content)
    )


def request_of(t: Live, content: str) -> int:
    """The newest request with these words in its arguments."""
    sql = "SELECT id FROM permission_requests WHERE instr(arguments, ?) ORDER BY id DESC LIMIT 1"
    return int(rows(t, sql, content)[0][0])


def status_of(t: Live, request: int) -> str:
    return str(rows(t, "SELECT status FROM permission_requests WHERE id = ?", request)[0][0])


def record_of(t: Live, request: int) -> list[str]:
    """What the record says of a request, in order."""
    return [
        event for (event,) in rows(t, "SELECT event FROM permission_audit WHERE request_id = ? ORDER BY id", request)
    ]


async def expired(t: Live, request: int) -> None:
    """Wait until a request's time is over."""
    sql = "SELECT expires_at <= strftime('%Y-%m-%dT%H:%M:%f', 'now') FROM permission_requests WHERE id = ?"
    await until(lambda: rows(t, sql, request) == [(1,)], what="the request's end")
