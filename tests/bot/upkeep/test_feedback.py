"""What people say of answers, and what is learned from it: corrections, thumbs, failures, lessons, preferences."""

from pathlib import Path
from typing import Any

import pytest

from bot.errors import UserError
from memory.knowledge import entries, feedback
from memory.people import hidden_people
from memory.people.audience import Audience, Scope, person_audience
from memory.people.hidden_people import HiddenReason
from memory.queue.notifications import Kind
from tests.bot.parts import ANN, BOB, HALL, ScriptedModel, call, channel, deleted, direct, said, says, told
from tests.bot.services.calling import somebody
from tests.bot.stage import Service, Setting, running
from tests.bot.upkeep.test_upkeep import GUILD, Harness, answers, ground

ANNS = direct(ANN, "guild")


async def signals(service: Service) -> list[tuple[Any, ...]]:
    rows = await service.rows(
        """SELECT key, person_id, audience, coalesce(detail ->> 'tool', '') FROM items
           WHERE kind = 'signal' ORDER BY id"""
    )
    return [tuple(row) for row in rows]


@pytest.mark.parametrize(
    ("text", "corrects"),
    [
        ("No, my dentist is on Oak Street", True),
        ("that's wrong", True),
        ("That is not right, try again", True),
        ("Actually, it was Monday", True),
        ("Don't call me before nine", True),
        ("Nein, das war am Montag", True),
        ("Das stimmt so nicht", True),
        ("Ich meinte die andere", True),
        ("Nobody knows", False),
        ("no idea what to eat", False),
        ("> no, that's wrong\nwho said this?", False),
        ("```\nno, that's wrong\n```\nwhat is this?", False),
        ("Noch eine Frage", False),
        ("Nicht schlecht!", False),
        ("never mind", False),
        ("don't worry", False),
        ("don't let me forget to call mom", False),
        ("Don't forget that my dentist is on Oak Street", False),
        ("stop the timer", False),
        ("stop the music", True),
        ("Bitte nicht vor neun anrufen", True),
        ("thanks, that's right", False),
    ],
)
def test_a_correction_is_known_by_how_it_begins(text: str, corrects: bool) -> None:
    assert feedback.corrects(text) is corrects


async def test_a_correction_after_an_answer_is_noted_once_and_goes_with_its_message(tmp_path: Path) -> None:
    async with running(tmp_path, Setting(ScriptedModel())) as service:
        await service.heard(said("no, that's wrong", 1))
        assert await signals(service) == [], "nothing was answered yet"
        await service.heard(said("no, that's wrong", 2))
        await service.heard(said("no, that's wrong", 2))
        assert await signals(service) == [("correction", ANN.id, GUILD, "")]
        service.clock.forward(3_600)
        await service.heard(said("no, that's wrong", 3, answer=False))
        await service.heard(deleted(2))
        assert await signals(service) == []


async def test_thumbs_under_an_answer_are_noted(tmp_path: Path) -> None:
    async with running(tmp_path, Setting(ScriptedModel())) as service:
        await service.heard(said("hello", 1))
        (post,) = service.platform.posts
        for number, (emoji, subject) in enumerate(
            [("👍", post.external_id), ("👎", "nothing"), ("🎉", post.external_id)]
        ):
            more: dict[str, Any] = {"kind": Kind.REACTION, "subject": subject, "answer": False, "position": ""}
            await service.heard(said(emoji, 10 + number, HALL, BOB, **more))
        assert await signals(service) == [("thumbs_up", BOB.id, GUILD, "")]


async def test_a_tool_that_failed_is_noted_by_its_name(tmp_path: Path) -> None:
    model = ScriptedModel(says("", call("recall", operation="read", label="nothing")), says("There is none."))
    async with running(tmp_path, Setting(model)) as service:
        await service.heard(said("what do you know?", 1))
        assert await signals(service) == [("tool_failure", ANN.id, GUILD, "recall")]


# -------------------------------------------------------------------------------------------------------------- lessons


async def corrected(g: Harness, text: str, place: Any = HALL, number: int = 1) -> None:
    await g.service.heard(said("write to Eve", number, place))
    await g.service.heard(said(text, number + 1, place))


async def lessons(g: Harness, audience: Audience = GUILD) -> list[tuple[str, str]]:
    agent = await g.agent()
    found = await g.service.read(lambda rows: entries.latest(rows, agent, Scope(audience)))
    return [(entry.category, entry.content) for entry in found if "anti-pattern" in entry.tags]


