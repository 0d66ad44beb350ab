"""The line editor of a chat, with real keys on a real terminal: what is seen, what is sent, what stays."""

import asyncio
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import httpx
import pytest

from tests.bot.terminals import Begin, Terminal, carina, environment, serving
from tests.processes import ROOT, START_SECONDS
from tests.wire.model import Answer, Hang, ModelServer, Slow

UP, DOWN, TAB, ALT_ENTER = "\x1b[A", "\x1b[B", "\t", "\x1b\r"
CTRL_A, CTRL_C, CTRL_D, CTRL_R, CTRL_U = "\x01", "\x03", "\x04", "\x12", "\x15"
START = r"Ctrl-D ends the chat(?s:.)*\n>"


def pasted(text: str) -> str:
    return f"\x1b[200~{text}\x1b[201~"


def said(folder: Path) -> list[str]:
    """The messages that arrived, oldest first."""
    listed = carina(folder, "inbox", "list", "--json").data()
    rows = sorted(row["id"] for row in listed)
    return [carina(folder, "inbox", "show", str(row), "--json").data()["text"] for row in rows]


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[Terminal]:
    with closing(Terminal(tmp_path, "chat")) as terminal:
        terminal.shows(START)
        yield terminal


def left(terminal: Terminal) -> None:
    """End it as people do."""
    terminal.type(CTRL_U + CTRL_D)
    assert terminal.ended() == 0
    assert "Traceback" not in terminal.everything


def test_it_begins_with_who_answers_and_one_line_on_the_missing_model(chat: Terminal) -> None:
    seen = chat.shows("Carina · offline · terminal")
    assert "You are talking to Carina." in seen
    assert seen.count("CARINA_MODEL") == 1
    assert "Reminders arrive while this chat is open." in seen
    assert "CARINA_HOME" in seen
    assert chat.type("hello\r", "Hello! Good to see you").count("CARINA_MODEL") == 1
    left(chat)


def test_what_is_typed_before_it_has_begun_is_said_and_shown_once(tmp_path: Path) -> None:
    with closing(Terminal(tmp_path, "chat")) as terminal:
        while not (tmp_path / "data").is_dir():
            terminal.wait(0.01)
        assert terminal.type("hello\r", "Hello! Good").count("hello") == 1
        left(terminal)


def test_a_line_is_edited_and_had_back_also_in_the_next_chat(chat: Terminal, tmp_path: Path) -> None:
    chat.type(
        "remember that my hat is green\x1b[D\x1b[D\x1b[D\x1b[D\x1b[Dred or \r",
        "I'll remember: your hat is red or green",
    )
    chat.type(UP, "> remember that my hat is red or green\n")
    chat.type(
        DOWN + CTRL_R + "nothing like it" + CTRL_C + CTRL_R + "hat" + "\r" + "other \r",
        "I'll remember: your other hat is red or green",
    )
    left(chat)
    with closing(Terminal(tmp_path, "chat")) as again:
        again.shows(START)
        again.type(UP, "\n> remember that my other hat is red or green")
        left(again)
    assert not [path for path in (tmp_path / "data").iterdir() if "history" in path.name]


def test_what_is_pasted_is_one_message_whatever_its_lines(chat: Terminal, tmp_path: Path) -> None:
    chat.type(pasted("milk\neggs\r\nbread") + "\r", "That stays")
    chat.type("one" + ALT_ENTER + "two\r", "(?s)That stays.*That stays")
    left(chat)
    assert said(tmp_path) == ["milk\neggs\nbread", "one\ntwo"]


def test_a_very_long_paste_arrives_whole(chat: Terminal, tmp_path: Path) -> None:
    text = " ".join(f"word{number}" for number in range(11_000))
    chat.type(pasted(text), "word10999")
    chat.type("\r", "too long for me")
    left(chat)
    assert said(tmp_path) == [text]


