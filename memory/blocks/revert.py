"""Reverting a block: undo and redo, `roll_back` to an earlier version, `revert` of one change.

Each creates a new change by whoever asked for it, in a unit of work. For an agent it goes through the same checks as
its edits (`memory.blocks`); for a person through `Editor`, with the person's own rights.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import TypeAlias

from msgspec import Struct

from memory import activity
from memory.activity import BlockUpdated, NewEvent
from memory.blocks import Author, Block, BlockType, Decision, Operation, Permission, decide, edit_block
from memory.blocks.changes import Change, ChangeKind, Note, Writer, by_words, person_writer
from memory.blocks.containers import amend, put_back
from memory.blocks.edits import save_edit
from memory.blocks.history import ChangeLog, history_of
from memory.blocks.records import access_at, require_fits
from memory.blocks.repair import open_block
from memory.blocks.replay import Plan, not_back
from memory.blocks.store import DEFAULT_POLICY, CheckpointPolicy, OpenBlock
from memory.people.audience import Scope, Trust
from memory.store.database import Tx
from memory.store.errors import BlockRefused, Refused
from memory.store.ids import PersonId
from memory.store.records import replace
from texts import gettext_lazy, gettext_noop, join_lazy

Edit: TypeAlias = Callable[[Callable[[OpenBlock], None]], Block]
"""Applies changes to one block with somebody's rights and limits; each call makes one change."""


class Editor(Struct, frozen=True):
    """A person who edits. The owner may edit all but others' direct messages; other people, blocks about themselves.

    `known` are all ids of that person. What they write is shown to those who can read the block.
    """

    person: PersonId
    known: tuple[PersonId, ...]
    is_owner: bool
    scope: Scope
    trust: Trust
    now: datetime
    policy: CheckpointPolicy = DEFAULT_POLICY

    def right(self, block: Block) -> Permission:
        """What this person may do to a block that they can see."""
        if not self.is_owner and block.about not in self.known:
            return Permission.READ_ONLY
        if block.type is BlockType.LOG:
            return access_at(block.type, block.permission, None, shared=False)
        return Permission.READ_WRITE


class RevertResult(Struct, frozen=True):
    """A block after changes were taken back, those changes, and the report."""

    block: Block
    plan: Plan
    changes: tuple[Change, ...] = ()


def by_agent(tx: Tx, author: Author, label: str) -> Edit:
    """The `Edit` of an agent, under the block's permission; may raise ApprovalNeeded, and what edits raise."""
    return lambda change: edit_block(tx, author, label, Operation.OVERWRITE, lambda _block, opened: change(opened))


def require_editor(editor: Editor, block: Block, operation: Operation = Operation.OVERWRITE) -> None:
    """Raise BlockRefused if a person may not change a block by hand."""
    if not editor.scope.may_use(block.audience):
        raise BlockRefused("block “{label}” cannot be seen from here", label=block.label)
    if decide(editor.right(block), operation) is not Decision.ALLOW:
        raise BlockRefused(_not_theirs(block))
    if editor.trust < Trust.APPROVED and block.type is BlockType.CORE and not block.audience.startswith("person:"):
        raise BlockRefused(
            "block “{label}” is always in context: ask the agent, which will ask for approval", label=block.label
        )


def is_writable(editor: Editor, block: Block) -> bool:
    """Whether a person may rewrite a block by hand."""
    try:
        require_editor(editor, block)
    except BlockRefused:
        return False
    return True


def by_hand(tx: Tx, editor: Editor, block: Block, operation: Operation = Operation.OVERWRITE) -> Edit:
    """The `Edit` of a person. Raises BlockRefused at once, and BlockTooLong or BlockCorrupt on the edit."""
    require_editor(editor, block, operation)

    def edit(change: Callable[[OpenBlock], None]) -> Block:
        writer = person_writer(editor.person)
        opened = open_block(tx, block.id, writer, editor.now)
        opened.sealed = 0 if editor.is_owner else opened.sealed
        before = len(opened.document.text())
        change(opened)
        require_fits(block.label, block.char_limit, len(opened.document.text()), before)
        stamp = Change(writer, None, opened.next_seq, editor.now)
        saved = save_edit(tx, block, opened, stamp, editor.policy, editor.trust)
        if saved is not block:
            did = BlockUpdated(block.label, "by hand", block.id)
            activity.note(tx, NewEvent(did, did.words, block.audience, editor.trust, person=editor.person), editor.now)
        return saved

    return edit


