"""`carina folder ...`: what the commands do, what they refuse, and that a kill leaves nothing half done."""

from pathlib import Path
from typing import Any

import pytest

from tests.bot.command_line import Here
from tests.bot.terminals import carina


@pytest.fixture
def here(here: Here, tmp_path: Path) -> Here:
    """A data folder with a constellation, and some papers beside it."""
    papers = tmp_path / "papers"
    papers.mkdir()
    (papers / "a.txt").write_text("The ferry leaves at nine.")
    assert here("chat --once hello").returncode == 0
    return here


def given(here: Here, command: str) -> Any:
    """What a command that works gives a machine."""
    return here(f"folder {command} --json").data()


def test_a_directory_becomes_a_folder_that_an_agent_has(here: Here, tmp_path: Path) -> None:
    papers = tmp_path / "papers"
    made = given(here, f"create papers --path {papers} --description trips")
    assert (made["kind"], made["path"], made["readers"]) == ("local", str(papers.resolve()), "owner")
    assert given(here, "attach papers carina") == {"folder": "papers", "agent": "Carina", "access": "read"}
    expected = {"folder": "papers", "files": 1, "changed": 1, "removed": 0}
    assert given(here, "index papers") == expected
    assert here("folder index papers").stdout == "papers is indexed: 1 file, 0 new or changed, 0 removed.\n"
    (listed,) = given(here, "list")
    assert (listed["agents"], listed["files"], listed["passages"], listed["text"]) == ("Carina (read)", 1, 1, "trips")
    (shown,) = given(here, "show papers")
    assert (shown["file"], shown["type"], shown["bytes"], shown["note"]) == ("a.txt", "text/plain", 25, "")
    given(here, "attach papers Carina --write")
    assert given(here, "list")[0]["agents"] == "Carina (read_write)"
    assert given(here, "audience papers guild:discord:1")["before"] == "owner"
    assert given(here, "list")[0]["readers"] == "guild:discord:1"
    assert given(here, "detach papers Carina")["access"] == "none"
    assert given(here, "list")[0]["agents"] == ""
    assert given(here, "remove papers --yes") == {"folder": "papers", "files": 1, "whole": True}
    assert here("folder list").stdout == "There are no folders.\n"
    assert (papers / "a.txt").read_text() == "The ferry leaves at nine."


def test_files_are_uploaded_under_plain_names_and_removed(here: Here, tmp_path: Path) -> None:
    given(here, "create notes")
    odd = tmp_path / ".hid\u202eden\x07.txt"
    odd.write_text("one")
    kept = {"folder": "notes", "file": "hid den .txt", "bytes": 3, "note": ""}
    assert given(here, f"upload notes {odd}") == kept
    given(here, f"upload notes {tmp_path}/papers/a.txt --as trips/a.txt")
    assert [each["file"] for each in given(here, "show notes")] == ["hid den .txt", "trips/a.txt"]
    assert given(here, "remove notes trips/a.txt --yes") == {"folder": "notes", "files": 1, "whole": False}
    assert len(given(here, "show notes")) == 1


REFUSED = (
    ("create papers --path s3://bucket/x", 1, "Remote folders are not supported"),
    ("create papers --path HERE/nowhere", 1, "cannot be used as a directory"),
    ("create papers --path HERE/papers/a.txt", 1, "cannot be used as a directory"),
    ("create papers --path HERE", 1, "Carina's own data folder"),
    ("create papers --path HERE/data", 1, "Carina's own data folder"),
    ("create ../x", 1, "cannot name a folder"),
    ("create notes", 1, "There is already a folder “notes”"),
    ("create more --audience everybody", 2, "is not an audience"),
    ("create more --audience person:discord:ann", 1, "not for one person"),
    ("audience notes person:discord:ann", 1, "not for one person"),
    ("show nothing", 1, "There is no folder “nothing”; available: notes"),
    (f"attach notes {'Nobody' * 9}", 1, f"There is no agent “{'Nobody' * 9}”. Choose from: Carina"),
    ("detach notes Carina", 1, "Carina has no access to the folder “notes”"),
    ("upload notes HERE/nowhere.txt", 1, "cannot be read: No such file"),
    ("upload notes HERE/papers", 1, "is not a file"),
    ("upload notes HERE/huge.log", 1, "has 1,073,741,824 bytes, but an upload can have at most 8,000,000"),
    ("upload notes HERE/papers/a.txt --as ../x", 1, "cannot be opened: name a file inside"),
    ("upload notes HERE/papers/a.txt --as .env", 1, "hidden"),
    ("audience notes guild:x", 2, "“guild:x” is not valid. Write it as guild:discord:1234."),
    ("remove notes x.txt --yes", 1, "There is no file “x.txt” in notes"),
    ("remove notes x.txt", 1, "There is no file “x.txt” in notes"),
    ("remove nothing", 1, "There is no folder"),
    ("remove notes", 2, "Add --yes to confirm"),
)


def test_what_cannot_be_done_is_said(here: Here, tmp_path: Path) -> None:
    given(here, "create notes")
    with (tmp_path / "huge.log").open("wb") as huge:
        huge.truncate(1 << 30)
    for command, code, words in REFUSED:
        here(f"folder {command.replace('HERE', str(tmp_path))}").refused(words, code=code)
        assert [(each["folder"], each["files"]) for each in given(here, "list")] == [("notes", 0)], command


def test_a_local_folder_takes_no_upload_and_removes_no_file(here: Here, tmp_path: Path) -> None:
    given(here, f"create papers --path {tmp_path}/papers")
    for command in (f"upload papers {tmp_path}/papers/a.txt", "remove papers a.txt --yes"):
        here(f"folder {command}").refused(f"papers is the directory {tmp_path.resolve()}/papers")
    assert (tmp_path / "papers" / "a.txt").exists()


@pytest.mark.parametrize(
    ("point", "indexed", "finished"),
    [
        ("folders.file:before", 0, False),
        ("folders.file:after", 1, False),
        ("folders.end:before", 3, False),
        ("folders.end:after", 3, True),
    ],
)
def test_an_indexing_that_is_killed_goes_on_where_it_was(
    here: Here, tmp_path: Path, point: str, indexed: int, finished: bool
) -> None:
    for name in ("b.txt", "c.txt"):
        (tmp_path / "papers" / name).write_text(f"page {name}")
    given(here, f"create papers --path {tmp_path}/papers")
    done = carina(tmp_path, "folder", "index", "papers", CARINA_FAULT=point)
    assert done.returncode < 0
    (folder,) = given(here, "list")
    assert (folder["files"], folder["passages"], bool(folder["indexed"])) == (indexed, indexed, finished)
    assert given(here, "index papers")["changed"] == 3 - indexed
    assert given(here, "list")[0]["passages"] == 3


def test_an_indexing_of_many_steps_comes_to_its_end(
    here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.services.memory.folders._STEP_SECONDS", -1.0)  # a file each
    for name in ("b.txt", "c.txt"):
        (tmp_path / "papers" / name).write_text(f"page {name}")
    given(here, f"create papers --path {tmp_path}/papers")
    assert given(here, "index papers")["changed"] == 3
