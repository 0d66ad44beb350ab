"""Delivers the outbox rows of one place, in order, each once. Previews of them are shown by `bot.runtime.previews`.

A row is durably marked `sending` before its first byte leaves. If a row is found `sending` later, the message may or
may not have been sent: while the platform remembers the nonce, it is sent again with the same nonce; after that, or
without nonces, the place's history decides. If the history cannot be read, the row is unknown: the owner is told, and
it is not sent again unless the owner asks for that.
"""

import asyncio
import functools
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from bot.agents.agenda.reminder_scheduling import send_privately
from bot.agents.owner_notices import Notices
from bot.agents.permissions.approval_requests import Broker
from memory.people.audience import OWNER, Scope
from memory.people.identities import place_named
from memory.queue import messages, outbox
from memory.queue.outbox import ActDetail, CardButtons, CardDetail, EditDetail, OutRow, PressButtons, Status, TextDetail
from memory.store.clock import Clock
from memory.store.database import Database, Rows, Tx
from memory.store.errors import DatabaseRefused, RowUnreadable
from memory.store.faults import commit_point
from memory.store.ids import OutboxId, PlaceId, code
from memory.store.logs import Log
from memory.store.records import replace
from memory.store.row_mapper import UnreadableRow
from sources.base import ANSWERED, Buttons, Delivery, DeliveryFailed, DeliveryUnclear, Endpoint, HistoryUnreadable
from sources.names import place_title
from texts import _, gettext_lazy, language

_SENDING = commit_point("outbox.sending")
_SENT = commit_point("outbox.sent")
_RETRY = commit_point("outbox.retry")
_CLOSED = commit_point("outbox.closed")
_AGAIN = commit_point("outbox.again")
_PREVIEW_GONE = commit_point("outbox.preview_gone")

MAX_ATTEMPTS = 8
"""Sends of one row, or reads of an unreadable history, before it is given up."""
_LONGEST_PAUSE = 60.0  # to notice a changed system clock
_LONGEST_LOOK = 30.0  # between reads of an unreadable history
_LOOK_BACK = timedelta(minutes=10)  # time before a row was created in which an equal message may be an earlier one
_UNCLEAR_WAIT, _LONGEST_UNCLEAR = 2.0, 30.0  # seconds before an unclear send is repeated: the first and the longest
MAX_BROKEN = 5
"""Unexpected exceptions about one row before it is given up."""
_FIRST_BROKEN = 1.0  # seconds until such a row is retried; doubled after each failure
_LONGEST_OUTAGE = 120.0  # seconds between attempts while the platform cannot be reached; doubled until then
_GIVE_UP = timedelta(minutes=30)  # for unclear sends of one row that the history never shows

_log = Log("bot.runtime.outbox_delivery")


class DeliveryDeps(Struct, frozen=True):
    """What a delivery needs. `moved` is called before each row, `queued` when another place may have rows to send."""

    clock: Clock
    notices: Notices
    moved: Callable[[], None]
    queued: Callable[[], None]
    broker: Broker
    origin: str = ""
    """The id of a constellation other than the configured one: buttons carry it, to route the answers back."""


class _PlaceQueue(Struct, frozen=True):
    """The remaining rows of a place: rows to send, in order; without any, the shown previews that no answer will
    replace."""

    rows: list[OutRow]
    orphans: list[OutRow]
    around: "_References | None" = None
    """The references of the first row, if it was claimed in the same commit."""


class _References(Struct, frozen=True):
    """The references of a row: the preview that it replaces, and the platform id of the previous piece."""

    preview: OutRow | None
    before: str


class _UnclearDelivery(Struct, frozen=True):
    """How often a row was sent without a clear answer, since when, and the last result."""

    row: OutboxId
    since: datetime
    times: int
    why: str


