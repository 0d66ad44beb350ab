"""`carina memory ...` on the real program, beside a running service and without one; killed at its write."""

import contextlib
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.bot.terminals import Begin, carina


def said(folder: Path, *arguments: str, **more: str) -> Any:
    return carina(folder, "memory", *arguments, "--json", **more).data()


@pytest.fixture
def folder(tmp_path: Path, begin: Begin) -> Path:
    begin(tmp_path)
    return tmp_path


def test_the_past_of_a_block_without_a_service(folder: Path) -> None:
    assert [row["block"] for row in said(folder, "list")] == ["human", "persona", "scratchpad"]
    assert said(folder, "show", "Carina/persona")["block"] == said(folder, "show", "persona")["block"] == "persona"
    # A pipe that broke wipes nothing.
    carina(folder, "memory", "edit", "persona", said="").refused("standard input is empty", code=2)
    assert said(folder, "history", "persona")["changes"][0]["version"] == 1
    assert carina(folder, "memory", "history", "human").stdout == "Block “human” has not been changed yet.\n"
    for text in ("one\n", "one\ntwo\n"):
        done = carina(folder, "memory", "edit", "scratchpad", said=text)
        assert (done.returncode, done.stderr) == (0, "")
    history = said(folder, "history", "scratchpad")
    assert [(each["version"], each["writer"], each["length"]) for each in history["changes"]] == [
        (2, "the owner", 8),
        (1, "the owner", 4),
    ]
    assert history["changes"][0]["did"] == "+4 “two”"
    assert said(folder, "diff", "scratchpad", "1", "2")["parts"] == [{"line": 2, "removed": [], "added": ["two"]}]
    assert said(folder, "diff", "scratchpad", "1", "2")["lines"][2:] == ["@@ -1 +1,2 @@", " one", "+two"]
    assert carina(folder, "memory", "diff", "scratchpad", "1", "2").stdout == "+two\n"
    assert said(folder, "show", "scratchpad", "--version", "1")["text"] == "one\n"
    assert [part["version"] for part in said(folder, "blame", "scratchpad")["parts"]] == [1, 2]
    assert said(folder, "undo", "scratchpad")["text"] == "one\n"
    assert said(folder, "undo", "scratchpad", "--redo")["text"] == "one\ntwo\n"
    assert said(folder, "revert", "scratchpad", "owner", "--since", "2")["text"] == "one\n"
    assert said(folder, "rollback", "scratchpad", "4")["version"] == 6
    assert {row["state"] for row in said(folder, "verify")} == {"sound"}


def test_a_check_fails_while_a_block_is_damaged(folder: Path) -> None:
    assert carina(folder, "memory", "edit", "scratchpad", "--text", "Shoes off.").returncode == 0
    (file,) = (folder / "data" / "constellations").glob("*/carina.db")
    with contextlib.closing(sqlite3.connect(file)) as raw, raw:
        raw.execute("UPDATE memory_block_updates SET update_blob = zeroblob(20)")
    done = carina(folder, "memory", "verify")
    assert (done.returncode, done.stderr) == (1, "")
    assert "Carina/scratchpad: damaged" in done.stdout
    assert "2 blocks are damaged. `carina memory verify --repair` rebuilds what it can." in done.stdout
    assert carina(folder, "memory", "verify", "--repair", "--json").returncode == 0
    assert {row["state"] for row in said(folder, "verify")} == {"sound"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("show", "nothing"), "There is no block “nothing” here. Choose from: human, persona"),
        (("rollback", "persona", "99"), "There is no version 99: the history has versions 0 to 1"),
        (("diff", "persona", "--", "-1"), "There is no version -1"),
        (("revert", "persona", "nobody"), "“nobody” wrote nothing in this block. Its writers: the system"),
        (("revert", "persona", "system", "--since", "tea"), "“tea” is not a point in time"),
        (("revert", "persona", "system", "--since", "turn 5"), "Turn 5 changed nothing"),
        (("undo", "persona"), "You have nothing left to undo here"),
        (("widen", "human", "public"), "Every audience has its own block “human”"),
        (("edit", "persona", "--text", "x" * 3_000), "would hold 3,000 characters, 1,000 more than its limit of 2,000"),
    ],
)
def test_what_cannot_be_done_is_said(folder: Path, arguments: tuple[str, ...], words: str) -> None:
    carina(folder, "memory", *arguments).refused(words)


