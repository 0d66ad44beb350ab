"""Failed turns: tried again later, split into their messages, or given up."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from bot.agents import turn_events
from bot.agents.context import interrupted_work
from bot.agents.turn_deps import TurnDeps
from bot.config import Config
from memory.people.audience import OWNER, PUBLIC, Scope
from memory.people.identities import place_named
from memory.queue import inbox, outbox, turns
from memory.queue.inbox import InRow
from memory.queue.outbox import PressButtons, TextDetail
from memory.store.database import Database, Tx
from memory.store.faults import commit_point
from memory.store.ids import PlaceId, TurnId, code, place_source
from memory.store.records import replace
from sources.names import place_title
from texts import TextError, _, gettext_noop, join_lazy, language, ngettext, packed, reason_of, unpacked

POSTPONE = commit_point("turn.postpone")
GIVE_UP = commit_point("turn.bury")

GIVEN_UP = gettext_noop("I'm sorry, but I couldn't answer that. Ask me to try again, or send it again.")
"""The notice to a person whose message is given up."""
SEPARATE_AFTER = 2  # attempts at several rows together
_LONGEST = 500  # characters of an error
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class RetryPolicy(Struct, frozen=True):
    """How often a row is tried, and the seconds between attempts (by attempt; the last one repeats).

    `merge` is the silence in seconds that ends a person's burst of messages, `merge_most` the longest wait for it; with
    `merge` 0 a turn begins at once, and messages before its answer join it. `streams`: people see an answer while it is
    written. A start is counted before its turn begins if its row arrived before `careful_before`: what a new process
    finds may have ended the one before.
    """

    attempts: int
    waits: tuple[float, ...] = (1, 5, 20, 60)
    merge: float = 0
    merge_most: float = 5
    streams: bool = False
    careful_before: datetime = _LONG_AGO


def configured_retries(config: Config, started: datetime) -> Callable[[str], RetryPolicy]:
    usual = RetryPolicy(attempts=config.limits.attempts, careful_before=started)
    special = {"discord": replace(usual, merge=config.discord.merge_seconds), "terminal": replace(usual, streams=True)}
    return lambda source: special.get(source, usual)


class TurnRetries(Struct, frozen=True):
    """Retries and gives up the turns of one conversation."""

    database: Database
    place: PlaceId
    deps: TurnDeps
    retry_policy: RetryPolicy

    async def not_begun(self, head: InRow, error: str) -> None:
        """No turn could be made for a row: this counts like any other failure."""
        now, count = self.deps.clock(), max(head.attempts + 1, head.starts)
        dead = count >= self.retry_policy.attempts
        due = now + timedelta(seconds=self._wait(head.attempts + 1))

        def work(tx: Tx) -> None:
            turns.not_begun(tx, head.id, error, due, dead=dead, now=now)
            if dead:
                self._tell_asker(tx, [head], now)
                self._tell_owner(tx, f"dead/{head.id}/inbox", head, count, error, now)

        await self.database.write(POSTPONE, work)
        if dead:  # the caller that waits for an answer stops waiting
            self.deps.watch(turn_events.TurnFailed(TurnId(head.id), self.place, again=False))

    def words_of(self, error: Exception) -> str:
        """The text of an error, which each reader sees in their language if it is in the catalog."""
        said = join_lazy(": ", (type(error).__name__, reason_of(error)))
        shown = (
            unpacked(self.deps.redact(packed(said))) if isinstance(error, TextError) else self.deps.redact(str(said))
        )
        return shown if len(shown) <= _LONGEST else shown[:_LONGEST]

    def _wait(self, attempts: int) -> float:
        waits = self.retry_policy.waits
        return waits[min(attempts, len(waits)) - 1]

    async def failed(self, turn: TurnId, error: str) -> None:
        now = self.deps.clock()
        rows = await self.database.read(lambda rows: inbox.of_turn(rows, turn))
        attempts = max((row.attempts for row in rows), default=0)
        again = attempts < self.retry_policy.attempts
        if again:
            due = now + timedelta(seconds=self._wait(attempts))

            def postpone(tx: Tx) -> None:
                turns.postpone(tx, turn, error, due)
                if len(rows) > 1 and attempts >= SEPARATE_AFTER:
                    self.retry_separately(tx, turn, error)

            await self.database.write(POSTPONE, postpone)
        else:
            await self.database.write(GIVE_UP, lambda tx: self.give_up(tx, turn, error, now))
        self.deps.watch(turn_events.TurnFailed(turn, self.place, again))

    def retry_separately(self, tx: Tx, turn: TurnId, error: str, again: datetime | None = None) -> None:
        """End a turn and give each of its rows its own, so that one bad row fails alone; from `again` on, if given."""
        now = self.deps.clock()
        interrupted_work.store_progress(tx, turn, "failed", now)
        turns.separate(tx, turn, again=again)
        turns.end(tx, turn, "failed", now, error)
        outbox.withdraw_pending(tx, turn)
        self.deps.broker.withdraw(tx, turn, now)

    def give_up(self, tx: Tx, turn: TurnId, error: str, now: datetime) -> None:
        """Give up the rows of a turn with no attempts left; rows that joined it later have more."""
        interrupted_work.store_progress(tx, turn, "failed", now)
        turns.separate(tx, turn, self.retry_policy.attempts)
        rows = inbox.of_turn(tx, turn)
        self._tell_asker(tx, rows, now)
        turns.give_up(tx, turn, error, now)
        turns.end(tx, turn, "failed", now, error)
        self.deps.broker.withdraw(tx, turn, now)
        if rows:
            count = max(max(row.attempts, row.starts + 1) for row in rows)
            self._tell_owner(tx, f"dead/{rows[0].id}/{turn}", rows[0], count, error, now)

    def _tell_asker(self, tx: Tx, rows: Sequence[InRow], now: datetime) -> None:
        """Tell the person that no answer will come; not if the owner is told why in the same place, or in public."""
        row = next((each for each in rows if each.source == place_source(self.place)), None)
        if row is None or self.place == self.deps.notices.place or row.audience == PUBLIC:
            return
        key = f"given_up/{row.id}/"
        key += str(len(outbox.of_prefix(tx, key)))  # it may be given up a second time
        with self.deps.speaking_to(row.person):
            words, detail = _(GIVEN_UP), TextDetail(press=_retry(row))
        outbox.add(tx, outbox.NewRow(key, row.place, words, row.audience, person=row.person, detail=detail), now)

    def _tell_owner(self, tx: Tx, key: str, row: InRow, count: int, error: str, now: datetime) -> None:
        """Tell the owner what was given up and why; errors may quote messages that the owner may not read."""
        if not Scope(OWNER).may_use(row.audience):
            error = error.partition(":")[0]
        with self.deps.notices.reading():
            words = ngettext(
                "I couldn't answer a message in {place} after {count} attempt: {error}. `carina inbox show "
                "{id}` shows it, and `carina inbox retry {id}` tries again.",
                "I couldn't answer a message in {place} after {count} attempts: {error}. `carina inbox show "
                "{id}` shows it, and `carina inbox retry {id}` tries again.",
                count,
                place=place_title(place_named(tx, self.place, Scope(OWNER))),
                error=_(error),
                id=code(row.id),
            )
        self.deps.notices.tell_owner(tx, key, words, now, _retry(row))


def _retry(row: InRow) -> PressButtons:
    return PressButtons("retry", row.id, ("retry",), language())