class DeliveryWorker:
    """Delivers the rows of one place; `run` returns when none is left."""

    def __init__(self, database: Database, place: PlaceId, endpoint: Endpoint, deps: DeliveryDeps) -> None:
        self._db = database
        self._place = place
        self._endpoint = endpoint
        self._deps = deps
        self._clock = deps.clock
        self._woken = asyncio.Event()
        self._unread = 0
        """Failed reads of the history in a row; `_looks` also counts those during an outage."""
        self._looks = 0
        self._unclear: _UnclearDelivery | None = None
        self._unreached = 0
        """Attempts in a row that did not reach the platform."""
        self._broken: Counter[OutboxId] = Counter()
        self._reads_first = False
        """Whether it looks without writing, since probably no row is due: even an empty write is synced."""
        self.waiting = False
        """Whether it can only wait."""

    def wake(self) -> None:
        """Look again now: a row was added, or the place is reachable again."""
        self._woken.set()

    async def run(self) -> None:
        """Deliver until nothing is left."""
        over = False
        while not over or self._woken.is_set():
            over = False
            woken = self._woken.is_set()
            self._woken.clear()
            left = await self._left(woken)
            self._deps.moved()
            if not left.rows:
                await self._clear_previews(left.orphans)
                over = True
                continue
            row = left.rows[0]
            if row.status is Status.PENDING and (wait := self._wait(row)) > 0:
                await self._pause(min(wait, _LONGEST_PAUSE))
                continue
            try:
                if left.around is None or isinstance(row.detail, UnreadableRow):
                    await self._move(row, left.rows)
                else:
                    over = await self._send(row, left.around)
            except DatabaseRefused:
                raise
            except Exception as error:
                await self._failed_oddly(row, error)

    async def _move(self, row: OutRow, rows: Sequence[OutRow]) -> None:
        """Move on a row that was claimed earlier."""
        if isinstance(row.detail, UnreadableRow):
            await self._close(row, Status.FAILED, row.detail.why)
        elif row.status is Status.SENDING:
            sending = [found for found in rows if found.status is Status.SENDING]
            await self._recover(row, [found for found in sending if not isinstance(found.detail, UnreadableRow)])

    async def _failed_oddly(self, row: OutRow, error: Exception) -> None:
        """An unexpected error: as after a crash, it is unknown whether the message was sent, so recovery is the same.

        After some attempts the row is given up, so that it blocks neither its place nor the service.
        """
        self._broken[row.id] += 1
        times, reason = self._broken[row.id], type(error).__name__
        _log.exception("delivery_broken", outbox=row.id, place=row.place, turn=row.turn, times=times)
        if times < MAX_BROKEN:
            await self._pause(_FIRST_BROKEN * 2.0 ** (times - 1))
            return
        del self._broken[row.id]
        now = await self._db.read(lambda rows: outbox.get(rows, row.id))
        if now is not None and now.status in (Status.PENDING, Status.SENDING):
            status = Status.UNKNOWN if now.status is Status.SENDING else Status.FAILED
            why = gettext_lazy("it failed {times} times ({error}); see the log", times=times, error=reason)
            await self._close(now, status, why)

    async def _left(self, woken: bool) -> _PlaceQueue:
        """What is left, with the first row claimed if it is due."""
        reads, self._reads_first = self._reads_first and not woken, False  # its row may not be committed yet
        if reads:
            left = await self._db.read(self._unclaimed)
            if not left.rows or left.rows[0].status is not Status.PENDING or self._wait(left.rows[0]) > 0:
                return left
        return await self._db.write(_SENDING, self._look, durable=True)

    def _wait(self, row: OutRow) -> float:
        """Seconds until a row is due."""
        return (row.next_attempt_at - self._clock()).total_seconds() if row.next_attempt_at else 0

    def _look(self, tx: Tx) -> _PlaceQueue:
        """What is left; a row that is due is claimed in the same commit, usually the one that stored it."""
        if (claimed := outbox.claim(tx, self._place, self._clock())) is None:
            return self._unclaimed(tx)
        row, previews = claimed
        return _PlaceQueue([row], [], _around(tx, row, previews=previews))

    def _unclaimed(self, rows: Rows) -> _PlaceQueue:
        found, shown = outbox.for_delivery(rows, self._place)
        return _PlaceQueue(found, [] if found or not shown else outbox.orphan_previews(rows, self._place))

    def _delivery(self, row: OutRow) -> Delivery:
        return to_delivery(row, self._deps.origin)

    async def _pause(self, seconds: float) -> None:
        self.waiting = self._reads_first = True
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return
        finally:
            self.waiting = False

    async def _send(self, row: OutRow, around: _References | None = None) -> bool:
        """Send a claimed row; False if more is left, or may be."""
        if around is None:
            around = await self._db.read(lambda rows: _around(rows, row))
        preview = around.preview
        try:
            external = await self._deliver(row, around)
        except DeliveryUnclear as error:
            _log.warning("delivery_unclear", outbox=row.id, reason=str(error))
            before = self._unclear if self._unclear is not None and self._unclear.row == row.id else None
            since, times = (self._clock(), 1) if before is None else (before.since, before.times + 1)
            self._unclear = _UnclearDelivery(row.id, since, times, error.reason)
            await self._pause(min(_UNCLEAR_WAIT * 2.0 ** min(times - 1, 5), _LONGEST_UNCLEAR))
        except DeliveryFailed as error:
            await self._failed(row, error)
        else:
            self._unreached = 0
            self._woken.clear()  # later arrivals are seen below, or wake it again
            return not await self._db.write(_SENT, lambda tx: self._mark_sent(tx, row, external, preview))
        return False

    async def _deliver(self, row: OutRow, around: _References) -> str:
        """Send it, or replace the turn's preview with it; returns the platform's id."""
        if isinstance(row.detail, EditDetail):
            return await self._edit(row, row.detail)
        preview = around.preview
        delivery = replace(self._delivery(row), follows=around.before)
        if preview is None:
            return await self._endpoint.send(delivery)
        if not delivery.files:
            try:
                await self._endpoint.edit(row.place, preview.external_id, row.content)
            except DeliveryFailed as error:
                if error.retry_after is not None:
                    raise
            else:
                return preview.external_id
        return await self._endpoint.send(delivery)

    async def _edit(self, row: OutRow, edit: EditDetail) -> str:
        """Change or delete a sent message; nothing to do if it was never sent, or is gone."""
        found = await self._db.read(lambda rows: outbox.of_key(rows, edit.edits))
        if found is None or found.status is not Status.SENT or not found.external_id:
            return ""
        if edit.away:
            await self._endpoint.withdraw(row.place, found.external_id)
            return ""
        buttons = _buttons(edit.buttons, self._deps.origin) or ANSWERED
        await self._endpoint.edit(row.place, found.external_id, row.content, buttons)
        return ""

    def _mark_sent(self, tx: Tx, row: OutRow, external: str, preview: OutRow | None) -> bool:
        """Returns whether anything is left in the place."""
        if preview is not None and preview.external_id == external:
            outbox.replace_preview(tx, preview.id)
        left = outbox.mark_sent(tx, row.id, external, self._clock())
        if isinstance(row.detail, ActDetail) and row.detail.images:
            outbox.drop_images(tx, row.id)
        return left

    async def _failed(self, row: OutRow, error: DeliveryFailed) -> None:
        now, reason = self._clock(), error.reason
        if error.retry_after is not None and (row.attempts < MAX_ATTEMPTS or not error.reached):
            counted, self._unreached = error.reached, 0 if error.reached else self._unreached + 1
            longer = min(error.retry_after * 2.0 ** min(self._unreached - 1, 10), _LONGEST_OUTAGE)
            again = now + timedelta(seconds=max(error.retry_after, 0 if counted else longer, 0.05))
            self._reads_first = True
            await self._db.write(_RETRY, lambda tx: outbox.mark_retry(tx, row.id, reason, again, counted=counted))
            return
        if error.withdrawn:
            _log.info("delivery_withdrawn", outbox=row.id, place=row.place, reason=reason)
            await self._close(row, Status.WITHDRAWN, reason)
            return
        _log.warning("delivery_failed", outbox=row.id, place=row.place, reason=reason)
        await self._close(row, Status.FAILED, reason)

    async def _close(self, row: OutRow, status: Status, reason: str) -> None:
        """Give up a row and the rest of its answer; the agent sees it in its next turn, the owner is told."""
        now, self._unclear = self._clock(), None
        notices = self._deps.notices

        def work(tx: Tx) -> None:
            with notices.reading():
                text = _told(tx, row, status, reason)
            outbox.mark_closed(tx, row.id, status, reason)
            outbox.withdraw_rest(tx, row)
            impossible = status is Status.WITHDRAWN and isinstance(row.detail, ActDetail)
            if impossible:
                outbox.drop_images(tx, row.id)
            if row.message is not None:
                came = "withheld" if status is Status.WITHDRAWN else status
                messages.note_delivery(tx, row.message, f"{came}: {reason}")
            if self._deps.broker.lost(tx, row, reason, now) or (status is Status.WITHDRAWN and not impossible):
                return
            if status is Status.FAILED and send_privately(tx, row, now):
                return
            if row.kind == "text" and row.place != notices.place:
                notices.tell_owner(tx, f"outbox/{row.id}", text, now)

        await self._db.write(_CLOSED, work)
        self._deps.queued()

    # ------------------------------------------------------------------ after a crash, or an unclear answer

    async def _recover(self, row: OutRow, sending: list[OutRow]) -> None:
        now = self._clock()
        if isinstance(row.detail, EditDetail):  # repeating the same edit changes nothing
            if not await self._given_up(row, now):
                await self._send(row)
            return
        delivery = self._delivery(row)
        age = (now - (row.sending_at or now)).total_seconds()  # since the first attempt began
        if not delivery.speaker and age < self._endpoint.nonce_seconds:
            claimed = await self._db.write(_SENDING, lambda tx: outbox.mark_sending(tx, row.id, now), durable=True)
            if claimed is not None:
                await self._send(claimed)
            return
        try:
            taken = await self._db.read(lambda rows: outbox.sent_since(rows, row.place, row.created_at - _LOOK_BACK))
            found = await self._endpoint.find(tuple(self._delivery(each) for each in sending), taken)
        except HistoryUnreadable as error:
            if error.passing or not (isinstance(row.detail, TextDetail | ActDetail) and row.detail.twice):
                await self._unreadable(row, error)
                return
            found = {}  # the owner wants it sent although it may have arrived
        self._unread = self._looks = 0
        if row.id in found:
            await self._db.write(_SENT, lambda tx: self._mark_sent(tx, row, found[row.id], _around(tx, row).preview))
            return
        if await self._given_up(row, now):
            return
        await self._db.write(_AGAIN, lambda tx: outbox.restart_sending(tx, row.id, now), durable=True)
        await self._send(replace(row, sending_at=now))

    async def _given_up(self, row: OutRow, now: datetime) -> bool:
        """Give up a row that is certainly missing and was sent in vain for too long: others wait behind it."""
        unclear = self._unclear
        if unclear is None or unclear.row != row.id or now - unclear.since <= _GIVE_UP:
            return False
        minutes = _GIVE_UP // timedelta(minutes=1)
        why = gettext_lazy(
            "it failed for {minutes} minutes, most recently because {reason}", minutes=minutes, reason=unclear.why
        )
        await self._close(row, Status.FAILED, why)
        return True

    async def _unreadable(self, row: OutRow, error: HistoryUnreadable) -> None:
        self._looks += 1
        self._unread += not error.passing
        if self._unread >= MAX_ATTEMPTS:
            self._unread = self._looks = 0
            why = gettext_lazy("the history there cannot be read ({reason})", reason=error.reason)
            await self._close(row, Status.UNKNOWN, why)
            return
        await self._pause(min(2.0 ** min(self._looks, 5), _LONGEST_LOOK))

    async def _clear_previews(self, orphans: Sequence[OutRow]) -> None:
        """Delete previews of turns that ended without an answer."""
        for row in orphans:
            external = row.external_id
            try:
                if not external:
                    found = await self._endpoint.find((self._delivery(row),))
                    external = found.get(row.id, "")
                if external:
                    await self._endpoint.withdraw(row.place, external)
            except (DeliveryFailed, DeliveryUnclear, HistoryUnreadable) as error:
                _log.warning("preview_not_deleted", outbox=row.id, reason=str(error))
            except Exception:
                _log.exception("preview_not_deleted", outbox=row.id)
            await self._db.write(_PREVIEW_GONE, functools.partial(outbox.replace_preview, preview=row.id))