def _not_theirs(block: Block) -> str:
    if block.type is BlockType.LOG:
        return gettext_lazy("block “{block}” is a log: its entries cannot be changed", block=block.label)
    return gettext_lazy("block “{block}” is not about you: only the owner can change it by hand", block=block.label)


def roll_back(edit: Edit, version: int) -> RevertResult:
    """Restore the block's text of a version as a new change. Raises Refused if it is not kept, or sealed."""
    plans: list[Plan] = []

    def change(opened: OpenBlock) -> None:
        document, past = opened.document, history_of(opened.document)
        past = opened.history() if version < past.start else past
        past.require(version)
        if version < opened.sealed:
            raise Refused(
                "versions up to {sealed} contain words that were withdrawn: only the owner can go back to them",
                sealed=opened.sealed,
            )
        wanted, before, differs = past.values_at(version), document.text(), list[bool]()
        document.change(lambda loro: differs.append(put_back(loro, wanted)))
        if not any(differs):
            raise Refused("it already reads as it did at version {version}", version=version)
        cuts = by_words(before, document.text())
        plans.append(Plan(removed=sum(cut.delete for cut in cuts), restored=sum(len(cut.insert) for cut in cuts)))
        document.note(Note(ChangeKind.ROLLBACK, version))

    return RevertResult(edit(change), plans[0])


def undo(edit: Edit, writer: Writer) -> RevertResult:
    """Take back the writer's newest change of which something is left. Raises Refused."""
    return _step_back(edit, writer, ChangeKind.UNDO)


def redo(edit: Edit, writer: Writer) -> RevertResult:
    """Redo what the writer undid last, unless they have edited since. Raises Refused."""
    return _step_back(edit, writer, ChangeKind.REDO)


def _step_back(edit: Edit, writer: Writer, kind: ChangeKind) -> RevertResult:
    found: list[tuple[Plan, Change]] = []

    def change(opened: OpenBlock) -> None:
        document, past, sealed = opened.document, history_of(opened.document), opened.sealed
        undoable, redoable = undo_stacks(past.by(writer, max(past.start, sealed)))
        candidates = undoable if kind is ChangeKind.UNDO else redoable
        lost, kept = list[str](), list[str]()
        for each in reversed(candidates):
            if each.note.kind is ChangeKind.RETYPE:
                raise Refused("your change {seq} changed the type of the block: change its type back", seq=each.seq)
            # Also next to text that others wrote meanwhile: one step back is what was asked for.
            plan = past.replay.without({each.seq, *_annulled(past, each)}, beside=True)
            lost += plan.lost
            kept += plan.kept
            if not plan.empty:
                document.change(partial(amend, plan=plan))
                found.append((replace(plan, lost=tuple(lost)), each))
                document.note(Note(kind, each.seq))
                return
        _require_any(not kept, kept)
        nothing, more = gettext_noop("there is nothing to redo here{more}"), list[str]()
        if kind is ChangeKind.UNDO:
            nothing = gettext_noop("you have nothing left to undo here{more}")
        if candidates:
            since = gettext_noop(": others have changed what your change {seq} did{lost}")
            more.append(gettext_lazy(since, seq=candidates[-1].seq, lost=not_back(lost)))
        if past.start:
            more.append(gettext_lazy("; what can be undone: {range}", range=past.range))
        if sealed > past.start and past.by(writer, past.start):
            more.append(gettext_lazy("; {stays}", stays=gettext_lazy(_STAYS, version=sealed)))
        raise Refused(nothing, more=join_lazy("", more))

    block = edit(change)
    plan, undone = found[0]
    return RevertResult(block, plan, (undone,))


