"""`carina chat`: a conversation at the terminal, with the running service or one of its own."""

import asyncio
import secrets
import signal
import sys
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from rich.console import Console

from bot.app import App, build
from bot.config import OFFLINE, Config
from bot.config.mcp import missing_programs
from bot.errors import CallError, UserError
from bot.interfaces.chat import ONCE
from bot.interfaces.cli import streams
from bot.interfaces.cli.prompt import HELP, Help, Quit, Refused, Say, understood
from bot.interfaces.control import ControlEnded
from bot.interfaces.service_client import TakesNoCommands, holder_of
from memory.store.errors import FolderLocked
from memory.store.folder import DataFolder
from memory.store.ids import snowflakes
from sources.screen import ChatView
from sources.terminal import Said, from_data

_END = "\0end"  # what the reader of lines sends when there are no more
_ANSWER_SECONDS = 600.0
_BETWEEN_SECONDS = 20.0  # that a service may take to begin or to end
_SAYING_SECONDS = 2.0  # that a line which is being passed on still has when a signal ends the chat
_SIGN = "> "  # what asks for a line; only what every terminal can show

T = TypeVar("T")


@dataclass(frozen=True)
class Line:
    """A way to the service: what is shown, and how to say something."""

    shown: AsyncGenerator[dict[str, Any], None]
    say: Callable[[str], Coroutine[Any, Any, dict[str, Any]]]


@asynccontextmanager
async def connect(config: Config, history: int) -> AsyncIterator[Line]:
    """To the service that runs on the data folder, or one in this process that ends with the chat."""
    if (holder := holder_of(DataFolder(config.home))) is not None:

        async def pass_on(text: str) -> dict[str, Any]:
            done: dict[str, Any] = await holder.ask("say", text=text, external_id=_new_id())
            return done

        async with aclosing(holder.call("chat", history=history)) as shown:
            yield Line(shown, pass_on)
        return
    async with _own_service(config) as app:

        async def say(text: str) -> dict[str, Any]:
            return await app.chat.say(text, _new_id())

        async with aclosing(app.chat.chat(history)) as shown:
            yield Line(shown, say)


@asynccontextmanager
async def _own_service(config: Config) -> AsyncIterator[App]:
    """A service in this process, without front ends, that ends with the context."""
    async with build(config, fronts=False) as app, asyncio.TaskGroup() as tasks:
        ended = asyncio.Event()

        async def until_ended() -> None:
            await ended.wait()

        service = tasks.create_task(app.run(until_ended), name="service")
        try:
            yield app
        finally:
            ended.set()
            await service


class _Stop:
    """How a signal ends a chat: by calling it off while it begins, later by an event that whoever waits looks at."""

    def __init__(self, *signals: signal.Signals) -> None:
        self.wanted = asyncio.Event()
        self._beginning = asyncio.current_task()
        with suppress(NotImplementedError):  # platforms without signal handlers in the loop end by KeyboardInterrupt
            for each in signals:
                asyncio.get_running_loop().add_signal_handler(each, self._come)

    def begun(self) -> None:
        """From now on nothing is cancelled: a line that is being said is said to its end."""
        self._beginning = None

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """What is inside may be called off, and is then over in good order."""
        try:
            yield
        except asyncio.CancelledError:
            if not self.wanted.is_set():
                raise

    async def before(self, coming: Coroutine[Any, Any, T], grace: float = 0.0) -> T | None:
        """What comes; None where the signal comes first and so many seconds do not suffice either."""
        waited = asyncio.create_task(coming)
        wanted = asyncio.create_task(self.wanted.wait())
        try:
            await asyncio.wait((waited, wanted), return_when=asyncio.FIRST_COMPLETED)
            if grace and not waited.done():
                await asyncio.wait((waited,), timeout=grace)
            return waited.result() if waited.done() else None
        finally:
            waited.cancel()
            wanted.cancel()

    def _come(self) -> None:
        self.wanted.set()
        if self._beginning is not None:
            self._beginning.cancel()
            self._beginning = None


async def once(config: Config, text: str) -> None:
    """Say one thing, print the answer. Raises UserError when none comes, CallError for what cannot be said."""
    match understood(text):
        case Say(text):
            stop = _Stop(signal.SIGTERM)
            answered = asyncio.Event()
            with stop.heeded():  # perhaps while the own service ends, with the answer on the screen
                await _answered(config, text, answered)
            if not answered.is_set():
                raise UserError("stopped before the answer came; `carina inbox list` shows how the message stands")
        case Help():
            ChatView(Console()).note(HELP)
        case Refused(words):
            raise CallError(f"--once: {words}")
        case Quit():
            raise CallError("--once: found only the end of a chat; expected a text to say")


async def _answered(config: Config, text: str, whole: asyncio.Event) -> None:
    """Ask until the answer is whole: a service may end meanwhile, or begin, with other commands at the same time."""
    view, external_id = ChatView(Console(highlight=False, no_color=config.no_color or None)), _new_id(ONCE)
    patience, shown = time.monotonic() + _BETWEEN_SECONDS, set[str]()

    def show(each: dict[str, Any]) -> None:
        if not each["id"] or each["id"] not in shown:  # else an earlier service has shown it
            view.show(from_data(each))
        shown.add(each["id"])

    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            while True:
                try:
                    await _ask_once(config, text, external_id, show, whole)
                    if whole.is_set():
                        return
                except ControlEnded:
                    patience = time.monotonic() + _BETWEEN_SECONDS
                except (TakesNoCommands, FolderLocked):
                    if time.monotonic() > patience:
                        raise
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise UserError(
            f"no answer came within {_ANSWER_SECONDS:.0f} seconds; `carina inbox list` shows how the message stands"
        ) from None
    finally:
        view.close()


