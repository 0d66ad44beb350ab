"""The data folder with real files, rights and processes."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from memory.store.data_folder import DataFolder, private_file
from memory.store.errors import FolderLocked, StoreError

HOLD = """
import sys, time
from pathlib import Path
from memory.store.data_folder import DataFolder
with DataFolder(Path(sys.argv[1])).lock():
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def other_process(folder: DataFolder, seconds: float) -> "subprocess.Popen[str]":
    """Another process that holds the folder's lock so long."""
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", HOLD, str(folder.path), str(seconds)]
    process = subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    made = DataFolder(tmp_path / "deep" / "data")
    made.prepare()
    return made


def test_the_folder_is_for_its_owner_only(folder: DataFolder) -> None:
    folder.prepare()
    assert mode(folder.path) == 0o700
    assert not folder.open_to_others()
    assert mode(private_file(folder.global_db)) == 0o600
    database = private_file(folder.path / "constellations" / "con_1" / "carina.db")
    assert [mode(path) for path in (database, database.parent, database.parent.parent)] == [0o600, 0o700, 0o700]


def test_rights_do_not_depend_on_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o277)
    try:
        made = DataFolder(tmp_path / "data")
        made.prepare()
        path = private_file(made.global_db)
    finally:
        os.umask(before)
    assert mode(made.path) == 0o700
    assert mode(path) & 0o077 == 0


def test_a_file_that_others_could_read_becomes_private(folder: DataFolder) -> None:
    folder.global_db.write_text("kept")
    folder.global_db.chmod(0o644)
    assert private_file(folder.global_db).read_text() == "kept"
    assert mode(folder.global_db) == 0o600


def test_a_folder_that_was_there_keeps_its_rights_and_is_reported(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    folder = DataFolder(tmp_path)
    folder.prepare()
    assert mode(tmp_path) == 0o755
    assert folder.open_to_others()


def test_a_folder_that_cannot_be_made_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(StoreError, match=r"data folder .* could not be created .*CARINA_HOME"):
        DataFolder(tmp_path / "data").prepare()


def test_the_lock_is_held_once_and_names_the_holder(folder: DataFolder) -> None:
    process = other_process(folder, 60)
    try:
        assert folder.holder() == process.pid
        with pytest.raises(
            FolderLocked, match=rf"Process {process.pid} is already using .*; stop it, or set CARINA_HOME"
        ):
            folder.lock().__enter__()
        assert mode(folder.lock_file) == 0o600
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert folder.holder() is None
    with folder.lock():
        assert folder.holder() == os.getpid()
    assert folder.holder() is None


def test_the_lock_waits_for_somebody_who_only_looks(folder: DataFolder) -> None:
    looking = other_process(folder, 0.1)
    with folder.lock():
        assert folder.lock_file.read_text() == f"{os.getpid()}\n"
    looking.communicate()


def test_without_a_lock_file_nobody_holds_it(folder: DataFolder) -> None:
    assert folder.holder() is None
    assert not folder.lock_file.exists()
