"""Commands of the program in a folder: run to their end, serving, or with a terminal around them."""

import os
import pty
import re
import select
import signal
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import pyte

from tests.processes import ROOT, START_SECONDS, Done, Process, run


class Begin(Protocol):
    """The fixture `begin`."""

    def __call__(self, folder: Path, toml: str = "") -> None: ...


def environment(folder: Path, **more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "HOME", "SYSTEMROOT") if name in os.environ}
    return {**kept, "PYTHONPATH": str(ROOT), "CARINA_HOME": str(folder / "data"), "EMBEDDING_MODEL": "none", **more}


def carina(folder: Path, *arguments: str, said: str | None = None, **more: str) -> Done:
    """Run a command to its end."""
    return run(arguments, environment(folder, **more), folder, said, START_SECONDS)


class Screen(pyte.Screen):
    """What is seen on a terminal; who asks it where the cursor is gets an answer."""

    def __init__(self, columns: int, lines: int, answer: Callable[[str], object]) -> None:
        super().__init__(columns, lines)
        self._answer = answer

    def write_process_input(self, data: str) -> None:
        self._answer(data)


class Terminal:
    def __init__(self, folder: Path, *arguments: str, **more: str) -> None:
        self._ours, theirs = pty.openpty()
        self.at_first = self.modes()
        lines, columns = int(more.get("LINES", "24")), int(more.get("COLUMNS", "80"))
        termios.tcsetwinsize(self._ours, (lines, columns))
        self._screen = Screen(columns, lines, self.type)
        self._stream = pyte.Stream(self._screen)
        self._process = Process(arguments, environment(folder, TERM="xterm", **more), folder, (theirs,) * 3)
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

    @property
    def screen(self) -> str:
        """What is seen on it, without the lines that are empty."""
        return "\n".join(line.rstrip() for line in self._screen.display if line.strip())

    @property
    def column(self) -> int:
        """Where the cursor is on its line."""
        return int(self._screen.cursor.x)

    def shows(self, pattern: str) -> str:
        """Wait until that is seen; gives what is seen then."""
        end = time.monotonic() + START_SECONDS
        while re.search(pattern, self.screen) is None:
            assert time.monotonic() < end, f"no {pattern!r} on the screen:\n{self.screen}"
            self._read(0.2)
        return self.screen

    def type(self, text: str, shows: str = "") -> str:
        """Type, and wait until that is seen; gives what is seen then."""
        data = text.encode()
        for start in range(0, len(data), 1_000):  # what it writes meanwhile is taken, or both would wait
            os.write(self._ours, data[start : start + 1_000])
            if start:
                self._read(0.01)
        return self.shows(shows) if shows else ""

    def ended(self) -> int:
        """Wait for its end, reading what it writes as a terminal does; gives the exit code."""
        end = time.monotonic() + START_SECONDS
        while True:
            self._read(0)
            try:
                code = self._process.wait(0.02)
            except TimeoutError:
                assert time.monotonic() < end, f"it still runs:\n{self.screen}"
            else:
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
            self._stream.feed(words)
            self.text += words
            self.everything += words
            seconds = 0


@contextmanager
def serving(folder: Path, *, until: str = '"ready"', **more: str) -> Iterator[Process]:
    """The program serving on a folder, from when its log says `until` on, for as long as the block lasts."""
    log = folder / "service.log"
    with log.open("wb") as errors, Path(os.devnull).open("r+b") as nothing:
        streams = (nothing.fileno(), nothing.fileno(), errors.fileno())
        process = Process(("run", "--log-json"), environment(folder, **more), folder, streams)
    try:
        end = time.monotonic() + START_SECONDS
        while until not in log.read_text("utf-8"):
            assert time.monotonic() < end, log.read_text("utf-8")
            time.sleep(0.02)
        yield process
    finally:
        process.kill()
        process.wait()
