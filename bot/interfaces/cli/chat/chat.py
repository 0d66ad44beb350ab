"""`carina chat`: a conversation at the terminal, with the running service or one of its own."""

import asyncio
import signal
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping
from contextlib import aclosing, contextmanager, suppress
from typing import Any, TypeVar

import click
from rich.console import Console

from bot.config import Config
from bot.config.mcp import missing_programs
from bot.errors import CallError, UserError
from bot.interfaces.cli import streams
from bot.interfaces.cli.chat.chat_view import ChatView
from bot.interfaces.cli.chat.connection import Connection, connect, new_id
from bot.interfaces.cli.chat.line_parser import Command, Help, Quit, TextLine, UnknownCommand, own_help, parse_line
from bot.interfaces.cli.data_folder import loaded
from bot.interfaces.cli.local_operations import NOT_RUNNING
from bot.interfaces.control.async_client import ServiceEnded
from bot.interfaces.control.chat_events import ChatEvent, Idle
from bot.interfaces.control.client import STARTING_SECONDS, NoService
from memory.store.errors import FolderLocked
from sources.terminal import ONCE, Message
from texts import _, error_text, gettext_noop, speak

_END = "\0end"  # sent by the reader of lines at the end
_ANSWER_SECONDS = 600.0
_BETWEEN_SECONDS = 20.0  # time limit for a service to start or stop
_SAYING_SECONDS = 2.0  # time left for a line in progress when a signal ends the chat

_STOPPED = gettext_noop("Stopped before an answer arrived. `carina inbox list` shows what happened to the message.")

T = TypeVar("T")


class _Stop:
    """How a signal ends a chat: by canceling it while it starts, later by an event."""

    def __init__(self, *signals: signal.Signals) -> None:
        self.wanted = asyncio.Event()
        self._starting = asyncio.current_task()
        with suppress(NotImplementedError):  # platforms without signal handlers in the loop end by KeyboardInterrupt
            for each in signals:
                asyncio.get_running_loop().add_signal_handler(each, self._on_signal)

    def started(self) -> None:
        """From now on, a signal cancels nothing: a line that is being sent is sent completely."""
        self._starting = None

    @contextmanager
    def cancelable(self) -> Iterator[None]:
        """A signal may cancel the context, which then ends without an error."""
        try:
            yield
        except asyncio.CancelledError:
            if not self.wanted.is_set():
                raise

    async def before(self, coming: Coroutine[Any, Any, T], grace: float = 0.0) -> T | None:
        """The result; None if the signal comes first, and the grace period in seconds is over."""
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

    def _on_signal(self) -> None:
        self.wanted.set()
        if self._starting is not None:
            self._starting.cancel()
            self._starting = None


async def once(config: Config, text: str, constellation: str = "") -> None:
    """Send one message and print the answer. Raises UserError if none comes, CallError for a command."""
    match parse_line(text):
        case TextLine(text):
            for words in missing_programs(config.mcp):
                click.echo(words, err=True)
            stop = _Stop(signal.SIGTERM)
            answered = asyncio.Event()
            with stop.cancelable():  # possibly while the own service ends, with the answer on the screen
                await _answered(config, text, constellation, answered)
            if not answered.is_set():
                raise UserError(_STOPPED)
        case Help():
            ChatView(Console()).note(own_help())
        case UnknownCommand(words):
            raise CallError(f"--once: {words}")
        case Quit() | Command():
            raise CallError("--once: that would only end the chat. Give a message to send.")


