"""An agent reads what the others of its group stored: by the owner's leave, for the same ears, and owing to them."""

from datetime import timedelta
from pathlib import Path

from bot.models.base import Answer
from bot.services.caller import owner_at_terminal
from bot.services.people.approvals import GrantPermit
from memory.store.clock import to_text
from tests.bot.agents.groups.parts import Cast, agents
from tests.bot.parts import ANN, BOB, NOON, OLGA, call, channel, deleted, direct, results, said, says
from tests.bot.stage import Service, Setting, running

TEAM = agents("Ant", "Bee", "Cat").replace("tools = []", 'tools = ["recall"]') + (
    '[[groups]]\nname = "Team"\nmembers = ["Ant", "Bee"]\ndefault = true\n'
    '[[groups]]\nname = "Alone"\nmembers = ["Cat"]\n'
)
HALL = channel("hall", "10")
LOOK = says("", call("recall", operation="observations"))
PATTERN = "Afternoons after meetings are lost."


def keeps(text: str) -> Answer:
    return says("", call("recall", operation="insert", content=text))


def concludes() -> Answer:
    metadata = {"domain": "meta_patterns", "confidence": 0.85}
    return says("", call("recall", "c2", operation="insert", content=PATTERN, metadata=metadata))


async def allow(service: Service) -> None:
    """The owner lets Bee read what others stored of talk in the hall's server."""
    wanted = GrantPermit(agent="Bee", what="observations", audience=HALL.audience)
    await service.approvals.grant(owner_at_terminal(), wanted)


async def noted(service: Service) -> None:
    """Ant keeps something of Ann's and of Bob's in the hall, something old, and something that Ann said alone."""
    await service.heard(said("Ant: meetings drain me", 1, HALL))
    await service.heard(said("Ant: I need quiet after lunch", 2, HALL, speaker=BOB))
    await service.heard(said("Ant: old news", 3, HALL))
    await service.heard(said("Ant: a secret", 4, direct(ANN)))
    old = to_text(NOON - timedelta(hours=25))
    await service.write(lambda tx: tx.run("UPDATE archival_entries SET created_at = ? WHERE content = 'old'", (old,)))


def ants() -> list[Answer | str]:
    kept = "Ann is drained by meetings", "Bob needs quiet", "old", "the secret is elm"
    return [line for text in kept for line in (keeps(text), "Kept.")]


async def test_without_leave_the_owner_is_asked_and_nothing_is_read(tmp_path: Path) -> None:
    model = Cast(Ant=ants(), Bee=[LOOK, "I asked."])
    async with running(tmp_path, Setting(model, toml=TEAM)) as service:
        await noted(service)
        await service.heard(said("Bee: put it in order", 5, HALL))
        (text, ok) = results(model.requests[-1])[-1]
        assert not ok
        assert "waits for approval" in text
        assert "tell the person in one sentence" in text
        (card,) = [post.text for post in service.platform.posts if "Bee wants to read" in post.text]
        assert "what others in the group “Team” stored" in card


async def test_with_leave_it_reads_what_was_stored_lately_and_may_be_known_there(tmp_path: Path) -> None:
    model = Cast(Ant=ants(), Bee=[LOOK, concludes(), "In order."])
    async with running(tmp_path, Setting(model, toml=TEAM)) as service:
        await noted(service)
        await allow(service)
        await service.heard(said("Bee: put it in order", 5, HALL, speaker=OLGA))
        (text, ok) = results(model.of("Bee")[1])[-1]
        assert ok
        shown = [word in text for word in ("drained by meetings", "Bob needs quiet", "old", "elm")]
        assert shown == [True, True, False, False]
        assert text.startswith("Ant stored:")
        (entry,) = await service.rows("SELECT * FROM archival_entries WHERE content = ?", PATTERN)
        assert '"confidence": 0.85' in entry["metadata"]
        assert {ANN.id, BOB.id} <= set(await service.column(
            "SELECT j.value FROM archival_entries e, json_each(e.metadata, '$._people') j WHERE e.content = ?", PATTERN
        ))  # fmt: skip
        await service.heard(deleted(2, HALL))  # Bob takes his words back
        assert await service.column("SELECT 1 FROM archival_entries WHERE content = ?", PATTERN) == []
        assert await service.column("SELECT count(*) FROM archival_entries WHERE content LIKE 'Ann is%'") == [1]


async def test_leave_is_for_words_of_one_audience_and_ends_when_it_is_taken_back(tmp_path: Path) -> None:
    model = Cast(Ant=ants(), Bee=[LOOK, "Asked.", LOOK, "Asked again."])
    async with running(tmp_path, Setting(model, toml=TEAM)) as service:
        await noted(service)
        await allow(service)
        await service.heard(said("Bee: put it in order", 5, direct(BOB), BOB))
        assert "waits for approval" in results(model.requests[-1])[-1][0]
        await service.write(lambda tx: tx.run("UPDATE permission_grants SET revoked_at = created_at"))
        await service.heard(said("Bee: put it in order", 6, HALL))
        assert "waits for approval" in results(model.requests[-1])[-1][0]
