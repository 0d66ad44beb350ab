"""A chat at the terminal, in the process of a whole service with the offline model: lines, commands, signals."""

import asyncio
import os
import re
import signal
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, closing
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import AsyncMock

import pytest
from click import UsageError

from bot.agents.turn_events import TurnEvent
from bot.app import App, build
from bot.config import load_config
from bot.errors import CallError, UserError
from bot.interfaces.answers import Outcome, answers_of, follow
from bot.interfaces.cli.chat.command_runner import CommandRunner, known, offered, split
from bot.interfaces.cli.chat.connection import Connection
from bot.interfaces.cli.chat.line_parser import (
    Clear,
    Command,
    Help,
    Quit,
    TextLine,
    UnknownCommand,
    help_text,
    own_help,
    parse_line,
)
from bot.interfaces.cli.commands import Commands
from bot.interfaces.cli.manifest import manifest
from bot.interfaces.control.chat import Chat
from bot.interfaces.control.chat_events import ChatEvent, History, Idle, Listening
from bot.interfaces.control.server import replies_of
from bot.services.caller import owner_at_terminal
from memory.queue import inbox, outbox
from memory.queue.inbox import InRow, Status
from memory.queue.outbox import OutRow
from memory.store.database import Rows
from memory.store.records import replace
from sources.terminal import ONCE, PLACE, Message, Shown, Typed
from tests.bot.stage import locked
from tests.bot.terminals import Terminal, carina, environment, serving
from tests.processes import START_SECONDS, Process, start
from tests.wire.model import Answer, Hang, ModelServer, Slow


def chat_of(app: App) -> Chat:
    return Chat(app.services, app.served.router)


@asynccontextmanager
async def service(folder: Path, toml: str = "") -> AsyncIterator[App]:
    (folder / "carina.toml").write_text(f'[web.server]\nlisten = "127.0.0.1:0"\n{toml}', "utf-8")
    config = load_config({"CARINA_HOME": str(folder / "data")}, folder)
    async with build(config, fronts=False) as app, app.running():
        yield app


async def told(app: App, *texts: str, history: int = 0) -> list[list[ChatEvent]]:
    """Say these one after the other in one chat; what was shown until each was done."""
    shown: list[list[ChatEvent]] = [[]]
    left = list(texts)
    async with aclosing(chat_of(app).chat(history)) as chat, asyncio.timeout(20):
        async for each in chat:
            shown[-1].append(each)
            if isinstance(each, Listening | Idle):
                if not left:
                    return shown
                shown.append([])
                await chat_of(app).say(left.pop(0), f"terminal-{id(app)}-{len(left)}")
    raise AssertionError("the chat ended by itself")


def answers(shown: list[ChatEvent]) -> list[str]:
    return [each.text for each in shown if isinstance(each, Message)]


async def test_the_same_line_passed_on_twice_is_said_once(tmp_path: Path) -> None:
    async with service(tmp_path) as app:
        async with aclosing(chat_of(app).chat()) as chat, asyncio.timeout(10):
            assert (await anext(chat)) == Listening()
            for _ in range(2):
                await chat_of(app).say("hello", "terminal-7")
            kinds = [type(await anext(chat))]
            while kinds[-1] is not Idle:
                kinds.append(type(await anext(chat)))
        assert kinds.count(Message) == 1
        assert kinds.count(Typed) == 2, "a session shows each id once"
        assert len((await told(app, history=5))[0]) == 3


async def test_an_answer_that_nobody_has_seen_yet_is_shown_once(tmp_path: Path) -> None:
    async with service(tmp_path) as app:
        await told(app, "remember that my cat is called Bolt")
        await chat_of(app).say("what is my cat called?", "terminal-7")
        async with asyncio.timeout(10):
            while await app.services.database.read(outbox.open_places) == []:
                await asyncio.sleep(0.01)
        async with aclosing(chat_of(app).chat(10)) as chat, asyncio.timeout(10):
            shown = [await anext(chat)]
            while not isinstance(shown[-1], Message):
                shown.append(await anext(chat))
    assert [each.text for each in shown if isinstance(each, History)][2:] == ["what is my cat called?"]
    assert "Bolt" in shown[-1].text


