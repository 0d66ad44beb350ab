"""`/facts` over the wire and `carina facts` at the terminal: learned, seen, added, confirmed, corrected, forgotten."""

from pathlib import Path

from tests.service.approvals.approvals import refused, rows, started
from tests.service.live_service import Live
from tests.wire.model import Answer

CAKE, SECRET = "loves apple cake", "loves the Quetzalcoatl"


def number(t: Live, text: str) -> str:
    found = {fact: identifier for identifier, fact in rows(t, "SELECT id, fact FROM facts WHERE superseded_by IS NULL")}
    return str(found[text])


async def test_everybody_sees_what_they_may_know_and_changes_what_is_theirs(tmp_path: Path) -> None:
    async with started(tmp_path) as t:
        for _ in range(2):
            t.model.script(Answer("Noted."))
        await t.ask(t.ana, t.general, "<@bot> I love apple cake.", within=45)
        await t.ask(t.ana, t.ana.direct, "I love the Quetzalcoatl.")
        shown = await t.ana.command("facts list", None, t.general)
        assert shown.ephemeral
        assert CAKE in shown.text
        assert SECRET in (await t.ana.command("facts list")).text
        assert SECRET not in (await t.olga.command("facts list")).text
        assert CAKE in (await t.olga.command("facts list", None, t.general)).text
        cake, secret = number(t, CAKE), number(t, SECRET)
        offered = await t.ana.autocomplete("facts forget", "fact", "apple", t.general)
        assert [choice.value for choice in offered] == [cake]
        other = t.member("Bob")
        refused(await other.command("facts forget", {"fact": cake}, t.general), "You cannot have this forgotten")
        refused(await t.olga.command("facts forget", {"fact": secret}), "There is no fact")
        refused(await t.ana.command("facts confirm", {"fact": "cake"}), "There is no fact cake")
        assert "Confirmed" in (await t.ana.command("facts confirm", {"fact": f"#{cake[-6:]}"}, t.general)).text
        now = {"fact": cake, "text": "loves cherry pie"}
        assert "Now: Preference: loves cherry pie" in (await t.ana.command("facts correct", now, t.general)).text
        assert CAKE not in (await t.ana.command("facts list", None, t.general)).text
        gone = await t.ana.command("facts forget", {"fact": number(t, "loves cherry pie")}, t.general)
        assert gone.text == "Forgotten: loves cherry pie. The message it was learned from stays."
        assert "Kept" in (await t.ana.command("facts add", {"fact": "prefers tea with milk"}, t.general)).text
        assert rows(t, "SELECT audience FROM facts WHERE fact = 'prefers tea with milk'") == [
            (f"person:discord:{t.ana.id}",)
        ]
        refused(await t.ana.command("facts add", {"fact": "tea", "agent": "Moon"}, t.general), "no agent 'Moon'")
