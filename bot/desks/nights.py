"""What agents did while nobody watched: the report of a night, and taking back what they wrote in it, as one.

A night is from noon to noon on the clocks of the house, so that every turn of a sleeptime group belongs to one. What
was written is found by the turn that wrote it: in the history of blocks, in the journal of archival entries, and in
what agents arrange with each other.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, TypeVar

import structlog

from bot import policy
from bot.days import Period, last_night, night_named, night_of
from bot.desks.desk import Asker
from bot.desks.remembering import Asking
from bot.desks.remembering_names import Named, named_blocks
from bot.errors import UserError
from bot.policy import Action, Approver, People
from memory import activity, archival, arranged, nights
from memory.activity import Kind, NewEvent
from memory.amounts import many
from memory.archival import journal
from memory.archival.journal import Noted
from memory.arranged import Arranged
from memory.audience import OWNER, Scope, Trust
from memory.blocks import BlockType, history
from memory.blocks.history import Hand, past_of_block
from memory.blocks.rows import version_of
from memory.blocks.storage import DEFAULT_POLICY, CheckpointPolicy
from memory.clock import Clock, to_text
from memory.constellation import Constellations
from memory.database import Rows, Tx
from memory.documents.changes import Change, Step
from memory.documents.past import Past
from memory.errors import BlockCorrupt, StoreError
from memory.faults import commit_point
from memory.ids import AgentId, BlockId, ConstellationId, EntryId
from memory.nights import NightTurn
from sources.terminal import PERSON
from sources.text import one_line

T = TypeVar("T")
_UNDO = commit_point("night.undo")
_SHOWN = 160
_KNOWN = timedelta(days=60)  # longer than Discord shows suggestions for, a night each
_OWNER = Asking(Approver(PERSON, door="command line"), Scope(OWNER), Trust.OWNER)
LASTING = "This is not undone as one: each block has its own undo (`memory undo`), entries that went stay away."
_log = structlog.get_logger("bot.desks.nights")


@dataclass(frozen=True)
class Written:
    """What turns changed in blocks that a scope may see (`hidden`: may not) and in entries, and what they arranged."""

    blocks: Sequence[tuple[Named, Past, Sequence[Change]]]
    entries: Sequence[Noted]
    arranged: Sequence[Arranged]
    hidden: int = 0


@dataclass(frozen=True)
class Nights:
    """The nights of one constellation. Everything raises UserError with words for who asked."""

    constellations: Constellations
    house: ConstellationId
    people: People
    clock: Clock
    zone: str
    checkpoints: CheckpointPolicy = DEFAULT_POLICY

    async def report(self, asker: Asker, which: str = "") -> list[dict[str, Any]]:
        """Each turn of a night: why there was one, what it wrote where, and what it said; as far as one may know."""
        period = self._period(which)

        def read(rows: Rows) -> list[dict[str, Any]]:
            turns = nights.turns_between(rows, period.start, period.end, asker.scope)
            found = written(rows, turns, asker.scope, period, {})
            undone = nights.undone(rows, period.name, asker.scope)
            listed = [_row(f"{at:%Y-%m-%d %H:%M} UTC: {words}") for at, words in undone]
            listed += [_turn_data(rows, turn, found) for turn in turns]
            if (more := nights.count_elsewhere(rows, period.start, period.end, turns)) > 0:
                listed.append(_row(f"{more} more where you may not know of it"))
            if found.hidden:
                listed.append(_row(f"{many(found.hidden, 'block')} that cannot be seen from here changed too"))
            return listed

        async with self.constellations.use(self.house) as database:
            return await database.read(read)

    async def known(self, asker: Asker) -> list[str]:
        """The last weeks' nights in which an agent acted by itself, as far as the asker may know; newest first."""
        since = self.clock() - _KNOWN

        def read(rows: Rows) -> list[datetime]:
            return nights.begun_since(rows, since, asker.scope)

        async with self.constellations.use(self.house) as database:
            begun = await database.read(read)
        return list(dict.fromkeys(night_of(at, self.zone).name for at in begun))

    async def undo(self, asking: Asking, which: str = "") -> list[dict[str, Any]]:
        """Take back what the turns of a night wrote, all in one unit of work; what came of each thing they wrote."""
        policy.require(self.people, asking.who, Action.UNDO_NIGHT)
        period = self._period(which)

        def replay(rows: Rows) -> dict[BlockId, Past]:
            """A long past takes its time: it is replayed by a reader."""
            turns = nights.turns_between(rows, period.start, period.end, asking.scope)
            found = written(rows, turns, asking.scope, period, {})
            return {named.block.id: past.rewoven() for named, past, _changes in found.blocks}

        def work(tx: Tx) -> list[dict[str, Any]]:
            turns = nights.turns_between(tx, period.start, period.end, asking.scope)
            if any(turn.status in ("running", "suspended") for turn in turns):
                raise UserError(f"An agent is still at work in the night of {period.name}: nothing was taken back yet.")
            found = written(tx, turns, asking.scope, period, known)
            done = [self._block(tx, asking, *each) for each in found.blocks] + self._entries(tx, found.entries)
            done += [_back(tx, each, self.clock()) for each in found.arranged]
            done += [_item("more blocks", "left", "they cannot be seen from here")] * bool(found.hidden)
            self._record(tx, asking, period, done)
            return done

        async with self.constellations.use(self.house) as database:
            known = await database.read(replay)
            done = await database.write(_UNDO, work)
        back = sum(item["state"] != "left" for item in done)
        who = asking.who
        _log.info("night_undone", night=period.name, by=who.person, door=who.door, back=back, of=len(done))
        return done

    def _period(self, which: str) -> Period:
        if not which.strip():
            return last_night(self.clock(), self.zone)
        try:
            return night_named(which, self.zone)
        except ValueError as error:
            raise UserError(f"{which[:40]!r} is no night: give the date on which it began, as 2026-11-22.") from error

    def _block(self, tx: Tx, asking: Asking, named: Named, past: Past, changes: Sequence[Change]) -> dict[str, Any]:
        hand = Hand(asking.who.person, (), True, asking.scope, asking.trust, self.clock(), self.checkpoints)
        what = f"block {named.name}"
        try:
            plan = history.take_back(history.by_hand(tx, hand, named.block), past, changes).plan
        except StoreError as error:
            return _item(what, "left", str(error))
        counted = f"{many(plan.removed, 'character')} went, {plan.restored} came back"
        if plan.lost or plan.kept:
            changed = [f"{many(len(plan.lost), 'place')} changed since, and not taken back"] * bool(plan.lost)
            return _item(what, "partly", "; ".join([counted, *changed, *plan.kept]))
        return _item(what, "taken back", counted)

    def _entries(self, tx: Tx, noted: Sequence[Noted]) -> list[dict[str, Any]]:
        """Each entry as it was before the night, unless somebody changed it since."""
        now = self.clock()
        by_entry = sorted(noted, key=lambda each: (each.entry, each.id))
        done = []
        for entry, group in groupby(by_entry, key=lambda each: each.entry):
            found = list(group)
            done.append(_entry_back(tx, entry, found))
            if done[-1]["state"] != "left":
                journal.mark_undone(tx, found, now)
        return done

    def _record(self, tx: Tx, asking: Asking, period: Period, done: Sequence[Mapping[str, Any]]) -> None:
        back = sum(item["state"] != "left" for item in done)
        if not back:
            return
        words = f"took back what was written in the night of {period.name}: {back} of {len(done)}"
        event = NewEvent(
            Kind.NOTABLE, words, asking.scope.audience, asking.trust, person=asking.who.person,
            details={nights.UNDONE: period.name},
        )  # fmt: skip
        activity.note(tx, event, self.clock())

    # ------------------------------------------------------------------ the owner's command line

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """By the names the control socket knows; whoever reaches that socket is the owner."""
        return {"summary.night": self.owner_report, "summary.undo_night": self.owner_undo}

    async def owner_report(self, night: str = "") -> list[dict[str, Any]]:
        """The report of a night."""
        return await self.report(Asker(PERSON, _OWNER.scope, is_owner=True), night)

    async def owner_undo(self, night: str = "") -> list[dict[str, Any]]:
        """Take a night back."""
        return await self.undo(_OWNER, night)


