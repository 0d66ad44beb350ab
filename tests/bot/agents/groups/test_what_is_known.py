"""What a person told one member is found and forgotten by whichever member of that group they meet."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest

from bot.models.base import Call
from bot.models.offline import OfflineModel
from memory.queue.notifications import Speaker
from memory.store.ids import PersonId
from memory.store.records import replace
from tests.bot.agents.groups.parts import Cast, agents
from tests.bot.parts import ANN, BOB, ScriptedModel, call, direct, results, said, says, words_of
from tests.bot.stage import Service, Setting, running

ROUND = agents("Ant", "Bee").replace("tools = []", 'tools = ["recall", "search"]') + (
    '[[groups]]\nname = "Round"\nmembers = ["Ant", "Bee"]\n'
)
ENTRIES = "SELECT content FROM archival_entries"


@pytest.fixture
async def offline(tmp_path: Path) -> AsyncIterator[Service]:
    """Without a model; Ant has stored what Ann said and what Bob said, and it is the turn of Bee."""
    setting = Setting(toml=ROUND)
    setting.model = cast("ScriptedModel", OfflineModel(setting.clock))
    async with running(tmp_path, setting) as service:
        await service.heard(said("remember that my wife is Ava", 1))
        await service.heard(said("Ant: remember that my husband is Kim", 2, speaker=BOB))
        stored = "SELECT a.name || ': ' || e.content FROM archival_entries e JOIN agents a ON a.id = e.agent_id"
        assert sorted(await service.column(stored)) == ["Ant: my husband is Kim", "Ant: my wife is Ava"]
        yield service


async def _last(service: Service) -> tuple[str, str]:
    """The newest answer, with who gave it."""
    row = (await service.outbox())[-1]
    return words_of(row).speaker, row.content


@pytest.mark.parametrize("text", ["who is my wife?", "what do you know about me?"])
async def test_a_member_answers_from_what_the_person_told_another(offline: Service, text: str) -> None:
    await offline.heard(said(f"Bee: {text}", 3))
    name, answer = await _last(offline)
    assert (name, "Ava" in answer, "Kim" in answer) == ("Bee", True, False)
    await offline.heard(said("Bee: what do you know about me?", 4, speaker=BOB))
    name, answer = await _last(offline)
    assert (name, "Ava" in answer, "Kim" in answer) == ("Bee", False, True)


@pytest.mark.parametrize("asked", ["@Ant forget my wife", "Ant: forget my wife"])
async def test_a_yes_counts_whichever_member_hears_it(offline: Service, asked: str) -> None:
    await offline.heard(said(asked, 3))
    assert (await _last(offline))[0] == "Ant"
    assert "- my wife is Ava" in (await _last(offline))[1]
    assert len(await offline.column(ENTRIES)) == 2
    await offline.heard(said("yes", 4))
    name, answer = await _last(offline)
    assert (name, answer.splitlines()[0]) == ("Bee", "Forgotten: what you told me about “my wife”.")
    assert await offline.column(ENTRIES) == ["my husband is Kim"]


async def test_a_member_asks_first_before_it_forgets_what_another_keeps(offline: Service) -> None:
    await offline.heard(said("Bee: forget my wife", 3, speaker=BOB), said("yes", 4, speaker=BOB))
    await offline.heard(said("Bee: forget my wife", 5))
    assert (await _last(offline))[0] == "Bee"
    assert "- my wife is Ava" in (await _last(offline))[1]
    await offline.heard(said("yes", 6, speaker=BOB))
    assert len(await offline.column(ENTRIES)) == 2
    await offline.heard(said("Bee: forget my wife", 7))
    await offline.heard(said("yes", 8))
    assert (await _last(offline))[1].startswith("Forgotten: what you told me")
    assert await offline.column(ENTRIES) == ["my husband is Kim"]


async def test_any_model_finds_reads_and_deletes_it_by_its_id_for_that_person_alone(tmp_path: Path) -> None:
    kept = ("Ann's wife is Ava", "Bob's husband is Kim")
    marks = {"operation": "insert", "category": "people", "tags": ["family"]}
    stored = [says("", call("recall", str(n), content=each, label=f"kin{n}", **marks)) for n, each in enumerate(kept)]
    model = Cast(Ant=[stored[0], "Kept.", stored[1], "Kept."])
    async with running(tmp_path, Setting(model, toml=ROUND)) as service:

        async def does(name: str, number: int, speaker: Speaker, made: Call) -> tuple[str, bool]:
            model.lines[name] = [says("", made)]
            await service.heard(said(f"{name}: go on", number, speaker=speaker))
            return results(model.of(name)[-1])[-1]

        async def bee(number: int, speaker: Speaker, **arguments: str | bool) -> tuple[str, bool]:
            return await does("Bee", number, speaker, call("recall", str(number), **arguments))

        await service.heard(said("Ant: my wife is Ava", 1))
        (entry,) = await service.column("SELECT id FROM archival_entries")
        await service.heard(said("Ant: my husband is Kim", 60, speaker=BOB))
        for number, arguments in enumerate(({"operation": "read"}, {"operation": "query", "query": "wife"}), 2):
            assert f"{entry} (" in (await bee(number, ANN, **arguments))[0]
            assert entry not in (await bee(number + 10, BOB, **arguments))[0]
        wanted = call("search", query="wife", category="people", tags=["family"])
        found, _ok = await does("Bee", 20, ANN, wanted)
        assert "Ann in hall" in found
        assert (await does("Ant", 22, ANN, wanted))[0].count(entry) == 1, "its own are not found twice"
        for number, operation in enumerate(("read", "append", "delete"), 30):
            text, ok = await bee(number, BOB, operation=operation, label=entry, content="Lou")
            assert (text, ok) == (f"there is no entry “{entry}” here", False)
            assert (await bee(number + 10, ANN, operation=operation, label="kin0", content="Lou"))[1] is False
        assert (await bee(21, ANN, operation="append", label=entry, content="and Lou"))[1]
        assert await service.column(ENTRIES) == ["Ann's wife is Ava\nand Lou", "Bob's husband is Kim"]
        assert (await bee(50, ANN, operation="delete", label=entry, forget_words=True))[1]
        assert await service.column(ENTRIES) == ["Bob's husband is Kim"]
        assert await bee(52, ANN, operation="read") == ("Nothing is stored that may be used here.", True)
        shown = [each.text.splitlines() for each in model.of("Bee")[-1].messages]
        assert shown[0] == ["[Ant (another agent) · 2026-11-22 12:00 UTC]", "(removed on request)"]
        told_too = '{"_people": ["discord:\\u00fc"]}'
        await service.write(lambda tx: tx.run("UPDATE archival_entries SET metadata = ?", (told_too,)))
        assert "Kim" in (await bee(51, replace(BOB, id=PersonId("discord:ü")), operation="read"))[0]


async def test_nobody_hears_of_it_where_they_may_not_and_no_agent_outside_the_group(tmp_path: Path) -> None:
    setting = Setting(toml=ROUND + agents("Cat").replace("tools = []", 'tools = ["recall", "search"]'))
    setting.model = cast("ScriptedModel", OfflineModel(setting.clock))
    async with running(tmp_path, setting) as service:
        private = direct(ANN, "guild:guild")
        await service.heard(said("Ant: remember that my wife is Ava", 1, private))
        await service.heard(said("Bee: what do you know about me?", 2))
        assert "Ava" not in service.platform.texts()[-1]
        await service.heard(said("Bee: what do you know about me?", 3, private))
        assert "Ava" in service.platform.texts(private.id)[-1]
        await service.write(lambda tx: tx.run("DELETE FROM group_members WHERE position = 0"))
        await service.heard(said("Bee: what do you know about me?", 4, private))
        assert "Ava" not in service.platform.texts(private.id)[-1]
