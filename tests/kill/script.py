"""What the model answers and what the person does, in the scenarios of the matrix."""

import contextlib
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from tests.kill.harness import Case
from tests.wire.discord import Impossible, Message, Upload
from tests.wire.model import Answer, Call, Calls, Reply, Request, Slow

Act: TypeAlias = Callable[[Case], Awaitable[object]]
Rule: TypeAlias = Callable[[list[Request]], Reply]
"""From all requests so far, the newest last, to the answer."""

STORE = Call("recall", {"operation": "insert", "content": "Ana's bicycle is green.", "label": "bike"})
"""What an agent does that must be done once."""


def words(topic: str, length: int) -> str:
    """A text without repetition, so that each message of it can be told apart."""
    sentences: list[str] = []
    while sum(map(len, sentences)) < length:
        sentences.append(f"Sentence {len(sentences) + 1} about {topic} is unlike any other one.")
    return " ".join(sentences)


# ------------------------------------------------------------------------------------------ what the model answers


def heard(requests: list[Request]) -> str:
    """All that the newest request tells the model."""
    return " ".join(str(message.get("content")) for message in requests[-1].messages)


def always(text: str) -> Rule:
    return lambda _: Answer(text)


def written_slowly(text: str, pace: float, chunks: int) -> Rule:
    return lambda _: Answer(text, chunks=chunks, pace=pace)


def after_memory(text: str) -> Rule:
    """Stores something, looks something up, leaves a note for other agents, then answers."""

    def rule(requests: list[Request]) -> Reply:
        results = requests[-1].results
        if not results:
            return Calls(STORE)
        if results[-1].startswith(("stored", "it was known")):
            return Calls(Call("search", {"query": "bicycle"}))
        if not results[-1].startswith("noted"):
            return Calls(Call("coord", {"operation": "note", "content": "Ana has a green bicycle."}))
        return Answer(text)

    return rule


def with_the_call(text: str) -> Rule:
    """Answers together with a call that ends the turn."""
    return lambda _: Calls(STORE, text=text)


def unless_changed(text: str, *, remember: bool) -> Rule:
    """Thinks for long, and answers once the words have changed to `new words`."""

    def rule(requests: list[Request]) -> Reply:
        if remember and not any(message["role"] == "tool" for message in requests[-1].messages):
            return Calls(STORE)
        return Answer(text) if "new words" in heard(requests) else Slow(8, Answer("too late"))

    return rule


def when_both_are_heard(text: str) -> Rule:
    """Stores something while the person says more, and answers once it has heard that."""

    def rule(requests: list[Request]) -> Reply:
        if not any(message["role"] == "tool" for message in requests[-1].messages):
            return Slow(2, Calls(STORE))
        return Answer(text) if "and one thing more" in heard(requests) else Slow(4, Answer("too early"))

    return rule


def unless_both_are_heard(text: str) -> Rule:
    """Thinks for long, and answers once it has heard both things."""
    return lambda requests: Answer(text) if "and one thing more" in heard(requests) else Slow(8, Answer("too early"))


def as_stages(text: str) -> Rule:
    """The first stage drafts; the second answers if it was given the draft."""

    def rule(requests: list[Request]) -> Reply:
        if 'You are the stage "draft"' in heard(requests):
            return Answer("a draft about newts")
        return Answer(text if "a draft about newts" in heard(requests) else "there was no draft")

    return rule


def as_slow_stages(text: str) -> Rule:
    """The same, both after some time."""
    return lambda requests: Slow(2, as_stages(text)(requests))


def as_leader(text: str) -> Rule:
    """The leader gives a task to the other one, and answers if the result came back."""

    def rule(requests: list[Request]) -> Reply:
        if "gives you this task" in heard(requests):
            return Answer("there are seven newts")
        if results := requests[-1].results:
            return Answer(text if "seven newts" in results[-1] else "nothing came back")
        return Calls(Call("delegate", {"agent": "Bee", "task": "count the newts"}))

    return rule


def slow_first_stage(text: str) -> Rule:
    """The first stage takes longer than it may."""
    stage = 'You are the stage "draft"'
    return lambda requests: Slow(8, Answer("too late")) if stage in heard(requests) else Answer(text)


def with_a_word_aside(text: str, aside: str) -> Rule:
    def rule(requests: list[Request]) -> Reply:
        if requests[-1].results:
            return Answer(text)
        return Calls(Call("send_message", {"target_type": "person", "content": aside}))

    return rule


def after_the_question(waits: str, then: str) -> Rule:
    """Stores something, which has to wait, says so, and says more when it is decided."""

    def rule(requests: list[Request]) -> Reply:
        newest = requests[-1]
        if newest.results:
            return Answer(waits if "waits for approval" in newest.results[-1] else then)
        if "[system] Request" in newest.last_user:
            return Answer(then)
        return Calls(STORE)

    return rule


# ------------------------------------------------------------------------------------------- what the person does


async def ask(case: Case) -> None:
    await case.say("tell me all about my bicycle <@bot>")


async def ask_directly(case: Case) -> None:
    await case.say("tell me all about my bicycle", case.direct)


async def ask_with_a_file(case: Case) -> None:
    upload = Upload("notes.txt", b"the bicycle is green", content_type="text/plain")
    text = "what do these notes say <@bot>"
    case.said.append(await case.ground.ana.say(case.channel, text, attachments=[upload]))


async def ask_and_edit(case: Case, *, after: int = 1) -> None:
    said = await case.say("the old words")
    await case.asked("the old words", after)
    await case.ground.ana.edit(said, "the new words")


async def ask_twice(case: Case, *, after: int = 1) -> None:
    await case.say("the first thing")
    await case.asked("the first thing", after)
    await case.say("and one thing more")


async def ask_and_delete(case: Case, *, when_asked: str = "the old words") -> None:
    said = await case.say("the old words")
    await case.asked(when_asked)
    await case.ground.ana.delete(said)


async def ask_and_delete_while_shown(case: Case) -> None:
    said = await case.say("the old words")
    await case.channel.wait_for_bot(lambda post: post.text.endswith("…"), after=said, timeout=60)
    await case.ground.ana.delete(said)


async def ask_a_slow_webhook(case: Case) -> None:
    case.server.faults.rate_limit("POST", "/webhooks/*/*", 1.0)
    await ask(case)


async def ask_where_it_may_not_speak(case: Case) -> None:
    case.server.faults.fail("POST", f"/channels/{case.channel.id}/messages", 403, code=50013, times=99)
    await ask(case)


async def ask_and_press(case: Case, label: str) -> None:
    """The owner presses as people do: again, when nothing seems to come of it."""
    await ask(case)
    card = await _card(case)
    while card.buttons:
        with contextlib.suppress(TimeoutError, Impossible):
            await case.ground.olga.press(card, label, timeout=3)
        with contextlib.suppress(TimeoutError):
            await case.server.until(lambda: not card.buttons, 2)


async def ask_and_let_it_expire(case: Case) -> None:
    await ask(case)
    card = await _card(case)
    await case.server.until(lambda: not card.buttons, 60)


async def _card(case: Case) -> Message:
    return await case.ground.olga.direct.wait_for_bot(lambda post: bool(post.buttons), timeout=60)