async def test_a_program_is_told_that_its_question_could_not_be_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = inbox.by_external

    def given_up(rows: Rows, source: str, external_id: str) -> InRow | None:
        row = found(rows, source, external_id)
        return None if row is None else replace(row, status=Status.DEAD)

    monkeypatch.setattr(inbox, "by_external", given_up)
    async with service(tmp_path) as app:
        with pytest.raises(UserError, match=r"could not be answered\. `carina inbox show \w+` says why"):
            await chat_of(app).ask("Main", "hello", 10)


async def test_a_signal_that_arrives_together_with_an_event_ends_the_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "by_external", lambda *_: SimpleNamespace(over=False))
    shown = asyncio.Queue[Shown | TurnEvent]()
    async with service(tmp_path) as app, aclosing(follow(app.services, PLACE.id, "x", shown)) as events:
        following = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0.2)
        shown.put_nowait(Message("", "hello"))
        following.cancel()
        with pytest.raises(asyncio.CancelledError):
            await following


async def test_while_everything_is_halted_a_line_is_kept_and_says_so(tmp_path: Path) -> None:
    async with service(tmp_path) as app:
        await app.services.registry.call("halt.now", owner_at_terminal(), {})
        said = await chat_of(app).say("remember that my cat is called Bolt", "terminal-1")
        assert "halted since" in said.answer
        assert "carina halt release" in said.answer
        await app.services.registry.call("halt.release", owner_at_terminal(), {})
        assert "Bolt" in answers((await told(app, "what is my cat called?"))[1])[-1]


ASKS = '[[agents]]\n[[agents.rules]]\nrule = "requires_consent"\ntool = "calculate"\n'


def test_a_chat_that_is_the_service_itself_writes_moments_like_any_other(tmp_path: Path) -> None:
    (tmp_path / "carina.toml").write_text(ASKS, "utf-8")
    card = carina(tmp_path, "chat", "--once", "what is 12*12?").stdout
    assert re.search(r"Expires: \w+, \w+ \d+, \d{4}, \d+:\d\d [AP]M UTC", card)


async def test_a_request_is_answered_by_the_number_on_its_card(tmp_path: Path) -> None:
    async with service(tmp_path, ASKS) as app:
        card = "\n".join(answers((await told(app, "what is 12*12?"))[1]))
        (number,) = re.findall(r"/deny (\d+)\. Outside of a chat, use `carina approve`.* With --hour or --always", card)
        assert len(number) == 6
        async with aclosing(chat_of(app).chat()) as chat, asyncio.timeout(10):
            assert (await anext(chat)) == Listening()
            answered = await app.services.registry.call("approve", owner_at_terminal(), {"request": number})
            assert "Allowed once" in str(answered.data())
            shown = await anext(chat)
            while not (isinstance(shown, Message) and "It was approved" in shown.text):
                shown = await anext(chat)


async def test_an_answer_that_is_taken_as_the_time_for_it_ends_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = 2
    async with service(tmp_path) as app:
        over = time.monotonic() + seconds + 0.3

        def slowly(rows: Rows, row: InRow) -> Sequence[OutRow]:
            time.sleep(max(over - time.monotonic(), 0))
            return answers_of(rows, row)

        monkeypatch.setattr("bot.interfaces.answers.answers_of", slowly)
        given = await chat_of(app).ask("Main", "what is 12*12?", seconds)
        assert (given.outcome, "144" in given.text) == (Outcome.ANSWERED, True)


@pytest.mark.usefixtures("hurried")
async def test_a_line_that_the_database_does_not_take_says_so_and_is_answered_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.interfaces.answers._STORED_SECONDS", 0.5)
    async with service(tmp_path) as app:
        await told(app, "remember that my cat is called Bolt")
        (file,) = (tmp_path / "data" / "constellations").glob("*/carina.db")
        with locked(file):
            said = await chat_of(app).say("remember that my dog is called Rex", "terminal-1")
            assert "I'll answer this later. The database has not accepted writes since" in said.answer
            assert "another program is locking the database" in said.answer
            monkeypatch.setattr(
                app.services.runtime, "reachable", AsyncMock()
            )  # a full disk takes that: it changes nothing
            with pytest.raises(UserError, match="The database has not accepted writes since"):
                _ = [each async for each in chat_of(app).once("what is my dog called?", f"{ONCE}1")]
        assert "Rex" in answers((await told(app, "what is my dog called?"))[1])[-1]


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("memory", "Usage: /memory [OPTIONS] COMMAND"),
        ("memory nothing", "Usage: /memory [OPTIONS] COMMAND"),
        ("tasks --nothing", "Usage: /tasks"),
        ("tasks done", "For example: /tasks done"),
    ],
)
async def test_how_a_command_is_used_is_shown_once_and_with_its_slash(tmp_path: Path, typed: str, shown: str) -> None:
    async def nobody(_asked: str) -> str:
        raise AssertionError

    line = Connection(load_config({}, tmp_path), lambda asked: replies_of(nobody(asked)), "", own=True)
    try:
        said = await CommandRunner(line, nobody).run(typed)
    except CallError as error:
        said = str(error)
    assert said.count("Usage:") + said.count("For example:") == said.count(shown) == 1


