"""What a line typed in a chat means: a command of the chat, something to say, or a command that is none."""

from pathlib import Path

import pytest
from click import BadParameter

from bot.config import load_config
from bot.errors import CallError
from bot.interfaces.cli.chat.chat import Clear, Help, Quit, Refused, Say, own_help, understood
from bot.interfaces.cli.chat.chat_commands import CommandLine, split
from bot.interfaces.cli.commands import Commands, manifest
from bot.interfaces.cli.connection import Line
from bot.interfaces.control import replies_of


@pytest.mark.parametrize("line", ["/quit", "/exit", "/QUIT", "/quit  "])
def test_quit_and_exit_end_the_chat(line: str) -> None:
    assert isinstance(understood(line), Quit)


@pytest.mark.parametrize("line", ["clear", " Clear ", "cls"])
def test_a_person_clears_the_screen_as_in_a_shell(line: str) -> None:
    assert isinstance(understood(line, ["tasks"]), Clear)
    assert understood(line) == Say(line), "in a pipe there is no screen"


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("memory", "Usage: /memory [OPTIONS] COMMAND"),
        ("memory nothing", "Usage: /memory [OPTIONS] COMMAND"),
        ("tasks done", "Usage: /tasks done [OPTIONS] TASK"),
    ],
)
async def test_how_a_command_is_used_is_shown_once_and_with_its_slash(tmp_path: Path, typed: str, shown: str) -> None:
    async def nobody(_asked: str) -> str:
        raise AssertionError

    line = Line(load_config({}, tmp_path), lambda asked: replies_of(nobody(asked)), "", own=True)
    try:
        said = await CommandLine(line, nobody).run(typed)
    except CallError as error:
        said = str(error)
    assert said.count("Usage:") == said.count(shown) == 1


def test_a_path_in_the_chat_may_begin_with_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    called: list[tuple[object, ...]] = []
    commands = Commands(manifest(), lambda *given: called.append(given))
    commands.main(split("folder create notes --path ~/notes"), "", standalone_mode=False)
    assert "/home/somebody/notes" in str(called)
    with pytest.raises(BadParameter, match="~nobody-here"):
        commands.main(split("folder create notes --path ~nobody-here/notes"), "", standalone_mode=False)


def test_help_is_known_and_names_every_command() -> None:
    assert isinstance(understood("/help"), Help)
    for word in ("/help", "/why", "/approve", "/deny", "/quit", "/exit"):
        assert word in own_help()


@pytest.mark.parametrize(
    ("line", "passed"),
    [
        ("/why", "/why"),
        ("/Why ", "/why"),
        ("/why\nnot", "/why\nnot"),
        ("/approve 12 hour", "/approve 12 hour"),
        ("/APPROVE 12", "/approve 12"),
        ("/approve", "/approve"),
        ("/deny 12", "/deny 12"),
    ],
)
def test_what_the_service_understands_is_passed_on_as_it_spells_it(line: str, passed: str) -> None:
    assert understood(line) == Say(passed)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("/home", "There is no /home in this chat. /help lists the commands"),
        ("/home is full", "put a space before it"),
        ("/qiut", "Did you mean /quit? /help"),
        ("/aprove 12", "Did you mean /approve?"),
        ("/привет", "There is no /привет"),
        ("/quit now", "/quit takes no arguments"),
    ],
)
def test_a_command_that_is_none_is_not_said_and_the_way_to_say_it_is_told(line: str, words: str) -> None:
    found = understood(line)
    assert isinstance(found, Refused)
    assert words in found.words
