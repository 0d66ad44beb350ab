"""Runs the queued cleanups after edits and deletions; failures are retried and finally reported.

`memory.queue.erasure_follow_ups` is the queue, `memory.erasure.edited_or_deleted_messages` does each.
"""

from datetime import datetime

from bot.agents.turn_deps import TurnDeps
from memory.erasure import edited_or_deleted_messages
from memory.people.audience import Scope
from memory.queue import erasure_follow_ups, inbox, messages
from memory.queue.erasure_follow_ups import FollowUp
from memory.queue.payloads import EditEvent
from memory.store.database import Database, Tx
from memory.store.errors import DatabaseBusy, DatabaseFull, RowUnreadable
from memory.store.faults import commit_point
from memory.store.logs import Log
from memory.store.row_mapper import UnreadableRow
from texts import _, gettext_noop

_DO = commit_point("follow_up.do")
_FAILED = commit_point("follow_up.failed")
_TAKE_UP = commit_point("follow_up.take_up")

_log = Log("bot.runtime.erasure_follow_ups")


async def follow(database: Database, deps: TurnDeps, *, started: bool = False) -> bool:
    """Handle everything due, at a start also what the last run gave up; returns whether something waits for a retry.

    Raises DatabaseBusy or DatabaseFull.
    """
    given_up = await database.read(erasure_follow_ups.given_up) if started else 0
    if given_up:
        await database.write(_TAKE_UP, lambda tx: erasure_follow_ups.try_again(tx, deps.clock()))
    for each in await database.read(erasure_follow_ups.waiting):
        if each.next_attempt_at is not None and each.next_attempt_at > deps.clock() and each.attempts:
            continue
        try:
            await _do(database, each, deps.clock())
        except (DatabaseBusy, DatabaseFull):
            raise
        except Exception as error:
            _log.exception("follow_up_failed", message=each.message, part=each.part, attempts=each.attempts + 1)
            await _failed(database, each, f"{type(error).__name__}: {deps.redact(str(error))}"[:500], deps)
    return bool(await database.read(erasure_follow_ups.waiting))


async def _do(database: Database, each: FollowUp, now: datetime) -> None:
    def work(tx: Tx) -> None:
        if edited_or_deleted_messages.follow(tx, each):
            _ask_again(tx, each, now)

    await database.write(_DO, work, durable=True)


def _ask_again(tx: Tx, follow_up: FollowUp, now: datetime) -> bool:
    """Ask an agent to store again what an edit removed; returns whether it was asked.

    The text is read from the message when the agent is asked, so that later edits and deletions count, too.
    """
    edited, ask = messages.of_id(tx, follow_up.message), follow_up.ask
    if isinstance(ask, UnreadableRow):
        raise RowUnreadable(ask.why)
    if ask is None or edited is None or edited.deleted_at is not None:
        return False
    event = inbox.Event(
        source="edit",
        external_id=ask.event,
        place=edited.place,
        person=edited.person,
        group=ask.group,
        text=f"{edited.speaker} edited a message. What you had stored from its old words was removed.",
        hearers=Scope(edited.audience, frozenset(ask.within)),
        trust=edited.trust,
        payload=EditEvent(edited.id, edited.id, edited.external_id),
    )
    return inbox.add_event(tx, event, now) is not None


async def _failed(database: Database, each: FollowUp, error: str, deps: TurnDeps) -> None:
    def work(tx: Tx) -> None:
        if not erasure_follow_ups.failed(tx, each, error, deps.clock()):
            with deps.notices.reading():
                text = _(
                    "Somebody edited or deleted a message, and I couldn't remove everything I had derived from "
                    "it ({parts}): {error}. The message itself is already edited or deleted. I'll try again at "
                    "the next start; `carina doctor` shows what is left.",
                    parts=_(_PARTS[each.part]),
                    error=error.partition(":")[0],
                )
            deps.notices.tell_owner(tx, f"follow_up/{each.id}", text, deps.clock())

    await database.write(_FAILED, work)


_PARTS = {
    erasure_follow_ups.Target.BLOCKS: gettext_noop("memory blocks"),
    erasure_follow_ups.Target.WORDS: gettext_noop("entries and answers"),
    erasure_follow_ups.Target.FACTS: gettext_noop("facts"),
}
