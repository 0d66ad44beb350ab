"""Requests that outlive the process, and their time."""

from pathlib import Path

from tests.service.live_service import DONE, WAITS, asking_service, decided, said_in
from tests.wire.model import Answer

SOON_OVER = "[approvals]\nexpires_hours = 0.002\n"  # long enough for a card to be seen before


async def test_a_decision_is_carried_out_after_a_kill_that_came_right_behind_it(tmp_path: Path) -> None:
    async with asking_service(tmp_path) as t:
        content = "The auk is back."
        card = await t.waiting(t.ana, t.general, content)
        t.model.default = lambda _: Answer(DONE)
        path = f"/channels/{t.olga.direct.id}/messages/{card.id}"
        t.server.faults.hang("PATCH", path, times=99)
        await t.olga.press(card, "Allow once")
        await t.server.until(lambda: t.server.requests_to("PATCH", path))
        await t.service.kill()
        t.server.faults.clear()
        await t.service.start()
        await t.finished(card, t.general)
        assert decided(t.olga, "Allowed once").search(card.text)
        assert t.times_kept(content) == 1
        assert said_in(t.general) == [WAITS, DONE]


async def test_what_ends_while_nobody_runs_is_told_at_the_next_start(tmp_path: Path) -> None:
    async with asking_service(tmp_path, toml=SOON_OVER) as t:
        content = "The gull is late."
        card = await t.waiting(t.ana, t.general, content, "Nobody answered in time.")
        await t.service.kill()
        await t.expired(t.request_of(content))
        await t.service.start()
        await t.finished(card, t.general, "Nobody answered in time.")
        assert "Expired without an answer" in await t.final(card)
        assert said_in(t.general) == [WAITS, "Nobody answered in time."]
