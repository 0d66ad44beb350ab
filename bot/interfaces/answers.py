"""Messages to agents and their answers, for the terminal, for pages and for programs.

With `ask_group`, programs such as `carina mcp` ask a group. The question is a message from the owner at the terminal
and part of that conversation. The program gets the answer, so the terminal does not show it again.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from enum import StrEnum

from msgspec import Struct

from bot.agents.turn_events import TurnCompleted, TurnEvent, TurnFailed
from bot.errors import UserError
from bot.runtime.router import Router
from bot.services.served_constellations import Services
from memory import group_runs
from memory.queue import inbox, outbox
from memory.queue.inbox import InRow, Status
from memory.queue.notifications import Notification
from memory.queue.outbox import OutRow, TextDetail
from memory.store.clock import from_text
from memory.store.database import Rows, Tx
from memory.store.faults import commit_point
from memory.store.ids import PersonId, PlaceId, code, place_source, snowflakes
from memory.store.records import replace
from sources.terminal import PERSON, PLACE, Shown
from texts import number_text

_TAKE = commit_point("group_request.take")

_LOOK_SECONDS = 2.0  # between polls of a silent turn, such as one that waits for an approval
_STORED_SECONDS = 10.0
"""How long a message waits for a database that refuses writes before an error is shown instead of an answer."""
MOST_SECONDS = 600.0
LONGEST = 32_000
"""Character limit of a question."""


class Outcome(StrEnum):
    ANSWERED = "answered"
    SILENT = "silent"
    """The group chose not to answer."""
    LATE = "late"
    """There is no answer yet; it will appear at the terminal."""


class GroupAnswer(Struct, frozen=True):
    """`group` is its name in its own spelling."""

    group: str
    outcome: Outcome
    text: str = ""


async def ask_group(services: Services, router: Router, group: str, text: str, seconds: float = 120) -> GroupAnswer:
    """Send a text to a group of an open constellation, and wait the given seconds for the answer. Raises UserError."""
    require_taken(services, text)
    if not 0 < seconds <= MOST_SECONDS:
        raise UserError(
            "The waiting time must be more than 0 and at most {seconds} seconds.", seconds=f"{MOST_SECONDS:g}"
        )
    to = await services.talking.group(group)
    heard = replace(services.terminal[0].hear(text, f"terminal-{snowflakes.next()}"), to=to.group)
    try:
        async with asyncio.timeout(seconds):
            row = await _answered(services, router, heard)
    except TimeoutError:
        return GroupAnswer(to.name, Outcome.LATE)
    said = await _take(services, row)  # without a limit: once taken, it is shown nowhere else
    return GroupAnswer(to.name, Outcome.ANSWERED if said else Outcome.SILENT, said)


def require_taken(services: Services, text: str, person: PersonId = PERSON, *, files: bool = False) -> None:
    """Raise UserError if such a message of this person is not answered; with `files`, its text may be empty."""
    if not (text.strip() or files) or len(text) > LONGEST:
        raise UserError(
            "A message must have 1 to {most} characters; this one has {count}.",
            most=number_text(LONGEST),
            count=number_text(len(text)),
        )
    if since := services.halt.since:
        raise UserError("Everything has been halted since {since}. Release the halt first.", since=from_text(since))
    if words := services.privacy.words_ignored(person):
        raise UserError(words)


async def _answered(services: Services, router: Router, heard: Notification) -> InRow:
    """Send the message, wait until it is answered, and return its row."""
    if refused := await take_in(services, router, heard):
        raise UserError("I'll answer this later. {refused}", refused=refused)
    [row] = [each async for each in follow(services, PLACE.id, heard.external_id) if isinstance(each, InRow)]
    if row.status is Status.DEAD:
        raise UserError("The message could not be answered. `carina inbox show {id}` says why.", id=code(row.id))
    return row


async def _take(services: Services, row: InRow) -> str:
    """The answer, which counts as delivered."""
    now = services.approvals.clock()

    def take(tx: Tx) -> str:
        said = answers_of(tx, row)
        for each in said:
            outbox.take(tx, each, f"request-{each.id}", now)
        return "\n\n".join(map(words_of, said))

    return await services.database.write(_TAKE, take)


async def take_in(services: Services, router: Router, heard: Notification) -> str:
    """Store a message durably; returns why that has to wait, if the database refuses it for long."""
    router.receive(heard, services.runtime.id)
    stored = await router.taken_in(_STORED_SECONDS, services.runtime.id)
    return "" if stored else router.supervisor.unstored.words()


async def follow(
    services: Services, place: PlaceId, external_id: str, shown: asyncio.Queue[Shown | TurnEvent] | None = None
) -> AsyncGenerator[Shown | TurnEvent | InRow]:
    """What turns in a place do and what `shown` gets, until a message there is over; its row, once answers are sent.

    Also works after the answer or a restart. Raises UserError if the message was withdrawn or is not stored yet.
    """
    queue = asyncio.Queue[Shown | TurnEvent]() if shown is None else shown

    def watch(event: TurnEvent) -> None:
        if event.place == place:
            queue.put_nowait(event)

    def find(rows: Rows) -> InRow | None:
        return inbox.by_external(rows, place_source(place), external_id)

    with services.events.listen(watch):
        while (row := await services.database.read(find)) is not None and not row.over:
            with suppress(TimeoutError):  # it never limits who reads
                while not isinstance(each := await _next(queue), TurnCompleted | TurnFailed):
                    yield each
    if row is None:
        raise UserError("This message was withdrawn, or it is not stored yet; in that case, it will be answered later.")
    await services.runtime.delivered(place)
    while not queue.empty():
        if not isinstance(each := queue.get_nowait(), TurnEvent):  # turns since then answer others
            yield each
    yield row


async def _next(queue: asyncio.Queue[Shown | TurnEvent]) -> Shown | TurnEvent:
    """The next one. Raises TimeoutError. Unlike `wait_for`, this loses no signal that arrives together with it."""
    async with asyncio.timeout(_LOOK_SECONDS):
        return await queue.get()


def answers_of(rows: Rows, row: InRow, place: PlaceId = PLACE.id) -> Sequence[OutRow]:
    """The messages to a place by the turns that answered a row, in order, without those taken back."""
    if row.turn is None:
        return ()
    every = (row.turn, *(part.turn for part in group_runs.parts(rows, row.turn)))
    found = [each for turn in every for each in outbox.of_turn(rows, turn)]
    here = (each for each in found if each.place == place and each.kind == "text" and words_of(each))
    kept = {each.id: each for each in here if each.status is not outbox.Status.WITHDRAWN}
    return [kept[key] for key in sorted(kept)]


def words_of(row: OutRow) -> str:
    """The text of a row and of its files."""
    files = row.detail.files if isinstance(row.detail, TextDetail) else ()
    return "\n\n".join([*filter(None, [row.content]), *(f"{file.name}:\n{file.text}" for file in files)])