async def test_without_a_model_plain_orders_are_kept_as_they_were_said(tmp_path: Path) -> None:
    async with ground(tmp_path) as g:
        await corrected(g, "No, don't mail anybody unasked because I want to read it first")
        await corrected(g, "no, it is Oak Street", number=3)
        await g.run()
        kept = ("anti-patterns/conversation", "Don't mail anybody unasked because I want to read it first.")
        assert await lessons(g) == [kept]
        await g.run()
        assert len(await lessons(g)) == 1
        await g.service.heard(deleted(2))
        assert await lessons(g) == [], "it goes with the words it was learned from"


async def test_a_model_makes_lessons_of_corrections_and_they_come_to_mind(tmp_path: Path) -> None:
    lesson = {"sources": ["c1"], "domain": "E-Mail!", "dont": "send mails unasked"}
    reply = answers(lessons=[{**lesson, "because": "they are read first", "instead": "show a draft"}])
    async with ground(tmp_path, reply) as g:
        await corrected(g, "no, do not send mails unasked, I read them first, show me a draft")
        await g.run()
        words = "Don't send mails unasked because they are read first; instead show a draft."
        assert await lessons(g) == [("anti-patterns/e-mail", words)]
        assert "write to Eve" in told(g.model.requests[0])
        g.service.clock.forward(60)
        await g.service.heard(said("now send the mails of today", 5, channel("garden"), BOB))
        shown = "\n".join(message.text for message in g.service.model.requests[-1].messages)
        assert words in shown + g.service.model.requests[-1].system


@pytest.mark.parametrize(
    ("lesson", "note"),
    [
        ({"sources": ["c1", "c2"]}, "a lesson that nobody had given in these words"),
        ({"sources": ["c1"], "dont": "write to John Doe"}, "a lesson that nobody had given in these words"),
        ({"sources": ["c1"], "because": "John hates it"}, "a lesson that nobody had given in these words"),
        ({"sources": ["c9"]}, "not shown"),
    ],
)
async def test_a_lesson_that_nobody_gave_is_not_learned(tmp_path: Path, lesson: dict[str, Any], note: str) -> None:
    whole = {"domain": "talk", "dont": "shout", "because": "it is loud", "instead": "talk"}
    async with ground(tmp_path, answers(lessons=[{**whole, **lesson}])) as g:
        await corrected(g, "no, do not shout")
        await g.service.heard(said("no, don't shout", 5, HALL, BOB))
        await g.run()
        assert await lessons(g) == []
        assert note in await g.report()


async def test_a_reason_that_nobody_gave_is_not_learned(tmp_path: Path) -> None:
    lesson = {"sources": ["c1"], "domain": "mail", "dont": "send mails unasked", "instead": "show a draft"}
    guessed = {**lesson, "because": "sending is slow"}
    none = {**lesson, "sources": ["c2"], "dont": "send mails at all"}
    async with ground(tmp_path, answers(lessons=[guessed, none])) as g:
        await corrected(g, "no, do not send mails unasked, show me a draft")
        await corrected(g, "no, don't send mails at all", number=3)
        await g.run()
        learned = {content for _, content in await lessons(g)}
        assert learned == {f"Don't send mails {each}; instead show a draft." for each in ("unasked", "at all")}
        assert "a reason nobody had given" in await g.report()


async def test_lessons_of_one_place_are_not_known_in_another(tmp_path: Path) -> None:
    async with ground(tmp_path) as g:
        await corrected(g, "No, never speak of my quetzal", ANNS)
        await g.run()
        assert await lessons(g) == []
        assert await lessons(g, person_audience(ANN.id)) == [
            ("anti-patterns/conversation", "Never speak of my quetzal.")
        ]
        assert "quetzal" not in await g.report()


# ---------------------------------------------------------------------------------------------------------- preferences


async def inferred(g: Harness) -> list[str]:
    agent = await g.agent()
    found = await g.service.read(lambda rows: entries.latest(rows, agent, Scope(GUILD)))
    return [entry.content for entry in found if "inferred" in entry.tags]


SHORT = {"content": "Ann prefers short answers.", "sensitive": False}


