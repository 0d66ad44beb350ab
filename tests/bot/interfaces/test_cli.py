"""The command line: exit codes, what stands on which stream, a chat on a real terminal, `init`, `why` and `demo`."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

import carina as carina_program
from bot.interfaces.cli import main
from bot.interfaces.cli.chat.connection import new_id
from bot.interfaces.cli.serve import show_demo
from bot.interfaces.cli.wizard.init import Starter, starter_text
from bot.services.caller import owner_at_terminal
from bot.services.results import Plain
from bot.services.status import Doctor
from memory.store.clock import utc_now
from memory.store.ids import snowflakes
from sources.terminal import ONCE
from tests.bot.terminals import Begin, Terminal, carina, environment
from tests.personal_copies import data_in
from tests.processes import ROOT, START_SECONDS, Done
from texts import speaking

# ----------------------------------------------------------------------------------------------------- exit codes

EVERY = ("run", "chat --once hi", "status", "db status", "db migrate", "db vacuum", "inbox list", "inbox show 1")


@pytest.mark.parametrize("command", EVERY)
def test_a_data_folder_that_is_a_file_is_a_wrong_setting_for_every_command(tmp_path: Path, command: str) -> None:
    (tmp_path / "notes").write_text("not a folder", "utf-8")
    carina(tmp_path, *command.split(), CARINA_HOME="notes").refused(
        f"CARINA_HOME: found {tmp_path / 'notes'}; expected a folder", code=2
    )


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="a folder in which not even the superuser may make another")
@pytest.mark.parametrize("command", ["run", "chat --once hi"])
def test_a_data_folder_that_cannot_be_made_is_one_as_well(tmp_path: Path, command: str) -> None:
    carina(tmp_path, *command.split(), CARINA_HOME="/proc/carina").refused("CARINA_HOME", code=2)


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        (["invite-url", "abc"], 2, "“abc” is not an application ID, which has digits only. Copy it from"),
        (["invite-url", "１２３"], 2, "is not an application ID"),
        (
            ["invite-url"],
            2,
            "APPLICATION_ID is missing.\nAPPLICATION_ID: Application ID, from Discord's developer portal.\nFor ",
        ),
        (["group", "show"], 2, "GROUP is missing.\nGROUP: Name of the group.\nFor example: carina group show Main"),
        (
            ["remind", "me"],
            2,
            "TEXT is missing.\nTEXT: What to remind you of, and optionally when.\nFor example: carina",
        ),
        (["invite-url", "123456789012345678"], 0, ""),
        (["chat", "--once", " "], 2, "--once: give a message to send"),
        (["chat", "--once", "/nonsense"], 2, "--once: There is no /nonsense in this chat"),
        (["chat", "--once", "/quit"], 2, "--once: that would only end the chat"),
        (["inbox", "list", "--limit", "0"], 2, "--limit: “0” is too small. The minimum is 1."),
        (["export", "agent", "Star", "file"], 2, "This command does not take “file” here. Use --output FILE."),
        (["memory", "edit", "human", "Likes tea."], 2, "does not take “Likes tea.” here. Use --text TEXT."),
        (["quiet", "Europe/Vienna"], 2, "This command does not take “Europe/Vienna”."),
        (["budget", "set", "constellation", "--usd", "abc"], 2, "--usd: “abc” is not a number that"),
        (["language", "xx"], 2, "Error: “xx” is not available. Choose from: en"),
        (["privacy", "erase", "discord:1"], 1, "There is no data folder"),
        (["inbox"], 2, "Usage: carina inbox"),
        (["db", "status"], 0, ""),
        (["db", "migrate"], 0, ""),
        (["status"], 0, ""),
        (["no-such-command"], 2, "There is no command"),
        (["statsu"], 2, "There is no command “statsu”. Did you mean status?"),
        (["tasks", "lits"], 2, "Did you mean list?"),
        (["--json", "status"], 2, "--json goes after the command, as in `carina status --json`."),
    ],
)
def test_an_exit_code_says_who_has_to_act(tmp_path: Path, command: list[str], code: int, words: str) -> None:
    done = carina(tmp_path, *command)
    assert done.returncode == code
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_the_name_of_a_group_that_lists_shows_its_list(tmp_path: Path, begin: Begin) -> None:
    begin(tmp_path)
    for group in ("remind", "tasks", "events", "facts"):
        shown, listed = carina(tmp_path, group), carina(tmp_path, group, "list")
        assert (shown.returncode, shown.stdout) == (0, listed.stdout)
        assert " no " in shown.stdout


@pytest.mark.parametrize("fault", ["nonsense", "a.b:before:x"])
def test_a_wrong_fault_point_is_a_wrong_setting(tmp_path: Path, fault: str) -> None:
    carina(tmp_path, "db", "status", CARINA_FAULT=fault).refused("CARINA_FAULT", code=2)


def test_the_version_is_that_of_the_package(tmp_path: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for words in (["--version"], ["--version", "status"]):
        done = carina(tmp_path, *words, CARINA_HOME="/dev/null/x")  # asks for no configuration
        assert (done.returncode, done.stdout, done.stderr) == (0, f"carina {project['version']}\n", "")


# ---------------------------------------------------------------------------------------------------- a JSON log


def test_with_a_json_log_a_wrong_setting_is_an_event_and_stopped_the_last_one(tmp_path: Path) -> None:
    done = carina(tmp_path, "run", "--log-json", CARINA_MODEL="gpt")
    events = [json.loads(line) for line in done.stderr.splitlines()]
    assert done.returncode == 2
    assert [event["event"] for event in events] == ["startup_failed", "stopped"]
    assert "CARINA_MODEL" in events[0]["reason"]
    assert [event["exit_code"] for event in events] == [2, 2]


_BROKEN = """
import sys, warnings
from bot.interfaces.cli import long_running_commands as commands
from bot.interfaces.cli import serve as serving
async def serve(config):
    warnings.warn("an odd thing")
    async def fail():
        raise ZeroDivisionError("nobody expected this")
    import asyncio
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(fail())
serving.serve = serve
sys.exit(commands.main(sys.argv[1:]))
"""


def test_with_a_json_log_even_what_nobody_expected_is_an_event(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _BROKEN, "run", "--log-json"],
        env=environment(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=START_SECONDS,
        check=False,
    )
    events = [json.loads(line) for line in done.stderr.splitlines()]
    assert done.returncode == 1
    assert [event["event"] for event in events][-2:] == ["service_crashed", "stopped"]
    assert "an odd thing" in events[0]["event"]
    assert "ZeroDivisionError: nobody expected this" in events[-2]["exception"]


# ------------------------------------------------------------------------------------------------------- status


def test_status_says_what_is_not_configured_and_that_nothing_runs(tmp_path: Path) -> None:
    done = carina(tmp_path, "status")
    assert done.stdout.splitlines() == [
        "Carina is not running. `carina run` starts it.",
        "Language model: not configured (set CARINA_MODEL)",
        "Discord: not configured (set DISCORD_TOKEN)",
        "Bluesky: not configured (set BLUESKY_HANDLE and BLUESKY_APP_PASSWORD)",
        "Reading the web: not configured (set [web] fetch)",
        "Searching the web: not configured (set [web] search)",
        "Search by meaning: turned off; search uses words only",
        "Agent “Carina”: answers without a language model",
    ]
    found = carina(tmp_path, "status", "--json").data()
    assert found["running"] is False
    assert found["not_configured"] == {
        "language model": "CARINA_MODEL",
        "discord": "DISCORD_TOKEN",
        "bluesky": "BLUESKY_HANDLE and BLUESKY_APP_PASSWORD",
        "reading the web": "[web] fetch",
        "searching the web": "[web] search",
    }
    assert not (tmp_path / "data").exists()


def test_status_names_what_is_configured_without_a_secret(tmp_path: Path) -> None:
    secrets = {"OPENAI_API_KEY": "sk-canary-7f3b9c2e5d81", "DISCORD_TOKEN": "canary-1c7b64d0e2aa"}
    done = carina(tmp_path, "status", CARINA_MODEL="openai:gpt-5-mini", **secrets)
    assert done.stdout.splitlines()[1:] == [
        "Discord: configured",
        "Owner on Discord: not configured (set DISCORD_OWNER_ID)",
        "Bluesky: not configured (set BLUESKY_HANDLE and BLUESKY_APP_PASSWORD)",
        "Reading the web: not configured (set [web] fetch)",
        "Searching the web: not configured (set [web] search)",
        "Model openai:gpt-5-mini: configured",
        "Search by meaning: turned off; search uses words only",
        "Agent “Carina”: answers with openai:gpt-5-mini",
    ]
    assert "canary" not in done.stdout + done.stderr


def test_ctrl_c_before_it_has_begun_ends_it_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def loading(_arguments: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "run", loading)
    with pytest.raises(SystemExit) as ended:
        carina_program.main()
    assert ended.value.code == 1


def test_without_a_service_status_and_doctor_speak_the_chosen_language(tmp_path: Path) -> None:
    assert carina(tmp_path, "chat", said="hello\n").returncode == 0
    assert carina(tmp_path, "status").stdout.startswith("Carina is not running.")
    assert carina(tmp_path, "language", "de").returncode == 0
    assert carina(tmp_path, "status").stdout.startswith("Carina läuft nicht.")
    assert "Datenordner" in carina(tmp_path, "doctor").stdout
    assert carina(tmp_path, "constellation", "create", "other").returncode == 0
    elsewhere = carina(tmp_path, "status", "--constellation", "other").stdout
    assert elsewhere.startswith("Carina läuft nicht."), "it is chosen for an account, not for a constellation"
    for command in (
        "--constellation nowhere status",
        "--constellation=nowhere agent list",
        "remind --constellation nowhere list",
        "memory --constellation nowhere list",
        "--constellation=default memory --constellation=nowhere list",
        "remind list --constellation nowhere",
    ):
        refused = carina(tmp_path, *command.split())
        assert "Es gibt keine Konstellation „nowhere“" in refused.stderr


# ------------------------------------------------------------------------------------------------ a chat, piped


def test_a_piped_chat_is_plain_text_without_a_sign(tmp_path: Path) -> None:
    done = carina(tmp_path, "chat", said="help\n")
    assert done.returncode == 0
    assert "- **Remember**: “remember that" in done.stdout
    assert "\x1b" not in done.stdout
    assert not done.stdout.startswith(">")
    assert done.stderr == ""


def test_a_piped_chat_fails_after_its_last_line_if_one_was_refused(tmp_path: Path) -> None:
    done = carina(tmp_path, "chat", said="/nonsense\nhello\n/quit\nnever read\n")
    assert (done.returncode, done.stderr) == (1, "carina: Some lines were not accepted. The reasons are above.\n")
    assert re.search("no /nonsense in this chat.*Hello! Good", done.stdout, re.DOTALL)


# ------------------------------------------------------------------------------- standard streams that are not there


def shell(folder: Path, line: str, **more: str) -> Done:
    """Run a line of the shell in which `$carina` is the program."""
    own = environment(folder, carina=f"{sys.executable} -m bot", **more)
    nothing = subprocess.DEVNULL
    done = subprocess.run(
        ["/bin/sh", "-c", line], env=own, cwd=folder, stdin=nothing, capture_output=True, text=True,
        timeout=START_SECONDS, check=False,
    )  # fmt: skip
    return Done(line, done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_who_has_read_enough_of_a_chat_ends_it_without_an_outcry(tmp_path: Path, unbuffered: str) -> None:
    done = shell(tmp_path, "{ $carina chat --once hello; echo $? >code; } | true", PYTHONUNBUFFERED=unbuffered)
    assert ((tmp_path / "code").read_text(), done.stderr) == ("1\n", "")


def test_without_standard_input_a_chat_ends_at_once_and_nobody_is_asked(tmp_path: Path) -> None:
    done = shell(tmp_path, "$carina chat <&-")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    shell(tmp_path, "$carina privacy erase <&-").refused(
        "You cannot answer here, because this is not a terminal. Add --yes to confirm.", code=2
    )
    told = json.loads(shell(tmp_path, "$carina privacy erase --json <&-").stderr)
    assert (told["status"], told["title"]) == (409, "Confirmation needed")
    shell(tmp_path, "$carina privacy erase discord:1 <&-").refused("Nothing has ever been kept about discord:1.")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a file that takes nothing")
@pytest.mark.parametrize("command", ["status", "status --json", "invite-url 123"])
def test_output_that_cannot_be_written_is_said(tmp_path: Path, command: str) -> None:
    done = shell(tmp_path, f"$carina {command} >/dev/full")
    assert done.returncode == 1
    told = json.loads(done.stderr)["detail"] if "--json" in command else done.stderr.strip().removeprefix("carina: ")
    assert told == "Writing to standard output failed: No space left on device."


def test_what_the_output_cannot_spell_ends_nothing_and_data_stays_whole(tmp_path: Path) -> None:
    (tmp_path / "carina.toml").write_text('[mcp.gone]\ncommand = "no-such-program"\n', "utf-8")
    said = "remember that my café is on Elm Street"
    done = carina(tmp_path, "chat", "--once", said, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stdout) == (0, "I'll remember: your caf? is on Elm Street.\n")
    assert "MCP server “gone”: there is no program “no-such-program”" in done.stderr
    listed = carina(tmp_path, "inbox", "list", "--json").data()
    shown = carina(tmp_path, "inbox", "show", str(listed[0]["id"]), "--json", PYTHONIOENCODING="ascii").stdout
    assert shown.isascii()
    assert json.loads(shown)["text"] == said


# -------------------------------------------------------------------------------------------- on a real terminal


def test_a_list_at_a_terminal_has_the_numbers_to_type(tmp_path: Path) -> None:
    carina(tmp_path, "chat", "--once", "hello")
    (row,) = carina(tmp_path, "inbox", "list", "--json").data()
    with closing(Terminal(tmp_path, "inbox", "list", COLUMNS="120")) as terminal:
        assert terminal.ended() == 0
        (line,) = terminal.text.splitlines()
    number = str(row["id"])[-6:]
    assert line.endswith(f" #{number}")
    assert carina(tmp_path, "inbox", "show", number, "--json").data()["id"] == row["id"]
    assert re.search(r"\((just now|.* ago)\)", line)


def test_an_export_of_what_is_kept_is_a_file_for_a_person_and_json_for_a_program(tmp_path: Path) -> None:
    carina(tmp_path, "chat", "--once", "I keep bees")
    with closing(Terminal(tmp_path, "privacy", "export", COLUMNS="250")) as terminal:
        assert terminal.ended() == 0
        assert terminal.text.startswith(f"Written to {tmp_path / 'carina-privacy.zip'}, which only you can read:")
        assert "bees" not in terminal.text
    file, named = tmp_path / "carina-privacy.zip", tmp_path / "named.zip"
    assert (file.stat().st_mode & 0o777, "bees" in data_in(file.read_bytes())) == (0o600, True)
    assert carina(tmp_path, "privacy", "export", "-o", str(named), "--json").data() == {"file": str(named)}
    found = [json.loads(data_in(each.read_bytes()))["constellations"] for each in (named, file)]
    assert found[0] == found[1]
    assert "bees" in carina(tmp_path, "privacy", "export").stdout
    carina(tmp_path, "privacy", "export", "-o", str(named)).refused("already exists, so nothing was written", code=1)


def test_a_single_answer_on_a_terminal_is_drawn_and_without_colour_where_that_is_wanted(tmp_path: Path) -> None:
    with closing(Terminal(tmp_path, "chat", "--once", "help", NO_COLOR="1")) as terminal:
        answer = terminal.until(r"The same works in German and Japanese\.")
        assert terminal.ended() == 0
    assert "**" not in answer
    assert not re.search(r"\x1b\[3\d", answer)
    assert "> " not in answer


AGENTS = ["Anchor", "Archive", "Entropy", "Flux", "Momentum", "Pattern"]


@pytest.mark.parametrize(("starter", "agents"), [("plain", ["Carina"]), ("adhd", AGENTS)])
def test_a_starter_is_written_once_loads_and_answers(tmp_path: Path, starter: Starter, agents: list[str]) -> None:
    assert f"(starter: {starter})" in carina(tmp_path, "init", "--starter", starter).said()
    assert (tmp_path / "carina.toml").read_text("utf-8") == starter_text(starter)
    assert (
        "your dentist is on Elm Street"
        in carina(tmp_path, "chat", "--once", "remember that my dentist is on Elm Street").stdout
    )
    found = carina(tmp_path, "agent", "list", "--json").data()
    assert [row["agent"] for row in found] == agents
    carina(tmp_path, "init", "--starter", "plain").refused("was not changed")
    assert (tmp_path / "carina.toml").read_text("utf-8") == starter_text(starter)


def test_commands_of_the_same_millisecond_say_two_things(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snowflakes, "next", lambda: 7)  # as two processes may
    assert len({new_id(ONCE) for _ in range(2)}) == 2


def test_commands_at_the_same_time_each_print_their_own_answer(tmp_path: Path, begin: Begin) -> None:
    begin(tmp_path)
    with ThreadPoolExecutor(4) as threads:
        kept = threads.map(
            lambda number: carina(tmp_path, "chat", "--once", f"remember that my key {number} is V{number}"), range(4)
        )
    for number, done in enumerate(kept):
        assert (done.returncode, done.stderr) == (0, "")
        assert f"V{number}" in done.stdout
        assert done.stdout.count("I'll remember") == 1
    after = carina(tmp_path, "chat", "--once", "what is my key 3?")
    assert "V3" in after.stdout
    assert "I'll remember" not in after.stdout


def test_a_reminder_is_promised_for_as_long_as_something_runs(tmp_path: Path) -> None:
    done = carina(tmp_path, "chat", "--once", "remind me in 2 minutes to drink water")
    assert "drink water" in done.stdout
    assert done.stderr == "Carina is not running. `carina run` starts it; reminders arrive only while it runs.\n"
    assert carina(tmp_path, "chat", "--once", "hello").stderr == ""


def test_a_reminder_whose_time_comes_first_is_set_for_it(tmp_path: Path) -> None:
    assert carina(tmp_path, "chat", "--once", "hello").returncode == 0
    assert carina(tmp_path, "remind", "me", "tomorrow at 9", "call Bob").returncode == 0
    assert carina(tmp_path, "remind", "me", "pay Bob", "every Monday at 9").returncode == 0
    assert {each["text"] for each in carina(tmp_path, "remind", "list", "--json").data()} == {"call Bob", "pay Bob"}


def test_it_says_what_the_last_answer_was_made_from(tmp_path: Path) -> None:
    assert carina(tmp_path, "chat", "--once", "remember that my dentist is on Elm Street").returncode == 0
    assert "Elm Street" in carina(tmp_path, "chat", "--once", "where is my dentist?").stdout
    assert "my dentist is on Elm Street" in carina(tmp_path, "why").said()
    found = carina(tmp_path, "why", "--json").data()
    assert any("Elm Street" in memory["text"] for memory in found["memories"] if memory["kind"] == "entry")
    assert {memory["label"] for memory in found["memories"] if memory["kind"] == "block"} >= {"persona"}


async def test_a_demo_that_is_hung_up_on_while_it_begins_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as name:  # short enough for a socket
        monkeypatch.setattr(tempfile, "tempdir", name)
        demo = asyncio.create_task(show_demo())
        while not list(Path(name).iterdir()):
            await asyncio.sleep(0.001)
        os.kill(os.getpid(), signal.SIGHUP)
        await demo
        assert list(Path(name).iterdir()) == []


async def test_the_doctor_looks_where_the_configuration_is_and_speaks_as_who_asks(tmp_path: Path) -> None:
    with speaking("de"):
        found = await Doctor(tmp_path).examine(owner_at_terminal())
    [folder] = [each for each in found.rows if each.about == "data folder"]
    with speaking("de"):
        assert "Datenordner" in folder.line(Plain("UTC", utc_now()))
    assert str(tmp_path / "data") in folder.words
