"""The graph and the sweep for contradictions: what a model may bring about there, and what comes to mind by it."""

import json
from pathlib import Path
from typing import Any

import pytest

from bot.models.base import Request
from memory.knowledge import feedback
from memory.knowledge.entries import Entry
from memory.knowledge.feedback import Signal
from memory.knowledge.items import By
from memory.people.audience import Scope, Trust
from memory.store.database import Tx
from tests.bot.parts import ANN, HALL, said, says, told
from tests.bot.upkeep.test_upkeep import GUILD, OLGA_HERSELF, Harness, answers, ground

TRIPLES = "SELECT subject, relation, object FROM graph_triples ORDER BY id"


def triple(source: str, subject: str, relation: str, other: str, kind: str = "thing") -> dict[str, Any]:
    of = {"name": subject, "kind": "person"}
    return {"source": source, "subject": of, "relation": relation, "object": {"name": other, "kind": kind}}


def passes(**by: Any) -> Any:
    """A model that answers each pass with its own words, by the form it is asked for; the others with nothing."""

    def answer(request: Request) -> Any:
        return next((answers(**{of: given}) for of, given in by.items() if f'{{"{of}": ' in request.system), answers())

    return answer


async def triples(g: Harness) -> list[tuple[str, str, str]]:
    return [(row[0], row[1], row[2]) for row in await g.service.rows(TRIPLES)]


async def test_what_entries_say_is_noted_once_and_leads_from_what_somebody_names(tmp_path: Path) -> None:
    said_so = [triple("e1", "Ann", "works at", "Blue Bakery", "group"), triple("e2", "Ann", "owns", "Rex")]
    async with ground(tmp_path, otherwise=passes(triples=said_so), graph=True) as g:
        await g.keep("Ann works at the Blue Bakery", "Ann owns the hound Rex")
        await g.run()
        assert await triples(g) == [("Ann", "works at", "Blue Bakery"), ("Ann", "owns", "Rex")]
        report = await g.report()
        assert ": 2 relations noted." in report
        assert "Left" not in report
        asked = len(g.model.requests)
        await g.run()
        assert len(g.model.requests) == asked, "nothing is new"
        g.service.model.otherwise = says("Woof.")
        await g.service.heard(said("who waits at home for the lady from the Blue Bakery?", 1))
        assert "the hound Rex" in json.dumps([message.text for message in g.service.model.requests[-1].messages])
        await g.call("undo", OLGA_HERSELF)
        assert await triples(g) == []


@pytest.mark.parametrize(
    ("given", "note"),
    [
        ([triple("e1", "Bob", "works at", "Blue Bakery")], "1 of 1 relation, because its entry does not state it"),
        ([triple("e9", "Ann", "works at", "Blue Bakery")], "no usable relation"),
        ([triple("e1", "Ann", "works at", "Blue Bakery", "god")], "no usable relation"),
    ],
)
async def test_what_no_entry_says_is_not_noted(tmp_path: Path, given: list[Any], note: str) -> None:
    async with ground(tmp_path, otherwise=passes(triples=given), graph=True) as g:
        await g.keep("Ann works at the Blue Bakery")
        await g.run()
        assert await triples(g) == []
        assert note in await g.report()


async def test_a_wrong_relation_takes_no_right_one_with_it_and_is_counted(tmp_path: Path) -> None:
    right = triple("e1", "Ann", "works at", "Blue Bakery", "group")
    wrong = [triple("e1", "Ann", "works at", "Bakery", "god"), "Ann works", None, triple("e9", "Ann", "owns", "Rex")]
    async with ground(tmp_path, otherwise=passes(triples=[*wrong, right]), graph=True) as g:
        await g.keep("Ann works at the Blue Bakery")
        await g.run()
        assert await triples(g) == [("Ann", "works at", "Blue Bakery")]
        assert "Skipped: 4 of 5 relations, because their entries do not state them." in await g.report()


ROME, PARIS = "Ann lives in the city of Rome", "Ann lives in the city of Paris"


async def moved(g: Harness) -> list[Entry]:
    (first,) = await g.keep(ROME)
    g.service.clock.forward(3_600)
    (second,) = await g.keep(PARIS)
    return [first, second]


@pytest.mark.parametrize(("wrong", "right", "left"), [("e1", "e2", {PARIS}), ("e2", "e1", {ROME, PARIS})])
async def test_what_is_newer_holds_whatever_a_model_says(
    tmp_path: Path, wrong: str, right: str, left: set[str]
) -> None:
    judge = passes(contradictions=[{"wrong": wrong, "right": right}])
    async with ground(tmp_path, otherwise=judge, contradictions=True) as g:
        await moved(g)
        await g.run()
        assert await g.standing() == left
        if left == {PARIS}:
            assert f"retired because it is no longer true: “{ROME}”" in await g.report()
            await g.call("undo", OLGA_HERSELF)
            assert await g.standing() == {ROME, PARIS}
        else:
            assert "an older entry would win" in await g.report()


async def test_a_persons_correction_holds_against_what_is_newer(tmp_path: Path) -> None:
    judge = passes(contradictions=[{"wrong": "e2", "right": "e1"}])
    async with ground(tmp_path, otherwise=judge, contradictions=True) as g:
        await g.service.heard(said("no, I live in Rome", 1))
        first, _ = await moved(g)
        (message,) = await g.service.column("SELECT id FROM messages WHERE role = 'user'")
        agent = await g.agent()

        def correct(tx: Tx) -> None:
            tx.run("UPDATE archival_entries SET message_id = ? WHERE id = ?", (message, first.id))
            who = agent, ANN.id, HALL.id, None, message
            feedback.note(tx, Signal.CORRECTION, By(Scope(GUILD), Trust.APPROVED, g.service.clock(), *who))

        await g.service.write(correct)
        await g.run()
        assert await g.standing() == {ROME}


async def test_entries_that_share_few_words_meet_by_the_graph(tmp_path: Path) -> None:
    one, other = (
        "Ann lives in Rome, near her mother, in a small flat over a shop",
        "since May it is Paris where Ann lives",
    )
    lives = [triple("e1", "Ann", "lives in", "Rome", "place"), triple("e2", "Ann", "lives in", "Paris", "place")]
    model = passes(triples=lives, contradictions=[{"wrong": "e1", "right": "e2"}])
    async with ground(tmp_path, otherwise=model, graph=True, contradictions=True) as g:
        await g.keep(one)
        g.service.clock.forward(3_600)
        await g.keep(other)
        await g.run()
        shown = [told(request) for request in g.model.requests if "contradict" in request.system]
        assert shown
        assert await g.standing() == {other}
