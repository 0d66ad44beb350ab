"""What tests of approvals share: a bell that needs a yes, and the answers."""

from datetime import timedelta
from typing import Any

from bot.agents.context.quotes import say
from bot.agents.permissions.approval_requests import Ruling, Terms
from bot.agents.permissions.calls_needing_approval import Caution
from bot.agents.permissions.roles_and_rights import Approver, People
from bot.agents.tools.base import Arguments, Outcome, StoreTool, ToolContext
from bot.app import App
from bot.services.caller import owner_at_terminal
from bot.services.status_texts import ServiceStatus
from memory import permission_requests
from memory.people import audience
from memory.people.audience import Scope, Trust
from memory.permission_requests import Kind, Request, Verdict
from memory.store.clock import utc_now
from memory.store.database import Tx
from memory.store.ids import AgentId, GroupId, PlaceId, RequestId, TurnId
from sources.terminal import PERSON, PLACE
from tests.bot.parts import BOB, OLGA, ScriptedModel, call, said, says
from tests.bot.stage import OWNERS_PLACE, Service, Setting, private_place

OWNER = Approver(OLGA.id, "Olga", interface="button")
STRANGER = Approver(BOB.id, "Bob", interface="button")


class RingArguments(Arguments):
    times: int = 1
    note: str = ""


class Bell(StoreTool[RingArguments]):
    """Rings; every stroke is a row, so that a test sees how often it rang."""

    name = "bell"
    description = "Rings the bell."
    arguments: type[Arguments] = RingArguments
    caution = Caution(trusted=Trust.OWNER, bound=("times",))

    def work(self, tx: Tx, context: ToolContext, arguments: RingArguments) -> Outcome:
        tx.run("CREATE TABLE IF NOT EXISTS strokes (turn INTEGER)")
        tx.run("INSERT INTO strokes VALUES (?)", (context.turn.id,))
        return Outcome(say("it rang {times} times", times=arguments.times))


def ring(identifier: str = "", **more: Any) -> Any:
    return call("bell", identifier, **(more or {"times": 1}))


async def strokes(service: Service) -> int:
    made = await service.column("SELECT count(*) FROM sqlite_master WHERE name = 'strokes'")
    return len(await service.rows("SELECT * FROM strokes")) if made == [1] else 0


async def waiting(service: Service) -> int:
    """The id of the only request that waits."""
    return int((await service.column("SELECT id FROM permission_requests WHERE status = 'waiting'"))[-1])


async def rung(service: Service) -> int:
    """Somebody asks for the bell; the request that waits then."""
    await service.heard(said("ring the bell", 1))
    return await waiting(service)


async def answer(service: Service, request: int, verdict: Verdict = Verdict.ONCE, who: Approver = OWNER) -> Ruling:
    ruling = await service.approvals.answer(request, who, verdict)
    await service.settled()
    return ruling


def ringing(people: People | None = None, *places: PlaceId, **arguments: Any) -> Setting:
    """A bell that needs a yes: of these people, asked in the owner's messages or else in these places."""
    model = ScriptedModel(says("", ring(**arguments)), says("It waits for Olga."), says("Rung."))
    terms = None if people is None else Terms(people, (OWNERS_PLACE.id, *places), private_place)
    return Setting(model=model, tools=[Bell()], terms=terms)


async def status(app: App) -> ServiceStatus:
    found = await app.services.registry.call("status", owner_at_terminal(), {})
    assert isinstance(found, ServiceStatus)
    return found


def asked(tx: Tx, agent: AgentId, group: GroupId, number: int) -> RequestId:
    """A request that waits for the owner at the terminal."""
    arguments = '{"query": "x"}'
    request = Request(
        id=permission_requests.new_request_id(), kind=Kind.TOOL, subject="recall", agent=agent, group=group,
        turn=TurnId(number + 1), call=f"call-{number}", tool="recall", arguments=arguments,
        digest=permission_requests.digest_of("recall", arguments), covers=((Kind.TOOL, "recall", ""),), pattern={},
        reason="the agent's configuration says so", place=PLACE.id, person=PERSON, hearers=Scope(audience.OWNER),
        trust=Trust.OWNER, approvers=(PERSON,), quorum=1, once_only=False, created_at=utc_now(),
        expires_at=utc_now() + timedelta(hours=1),
    )  # fmt: skip
    assert permission_requests.ask(tx, request)
    return request.id
