"""`carina init` as a wizard: answers are tried as they are given, and nothing is half-written."""

import asyncio
import os
import stat
import sys
from contextlib import closing
from pathlib import Path

import pytest

from bot.config import load_config
from bot.config.agent_files import read_agent, read_exchange
from bot.errors import UserError
from bot.interfaces.cli.wizard import setup_questions
from bot.interfaces.cli.wizard.init import WriteFile, dotenv_text, starter_text, write_both
from bot.interfaces.cli.wizard.setup_questions import Wizard, invitation, models_of
from sources.findings import Finding, State
from tests.bot.terminals import Terminal, carina

CTRL_C = "\x03"
QUESTIONS = (
    "Name of the constellation",
    "What the agents call you",
    "Language model",
    "Discord bot token",
    "Bluesky",
    "Search by meaning",
    "Dashboard in your browser",
)


def entered(terminal: Terminal, *questions: str) -> None:
    """Press Enter at each of these questions."""
    for question in questions:
        terminal.shows(f"{question}[^\n]*:")
        terminal.type("\r")


def test_every_answer_is_a_flag_and_what_is_written_can_be_used(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("# mine\nOTHER=1\nDISCORD_OWNER_ID=1\n", "utf-8")
    flags = {
        "name": "garden", "owner": "Ann", "model": "openai:small", "base-url": "http://127.0.0.1:9/v1",
        "discord-token": "abc.def", "discord-owner": "42", "embedder": "none", "web": "off",
    }  # fmt: skip
    done = carina(tmp_path, "init", *(word for name, value in flags.items() for word in (f"--{name}", value)))
    assert (done.returncode, done.stderr) == (0, "")
    assert "`carina run` starts Carina" in done.stdout
    assert "CARINA_MODEL" not in done.stdout
    assert stat.S_IMODE((tmp_path / ".env").stat().st_mode) == 0o600
    assert (tmp_path / ".env").read_text("utf-8").startswith("# mine\nOTHER=1\nOPENAI_BASE_URL=")
    assert "# " in (tmp_path / "carina.toml").read_text("utf-8")
    config = load_config({}, tmp_path)
    assert (config.constellation.name, config.constellation.owner, config.model.default) == (
        "garden", "Ann", "openai:small",
    )  # fmt: skip
    assert (config.discord_owner, config.embedding_model, config.web.server.listen) == ("42", "none", "")
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".new")]


@pytest.mark.parametrize(
    ("flag", "value", "words"),
    [("--model", "gpt", 'expected "offline" or "provider:model"'), ("--discord-token", "a b", "without spaces"),
     ("--model", "openai:small", "OPENAI_API_KEY: not set"), ("--discord-owner", "me", "a Discord ID")],
)  # fmt: skip
def test_an_answer_that_cannot_be_used_writes_nothing(tmp_path: Path, flag: str, value: str, words: str) -> None:
    carina(tmp_path, "init", flag, value).refused(words)
    assert list(tmp_path.iterdir()) == []


def test_files_are_new_both_or_neither(tmp_path: Path) -> None:
    (tmp_path / ".env").mkdir()
    with pytest.raises(UserError, match="could not be written"):
        write_both(tmp_path / "carina.toml", "", tmp_path / ".env", {"A": "1"})
    assert [path.name for path in tmp_path.iterdir()] == [".env"]
    assert dotenv_text("A=0\nexport A=3\nB=2\n", {"A": "1"}) == "B=2\nA=1\n"
    with pytest.raises(UserError, match="enter only the value"):
        dotenv_text("", {"A": "1\nDISCORD_TOKEN=2"})


def test_without_answers_the_starter_is_as_it_is() -> None:
    assert WriteFile().toml(starter_text("plain")) == starter_text("plain")
    assert WriteFile().environment() == {}


