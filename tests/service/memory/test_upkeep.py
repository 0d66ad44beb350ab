"""`/dream` on Discord and `carina dream` beside a running service: what was tidied is told to whom it may be."""

import json
from pathlib import Path

import pytest

from tests.service.live_service import Live, first_of, started, until
from tests.service.memory.test_archive import kept
from tests.wire.model import Answer, Call, Calls, Reply, Request

ALONE = ("My llama, Quetzalcoatl, sleeps", "My llama Quetzalcoatl sleeps")


NEAR = ("Tom the stork came back in spring", "In spring Tom the stork came back again")
MERGE = json.dumps({"merge": [{"sources": ["e1", "e2"], "content": NEAR[1]}]})


@pytest.mark.parametrize(
    "fault",
    first_of(
        2,
        *("dreams.model:after", "dreams.store:before", "dreams.model:before", "dreams.store:after"),
        *("background.settle:before", "background.settle:after"),
    ),
)
async def test_a_death_in_a_run_changes_nothing_or_all_and_the_next_one_goes_on(t: Live, fault: str) -> None:
    for words in NEAR:
        await kept(t, t.ana, t.general, words)
    t.model.default = lambda request: Answer(MERGE if "You tidy" in request.system else "{}")
    async with t.service.dying(fault):
        code, _out, _error = await t.service.run("dream", "run")
        assert code != 0
    await t.service.start()
    standing = "SELECT content FROM archival_entries WHERE archived_at IS NULL ORDER BY n"
    left = [row[0] for row in t.rows(standing)]
    assert left == ([NEAR[1]] if fault == "dreams.store:after" else list(NEAR))
    await t.service.said("dream", "run")
    assert t.rows(standing) == [(NEAR[1],)]
    assert t.rows("SELECT count(*) FROM budget_reservations") == [(0,)]
    assert t.rows("SELECT count(*) FROM dream_runs WHERE outcome = 'done'") == [(1,)]
    retired = "SELECT count(*) FROM archival_entries WHERE superseded_by IN (SELECT id FROM archival_entries)"
    assert t.rows(retired) == [(2,)]


NOTE = "Tom the stork is back and Ana feeds him."
FED = "Ana feeds the stork Tom, a bird"
WRITTEN = json.dumps({"entries": [{"content": FED, "category": "animals"}]})


@pytest.mark.parametrize(
    "fault", first_of(1, "expansion.keep:after", "expansion.keep:before", "dreams.model:before", "dreams.model:after")
)
async def test_what_was_saved_is_written_out_once_wherever_the_service_dies(tmp_path: Path, fault: str) -> None:
    def answers(request: Request) -> Reply:
        if "An agent saved a note" in request.system:
            return Answer(WRITTEN)
        return Answer("Saved.") if request.results else Calls(Call("save_memory", {"content": NOTE}))

    async with started(tmp_path) as t:
        t.model.default = answers
        async with t.service.dying(fault):
            # It is written out beside the turn that saved it: the service may die before that turn has answered.
            said = await t.ana.say(t.general, f"<@bot> {NOTE}")
        standing = "SELECT content FROM archival_entries ORDER BY n"
        assert t.rows(standing) == [(NOTE,), (FED,)][: 2 if fault == "expansion.keep:after" else 1]
        t.change("UPDATE jobs SET held_until = '2020-01-01T00:00:00.000Z' WHERE holder IS NOT NULL")
        await t.service.start()
        over = "SELECT status FROM jobs WHERE kind = 'expand' AND last_detail LIKE '%1 entry created%'"
        await until(lambda: t.rows(over) == [("done",)], what="it is written out")
        assert t.rows(standing) == [(NOTE,), (FED,)]
        assert (await t.general.wait_for_bot(after=said)).text == "Saved."
        assert len(t.general.from_bot) == 1
        text = (await t.ana.command("memory archival list", None, t.general)).text
        assert FED in text


async def test_what_is_sensitive_is_asked_for_by_a_card_that_works_after_a_restart(tmp_path: Path) -> None:
    words = "Olga takes her pills at eight."
    wish = {"content": words, "strength": "strong", "sources": ["m1"], "sensitive": True}
    wishes = json.dumps({"preferences": [wish]})
    async with started(tmp_path) as t:
        t.model.default = lambda request: Answer(wishes if "Infer lasting" in request.system else "{}")
        t.model.script(Answer("Noted."))
        answer = await t.ask(t.olga, t.olga.direct, "I always take my pills at eight")
        await t.service.said("dream", "run")
        ((job,),) = t.rows("SELECT id FROM jobs WHERE kind = 'preference'")
        await t.service.run("jobs", "run", job)
        card = await t.olga.direct.wait_for_bot(after=answer)
        assert words in card.text
        assert [button["label"] for button in card.buttons] == ["Use it", "Forget it"]
        await t.service.restart(kill=True)
        standing = "SELECT content FROM archival_entries WHERE archived_at IS NULL"
        assert t.rows(standing) == []
        pressed = await t.olga.press(card, "Use it")
        assert f"I'll use it from now on: {words}" in pressed.text
        assert t.rows(standing) == [(words,)]
        await until(lambda: t.olga.direct.from_bot[-1].buttons == [], what="the card has no buttons any more")
        assert t.olga.direct.from_bot[-1].text.startswith("✓ I'll use it from now on")
        assert t.general.from_bot == []


@pytest.mark.parametrize("side", first_of(1, "after", "before"))
async def test_a_death_in_a_rating_is_made_good_by_the_next_run(t: Live, side: str) -> None:
    left = "SELECT count(*) FROM items WHERE kind = 'evaluation'"
    t.model.default = lambda request: Answer("{}" if "quoted" in request.system else "Hello.")
    await t.ask(t.olga, t.olga.direct, "hello")
    await t.service.stop()
    t.change("UPDATE sessions SET ended = 1, what = 'greeting'")
    async with t.service.dying(f"evaluations.keep:{side}"):
        await t.service.run("jobs", "run", "feedback.sessions")
    assert t.rows(left) == [(int(side == "after"),)]
    t.change("UPDATE jobs SET held_until = '2020-01-01T00:00:00.000Z' WHERE holder IS NOT NULL")  # its lease is over
    await t.service.start()
    await until(lambda: t.rows(left) == [(1,)], what="the conversation is rated")
