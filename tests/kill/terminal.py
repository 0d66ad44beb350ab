"""The same at the terminal: a command that asks and is killed, and a pipe into the chat that comes after it.

The pipe shows the answer to its own line. The other is shown once by the command, or stands in the conversation alone.
"""

import asyncio
import itertools
from dataclasses import dataclass
from pathlib import Path

from tests.kill.checks import Store
from tests.kill.lives import Home, check_death, living
from tests.wire.model import Answer, Call, Calls, ModelServer, Reply, Request

FIRST, SECOND = "please remember that my bicycle is green", "and what now?"
FIRST_ANSWER, SECOND_ANSWER = "I shall remember the bicycle.", "Now we wait for the rain to end."
RESTART_SECONDS = 1.0
POINTS = frozenset(["terminal.journal", "outbox.release"])
NUMBERS = itertools.count(1)


def answer(request: Request) -> Reply:
    """Stores the fact once, then answers the newest line."""
    if not any(message["role"] == "tool" for message in request.messages):
        return Calls(Call("recall", {"operation": "insert", "content": "The bicycle is green.", "label": "bike"}))
    return Answer(SECOND_ANSWER if SECOND in request.last_user else FIRST_ANSWER)


@dataclass(frozen=True)
class Chatted:
    """What two chats came to."""

    trace: tuple[str, ...]
    wrong: tuple[str, ...]


async def chat(folder: Path, model: ModelServer, fault: str) -> Chatted:
    """A command that dies at the fault, or ends when there is none; then the pipe."""
    home = Home(folder / f"chat-{next(NUMBERS)}", "", {**model.environment(), "CARINA_MODEL": "openai:scripted"})
    wrong: list[str] = []
    shown: list[str] = []
    for arguments, typed, armed in ((("chat", "--once", FIRST), "", fault), (("chat",), f"{SECOND}\n", "")):
        async with living(home, *arguments, typed=typed, CARINA_FAULT=armed) as life:
            code = await life.end()
        shown.append(life.said)
        try:
            if armed:
                check_death(home, code, armed, 0)
            else:
                assert code == 0, f"the chat ended with {code}"
        except AssertionError as error:
            wrong += [str(error), *life.lines[-15:]]
        if armed:
            await asyncio.sleep(RESTART_SECONDS)
    try:
        wrong += _check(Store(home.data), shown, fault)
    except AssertionError as error:
        wrong.append(str(error))
    return Chatted(tuple(home.trace), tuple(wrong))


def _check(store: Store, shown: list[str], fault: str) -> list[str]:
    wrong = []
    inbox = store.all("SELECT * FROM inbox ORDER BY id")
    outbox = store.all("SELECT * FROM outbox ORDER BY id")
    if not inbox or {row["status"] for row in inbox} != {"done"}:
        wrong.append(f"inbox: {[row['status'] for row in inbox]}")
    if {row["status"] for row in outbox} != {"sent"}:
        wrong.append(f"outbox: {[(row['key'], row['status']) for row in outbox]}")
    transcript = store.all("SELECT content FROM messages WHERE role = 'assistant' AND content <> '' ORDER BY id")
    answers = [row["content"] for row in transcript]
    if len(set(answers)) != len(answers) or answers != [row["content"] for row in outbox]:
        wrong.append(f"transcript: {answers}")
    if answers != [FIRST_ANSWER, SECOND_ANSWER][-len(inbox) :]:
        wrong.append(f"{len(inbox)} messages were answered: {answers}")
    for text in answers:
        times = "\n".join(shown).count(text)
        least = 0 if text == FIRST_ANSWER and fault else 1
        if not least <= times <= 1:
            wrong.append(f"shown {times} times: {text}")
    entries = store.all("SELECT reinforcement FROM archival_entries")
    if [row["reinforcement"] for row in entries] != [0]:
        wrong.append(f"memory: {len(entries)} entries")
    return wrong