def test_a_path_in_the_chat_may_begin_with_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    called: list[tuple[object, ...]] = []
    commands = Commands(manifest(), lambda *given: called.append(given))
    commands.main(split("folder create notes --path ~/notes"), "", standalone_mode=False)
    assert "/home/somebody/notes" in str(called)
    with pytest.raises(UsageError, match="~nobody-here"):
        commands.main(split("folder create notes --path ~nobody-here/notes"), "", standalone_mode=False)


@pytest.mark.parametrize("words", ["run", "db migrate"])
async def test_what_works_only_outside_of_a_chat_says_so(tmp_path: Path, words: str) -> None:
    line = Connection(load_config({}, tmp_path), AsyncMock(), "", own=True)
    with pytest.raises(UserError, match=f"`carina {words}` works only outside of this chat"):
        await CommandRunner(line, AsyncMock()).run(words)


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        *((line, Quit) for line in ("/quit", "/exit", "/QUIT", "/quit  ")),
        ("/help", Help),
        ("/help remind me", Command("remind me --help")),
        ("/help /status", Command("status --help")),
        ("/STATUS ", Command("status")),
        *((line, Clear) for line in ("clear", " Clear ", "cls")),
    ],
)
def test_a_line_means_what_it_begins_with(line: str, meant: object) -> None:
    found = parse_line(line, ["remind", "status"])
    assert meant in (found, type(found))
    if meant is Clear:
        assert parse_line(line) == TextLine(line), "in a pipe there is no screen"


def test_help_names_every_command_and_each_can_say_where_it_works() -> None:
    for word in ("/help", "/quit", "/exit"):
        assert word in own_help()
    told = help_text(["permits", "approve", "deny"], "")
    assert [told.count(word) for word in ("/permits", "/approve", "/deny")] == [1, 1, 1]
    assert {"run", "init", "remind"} <= known()
    assert not {"run", "init"} & {*offered()}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("/home", "There is no /home in this chat. /help lists the commands"),
        ("/help staus", "There is no /staus in this chat. Did you mean /status?"),
        ("/home is full", "put a space before it"),
        ("/remind list", "/remind works only in a chat at a terminal. Outside of a chat, use `carina remind`."),
        ("/qiut", "Did you mean /quit? /help"),
        ("/help rem", "There is no /rem in this chat. Did you mean /remind?"),
        ("/approve 12", "/approve works only in a chat at a terminal. Outside of a chat, use `carina approve`."),
        ("/привет", "There is no /привет"),
        ("/quit now", "/quit takes no arguments"),
    ],
)
def test_a_command_that_is_none_is_not_said_and_the_way_to_say_it_is_told(line: str, words: str) -> None:
    found = parse_line(line, ["dream", "remind", "status"] if line.startswith("/help") else ())
    assert isinstance(found, UnknownCommand)
    assert words in found.words


START = r"Ctrl-D ends the chat(?s:.)*\n>"
BOTH = pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])


def assert_restored(terminal: Terminal) -> None:
    """A cursor that is seen, and an empty line for the shell's sign."""
    written = terminal.everything
    assert written.rfind("\x1b[?25h") >= written.rfind("\x1b[?25l"), "the cursor is hidden"
    assert terminal.column == 0, "the shell's sign would not stand on a line of its own"
    for trouble in ("Traceback", "Fatal", "Aborted", "exception"):
        assert trouble not in written


@pytest.fixture
def lingering_service(tmp_path: Path) -> Iterator[Process]:
    with serving(tmp_path) as running:
        yield running


@BOTH
def test_at_its_sign_it_ends_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    with closing(Terminal(tmp_path, "chat")) as terminal:
        terminal.shows(START)
        terminal.type("half a line")
        terminal.shows("> half a line")  # what reaches a terminal after the chat has left it is echoed by the terminal
        terminal.send_signal(number)
        assert terminal.ended() == 0
        assert_restored(terminal)
        assert terminal.modes() == terminal.at_first


