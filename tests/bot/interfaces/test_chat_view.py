"""The chat on a console: what stands on the screen in the end, and what a pipe gets."""

import io
import re
import time

import pytest
from rich.console import Console
from rich.live import Live
from rich.segment import Segment, SegmentLines
from rich.status import Status

from bot.interfaces.cli.chat import chat_view
from bot.interfaces.cli.chat.chat_view import ChatView, Moment
from sources.terminal import Busy, Deletion, Edit, Message, Typed

_STEP = re.compile(r"\x1b\[\??([\d;]*)([A-Za-z])|\x1b\].*?(?:\x07|\x1b\\)|(.)", re.DOTALL)


class Screen(io.StringIO):
    """What a terminal shows of what is written to it: cursor up, start of line, erase, and text."""

    @property
    def lines(self) -> list[str]:
        lines, row, column = [""], 0, 0
        for number, command, character in (found.groups() for found in _STEP.finditer(self.getvalue())):
            if character == "\n":
                row, column = row + 1, 0
                lines += [""] * (row + 1 - len(lines))
            elif character == "\r":
                column = 0
            elif character:
                lines[row] = lines[row][:column].ljust(column) + character + lines[row][column + 1 :]
                column += 1
            elif command == "A":
                row = max(row - int(number or 1), 0)
            elif command == "K":
                lines[row] = "" if number == "2" else lines[row][:column]
        return lines

    @property
    def shown(self) -> str:
        return "\n".join(self.lines).rstrip("\n")


class LiveMoment(Moment):
    """On a console where nobody types: lines that are redrawn, and a spinner."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._spinner: Status | None = None
        self._growing: Live | None = None

    def grow(self, lines: list[list[Segment]]) -> None:
        self._stop_spinner()
        if self._growing is None:
            self._growing = Live(
                console=self._console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
            )
            self._growing.start()
        self._growing.update(SegmentLines(lines, new_lines=True), refresh=True)

    def think(self, model: str) -> None:
        if self._spinner is None:
            self._spinner = self._console.status("thinking", spinner="dots")
            self._spinner.start()
        if model:
            self._spinner.update(f"thinking… (waiting for {model})")

    def clear(self) -> None:
        self._stop_spinner()
        if self._growing is not None:
            self._growing.stop()
            self._growing = None

    def _stop_spinner(self) -> None:
        if self._spinner is not None:
            self._spinner.stop()
            self._spinner = None


def view(*, tty: bool, height: int = 30) -> tuple[ChatView, Screen]:
    out = Screen()
    console = Console(
        file=out, force_terminal=tty, color_system=None, width=60, height=height, _environ={"TERM": "xterm"}
    )
    return ChatView(console, LiveMoment(console)), out


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every piece of a stream is drawn, however fast it comes."""
    monkeypatch.setattr(chat_view, "_DRAW_SECONDS", 0.0)


ANSWER = """\
I know **two** things:

- one, with `code`
- two

```python
print("<hi>")

print(2)
```

See [the page](https://example.com/x).
A second line."""


# --------------------------------------------------------------------------------------------------------- piped


def test_piped_only_whole_answers_are_written_as_they_are() -> None:
    chat, out = view(tty=False)
    chat.show(Busy(True))
    chat.stream("Hel")
    chat.show(Message("1", "Hello **you** [bold]and[/bold] :smile: " + "x" * 100, "Carina"))
    chat.close()
    assert out.getvalue() == "Carina: Hello **you** [bold]and[/bold] :smile: " + "x" * 100 + "\n"


def test_piped_changes_are_shown_as_far_as_they_go() -> None:
    chat, out = view(tty=False)
    chat.show(Message("1", "one"))
    chat.show(Edit("1", "one"))
    chat.show(Edit("1", "one two"))
    chat.show(Edit("1", "three"))
    chat.show(Edit("9", "other"))
    chat.show(Deletion("9"))
    assert out.getvalue().splitlines() == ["one", " two", "(changed)", "three", "(changed)", "other", "(taken back)"]


# ------------------------------------------------------------------------------------------------------ markdown


def test_markdown_is_drawn_on_a_terminal() -> None:
    chat, out = view(tty=True)
    chat.show(Message("1", ANSWER))
    assert "**" not in out.shown
    assert "`" not in out.shown
    assert out.shown.splitlines()[0] == "I know two things:"
    assert " • one, with code" in out.lines
    assert 'print("<hi>")' in out.shown
    assert out.shown.splitlines()[-2:] == ["See the page (https://example.com/x).", "A second line."]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a List<String> and <b>html</b>", "a List<String> and <b>html</b>"),
        ("<div>\nhi\n</div>", "<div>\nhi\n</div>"),
        ("see [1]\n\n[1]: https://example.com", "see [1]\n\n[1]: https://example.com"),
        ("one\ntwo", "one\ntwo"),
        ("one\n-# two -# three\n`-# four`\n\n-# five", "one\ntwo -# three\n-# four\n\nfive"),
        ("2. second\n3. third", " 2 second\n 3 third"),
        ("[bold]x[/bold] :smile:", "[bold]x[/bold] :smile:"),
        ("", ""),
        ("# ", ""),
    ],
)
def test_no_words_get_lost_in_markdown(text: str, shown: str) -> None:
    chat, out = view(tty=True)
    chat.show(Message("1", text))
    assert out.shown == shown


