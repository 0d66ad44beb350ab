"""Why something was said, and changing what it was said from: one front door for Discord and the terminal.

Everything is read through the asker's scope, and every change looks at the memory and at the rights again in the
transaction that makes it: what a button or a form carries is an id, and an id proves nothing.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from bot import policy
from bot.desks.why_text import account_data, account_text
from bot.errors import UserError
from bot.policy import Action, Approver, Change, Held, People, Standing
from memory import archival, inbox, messages, outbox, why
from memory.audience import OWNER, Scope, Trust, person_audience
from memory.blocks.following import unwrite
from memory.clock import Clock
from memory.constellation import Constellations
from memory.database import Rows, Tx
from memory.errors import Refused
from memory.faults import Point, commit_point
from memory.following import forget_derived, forget_words, narrow_entry, narrow_message
from memory.ids import ConstellationId, PersonId, PlaceId, TurnId, place_source
from memory.marks import text_mark
from memory.messages import Message
from memory.why import Account, Kind, Memory
from sources.terminal import PERSON, PLACE

T = TypeVar("T")

_LOOKS, _LOOK_SECONDS = 20, 0.1  # for a message that is seen a moment before its id is stored
_FORGET = commit_point("why.forget")
_CORRECT = commit_point("why.correct")
_NARROW = commit_point("why.narrow")

_NO_ANSWER = "I have given no answer in this place that I could explain to you here."
_NOT_KNOWN = "I know of no answer of mine in this place with that message. Ask about one of my own answers, here."
_NOT_ANSWER = "I said that, but it is no answer: a question, a notice, or something that I was asked to pass on."
_UNDER_WAY = "I am still saying that. Ask again when it is done."
_GONE = "There is no such memory that you may know here; perhaps it is forgotten already."


@dataclass(frozen=True)
class Curious:
    """Who asks, what they may know there, and where; `trust` is what their words have as words of theirs."""

    who: Approver
    scope: Scope
    place: PlaceId
    trust: Trust


AT_TERMINAL = Curious(Approver(PERSON, door="terminal"), Scope(OWNER), PLACE.id, Trust.OWNER)
"""The owner, who asks at the terminal."""


@dataclass(frozen=True)
class Explained:
    """What an answer used, and of that what the asker may change, with the ways to do so."""

    account: Account
    mine: tuple[tuple[Memory, tuple[Change, ...]], ...]


@dataclass(frozen=True)
class Why:
    """The answers of one constellation, and what they were made from."""

    constellations: Constellations
    house: ConstellationId
    people: People
    clock: Clock

    async def newest(self, curious: Curious) -> Explained:
        """About the newest answer of the place. Raises UserError."""

        def read(rows: Rows) -> Explained:
            turn = why.newest_answer(rows, curious.place, curious.scope)
            if turn is None:
                raise UserError(_NO_ANSWER)
            return self._explain(rows, turn, curious)

        return await self._read(curious, read)

    async def of_message(self, curious: Curious, external_id: str) -> Explained:
        """About the answer that stands in that message of the place. Raises UserError."""

        def read(rows: Rows) -> Explained | None:
            said = outbox.said_by_us(rows, place_source(curious.place), external_id)
            if said is not None and said.place == curious.place and not why.is_answer(said):
                raise UserError(_NOT_ANSWER)
            turn = why.answer(rows, said, curious.place, curious.scope)
            if said is None and why.under_way(rows, curious.place):
                return None
            if turn is None:
                raise UserError(_NOT_KNOWN)
            if said is not None and said.kind == "preview":
                raise UserError(_UNDER_WAY)
            return self._explain(rows, turn, curious)

        for _look in range(_LOOKS):
            if (explained := await self._read(curious, read)) is not None:
                return explained
            await asyncio.sleep(_LOOK_SECONDS)
        raise UserError(_UNDER_WAY)

    async def memory(self, curious: Curious, kind: Kind, identifier: str) -> tuple[Memory, tuple[Change, ...]]:
        """One memory, and what the asker may do to it. Raises UserError."""

        def read(rows: Rows) -> tuple[Memory, tuple[Change, ...]]:
            found = _find(rows, curious, kind, identifier)
            return found, self._changes(found, curious)

        return await self._read(curious, read)

    async def to_correct(self, curious: Curious, identifier: str) -> Memory:
        """An entry whose words the asker may rewrite, as it is now. Raises UserError."""
        return await self._read(
            curious, lambda rows: self._permitted(rows, curious, Change.CORRECT, "entry", identifier)
        )

    async def forget(self, curious: Curious, kind: Kind, identifier: str) -> str:
        """Forget a memory with the words that it came from, as far as they are the asker's; says what was done."""
        now = self.clock()

        def work(tx: Tx) -> str:
            found = self._permitted(tx, curious, Change.FORGET, kind, identifier)
            if found.kind == "message":
                return _forget_message(tx, why.message_of(tx, found), now)
            entry = why.entry_of(tx, found)
            deleted = archival.delete(tx, entry.agent, entry.id, Scope(entry.audience))
            emptied = forget_words(tx, entry, deleted.messages, self._asking(curious, entry.people), now)
            return f"Forgotten. {_counted(emptied, 'message')} lost the words with it."

        return await self._change(_FORGET, work)

    async def correct(self, curious: Curious, identifier: str, seen: str, text: str) -> str:
        """Rewrite an entry that said what `seen` is the mark of when the form was opened. Raises UserError."""
        now = self.clock()

        def work(tx: Tx) -> str:
            found = self._permitted(tx, curious, Change.CORRECT, "entry", identifier)
            content = archival.checked_content(text)
            if content == found.text:
                return "It says so already; nothing was changed."
            if text_mark(found.text) != seen:
                return f"It was changed since you opened the form, so I left it. It now says:\n{found.text}"
            trust = Trust.OWNER if self._is_owner(curious) else curious.trust
            entry = replace(why.entry_of(tx, found), content=content, trust=trust, updated_at=now, last_seen=now)
            archival.store(tx, entry, None)
            return "Corrected. What was said before stands in the conversation still, where it was said."

        return await self._change(_CORRECT, work)

    async def narrow(self, curious: Curious, kind: Kind, identifier: str) -> str:
        """Use a memory in direct messages with the asker only. Raises UserError."""

        def work(tx: Tx) -> str:
            found = self._permitted(tx, curious, Change.NARROW, kind, identifier)
            own = self._is_owner(curious)
            to = OWNER if own else person_audience(self._asking(curious, found.people))
            where = "your own places" if own else "our direct messages"
            if found.audience == to or found.audience.startswith("person:"):
                return f"I use it in {where} only, as it is."
            stay = 0
            if found.kind == "message":
                stay = narrow_message(tx, why.message_of(tx, found), to, self.clock())
            else:
                narrow_entry(tx, why.entry_of(tx, found), to)
            more = f" {_counted(stay, 'entry', 'entries')} with words of others too stay as they are." if stay else ""
            return f"From now on I use it in {where} only. What was said elsewhere can be read there still.{more}"

        return await self._change(_NARROW, work)

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """By the names the control socket knows; whoever reaches that socket is the owner, at the terminal."""
        return {"why": self.owner_newest}

    async def owner_newest(self) -> dict[str, Any]:
        """The newest answer at the terminal, as data and in words. Raises UserError."""
        explained = await self.newest(AT_TERMINAL)
        return {**account_data(explained.account), "text": account_text(explained.account, PERSON)}

    # ------------------------------------------------------------------ rights

    def _explain(self, rows: Rows, turn: TurnId, curious: Curious) -> Explained:
        account = why.account(rows, turn, curious.scope)
        mine = [(memory, self._changes(memory, curious)) for memory in account.memories]
        return Explained(account, tuple((memory, changes) for memory, changes in mine if changes))

    def _changes(self, memory: Memory, curious: Curious) -> tuple[Change, ...]:
        held = _held(memory)
        return tuple(each for each in Change if not policy.change_refusal(self.people, curious.who, each, held))

    def _permitted(self, rows: Rows, curious: Curious, change: Change, kind: Kind, identifier: str) -> Memory:
        found = _find(rows, curious, kind, identifier)
        if refused := policy.change_refusal(self.people, curious.who, change, _held(found)):
            raise UserError(refused)
        return found

    def _asking(self, curious: Curious, people: tuple[PersonId, ...]) -> PersonId:
        """Who takes words back: of several accounts of theirs the one under which they were said."""
        own = self.people.selves(curious.who.person)
        return next((person for person in people if person in own), curious.who.person)

    def _is_owner(self, curious: Curious) -> bool:
        return policy.standing(self.people, curious.who) is Standing.OWNER

    # ------------------------------------------------------------------ the store

    async def _read(self, curious: Curious, work: Callable[[Rows], T]) -> T:
        if not policy.may(self.people, curious.who, Action.WHY):
            raise UserError("You may not ask that here.")
        async with self.constellations.use(self.house) as database:
            return await database.read(work)

    async def _change(self, point: Point, work: Callable[[Tx], str]) -> str:
        async with self.constellations.use(self.house) as database:
            try:
                return await database.write(point, work)
            except Refused as error:
                raise UserError(f"That cannot be stored: {error}.") from error


def _find(rows: Rows, curious: Curious, kind: Kind, identifier: str) -> Memory:
    found = why.find(rows, kind, identifier, curious.scope)
    if found is None:
        raise UserError(_GONE)
    return found


def _held(memory: Memory) -> Held:
    changes = {"entry": tuple(Change), "message": (Change.FORGET, Change.NARROW)}.get(memory.kind, ())
    if not memory.said:  # an answer of ours: it is theirs to have forgotten, but not their words
        changes = tuple(each for each in changes if each is Change.FORGET)
    return Held(memory.people, memory.audience, changes)


def _forget_message(tx: Tx, message: Message, now: datetime) -> str:
    messages.redact(tx, [message.id], now)
    outbox.forget(tx, [message.id])
    inbox.forget_payload(tx, message.id, now)
    entries = forget_derived(tx, message.id, now)
    blocks = unwrite(tx, message, now)
    went = f"{_counted(entries, 'entry', 'entries')} that came from it"
    if blocks:
        went += f", and what was written from it into {_counted(blocks, 'block')}"
    return f"Forgotten, and {went}. On Discord it stays where it is."


def _counted(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
