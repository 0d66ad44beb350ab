"""A command with a terminal around it."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
START_SECONDS = 40.0


def environment(folder: Path, **more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "HOME", "SYSTEMROOT") if name in os.environ}
    return {**kept, "PYTHONPATH": str(ROOT), "CARINA_HOME": str(folder / "data"), "EMBEDDING_MODEL": "none", **more}


class Terminal:
    """A command with a terminal around it."""

    def __init__(self, folder: Path, *arguments: str, **more: str) -> None:
        self._ours, theirs = pty.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bot", *arguments],
            env=environment(folder, TERM="xterm", **more),
            cwd=folder,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.text = ""
        self.everything = ""
        """All that was written; `text` is without what `until` gave."""

    def until(self, pattern: str) -> str:
        """What was written since the last time, up to the pattern and with it."""
        end = time.monotonic() + START_SECONDS
        while (found := re.search(pattern, self.text, re.DOTALL)) is None:
            assert time.monotonic() < end, f"no {pattern!r} in {self.text!r}"
            self._read(0.2)
        before, self.text = self.text[: found.end()], self.text[found.end() :]
        return before

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def ended(self) -> int:
        """Wait for its end; gives the exit code."""
        code = self._process.wait(START_SECONDS)
        self._read(0)
        return code

    def close(self) -> None:
        """End it if it still runs."""
        self._process.kill()
        self._process.wait(START_SECONDS)
        os.close(self._ours)

    def send_signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def wait(self, seconds: float) -> None:
        """Take in what is written meanwhile."""
        self._read(seconds)

    def modes(self) -> list[object]:
        """How the terminal reads and shows what is typed, as a shell would find it."""
        return [*termios.tcgetattr(self._ours)]

    def _read(self, seconds: float) -> None:
        while select.select([self._ours], [], [], seconds)[0]:
            try:
                data = os.read(self._ours, 65_536)
            except OSError:  # the other end is closed
                return
            if not data:
                return
            words = data.decode("utf-8", "replace")
            self.text += words
            self.everything += words
            seconds = 0
