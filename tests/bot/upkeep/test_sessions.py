"""Sessions: one goes on until nobody spoke for half an hour, then it is put in short."""

from datetime import timedelta
from pathlib import Path

from bot.agents.owner_notices import Notices
from bot.upkeep.housekeeping import Monitor
from memory.knowledge import sessions
from memory.knowledge.sessions import Session
from memory.people.audience import OWNER, Scope
from tests.bot.agents.context.test_context import newest
from tests.bot.parts import ANN, BOB, HALL, OLGA, ScriptedModel, channel, deleted, direct, edited, said, says, two
from tests.bot.stage import OWNERS_PLACE, Service, Setting, running

ANNS, OLGAS = direct(ANN, "guild"), direct(OLGA)
TWO = two("Flux", "Anchor", "discord:42")
WORKED = (
    "Here's what I did: drew the fence anew.\n- used oak instead of pine\nTODO: paint it\nCommitted `ad8ed51` in a/b.py"
)


async def ended(service: Service, scope: Scope | None = None) -> list[Session]:
    """Half an hour later: what is over."""
    service.clock.forward(30 * 60)
    await Monitor(service.database, Notices(OWNERS_PLACE.id), service.clock, service.resume, lambda: None).check()
    return await service.read(lambda rows: sessions.recent(rows, scope or Scope(HALL.audience), 99))


async def test_a_session_that_is_over_is_summarized_with_all_that_was_done(tmp_path: Path) -> None:
    model = ScriptedModel(says(WORKED), says("You are welcome."))
    async with running(tmp_path, Setting(model)) as service:
        await service.heard(said("Draw the fence.", 1))
        service.clock.forward(29 * 60)
        await service.heard(said("Thanks!", 2))
        (found,) = await ended(service)
    assert found.what == "drew the fence anew."
    assert (found.decisions, found.files, found.commits) == (("used oak instead of pine",), ("a/b.py",), ("ad8ed51",))
    assert found.unfinished == ("paint it",)
    assert (found.input_tokens, found.output_tokens) == (20, 10)
    assert (found.audience, found.last_at - found.started_at) == (HALL.audience, timedelta(minutes=29))


async def test_a_session_has_one_place_and_one_audience(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        for number, place in enumerate((HALL, ANNS, channel("yard"), OLGAS, HALL)):
            await service.heard(said(f"word {number}", number, place, OLGA if place is OLGAS else ANN))
        hall = await ended(service)
        owner = await ended(service, Scope(OWNER))
        ann = await ended(service, Scope(ANNS.audience))
    assert sorted(each.what.partition(" —")[0] for each in hall) == ["word 0", "word 2"]
    assert sorted(each.what.partition(" —")[0] for each in owner) == ["word 0", "word 2", "word 3"]
    assert [each.what.partition(" —")[0] for each in ann] == ["word 1"]


async def test_what_is_edited_or_deleted_is_summarized_again_without_it(tmp_path: Path) -> None:
    async with running(tmp_path, Setting(ScriptedModel(*[says(f"Answer {n}.") for n in range(9)]))) as service:
        await service.heard(said("the diamond ring", 1))
        await service.heard(said("and a boat", 2, speaker=BOB))
        assert [each.what for each in await ended(service)] == ["the diamond ring — Answer 1."]
        await service.heard(edited("the silver ring", 1))
        assert await service.column("SELECT what FROM sessions ORDER BY id LIMIT 1") == [""]
        assert "the silver ring — Answer 1." in [each.what for each in await ended(service)]
        await service.heard(deleted(1))
        assert "ring" not in repr(await ended(service))
        assert "and a boat" in repr(await ended(service))


async def test_a_session_without_words_goes(tmp_path: Path) -> None:
    async with running(tmp_path, Setting(ScriptedModel(says("The diamond.")))) as service:
        await service.heard(said("the diamond", 1))
        await service.heard(deleted(1))
        assert await ended(service) == []
        assert await service.column("SELECT count(*) FROM sessions") == [0]


async def test_other_agents_are_told_what_the_last_session_was_about_that_they_may_know(tmp_path: Path) -> None:
    async with running(tmp_path, Setting(ScriptedModel(otherwise=says("Done.")), toml=TWO)) as service:
        await service.heard(said("Draw the fence.", 1))
        service.clock.forward(60)
        await service.heard(said("Hide the diamond.", 2, ANNS))
        await ended(service)
        await service.heard(said("hello", 3, channel("42")))
    roster = newest(service.model.requests[-1])
    assert '- Flux (active today); last: "Draw the fence. — Done."' in roster
    assert "diamond" not in roster
