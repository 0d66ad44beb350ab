"""What models cost: their calls and tokens, and money where the price is known."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from bot import policy
from bot.errors import UserError
from bot.policy import Action, Approver, People
from memory import usage
from memory.amounts import many
from memory.clock import Clock
from memory.constellation import Constellations
from memory.ids import ConstellationId
from memory.usage import Bill, By
from sources.terminal import PERSON

_MOST_DAYS = 3660
_OWNER = Approver(PERSON, door="command line")


@dataclass(frozen=True)
class Costs:
    """The books of one constellation."""

    constellations: Constellations
    house: ConstellationId
    people: People
    clock: Clock

    async def bills(self, days: int, by: By, who: Approver) -> list[Bill]:
        """The calls of the last days, by agent, model or day. Raises UserError."""
        policy.require(self.people, who, Action.COST)
        since = self.clock() - timedelta(days=max(1, min(days, _MOST_DAYS)))
        async with self.constellations.use(self.house) as database:
            return await database.read(lambda rows: usage.bills(rows, since, by))

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """By the names the control socket knows; whoever reaches that socket is the owner."""
        return {"cost": self.owner_bills}

    async def owner_bills(self, days: int = 30, by: str = "model") -> list[dict[str, Any]]:
        """The same as plain data."""
        match by:
            case "agent" | "model" | "day":
                return [bill_data(bill, by) for bill in await self.bills(days, by, _OWNER)]
            case _:
                raise UserError(f"costs are shown by agent, model or day, not by {by!r}")


def bill_data(bill: Bill, by: By) -> dict[str, Any]:
    """One line of the books as plain data."""
    data = asdict(bill)
    return {by: data.pop("of"), **data, "cost_usd": round(bill.cost_usd, 6)}


def bill_lines(bills: list[Bill]) -> list[str]:
    """The books for a person: a line for each, then the sum."""
    if len(bills) > 1:
        total = Bill(
            "together",
            sum(bill.calls for bill in bills),
            sum(bill.input_tokens for bill in bills),
            sum(bill.output_tokens for bill in bills),
            sum(bill.cost_usd for bill in bills),
            sum(bill.unpriced for bill in bills),
        )
        bills = [*bills, total]
    return [_line(bill) for bill in bills]


def _line(bill: Bill) -> str:
    money = f"${bill.cost_usd:.4f}" if bill.unpriced < bill.calls else "price not known"
    if 0 < bill.unpriced < bill.calls:
        money += f" and {many(bill.unpriced, 'call')} whose price is not known"
    tokens = f"{bill.input_tokens:,} tokens in, {bill.output_tokens:,} out"
    return f"{bill.of}: {many(bill.calls, 'call')}, {tokens}, {money}"
