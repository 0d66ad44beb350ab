"""What was found damaged in blocks, for the owner."""

import json
from dataclasses import dataclass
from datetime import datetime

from memory.audience import OWNER, Audience, Scope
from memory.clock import from_text, to_text
from memory.database import Rows


@dataclass(frozen=True)
class Damage:
    """What was wrong with a block, and whether it could be built anew: 'repaired' or 'unreadable'.

    `label` is empty for a block of somebody's direct messages.
    """

    id: int
    label: str
    audience: Audience
    findings: tuple[str, ...]
    outcome: str
    at: datetime

    @property
    def words(self) -> str:
        """For the owner: which block, when, what was found."""
        which = f"block {self.label}" if self.label else "a block of somebody's direct messages"
        return f"{which} was {self.outcome} on {self.at:%Y-%m-%d %H:%M} UTC: {'; '.join(self.findings)}"


def damage_since(rows: Rows, since: datetime) -> list[Damage]:
    """What was found since then, newest first."""
    found = rows.all(
        "SELECT r.id, r.findings, r.outcome, r.at, r.audience, b.label FROM memory_block_repairs r"
        " JOIN memory_blocks b ON b.id = r.block_id WHERE r.at >= ? ORDER BY r.id DESC",
        (to_text(since),),
    )
    return [
        Damage(
            id=row["id"],
            label=row["label"] if Scope(OWNER).may_use(row["audience"]) else "",
            audience=row["audience"],
            findings=tuple(json.loads(row["findings"])),
            outcome=row["outcome"],
            at=from_text(row["at"]),
        )
        for row in found
    ]