async def _ask_once(
    config: Config, text: str, external_id: str, show: Callable[[dict[str, Any]], None], whole: asyncio.Event
) -> None:
    """Ask whoever uses the data folder, else a service of one's own; `whole` is set if the answer came to its end."""
    if (holder := holder_of(DataFolder(config.home))) is not None:
        await _show_all(holder.call("once", text=text, external_id=external_id), show, whole)
        return
    async with _own_service(config) as app:
        await _show_all(app.chat.once(text, external_id), show, whole)


async def _show_all(
    replies: AsyncGenerator[dict[str, Any], None], show: Callable[[dict[str, Any]], None], whole: asyncio.Event
) -> None:
    async with aclosing(replies):
        async for each in replies:
            if each["kind"] == "Idle":
                whole.set()
                return
            show(each)


class _Answered:
    """What was answered in a chat: an end of other work, left by an earlier service, is not taken for it."""

    def __init__(self) -> None:
        self._ids = set[str]()
        self._more = asyncio.Event()

    def add(self, ids: Iterable[str]) -> None:
        self._ids.update(ids)
        self._more.set()

    async def wait(self, waited: str) -> None:
        while waited not in self._ids:
            self._more.clear()
            await self._more.wait()


async def interactive(config: Config) -> None:
    """Pass lines on until the input or a signal ends the chat; piped lines wait for the answer to the one before."""
    console = Console(highlight=False, no_color=config.no_color or None)
    view = ChatView(console, _SIGN if streams.typed() else "")
    history = config.terminal.history if console.is_terminal else 0
    stop = _Stop(signal.SIGINT, signal.SIGTERM)
    with stop.heeded():
        async with connect(config, history) as line:
            await _converse(line, view, config, stop)


async def _converse(line: Line, view: ChatView, config: Config, stop: _Stop) -> None:
    async with asyncio.TaskGroup() as tasks:
        answered, listening = _Answered(), asyncio.Event()
        showing = tasks.create_task(_show(line, view, answered, listening), name="chat view")
        await listening.wait()
        stop.begun()
        view.greet(_greeting(config))
        for words in missing_programs(config.mcp):
            view.greet(words)
        view.ask()
        try:
            await _pass_lines(line, view, None if streams.typed() else answered, stop)
        finally:
            showing.cancel()
            view.close()  # also after an error: a spinner hides the cursor


async def _pass_lines(line: Line, view: ChatView, answered: _Answered | None, stop: _Stop) -> None:
    """Say line after line until the signal to stop; with `answered` not before the one before was answered."""
    lines = _read_lines()
    while (text := await stop.before(lines.get()) or _END) is not _END and not stop.wanted.is_set():
        view.typed()
        if not text.strip():
            view.ask()
            continue
        match understood(text.rstrip("\n")):
            case Say(said):
                await _pass_on(said, line, view, answered, stop)
            case Help():
                view.note(HELP)
                view.ask()
            case Refused(words):
                view.note(words)
                view.ask()
            case Quit():
                return


async def _pass_on(text: str, line: Line, view: ChatView, answered: _Answered | None, stop: _Stop) -> None:
    done = await stop.before(line.say(text), _SAYING_SECONDS)
    if done is None:
        view.note("Stopped before the last line was taken; `carina inbox list` shows whether it arrived.")
        return
    if answer := done.get("answer"):
        view.show(Said("", answer))
    if answer and not done["goes_on"]:
        view.ask()
    elif answered is not None:
        await stop.before(answered.wait(done.get("request") or done["id"]))


def _read_lines() -> asyncio.Queue[str]:
    """Lines of standard input; a thread of its own, since reading cannot be cancelled."""
    lines: asyncio.Queue[str] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def read() -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody reads any more
            for text in sys.stdin or ():
                loop.call_soon_threadsafe(lines.put_nowait, text)
            loop.call_soon_threadsafe(lines.put_nowait, _END)

    threading.Thread(target=read, name="standard input", daemon=True).start()
    return lines


async def _show(line: Line, view: ChatView, answered: _Answered, listening: asyncio.Event) -> None:
    async for shown in line.shown:
        match shown["kind"]:
            case "Listening":
                listening.set()
            case "Idle":
                answered.add(shown["answered"])
                view.ask()
            case "Stream":
                view.stream(shown["text"])
            case "History":
                view.recall(shown["speaker"], shown["text"])
            case _:
                view.show(from_data(shown))
    raise UserError("the service has ended")


def _greeting(config: Config) -> str:
    agent = config.agents[0].name
    model = config.model.default
    if model == OFFLINE:
        model = "the offline model, which remembers and finds again; set CARINA_MODEL for a language model"
    return f"You are talking to {agent}, with {model}. /help lists what can be typed; /quit or Ctrl-D ends the chat."


def _new_id(beginning: str = "terminal-") -> str:
    """Also another than that of a command which begins in the same millisecond: the same one would be the same line."""
    return f"{beginning}{snowflakes.next()}-{secrets.token_hex(4)}"