def test_no_line_is_filled_up_with_spaces() -> None:
    chat, out = view(tty=True)
    chat.show(Message("1", "short\n\n- list\n\n1. list"))
    assert [line for line in out.lines if line != line.rstrip()] == []


def test_a_speaker_stands_before_the_words_whatever_they_are() -> None:
    chat, out = view(tty=True)
    chat.show(Message("1", "Hello", "A_b_ **c**"))
    chat.show(Message("2", "- one", "Vega"))
    assert out.shown == "A_b_ **c**: Hello\nVega:\n\n • one"


def test_lines_from_before_are_drawn_too() -> None:
    chat, out = view(tty=True)
    chat.recall("ana", "what do I know?")
    chat.recall("Carina", "**nothing**")
    assert out.shown == "ana: what do I know?\nCarina: nothing"


# ----------------------------------------------------------------------------------------------------- streaming


@pytest.mark.parametrize("step", [1, 3, 7, 50])
@pytest.mark.parametrize("height", [30, 5])
def test_a_streamed_answer_looks_in_the_end_like_one_that_came_whole(step: int, height: int) -> None:
    whole, expected = view(tty=True)
    whole.show(Message("1", ANSWER))
    chat, out = view(tty=True, height=height)
    chat.show(Busy(True))
    for end in range(1, len(ANSWER), step):
        chat.stream(ANSWER[:end])
    chat.show(Message("1", ANSWER))
    assert out.shown == expected.shown


def test_what_is_streamed_is_on_the_screen_before_the_end() -> None:
    chat, out = view(tty=True)
    chat.stream("First **paragraph**.\n\nSec")
    assert out.shown == "First paragraph.\n\nSec"
    chat.close()
    assert out.shown == "First paragraph.\n\nSec"


def test_a_stream_is_not_drawn_with_every_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_view, "_DRAW_SECONDS", 60.0)
    chat, out = view(tty=True)
    chat.stream("one")
    written = len(out.getvalue())
    for end in range(1000):
        chat.stream("one " + "x" * end)
    assert len(out.getvalue()) == written
    chat.show(Message("1", "one xxx"))
    assert out.shown == "one xxx"


@pytest.mark.parametrize(
    ("streamed", "said", "shown"),
    [
        (["One.\n\nTwo. \n"], "One.\n\nTwo.", "One.\n\nTwo."),
        (["Hello", "Good"], "Evening", "Evening"),
        (["One.\n\nTwo.\n\nThree", "Another"], "Another answer.", "One.\n\nTwo.\n(begun anew)\nAnother answer."),
    ],
)
def test_what_was_streamed_stands_once_and_what_is_void_is_replaced_or_said_to_be(
    streamed: list[str], said: str, shown: str
) -> None:
    chat, out = view(tty=True)
    for text in streamed:
        chat.stream(text)
    chat.show(Message("1", said))
    chat.close()
    assert out.shown == shown


# ------------------------------------------------------------------------------------------------------ the rest


def test_a_spinner_turns_on_a_terminal_until_there_is_something_to_read() -> None:
    chat, out = view(tty=True)
    for shown, words in ((Busy(True), "thinking"), (Busy(True, "openai:x"), "thinking… (waiting for openai:x)")):
        chat.show(shown)
        chat.show(Busy(True))
        deadline = time.monotonic() + 10
        while words not in out.getvalue() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert words in out.getvalue()
    chat.show(Message("1", "done"))
    chat.close()
    assert out.shown == "done"


def test_what_a_model_writes_cannot_move_the_cursor() -> None:
    evil = "a\x1b[2J\rb\x07\u202ec\ud800\n全角　空白\t👩‍👩‍👧"
    piped, out = view(tty=False)
    piped.show(Message("1", evil))
    assert out.getvalue() == "abc\ufffd\n全角　空白\t👩‍👩‍👧\n"
    for draw in ("show", "stream", "recall", "note"):
        chat, out = view(tty=True)
        match draw:
            case "show":
                chat.show(Message("1", evil, "\x1b[1mname"))
            case "recall":
                chat.recall("\x1b[1mname", evil)
            case "note":
                chat.note(evil)
            case _:
                chat.stream(evil)
        assert "abc\ufffd" in out.getvalue()
        assert [each for each in ("\x1b[2J", "\x07", "\u202e", "\x1b[1m") if each in out.getvalue()] == []


# ----------------------------------------------------------------------------------------------------- two terminals


def test_a_question_of_another_terminal_is_shown_before_its_answer_and_in_the_middle_of_none() -> None:
    chat, out = view(tty=True)
    chat.show(Typed("2", "Ana", "and you?"))
    assert out.shown == "Ana: and you?"
    chat.stream("I know")
    chat.show(Typed("3", "Ana", "what else?"))
    chat.stream("I know two things.")
    assert "what else" not in out.shown
    chat.show(Message("terminal-1", "I know two things."))
    assert out.lines[-3:] == ["I know two things.", "Ana: what else?", ""]
    chat.stream("Nothing")
    chat.show(Typed("4", "Ana", "why?"))
    chat.close()
    assert out.shown.endswith("Nothing\nAna: why?")
