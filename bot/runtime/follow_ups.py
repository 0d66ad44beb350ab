"""Runs `memory.erasure.edits_and_deletions`, follow-up by follow-up; failures are retried and finally reported."""

from collections.abc import Callable

from bot.agents.notices import Notices
from bot.runtime.arrivals import ask_again
from memory.erasure import edits_and_deletions
from memory.queue import follow_ups
from memory.queue.follow_ups import FollowUp
from memory.store.clock import Clock
from memory.store.database import Database, Tx
from memory.store.errors import DatabaseBusy, DatabaseFull
from memory.store.faults import commit_point
from memory.store.logs import Log
from texts import _, gettext_noop

_DO = commit_point("follow_up.do")
_FAILED = commit_point("follow_up.failed")
_TAKE_UP = commit_point("follow_up.take_up")

_log = Log("bot.runtime.follow_ups")


async def follow(
    database: Database, clock: Clock, redact: Callable[[str], str], notices: Notices, *, started: bool = False
) -> bool:
    """Handle everything due, at a start also what the last run gave up; returns whether something waits for a retry.

    Raises DatabaseBusy or DatabaseFull.
    """
    given_up = await database.read(follow_ups.given_up) if started else 0
    if given_up:
        await database.write(_TAKE_UP, lambda tx: follow_ups.try_again(tx, clock()))
    for each in await database.read(follow_ups.waiting):
        if each.next_attempt_at is not None and each.next_attempt_at > clock() and each.attempts:
            continue
        try:
            await _do(database, each, clock)
        except (DatabaseBusy, DatabaseFull):
            raise
        except Exception as error:
            _log.exception("follow_up_failed", message=each.message, part=each.part, attempts=each.attempts + 1)
            await _failed(database, each, f"{type(error).__name__}: {redact(str(error))}"[:500], clock, notices)
    return bool(await database.read(follow_ups.waiting))


async def _do(database: Database, each: FollowUp, clock: Clock) -> None:
    def work(tx: Tx) -> None:
        if edits_and_deletions.follow(tx, each):
            ask_again(tx, each, clock())

    await database.write(_DO, work, durable=True)


async def _failed(database: Database, each: FollowUp, error: str, clock: Clock, notices: Notices) -> None:
    def work(tx: Tx) -> None:
        if not follow_ups.failed(tx, each, error, clock()):
            with notices.reading():
                text = _(
                    "Somebody edited or deleted a message, and I could not remove everything I had derived "
                    "from it ({parts}): {error}. The message itself has been changed. I will try again "
                    "at the next start; `carina doctor` shows what is left.",
                    parts=_(_PARTS[each.part]),
                    error=error.partition(":")[0],
                )
            notices.tell_owner(tx, f"follow_up/{each.id}", text, clock())

    await database.write(_FAILED, work)


_PARTS = {
    follow_ups.Target.BLOCKS: gettext_noop("memory blocks"),
    follow_ups.Target.WORDS: gettext_noop("entries and answers"),
    follow_ups.Target.FACTS: gettext_noop("facts"),
}
