"""What tests of approvals share: a bell that needs a yes, and the answers."""

from typing import Any

from bot.broker import Ruling
from bot.policy import Approver, Caution
from bot.tools.base import Arguments, Outcome, ToolContext
from memory.audience import Trust
from memory.database import Tx
from memory.requests import Verdict
from tests.bot.parts import BOB, OLGA, ScriptedModel, call, says
from tests.bot.stage import Service, Setting

OWNER = Approver(OLGA.id, "Olga", door="button")
STRANGER = Approver(BOB.id, "Bob", door="button")


class RingArguments(Arguments):
    times: int = 1
    note: str = ""


class Bell:
    """Rings; every stroke is a row, so that a test sees how often it rang."""

    name = "bell"
    description = "Rings the bell."
    arguments: type[Arguments] = RingArguments
    caution = Caution(trusted=Trust.OWNER, bound=("times",))

    def work(self, tx: Tx, context: ToolContext, arguments: RingArguments) -> Outcome:
        tx.run("CREATE TABLE IF NOT EXISTS strokes (turn INTEGER)")
        tx.run("INSERT INTO strokes VALUES (?)", (context.turn.id,))
        return Outcome(f"it rang {arguments.times} times")


def ring(identifier: str = "", **more: Any) -> Any:
    return call("bell", identifier, **(more or {"times": 1}))


async def strokes(service: Service) -> int:
    made = await service.column("SELECT count(*) FROM sqlite_master WHERE name = 'strokes'")
    return len(await service.rows("SELECT * FROM strokes")) if made == [1] else 0


async def waiting(service: Service) -> int:
    """The id of the only request that waits."""
    return int((await service.column("SELECT id FROM permission_requests WHERE status = 'waiting'"))[-1])


async def answer(service: Service, request: int, verdict: Verdict = Verdict.ONCE, who: Approver = OWNER) -> Ruling:
    ruling = await service.approvals.answer(request, who, verdict)
    await service.settled()
    return ruling


def ringing(*more: Any) -> Setting:
    model = ScriptedModel(says("", ring()), says("It waits for Olga."), says("Rung."), *more)
    return Setting(model=model, tools=[Bell()])