def test_commands_and_names_are_completed_and_done(chat: Terminal, tmp_path: Path) -> None:
    chat.type("/tas", "/tasks +add, cancel, change, done, list")
    chat.type("ks add buy oat milk\r", "Added: buy oat milk")
    chat.type("/agent show ", r"(?m)^ +Carina *$")
    chat.type(TAB, "> /agent show Carina")
    chat.type(TAB)  # the only one there is: it stays
    chat.type("\r", "audience = ")
    chat.type("/tasks list\r", "(?s)> /tasks list.*buy oat milk")
    chat.type("/nonsense\r", "There is no /nonsense")
    chat.type("clear\r", r"\A>\s*\nCarina · offline")
    left(chat)
    assert said(tmp_path) == []


def test_the_chat_speaks_the_language_that_the_person_chose(chat: Terminal, tmp_path: Path) -> None:
    chat.type("/nonsense\r", "There is no /nonsense in this chat")
    chat.type("/language de\r", "Sprache: Deutsch")
    chat.type("/nonsense\r", "/nonsense gibt es in diesem Chat nicht")
    chat.type("/help tasks\r", "Deine Aufgabenliste verwalten")
    left(chat)
    with closing(Terminal(tmp_path, "chat")) as again:
        again.shows("/help listet die Befehle")
        again.type("/nonsense\r", "/nonsense gibt es in diesem Chat nicht")
        again.type("/language auto\r", r"Language: English \(automatic\)")
        again.type("/nonsense\r", "There is no /nonsense in this chat")
        left(again)


def test_a_command_that_asks_is_answered_in_the_chat(chat: Terminal, tmp_path: Path) -> None:
    chat.type("remember that my hat is red\r", "I'll remember")
    chat.type("/privacy erase\r", r"\[y/N\]")
    chat.type("perhaps\r", r"(?s)\[y/N\] perhaps.*Answer y or n\.")
    chat.type("n\r", "Nothing was done")
    left(chat)
    assert len(said(tmp_path)) == 1


@pytest.mark.parametrize("word", ["exit", "quit", "/quit", " EXIT "])
def test_words_that_leave_are_no_messages(chat: Terminal, tmp_path: Path, word: str) -> None:
    chat.type(f"{word}\r")
    assert chat.ended() == 0
    assert said(tmp_path) == []


def test_ctrl_c_empties_the_line_and_leaves_when_it_is_pressed_again(chat: Terminal, tmp_path: Path) -> None:
    chat.type("half a line", "> half a line")
    assert "half a line" not in chat.type(CTRL_C, "Press Ctrl-C again to leave")
    chat.type(CTRL_C)
    assert chat.ended() == 0
    assert said(tmp_path) == []


async def test_an_answer_streams_above_what_is_typed_and_ctrl_c_stops_it(tmp_path: Path) -> None:
    async with ModelServer.start() as model:
        more = {**model.environment(), "CARINA_MODEL": "openai:gpt-5-mini"}
        model.script(Slow(5, Answer("All **done** now.")), Hang())
        with closing(Terminal(tmp_path, "chat", **more)) as terminal:
            await asyncio.to_thread(terminal.shows, START)
            terminal.type("hello\r")
            await asyncio.to_thread(terminal.shows, r"thinking… \(waiting for openai:gpt-5-mini\)")
            terminal.type("typed meanwhile")
            seen = await asyncio.to_thread(terminal.shows, "thinking(?s:.)*\n> typed meanwhile")
            assert "No language model" not in seen
            seen = await asyncio.to_thread(terminal.shows, "All done now(?s:.)*\n> typed meanwhile")
            assert "thinking" not in seen
            await asyncio.to_thread(terminal.shows, r"gpt-5-mini · terminal · \$0\.[\d.]+ in 24 hours")
            await asyncio.sleep(2)  # what comes before the answer is stored would join it
            terminal.type("\r")
            await model.wait_for(2)
            await asyncio.to_thread(terminal.shows, "thinking")
            terminal.type(CTRL_C)
            seen = await asyncio.to_thread(terminal.shows, r"\(stopped\)")
            assert "thinking" not in seen
            model.script(Answer("Still here."))
            terminal.type("are you there?\r")
            await asyncio.to_thread(terminal.shows, "Still here")
            terminal.type(CTRL_D)
            assert await asyncio.to_thread(terminal.ended) == 0
    assert len(said(tmp_path)) == 3


