"""The 54 cases of Open Office's own memory tests, by their numbers: each holds, or the specification changes it."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from bot.agents.context.interrupted_work import recovery_text, state_of
from bot.agents.context.recalled_knowledge import OWN_HEAD, PROJECTS_HEAD, SHARED_HEAD, Knowledge, knowledge_parts
from bot.agents.context.situation import roster_lines
from memory.activity import Neighbor
from memory.knowledge import fact_comparison as comparison
from memory.knowledge import fact_extraction as extraction
from memory.knowledge import facts, project_learnings, sessions, work_extraction
from memory.knowledge.fact_comparison import Relation
from memory.knowledge.fact_extraction import Category, Statement
from memory.knowledge.facts import Fact, Source, Step
from memory.knowledge.items import By, Kind
from memory.people.audience import Scope, Trust
from memory.store.database import Tx
from memory.store.ids import AgentId, SessionId
from memory.store.records import replace
from tests.bot.agents.test_interrupted_work import SESSION, STATE
from tests.memory.parts import ANN, GUILD, NOON, STAR, lessons, store

HERE = Scope(GUILD)
HERS = By(Scope(GUILD), Trust.APPROVED, NOON, person=ANN)
SOLID = "prefers solid borders over dashed borders"
CODEBASE = "This codebase uses PixiJS v8 for rendering"
NEW_AGENT = Neighbor(AgentId("agt_moon"), "Moon", "", None)


def learned(*texts: str, session: int = 0, category: Category = Category.LESSON) -> tuple[Tx, list[Step]]:
    """What comes of statements that are said in one session after the other, or all in one."""
    tx, steps = store(), []
    for number, text in enumerate(texts, 1):
        source = Source("said", STAR, SessionId(session or number), None, ANN, GUILD, Trust.APPROVED)
        steps += [each.step for each in facts.learn(tx, [Statement(category, text)], source, NOON)]
    return tx, steps


def known(tx: Tx, limit: int = 10) -> list[Fact]:
    return facts.weightiest(tx, STAR, HERE, (limit, 0))[0]


def shown(**more: Any) -> dict[str, str]:
    """The parts of a prompt, by what stands above them."""
    return dict(knowledge_parts(Knowledge(**more), ""))


def own(*texts: str, category: Category = Category.LESSON) -> str:
    return shown(own=tuple(known(learned(*texts, category=category)[0])))[OWN_HEAD]


def found(text: str) -> list[Category]:
    return [each.category for each in extraction.statements(text, own=True)]


def several(count: int) -> Tx:
    return learned(*(f"lesson number {number} of thing{number} in drawer{number}" for number in range(count)))[0]


def often(tx: Tx) -> list[Fact]:
    """One of two facts is said in five sessions."""
    for session in range(2, 7):
        source = Source("hand", STAR, SessionId(session), None, ANN, GUILD, Trust.APPROVED)
        facts.learn(tx, [Statement(Category.LESSON, CODEBASE)], source, NOON)
    return facts.listing(tx, HERE)


def shared() -> str:
    tx, _ = learned(CODEBASE, CODEBASE, CODEBASE)
    return shown(shared=tuple(facts.weightiest(tx, STAR, HERE, (0, 5))[1]))[SHARED_HEAD]


def wished(*wishes: str) -> Tx:
    tx = store()
    for wish in wishes:
        project_learnings.prefer(tx, HERS, wish)
    return tx


def reviewed() -> list[str]:
    review = "VERDICT: FAIL\n1. No test for the empty list\n2. The README is out of date"
    return [each.text for each in project_learnings.note_review(store(), HERS, review)]


def finished() -> list[tuple[Kind, str]]:
    tx = store()
    project_learnings.finish(tx, HERS, "A game of snake")
    return [(each.kind, each.text) for each in project_learnings.listing(tx, HERE)]


CASES: dict[int, Callable[[], object]] = {
    1: lambda: (
        comparison.words("User prefers SOLID borders over dashed")
        == {"user", "prefers", "solid", "borders", "over", "dashed"}
    ),
    2: lambda: comparison.words("Note: use TERM_HOVER for all buttons!") >= {"note", "termhover", "buttons"},
    3: lambda: comparison.words("a to is the big cat") == {"the", "big", "cat"},
    4: lambda: comparison.jaccard(comparison.words("hello world"), comparison.words("world hello")) == 1.0,
    5: lambda: comparison.jaccard(comparison.words("hello world"), comparison.words("foo bar")) == 0.0,
    6: lambda: comparison.jaccard(comparison.words("hello world foo"), comparison.words("hello world bar")) == 0.5,
    7: lambda: comparison.jaccard(frozenset(), frozenset()) == 1.0,
    8: lambda: comparison.jaccard(comparison.words("hello"), frozenset()) == 0.0,
    9: lambda: comparison.fingerprint("User prefers SOLID") == comparison.fingerprint("user prefers solid"),
    10: lambda: comparison.fingerprint("user prefers solid") != comparison.fingerprint("user prefers dashed"),
    12: lambda: learned("use TERM_HOVER for all buttons", "run all tests before committing")[1] == [Step.ADD] * 2,
    13: lambda: learned(SOLID, SOLID)[1] == [Step.ADD, Step.REINFORCE],
    14: lambda: comparison.relation(SOLID, "prefers solid borders instead of dashed borders") is Relation.SAME,
    15: lambda: not known(learned("use solid")[0]),
    16: lambda: learned(CODEBASE)[1] == [Step.ADD],
    17: lambda: work_extraction.summary("Draw the bar.", ["SUMMARY: Redesigned the bar"]) == "Redesigned the bar",
    18: lambda: (
        work_extraction.summary("", ["Working on it.\nSUMMARY: Redesigned the bar\nBye."]) == "Redesigned the bar"
    ),
    19: lambda: work_extraction.commits("Committed `ad8ed51`\ncommit abc1234") == ["ad8ed51", "abc1234"],
    20: lambda: (
        len(
            work_extraction.decisions(
                "- changed borders to solid\n- used oak instead of pine\n- chose it for consistency"
            )
        )
        >= 2
    ),
    21: lambda: any(
        "unit tests" in each for each in work_extraction.unfinished("TODO: add unit tests\nfiles remain unstaged")
    ),
    22: lambda: work_extraction.files("Changed /srv/code/apps/web/src/Pane.tsx") == ["web/src/Pane.tsx"],
    24: lambda: found("The user prefers solid borders over dashed ones.") == [Category.PREFERENCE],
    25: lambda: found(CODEBASE) == [Category.PATTERN],
    26: lambda: found("Note: these errors are pre-existing and should not be fixed") == [Category.LESSON],
    27: lambda: not found("the user likes it"),
    28: lambda: len(found(f"{CODEBASE}. {CODEBASE}.")) == 1,
    29: lambda: len(found("\n".join(f"Note: lesson number {number} of twenty" for number in range(20)))) == 10,
    30: lambda: (
        all(
            words in recovery_text(STATE)
            for words in (
                "Redesigned the bar.",
                "ad8ed51",
                "web/src/Pane.tsx",
                "tokens instead of colours",
                "add tests",
            )
        )
        and "TODO" not in recovery_text(STATE)
    ),
    32: lambda: (
        recovery_text(state_of("", (), "interrupted", NOON)).splitlines()[::3]
        == [
            "Your work here was interrupted. What is known of it:",
            "This is not the whole history: ask when you are unsure of a detail.",
        ]
    ),
    33: lambda: roster_lines([NEW_AGENT], NOON) == ["- Moon"],
    34: lambda: (
        roster_lines([replace(NEW_AGENT, last_active=NOON - timedelta(hours=30), did="drew the fence")], NOON)
        == ['- Moon (last active yesterday); last: "drew the fence"']
    ),
    35: lambda: not shown(),
    36: lambda: (
        "Preference" in own(SOLID, category=Category.PREFERENCE)
        and "Codebase" in own(CODEBASE, category=Category.PATTERN)
    ),
    37: lambda: [each.reinforcements for each in often(learned(SOLID, session=9)[0])] == [5, 1],
    38: lambda: len(known(several(20), limit=3)) == 3,
    39: lambda: SHARED_HEAD not in shown(own=tuple(known(learned(SOLID)[0]))),
    40: lambda: CODEBASE in shared(),
    43: lambda: "drew the fence" in recovery_text(STATE, SESSION) and "Optimize the" in recovery_text(STATE, SESSION),
    45: lambda: "last" not in roster_lines([NEW_AGENT], NOON)[0],
    46: lambda: "drew the fence" in roster_lines([replace(NEW_AGENT, did="drew the fence")], NOON)[0],
    47: lambda: not shown(own=tuple(known(store())), projects=lessons(store(), HERE, NOON)),
    48: lambda: SOLID in own(SOLID),
    49: lambda: "Three.js" in shown(projects=lessons(wished("Three.js"), HERE, NOON))[PROJECTS_HEAD],
    50: lambda: [(each.category, each.reinforcements) for each in known(learned(SOLID)[0])] == [(Category.LESSON, 1)],
    52: lambda: reviewed() == ["No test for the empty list", "The README is out of date"],
    53: lambda: finished() == [(Kind.PROJECT, "A game of snake")],
    54: lambda: [each.text for each in project_learnings.listing(wished("Three.js", "three.js"), HERE)] == ["Three.js"],
}
CHANGED: dict[int, tuple[str, Callable[[], object]]] = {
    11: (
        "the fingerprint is the letters themselves, so that two texts never share one",
        lambda: comparison.fingerprint("Some fact!") == "somefact",
    ),
    31: (
        "what an agent did is read from its stored steps, so raw messages are never told",
        lambda: "Did: nothing yet that is stored" in recovery_text(state_of("Draw it", (), "failed", NOON)),
    ),
    42: ("the ring has 30", lambda: sessions.KEPT == 30),
    44: (
        "the same as 31, for an agent of whom nothing is known",
        lambda: "Task: Draw it" in recovery_text(state_of("Draw it", (), "failed", NOON)),
    ),
    51: (
        "reinforced by distinct sessions: twice in one counts once, in another it counts",
        lambda: (
            [[each.reinforcements for each in known(learned(SOLID, SOLID, session=session)[0])] for session in (7, 0)]
            == [[1], [2]]
        ),
    ),
}
BY_TALKING = {23, 41}  # below


@pytest.mark.parametrize("number", CASES)
def test_the_case_holds(number: int) -> None:
    assert CASES[number]()


@pytest.mark.parametrize("number", CHANGED)
def test_the_case_holds_as_the_specification_changes_it(number: int) -> None:
    why, holds = CHANGED[number]
    assert holds(), why


def test_every_case_is_here_once() -> None:
    assert sorted([*CASES, *CHANGED, *BY_TALKING]) == list(range(1, 55))