def written(
    rows: Rows, turns: Sequence[NightTurn], scope: Scope, period: Period, known: Mapping[BlockId, Past]
) -> Written:
    """What turns wrote, found by who wrote it; `known` are pasts that need not be read again."""
    wanted = {identifier for turn in turns for identifier in turn.all}
    if not wanted:
        return Written((), (), ())
    named = {each.block.id: each for each in named_blocks(rows, scope) if each.block.type is not BlockType.LOG}
    blocks, hidden = [], 0
    for identifier in map(BlockId, nights.changed_blocks(rows, period.start)):
        past = known.get(identifier)
        if past is None or past.version != version_of(rows, identifier):
            past = _past(rows, identifier)
        changes = [] if past is None else [step.change for step in past.steps if step.change.turn in wanted]
        if past is not None and changes and identifier in named:
            blocks.append((named[identifier], past, changes))
        hidden += bool(changes) and identifier not in named
    return Written(blocks, journal.of_turns(rows, wanted, scope), arranged.of_turns(rows, wanted, scope), hidden)


def _past(rows: Rows, block: BlockId) -> Past | None:
    try:
        return past_of_block(rows, block)
    except BlockCorrupt:  # what is damaged is told of by `memory verify`
        return None


def _entry_back(tx: Tx, entry: EntryId, noted: Sequence[Noted]) -> dict[str, Any]:
    first, last = noted[0], noted[-1]
    if not journal.as_left(tx, last):
        return _item(f"entry {entry}", "left", "somebody changed it since")
    if first.before is None:
        row = tx.one("SELECT agent_id FROM archival_entries WHERE id = ?", (entry,))
        if row is not None:
            archival.delete(tx, AgentId(row["agent_id"]), entry, Scope(last.audience))
        return _item(f"entry {entry}", "taken back", "it is gone")
    try:
        archival.put_back(tx, first.before)
    except StoreError as error:
        return _item(f"entry {entry}", "left", str(error))
    return _item(f"entry {entry}", "taken back", "it is there again" if last.deed == "delete" else "it is as it was")


