"""Commands for blocks: show, inspect the history, edit by hand. `block_settings.py` creates, renames and deletes them.

Everything is read through the caller's scope, and every change is checked again in its transaction. Blocks have
readable names: the label and, if several have that label, the owner and the audience.
"""

import functools
from collections.abc import Sequence
from datetime import datetime, tzinfo
from typing import Annotated

from pydantic import Field

from bot.agents.permissions import roles_and_rights
from bot.agents.permissions.roles_and_rights import Action, Approver, People
from bot.errors import CallError, UserError
from bot.services.caller import TERMINAL_ONLY, Caller, Via
from bot.services.memory.block_results import (
    Blame,
    BlockRow,
    ChangeRow,
    CheckRow,
    Checks,
    Diff,
    EditResult,
    FormContents,
    History,
    PartRow,
    ShownBlock,
    UndoResult,
    purpose_of,
    state_of,
)
from bot.services.memory.block_settings import BlockName, WritableBlock, editor_of
from bot.services.names import (
    NamedBlock,
    find_named,
    named_blocks,
    named_past,
    shown_block,
    where,
)
from bot.services.registry import FORM, KEEPS, Arguments, Options, Param, Suggestions, operation, suggestions
from bot.services.results import Listing
from bot.services.transactions import ZonedService, commit
from memory import agents
from memory.blocks import Operation, form_edits, revert
from memory.blocks.changes import SYSTEM, Writer, agent_writer, person_writer
from memory.blocks.edits import addition, end_of
from memory.blocks.form_edits import field_mark
from memory.blocks.history import ChangeLog, blame
from memory.blocks.repair import note_damage, repair_block, verify_block
from memory.blocks.revert import Edit, Editor
from memory.blocks.store import DEFAULT_POLICY, CheckpointPolicy, block_history
from memory.people.audience import Scope
from memory.people.identities import person_called
from memory.store.database import Rows, Tx
from memory.store.errors import BlockChanged, BlockCorrupt
from memory.store.ids import BlockId, PersonId
from scheduler.dates.command_times import MOMENTS, moment_said
from scheduler.zones import zone_of
from texts import _, error_text, ngettext

_VERIFIES = Options(via=TERMINAL_ONLY, changes=True, seconds=None)

_Version = Annotated[int, Param("Version number, as the history shows it")]
_FieldName = Annotated[str, Param("Edit only this field", suggests="fields")]
_Label = Annotated[
    str, Param("Name of the block", example="persona", metavar="BLOCK", suggests="blocks", positional=True)
]
_Shown = Annotated[int | None, Param("Version to show (default: the newest)")]
_Before = Annotated[int | None, Field(ge=1, le=2**63 - 1), Param("Show only changes before this one", metavar="NUMBER")]
_Limit = Annotated[int, Field(ge=1, le=100_000), Param("Maximum number to show, newest first", via=TERMINAL_ONLY)]
_Newer = Annotated[int | None, Param("Version to compare with (default: the newest)", positional=True)]
_Text = Annotated[str, Param("The text to add", example="Likes tea.")]
_Redo = Annotated[bool, Param("Redo your latest undone change")]
_Writer = Annotated[str, Param("Agent, person or job whose changes to undo", example="Carina", suggests="writers")]
_Since = Annotated[str, Param("Undo only changes since a time, an age such as 8h or 2d, or a version")]
_Only = Annotated[
    int | None, Field(ge=1), Param("Undo only this change, not later ones", metavar="NUMBER", via=TERMINAL_ONLY)
]
_Repair = Annotated[bool, Param("Repair damaged blocks")]


class EditBlock(Arguments):
    label: WritableBlock
    field: _FieldName = ""
    text: Annotated[str | None, Param("The new text", piped=True)] = None
    seen: Annotated[int | None, Param("Version you edited; later changes by others are kept", metavar="VERSION")] = None
    only_at: Annotated[
        str,
        Param(
            "Edit only if the block is still in this state: ID.VERSION, as `--json` shows it",
            metavar="STATE",
            via=TERMINAL_ONLY,
        ),
    ] = ""


