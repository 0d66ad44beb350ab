"""What commands suggest while somebody types: what they could name there, and nothing that they may not see."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.service.live_service import NO_MERGING, Live, started
from tests.wire.discord import Person

TOML = """
[[agents]]
name = "Carina"
rules = [{ rule = "requires_consent", tool = "recall" }]
[[agents]]
name = "Vega"
[[groups]]
name = "Main"
members = ["Carina", "Vega"]
default = true
"""


async def offered(person: Person, command: str, option: str, typed: str = "") -> list[str]:
    """The values that are suggested in direct messages."""
    return [str(choice.value) for choice in await person.autocomplete(command, option, typed)]


async def chosen(person: Person, command: str, option: str, typed: str) -> str:
    """Do what is suggested for that; the words that come of it."""
    (value,) = await offered(person, command, option, typed)
    return (await person.command(command, {option: value})).text


async def test_what_somebody_has_is_suggested_to_them_alone(tmp_path: Path) -> None:
    async with started(tmp_path, NO_MERGING, TOML, scripted=False) as t:
        ana, olga = t.ana, t.olga
        for title in ("buy milk", "buy bread"):
            await ana.command("tasks add", {"title": title})
        await ana.command("remind me", {"text": "water the ferns", "when": "in 2 hours"})
        await ana.command("events add", {"title": "the fair", "when": "in 90 days"})
        await olga.command("admin budget set", {"of": "agent:Vega", "tokens": 5})
        assert len(await offered(ana, "tasks done", "task")) == 2
        for command, option in (("tasks done", "task"), ("remind cancel", "reminder"), ("events cancel", "event")):
            assert await offered(olga, command, option) == []
        await olga.command("admin coord assign", {"task": "count the ferns", "agent": "Vega"})
        assert "Done: buy milk" in await chosen(ana, "tasks done", "task", "MILK")
        assert "Canceled: buy bread" in await chosen(ana, "tasks cancel", "task", "bread")
        (ferns,) = await ana.autocomplete("remind cancel", "reminder", "fern")
        assert ferns.name == "water the ferns, in 2 hours", "so that those with the same text are told apart"
        await chosen(ana, "remind cancel", "reminder", "fern")
        assert await offered(ana, "remind cancel", "reminder") == []
        await chosen(ana, "events cancel", "event", "fair")
        assert await offered(ana, "events cancel", "event") == []
        await chosen(olga, "tasks done", "task", "count")
        assert await offered(olga, "tasks done", "task") == []
        assert await offered(olga, "admin coord handoff", "agent", "veg") == ["Vega"]
        assert await offered(olga, "memory activity", "agent") == ["Carina", "Vega"]
        assert await offered(olga, "admin budget clear", "of") == ["agent:Vega"]
        assert await offered(olga, "admin budget set", "of", "each person") == ["person"]
        await olga.command("admin budget set", {"of": f"person:{ana.id}", "tokens": 5})
        await t.ask(ana, t.general, "<@bot> hello")
        assert await offered(olga, "admin budget clear", "of", "annie") == [f"person:discord:{ana.id}"]
        assert await offered(ana, "admin budget clear", "of") == []
        blocks = (await ana.command("memory list", None, t.general)).text
        assert "`Annie`" in blocks
        assert "discord_" not in blocks
        assert "**Annie** (everybody" in (await ana.command("memory show", {"label": "Annie"}, t.general)).text
        assert (
            await offered(olga, "facts list", "agent", "veg")
            == await offered(ana, "facts add", "agent", "v")
            == ["Vega"]
        )
        for command in ("admin inbox retry", "owner outbox retry", "owner outbox drop"):
            assert await offered(ana, command, "row") == []


async def test_entries_are_found_by_what_they_are_about(offline_archive: Live) -> None:
    t = offline_archive
    for text, label in (("The boat lies at the north pier.", "boat"), ("The car stands in the yard.", "car")):
        form = await t.olga.command("memory archival add")
        assert (await t.olga.submit_modal(form, {"text": text, "label": label})).text.startswith(
            "Carina will remember it"
        )
    found = await t.olga.command("memory archival search", {"text": "where is the boat?"})
    assert found.ephemeral
    said, entry, how = found.text.splitlines()
    assert said == "> The boat lies at the north pier."
    assert entry.startswith("-# stored entry boat, <t:")
    assert how == "-# Searched by words only."
    assert "Nothing was found." in (await t.ana.command("memory archival search", {"text": "boat"})).text


async def test_a_block_its_writers_and_who_may_share_it(offline_archive: Live) -> None:
    t = offline_archive

    async def names(person: Person, command: str, option: str, **given: str) -> list[str]:
        place = t.general if person is t.olga else person.direct
        found = await person.autocomplete(command, option, "", place, options=given)
        return [str(choice.value) for choice in found]

    (label, *_) = await names(t.olga, "memory edit", "label")
    assert label.startswith("Carina/")
    form = await t.olga.command("memory edit", {"label": label}, t.general)
    await t.olga.submit_modal(form, {"text": "My name is Carina."})
    assert await names(t.olga, "memory revert", "writer", label=label) == ["system", f"person:discord:{t.olga.id}"]
    assert await names(t.olga, "memory revert", "writer", label="nothing of that name") == []
    reverted = {"label": label, "writer": f"person:discord:{t.olga.id}"}
    assert " undone (" in (await t.olga.command("memory revert", reverted, t.general)).text
    assert await names(t.olga, "admin memory share", "agent", label=label) == ["Carina", "Vega"]
    assert await names(t.olga, "admin memory unshare", "agent", label=label) == []
    await t.olga.command("admin memory share", {"label": label, "agent": "Vega"}, t.general)
    assert await names(t.olga, "admin memory unshare", "agent", label=label) == ["Vega"]
    assert await names(t.ana, "admin memory unshare", "agent", label=label) == [], "she may not share it"
    ours = await names(t.olga, "admin permits grant", "what")
    assert f"block:{label.removeprefix('Carina/')}" in ours


@pytest.fixture
async def offline_archive(tmp_path: Path) -> AsyncIterator[Live]:
    async with started(tmp_path, NO_MERGING, TOML, scripted=False) as t:
        yield t