def _back(tx: Tx, found: Arranged, now: datetime) -> dict[str, Any]:
    done, words = arranged.take_back(tx, found, now)
    return _item(f"{found.what} {found.id}", "taken back" if done else "left", words)


def _item(what: str, state: str, text: str) -> dict[str, Any]:
    return {"what": what, "state": state, "text": text}


def _row(words: str) -> dict[str, Any]:
    return {"at": "", "group": "", "agent": "", "why": "", "wrote": [], "said": [], "text": words}


def _turn_data(rows: Rows, turn: NightTurn, found: Written) -> dict[str, Any]:
    """A turn of a night as plain data, with a text for people."""
    why = [line[2:] for line in turn.why.splitlines() if line.startswith("- ")]
    wrote = [line for each in found.blocks for line in _block_lines(turn, *each)]
    wrote += [_entry_line(rows, each) for each in found.entries if each.turn in turn.all]
    said = [one_line(text, _SHOWN) for text in turn.said]
    parts = [f"because {'; '.join(why)}" if why else "", *(f"wrote {line}" for line in wrote)]
    parts += [f"said {line!r}" for line in said] + [one_line(words, _SHOWN) for words in turn.arranged]
    ended = "" if turn.status == "done" else f"it is {turn.status}"
    text = (
        "; ".join(part for part in (*parts, ended) if part)
        if wrote or said or turn.arranged or ended
        else (f"{parts[0]}; wrote and said nothing" if parts[0] else "wrote and said nothing")
    )
    data = {"at": to_text(turn.started_at), "group": turn.group_name, "agent": turn.agent_name}
    return {**data, "why": why, "wrote": wrote, "said": said, "text": text}


def _block_lines(turn: NightTurn, named: Named, past: Past, changes: Sequence[Change]) -> list[str]:
    seqs = {change.seq for change in changes if change.turn in turn.all}
    steps: list[Step] = [step for step in past.steps if step.change.seq in seqs]
    if not steps:
        return []
    came = " … ".join(splice.insert for step in steps for splice in step.splices if splice.insert.strip())
    gone = sum(splice.delete for step in steps for splice in step.splices)
    took = f", {many(gone, 'character')} went" if gone else ""
    return [f"in block {named.name} ({many(len(steps), 'change')}{took}): {one_line(came, _SHOWN) or 'nothing new'}"]


def _entry_line(rows: Rows, noted: Noted) -> str:
    row = rows.one("SELECT content FROM archival_entries WHERE id = ?", (noted.entry,))
    text = (noted.before or {}).get("content", "") if row is None else row["content"]
    verb = {"insert": "a new entry", "change": "to the entry", "delete": "that the entry goes:"}[noted.deed]
    return f"{verb} {noted.entry}: {one_line(text, _SHOWN)}" if text else f"{verb} {noted.entry}"