OF_ITS_OWN = """[[agents.blocks]]
template = "persona"
values = { name = "Star" }
audience = "public"
[[agents.blocks]]
label = "scratchpad"
description = "Notes"
audience = "owner"
"""
TWO = (
    f'[[agents]]\nname = "Star"\n{OF_ITS_OWN}[[agents]]\nname = "Moon"\n[[groups]]\nname = "Main"\nmembers = ["Star"]\n'
)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, begin: Begin) -> Path:
    """A folder with an entry and words in a block; for copies of it."""
    folder = tmp_path_factory.mktemp("filled")
    begin(folder, TWO)
    assert carina(folder, "archival", "add", "The key lies under the mat. " * 100, "--label", "key").returncode == 0
    assert carina(folder, "memory", "edit", "scratchpad", "--text", "Shoes off.").returncode == 0
    return folder


@pytest.mark.parametrize(
    ("command", "look", "done"),
    [
        ("memory edit scratchpad --text kept", "memory show scratchpad", '"text": "kept"'),
        ("memory widen scratchpad public --yes", "memory show scratchpad", '"readers": "all places"'),
        ("memory share scratchpad Moon", "memory share scratchpad", '"agent": "Moon"'),
        ("archival widen key public --yes", "archival list", '"audience": "public"'),
    ],
)
@pytest.mark.parametrize("side", ["before", "after"])
def test_killed_at_its_write_a_command_is_done_whole_or_not_at_all(
    tmp_path: Path, filled: Path, command: str, look: str, done: str, side: str
) -> None:
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    assert carina(tmp_path, *command.split(), CARINA_FAULT=f"command.write:{side}").returncode < 0
    assert (done in carina(tmp_path, *look.split(), "--json").stdout) == (side == "after")
    assert said(tmp_path, "show", "scratchpad")["text"] == (
        "kept" if '"kept"' in done and side == "after" else "Shoes off."
    )
    assert {row["state"] for row in said(tmp_path, "verify")} == {"sound"}
    (file,) = (tmp_path / "data" / "constellations").glob("*/carina.db")
    with contextlib.closing(sqlite3.connect(file)) as raw:
        found = raw.execute("SELECT count(*) FROM archival_entries GROUP BY audience").fetchall()
    assert found == [(3,)], "the entry and its two passages"
    carina(tmp_path, *command.split())  # again: done now, or refused as done
    assert done in carina(tmp_path, *look.split(), "--json").stdout


FIELDS = """
[[agents]]
name = "Star"
[[agents.blocks]]
template = "current_state"
[[agents.blocks]]
template = "active_context"
[[agents.blocks]]
label = "note"
description = "One text"
"""


def test_a_field_is_set_by_hand_as_its_type_wants_it(tmp_path: Path, begin: Begin) -> None:
    begin(tmp_path, FIELDS)

    def refused(block: str, field: str, text: str) -> str:
        done = carina(tmp_path, "memory", "edit", block, "--field", field, "--text", text)
        assert done.returncode == 1
        return done.stderr

    assert said(tmp_path, "edit", "current_state", "--field", "energy", "--text", "3")["version"] == 2
    assert "energy: 3" in said(tmp_path, "edit", "current_state", "--field", "mood", "--text", "calm")["text"]
    assert "energy" in refused("current_state", "energy", "lots")
    assert "energy" in refused("current_state", "vigour", "3"), "which there are"
    assert refused("note", "energy", "3").endswith("plain text, without fields.\n")
    carina(tmp_path, "memory", "edit", "current_state", "--text", "energy: 4").refused("`--field NAME`")
    listed = said(tmp_path, "edit", "active_context", "--field", "recent_events", "--text", "moved house\nnew job\n")
    assert "moved house" in listed["text"]
    assert said(tmp_path, "undo", "current_state")["text"].startswith("energy: 3\n")
    assert "energy: 3" not in said(tmp_path, "edit", "current_state", "--field", "energy", "--text", "")["text"]


