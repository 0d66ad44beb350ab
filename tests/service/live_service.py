"""A live service for a test: a Discord with a guild and people, a scripted model, and the program, not yet started."""

import contextlib
import copy
import dataclasses
import re
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests import wire
from tests.service.program import Service
from tests.wire import PATIENCE
from tests.wire.conftest import find_openapi
from tests.wire.discord import Answered, Channel, DiscordServer, Guild, GuildChannel, Message, Person
from tests.wire.discord.calls import Request as Sent
from tests.wire.discord.messages import parts
from tests.wire.model import Answer, Call, Calls, ModelServer, Request

SCRIPTED = "openai:scripted"
NO_MERGING = "merge_seconds = 0"
ANSWER_SECONDS = 10.0
"""In which commands and buttons have to be answered: Discord gives three, but these processes share a machine. That
commands keep Discord's three is a test of its own in `discord/test_commands.py`."""
DISCORDS_SECONDS = 3.0
ASKS_FIRST = """\
[[agents]]
name = "Carina"
rules = [{ rule = "requires_consent", tool = "recall" }]
"""
WAITS, DONE = "That waits for approval.", "It is kept now."
QUESTION = "is asking for your approval"
LABELS = ["Allow once", "Deny", "Details"]
LONGER = ["For 1 hour", "Always"]


@dataclass
class Live:
    """Ana is a member of the guild, Olga owns the bot and is a member too."""

    server: DiscordServer
    model: ModelServer
    service: Service
    guild: Guild
    general: GuildChannel
    ana: Person
    olga: Person

    def configure(self, discord: str = NO_MERGING, toml: str = "") -> None:
        """Write the file: `discord` is what the table [discord] says, `toml` what stands before it.

        Members of the guild may write directly, unless it says otherwise.
        """
        direct = "" if "dm =" in discord else 'dm = "shared"\n'
        if "[schedule]" not in toml:
            # By the clock they would ask the scripted model; and the tests say what time it is in UTC.
            toml += '\n[schedule]\nsummaries = false\nzone = "UTC"\n'
        self.service.file.write_text(f"{toml}\n[discord]\n{direct}{discord}\n", "utf-8")

    def member(self, name: str, *, nick: str | None = None) -> Person:
        """Somebody new in the guild."""
        person = self.server.person(name.lower(), global_name=name)
        self.guild.add(person, nick=nick)
        return person

    async def ask(
        self, person: Person, channel: Channel, text: str, *, within: float = PATIENCE, **more: Any
    ) -> Message:
        """Say something, and wait for what the bot says next there."""
        said = await person.say(channel, text, **more)
        return await channel.wait_for_bot(after=said, timeout=within)

    async def talk(self, person: Person, channel: Channel, text: str, answer: str, **more: Any) -> None:
        """Say something to which the model has this answer, and see it said."""
        self.model.script(Answer(answer))
        assert (await self.ask(person, channel, text, **more)).text == answer

    async def asked(self, fits: Callable[[Request], bool], within: float = PATIENCE) -> Request:
        """The first request to the model that fits, already there or still to come."""
        count = 0
        while True:
            requests = await self.model.wait_for(count + 1, within)
            if fits(requests[count]):
                return requests[count]
            count += 1

    def asks(self, content: str, *then: str) -> None:
        """Script a turn whose call waits, and what is answered in the turns after it."""
        self.model.script(Calls(keep(content)), Answer(WAITS), *map(Answer, then))

    async def waiting(self, person: Person, channel: Channel, content: str, *then: str) -> Message:
        """Somebody asks for something that has to wait; gives the card in the owner's direct messages."""
        self.asks(content, *then)
        assert (await self.ask(person, channel, "<@bot> keep this for me")).text == WAITS
        return await self.card_of(content)

    async def card_of(self, content: str, place: Channel | None = None) -> Message:
        """The card with these arguments, where the owner (or who else is asked) finds it."""
        found = self.request_of(content)
        return await (place or self.olga.direct).wait_for_bot(
            lambda m: QUESTION in m.text and any(str(found) in each["custom_id"] for each in m.buttons)
        )

    async def final(self, card: Message) -> str:
        """The last line of a card, once nothing can be pressed on it any more."""
        await self.server.until(lambda: not card.buttons, what="the card's final state")
        return card.text.splitlines()[-1]

    async def finished(self, card: Message, channel: Channel, text: str = DONE) -> Message:
        """The answer that follows a decision, once it is said and the card tells of the decision."""
        said = await channel.wait_for_bot(lambda m: m.text == text)
        await self.final(card)
        return said

    def leaked(self, words: str) -> list[GuildChannel]:
        """The guild's channels in which the bot ever said these words."""
        return [
            channel
            for channel in self.guild.channels
            if any(entry.from_bot and words.casefold() in entry.content.casefold() for entry in channel.log)
        ]

    def check_requests(self) -> None:
        """The model server refuses a request in which a call has no result right after it; there must be none."""
        assert [request.problem for request in self.model.requests if request.problem] == []

    def store(self) -> Path:
        return next(self.service.home.glob("constellations/*/carina.db"))

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Read beside the running service."""
        with closing(sqlite3.connect(f"file:{self.store()}?mode=ro", uri=True)) as connection:
            return connection.execute(sql, values).fetchall()

    def change(self, sql: str, *values: Any) -> int:
        """Change something behind the program's back; gives how many rows."""
        with closing(sqlite3.connect(self.store(), timeout=10)) as connection, connection:
            return connection.execute(sql, values).rowcount

    def pause_jobs(self) -> None:
        """Let jobs run when they are asked for and not by the clock, which may strike in any test."""
        self.change("UPDATE jobs SET status = 'paused'")

    def times_kept(self, content: str) -> int:
        """How often that call took effect: the same words a second time strengthen the entry."""
        return sum(
            1 + again for (again,) in self.rows("SELECT reinforcement FROM archival_entries WHERE content = ?", content)
        )

    def request_of(self, content: str) -> int:
        """The newest request with these words in its arguments."""
        sql = "SELECT id FROM permission_requests WHERE instr(arguments, ?) ORDER BY id DESC LIMIT 1"
        return int(self.rows(sql, content)[0][0])

    def status_of(self, request: int) -> str:
        return str(self.rows("SELECT status FROM permission_requests WHERE id = ?", request)[0][0])

    def record_of(self, request: int) -> list[str]:
        """What the record says of a request, in order."""
        return [
            event
            for (event,) in self.rows("SELECT event FROM permission_audit WHERE request_id = ? ORDER BY id", request)
        ]

    async def expired(self, request: int) -> None:
        """Wait until a request's time is over."""
        sql = "SELECT expires_at <= strftime('%Y-%m-%dT%H:%M:%f', 'now') FROM permission_requests WHERE id = ?"
        await until(lambda: self.rows(sql, request) == [(1,)], what="the request's end")

    def holding(self, *words: str) -> list[str]:
        """The files of the data folder in whose bytes any of these words stands."""
        assert (self.service.home / "global.db").is_file()
        return files_holding(self.service.home, *words)