@BOTH
def test_beside_a_running_service_it_ends_alone(
    tmp_path: Path, lingering_service: Process, number: signal.Signals
) -> None:
    with closing(Terminal(tmp_path, "chat")) as terminal:
        terminal.shows(START)
        terminal.type("remember that my safe is under the stairs\n", "I'll remember")
        terminal.send_signal(number)
        assert terminal.ended() == 0
        assert_restored(terminal)
    os.kill(lingering_service.pid, 0)
    assert "under the stairs" in carina(tmp_path, "chat", "--once", "where is my safe?").stdout
    lingering_service.send_signal(signal.SIGTERM)
    assert lingering_service.wait(START_SECONDS) == 0


@pytest.mark.parametrize(
    ("said", "undo", "answer"),
    [
        ("remember that my cat is called Bolt", "Undo that", "Undone: I forgot that"),
        ("merk dir, dass meine Katze Bolt heißt", "mach das rückgängig", "Rückgängig gemacht: Ich habe das vergessen"),
        ("remind me tomorrow at 9 to call mom", "Undo that", "Canceled: call mom."),
    ],
)
def test_what_another_run_was_told_just_before_is_undone(tmp_path: Path, said: str, undo: str, answer: str) -> None:
    carina(tmp_path, "chat", "--once", said)
    assert answer in carina(tmp_path, "chat", "--once", undo).stdout
    assert "Bolt" not in carina(tmp_path, "chat", "--once", "what is my cat called?").stdout
    assert carina(tmp_path, "remind", "list").stdout == "You have no reminders here.\n"


@BOTH
def test_before_it_has_begun_it_is_called_off(tmp_path: Path, number: signal.Signals) -> None:
    home = tmp_path / "data"
    with closing(Terminal(tmp_path, "chat")) as terminal:
        while not home.is_dir():  # it opens its folder: the handlers stand, the sign does not yet
            terminal.wait(0.01)
        terminal.send_signal(number)
        assert terminal.ended() == 0
        assert "Traceback" not in terminal.everything
        assert "Aborted" not in terminal.everything
    assert carina(tmp_path, "chat", "--once", "hello").returncode == 0


async def test_what_runs_comes_to_its_end_and_is_there_at_the_next_start(tmp_path: Path) -> None:
    async with ModelServer.start() as model:
        more = {**model.environment(), "CARINA_MODEL": "openai:scripted"}
        model.script(Slow(1.5, Answer("In good time.")))
        with closing(Terminal(tmp_path, "chat", **more)) as terminal:
            await asyncio.to_thread(terminal.shows, START)
            terminal.type("hello\n")
            await model.wait_for(1)
            await asyncio.to_thread(terminal.shows, "thinking")
            terminal.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(terminal.ended) == 0
            assert_restored(terminal)
        with closing(Terminal(tmp_path, "chat", **more)) as terminal:
            await asyncio.to_thread(terminal.shows, r"In good time\.\n")
        assert len(model.requests) == 1


async def test_a_piped_chat_does_not_go_on_with_the_lines_it_has_read(tmp_path: Path) -> None:
    async with ModelServer.start() as model:
        model.script(Hang())
        more = {**model.environment(), "CARINA_MODEL": "openai:scripted"}
        process = await start(("chat",), environment(tmp_path, **more), tmp_path, "one\ntwo\nthree\n")
        await model.wait_for(1, START_SECONDS)
        process.terminate()
        assert await asyncio.wait_for(process.ended(), START_SECONDS) == 0
    listed = carina(tmp_path, "inbox", "list", "--json").data()
    assert len(listed) == 1


async def test_a_single_question_says_that_it_was_stopped(tmp_path: Path) -> None:
    async with ModelServer.start() as model:
        model.script(Hang())
        more = {**model.environment(), "CARINA_MODEL": "openai:scripted"}
        with closing(Terminal(tmp_path, "chat", "--once", "hello", **more)) as terminal:
            await model.wait_for(1, START_SECONDS)
            terminal.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(terminal.ended) == 1
            assert_restored(terminal)
            plain = re.sub(r"\s+", " ", terminal.everything)
            assert "carina: Stopped before an answer arrived. `carina inbox list` shows" in plain