def test_an_answer_is_tried_with_what_is_set_already(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("BLUESKY_SERVICE=https://pds.example.org\n", "utf-8")
    config = Wizard({}, load_config({}, tmp_path))._config(
        {"bluesky_handle": "me.example.org", "bluesky_password": "secret"}
    )
    assert config is not None
    assert (config.bluesky_service, config.bluesky_handle) == ("https://pds.example.org", "me.example.org")


async def asked(given: dict[str, str], *answers: str) -> list[str]:
    """What the wizard asks, given these answers; an empty one keeps the default."""
    questions, left = list[str](), [*answers]

    async def read(_wizard: Wizard, question: str, default: str = "", *_choices: object, **_named: object) -> str:
        questions.append(f"{question} [{default}]" if default else question)
        if not left:
            raise EOFError
        return left.pop(0) or default

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Wizard, "_read", read)
        with pytest.raises(EOFError):
            await Wizard({"name": "home", "owner": "Ann", **given}, load_config({}, Path.cwd())).run()
    return questions


async def test_a_wrong_token_or_id_is_asked_for_again_and_the_token_before_the_id_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    questions = await asked({"model": "offline"}, "y", "MTA", "ann")
    assert [each.split(" (")[0] for each in questions] == 2 * ["Discord bot token"] + 2 * ["Your Discord user ID"]
    said = capsys.readouterr().out
    assert "not a bot token" in said
    assert '"ann" cannot be used; expected a Discord ID, which has only digits' in said


async def test_a_handle_is_checked_before_its_password_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    questions = await asked({"model": "offline"}, "", "notahandle", "me.example.org")
    assert questions[1:] == 2 * ["Bluesky handle (Enter: no Bluesky)"] + ["App password"]
    assert 'BLUESKY_HANDLE (.env): "notahandle" cannot be used' in capsys.readouterr().out


async def test_a_model_has_an_example_a_key_is_needed_and_one_that_was_typed_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def found(url: str, *_more: str) -> list[str]:
        del url
        return []

    async def unreachable(*_given: object) -> list[Finding]:
        return [Finding("model", State.PROBLEM, "unreachable")]

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(setup_questions, "models_of", found)
    monkeypatch.setattr(setup_questions, "examine_models", unreachable)
    questions = await asked({}, "openai", "", "openai", "key", "gpt-nope", "n", "", "", "", "y")
    out = capsys.readouterr().out
    assert "openai needs a key" in out
    assert out.index("Waiting for openai:gpt-nope to answer…") < out.index("unreachable")
    assert questions[1:4] == ["Key for openai", questions[0].replace("[offline]", "[openai]"), "Key for openai"]
    assert questions[4] == "Model [gpt-5-mini]"
    assert questions[7:9] == ["Key for openai (Enter: the one given)", "Model [gpt-5-mini]"]
    assert questions[-1].startswith("Discord bot token")


def test_the_first_file_changes_nothing_that_a_start_without_one_has_made() -> None:
    (agent,) = read_exchange(starter_text("plain"), "carina.toml").agents
    assert agent == read_agent({"name": "Carina"})


def test_the_invitation_is_a_link_and_a_picture() -> None:
    said = invitation(1234)
    assert "https://discord.com/oauth2/authorize?client_id=1234&" in said
    assert len([line for line in said.splitlines() if "█" in line or "▀" in line]) > 10


async def test_the_models_of_a_server_are_listed_and_none_where_nobody_answers() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert b"Bearer key" in await reader.readuntil(b"\r\n\r\n")
        body = b'{"data": [{"id": "b"}, {"id": "a"}]}'
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        )
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        assert await models_of(f"http://127.0.0.1:{port}/v1", "openai", "key") == ["a", "b"]
    assert await models_of(f"http://127.0.0.1:{port}/v1") == []


def test_enter_keeps_the_defaults_and_the_end_is_an_examination(tmp_path: Path) -> None:
    with closing(Terminal(tmp_path, "init", LINES="60")) as terminal:
        entered(terminal, *QUESTIONS)
        terminal.shows("0 problems|to look at")
        assert terminal.ended() == 0
        assert "Traceback" not in terminal.everything
        assert "systemd is not running for your account" in terminal.everything  # so nobody is asked about it
    assert load_config({}, tmp_path).constellation.name == "home"


