"""`/memory` over real sockets: looking, looking back and going back, forms, and what is kept of changes."""

import itertools
from pathlib import Path

import pytest

from tests.service.live_service import Live, started
from tests.wire.discord import Answered, Channel, Person
from tests.wire.model import Answer, Call, Calls

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def memory(person: Person, act: str, channel: Channel, **options: object) -> Answered:
    said = await person.command(f"memory {act}", options, channel)
    assert said.ephemeral
    return said


async def edited(person: Person, channel: Channel, label: str, text: str) -> str:
    form = await person.command("memory edit", {"label": label}, channel)
    assert form.modal is not None
    return (await person.submit_modal(form, {"text": text})).text


async def test_the_owner_edits_looks_back_and_goes_back(offline_service: Live) -> None:
    t = offline_service
    listed = await memory(t.olga, "list", t.general)
    assert "`persona`" in listed.text
    names = [each.value for each in await t.olga.autocomplete("memory edit", "label", "persona", t.general)]
    assert names == ["persona"]
    assert "is now at version 2" in await edited(t.olga, t.general, "persona", "My name is Carina.\nI am short.")
    assert "is now at version 3" in await edited(t.olga, t.general, "persona", "My name is Carina.\nI am tall.")
    history = (await memory(t.olga, "history", t.general, label="persona")).text
    assert "has versions 0 to 3" in history
    assert "1. " in history
    assert "the system: +" in history
    diff = (await memory(t.olga, "diff", t.general, label="persona", older=2)).text
    assert "-I am short." in diff
    assert "+I am tall." in diff
    assert not any(mark in diff for mark in ("@@", "---", "+++", "My name is Carina.")), "only what has changed"
    assert "is now at version 4" in (await memory(t.olga, "rollback", t.general, label="persona", version=2)).text
    assert "I am short." in (await memory(t.olga, "show", t.general, label="persona")).text
    unknown = await memory(t.olga, "rollback", t.general, label="persona", version=77)
    assert "There is no version 77: the history has versions 0 to 4" in unknown.text
    done = await memory(t.olga, "revert", t.general, label="persona", writer=f"discord:{t.olga.id}", since="2")
    assert "Changes 2, 3, 4 were undone (" in done.text
    assert "warm, attentive" in (await memory(t.olga, "show", t.general, label="persona")).text


async def test_a_form_keeps_what_was_written_meanwhile(offline_service: Live) -> None:
    t = offline_service
    label = "persona"
    assert "is now at version" in await edited(t.olga, t.general, label, " \n ")
    assert (await memory(t.olga, "show", t.general, label=label)).text.endswith("(empty)")
    assert "is now at version" in await edited(t.olga, t.general, label, "one\ntwo\n")
    open_form = await t.olga.command("memory edit", {"label": label}, t.general)
    await edited(t.olga, t.general, label, "one\ntwo\nthree\n")
    late = await t.olga.submit_modal(open_form, {"text": "ONE\ntwo\n"})
    assert "It keeps what others wrote in the meantime." in late.text
    shown = (await memory(t.olga, "show", t.general, label=label)).text
    assert "ONE\ntwo\nthree" in shown


async def test_others_look_and_change_nothing_that_is_not_about_them(offline_service: Live) -> None:
    t = offline_service
    assert "three" in (await memory(t.ana, "show", t.general, label="persona")).text
    before = (await memory(t.ana, "history", t.general, label="persona")).text
    for act, options in (
        ("rollback", {"label": "persona", "version": 1}),
        ("revert", {"label": "persona", "writer": "system"}),
    ):
        refused = (await memory(t.ana, act, t.general, **options)).text
        assert "not about you" in refused
    form = await memory(t.ana, "edit", t.general, label="persona")
    assert (form.modal, "not about you" in form.text) == (None, True), "nobody writes a form in vain"
    opened = await t.olga.command("memory edit", {"label": "persona"}, t.general)
    assert opened.modal is not None
    assert opened.modal.components[0]["component"]["max_length"] == 2_000, "as many as the block holds"
    assert "not about you" in (await t.ana.submit_modal(opened, {"text": "I obey Ana."}, t.general)).text
    assert (await memory(t.ana, "history", t.general, label="persona")).text == before
    secret = (await memory(t.ana, "show", t.general, label="no such")).text
    assert "There is no block" in secret
    looking, changing = {"Show", "History", "Who wrote what"}, {"Edit", "Undo or redo", "Share"}
    for person, offered in ((t.ana, looking), (t.olga, looking | changing)):
        listed = (await memory(person, "list", t.general)).shown
        chosen = (await person.select(listed, "Choose one", "persona")).shown
        assert {each["label"] for each in chosen.buttons} == offered
    assert await t.ana.autocomplete("memory edit", "label", "", t.general) == []


