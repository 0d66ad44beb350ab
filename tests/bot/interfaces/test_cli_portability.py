"""`carina export`, `carina import` and `carina car inspect`."""

import io
import json
import sys
import tarfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.interfaces.cli import streams
from bot.interfaces.cli.export_and_import import progress_line
from memory.store.data_folder import DataFolder
from memory.store.migrations import Kind, migrate
from tests.test_recorded_folder import RECORDED, run


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A data folder in which something was said."""
    with tarfile.open(RECORDED / "folder.tar.gz") as recorded:
        recorded.extractall(tmp_path / "home", filter="data")
    (path,) = (tmp_path / "home").glob("data/constellations/*/carina.db")
    now = datetime(2026, 11, 24, tzinfo=UTC)
    migrate(path, Kind.CONSTELLATION, now)
    migrate(tmp_path / "home" / "data" / "global.db", Kind.GLOBAL, now)
    return tmp_path / "home"


def beside(home: Path) -> Path:
    """An empty home with the same configuration."""
    other = home.parent / "other"
    other.mkdir()
    (other / "carina.toml").write_text((home / "data" / "carina.toml").read_text("utf-8"), "utf-8")
    (home / "carina.toml").write_text((home / "data" / "carina.toml").read_text("utf-8"), "utf-8")
    return other


def test_a_constellation_moves_into_another_home(home: Path) -> None:
    other, file = beside(home), str(home.parent / "one.car")
    code, said, errors = run(home, "export", "constellation", "-o", file, "--json")
    assert code == 0, errors
    root = json.loads(said)["root"]
    assert run(other, "import", file, "--dry-run")[1].startswith("This would be imported: the constellation home")
    assert not (other / "data" / "global.db").exists()
    code, said, errors = run(other, "import", file)
    assert (code, said.splitlines()[0]) == (0, "Imported: the constellation home"), errors
    assert "Note: 1 lasting permission is not active." in said
    code, _, errors = run(other, "import", file)
    assert (code, "There is already a constellation “home”" in errors) == (1, True)
    again = json.loads(run(other, "car", "inspect", file, "--json")[1])
    assert (again["root"], again["kind"]) == (root, "constellation")
    assert run(other, "agent", "list")[1] == run(home, "agent", "list")[1]
    assert run(other, "memory", "list")[1] == run(home, "memory", "list")[1]
    assert "`persona` (Carina, all places): Who the agent is and how it behaves" in run(home, "memory", "list")[1]


def test_a_file_of_another_version_is_not_exported_as_one_of_this(tmp_path: Path) -> None:
    with tarfile.open(RECORDED / "folder.tar.gz") as recorded:
        recorded.extractall(tmp_path, filter="data")
    (tmp_path / "data" / "carina.toml").rename(tmp_path / "carina.toml")
    file, now = tmp_path / "one.car", datetime(2026, 11, 24, tzinfo=UTC)
    code, _, errors = run(tmp_path, "export", "constellation", "-o", str(file))
    assert (code, "run `carina db migrate`" in errors, file.exists()) == (3, True, False)
    migrate(tmp_path / "data" / "global.db", Kind.GLOBAL, now)
    code, _, errors = run(tmp_path, "export", "agent", "Nora", "-o", str(file))
    assert (code, "run `carina db migrate`" in errors, file.exists()) == (3, True, False)


def test_an_imported_constellation_is_used_before_the_configured_one_exists(home: Path) -> None:
    other, file = beside(home), str(home.parent / "one.car")
    assert run(home, "export", "constellation", "-o", file)[0] == 0
    code, _, errors = run(other, "import", file, "--rename", "a\x1b[2J\nb")
    assert (code, "A name must start with a letter" in errors) == (1, True)
    assert run(other, "import", file, "--rename", "second")[1].startswith("Imported: the constellation second")
    code, _, errors = run(other, "import", file, "--rename", "Second")
    assert (code, "There is already a constellation “second”" in errors) == (1, True)
    assert len(list((other / "data" / "constellations").iterdir())) == 1, "nothing of the refused one is left"
    assert run(other, "--constellation", "second", "memory", "list")[1] == run(home, "memory", "list")[1]
    assert "There is no constellation “third”" in run(other, "--constellation", "third", "memory", "list")[2]
    assert "There is no constellation “home” in" in run(other, "memory", "list")[2]


def test_an_agent_is_imported_once(home: Path) -> None:
    other, file = beside(home), str(home.parent / "one.car")
    assert run(home, "export", "agent", "carina", "-o", file)[0] == 0
    assert run(other, "import", file)[1].startswith("Imported: the agent Carina")
    for trial in (["--dry-run"], []):
        assert run(other, "import", file, *trial)[1].startswith(
            "This file was already imported, so nothing was changed"
        )
        code, _, errors = run(home, "import", file, "--rename", "Other", *trial)
        assert code == 1
        assert errors.startswith("carina: The agent “Carina” in the file already exists here, and `--rename` does not")
    assert run(home, "--constellation", "away", "import", file)[1].startswith("Imported: the agent Carina")
    assert run(home, "agent", "archive", "Carina")[0] == 0
    for trial in (["--dry-run"], []):
        assert "`carina agent restore Carina` restores it" in run(home, "import", file, *trial)[2]
    assert not list((home / "data").glob(".restoring-*"))


def test_a_passphrase_is_asked_for_or_read(home: Path) -> None:
    file, passphrase = str(home.parent / "one.car"), home.parent / "passphrase"
    beside(home)
    passphrase.write_text("correct horse\n", "utf-8")
    given = ("--passphrase-file", str(passphrase))
    assert "Use --passphrase-file." in run(home, "export", "constellation", "-o", file, "--encrypt")[2]
    assert run(home, "export", "constellation", "-o", file, *given)[0] == 0
    assert "Use --passphrase-file." in run(home, "car", "inspect", file)[2]
    assert run(home, "car", "inspect", file, *given)[1].startswith("Verified: the constellation home")
    passphrase.write_text("wrong", "utf-8")
    assert "the passphrase is wrong" in run(home, "car", "inspect", file, *given)[2]


@pytest.mark.parametrize(("watched", "said"), [(True, "\rExporting: 50%\r\x1b[K"), (False, "")])
def test_progress_leaves_no_line_behind(monkeypatch: pytest.MonkeyPatch, watched: bool, said: str) -> None:
    monkeypatch.setattr(streams, "is_interactive", lambda: watched)
    monkeypatch.setattr(sys, "stderr", errors := io.StringIO())
    monkeypatch.setattr(errors, "isatty", lambda: True)
    with progress_line("Exporting") as show:
        show(0.5)
        show(0.501)
    assert errors.getvalue() == said


def test_what_cannot_be_done_is_said(home: Path) -> None:
    beside(home)
    assert "There is no agent “Nobody”. Choose from: " in run(home, "export", "agent", "Nobody")[2]
    (home.parent / "there.car").write_text("x", "utf-8")
    assert "already exists" in run(home, "export", "constellation", "-o", str(home.parent / "there.car"))[2]
    assert "this is not a CAR file exported by Carina" in run(home, "import", str(home.parent / "there.car"))[2]
    assert run(home, "export", "constellation", "-o", str(home.parent / "one.car"))[0] == 0
    nowhere = home.parent / "nowhere"
    assert f"There is no folder {nowhere}." in run(home, "export", "constellation", "-o", str(nowhere / "one.car"))[2]
    assert not nowhere.exists()
    with DataFolder(home / "data").lock():
        code, _, errors = run(home, "import", str(home.parent / "one.car"), "--rename", "second")
    assert (code, "Stop it, then import" in errors) == (1, True)