def _annulled(past: ChangeLog, change: Change) -> set[int]:
    """Later changes of the same writer that they undid, and the undos: together these had no effect."""
    found: set[int] = set()
    for each in reversed(past.by(change.writer, change.seq)):
        if each.note.kind in _STEPS and each.seq not in found and each.note.of > change.seq:
            found |= {each.seq, each.note.of}
    return found


def undo_stacks(changes: list[Change]) -> tuple[list[Change], list[Change]]:
    """One writer's changes that can be undone, and undos that can be redone; in each list the next one is last.

    An edit empties the second list. Rollback and revert count as edits.
    """
    undoable: list[Change] = []
    redoable: list[Change] = []
    for change in changes:
        match change.note.kind:
            case ChangeKind.UNDO:
                undoable = [each for each in undoable if each.seq != change.note.of]
                redoable.append(change)
            case ChangeKind.REDO:
                redoable = [each for each in redoable if each.seq != change.note.of]
                undoable.append(change)
            case _:
                undoable.append(change)
                redoable.clear()
    return undoable, redoable


def revert(
    edit: Edit, past: ChangeLog, whose: Writer, after: int, called: str = "", *, alone: bool = False
) -> RevertResult:
    """Take back a writer's changes after a version, keeping what others wrote. `past` is the block's current past.

    `called` is the writer's display name; without it, the report shows the writer's id. `alone` takes back only the
    change right after that version, and none of the writer's later ones.

    Raises as `take_back`, and Refused when there is nothing to take back.
    """
    changes, name = past.by(whose, after), called or whose
    if alone:
        changes = [each for each in changes if each.seq == after + 1]
    if alone and not changes:
        raise Refused(
            "change {seq} is not by {name}; the history has {range}", seq=after + 1, name=name, range=past.range
        )
    if not changes:
        raise Refused(
            "{name} has changed nothing here since version {version}; the history has {range}",
            name=name,
            range=past.range,
            version=max(after, past.start),
        )
    return take_back(edit, past, changes, name)


def take_back(
    edit: Edit, past: ChangeLog, changes: Sequence[Change], whose: str = "", *, entries: bool = False
) -> RevertResult:
    """Take back some changes of any writers, as one change, keeping what others wrote. `past` is the current past.

    Entries of a log stay unless `entries` go, too. Raises Refused when nothing of them is left, when one of them is
    sealed, or when the block has changed since `past` was read; BlockRefused if a read-only part would change, or if
    only log entries would.
    """
    numbers = frozenset(each.seq for each in changes)
    plans: list[Plan] = []

    def change(opened: OpenBlock) -> None:
        document = opened.document
        if min(numbers) <= opened.sealed:
            raise Refused(
                "{stays}; only the owner can revert them, and you can revert what came after",
                stays=gettext_lazy(_STAYS, version=opened.sealed),
            )
        if document.version != past.version:
            raise Refused("the block has changed: it is at version {version} now; try again", version=document.version)
        plan = past.replay.without(numbers, entries=entries)
        _require_any(not plan.empty, plan.kept, whose)
        document.change(partial(amend, plan=plan))
        plans.append(plan)
        document.note(Note(ChangeKind.REVERT, changes[0].seq - 1, changes[0].writer))

    return RevertResult(edit(change), plans[0], tuple(changes))


def _require_any(found: bool, kept: Sequence[str], whose: str = "") -> None:
    if not found and kept:
        raise BlockRefused("nothing can be undone: {names}", names=join_lazy("; ", kept))
    if not found and whose:
        raise Refused("none of what {name} changed is left to undo", name=whose)
    if not found:
        raise Refused("none of it is left to undo")


_STEPS = ChangeKind.UNDO, ChangeKind.REDO
_STAYS = gettext_noop("changes up to {version} stay, because they came with words that were withdrawn")