@pytest.mark.parametrize(
    ("reason", "kept"),
    [("because she is on a train", "Ann prefers short answers."), ("because she reads slowly", None)],
)
async def test_a_preference_keeps_only_a_reason_that_was_said(tmp_path: Path, reason: str, kept: str | None) -> None:
    content = f"Ann prefers short answers {reason}."
    found = [{"content": content, "strength": "strong", "sources": ["m1"]}]
    async with ground(tmp_path, answers(preferences=found), preferences=True) as g:
        await g.service.heard(said("short answers please, I read slowly!", 1))
        await g.run()
        assert await inferred(g) == [kept or content]


@pytest.mark.parametrize(
    ("strength", "sources", "learned"),
    [
        ("strong", ["m1"], True),
        ("mild", ["m1"], False),
        ("mild", ["m1", "m2"], True),
        ("casual", ["m1", "m2"], False),
        ("casual", ["m1", "m2", "m3"], True),
        ("casual", ["m1", "m2", "m4"], False),
    ],
)
async def test_a_preference_is_inferred_when_it_was_shown_often_enough(
    tmp_path: Path, strength: str, sources: list[str], learned: bool
) -> None:
    reply = answers(preferences=[{**SHORT, "strength": strength, "sources": sources}])
    async with ground(tmp_path, reply, preferences=True) as g:
        for number in range(1, 4):
            await g.service.heard(said(f"shorter please, number {number}", number))
        await g.service.heard(said("shorter please", 4, HALL, BOB))
        await g.run()
        assert await inferred(g) == (["Ann prefers short answers."] if learned else [])
        calls = len(g.model.requests)
        await g.run()
        assert len(g.model.requests) == calls, "nothing was said since"


@pytest.mark.parametrize("content", ["Ann wants to pay 5000 dollars.", "Ann wants John Doe to write.", " "])
async def test_a_preference_that_nobody_had_is_not_inferred(tmp_path: Path, content: str) -> None:
    wish = {"content": content, "strength": "strong", "sources": ["m1"]}
    async with ground(tmp_path, answers(preferences=[wish]), preferences=True) as g:
        await g.service.heard(said("shorter please", 1))
        await g.run()
        assert await g.service.column("SELECT count(*) FROM archival_entries") == [0]
        assert "a preference that nobody had expressed in these words" in await g.report()


async def test_what_is_sensitive_is_used_only_when_its_person_said_yes(tmp_path: Path) -> None:
    words = "Ann takes her pills at eight."
    wish = {"content": words, "strength": "strong", "sources": ["m1"]}
    async with ground(tmp_path, answers(preferences=[wish]), preferences=True) as g:
        await g.service.heard(said("I always take my pills at eight", 1))
        await g.run()
        assert await inferred(g) == []
        await g.service.heard(said("when do I take my pills?", 2))
        request = g.service.model.requests[-1]
        assert words not in request.system + "".join(message.text for message in request.messages)
        hers = somebody(ANN.id)
        (waits,) = (await g.call("waiting", hers)).data()
        assert waits["text"] == words
        bob = somebody(BOB.id)
        assert (await g.call("waiting", bob)).data() == []
        with pytest.raises(UserError, match="There is no inference"):
            await g.call("allow", bob, entry=waits["id"])
        await g.call("allow", hers, entry=waits["id"])
        assert await inferred(g) == [words]


@pytest.mark.parametrize("place", [HALL, direct(ANN)], ids=["on a server", "in direct messages"])
async def test_nothing_is_learned_from_what_somebody_said_before_they_opted_out(tmp_path: Path, place: Any) -> None:
    async with ground(tmp_path, otherwise=answers(), preferences=True) as g:
        await corrected(g, "No, never speak of my quetzal", place)
        at = g.service.clock()
        await g.service.write(lambda tx: hidden_people.note(tx, ANN.id, HiddenReason.CHOICE, at, holds=True))
        await g.run()
    assert "quetzal" not in "".join(map(told, g.model.requests))


async def test_quoted_words_and_our_own_are_no_evidence(tmp_path: Path) -> None:
    async with ground(tmp_path, otherwise=answers(), preferences=True) as g:
        g.service.model.otherwise = says("You like quetzals.")
        await g.service.heard(said("> somebody wrote toucan\nwhat is that?", 1))
        await g.run()
    (request,) = g.model.requests
    assert "what is that" in told(request)
    assert "toucan" not in told(request)
    assert "quetzal" not in told(request)