class Blocks(ZonedService, frozen=True):
    checkpoints: CheckpointPolicy = DEFAULT_POLICY

    # ------------------------------------------------------------------ show

    @operation("memory.list", "List the memory blocks you can see here", Action.READ_MEMORY)
    @suggestions("blocks")
    def list_blocks(self, rows: Rows, caller: Caller) -> Listing[BlockRow]:
        return _listed(rows, caller)

    @operation("memory.show", "Show a memory block, or list them all", Action.READ_MEMORY)
    def show_block(
        self, rows: Rows, caller: Caller, label: _Label = "", version: _Shown = None
    ) -> Listing[BlockRow] | ShownBlock:
        if not label:
            return _listed(rows, caller)
        named = find_named(rows, caller.scope, label)
        block = named.block
        version = block.version if version is None else version
        text = block.content
        if version != block.version:
            text = self._readable(caller, block_history(rows, block.id)).text_at(version)
        row = _row(rows, named, caller).model_copy(update={"size": len(text)})
        return ShownBlock(row=row, version=version, newest=block.version, text=text, profile=block.profile)

    @operation("memory.history", "Show who changed a block, when and how", Action.READ_MEMORY)
    def show_history(
        self, rows: Rows, caller: Caller, label: BlockName, before: _Before = None, limit: _Limit = 15
    ) -> History:
        named, past, names = self._past(rows, caller, label)
        past = self._readable(caller, past)
        shown = [change for change in past.changes if before is None or change.seq < before][-limit:]
        changes = [ChangeRow.of_step(step, names) for step in past.steps(shown)]
        versions = _(past.range) if past.version else ""
        return History(block=named.name, versions=versions, changes=tuple(changes[::-1]))

    @operation("memory.diff", "Compare two versions of a block", Action.READ_MEMORY)
    def compare(self, rows: Rows, caller: Caller, label: BlockName, older: _Version, newer: _Newer = None) -> Diff:
        named, past = named_past(rows, caller.scope, label)
        past = self._readable(caller, past)
        newer = past.version if newer is None else newer
        before, after = past.text_at(older), past.text_at(newer)
        return Diff(block=named.name, older=older, newer=newer, before=before, after=after)

    @operation("memory.blame", "Show who wrote which part of a block, and when", Action.READ_MEMORY)
    def show_blame(self, rows: Rows, caller: Caller, label: BlockName) -> Blame:
        named, past, names = self._past(rows, caller, label)
        parts = tuple(PartRow.of(piece, names) for piece in blame(past))
        return Blame(block=named.name, versions=_(past.range), parts=parts)

    # ------------------------------------------------------------------ edit

    @operation("memory.edit", "Edit a block or one of its fields", Action.EDIT_OWN, KEEPS)
    def edit(self, tx: Tx, caller: Caller, arguments: EditBlock) -> EditResult:
        """Replace the whole text; with `seen`, changes made after that version are kept."""
        if arguments.text is None:
            raise UserError("Give the new text. Empty text clears the block.")
        named = find_named(tx, caller.scope, arguments.label)
        if arguments.only_at not in ("", state_of(named.block.id, named.block.version)):
            raise BlockChanged(
                "Block “{block}” has been changed since then, so it stays as it is.", block=named.block.label
            )
        opened = "" if arguments.seen is None else arguments.field  # a form's field has no room for more than a digest
        field = form_edits.field_marked(named.block, opened) or arguments.field
        edit = revert.by_hand(tx, self._editor(caller), named.block)
        block = form_edits.write(edit, named.block, arguments.text, field, arguments.seen)
        merged = form_edits.was_merged(tx, block, field, arguments.text)
        return EditResult(block=named.name, field=field, version=block.version, merged=merged, text=block.content)

    @operation("memory.append", "Add a line to a block, or an entry to a log", Action.EDIT_OWN, KEEPS)
    def append(self, tx: Tx, caller: Caller, label: BlockName, text: _Text, field: _FieldName = "") -> EditResult:
        named = find_named(tx, caller.scope, label)
        path = field or end_of(named.block)
        added = addition(named.block, path, f"{text}\n", person_writer(caller.person), self.clock())
        edit = revert.by_hand(tx, self._editor(caller), named.block, Operation.APPEND)
        block = edit(lambda opened: opened.document.change(added))
        return EditResult(block=named.name, field=path, version=block.version, merged=False, text=block.content)

    @operation("memory.form", "Open a form with a block, or one of its fields", Action.EDIT_OWN, FORM)
    def open_form(self, rows: Rows, caller: Caller, label: WritableBlock, field: _FieldName = "") -> FormContents:
        block = find_named(rows, caller.scope, label).block
        revert.require_editor(self._editor(caller), block)
        text, which = form_edits.text_of(rows, block, field), field_mark(field) if field else ""
        return FormContents.from_record(block, field=which, text=text)

    # ------------------------------------------------------------------ revert

    @operation("memory.rollback", "Restore an older version of a block", Action.EDIT_OWN)
    def roll_back(self, tx: Tx, caller: Caller, label: WritableBlock, version: _Version) -> UndoResult:
        named, edit = self._editable(tx, caller, label)
        return UndoResult.of(named.name, revert.roll_back(edit, version))

    @operation("memory.undo", "Undo or redo your latest change to a block", Action.EDIT_OWN)
    def undo(self, tx: Tx, caller: Caller, label: WritableBlock, redo: _Redo = False) -> UndoResult:
        named, edit = self._editable(tx, caller, label)
        step_back = revert.redo if redo else revert.undo
        return UndoResult.of(named.name, step_back(edit, person_writer(caller.person)), redone=redo)

    @operation("memory.revert", "Undo one writer's changes and keep the rest", Action.EDIT_OWN)
    def revert_writer(
        self, tx: Tx, caller: Caller, label: WritableBlock, writer: _Writer, since: _Since = "", only: _Only = None
    ) -> UndoResult:
        if since and only is not None:
            raise CallError("Use --since or --only, not both.")
        named, edit = self._editable(tx, caller, label)
        past = block_history(tx, named.block.id)
        names = _writer_names(tx, past, caller.scope, caller.approver, self.people)
        whose = _writer_called(names, past, writer, self.people)
        zone = zone_of(self.zone_of(tx, caller))
        after = _version_before(past, since, self.clock(), zone) if only is None else only - 1
        done = revert.revert(edit, past, whose, after, names[whose], alone=only is not None)
        return UndoResult.of(named.name, done)

    def _editable(self, tx: Tx, caller: Caller, label: str) -> tuple[NamedBlock, Edit]:
        named = find_named(tx, caller.scope, label)
        return named, revert.by_hand(tx, self._editor(caller), named.block)

    # ------------------------------------------------------------------ maintenance

    @operation("memory.verify", "Check all blocks for damage", Action.EDIT_ANY, _VERIFIES)
    async def verify(self, _caller: Caller, repair: _Repair = False) -> Checks:
        rows = list[CheckRow]()
        for identifier, name in await self.database.read(_every_block):
            problems = await self.database.read(functools.partial(verify_block, block=identifier))
            repaired: Sequence[str] = ()
            if problems and repair:
                repaired = await self._repair(identifier)
            state = "sound" if not problems else "repaired" if repaired else "damaged"
            rows.append(CheckRow(block=name, state=state, found=tuple(problems)))
        damaged = sum(row.state == "damaged" for row in rows)
        found = ngettext("{count} block is damaged.", "{count} blocks are damaged.", damaged)
        more = f"{found} {_('`carina memory verify --repair` rebuilds what it can.')}" if damaged else ""
        return Checks.of(rows, _("There are no blocks yet."), more)

    async def _repair(self, identifier: BlockId) -> Sequence[str]:
        try:
            return await commit(self.database, lambda tx: repair_block(tx, identifier, self.clock()))
        except BlockCorrupt as error:
            why, now = [error_text(error)], self.clock()
            await commit(self.database, lambda tx: note_damage(tx, identifier, why, "unreadable", now))
            return ()

    # ------------------------------------------------------------------ suggestions

    @suggestions("writable blocks")
    def suggest_writable(self, rows: Rows, caller: Caller) -> Suggestions:
        editor = self._editor(caller)
        found = (each.name for each in named_blocks(rows, caller.scope) if revert.is_writable(editor, each.block))
        return {name: shown_block(name) for name in found}.items()

    @suggestions("fields", within="label")
    def suggest_fields(self, rows: Rows, caller: Caller, label: str) -> Suggestions:
        return form_edits.fields_by_hand(find_named(rows, caller.scope, label).block)

    @suggestions("writers", within="label")
    def suggest_writers(self, rows: Rows, caller: Caller, label: str) -> Suggestions:
        _named, past, names = self._past(rows, caller, label)
        return {change.writer: names[change.writer] for change in past.changes}.items()

    # ------------------------------------------------------------------ storage

    def _past(self, rows: Rows, caller: Caller, label: str) -> tuple[NamedBlock, ChangeLog, dict[Writer, str]]:
        """A block with its history, and the names of its writers for the caller."""
        named, past = named_past(rows, caller.scope, label)
        return named, past, _writer_names(rows, past, caller.scope, caller.approver, self.people)

    def _readable(self, caller: Caller, past: ChangeLog) -> ChangeLog:
        return past if roles_and_rights.may(self.people, caller.approver, Action.EDIT_ANY) else past.readable

    def _editor(self, caller: Caller) -> Editor:
        return editor_of(self.people, caller, self.clock(), self.checkpoints)


