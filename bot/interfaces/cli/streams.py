"""Standard input and output, which may be missing, not a terminal, in another encoding, or closed by their reader."""

import io
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager

if sys.platform != "win32":
    import termios


_BEGINNING = re.compile(r" *(?:->? )?(?:\S+ {2,})?")
"""The prefix of a line: spaces, a dash, or a label in its own column."""


def typed() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def is_interactive() -> bool:
    """Whether a person reads and types at a terminal."""
    return typed() and sys.stdout is not None and sys.stdout.isatty()


def wrapped(text: str) -> str:
    """The text for a terminal, with long lines broken at spaces, so that the terminal breaks no word."""
    if not is_interactive():
        return text
    width = shutil.get_terminal_size().columns
    return "\n".join(_wrapped(line, width) if len(line) > width else line for line in text.split("\n"))


def _wrapped(line: str, width: int) -> str:
    begins = _BEGINNING.match(line)
    indent = " " * (begins.end() if begins and 0 < begins.end() < width // 2 else 2)
    filled = textwrap.fill(
        line, width, subsequent_indent=indent, replace_whitespace=False, break_long_words=False, break_on_hyphens=False
    )
    return filled + line[len(line.rstrip(" ")) :]  # a space before the input


@contextmanager
def without_echo() -> Iterator[None]:
    """Keep input typed before the line editor starts, without echoing it. Ctrl-C works meanwhile."""
    if sys.platform == "win32" or not is_interactive():
        yield
        return
    before = termios.tcgetattr(sys.stdin)
    input_modes, output_modes, control_modes, local_modes, *others = before
    kept = local_modes & ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(sys.stdin, termios.TCSANOW, [input_modes, output_modes, control_modes, kept, *others])
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSANOW, before)


def parse_yes(said: str) -> bool | None:
    """Whether an answer in any of our languages means yes or no; None if it is neither."""
    word = said.strip().casefold()
    return True if word in ("y", "yes", "j", "ja", "はい") else False if word in ("n", "no", "nein", "いいえ") else None


def says_everything() -> bool:
    """Whether every character can be written to standard output."""
    return sys.stdout is None or "utf" in sys.stdout.encoding.lower()


def be_lenient() -> None:
    """Write a question mark for characters that standard output cannot encode, instead of failing."""
    if isinstance(sys.stdout, io.TextIOWrapper) and not says_everything():
        sys.stdout.reconfigure(errors="replace")


def drop_output() -> None:
    """Discard unwritten output of a closed standard output, so that the process can end without an error."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class CapturedOutput(io.TextIOWrapper):
    """Collects output, in the encoding of standard output, until it is taken."""

    def __init__(self) -> None:
        self._taken = io.BytesIO()
        super().__init__(self._taken, sys.stdout.encoding, errors="replace", newline="", write_through=True)

    def take(self) -> str:
        """Return what was written since the last call."""
        text = self._taken.getvalue().decode(self.encoding)
        self._taken.seek(0)
        self._taken.truncate()
        return text