def test_what_was_changed_in_the_file_and_is_not_applied_is_said(tmp_path: Path, begin: Begin) -> None:
    begin(tmp_path)
    (tmp_path / "carina.toml").write_text('[[agents]]\nname = "Carina"\ndescription = "Knows plants"\n', "utf-8")
    with closing(Terminal(tmp_path, "chat", LINES="40")) as terminal:
        terminal.shows("carina.toml has changes")
        terminal.type("/config apply\r", "Changed agent Carina.")
        terminal.type("/agent create Nova\r", "Created agent Nova")
        left(terminal)
    with closing(Terminal(tmp_path, "chat", LINES="40")) as terminal:
        assert "was changed" not in terminal.shows(START), "what only a command made is no change of the file"


@pytest.mark.skipif(shutil.which("setsid") is None, reason="a shell of its own terminal is needed, which stops jobs")
def test_ctrl_z_stops_the_chat_and_back_in_it_the_line_is_there(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(ours, (24, 80))
    own = environment(tmp_path, TERM="xterm", PROMPT_TOOLKIT_NO_CPR="1")
    command = ["setsid", "--ctty", "--wait", "bash", "--norc", "-i"]
    shell = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=own, cwd=tmp_path)
    os.close(theirs)
    for typed, shown in (
        (f"{sys.executable} -m carina chat\r", r"keeps Carina running.*>"),
        ("half a line\x1a", "Stopped"),
        ("fg\r", "half a line"),
        ("\r", "That stays"),
        ("\x04", r"bash[^\r\n]*$"),
    ):
        os.write(ours, typed.encode())
        seen = ""
        while re.search(shown, seen, re.DOTALL) is None:
            assert select.select([ours], [], [], START_SECONDS)[0], f"no {shown!r} in {seen!r}"
            seen += os.read(ours, 65_536).decode("utf-8", "replace")
    os.write(ours, b"exit\r")
    assert shell.wait(START_SECONDS) == 0
    os.close(ours)


@pytest.mark.parametrize("size", [("24", "20"), ("6", "20"), ("8", "200")])
def test_a_terminal_of_any_size_is_enough(tmp_path: Path, size: tuple[str, str]) -> None:
    with closing(Terminal(tmp_path, "chat", LINES=size[0], COLUMNS=size[1])) as terminal:
        terminal.shows("> ?\n")
        terminal.type("hello\r", "Hello! Good")
        left(terminal)


SLOW = """
import time
from prompt_toolkit.output.vt100 import Vt100_Output as Output

flush = Output.flush

def slowly(self):
    above = len(self._buffer) == 1 and "Good to see" in self._buffer[0]
    flush(self)
    time.sleep(0.5 * above)

Output.flush = slowly

import os
from pathlib import Path
from prompt_toolkit.input.vt100 import cooked_mode

enter = cooked_mode.__enter__

def noted(self):
    Path(os.environ["CARINA_HOME"], "cooked").touch()
    enter(self)

cooked_mode.__enter__ = noted
"""
"""A terminal that takes half a second for an answer above the line that is typed, and notes when it is to take keys."""