async def _answered(config: Config, text: str, constellation: str, whole: asyncio.Event) -> None:
    """Retry until the answer is complete: other commands may stop or start a service meanwhile."""
    view = ChatView(Console(highlight=False, no_color=config.no_color or None))
    said = {"text": text, "external_id": new_id(ONCE), "constellation": constellation}
    patience, shown = time.monotonic() + _BETWEEN_SECONDS, set[str]()

    def show(each: Message) -> None:
        if not each.id or each.id not in shown:  # else an earlier service has shown it
            view.show(each)
        shown.add(each.id)

    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            while True:
                try:
                    await _ask_once(config, said, show, whole)
                    if whole.is_set():
                        return
                except ServiceEnded:
                    patience = time.monotonic() + _BETWEEN_SECONDS
                except (NoService, FolderLocked):
                    if time.monotonic() > patience:
                        raise
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise UserError(
            "No answer came within {seconds} seconds. `carina inbox list` shows what happened to the message.",
            seconds=f"{_ANSWER_SECONDS:.0f}",
        ) from None


async def _ask_once(
    config: Config, said: Mapping[str, str], show: Callable[[Message], None], whole: asyncio.Event
) -> None:
    """Ask the process that uses the data folder, else a service of our own; set `whole` if the answer is complete."""
    async with connect(config, said["constellation"]) as line:
        before = await _reminders(line) if line.own else set()
        await _show_all(line.once(said["text"], said["external_id"]), show, whole)
        if line.own and whole.is_set() and await _reminders(line) - before:
            click.echo(_(NOT_RUNNING), err=True)


async def _reminders(line: Connection) -> set[str]:
    """The open reminders of the person at the terminal."""
    return {each["id"] for each in await line.data("remind.list")}


async def _show_all(
    replies: AsyncGenerator[ChatEvent, None], show: Callable[[Message], None], whole: asyncio.Event
) -> None:
    async with aclosing(replies):
        async for each in replies:
            if isinstance(each, Idle):
                whole.set()
                return
            if isinstance(each, Message):
                show(each)


async def interactive(config: Config, constellation: str = "", *, dashboard: bool = False) -> None:
    """Chat with a person at a terminal, or with a pipe: each of its lines waits for the previous answer."""
    stop = _Stop(signal.SIGINT, signal.SIGTERM)
    with stop.cancelable():
        async with connect(config, constellation, dashboard=dashboard, patience=STARTING_SECONDS) as line:
            if streams.is_interactive():
                prompting = loaded("bot.interfaces.cli.chat.interactive_chat")  # loads the line editor
                await prompting.PromptChat(config, line, stop.wanted).run(stop.started)
            else:
                await _piped(line, config, stop)


async def _piped(line: Connection, config: Config, stop: _Stop) -> None:
    """Send line after line until the signal to stop, each after the previous answer."""
    view, lines = ChatView(Console(highlight=False, no_color=config.no_color or None)), _read_lines()
    refused = False
    speak(await line.locale())
    stop.started()
    while (text := await stop.before(lines.get()) or _END) is not _END and not stop.wanted.is_set():
        if not text.strip():
            continue
        match parse_line(text.rstrip("\n")):
            case TextLine(said):
                answered = await stop.before(_say(line, said, view), _SAYING_SECONDS)
                if answered is None:
                    view.note(_(_STOPPED))
                refused |= answered is False
            case Help():
                view.note(own_help())
            case UnknownCommand(words):
                view.note(words)
                refused = True
            case _:
                break
    if refused:
        raise UserError("Some lines were not accepted. The reasons are above.")


async def _say(line: Connection, text: str, view: ChatView) -> bool:
    """Send a line and show its answers, or why it was refused; then False. Raises ServiceEnded, NoService."""
    try:
        await _show_all(line.once(text, new_id(ONCE)), view.show, asyncio.Event())
    except (ServiceEnded, NoService):
        raise
    except UserError as error:
        view.note(error_text(error))
        return False
    return True


def _read_lines() -> asyncio.Queue[str]:
    """Lines of standard input, read by a thread of its own, since reading cannot be canceled."""
    lines: asyncio.Queue[str] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def read() -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody reads any more
            for text in sys.stdin or ():
                loop.call_soon_threadsafe(lines.put_nowait, text)
            loop.call_soon_threadsafe(lines.put_nowait, _END)

    threading.Thread(target=read, name="standard input", daemon=True).start()
    return lines
