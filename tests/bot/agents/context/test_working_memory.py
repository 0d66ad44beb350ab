"""Working memory in real turns: the tool, and what a turn is shown of it."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.models.base import Answer, UserMessage
from bot.services.system.jobs import built_in_jobs
from bot.upkeep.housekeeping import Housekeeping
from memory.knowledge import working_memory
from memory.knowledge.working_memory import By, Entry, NewEntry
from memory.people.audience import Audience, Scope, Trust
from memory.queue.notifications import Place, Speaker
from memory.store.database import Tx
from tests.bot.agents.groups.parts import LED, Cast, told
from tests.bot.parts import (
    ANN,
    BOB,
    HALL,
    NOON,
    OLGA,
    call,
    channel,
    direct,
    guild,
    person,
    private,
    results,
    said,
    says,
)
from tests.bot.stage import Service, Setting, running
from texts import unpacked

GUILD = guild("guild")
ANNEX, ABROAD, ATTIC = channel("annex"), channel("port", of="abroad"), private("attic")
ANNS, OLGAS = direct(ANN, "guild"), direct(OLGA)
_numbers = iter(range(1, 10_000))


async def used(service: Service, place: Place = HALL, speaker: Speaker = ANN, **arguments: Any) -> tuple[str, bool]:
    """What came of one call in a turn of its own."""
    service.model.replies.extend([says("", call("working_memory", **arguments)), says("done")])
    await service.heard(said("go on", next(_numbers), place, speaker))
    return results(service.model.requests[-1])[-1]


async def test_what_is_saved_is_read_listed_found_and_deleted(service: Service) -> None:
    saved = await used(
        service, operation="save", key="draft", content="Dear bank", ttl_minutes=10, category="mail", tags=["bank"]
    )
    assert saved == ("saved as session/discord:hall/draft, expires in 10 min", True)
    listed = "- session/discord:hall/draft: expires in 10 min, category: mail, tags: bank"
    assert await used(service, operation="list") == (listed, True)
    text, _ = await used(service, operation="get", key="draft")
    assert text == f'{listed}\n<quoted from="working memory, session/discord:hall/draft">\nDear bank\n</quoted>'
    text, _ = await used(service, operation="search", query="banks", category="mail")
    assert f"{listed}: Dear bank" in text
    nothing = "Nothing found. Searched: 1 entry under session/discord:hall.", True
    assert await used(service, operation="search", query="giraffe") == nothing
    assert await used(service, operation="search", query="bank", tags=["work"]) == nothing
    assert await used(service, operation="delete", key="draft") == ("deleted: session/discord:hall/draft", True)
    gone = await used(service, operation="get", key="draft")
    assert gone == (
        "nothing is kept as session/discord:hall/draft here: it expired, or never was; list shows what there is",
        False,
    )


@pytest.mark.parametrize("minutes", [-1, 1e7, 10**30, float("nan"), float("inf")])
async def test_no_time_is_so_odd_that_nobody_is_answered(service: Service, minutes: float) -> None:
    text, worked = await used(service, operation="save", key="a", content="for ever", ttl_minutes=minutes)
    assert (text.startswith("an entry is kept for up to 7 days"), worked) == (True, False)


async def test_what_expired_is_not_read_and_not_shown_before_any_sweep(service: Service) -> None:
    await used(service, operation="save", key="a", content="for a moment")
    service.clock.forward(299)
    assert "for a moment" in (await used(service, operation="get", key="a"))[0]
    service.clock.forward(1)
    assert not (await used(service, operation="get", key="a"))[1]
    assert (await used(service, operation="list"))[0] == "Nothing is kept under session/discord:hall here."
    assert await service.column("SELECT count(*) FROM items WHERE kind = 'working'") == [1]


@pytest.mark.parametrize(
    ("reader", "speaker", "reads"),
    [(ANNEX, BOB, True), (ATTIC, BOB, True), (ABROAD, BOB, False), (ANNS, ANN, True), (OLGAS, OLGA, True)],
    ids=["another channel", "a private channel of it", "another guild", "her messages", "the owner"],
)
async def test_another_conversation_reads_it_by_its_path_within_the_audience(
    service: Service, reader: Place, speaker: Speaker, reads: bool
) -> None:
    await used(service, operation="save", key="a", content="the hall's")
    path = "session/discord:hall"
    text, ok = await used(service, reader, speaker, operation="get", key=f"{path}/a")
    assert (ok, "the hall's" in text) == (reads, reads)
    text, _ = await used(service, reader, speaker, operation="list", key="session")
    assert (path in text) is reads
    text, _ = await used(service, reader, speaker, operation="search", key="session", query="hall's")
    assert ("- session" in text) is reads


async def test_who_reads_what_is_not_to_be_trusted_is_trusted_no_further(service: Service) -> None:
    stranger = person("Zed", Trust.STRANGER)
    await used(service, HALL, stranger, operation="save", key="a", content="trust me", ttl_minutes=60)
    await used(service, operation="get", key="a")
    assert (await service.column("SELECT trust FROM turns ORDER BY id"))[-1] == Trust.STRANGER
    await used(service, operation="save", key="b", content="mine")
    kept = await service.column("SELECT trust FROM items WHERE kind = 'working' ORDER BY id")
    assert kept == [Trust.STRANGER, Trust.APPROVED]


async def test_what_a_person_asks_to_forget_is_not_kept_for_a_while_either(service: Service) -> None:
    service.model.replies.extend(
        [
            says("", call("recall", "1", operation="insert", content="the code is 1234", label="code")),
            says("", call("working_memory", "2", operation="save", key="code", content="1234")),
            says("Noted."),
        ]
    )
    await service.heard(said("keep my code 1234", 90_001))
    service.model.replies.extend(
        [
            says("", call("working_memory", "1", operation="save", key="again", content="1234")),
            says("", call("recall", "2", operation="delete", label="code", forget_words=True)),
            says("Forgotten."),
        ]
    )
    await service.heard(said("forget the code", 90_002))
    assert await service.column("SELECT key FROM items WHERE kind = 'working'") == []


def tail(service: Service, request: int = -1) -> str:
    """What the newest message of people in a request came with."""
    return next(m.text for m in reversed(service.model.requests[request].messages) if isinstance(m, UserMessage))


def keep(namespace: str, key: str, audience: Audience = GUILD, **more: Any) -> Callable[[Tx], Entry]:
    by = By(Scope(audience), Trust.AGENT, NOON, namespace=namespace)
    return lambda tx: working_memory.save(tx, by, NewEntry(key, "words", **{"ttl": timedelta(hours=4), **more}))


async def test_a_turn_of_people_is_shown_keys_and_never_what_they_hold(service: Service) -> None:
    await used(service, operation="save", key="draft", content="Dear bank", category="mail", tags=["bank"])
    await service.write(keep("session/discord:annex", "draft"))
    await service.write(keep("patrol/heartbeat", "alerts", category="patrol-finding"))
    await service.write(keep("subagent/7", "notes"))
    await service.write(keep("subagent/7", "notes-index"))
    await service.write(keep("patrol/abroad", "alerts", guild("abroad")))
    await used(service, ANNEX, operation="save", key="shared/move/list", content="boxes", ttl_minutes=60)
    service.clock.forward(60)
    await service.heard(said("what is there?", 90_003))
    text = tail(service)
    own = '<quoted from="your working memory, session/discord:hall">\n'
    assert f"{own}- draft: expires in 4 min, category: mail, tags: bank\n</quoted>" in text
    assert (
        '<quoted from="working memory of others">\n'
        "- patrol/heartbeat/alerts: expires in 3 h 59 min, category: patrol-finding\n"
        "- subagent/7/notes-index: expires in 3 h 59 min\n"
        "- shared/move/list: expires in 59 min\n</quoted>"
    ) in text
    assert "Dear bank" not in text
    system = service.model.requests[-1].system
    assert "draft" not in system
    assert system == service.model.requests[0].system, "nothing of it stands in what a provider has in its cache"


async def test_a_member_at_its_task_keeps_things_apart_and_its_index_is_listed_to_people(tmp_path: Path) -> None:
    def keeps(key: str) -> Answer:
        return says("", call("working_memory", key, operation="save", key=key, content="newts", ttl_minutes=60))

    task = says("", call("delegate", agent="Bee", task="count the newts"))
    model = Cast(Ant=[task, "Seven.", "See there."], Bee=[keeps("newts"), keeps("newts-index"), "Seven newts."])
    toml = LED.replace("tools = []", 'tools = ["working_memory"]')
    async with running(tmp_path, Setting(model, toml=toml)) as service:
        await service.write(keep("session/discord:hall", "of-people"))
        await service.write(keep("shared/pond", "for-all"))
        await service.heard(said("how many newts?", 1))
        (part,) = await service.column("SELECT turn_id FROM group_parts WHERE kind = 'task'")
        keys = await service.column(
            "SELECT key FROM items WHERE kind = 'working' AND key GLOB 'subagent/*' ORDER BY id"
        )
        assert keys == [f"subagent/{part}/newts", f"subagent/{part}/newts-index"]
        shown = told(model.of("Bee")[0])
        assert ("of-people" in shown, "shared/pond/for-all" in shown) == (False, True)
        await service.heard(said("where does that stand?", 2))
        shown = told(model.of("Ant")[-1])
        assert f"- subagent/{part}/newts-index: expires in 60 min" in shown
        assert f"subagent/{part}/newts:" not in shown


async def test_what_expired_is_deleted_hourly_in_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.upkeep.housekeeping._AT_ONCE", 5)
    async with running(tmp_path) as service:
        runner = service.runner(Housekeeping().kinds())
        await service.schedule(runner, built_in_jobs("UTC")).prepare()
        for number in range(12):
            await service.write(keep("session/a", str(number), ttl=timedelta(minutes=5)))
        await service.write(keep("session/a", "stays"))
        left = "SELECT count(*) FROM items WHERE kind = 'working'"
        service.clock.forward(34 * 60)
        await runner.tick()
        assert await service.column(left) == [13], "not before its time"
        counts = []
        for seconds in (60, 1, 1):
            service.clock.forward(seconds)
            await runner.tick()
            counts += await service.column(left)
        assert counts == [8, 3, 1]
        row = "SELECT last_outcome, last_detail, next_at FROM jobs WHERE id = 'upkeep.working'"
        ((outcome, detail, after),) = [tuple(each) for each in await service.rows(row)]
        assert (outcome, unpacked(detail)) == ("run", "2 expired entries deleted from working memory")
        assert after == "2026-11-22T13:35:00.000Z"
