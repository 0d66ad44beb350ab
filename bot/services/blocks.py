"""Memory blocks: looked at, looked back at, changed by hand.

Everything is read through the caller's scope, and every change is decided again in the transaction that makes it.
Blocks go by names that people understand: the label, and where there are several of that label, whose and where.
"""

import functools
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, TypeVar

from pydantic import Field

from bot.agents.permissions.policy import Action, People
from bot.errors import UserError
from bot.services.block_names import (
    Named,
    block_name,
    damage_told,
    find_named,
    named_blocks,
    named_past,
    version_before,
    where,
    writer_called,
    writer_names,
)
from bot.services.block_results import (
    Blame,
    BlockList,
    BlockRow,
    ChangeRow,
    CheckRow,
    Diff,
    Edited,
    History,
    PartRow,
    ShownBlock,
    WentBack,
    Writable,
    state_of,
)
from bot.services.block_sharing import OneBlock, hand_of
from bot.services.caller import Caller, Via
from bot.services.parameters import Arguments, Param
from bot.services.registry import Options, Suggestions, operation, suggestions
from bot.services.results import Listing
from memory.blocks import Block, Operation, manual_edits, revert
from memory.blocks.changes import Writer, person_writer, played
from memory.blocks.edits import addition, end_of
from memory.blocks.history import Past, blame
from memory.blocks.manual_edits import field_mark
from memory.blocks.repair import note_damage, repair_block, verify_block
from memory.blocks.revert import Done, Edit, Hand, past_of_block
from memory.blocks.rows import version_of
from memory.blocks.store import DEFAULT_POLICY, CheckpointPolicy
from memory.store.clock import Clock
from memory.store.database import Database, Rows, Tx
from memory.store.errors import BlockChanged, BlockCorrupt
from memory.store.faults import commit_point
from memory.store.ids import BlockId
from texts import _, error_text, ngettext

T = TypeVar("T")

_CHANGE = commit_point("memory.change")
_REPAIR = commit_point("memory.repair")

_TERMINAL = frozenset({Via.TERMINAL})
_FORM = Options(changes=True, keeps=True, offered=False)
_LOOKS = Options(file_name="memory.md")
_CHANGES = Options(changes=True, file_name="memory.md")

_Version = Annotated[int, Param("Version number, as the history shows it")]
_FieldName = Annotated[str, Field(max_length=140), Param("Edit only this field", suggests="fields")]


class ShowBlock(Arguments):
    label: Annotated[
        str, Field(max_length=100), Param("Name of the block", metavar="BLOCK", suggests="blocks", positional=True)
    ] = ""
    version: Annotated[int | None, Param("Version to show (default: the newest)")] = None


class BlockHistory(OneBlock):
    before: Annotated[int | None, Param("Show only changes before this one")] = None
    limit: Annotated[int, Field(ge=1, le=100_000), Param("Maximum number to show, newest first", via=_TERMINAL)] = 15


class CompareBlock(OneBlock):
    older: _Version
    newer: Annotated[int | None, Param("Version to compare with (default: the newest)", positional=True)] = None


class EditBlock(OneBlock):
    field: _FieldName = ""
    text: Annotated[str | None, Param("The new text", piped=True, via=_TERMINAL)] = None
    seen: Annotated[
        int | None,
        Param("Version you edited; later changes by others are kept", via=_TERMINAL),
    ] = None
    only_at: Annotated[
        str,
        Field(max_length=60),
        Param("Change nothing unless this is still its state: ID.VERSION, as `--json` gives them", via=_TERMINAL),
    ] = ""


class AppendToBlock(OneBlock):
    text: Annotated[str, Field(min_length=1, max_length=4_000), Param("The text to add")]
    field: _FieldName = ""


class OpenForm(OneBlock):
    field: _FieldName = ""


class WriteBlock(OneBlock):
    text: Annotated[str, Param("The new text")]
    seen: Annotated[int, Param("The version that the form showed")]


