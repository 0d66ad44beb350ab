"""`/memory` over real sockets: looking, looking back, going back, the form, and who may."""

import pytest

from tests.service.live_service import Live
from tests.wire.discord import Answered, Channel, Person

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
    assert "is now at version 4" in (await memory(t.olga, "rollback", t.general, label="persona", version=2)).text
    assert "I am short." in (await memory(t.olga, "show", t.general, label="persona")).text
    unknown = await memory(t.olga, "rollback", t.general, label="persona", version=77)
    assert "There is no version 77: there are versions 0 to 4" in unknown.text
    done = await memory(t.olga, "revert", t.general, label="persona", writer=f"discord:{t.olga.id}", since="2")
    assert "Undone: changes 2, 3, 4 (" in done.text
    assert "warm, attentive" in (await memory(t.olga, "show", t.general, label="persona")).text


async def test_a_form_keeps_what_was_written_meanwhile(offline_service: Live) -> None:
    t = offline_service
    label = "persona"
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
    looking, changing = {"History", "Who wrote what"}, {"Edit", "Undo or redo", "Share"}
    for person, offered in ((t.ana, looking), (t.olga, looking | changing)):
        listed = (await memory(person, "list", t.general)).shown
        chosen = (await person.select(listed, "Choose one", "persona")).shown
        assert {each["label"] for each in chosen.buttons} == offered
    assert await t.ana.autocomplete("memory edit", "label", "", t.general) == []


async def test_who_wrote_which_part_is_seen_and_ones_own_change_undone_and_done_again(
    offline_service: Live,
) -> None:
    t = offline_service
    await edited(t.olga, t.general, "persona", "one\nBBBB\n")
    await edited(t.olga, t.general, "persona", "one\nzzz\n")
    names = [each.value for each in await t.olga.autocomplete("memory undo", "label", "persona", t.general)]
    assert names == ["persona"]
    done = await memory(t.olga, "undo", t.general, label="persona")
    assert "Undone: change" in done.shown.text
    assert "BBBB" in (await memory(t.olga, "show", t.general, label="persona")).text
    assert "Redone: change" in (await memory(t.olga, "undo", t.general, label="persona", redo=True)).text
    assert "zzz" in (await memory(t.olga, "show", t.general, label="persona")).text
    lines = (await memory(t.olga, "blame", t.general, label="persona")).text.splitlines()
    assert [line for line in lines if ", Olga, " in line and line.endswith("] zzz")], "she never spoke here"
    seen_by_ana = (await memory(t.ana, "blame", t.general, label="persona")).text.splitlines()
    assert [line for line in seen_by_ana if ", the owner, " in line and line.endswith("] zzz")]
    assert "not about you" in (await memory(t.ana, "undo", t.general, label="persona")).text
    reverted = await memory(t.olga, "revert", t.general, label="persona", writer="owner")
    assert "Undone: changes " in reverted.text


async def test_a_form_that_is_refused_gives_back_what_was_written(offline_service: Live) -> None:
    t = offline_service
    assert "is now at version" in await edited(t.olga, t.general, "persona", "one\n")
    open_form = await t.olga.command("memory edit", {"label": "persona"}, t.general)
    await edited(t.olga, t.general, "persona", "one\n" + "x" * 1_500)
    late = await t.olga.submit_modal(open_form, {"text": "one\n" + "y" * 600})
    assert "of 2,000 characters; this adds" in late.text
    assert f"This is what you wrote:\none\n{'y' * 600}" in late.text
