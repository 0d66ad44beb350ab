"""Standard input and output as they are: absent, no terminal, of another encoding, or closed by who read them."""

import io
import os
import sys


def typed() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def attended() -> bool:
    """Whether somebody sits there who reads and types."""
    return typed() and sys.stdout is not None and sys.stdout.isatty()


def says_everything() -> bool:
    """Whether every character can be written to standard output."""
    return sys.stdout is None or "utf" in sys.stdout.encoding.lower()


def be_lenient() -> None:
    """Write a question mark for what standard output cannot say, rather than end in the middle of an answer."""
    if isinstance(sys.stdout, io.TextIOWrapper) and not says_everything():
        sys.stdout.reconfigure(errors="replace")


def drop_output() -> None:
    """Standard output is lost: what waits to be written goes nowhere, so that the end of the process does not fail."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class CapturedOutput(io.TextIOWrapper):
    """Takes what is written, in the encoding of standard output, until somebody takes it out."""

    def __init__(self) -> None:
        self._taken = io.BytesIO()
        super().__init__(self._taken, sys.stdout.encoding, errors="replace", newline="", write_through=True)

    def take(self) -> str:
        """What came since the last time."""
        text = self._taken.getvalue().decode(self.encoding)
        self._taken.seek(0)
        self._taken.truncate()
        return text
