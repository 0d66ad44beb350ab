"""Budgets in the running service: by command from Discord and the command line, and after a crash between the two."""

import json
from pathlib import Path

import pytest

from tests.service.approvals.approvals import refused, rows, started
from tests.service.live_service import first_of, live_service, one_day, until
from tests.wire.discord.using import Impossible
from tests.wire.model import Answer

FILE = '[[budgets.limits]]\nsubject = "person"\ntokens = 1000000\n'


async def test_the_owner_sets_what_may_be_spent_and_everybody_hears_of_its_end_once(tmp_path: Path) -> None:
    async with started(tmp_path, toml=FILE) as t:
        await one_day()
        t.model.script(Answer("One."))
        assert (await t.ask(t.ana, t.general, "<@bot> hello")).text == "One."
        with pytest.raises(Impossible, match="needs permissions"):
            await t.ana.command("admin budget set", {"of": "constellation", "usd": 0.0}, t.general)
        refused(await t.ana.command("admin budget set", {"of": "constellation", "usd": 0.0}), "Only the owner may")
        refused(await t.olga.command("admin budget set", {"of": "moon", "usd": 1.0}), "A budget is for")
        refused(await t.olga.command("admin budget set", {"of": "agent:Moon", "usd": 1.0}), "There is no agent 'Moon'")
        refused(
            await t.olga.command("admin budget set", {"of": "guild"}), "Give a limit in dollars, in tokens, or both"
        )
        given = await t.olga.command("admin budget set", {"of": "constellation", "usd": 0.0})
        assert (given.ephemeral, given.text) == (True, "From now on: constellation, per day: $0.00.")
        asked = len(t.model.requests)
        told = await t.ask(t.ana, t.general, "<@bot> hello again")
        assert told.text.startswith("Today's budget for answers is used up. Until ")
        assert len(t.model.requests) == asked
        shown = (await t.olga.command("admin cost")).text
        assert "constellation, today: $0.0000 of $0.00 left, not counting 1 unpriced call" in shown
        assert "person, today: " in shown
        code, out, _ = await t.service.run("budget", "list", "--json")
        found = {row["of"]: (row["usd_left"], row["tokens_left"], row["said"]) for row in json.loads(out)}
        assert (code, found["constellation"]) == (0, (0, None, "by command"))
        assert found["person"][2] == "in the configuration"
        code, out, _ = await t.service.run("budget", "clear", "constellation")
        assert (code, "There is no such budget anymore" in out) == (0, True)
        code, _, error = await t.service.run("budget", "clear", "constellation")
        assert (code, "No command set a budget of constellation per day" in error) == (1, True)
        t.model.script(Answer("Two."))
        await t.ana.say(t.general, "<@bot> and now?")
        await t.asked(lambda request: "and now?" in request.last_user)


@pytest.mark.parametrize("fault", first_of(1, "budget.reserve:after", "turn.answer:before", "turn.answer:after"))
async def test_a_crash_between_reserving_and_settling_leaves_no_reservation(tmp_path: Path, fault: str) -> None:
    async with live_service(tmp_path, scripted=True) as t:
        t.configure(toml=FILE)
        t.model.default = lambda _request: Answer("Here.")
        t.service.environment["CARINA_FAULT"] = fault
        await t.service.start()
        await t.ana.say(t.general, "<@bot> hello")
        assert await t.service.ended() < 0
        if fault != "turn.answer:after":
            assert rows(t, "SELECT count(*) FROM budget_reservations") == [(1,)]
        del t.service.environment["CARINA_FAULT"]
        await t.service.start()
        await until(lambda: any(post.text == "Here." for post in t.general.from_bot), what="the answer")
        await t.service.stop()
        assert rows(t, "SELECT count(*) FROM budget_reservations") == [(0,)]
        assert rows(t, "SELECT count(*) FROM model_usage") == [(1,)]
