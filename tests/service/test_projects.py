"""`/memory project` on Discord and `carina project` beside a running service: each teaches and sees what is theirs."""

import json
from pathlib import Path

from tests.service.approvals import refused, started
from tests.wire.model import Answer


async def test_a_project_is_done_rated_and_shown_to_the_agent_in_later_turns(tmp_path: Path) -> None:
    async with started(tmp_path) as t:
        refused(await t.olga.command("memory project rate", {"visual": 2}), "There is no finished project")
        told = await t.olga.command("memory project done", {"text": "A game of snake", "tech": "Three.js"})
        assert told.ephemeral
        assert "A game of snake (Three.js)" in told.text
        rated = await t.olga.command("memory project rate", {"visual": 2, "interaction": 5})
        assert "visual 2/5, interaction 5/5" in rated.text
        await t.olga.command("memory project review", {"text": "No test for the empty list"})
        code, out, error = await t.service.run(
            "project", "review", "VERDICT: FAIL\n1. No test for the empty list", "--json"
        )
        assert (code, error) == (0, "")
        (counted,) = json.loads(out)
        t.model.script(Answer("Hello."))
        await t.ask(t.olga, t.olga.direct, "let us begin another")
        prompt = json.dumps(t.model.requests[-1].body)
        assert "learned from previous projects" in prompt
        assert "weak in the last projects, do better: visual" in prompt
        listed = (await t.olga.command("memory project list")).text
        assert "A game of snake" in listed
        offered = await t.olga.autocomplete("memory project forget", "which", "empty list")
        assert counted["id"] in [each.value for each in offered]
        assert await t.ana.autocomplete("memory project forget", "which", "snake", t.general) == []
        assert "snake" not in (await t.ana.command("memory project list", None, t.general)).text
        refused(
            await t.ana.command("memory project forget", {"which": counted["id"]}), "There is nothing with the number"
        )
        code, out, _ = await t.service.run("project", "forget", counted["id"])
        assert (code, "Forgotten: No test" in out) == (0, True)