def _listed(rows: Rows, caller: Caller) -> Listing[BlockRow]:
    found = [_row(rows, each, caller) for each in named_blocks(rows, caller.scope)]
    more = _("`carina memory show BLOCK` shows a block's text.") if found and caller.via is Via.TERMINAL else ""
    return Listing.of(found, _("There are no blocks to show here."), more)


def _row(rows: Rows, named: NamedBlock, caller: Caller) -> BlockRow:
    block = named.block
    names = {"block": named.name, "agent": named.agent, "readers": where(rows, block.audience, caller.scope)}
    return BlockRow.from_record(block, **names, purpose=purpose_of(block), size=len(block.content))


def _every_block(rows: Rows) -> list[tuple[BlockId, str]]:
    """All existing blocks, for maintenance; those of direct messages are unnamed."""
    found = rows.all(
        "SELECT b.id, b.label, b.audience, a.name FROM memory_blocks b LEFT JOIN agents a ON a.id = b.agent_id"
        " WHERE b.deleted_at IS NULL ORDER BY b.n"
    )
    return [(BlockId(row["id"]), _block_name(row["name"], row["label"], row["audience"])) for row in found]


def _block_name(agent: str | None, label: str, audience: str) -> str:
    """The name of a block for the owner, who may not see others' direct messages."""
    whose = agent or _("everybody")
    if audience.startswith("person:"):
        return _("{whose}: a block from direct messages", whose=whose)
    return f"{whose}/{label}"


