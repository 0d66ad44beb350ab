"""What the command line says to every benchmark, and how each of its rounds is run."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Options:
    """How often and how much; `quick` makes everything a tenth, for trying a benchmark out."""

    rounds: int = 3
    quick: bool = False
    locomo: Path | None = None
    model: str = ""

    def scaled(self, count: int) -> int:
        return max(count // 10, 2) if self.quick else count


def in_folder(work: Callable[[Path], Coroutine[Any, Any, T]]) -> T:
    """Run something in a folder of its own."""
    with TemporaryDirectory() as folder:
        return asyncio.run(work(Path(folder)))
