"""Reports what agents did on their own overnight and why, and undoes it."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from itertools import groupby
from typing import Annotated

from msgspec import Struct
from pydantic import Field

from bot.agents.permissions import roles_and_rights
from bot.agents.permissions.roles_and_rights import Action, Rank
from bot.errors import UserError
from bot.services.caller import TERMINAL_ONLY, Caller
from bot.services.names import NamedBlock, find_agent, named_blocks, typed_id
from bot.services.registry import Param, Suggestions, operation, suggestions
from bot.services.results import Listing, Markup, Row
from bot.services.transactions import ZonedService, commit
from bot.upkeep.scheduled_summaries import Period
from memory import activity, coordination, sleeptime_turns
from memory.activity import NewEvent, NightUndone
from memory.blocks import BlockType, revert
from memory.blocks.changes import Change
from memory.blocks.history import ChangeLog
from memory.blocks.revert import Editor
from memory.blocks.store import DEFAULT_POLICY, CheckpointPolicy, block_history, written_in
from memory.coordination import Arrangement
from memory.knowledge import entry_changes, entry_journal
from memory.knowledge.entry_journal import JournalEntry
from memory.people.audience import Scope
from memory.people.identities import place_called
from memory.sleeptime_turns import SleeptimeTurn
from memory.store.database import Rows, Tx
from memory.store.errors import BlockCorrupt, StoreError
from memory.store.ids import AgentId, BlockId, EntryId, TurnId
from memory.store.logs import Log
from scheduler.times_in_words import date_words
from scheduler.zones import instant, zone_of
from sources.names import place_title
from sources.text import one_line
from texts import _, error_text, gettext_noop, ngettext, ngettext_lazy, ngettext_noop

_SHOWN = 160
_KNOWN = timedelta(days=60)  # longer than Discord shows suggestions for, a night each
_log = Log("bot.services.memory.summaries_of_nights")
_Night = Annotated[
    str,
    Param(
        "Date on which the night began (default: last night)", metavar="DATE", suggests="nights",
        positional=True
    )
]  # fmt: skip
_Only = Annotated[str, Param("Only what this agent wrote", suggests="agents")]
_OneTurn = Annotated[int | None, Field(ge=1), Param("Only what was written in this turn", via=TERMINAL_ONLY)]
_Part = Annotated[str, Param("Only this block or entry, such as “block notes”", via=TERMINAL_ONLY)]
_ENDED = {"cancelled": gettext_noop("canceled"), "failed": gettext_noop("failed"), "running": gettext_noop("running")}
_UNDONE = {"undone": gettext_noop("undone"), "partly": gettext_noop("partly undone")}
_UNDONE |= {"left": gettext_noop("left unchanged")}
_ACTIONS = {
    "insert": gettext_noop("wrote the new entry{entry}"),
    "change": gettext_noop("changed the entry{entry}"),
    "delete": gettext_noop("removed the entry{entry}"),
}


class TurnWrites(Struct, frozen=True):
    """What turns changed in blocks that a scope may see (`hidden`: may not) and in entries, and what they scheduled."""

    blocks: Sequence[tuple[NamedBlock, ChangeLog, Sequence[Change]]]
    entries: Sequence[JournalEntry]
    arranged: Sequence[Arrangement]
    hidden: int = 0

    def only(self, part: str) -> "TurnWrites":
        """The writes to one block or entry, as `TurnRow.parts` names them; all without a name."""
        if not part:
            return self
        blocks = [each for each in self.blocks if _block_part(each[0]) == part]
        return TurnWrites(blocks, [each for each in self.entries if _entry_part(each) == part], ())


def _block_part(named: NamedBlock) -> str:
    return f"block {named.name}"


def _entry_part(noted: JournalEntry) -> str:
    return f"entry {noted.entry}"


class TurnRow(Row):
    """A turn that an agent started by itself: its reason, writes and answer; without a turn, a remark."""

    at: datetime | None = Field(default=None, validation_alias="started_at")
    turn: TurnId | None = Field(default=None, validation_alias="id")
    group: str = Field(default="", validation_alias="group_name")
    agent: str = Field(default="", validation_alias="agent_name")
    place: str = ""
    why: tuple[str, ...] = ()
    wrote: tuple[str, ...] = ()
    parts: tuple[str, ...] = Field(default=(), exclude=True)
    """The block or entry of each line of `wrote`, which can be undone separately."""
    said: tuple[str, ...] = ()
    text: str

    def line(self, markup: Markup) -> str:
        when = "" if self.at is None else markup.time(self.at)
        where = ", ".join(filter(None, (self.group, self.place)))
        head = markup.text(f"{self.agent} ({where}, ") + f"{when})" if self.agent else when
        return f"{head}: {markup.text(self.text)}" if head else markup.text(self.text)


class UndoneRow(Row):
    what: str
    state: str
    text: str

    def line(self, markup: Markup) -> str:
        return self.told(markup, "{what}: {state} ({text})", state=_(_UNDONE[self.state]))


class NightSummaries(ZonedService, frozen=True):
    checkpoints: CheckpointPolicy = DEFAULT_POLICY

    @operation("summary.night", "Show what agents did on their own overnight, and why", Action.READ_MEMORY)
    def report(self, rows: Rows, caller: Caller, night: _Night = "") -> Listing[TurnRow]:
        period = self._period(night)
        empty = _("There is nothing from that night to show here.")
        turns = sleeptime_turns.turns_between(rows, period.start, period.end, caller.scope)
        found = written(rows, turns, caller.scope)
        undone = sleeptime_turns.undone(rows, period.name, caller.scope)
        listed = [TurnRow(at=at, text=_(words)) for at, words in undone]
        listed += [_turn_row(rows, turn, found, caller.scope) for turn in turns]
        if roles_and_rights.rank_of(self.people, caller.approver) is not Rank.OWNER:
            return Listing.of(listed, empty)  # others do not even learn the amount elsewhere
        if (more := sleeptime_turns.count_elsewhere(rows, period.start, period.end, turns)) > 0:
            one, many = ngettext_noop("{count} turn that you cannot see here", "{count} turns that you cannot see here")
            listed.append(TurnRow(text=ngettext(one, many, more)))
        if found.hidden:
            hidden = ngettext("{count} block", "{count} blocks", found.hidden)
            listed.append(TurnRow(text=_("{hidden} that you cannot see here also changed", hidden=hidden)))
        return Listing.of(listed, empty)

    @operation("summary.undo-night", "Undo what agents wrote on their own overnight", Action.UNDO_NIGHT)
    async def undo(
        self, caller: Caller, night: _Night = "", agent: _Only = "", turn: _OneTurn = None, part: _Part = ""
    ) -> Listing[UndoneRow]:
        """Undo everything in one transaction; what has been changed since stays, and is named."""
        period, who = self._period(night), caller.approver
        done = await commit(self.database, lambda tx: self._undo(tx, caller, period, agent, turn, part))
        back = sum(item.state != "left" for item in done)
        _log.info("night_undone", night=period.name, by=who.person, interface=who.interface, back=back, of=len(done))
        lasting = _(
            "This cannot be reversed as a whole. `carina memory undo` reverses it for one block; "
            "removed entries stay removed."
        )
        return Listing.of(done, _("There is nothing to undo."), lasting if done else "")

    def _undo(self, tx: Tx, caller: Caller, period: Period, agent: str, turn: int | None, part: str) -> list[UndoneRow]:
        name = find_agent(tx, agent).name if agent else ""
        turns = sleeptime_turns.turns_between(tx, period.start, period.end, caller.scope)
        turns = [each for each in turns if name in ("", each.agent_name) and turn in (None, each.id)]
        if any(each.status in ("running", "suspended") for each in turns):
            raise UserError(
                "An agent is still working on something from that night, so nothing was undone. "
                "Try again when it is done."
            )
        found = written(tx, turns, caller.scope).only(part)
        done = [self._block(tx, caller, *each) for each in found.blocks] + self._entries(tx, found.entries)
        done += [_back(tx, each) for each in found.arranged]
        done += [_item(_("more blocks"), "left", _("they cannot be seen from here"))] * bool(found.hidden)
        self._record(tx, caller, period, done)
        return done

    @suggestions("nights")
    def suggest(self, rows: Rows, caller: Caller) -> Suggestions:
        since = self.clock() - _KNOWN
        begun = sleeptime_turns.begun_since(rows, since, caller.scope)
        nights = dict.fromkeys(night_of(at, self.zone).name for at in begun)
        return [(each, date_words(date.fromisoformat(each))) for each in nights]

    def _period(self, which: str) -> Period:
        if which.strip().casefold() in ("", "last night", _("last night").casefold()):
            return _night(self.clock() - timedelta(days=1), self.zone)
        try:
            return night_named(which, self.zone)
        except (ValueError, OverflowError) as error:
            raise UserError(
                "“{which}” is not a night. Give the date on which it began, such as 2026-11-22.", which=which[:40]
            ) from error

    def _block(
        self, tx: Tx, caller: Caller, named: NamedBlock, past: ChangeLog, changes: Sequence[Change]
    ) -> UndoneRow:
        editor = Editor(caller.approver.person, (), True, caller.scope, caller.trust, self.clock(), self.checkpoints)
        what = _("block “{name}”", name=named.name)
        try:
            plan = revert.take_back(revert.by_hand(tx, editor, named.block), past, changes).plan
        except StoreError as error:
            return _item(what, "left", error_text(error))
        removed = ngettext("{count} character", "{count} characters", plan.removed)
        counted = _("{removed} removed, {restored} restored", removed=removed, restored=plan.restored)
        if plan.lost or plan.kept:
            lost = ngettext("{count} place", "{count} places", len(plan.lost))
            changed = [_("not undone because of later changes: {lost}", lost=lost)] * bool(plan.lost)
            return _item(what, "partly", "; ".join([counted, *changed, *map(_, plan.kept)]))
        return _item(what, "undone", counted)

    def _entries(self, tx: Tx, noted: Sequence[JournalEntry]) -> list[UndoneRow]:
        """Restore each entry to its state before the night, unless somebody has changed it since."""
        now = self.clock()
        by_entry = sorted(noted, key=lambda each: (each.entry, each.id))
        done = []
        for entry, group in groupby(by_entry, key=lambda each: each.entry):
            found = list(group)
            done.append(_entry_back(tx, entry, found))
            if done[-1].state != "left":
                entry_journal.mark_undone(tx, found, now)
        return done

    def _record(self, tx: Tx, caller: Caller, period: Period, done: Sequence[UndoneRow]) -> None:
        back = sum(item.state != "left" for item in done)
        if not back:
            return
        words = ngettext_lazy(
            "undid {back} of {count} change from the night that began {at}",
            "undid {back} of {count} changes from the night that began {at}",
            len(done),
            back=back,
            at=period.start,
        )
        undone, by = NightUndone(period.name), caller.approver.person
        activity.note(tx, NewEvent(undone, words, caller.scope.audience, caller.trust, person=by), self.clock())


def written(rows: Rows, turns: Sequence[SleeptimeTurn], scope: Scope) -> TurnWrites:
    """The writes of turns, found by writer."""
    wanted = {identifier for turn in turns for identifier in turn.all}
    if not wanted:
        return TurnWrites((), (), ())
    named = {each.block.id: each for each in named_blocks(rows, scope) if each.block.type is not BlockType.LOG}
    blocks, hidden = [], 0
    for identifier in written_in(rows, wanted):
        past = _past(rows, identifier)
        changes = [] if past is None else [change for change in past.changes if change.turn in wanted]
        if past is not None and changes and identifier in named:
            blocks.append((named[identifier], past, changes))
        hidden += bool(changes) and identifier not in named
    return TurnWrites(
        blocks, entry_journal.of_turns(rows, wanted, scope), coordination.arranged_by(rows, wanted, scope), hidden
    )


def _past(rows: Rows, block: BlockId) -> ChangeLog | None:
    try:
        return block_history(rows, block)
    except BlockCorrupt:  # `memory verify` reports damage
        return None


def _entry_back(tx: Tx, entry: EntryId, noted: Sequence[JournalEntry]) -> UndoneRow:
    what, first, last = _("entry{entry}", entry=typed_id(entry)), noted[0], noted[-1]
    if not entry_journal.as_left(tx, last):
        return _item(what, "left", _("somebody has changed it since"))
    if first.before is None:
        row = tx.one("SELECT agent_id FROM archival_entries WHERE id = ?", (entry,))
        if row is not None:
            entry_changes.delete(tx, AgentId(row["agent_id"]), entry, Scope(last.audience))
        return _item(what, "undone", _("it is gone"))
    try:
        entry_changes.put_back(tx, first.before)
    except StoreError as error:
        return _item(what, "left", error_text(error))
    return _item(what, "undone", _("it is back") if last.action == "delete" else _("it is as it was before"))


_ARRANGED = {
    "task changed": gettext_noop("change to task{id}"),
    "task": gettext_noop("task{id}"),
    "handoff note": gettext_noop("handoff note{id}"),
    "note": gettext_noop("note{id}"),
    "fact": gettext_noop("fact{id}"),
}


def _back(tx: Tx, found: Arrangement) -> UndoneRow:
    done, words = coordination.take_back(tx, found)
    return _item(_(_ARRANGED[found.what], id=typed_id(str(found.id))), "undone" if done else "left", _(words))


def _item(what: str, state: str, text: str) -> UndoneRow:
    return UndoneRow(what=what, state=state, text=text)


def _turn_row(rows: Rows, turn: SleeptimeTurn, found: TurnWrites, scope: Scope) -> TurnRow:
    why = [line[2:] for line in turn.why.splitlines() if line.startswith("- ")]
    of = [(_block_part(each[0]), line) for each in found.blocks for line in _block_lines(turn, *each)]
    of += [(_entry_part(each), _entry_line(rows, each)) for each in found.entries if each.turn in turn.all]
    wrote = [line for _part, line in of]
    said = [one_line(text, _SHOWN) for text in turn.said]
    parts = [_("because {reasons}", reasons="; ".join(why)) if why else "", *wrote]
    parts += [_("said “{line}”", line=line) for line in said] + [one_line(_(words), _SHOWN) for words in turn.arranged]
    parts += [] if turn.status == "done" else [_(_ENDED.get(turn.status, turn.status))]
    parts += [] if parts[1:] else [_("wrote and said nothing")]
    text = "; ".join(filter(None, parts))
    wrote_in = tuple(part for part, _line in of)
    place = place_title(place_called(rows, turn.place, scope))
    return TurnRow.from_record(turn, place=place, why=why, wrote=wrote, parts=wrote_in, said=said, text=text)


def _block_lines(turn: SleeptimeTurn, named: NamedBlock, past: ChangeLog, changes: Sequence[Change]) -> list[str]:
    seqs = {change.seq for change in changes if change.turn in turn.all}
    steps = past.steps([change for change in past.readable.changes if change.seq in seqs])
    if not steps:
        return []
    came = " … ".join(splice.insert for step in steps for splice in step.splices[::-1] if splice.insert.strip())
    gone = sum(splice.delete for step in steps for splice in step.splices)
    counts = [ngettext("{count} change", "{count} changes", len(steps))]
    counts += [ngettext("{count} character removed", "{count} characters removed", gone)] if gone else []
    text = _("“{text}”", text=one_line(came, _SHOWN)) if came else _("nothing new")
    return [_("wrote to the block “{name}” ({counts}): {text}", name=named.name, counts=", ".join(counts), text=text)]


def _entry_line(rows: Rows, noted: JournalEntry) -> str:
    row = rows.one("SELECT content FROM archival_entries WHERE id = ?", (noted.entry,))
    text = (noted.before or {}).get("content", "") if row is None else row["content"]
    done = _(_ACTIONS[noted.action], entry=typed_id(noted.entry))
    return _("{deed}: “{text}”", deed=done, text=one_line(text, _SHOWN)) if text else done


def _night(moment: datetime, zone: str) -> Period:
    """The night that begins on the local date of a moment: from noon to noon."""
    day = moment.astimezone(zone_of(zone)).date()
    start, end = (datetime.combine(each, time(12)) for each in (day, day + timedelta(days=1)))
    return Period(instant(start, zone_of(zone)), instant(end, zone_of(zone)), f"{day:%Y-%m-%d}")


def night_of(moment: datetime, zone: str) -> Period:
    found = _night(moment, zone)
    return found if found.start <= moment else _night(moment - timedelta(days=1), zone)


def night_named(text: str, zone: str) -> Period:
    """The night that begins on a date such as 2026-11-22. Raises ValueError."""
    day = datetime.strptime(text.strip(), "%Y-%m-%d").replace(tzinfo=UTC)
    return _night(instant(day.replace(hour=12, tzinfo=None), zone_of(zone)), zone)
