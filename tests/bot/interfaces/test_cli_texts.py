"""What commands say of what they did: a sentence for a person, one object for machines."""

import asyncio
import json
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import pytest

from bot.config import load_config
from bot.interfaces.cli import streams
from bot.runtime.group_routing import GroupRouting
from bot.services.status_texts import finding_text
from memory.people.audience import OWNER
from memory.queue import inbox
from memory.queue.notifications import Place
from memory.store.clock import utc_now
from memory.store.constellations import Constellations
from memory.store.database import Tx
from memory.store.faults import commit_point
from memory.store.ids import AgentId, RequestId, code
from scheduler.times_in_words import time_words
from sources.findings import Finding, State
from sources.terminal import PERSON, PLACE
from sources.text import cells
from tests.bot.command_line import Here
from tests.bot.requests import asked
from tests.bot.seeding import seeded
from tests.memory.parts import notification
from texts import _, speaking

T = TypeVar("T")
SETUP = commit_point("test_cli_words.setup")
DECIDED = r"by ada, \w{3}, \w{3} \d+, \d{4}, \d+:\d\d [AP]M \(just now\)\."


@pytest.fixture
def here(here: Here, dead: None) -> Here:
    return here


@pytest.fixture
def waiting(tmp_path: Path) -> tuple[RequestId, RequestId, RequestId]:
    """Three requests that ask the owner, in a folder that nobody uses."""

    def work(tx: Tx, answering: GroupRouting) -> tuple[RequestId, RequestId, RequestId]:
        agent = AgentId(tx.all("SELECT id FROM agents")[0]["id"])
        first, second, third = (asked(tx, agent, answering.default, number) for number in range(3))
        return first, second, third

    return asyncio.run(_in_constellation(tmp_path, work))


@pytest.fixture
def dead(tmp_path: Path) -> None:
    """A row of the inbox that was given up."""

    def work(tx: Tx, answering: GroupRouting) -> None:
        heard = Place(PLACE.id, "terminal", OWNER, "the terminal")
        said = notification(1, source="terminal", place=heard, person=PERSON, speaker="ada")
        assert inbox.accept(tx, said, answering.default, utc_now()) is not None
        tx.run("UPDATE inbox SET status = 'dead'", ())

    asyncio.run(_in_constellation(tmp_path, work))


async def _in_constellation(folder: Path, work: Callable[[Tx, GroupRouting], T]) -> T:
    config = load_config({"CARINA_HOME": str(folder / "data")}, folder)
    async with Constellations.open(config.home, utc_now) as constellations:
        home, answering = await seeded(config, constellations)
        async with constellations.use(home) as database:
            return await database.write(SETUP, lambda tx: work(tx, answering))


def test_an_answer_to_a_request_is_one_sentence_with_what_was_decided(
    here: Here, waiting: tuple[RequestId, RequestId, RequestId]
) -> None:
    once, hour, denied = waiting
    for command, words in (
        (f"approve {once}", f"Request {code(once)}: Allowed once {DECIDED}"),
        (f"approve {hour} --hour", f"Request {code(hour)}: Allowed for 1 hour {DECIDED}"),
        (f"deny {denied}", f"Request {code(denied)}: Denied {DECIDED}"),
    ):
        done = here(command)
        assert (done.returncode, done.stderr) == (0, "")
        assert re.fullmatch(f"{words}\n", done.stdout)
    done = here(f"approve {denied}")
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(rf"carina: This request has already been decided\. Denied {DECIDED}\n", done.stderr)


def test_an_answer_is_one_object_for_machines(here: Here, waiting: tuple[RequestId, RequestId, RequestId]) -> None:
    found = here(f"approve {waiting[0]} --always --json").data()
    assert (found["id"], found["counted"]) == (str(waiting[0]), True)
    assert found["text"].startswith("Always allowed by")
    here(f"approve {waiting[1]} --hour --always").refused("Use --hour or --always, not both.", code=2)
    (grant,) = here("permits list --json").data()["grants"]
    assert here(f"permits revoke {grant['id']} --json").data() == grant


