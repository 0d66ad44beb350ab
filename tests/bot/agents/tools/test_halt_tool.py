"""`emergency_halt`: asked for, stored, and holding until somebody releases it."""

from pathlib import Path

from bot.agents.permissions.roles_and_rights import Approver
from bot.agents.tools.halt import EmergencyHaltTool
from bot.services.caller import owner_at_terminal
from bot.services.system.halt import Halt
from memory.permission_requests import Verdict
from tests.bot.parts import OLGA, ScriptedModel, call, results, said, says
from tests.bot.requests import waiting
from tests.bot.stage import Service, Setting, running, until

OWNER = Approver(OLGA.id, "Olga", interface="tests")
HALT = call("emergency_halt", reason="two bots talk in circles")


def tool_of(begun: list[Service]) -> EmergencyHaltTool:
    """The tool of a service that is not there yet."""

    async def stop(why: str) -> None:
        await begun[0].halt.stop(why)

    return EmergencyHaltTool(stop)


async def test_it_asks_then_stops_everything_until_it_is_released(tmp_path: Path) -> None:
    begun, replies = list[Service](), [says("", HALT), says("I asked."), says("Back again."), says("Hello.")]
    async with running(tmp_path, Setting(model=ScriptedModel(*replies), tools=[tool_of(begun)])) as service:
        begun.append(service)
        await service.heard(said("stop this", 1))
        assert not service.halt.since
        request = await waiting(service)
        offers = [post.buttons.offers for post in service.platform.posts if post.buttons]
        assert offers == [("once", "deny")], "no lasting yes to this"

        await service.approvals.answer(request, OWNER, Verdict.ONCE)
        await until(lambda: service.halt.since and not service.halt.unstored)
        assert service.halt.halted
        assert await service.constellations.position("halt") == service.halt.since
        service.hear(said("anybody there?", 2))

        await Halt(service.halt, service.router.release, service.database).release(owner_at_terminal())
        await service.settled()
        assert service.platform.texts()[-2:] == ["Back again.", "Hello."]
        assert not service.halt.halted
        *_, (text, ok) = results(service.model.requests[-2])
        assert not ok
        assert "interrupted" in text