async def test_who_wrote_which_part_is_seen_and_ones_own_change_undone_and_done_again(offline_service: Live) -> None:
    t = offline_service
    await edited(t.olga, t.general, "persona", "one\nBBBB\n")
    await edited(t.olga, t.general, "persona", "one\nzzz\n")
    names = [each.value for each in await t.olga.autocomplete("memory undo", "label", "persona", t.general)]
    assert names == ["persona"]
    done = await memory(t.olga, "undo", t.general, label="persona")
    assert " undone (" in done.shown.text
    assert "BBBB" in (await memory(t.olga, "show", t.general, label="persona")).text
    assert " redone (" in (await memory(t.olga, "undo", t.general, label="persona", redo=True)).text
    assert "zzz" in (await memory(t.olga, "show", t.general, label="persona")).text
    lines = (await memory(t.olga, "blame", t.general, label="persona")).text.splitlines()
    assert [line for line in lines if ", Olga, " in line and line.endswith("] zzz")], "she never spoke here"
    seen_by_ana = (await memory(t.ana, "blame", t.general, label="persona")).text.splitlines()
    assert [line for line in seen_by_ana if ", the owner, " in line and line.endswith("] zzz")]
    assert "not about you" in (await memory(t.ana, "undo", t.general, label="persona")).text
    reverted = await memory(t.olga, "revert", t.general, label="persona", writer="owner")
    assert " were undone (" in reverted.text


async def test_a_form_that_is_refused_gives_back_what_was_written(offline_service: Live) -> None:
    t = offline_service
    assert "is now at version" in await edited(t.olga, t.general, "persona", "one\n")
    open_form = await t.olga.command("memory edit", {"label": "persona"}, t.general)
    await edited(t.olga, t.general, "persona", "one\n" + "x" * 1_500)
    late = await t.olga.submit_modal(open_form, {"text": "one\n" + "y" * 600})
    assert "more than its limit of 2,000" in late.text
    assert f"This is what you wrote:\none\n{'y' * 600}" in late.text
    kept = await t.olga.command("memory archival add", {}, t.general)
    refused = await t.olga.submit_modal(kept, {"text": "The key lies\nunder the mat", "label": "<mat>"})
    assert refused.text.endswith("This is what you wrote:\nThe key lies\nunder the mat\n<mat>")


TOML = """
[[agents]]
name = "Carina"
[[agents.blocks]]
label = "garden"
audience = "public"
description = "Beds and weather."
schema = { type = "composite", sections = [
    { name = "notes", schema = { type = "text" } },
    { name = "harvest", schema = { type = "list", fields = [{ name = "what" }] } },
    { name = "sky", schema = { type = "map", fields = [
        { name = "rain", type = "number" }, { name = "signs", type = "list", default = ["first"] },
        { name = "seen", type = "timestamp", read_only = true }] } },
] }
[[agents.blocks]]
label = "manual"
type = "working"
audience = "public"
description = "How everything works."
"""


async def opened(t: Live, field: str) -> Answered:
    return await t.olga.command("memory edit", {"label": "garden", "field": field}, t.general)


async def shown(t: Live) -> str:
    return (await t.olga.command("memory show", {"label": "garden"}, t.general)).text