def test_what_is_kept_and_erased_of_somebody_is_said_of_them_and_not_of_you(here: Here) -> None:
    kept = here("privacy see terminal:owner").stdout
    assert "- received messages: 1 (that they arrived, without their words)" in kept
    assert "- account records: 1 (user IDs, links and sign-ins)" in kept
    assert not re.search(r"\byou", kept)
    here("privacy pause discord:7")
    receipt = here("privacy erase discord:7 --yes").stdout
    assert "There was nothing to delete" in receipt


def test_nobody_is_known_under_a_wrong_id(here: Here) -> None:
    done, words = here("privacy see discord:8"), "Nothing has ever been kept about discord:8. Is the ID correct?"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"carina: {words}\n")
    for command, exit_code, status, detail in (
        ("privacy see discord:8 --json", 1, 422, words),
        ("remind list 7 --json", 2, 400, "This command does not take “7”."),
        ("remind list --when 5 --json", 2, 400, "No such option"),
        ("remind lits --json", 2, 400, "There is no command “lits”. Did you mean list?"),
    ):
        done = here(command)
        assert (done.returncode, done.stdout) == (exit_code, "")
        told = json.loads(done.stderr)
        assert detail in told.pop("detail")
        assert told == {"type": "about:blank", "title": "Not done", "status": status}
    here("privacy pause discord:8")
    assert here("privacy see discord:8").returncode == 0


def test_quiet_hours_that_end_when_they_begin_are_refused(here: Here) -> None:
    here("quiet --from 8:00 --until 8:00").refused("at the same time. To turn them off, set their start to “off”.")


def test_a_list_of_blocks_says_how_to_read_one(here: Here) -> None:
    *blocks, lead = here("memory list").stdout.splitlines()
    assert blocks
    assert lead == "`carina memory show BLOCK` shows a block's text."


def test_a_day_of_messages_is_named_by_its_date_as_people_write_it(here: Here) -> None:
    (day,) = here("inbox days --days 1").stdout.splitlines()
    assert re.fullmatch(r"- [A-Z][a-z]{2} \d{1,2}, \d{4}: 0 received, 0 answered, \$0\.00", day)


def test_where_a_setting_comes_from_is_told_in_the_language_of_the_reader(here: Here) -> None:
    here("language de")
    home = here("settings").stdout.splitlines()[0]
    assert home.startswith("- files.home = ")
    assert home.endswith(" (Umgebung)")


def test_each_setting_names_where_it_comes_from_and_no_secret(here: Here, tmp_path: Path) -> None:
    (tmp_path / "carina.toml").write_text('[model]\ntimeout_seconds = 60\nfallback = ["offline"]\n', "utf-8")
    (tmp_path / ".env").write_text(
        "CARINA_MODEL=openai:gpt-5-mini\nCARINA_FALLBACK_MODELS=openai:gpt-5\nOPENAI_API_KEY=sk-quite-secret\n"
        "OPENAI_BASE_URL=http://me:pass@127.0.0.1:1/v1\n",
        "utf-8",
    )
    shown = here("settings").stdout
    for each in (
        f"files.home = {tmp_path / 'data'} (environment)",
        "model.default = openai:gpt-5-mini (.env)",
        "model.fallback = openai:gpt-5 (.env)",
        "model.timeout_seconds = 60.0 (file)",
        "model.retries = 2 (default)",
        "OPENAI_API_KEY = set (.env)",
        "ANTHROPIC_API_KEY = not set (default)",
        "BLUESKY_SERVICE = https://bsky.social (default)",
        "OPENAI_BASE_URL = http://[secret]@127.0.0.1:1/v1 (.env)",
    ):
        assert f"- {each}\n" in shown
    assert "quite-secret" not in shown


def test_what_is_not_set_stands_in_its_column_in_every_language() -> None:
    for language, state in (("en", "not set"), ("de", "nicht gesetzt"), ("ja", "未設定")):
        with speaking(language):
            lines = [finding_text(Finding("disk", each, "1 GB")) for each in (State.UNSET, State.GOOD)]
            disk = _("disk")
        assert lines[0].startswith(f"{state} ")
        assert len({cells(line.partition(disk)[0]) for line in lines}) == 1