def _told(rows: Rows, row: OutRow, status: Status, reason: str) -> str:
    """The notice to the owner about a row that was given up. An impossible retry is not offered again."""
    unclear = status is Status.UNKNOWN
    if isinstance(row.detail, ActDetail):
        words = _("may or may not have been done") if unclear else _("was not done")
        text = _("The action “{act}” on Bluesky {words}: {reason}.", act=row.detail.act, words=words, reason=_(reason))
    else:
        words = _("may or may not have been delivered") if unclear else _("was not delivered")
        place = place_title(place_named(rows, row.place, Scope(OWNER)))
        text = _("An answer in {place} {words}: {reason}.", place=place, words=words, reason=_(reason))
    if status is Status.WITHDRAWN:
        return text
    again = _("I won't send it again on my own. `carina outbox retry {id}` sends it.", id=code(row.id))
    return f"{text} {again}"


def _around(rows: Rows, row: OutRow, *, previews: bool = True) -> _References:
    """The references of a row; without `previews`, none is shown in its place."""
    if not isinstance(row.detail, TextDetail):
        return _References(None, "")
    shown = outbox.of_key(rows, row.detail.preview) if previews and row.detail.preview else None
    preview = shown if shown is not None and shown.status is Status.SENT and shown.external_id else None
    before = outbox.of_key(rows, row.detail.after) if row.detail.after else None
    return _References(preview, before.external_id if before is not None else "")