@pytest.mark.skipif(sys.platform != "linux", reason="with systemd")
def test_with_a_yes_it_starts_with_the_system(tmp_path: Path) -> None:
    home, tools = tmp_path / "home", tmp_path / "tools"
    folder = tmp_path / "folder"
    for each in (home, tools, folder, home / "systemd"):
        each.mkdir()
    control = tools / "systemctl"
    control.write_text('#!/bin/sh\necho "$@" >> "$HOME/asked"\n', "utf-8")
    control.chmod(0o700)
    own = {"HOME": str(home), "XDG_RUNTIME_DIR": str(home), "PATH": f"{tools}:{os.environ['PATH']}"}
    with closing(Terminal(folder, "init", LINES="60", **own)) as terminal:
        entered(terminal, *QUESTIONS)
        terminal.shows("Start Carina automatically[^\n]*:")
        terminal.type("y\r", "Write this file and start the service\\?")
        terminal.type("y\r", "0 problems|to look at")
        assert terminal.ended() == 0
    unit = home / ".config" / "systemd" / "user" / "carina.service"
    assert f"WorkingDirectory={folder}" in unit.read_text("utf-8")
    assert (home / "asked").read_text("utf-8") == "--user daemon-reload\n--user enable --now carina\n"


def test_a_model_is_named_with_its_provider_and_an_unknown_one_is_asked_for_again(tmp_path: Path) -> None:
    with closing(Terminal(tmp_path, "init", LINES="60", COLUMNS="200")) as terminal:
        entered(terminal, *QUESTIONS[:2])
        terminal.shows(f"{QUESTIONS[2]}[^\n]*:")
        terminal.type("blah\r", "“blah” is not available")
        terminal.type("openai:small\r", "Key for openai:")
        terminal.type(CTRL_C)
        assert terminal.ended() == 1
    assert list(tmp_path.iterdir()) == []


def test_a_second_time_only_what_env_has_is_asked_and_enter_keeps_it(tmp_path: Path) -> None:
    (tmp_path / "carina.toml").write_text("# mine\n", "utf-8")
    (tmp_path / ".env").write_text("CARINA_MODEL=groq:small\nGROQ_API_KEY=k\n", "utf-8")
    with closing(Terminal(tmp_path, "init", COLUMNS="200")) as terminal:
        terminal.shows("carina.toml stays as it is")
        entered(terminal, r"Language model \[groq:small\]", "Discord bot token", "Bluesky handle")
        assert terminal.ended() == 0
    assert "Nothing was changed." in terminal.everything
    assert QUESTIONS[0] not in terminal.everything


def test_the_model_that_is_chosen_replaces_the_one_in_env_which_takes_precedence(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("CARINA_MODEL=openai:small\nOPENAI_API_KEY=k\n", "utf-8")
    carina(tmp_path, "init", "--model", "groq:small", "--api-key", "g").said()
    expected = "OPENAI_API_KEY=k\nGROQ_API_KEY=g\nCARINA_MODEL=groq:small\n"
    assert (tmp_path / ".env").read_text("utf-8") == expected


def test_a_second_time_flags_add_to_env_and_leave_the_file(tmp_path: Path) -> None:
    (tmp_path / "carina.toml").write_text("# mine\n", "utf-8")
    (tmp_path / ".env").write_text("GROQ_API_KEY=k\n", "utf-8")
    assert f"Wrote {tmp_path / '.env'}. Next" in carina(tmp_path, "init", "--model", "groq:small").said()
    assert (tmp_path / ".env").read_text("utf-8") == "GROQ_API_KEY=k\nCARINA_MODEL=groq:small\n"
    assert "Edit it by hand. To set up a language model" in carina(tmp_path, "init", "--name", "other").stderr
    assert (tmp_path / "carina.toml").read_text("utf-8") == "# mine\n"


@pytest.mark.parametrize("after", range(len(QUESTIONS)))
def test_broken_off_at_any_question_it_writes_nothing(tmp_path: Path, after: int) -> None:
    with closing(Terminal(tmp_path, "init")) as terminal:
        entered(terminal, *QUESTIONS[:after])
        terminal.shows(f"{QUESTIONS[after]}[^\n]*:")
        terminal.type(CTRL_C)
        assert terminal.ended() == 1
        assert "Nothing was written" in terminal.screen
    assert list(tmp_path.iterdir()) == []