def test_a_block_that_went_through_a_file_keeps_what_others_wrote_since_the_version_it_shows(
    tmp_path: Path, begin: Begin
) -> None:
    begin(tmp_path, FIELDS)
    assert carina(tmp_path, "memory", "edit", "note", "--text", "one\ntwo\n").returncode == 0
    shown = carina(tmp_path, "memory", "show", "note")
    assert (shown.stdout, shown.stderr) == ("one\ntwo\n", "(note, version 1)\n")
    assert carina(tmp_path, "memory", "edit", "note", "--text", "one\ntwo\nthe agent's\n").returncode == 0
    done = carina(tmp_path, "memory", "edit", "note", "--seen", "1", said=shown.stdout.replace("one", "ONE"))
    assert done.stdout == "Block “note” is now at version 3. It keeps what others wrote in the meantime.\n"
    assert said(tmp_path, "show", "note")["text"] == "ONE\ntwo\nthe agent's\n"
    assert said(tmp_path, "edit", "note", "--text", "all new\n")["text"] == "all new\n", "as the help says"
    for argument in (("--text", "x"), ("--field", "mood", "--text", "x")):
        block = "current_state" if "--field" in argument else "note"
        carina(tmp_path, "memory", "edit", block, "--seen", "99", *argument).refused("There is no version 99")
    shown_now = said(tmp_path, "show", "note")
    only = ("edit", "note", "--only-at", f"{shown_now['id']}.{shown_now['version']}", "--text")
    assert said(tmp_path, *only, "mine\n")["text"] == "mine\n"
    carina(tmp_path, "memory", *only, "late\n").refused(
        "Block “note” has been changed since then, so it stays as it is."
    )

    field = ("edit", "current_state", "--field", "mood")
    seen = said(tmp_path, *field, "--text", "calm")["version"]
    said(tmp_path, *field, "--text", "calm, the agent found")
    assert (
        "mood: very calm, the agent found\n"
        in said(tmp_path, *field, "--seen", str(seen), "--text", "very calm")["text"]
    )
    empty = carina(tmp_path, "memory", "show", "note", "--version", "0")
    assert (empty.stdout, empty.stderr) == ("", "(note, version 0, empty)\n")


LONG = "The heron stands at the pond.\n\n- by the reeds\n- by the bridge\n" + "It waits for the frogs to come. " * 9


def test_an_entry_is_shown_with_all_its_lines_below_what_is_known_of_it(folder: Path) -> None:
    wanted = ("--label", "heron", "--category", "birds/pond", "--tag", "bird", "--tag", "water")
    assert carina(folder, "archival", "add", LONG, *wanted).stdout == "Carina will remember it as heron.\n"
    head, *lines = carina(folder, "archival", "show", "heron").stdout.splitlines()
    assert head.startswith("heron, stored ")
    assert lines == [*LONG.strip().splitlines(), "(category: birds/pond)", "(tags: bird, water)"]
    listed, found = carina(folder, "archival", "list").stdout, carina(folder, "search", "heron").stdout
    assert "- heron: The heron stands at the pond. - by the reeds" in listed
    assert found.startswith("The heron stands at the pond. - by the reeds")
    (entry,) = carina(folder, "archival", "list", "--json").data()
    short = entry["id"][-6:]
    assert listed.rstrip().endswith(f" #{short}"), "as other lists, it shows the end of an id"
    assert carina(folder, "archival", "show", f"#{short}", "--json").data()["text"] == LONG.strip() == entry["text"]
    carina(folder, "archival", "show", short[-3:]).refused("There is no entry")