def to_delivery(row: OutRow, origin: str = "") -> Delivery:
    """An outbox row of a constellation (see `DeliveryDeps.origin`) as an endpoint takes it. Raises RowUnreadable."""
    plain = Delivery(
        id=row.id,
        place=row.place,
        text=row.content,
        created_at=row.created_at,
        turn=row.turn,
        agent=row.agent,
        again=row.attempts > 1,
    )
    match row.detail:
        case TextDetail() as said:
            return replace(
                plain,
                speaker=said.speaker,
                avatar=said.avatar,
                reply_to=said.reply_to,
                later=bool(said.after),
                may_mention=said.mentions,
                files=said.files,
                buttons=_buttons(said.press, origin),
            )
        case CardDetail(card, _, files):
            return replace(plain, files=files, buttons=_buttons(card, origin))
        case ActDetail(act, target, images, earlier):
            return replace(plain, act=act, target=target, images=images, earlier=earlier)
        case EditDetail():
            return plain
        case UnreadableRow(why):
            raise RowUnreadable(why)


def _buttons(of: CardButtons | PressButtons | None, origin: str) -> Buttons | None:
    if isinstance(of, CardButtons):
        return Buttons(of.request, of.offers, constellation=origin, language=of.language or language())
    return None if of is None else Buttons(of.id, of.offers, of.kind, origin, of.language or language())