def _writer_names(rows: Rows, past: ChangeLog, scope: Scope, who: Approver, people: People) -> dict[Writer, str]:
    """The writers' names for the caller: agents and persons by name if known, jobs as jobs.

    The name of a person who never spoke here is shown only to that person; the owner is named as such.
    """
    names = {agent_writer(agent.id): agent.name for agent in agents.every_agent(rows)}
    for writer in {change.writer for change in past.changes} - set(names):
        kind, _colon, identifier = writer.partition(":")
        names[writer] = _person(rows, identifier, scope, who, people) if kind == "person" else writer
    return {**names, SYSTEM: _("the system")}


def _person(rows: Rows, identifier: str, scope: Scope, who: Approver, people: People) -> str:
    person = PersonId(identifier)
    if person.startswith("terminal:"):
        return _("the owner")
    own = who.name if person in people.selves(who.person) else ""
    return person_called(rows, person, scope) or own or (_("the owner") if person in people.owner else person)


def _writer_called(names: dict[Writer, str], past: ChangeLog, called: str, people: People) -> Writer:
    """The writer of a block by name or id; the owner also as "owner". Raises UserError."""
    writers = list(dict.fromkeys(change.writer for change in past.changes))
    wanted = called.strip().casefold().removeprefix("the ")
    owners = [writer for writer in writers if writer in map(person_writer, people.owner)]
    if wanted == "owner" and len(owners) == 1:
        return owners[0]
    for fits in (lambda each: each, lambda each: names[each].removeprefix("the "), lambda each: each.partition(":")[2]):
        found = [writer for writer in writers if fits(writer).casefold() == wanted]
        if len(found) == 1:
            return found[0]
        if found:
            words = _("Several writers are called “{called}”. Choose one: {found}.")
            raise UserError(words.format(called=called, found=", ".join(found)))
    there = ", ".join(names[writer] for writer in writers) or _("nobody")
    raise UserError("“{called}” wrote nothing in this block. Its writers: {there}.", called=called, there=there)


def _version_before(past: ChangeLog, since: str, now: datetime, zone: tzinfo) -> int:
    """The version before "since": a change ("12"), a turn ("turn 7"), a time ("2026-11-22 03:00"), or "8h", "2d".

    Times are in the zone. Empty means the start of the stored history. Raises UserError.
    """
    text = since.strip().lower()
    if not text:
        return past.start
    if text.isdecimal():
        return int(text) - 1
    if text.startswith("turn"):
        number = text.removeprefix("turn").strip(" :")
        made = [change.seq for change in past.changes if str(change.turn) == number]
        if not made:
            raise UserError("Turn {number} changed nothing in this block.", number=number)
        return made[0] - 1
    moment = moment_said(since, now, zone)
    if moment is None:
        words = _("“{since}” is not a point in time. Use a change such as 12, a turn such as “turn 7”, or {moments}.")
        raise UserError(words.format(since=since, moments=_(MOMENTS)))
    return past.since(moment)