def test_lists_are_lines_at_the_terminal_too(here: Here) -> None:
    assert here("link list").stdout == "You have no linked accounts, only the terminal.\n"
    here('permits grant carina recall public --arguments {"operation":"insert"}')
    shown = here("permits list").stdout
    assert "- Carina: recall (operation: “insert”), until you revoke it, for all places; allowed by " in shown


def test_vacuum_says_what_it_gave_back_file_by_file(here: Here) -> None:
    lines = here("db vacuum").stdout.splitlines()
    assert [line.split(": ")[0].split("/")[-1] for line in lines] == ["carina.db", "global.db"]
    assert all(re.search(r": [\d,.]+ (k|M)B, (.* freed|nothing to free)$", line) for line in lines)


def test_what_a_name_may_contain_is_said_in_words(here: Here) -> None:
    for command, words in (
        ("source add a/b --feed https://example.org", "NAME: expected 1 to 40 letters, digits, - and _"),
        ("token create a/b", "NAME: expected 1 to 40 letters, digits, - . and _"),
    ):
        refused = here(command)
        assert (refused.returncode, refused.stderr) == (2, f"carina: {words}\n")


def test_at_a_narrow_terminal_no_word_is_broken(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = here("status").stdout
    monkeypatch.setenv("COLUMNS", "24")
    assert here("status").stdout == whole, "a pipe gets its lines whole"
    monkeypatch.setattr(streams, "is_interactive", lambda: True)
    narrow = here("status").stdout
    assert max(map(len, narrow.splitlines())) <= 24
    assert narrow.split() == whole.split()
    assert "\n  configured (set\n" in narrow


def test_a_reminder_and_a_task_need_no_quotes(here: Here) -> None:
    set_ = here("remind me to call mum in 2 minutes")
    assert (set_.returncode, ": call mum" in set_.stdout) == (0, True)
    assert "Carina is not running. `carina run` starts it; reminders arrive only" in set_.stderr
    assert here("remind me stretch tomorrow").returncode == 0
    assert here("tasks add buy oat milk").stdout.startswith("Added: buy oat milk")
    assert sorted(row["text"] for row in here("remind list --json").data()) == ["call mum", "stretch"]
    begin, end = (utc_now() + timedelta(hours=hours) for hours in (1, 3))
    here(f"quiet --from {begin:%H:%M} --until {end:%H:%M} --zone UTC")
    told, note = here("remind me to take the pills in 2 hours").stdout.splitlines()
    assert (told.endswith(": take the pills"), note.startswith("That is during your quiet hours, so ")) == (True, True)
    assert re.search(f"take the pills – .*, {time_words(end)} ", here("remind list").stdout)
    for words, said in (("call mum", "also say when"), ("in 2 minutes", "also say what to remind you of")):
        here(f"remind me {words}").refused(said)


@pytest.mark.parametrize("command", ["run", "pause", "resume"])
def test_each_command_for_a_job_takes_its_name(here: Here, command: str) -> None:
    here(f"jobs {command} tea").refused("There is no job “tea”")


def test_a_backup_is_copied_to_another_folder(here: Here, tmp_path: Path) -> None:
    (made,) = [here(f"backup create --json --to {tmp_path / 'disk'}").data()]
    copy = Path(made["copied_to"])
    assert copy.parent == tmp_path / "disk"
    assert (copy / "global.db").read_bytes() == (
        tmp_path / "data" / "backups" / made["name"] / "global.db"
    ).read_bytes()
    assert (copy.stat().st_mode & 0o077, (copy / "global.db").stat().st_mode & 0o077) == (0, 0)
    (tmp_path / "file").write_text("", "utf-8")
    here(f"backup create --to {tmp_path / 'file'}").refused("was created, but not copied")


def test_a_long_line_goes_on_below_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "is_interactive", lambda: True)
    monkeypatch.setenv("COLUMNS", "30")
    said = (
        "ok       disk: many gigabytes are free\n         -> leave it as it is for now\n- a point with many words in it"
    )
    assert streams.wrapped(said).splitlines() == [
        "ok       disk: many gigabytes",
        "         are free",
        "         -> leave it as it is",
        "            for now",
        "- a point with many words in",
        "  it",
    ]