@contextlib.asynccontextmanager
async def live_service(folder: Path, *, scripted: bool = False) -> AsyncIterator[Live]:
    """Both servers and the program with default settings, bursts apart; with the offline model, or the scripted one.

    It is not started yet; if it runs at the end of the block, it must stop in order.
    """
    async with DiscordServer.start(find_openapi()) as server, ModelServer.start() as model:
        server.settings.granted_privileged = {"members", "message_content"}
        server.settings.answer_seconds = ANSWER_SECONDS
        ana, olga = server.person("ana", global_name="Ana"), server.person("olga", global_name="Olga")
        environment = {
            **server.environment(),
            "DISCORD_TOKEN": server.token,
            "DISCORD_OWNER_ID": str(olga.id),
            **({**model.environment(), "CARINA_MODEL": SCRIPTED} if scripted else {}),
        }
        service = Service(folder, environment)
        guild = server.guild("Home")
        general = guild.text_channel("general", topic="all things")
        guild.add(ana, nick="Annie")
        guild.add(olga, roles=[guild.role("staff", "manage_guild")])  # so that she is shown what is hers
        made = Live(server, model, service, guild, general, ana, olga)
        made.configure()
        try:
            yield made
            if service.is_running:
                await service.stop()
        finally:
            await service.close()
        assert service.unexpected() == []
        # A Bluesky client of another test may ask at a port that its own server gave back.
        unserved = [each for each in server.unserved if "/xrpc/" not in each]
        assert not (found := server.violations + unserved + server.own_faults), "\n".join(found)
        assert [request for request in server.requests if may_wake_somebody(request)] == []


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
        made.pause_jobs()
        yield made
        made.check_requests()


def asking_service(
    folder: Path, toml: str = "", discord: str | Callable[[Live], str] = NO_MERGING
) -> contextlib.AbstractAsyncContextManager[Live]:
    """The same with an agent that asks before it keeps anything."""
    return started(folder, discord, f"{ASKS_FIRST}{toml}")