class WriteField(OneBlock):
    text: Annotated[str, Param("The new text")]
    field: Annotated[str, Param("The mark of the field's name")]
    mark: Annotated[str, Param("The mark of what the form showed")]


class RollBackBlock(OneBlock):
    version: _Version


class UndoChange(OneBlock):
    redo: Annotated[bool, Param("Redo your latest undone change")] = False


class RevertWriter(OneBlock):
    writer: Annotated[
        str,
        Field(min_length=1, max_length=100),
        Param("Agent, person or job whose changes to undo", suggests="writers"),
    ]
    since: Annotated[
        str, Field(max_length=40), Param("Start from a change (12), a turn ('turn 7'), a time, or an age (8h, 2d)")
    ] = ""


class VerifyBlocks(Arguments):
    repair: Annotated[bool, Param("Repair damaged blocks")] = False


@dataclass(frozen=True)
class Blocks:
    """The blocks of one constellation."""

    titles: ClassVar = {"memory": "Create, edit and restore memory blocks"}

    database: Database
    people: People
    clock: Clock
    checkpoints: CheckpointPolicy = DEFAULT_POLICY

    # ------------------------------------------------------------------ looking

    @operation("memory.list", "List the memory blocks you can see here", Action.READ_MEMORY, _LOOKS)
    async def list_blocks(self, caller: Caller) -> BlockList:
        """By the names that the other operations take."""

        def read(rows: Rows) -> BlockList:
            return BlockList(rows=tuple(_row(rows, each, caller) for each in named_blocks(rows, caller.scope)))

        return await self._read(read)

    @operation("memory.show", "Show a memory block, or list them all", Action.READ_MEMORY, _LOOKS)
    async def show_block(self, caller: Caller, arguments: ShowBlock) -> BlockList | ShownBlock:
        """As it is or as it was."""
        if not arguments.label:
            return await self.list_blocks(caller)

        def read(rows: Rows) -> ShownBlock:
            named = find_named(rows, caller.scope, arguments.label)
            block, now = named.block, version_of(rows, named.block.id)
            version = now if arguments.version is None else arguments.version
            text = block.content if version == now else past_of_block(rows, block.id).text_at(version)
            row = _row(rows, named, caller)
            return ShownBlock(row=row, version=version, newest=now, text=text, profile=block.profile)

        return await self._read(read)

    @operation("memory.history", "Show who changed a block, when and how", Action.READ_MEMORY, _LOOKS)
    async def show_history(self, caller: Caller, arguments: BlockHistory) -> History:
        """The newest changes, newest first, or those before one."""
        before, limit = arguments.before, arguments.limit

        def read(rows: Rows) -> History:
            named, past, names = self._past(rows, caller, arguments.label)
            steps = [step for step in past.steps if before is None or step.change.seq < before]
            text, changes = played(past.text, steps[:-limit]), list[ChangeRow]()
            for step in steps[-limit:]:
                changes.append(ChangeRow.of_step(step, text, names))
                text = played(text, [step])
            return History(block=named.name, versions=past.range, changes=tuple(changes[::-1]))

        return await self._read(read)

    @operation("memory.diff", "Compare two versions of a block", Action.READ_MEMORY, _LOOKS)
    async def compare(self, caller: Caller, arguments: CompareBlock) -> Diff:
        """As lines for a person, and as parts for a program."""

        def read(rows: Rows) -> Diff:
            named, past = named_past(rows, caller.scope, arguments.label)
            older, newer = arguments.older, past.version if arguments.newer is None else arguments.newer
            before, after = past.text_at(older), past.text_at(newer)
            return Diff(block=named.name, older=older, newer=newer, before=before, after=after)

        return await self._read(read)

    @operation("memory.blame", "Show who wrote which part of a block, and when", Action.READ_MEMORY, _LOOKS)
    async def show_blame(self, caller: Caller, arguments: OneBlock) -> Blame:
        """Of the block as it stands."""

        def read(rows: Rows) -> Blame:
            named, past, names = self._past(rows, caller, arguments.label)
            parts = tuple(PartRow.of(piece, names) for piece in blame(past))
            return Blame(block=named.name, versions=past.range, parts=parts)

        return await self._read(read)

    # ------------------------------------------------------------------ writing

    @operation(
        "memory.edit", "Edit a block or one of its fields", Action.EDIT_OWN,
        Options(changes=True, keeps=True, file_name="memory.md"),
    )  # fmt: skip
    async def edit(self, caller: Caller, arguments: EditBlock) -> Edited:
        """The text takes the place of all that stands there; with `seen`, what came after that version stays."""
        text, field, seen = arguments.text, arguments.field, arguments.seen
        if text is None:
            raise UserError(_("The new text is missing. An empty text empties the block."))

        def unchanged(block: Block) -> str:
            if arguments.only_at not in ("", state_of(block.id, block.version)):
                raise BlockChanged(_("Block {block} was changed since, so it stays as it is.", block=block.label))
            return field

        return await self._edited(caller, arguments.label, text, seen, unchanged)

    @operation(
        "memory.append", "Add a line to a block, or an entry to a log", Action.EDIT_OWN,
        Options(changes=True, keeps=True, file_name="memory.md"),
    )  # fmt: skip
    async def append(self, caller: Caller, arguments: AppendToBlock) -> Edited:
        """What stands there stays."""

        def work(tx: Tx) -> Edited:
            named = find_named(tx, caller.scope, arguments.label)
            path = arguments.field or end_of(named.block)
            added = addition(named.block, path, f"{arguments.text}\n", person_writer(caller.person), self.clock())
            edit = revert.by_hand(tx, self._hand(caller), named.block, Operation.APPEND)
            block = edit(lambda document: document.change(added))
            return Edited(block=named.name, field=path, version=block.version, merged=False, text=block.content)

        with damage_told():
            return await self.database.write(_CHANGE, work)

    @operation("memory.form", "Open a form with a block, or one of its fields", Action.EDIT_OWN, _FORM)
    async def open_form(self, caller: Caller, arguments: OpenForm) -> Writable:
        """What it opens with. Raises what keeps the caller from writing it."""
        field = arguments.field

        def read(rows: Rows) -> Writable:
            block = find_named(rows, caller.scope, arguments.label).block
            revert.require_hand(self._hand(caller), block)
            return Writable(
                id=block.id,
                field=field_mark(field) if field else "",
                version=version_of(rows, block.id),
                text=(text := manual_edits.text_of(rows, block, field)),
                mark=field_mark(text),
                limit=block.char_limit,
            )

        return await self._read(read)

    @operation("memory.write", "Store a form with a block", Action.EDIT_OWN, _FORM)
    async def write_block(self, caller: Caller, arguments: WriteBlock) -> Edited:
        """What came after the form was opened stays."""
        return await self._edited(caller, arguments.label, arguments.text, arguments.seen, lambda _block: "")

    @operation("memory.write-field", "Store a form with a field of a block", Action.EDIT_OWN, _FORM)
    async def write_field(self, caller: Caller, arguments: WriteField) -> Edited:
        """A field that was changed since stays as it is."""

        def named(block: Block) -> str:
            there = manual_edits.fields_by_hand(block)
            found = next((each for each in there if field_mark(each) == arguments.field), None)
            if found is None:
                raise UserError(_("The block no longer has this field, so nothing was changed."))
            return found

        return await self._edited(caller, arguments.label, arguments.text, None, named, arguments.mark)

    async def _edited(
        self,
        caller: Caller,
        label: str,
        text: str,
        seen: int | None,
        field_of: Callable[[Block], str],
        mark: str = "",
    ) -> Edited:
        def change(tx: Tx, named: Named, edit: Edit) -> Edited:
            field = field_of(named.block)
            block = manual_edits.write(edit, named.block, text, field, mark, seen)
            merged = manual_edits.kept_more(tx, block, field, text)
            return Edited(block=named.name, field=field, version=block.version, merged=merged, text=block.content)

        return await self._change(caller, label, change)

    # ------------------------------------------------------------------ going back

    @operation("memory.rollback", "Restore an older version of a block", Action.EDIT_OWN, _CHANGES)
    async def roll_back(self, caller: Caller, arguments: RollBackBlock) -> WentBack:
        """What came after it stays in the history."""
        version = arguments.version
        return await self._gone_back(
            caller, arguments.label, lambda edit, known: revert.roll_back(edit, version, known), version
        )

    @operation("memory.undo", "Undo or redo your latest change to a block", Action.EDIT_OWN, _CHANGES)
    async def undo(self, caller: Caller, arguments: UndoChange) -> WentBack:
        """What others wrote stays."""
        writer = person_writer(caller.person)
        step = revert.redo if arguments.redo else revert.undo
        return await self._gone_back(caller, arguments.label, lambda edit, known: step(edit, writer, known))

    @operation("memory.revert", "Undo one writer's changes and keep the rest", Action.EDIT_OWN, _CHANGES)
    async def revert_writer(self, caller: Caller, arguments: RevertWriter) -> WentBack:
        """Since a version or a time.

        A long past takes its time: it is replayed by a reader, and only what changed meanwhile makes the writer do it.
        """
        name, whose, since = arguments.label, arguments.writer, arguments.since

        def replay(rows: Rows) -> tuple[BlockId, Past]:
            named, past = named_past(rows, caller.scope, name)
            return named.block.id, past.replayed()

        replayed, known = await self._read(replay)

        def change(tx: Tx, named: Named, edit: Edit) -> Done:
            block = named.block.id
            same = block == replayed and version_of(tx, block) == known.version
            past = known if same else past_of_block(tx, block)
            names = writer_names(tx, past, caller.scope, caller.approver, self.people)
            writer = writer_called(names, past, whose, self.people)
            return revert.revert(edit, past, writer, version_before(past, since, self.clock()), names[writer])

        return await self._done(caller, name, change)

    async def _gone_back(
        self, caller: Caller, name: str, act: Callable[[Edit, Past | None], Done], version: int | None = None
    ) -> WentBack:
        """Go back in a block whose past a reader replays first; only what changed meanwhile makes the writer do it."""

        def replay(rows: Rows) -> tuple[BlockId, Past]:
            block = find_named(rows, caller.scope, name).block.id
            return block, revert.past_to_go_back(rows, block, version)

        replayed, known = await self._read(replay)
        return await self._done(
            caller, name, lambda _tx, named, edit: act(edit, known if named.block.id == replayed else None)
        )

    async def _done(self, caller: Caller, name: str, act: Callable[[Tx, Named, Edit], Done]) -> WentBack:
        def change(tx: Tx, named: Named, edit: Edit) -> WentBack:
            done = act(tx, named, edit)
            return WentBack.of(named.name, version_of(tx, named.block.id), done)

        return await self._change(caller, name, change)

    # ------------------------------------------------------------------ maintenance

    @operation(
        "memory.verify", "Check all blocks for damage", Action.EDIT_ANY,
        Options(changes=True, via=_TERMINAL),
    )  # fmt: skip
    async def verify(self, _caller: Caller, arguments: VerifyBlocks) -> AsyncIterator[Listing[CheckRow]]:
        """Raises UserError where something stays damaged, after what was found."""
        rows = list[CheckRow]()
        for identifier, name in await self._read(_every_block):
            problems = await self._read(functools.partial(_problems, identifier))
            repaired: Sequence[str] = ()
            if problems and arguments.repair:
                repaired = await self._repair(identifier)
            state = "sound" if not problems else "repaired" if repaired else "damaged"
            rows.append(CheckRow(block=name, state=state, found=tuple(problems)))
        yield Listing(rows=tuple(rows), empty=_("There are no blocks yet."))
        if damaged := sum(row.state == "damaged" for row in rows):
            found = ngettext("{count} block is damaged.", "{count} blocks are damaged.", damaged)
            raise UserError(f"{found} {_('`carina memory verify --repair` rebuilds what it can.')}")

    async def _repair(self, identifier: BlockId) -> Sequence[str]:
        try:
            return await self.database.write(_REPAIR, lambda tx: repair_block(tx, identifier, self.clock()))
        except BlockCorrupt as error:
            why, now = [error_text(error)], self.clock()
            await self.database.write(_REPAIR, lambda tx: note_damage(tx, identifier, why, "unreadable", now))
            return ()

    # ------------------------------------------------------------------ suggestions

    @suggestions("blocks")
    async def suggest(self, caller: Caller) -> Suggestions:
        """The blocks that the caller may see."""
        return await self._read(lambda rows: _pairs(each.name for each in named_blocks(rows, caller.scope)))

    @suggestions("fields", within="label")
    async def suggest_fields(self, caller: Caller, label: str) -> Suggestions:
        """The fields of a block that a person may write; none of one that is a text."""
        return await self._read(
            lambda rows: _pairs(manual_edits.fields_by_hand(find_named(rows, caller.scope, label).block))
        )

    @suggestions("writers", within="label")
    async def suggest_writers(self, caller: Caller, label: str) -> Suggestions:
        """Who wrote in a block, in the order in which they first did."""

        def read(rows: Rows) -> Suggestions:
            _named, past, names = self._past(rows, caller, label)
            return {step.change.writer: names[step.change.writer] for step in past.steps}.items()

        return await self._read(read)

    # ------------------------------------------------------------------ the store

    def _past(self, rows: Rows, caller: Caller, label: str) -> tuple[Named, Past, dict[Writer, str]]:
        """A block with its past, and how its writers are called for the caller."""
        named, past = named_past(rows, caller.scope, label)
        return named, past, writer_names(rows, past, caller.scope, caller.approver, self.people)

    async def _change(self, caller: Caller, name: str, change: Callable[[Tx, Named, Edit], T]) -> T:
        def work(tx: Tx) -> T:
            named = find_named(tx, caller.scope, name)
            return change(tx, named, revert.by_hand(tx, self._hand(caller), named.block))

        with damage_told():
            return await self.database.write(_CHANGE, work)

    def _hand(self, caller: Caller) -> Hand:
        return hand_of(self.people, caller, self.clock(), self.checkpoints)

    async def _read(self, read: Callable[[Rows], T]) -> T:
        with damage_told():
            return await self.database.read(read)


def _row(rows: Rows, named: Named, caller: Caller) -> BlockRow:
    block = named.block
    names = {"block": named.name, "agent": named.agent, "readers": where(rows, block.audience, caller.scope)}
    sizes = {"size": len(block.content), "limit": block.char_limit}
    return BlockRow.from_record(block, **names, **sizes, changed_at=block.updated_at)


def _pairs(names: Iterable[str]) -> Suggestions:
    return [(name, name) for name in names]


def _problems(block: BlockId, rows: Rows) -> list[str]:
    return verify_block(rows, block)


def _every_block(rows: Rows) -> list[tuple[BlockId, str]]:
    """All living blocks, for maintenance; those of somebody's direct messages without their names."""
    found = rows.all(
        "SELECT b.id, b.label, b.audience, a.name FROM memory_blocks b LEFT JOIN agents a ON a.id = b.agent_id"
        " WHERE b.deleted_at IS NULL ORDER BY b.n"
    )
    return [(BlockId(row["id"]), block_name(row["name"], row["label"], row["audience"])) for row in found]
