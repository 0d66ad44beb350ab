"""The record of questions, answers and uses stays as it was written."""

import functools
from pathlib import Path

import pytest

from bot.agents.tools import make_tools
from bot.errors import CallError
from bot.services.caller import owner_at_terminal
from bot.services.people.permits import Permits
from memory.requests import Verdict
from memory.store.database import Tx
from memory.store.sqlite import driver
from tests.bot.parts import ANN, said
from tests.bot.requests import answer, ringing, waiting
from tests.bot.services.calling import registry, somebody
from tests.bot.stage import running


async def test_the_record_stays(tmp_path: Path) -> None:
    async with running(tmp_path, ringing()) as service:
        await service.heard(said("ring the bell", 1))
        await answer(service, await waiting(service), Verdict.ALWAYS)
        permits = registry(Permits(service.approvals, make_tools({})))
        record = (await permits.call("permits.audit", owner_at_terminal(), {})).data()
        events = [line["event"] for line in reversed(record)]
        assert events == ["asked", "answered", "granted", "used"]
        for statement in ("DELETE FROM permission_audit", "UPDATE permission_audit SET event = 'other'"):
            with pytest.raises(driver.IntegrityError, match="append only"):
                await service.write(functools.partial(Tx.run, sql=statement))
        with pytest.raises(CallError, match="no operation"):
            await permits.call("permits.audit", somebody(ANN.id), {})