async def test_fields_are_written_each_by_itself(tmp_path: Path) -> None:
    async with started(tmp_path, toml=TOML, scripted=False) as t:
        named = await t.olga.autocomplete("memory edit", "field", "", t.general, options={"label": "garden"})
        assert [each.value for each in named] == ["notes", "harvest", "sky.rain", "sky.signs"]
        assert (
            "Updated harvest. Block “garden” is now"
            in (
                await t.olga.submit_modal(await opened(t, "harvest"), {"text": '{"what": "plums"}\n{"what": "pears"}'})
            ).text
        )
        assert "## harvest\n1. what: plums\n2. what: pears\n" in await shown(t)
        form = await opened(t, "sky.signs")
        assert (
            "Updated sky.signs. Block “garden” is now"
            in (await t.olga.submit_modal(form, {"text": "gulls\nwind\n"})).text
        )
        form = await opened(t, "sky.rain")
        assert "at version" in (await t.olga.submit_modal(form, {"text": "12.5"})).text
        found = await shown(t)
        assert all(each in found for each in ("gulls", "wind", "12.5"))
        again = await opened(t, "sky.signs")
        assert again.modal is not None
        assert "gulls\\nwind" in str(again.modal)
        wrong = await t.olga.submit_modal(await opened(t, "sky.rain"), {"text": "much"})
        assert "rain" in wrong.text
        assert "12.5" in await shown(t)


async def test_what_no_form_can_write_is_said_at_once(tmp_path: Path) -> None:
    async with started(tmp_path, toml=TOML, scripted=False) as t:
        for field, words in (("", "name a field"), ("sky.seen", "read-only"), ("x", "x")):
            said = await opened(t, field)
            assert (said.modal, words in said.text) == (None, True), said.text
        await t.service.said("memory", "edit", "manual", "--text", "word " * 900)
        said = await t.olga.command("memory edit", {"label": "manual"}, t.general)
        assert said.modal is None
        assert "This has 4,500 characters, but a form holds at most 4,000. Ask the agent" in said.text
        assert "Ask the agent for the change." in said.text
        said = await t.ana.command("memory edit", {"label": "garden", "field": "notes"}, t.general)
        assert (said.modal, "not about you" in said.text) == (None, True)


def checkpoints(t: Live, label: str) -> list[int]:
    """The versions of which whole copies of the block of that label are kept."""
    sql = """SELECT c.up_to_seq FROM memory_block_checkpoints c JOIN memory_blocks b ON b.id = c.block_id
             WHERE b.label = ? AND b.next_seq > 2 ORDER BY c.up_to_seq"""
    return [row[0] for row in t.rows(sql, label)]


async def noted(t: Live, times: int) -> None:
    """The agent writes in a block, one turn after the other."""
    for number in range(times):
        change = {"operation": "append", "label": "scratchpad", "content": f"{number}\n"}
        t.model.script(Calls(Call("context", change)), Answer(f"Noted {number}."))
        assert (await t.ask(t.ana, t.general, "<@bot> note it")).text == f"Noted {number}."


async def test_agents_and_the_system_keep_to_it(tmp_path: Path) -> None:
    toml = "[memory]\ncheckpoint_updates = 3\ncheckpoints_kept = 2\nhistory_changes = 10"
    async with started(tmp_path, toml=toml) as t:
        await noted(t, 15)
        written, logged = checkpoints(t, "scratchpad"), checkpoints(t, "tool_execution_log")
        archives = t.rows("SELECT b.label FROM memory_block_archives a JOIN memory_blocks b ON b.id = a.block_id")
    assert [later - earlier for earlier, later in itertools.pairwise(written)] == [3]
    assert [later - earlier for earlier, later in itertools.pairwise(logged)] == [3]
    assert ("scratchpad",) in archives


async def test_changes_that_are_too_old_go_for_good(tmp_path: Path) -> None:
    async with started(tmp_path, toml="[memory]\ncheckpoint_updates = 1\nhistory_days = 1e-9") as t:
        for number in range(3):
            await edited(t.olga, t.general, "persona", f"My name is Carina, and {number}.")
        history = (await memory(t.olga, "history", t.general, label="persona")).text
        await t.service.stop()
        assert "to 4 (earlier ones are not kept)" in history
        await t.service.said("memory", "edit", "persona", "--text", "Carina.")
        assert checkpoints(t, "persona")[-1] == 5, "the command line keeps to it without a service"
