"""A chat for a person at a terminal: a line editor, the conversation above it, a status line below it.

Lines typed while the service is away are held and sent when it is back.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing, suppress
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.buffer import CompletionState
from prompt_toolkit.filters import Condition, is_searching
from prompt_toolkit.formatted_text import ANSI, AnyFormattedText, merge_formatted_text
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.styles import Style
from rich.console import Console
from rich.segment import Segment, SegmentLines

from bot.config import OFFLINE, Config
from bot.config.mcp import missing_programs
from bot.errors import CallError, UserError
from bot.interfaces.cli import streams
from bot.interfaces.cli.chat.chat_view import ChatView, Moment
from bot.interfaces.cli.chat.command_runner import CommandRunner, known, offered
from bot.interfaces.cli.chat.completion import Completions
from bot.interfaces.cli.chat.connection import Connection, new_id
from bot.interfaces.cli.chat.line_parser import (
    Clear,
    Command,
    Help,
    Quit,
    TextLine,
    UnknownCommand,
    help_text,
    parse_line,
)
from bot.interfaces.cli.data_folder import locale
from bot.interfaces.control.async_client import ServiceEnded
from bot.interfaces.control.chat_events import History, Idle, LineResult, Listening, PersonLine, Stream
from bot.interfaces.control.client import NoService
from bot.services.people.sign_in_links import sign_in_words
from memory.store.errors import StoreError
from sources.terminal import Busy, Message, Typed
from texts import _, error_text, money_text, speak

_SIGN = "> "  # the prompt; only characters that every terminal can show
_ANSWERS = 5  # earlier answers that a chat shows when it starts
_REMEMBERED = 200  # size of the input history
_AGAIN_SECONDS = 2.0  # time in which a second Ctrl-C ends the chat
_RETRY_SECONDS = 0.5  # between attempts to reach a stopped service
_BACK_SECONDS = 600.0  # time limit for its return
_GONE = (NoService, ServiceEnded)
_STYLE = Style.from_dict({"sign": "bold", "bottom-toolbar": "noreverse"})


class PromptMoment(Moment):
    """The temporary text between the conversation and the input line: an answer in progress."""

    def __init__(self, console: Console, changed: Callable[[], None]) -> None:
        self._console, self._changed = console, changed
        self.text = ""

    def grow(self, lines: list[list[Segment]]) -> None:
        height = max(self._console.height - 5, 1)  # the input and the status line must stay visible
        with self._console.capture() as captured:
            self._console.print(SegmentLines(lines[-height:], new_lines=True), end="")
        self._show(captured.get())

    def think(self, model: str) -> None:
        text = _("thinking… (waiting for {model})", model=model) if model else _("thinking…")
        if model or not self.text:
            self._show((text if streams.says_everything() else text.replace("…", "...")) + "\n")

    def clear(self) -> None:
        self._show("")

    def _show(self, text: str) -> None:
        if text != self.text:
            self.text = text
            self._changed()


class PromptChat:
    def __init__(self, config: Config, line: Connection, wanted: asyncio.Event) -> None:
        self._config, self._line, self._wanted = config, line, wanted
        self._above = streams.CapturedOutput()
        no_color = config.no_color or None
        self._console = Console(file=self._above, force_terminal=True, highlight=False, no_color=no_color)
        self._moment = PromptMoment(self._console, self._redraw)
        self._view = ChatView(self._console, self._moment)
        self._commands = CommandRunner(line, self._ask)
        self._known = known()
        self._history = InMemoryHistory()
        self._lines: asyncio.Queue[str] = asyncio.Queue()
        self._unsent: list[str] = []
        self._echoed = set[str]()
        """The ids of lines on the screen, from this chat and others: a line can be delivered twice."""
        self._connected = asyncio.Event()
        self._writing = asyncio.Lock()
        self._question: tuple[str, asyncio.Future[str]] | None = None
        self._busy, self._cost, self._pressed = False, "", -_AGAIN_SECONDS
        self._locale = locale()
        self._session: PromptSession[str] = PromptSession(
            message=self._message,
            multiline=True,
            prompt_continuation="  ",
            history=self._history,
            completer=Completions(line),
            complete_while_typing=Condition(lambda: get_app().current_buffer.text.startswith(("/", "@"))),
            bottom_toolbar=self._status,
            key_bindings=self._keys(),
            enable_suspend=True,
            style=_STYLE,
            color_depth=ColorDepth.DEPTH_1_BIT if config.no_color else None,
        )

    async def run(self, started: Callable[[], None]) -> None:
        """Chat until the person leaves or a signal ends it. `started` is called once the chat has started."""
        listening = asyncio.Event()
        with suppress(*_GONE):
            self._locale = await self._line.locale()
        speak(lambda: self._locale)
        async with asyncio.TaskGroup() as tasks:
            others = [tasks.create_task(self._show(listening), name="chat view")]
            await listening.wait()
            started()
            self._greet(await self._differences())
            await self._flush()
            others.append(tasks.create_task(self._work(), name="typed lines"))
            others.append(tasks.create_task(self._leave_when_told(), name="end of the chat"))
            others.append(tasks.create_task(self._read_cost(), name="cost"))
            others.append(tasks.create_task(self._invite(), name="dashboard"))
            try:
                with self._session.app.input.raw_mode():  # also between a typed line and the next
                    await self._read()
            finally:
                for task in others:
                    task.cancel()
                self._view.close()
                for text in () if self._connected.is_set() else self._unsent:
                    self._view.note(_("Not sent: {text}", text=text))
                await self._flush()

    # ------------------------------------------------------------------ input

    async def _read(self) -> None:
        while not self._wanted.is_set():
            try:
                text = await self._session.prompt_async(handle_sigint=False)
            except (EOFError, KeyboardInterrupt):
                break
            if self._question is not None:
                self._question[1].set_result(text)
            elif text.strip() and isinstance(parse_line(text, self._known), Quit):
                break
            elif text.strip():
                self._unsent.append(text)
                self._lines.put_nowait(text)
        if self._question is None:  # lines typed before the end are sent
            with suppress(TimeoutError):
                async with asyncio.timeout(_AGAIN_SECONDS):
                    await self._lines.join()

    async def _work(self) -> None:
        """Handle the typed lines one by one, while the next can be typed."""
        while True:
            text = await self._lines.get()
            await self._connected.wait()
            try:
                await self._do(text)
            except (UserError, CallError, StoreError) as error:
                self._view.note(error_text(error))
            await self._flush()
            self._unsent.pop(0)
            self._lines.task_done()

    async def _do(self, text: str) -> None:
        match parse_line(text, self._known):
            case TextLine(said):
                done = await self._say(said)
                if done.answer:
                    self._view.show(Message("", done.answer))
            case Help():
                self._view.note(help_text(offered(), _hint(self._config)))
            case UnknownCommand(words):
                self._view.note(words)
            case Command(words):
                self._above.write((await self._commands.run(words)).strip("\n") + "\n")
                self._locale = await self._line.locale()  # the command may have changed it
            case Clear():
                self._session.app.renderer.clear()
            case Quit():
                pass

    async def _say(self, text: str) -> LineResult:
        """Send a line. If the service stops meanwhile, send it again with the same id, so that it counts once."""
        identifier = new_id()
        self._echoed.add(identifier)
        while True:
            with suppress(*_GONE):
                return await self._line.say(text, identifier)
            await asyncio.sleep(_RETRY_SECONDS)
            await self._connected.wait()

    async def _ask(self, question: str) -> str:
        answered: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._question = streams.wrapped(question), answered
        self._redraw()
        try:
            return await answered
        finally:
            self._question = None

    async def _leave_when_told(self) -> None:
        await self._wanted.wait()
        if self._session.app.is_running and not self._session.app.is_done:
            self._session.app.exit(exception=EOFError())

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("enter", filter=~is_searching)  # a search has its own Enter and Ctrl-C
        def _accept(event: KeyPressEvent) -> None:
            state = event.current_buffer.complete_state
            event.current_buffer.complete_state = None
            if state is None or state.current_completion is None:
                event.current_buffer.validate_and_handle()

        @keys.add("tab")
        def _complete(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            match buffer.complete_state:
                case None:
                    buffer.start_completion(insert_common_part=True)
                case CompletionState(completions=[only]):  # the history would otherwise offer it again and again
                    buffer.apply_completion(only)
                case _:
                    buffer.complete_next()

        @keys.add("escape", "enter")
        def _new_line(event: KeyPressEvent) -> None:
            event.current_buffer.newline(copy_margin=False)

        @keys.add("c-c", filter=~is_searching)
        def _interrupt(event: KeyPressEvent) -> None:
            self._interrupted(event)

        return keys

    def _interrupted(self, event: KeyPressEvent) -> None:
        """Ctrl-C: decline a question, stop the answer, or clear the line; pressed again soon, it ends the chat."""
        again, self._pressed = self._pressed_just_now(), time.monotonic()
        if self._question is not None:
            self._question[1].set_result("")
        elif again:
            event.app.exit(exception=EOFError())
        elif self._busy:
            event.app.create_background_task(self._stop())
        else:
            event.current_buffer.reset()
        asyncio.get_running_loop().call_later(_AGAIN_SECONDS, self._redraw)

    def _pressed_just_now(self) -> bool:
        return time.monotonic() - self._pressed < _AGAIN_SECONDS

    async def _stop(self) -> None:
        try:
            stopped = await self._line.stop()
        except (UserError, StoreError) as error:
            self._view.note(error_text(error))
            stopped = 0
        self._view.close()
        self._busy = False
        if stopped:
            self._view.note(_("(stopped)"))
        await self._flush()

    # ------------------------------------------------------------------ output

    async def _show(self, listening: asyncio.Event) -> None:
        """Show the service's output. If it stops, say so, and reconnect when it is back."""
        with suppress(ServiceEnded):
            await self._follow(listening, _ANSWERS, _REMEMBERED)
        patience = time.monotonic() + _BACK_SECONDS
        while not self._line.own and time.monotonic() < patience:
            if self._connected.is_set():
                patience = time.monotonic() + _BACK_SECONDS
                self._connected.clear()
                self._busy = False
                if self._view.close():
                    self._view.note(_("(cut off; the full answer will follow)"))
                self._view.note(_("The service has stopped. What you type will be sent when it is back."))
                await self._flush()
            await asyncio.sleep(_RETRY_SECONDS)
            with suppress(*_GONE):
                await self._follow(listening, 0, 0)
        raise UserError("The service has stopped.")

    async def _follow(self, listening: asyncio.Event, answers: int, remembered: int) -> None:
        """Show the service's output until it stops. Raises NoService, ServiceEnded."""
        async with aclosing(self._line.shown(answers, remembered)) as shown:
            async for each in shown:
                match each:
                    case PersonLine(text):
                        self._history.append_string(text)
                    case Listening():
                        if listening.is_set():
                            self._view.note(_("The service is back."))
                        listening.set()
                        self._connected.set()
                    case Idle():
                        self._busy = False
                        await self._read_cost()
                    case Stream(text):
                        self._busy = True
                        self._view.stream(text)
                    case History(speaker, text):
                        self._view.recall(speaker, text)
                    case Typed(line):
                        if line not in self._echoed:
                            self._view.show(each)
                        self._echoed.add(line)
                    case _:
                        self._busy = each.busy if isinstance(each, Busy) else self._busy
                        self._view.show(each)
                await self._flush()

    async def _flush(self) -> None:
        """Write the new output above the input line.

        The terminal stays raw meanwhile, unlike in the library's `in_terminal`: without that, the terminal would
        consume a Ctrl-D typed at this moment.
        """
        app = self._session.app
        async with self._writing:
            await app.renderer.wait_for_cpr_responses()  # of where the cursor is before anything moves it
            if not (text := self._above.take()):
                return
            editing = app.is_running and not app.is_done
            if editing:
                app.renderer.erase()
            app.output.write_raw(text)
            app.output.flush()
            if editing:
                app.renderer.request_absolute_cursor_position()
                app.invalidate()

    def _redraw(self) -> None:
        if self._session.app.is_running:
            self._session.app.invalidate()

    def _message(self) -> AnyFormattedText:
        sign: AnyFormattedText = [("class:sign", self._question[0] if self._question else _SIGN)]
        if get_app().is_done or not self._moment.text:
            return sign
        return merge_formatted_text([ANSI(self._moment.text), sign])

    def _status(self) -> AnyFormattedText:
        """The status line: agent, model, place and cost."""
        if self._pressed_just_now():
            return _("Press Ctrl-C again to leave.")
        agent = self._config.agents[0]
        dot = " · " if streams.says_everything() else " | "
        return dot.join(filter(None, (agent.name, self._config.model_of(agent), _("terminal"), self._cost)))

    async def _read_cost(self) -> None:
        """Show what models cost in the last 24 hours."""
        with suppress(UserError, StoreError):
            self._cost = _cost(await self._line.data("cost", days=1))
        self._redraw()

    async def _differences(self) -> str:
        """A hint that carina.toml has items that the database lacks; empty if there are none, or if that is unknown."""
        with suppress(UserError, StoreError):
            if any(each["only"] != "database" for each in await self._line.data("config.diff")):
                return _(
                    "carina.toml has changes that are not applied yet. /config diff shows them, and /config apply "
                    "applies them."
                )
        return ""

    def _greet(self, changed: str) -> None:
        agent = self._config.agents[0].name
        self._view.note(_("You are talking to {agent}. /help lists commands; Ctrl-D ends the chat.", agent=agent))
        for words in (_hint(self._config), changed, *missing_programs(self._config.mcp)):
            if words:
                self._view.note(words)
        if self._line.own:
            self._view.note(_("Data: {path} (CARINA_HOME sets another folder)", path=self._config.home.resolve()))
            self._view.note(_("Reminders arrive while this chat is open. `carina run` keeps Carina running."))

    async def _invite(self) -> None:
        """Show once how to open the dashboard; the URL on a line of its own, which terminals turn into a link."""
        if self._line.first_link is None:
            return
        try:
            if url := await self._line.first_link():
                self._view.note(sign_in_words())
                self._above.write(f"{url}\n")
        except UserError as error:
            self._view.note(error_text(error))
        await self._flush()


def _hint(config: Config) -> str:
    missing = config.model.default == OFFLINE
    return _("No language model is configured: set CARINA_MODEL, or run `carina init`.") if missing else ""


def _cost(bills: list[dict[str, Any]]) -> str:
    spent = sum(each.get("cost_usd") or 0 for each in bills)
    return _("{cost} in 24 hours", cost=money_text(spent)) if spent else ""