def unscripted(made: Live) -> Iterator[Live]:
    """The service for one test: the model was asked nothing yet, and its script must be used up."""
    made.model.requests.clear()
    yield made
    left = list(made.model.pending)
    made.model.pending.clear()
    made.server.faults.clear()
    made.check_requests()
    assert left == []


def keep(content: str, **more: Any) -> Call:
    """A call that needs a yes; its content stands nowhere else."""
    return Call("recall", {"operation": "insert", "content": content, **more})


def carry(channel: Channel, words: str) -> Call:
    """A call that says something in another place."""
    arguments = {"target_type": "channel", "target": f"discord:{channel.id}", "content": words}
    return Call("send_message", arguments)


async def answer(person: Person, card: Message, words: str) -> Answered:
    """Press a button of a card, or choose from its menu."""
    if words in LONGER:
        return await person.select(card, "Allow for longer", words)
    return await person.press(card, words)


def labels(card: Message) -> list[str]:
    return [button["label"] for button in card.buttons]


def decided(person: Person, words: str) -> re.Pattern[str]:
    """How a card, or an answer to who pressed, tells of a decision: what, by whom, and when."""
    return re.compile(rf"{words} by <@{person.id}>, <t:\d+:f>, <t:\d+:R>")


def forge(card: Message, label: str, custom_id: str) -> str:
    """Give a button of a card another id, as if somebody had made one up; gives the label for pressing it."""
    next(part for part in parts(card.components) if part.get("label") == label)["custom_id"] = custom_id
    return label


def as_seen(card: Message, channel: Channel | None = None) -> Message:
    """A card as a client shows it that does not hear of its edits; elsewhere, as if others could see it too."""
    components = copy.deepcopy(card.components)
    return dataclasses.replace(card, channel=channel or card.channel, only_for=None, components=components)


def refused(answered: Answered, words: str) -> None:
    """Only who pressed is told, in these words."""
    assert answered.ephemeral
    assert words in answered.text


async def told_beside(answered: Answered) -> str:
    """What is told of a button or form that leaves the message as it is under which it stood."""
    await until(lambda: answered.followups, what="an answer")
    return answered.followups[0].text


async def agreed(person: Person, question: Message) -> Message:
    """What is told after a yes; the question can be answered no more."""
    answered = await person.press(question, "Yes, do it")
    await person.world.changes.until(lambda: answered.followups, PATIENCE, "an answer")
    assert question.buttons == []
    return answered.followups[0]


def said_in(channel: Channel) -> list[str]:
    return [message.text for message in channel.from_bot]


def first_of(count: int, *cases: Any) -> list[Any]:
    """So many of these cases each time, and the others, which show the same at other points, with `make slow`."""
    given = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [pytest.param(*each, marks=() if n < count else pytest.mark.slow) for n, each in enumerate(given)]


async def one_day() -> None:
    """Wait for midnight (UTC) where the day would end within a minute: what counts by days is counted anew then."""
    await until(lambda: (now := datetime.now(UTC)).date() == (now + timedelta(minutes=1)).date(), 90, "midnight")


def files_holding(folder: Path, *words: str) -> list[str]:
    """The names of the files in whose bytes any of these words stands, whatever its case, in order."""
    found = []
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError, IsADirectoryError):  # some go while they are looked through
            data = path.read_bytes().lower() if path.is_file() else b""
            if any(word.encode().lower() in data for word in words):
                found.append(path.name)
    return sorted(found)


@contextlib.contextmanager
def answered_within(t: Live, seconds: float) -> Iterator[None]:
    """Let what is pressed or commanded in this block fail after that time."""
    t.server.settings.answer_seconds = seconds
    yield
    t.server.settings.answer_seconds = ANSWER_SECONDS


async def until(find: Callable[[], object], within: float = PATIENCE, what: str = "a condition") -> None:
    """Wait for what no server tells of, looking often."""
    await wire.until(find, within, lambda: f"after {within} s still waiting for {what}")


def may_wake_somebody(request: Sent) -> bool:
    """Whether a request that carries text leaves it to Discord who is woken by it."""
    if not isinstance(request.body, dict):
        return False
    body = request.body.get("data", request.body) if "/callback" in request.path else request.body
    if not isinstance(body, dict) or not body.get("content"):
        return False
    allowed = body.get("allowed_mentions")
    return allowed is None or "parse" not in allowed or bool(allowed["parse"]) or bool(allowed.get("roles"))
