"""`/memory edit` of blocks that have fields: each by itself, in a form."""

from pathlib import Path

from tests.service.approvals.approvals import started
from tests.service.live_service import Live
from tests.wire.discord import Answered

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
            "Updated harvest. Block garden is now"
            in (
                await t.olga.submit_modal(await opened(t, "harvest"), {"text": '{"what": "plums"}\n{"what": "pears"}'})
            ).text
        )
        assert "## harvest\n1. what: plums\n2. what: pears\n" in await shown(t)
        form = await opened(t, "sky.signs")
        assert (
            "Updated sky.signs. Block garden is now"
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
        assert "A form can hold 4,000 characters, but this has 4,500: name one `field` of it" in said.text
        assert "ask the agent for the change" in said.text
        assert "use a terminal" in said.text
        said = await t.ana.command("memory edit", {"label": "garden", "field": "notes"}, t.general)
        assert (said.modal, "not about you" in said.text) == (None, True)
