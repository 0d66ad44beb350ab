"""Fault points: named once, complete by construction, deadly only when armed."""

import asyncio
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from memory.store.faults import Faults, Kind, call_point, outside
from memory.store.sqlite import connect

ROOT = Path(__file__).parents[3]
CALL = call_point("test_faults.call")

DIE = """
import asyncio, sys
from pathlib import Path
from memory.store.database import Database, Rows
from memory.store.sqlite import connect
from memory.store.faults import commit_point, faults
POINT = commit_point("here")

async def main(path):
    raw = connect(path)
    raw.execute("CREATE TABLE notes (n INTEGER)")
    raw.close()
    faults.arm(sys.argv[2])
    async with Database.open(path) as database:
        for n in range(4):
            await database.write(POINT, lambda tx: tx.insert("notes", {"n": n}))

asyncio.run(main(Path(sys.argv[1])))
"""


def test_a_point_has_one_name() -> None:
    faults = Faults()
    point = faults.point("a.b", Kind.COMMIT)
    assert faults.all() == (point,)
    with pytest.raises(ValueError, match="defined twice"):
        faults.point("a.b", Kind.CALL)


@pytest.mark.parametrize("spec", ["a.b", "a.b:during", ":before", ""])
def test_what_names_no_fault_is_refused(spec: str) -> None:
    with pytest.raises(ValueError, match="names no fault"):
        Faults().arm(spec)


@pytest.mark.parametrize(
    ("spec", "left"),
    [("here:before", 0), ("here:after", 1), ("here:before:3", 2), ("here:after:3", 3), ("other:after", 4)],
)
def test_an_armed_process_dies_at_its_point_and_nowhere_else(tmp_path: Path, spec: str, left: int) -> None:
    """Before a commit nothing of it stands; after it everything does."""
    command = [sys.executable, "-c", DIE, str(tmp_path / "notes.db"), spec]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == (0 if spec.startswith("other") else -signal.SIGKILL), done.stderr
    with closing(connect(tmp_path / "notes.db")) as raw:
        assert len(raw.execute("SELECT n FROM notes").fetchall()) == left


async def test_a_call_that_takes_too_long_is_given_up() -> None:
    with pytest.raises(TimeoutError):
        await outside(CALL, asyncio.sleep(10), 0.01)
    assert await outside(CALL, asyncio.sleep(0, "done"), 1) == "done"
