"""The record of questions, answers and uses stays as it was written."""

import functools
from pathlib import Path

import pytest

from bot.errors import UserError
from memory.database import Tx
from memory.requests import Verdict
from memory.sqlite import driver
from tests.bot.asking import OWNER, STRANGER, answer, ringing, waiting
from tests.bot.parts import said
from tests.bot.stage import running


async def test_the_record_stays(tmp_path: Path) -> None:
    async with running(tmp_path, ringing()) as service:
        await service.heard(said("ring the bell", 1))
        await answer(service, await waiting(service), Verdict.ALWAYS)
        events = [line["event"] for line in reversed(await service.approvals.record(OWNER, 100))]
        assert events == ["asked", "answered", "granted", "used"]
        for statement in ("DELETE FROM permission_audit", "UPDATE permission_audit SET event = 'other'"):
            with pytest.raises(driver.IntegrityError, match="append only"):
                await service.write(functools.partial(Tx.run, sql=statement))
        with pytest.raises(UserError):
            await service.approvals.record(STRANGER, 100)
