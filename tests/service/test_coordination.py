"""`/admin coord`, `/memory activity` and their twins at the terminal; long conversations, over sockets."""

from pathlib import Path

from tests.service.live_service import refused, started
from tests.wire.model import Answer, Call, Calls

AGENTS = """
[[agents]]
name = "Carina"
compaction = { strategy = "recursive_summarization", max_messages = 5, keep_recent = 2 }
[[agents]]
name = "Anchor"
description = "habits and promises"
[[groups]]
name = "Main"
"""
SECRET = "Quetzalcoatl"


def coord(operation: str, **more: str) -> Calls:
    return Calls(Call("coord", {"operation": operation, **more}))


async def test_what_agents_arrange_is_seen_by_those_who_may_know_it(tmp_path: Path) -> None:
    async with started(tmp_path, toml=AGENTS) as t:
        t.model.script(coord("assign", content="mend the fence", agent="Anchor"), Answer("Assigned."))
        await t.ask(t.ana, t.general, "<@bot> the fence is broken", within=45)
        t.model.script(coord("note", content=f"it is {SECRET}", importance="high"), Answer("Noted."))
        await t.ask(t.ana, t.ana.direct, "a secret")
        t.guild.change(t.ana, roles=[t.guild.role("keepers", "manage_guild")])  # to whom Discord shows it there
        assert "mend the fence" in (await t.ana.command("admin coord status", None, t.general)).text
        assert SECRET in (await t.ana.command("admin coord status")).text
        assert SECRET in (await t.ana.command("memory activity")).text
        for command in ("admin coord status", "memory activity", "summary agent"):
            assert SECRET not in (await t.olga.command(command)).text
            assert SECRET not in (await t.olga.command(command, None, t.general)).text
        shown = (await t.olga.command("memory activity", {"kind": "task_assigned"})).text
        assert "Carina assigned a task to Anchor: mend the fence" in shown
        assert "answered" not in shown
        refused(await t.olga.command("memory activity", {"agent": "Moon"}), "no agent “Moon”")
        calls = [Call("search", {"query": word}, f"call_{word}") for word in ("fence", "gate")]
        t.model.script(Calls(*calls), Answer("Nothing."))
        await t.ask(t.ana, t.general, "<@bot> look")
        told = (await t.ana.command("memory activity", None, t.general)).text
        assert [line.endswith("used search (2 times)") for line in told.splitlines() if "used search" in line] == [True]
        assert not [line for line in told.splitlines() if " replied " in line and "unverified" in line]
        assert "mend the fence" in (await t.ana.command("memory activity", None, t.general)).text
        (event,) = await t.service.data("activity", "--kind", "task_assigned")
        assert (event["agent"], event["details"]["assignee"]) == ("Carina", "Anchor")
        out = await t.service.said("activity")
        assert SECRET not in out
        assert "mend the fence" in out


async def test_people_in_charge_arrange_too_and_agents_are_told(tmp_path: Path) -> None:
    async with started(tmp_path, toml=AGENTS) as t:
        refused(await t.ana.command("admin coord note", {"note": "x"}), "Only an admin may assign tasks")
        assert (
            "Added. Any agent can take it."
            in (await t.olga.command("admin coord assign", {"task": "sow peas"}, t.general)).text
        )
        note = {"note": "no loud music", "importance": "high"}
        assert "Noted for all" in (await t.olga.command("admin coord note", note, t.general)).text
        assert "Carina will read it in its next turn." in await t.service.said(
            "coord", "handoff", "the owner is away", "--agent", "Carina"
        )
        t.model.script(Answer("I see."), Answer("I see that too."))
        await t.ask(t.ana, t.general, "<@bot> hello", within=45)
        public = str(t.model.requests[0].messages[-1]["content"])
        assert "sow peas" in public
        assert "The owner noted: no loud music (high)" in public
        assert "the owner is away" not in public
        await t.ask(t.olga, t.olga.direct, "hello")
        assert "- the owner to Carina: the owner is away" in str(t.model.requests[1].messages[-1]["content"])
        assert "- the owner to Carina: the owner is away" in await t.service.said("coord", "status")
        change, to = {"task": "sow peas", "state": "in_progress"}, {"task": "sow peas", "agent": "Anchor"}
        refused(await t.ana.command("tasks change", change, t.general), "There is no task “sow peas”")
        refused(await t.ana.command("tasks change", to, t.general), "There is no task “sow peas”")
        refused(await t.ana.command("tasks done", {"task": "sow peas"}, t.general), "There is no task “sow peas”")
        assert "sow peas – in progress; for anyone" in (await t.olga.command("tasks change", change, t.general)).text
        assert "sow peas – in progress; for Anchor" in (await t.olga.command("tasks change", to, t.general)).text
        assert (
            "sow peas – in progress; for Anchor" in (await t.olga.command("admin coord status", None, t.general)).text
        )
        code, out, warned = await t.service.run("coord", "complete", "sow peas")
        assert (code, "Done: sow peas" in out, "tasks done" in warned) == (0, True, True)
        assert {what for what, rows in (await t.service.data("coord", "status")).items() if rows} == {
            "agents",
            "handoffs",
            "notes",
        }
    assert "Noted for all" in await t.service.said("coord", "note", "said without a service", "--importance", "low")