def test_keys_are_the_editors_also_while_an_answer_is_written(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(SLOW, "utf-8")
    with closing(Terminal(tmp_path, "chat", PYTHONPATH=f"{ROOT}:{tmp_path}")) as terminal:
        terminal.shows(START)
        terminal.type("hello\r")
        terminal.shows(r"Hello! Good[^>]*\Z")  # the line that is typed is not drawn again yet
        left(terminal)
    assert not (tmp_path / "data" / "cooked").exists(), "a Ctrl-D in that moment would be lost"


@pytest.mark.parametrize("encoding", ["ascii", "cp437", "cp1252"])
def test_without_colors_and_without_unicode_nothing_else_is_shown(tmp_path: Path, encoding: str) -> None:
    more = {"NO_COLOR": "1", "PYTHONIOENCODING": encoding}
    with closing(Terminal(tmp_path, "chat", **more)) as terminal:
        terminal.shows(r"Carina \| offline \| terminal")
        terminal.type("help\r", "German and Japanese")
        left(terminal)
        assert terminal.everything.replace("\ufffd", "").isascii(), "it would not be read in that encoding"
        assert not re.search(r"\x1b\[[\d;]*3[0-7][\d;]*m", terminal.everything)


@pytest.mark.parametrize("arguments", [(), ("run",)])
def test_the_first_start_shows_where_the_dashboard_is(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "carina.toml").write_text('[web.server]\nlisten = "127.0.0.1:0"\n', "utf-8")
    with closing(Terminal(tmp_path, *arguments)) as terminal:
        told = terminal.until(r"http://127\.0\.0\.1:\d+/login\?code=[\w-]{43}\s")
        page, _question, code = told.split()[-1].partition("?code=")
        with closing(httpx.Client(trust_env=False)) as browser:
            assert [browser.post(page, data={"code": code, "ends": ""}).status_code for _ in range(2)] == [200, 403]


def test_what_is_typed_in_another_terminal_is_shown_above_its_answer(tmp_path: Path) -> None:
    with serving(tmp_path), closing(Terminal(tmp_path, "chat")) as one, closing(Terminal(tmp_path, "chat")) as other:
        for terminal in (one, other):
            terminal.shows(START)
        one.type("remember that my hat is red\r")
        other.shows(r"\w+: remember that my hat is red\n+.*I'll remember: your hat is red")
        assert one.shows("I'll remember: your hat is red").count("remember that my hat is red") == 1
        carina(tmp_path, "chat", "--once", "what color is my hat?")
        for terminal in (one, other):
            terminal.shows(r"\w+: what color is my hat\?\n")
            left(terminal)


def test_a_chat_outlives_the_service_and_sends_what_was_typed_meanwhile_once(tmp_path: Path) -> None:
    with serving(tmp_path) as service, closing(Terminal(tmp_path, "chat")) as terminal:
        terminal.shows(START)
        service.terminate()
        service.wait()
        terminal.shows("The service has stopped. What you type will be sent when it is back.")
        terminal.type("remember that my hat is red\r" + "typed meanwhile")
        with serving(tmp_path):
            terminal.shows("(?s)The service is back.*I'll remember: your hat is red.*\n> typed meanwhile")
            left(terminal)
            assert said(tmp_path) == ["remember that my hat is red"]
            assert str(tmp_path / "data") in (tmp_path / "service.log").read_text("utf-8"), "it says where its data is"


async def test_an_answer_that_was_cut_off_with_the_service_is_marked_and_comes_again_whole(tmp_path: Path) -> None:
    async with ModelServer.start() as model:
        more = {**model.environment(), "CARINA_MODEL": "openai:gpt-5-mini"}
        model.script(Hang(3), Answer("one two three four"))
        with ExitStack() as stack:
            service = stack.enter_context(serving(tmp_path, **more))
            terminal = stack.enter_context(closing(Terminal(tmp_path, "chat", **more)))
            await asyncio.to_thread(terminal.shows, START)
            terminal.type("count\r")
            await asyncio.to_thread(terminal.shows, r"\none ?(two|\n)")
            service.kill()
            await asyncio.to_thread(terminal.shows, r"\(cut off; the full answer will follow\)")
            stack.enter_context(serving(tmp_path, **more))
            await asyncio.to_thread(terminal.shows, "The service is back(?s:.)*one two three four")


def test_a_chat_that_is_left_while_the_service_is_gone_shows_what_was_not_sent(tmp_path: Path) -> None:
    with serving(tmp_path) as service, closing(Terminal(tmp_path, "chat")) as terminal:
        terminal.shows(START)
        service.terminate()
        terminal.shows("The service has stopped")
        terminal.type("my hat is red\r" + CTRL_D, "Not sent: my hat is red")
        assert terminal.ended() == 0
