"""What the command line says to every benchmark."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Options:
    """How often and how much; `quick` makes everything a tenth, for trying a benchmark out."""

    rounds: int = 3
    quick: bool = False
    locomo: Path | None = None
    model: str = ""

    def scaled(self, count: int) -> int:
        return max(count // 10, 2) if self.quick else count
