"""Looking back at a block and taking changes back: in a unit of work, under the rights of whoever does it.

What goes back is always a new change, made by whoever asked for it. An agent's goes through the same door as its
edits (`memory.blocks`); a person's through `Hand`, under the person's own rights.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from memory import activity
from memory.activity import Kind, NewEvent
from memory.audience import Scope, Trust
from memory.block_log import DEFAULT_POLICY, CheckpointPolicy, open_block, save_change
from memory.block_rows import archives_of, load_block
from memory.blocks import Author, Block, BlockType, Decision, Operation, Permission, decide, edit_block
from memory.changes import Change, Deed, Note, Stamp, Writer, difference, person_writer
from memory.clock import from_text, to_text
from memory.containers import put_back
from memory.database import Rows, Tx
from memory.document import BlockDocument
from memory.errors import BlockRefused, BlockTooLong, Refused
from memory.ids import BlockId, PersonId
from memory.merging import write_seen
from memory.past import Past, past_of
from memory.weave import Plan

Edit: TypeAlias = Callable[[Callable[[BlockDocument], None]], Block]
"""A door to one block: makes the edits under somebody's rights, within its limits, as one change."""


@dataclass(frozen=True)
class Hand:
    """A person who edits. The owner may do everything but in others' direct messages, others what is about them.

    `known` are all ids of that person. What they write is said to those who can read the block, as they can see.
    """

    person: PersonId
    known: tuple[PersonId, ...]
    is_owner: bool
    scope: Scope
    trust: Trust
    now: datetime
    policy: CheckpointPolicy = DEFAULT_POLICY

    def right(self, block: Block) -> Permission:
        """What this person may do to a block that they may see."""
        if block.type is BlockType.LOG:
            return Permission.READ_ONLY
        if self.is_owner or block.about in self.known:
            return Permission.READ_WRITE
        return Permission.READ_ONLY


@dataclass(frozen=True)
class Done:
    """A block after something was taken back, and what was: the changes, and the report of how far it went."""

    block: Block
    plan: Plan
    changes: tuple[Change, ...] = ()


def past_of_block(rows: Rows, block: BlockId) -> Past:
    """All that is kept of a block's past. Raises BlockCorrupt."""
    return past_of(load_block(rows, block, None).document, archives_of(rows, block))


def by_agent(tx: Tx, author: Author, label: str) -> Edit:
    """An agent's door, under the block's permission; may raise ApprovalNeeded, and what edits raise."""
    return lambda change: edit_block(tx, author, label, Operation.OVERWRITE, lambda _block, document: change(document))


def by_hand(tx: Tx, hand: Hand, block: Block) -> Edit:
    """A person's door. Raises BlockRefused at once, and BlockTooLong, BlockCorrupt at the edit."""
    if not hand.scope.may_use(block.audience):
        raise BlockRefused(f"block {block.label} cannot be seen from here")
    if decide(hand.right(block), Operation.OVERWRITE) is not Decision.ALLOW:
        raise BlockRefused(_not_theirs(block))
    if hand.trust < Trust.APPROVED and block.type is BlockType.CORE and not block.audience.startswith("person:"):
        raise BlockRefused(f"block {block.label} is always in context: ask the agent, it asks for a yes")

    def edit(change: Callable[[BlockDocument], None]) -> Block:
        opened = open_block(tx, block.id, person_writer(hand.person), hand.now)
        before = len(opened.document.text())
        change(opened.document)
        text = opened.document.text()
        if len(text) > max(block.char_limit, before):
            over = f"{before:,} of {block.char_limit:,} characters; this adds {len(text) - before:,}"
            raise BlockTooLong(f"block {block.label} is at {over}")
        stamp = Stamp(person_writer(hand.person), None, opened.next_seq, hand.now)
        if not save_change(tx, opened, stamp, hand.policy):
            return block
        words, details = f"changed the block {block.label} by hand", {"label": block.label, "change": "by hand"}
        event = NewEvent(Kind.BLOCK, words, block.audience, hand.trust, person=hand.person, details=details)
        activity.note(tx, event, hand.now)
        trust = min(block.trust, hand.trust)
        tx.run("UPDATE memory_blocks SET trust = ? WHERE id = ?", (int(trust), block.id))
        return block._replace(content=text, trust=trust, updated_at=from_text(to_text(hand.now)))

    return edit


def _not_theirs(block: Block) -> str:
    if block.type is BlockType.LOG:
        return f"block {block.label} is a log: only the system writes it"
    return f"block {block.label} is not about you: only the owner can change it by hand"


def write(edit: Edit, text: str, seen: int | None = None) -> Block:
    """Make `text` the whole content; with `seen`, the version the writer saw, what came since stays. Raises Refused."""

    def change(document: BlockDocument) -> None:
        _require_text(document, "it cannot be written as one text: set its fields, or add and remove items")
        write_seen(document, text, seen)

    return edit(change)


def _require_text(document: BlockDocument, words: str) -> None:
    if document.structured:
        raise Refused(f"this block has fields, items or sections; {words}")


def roll_back(rows: Rows, edit: Edit, block: BlockId, version: int) -> Done:
    """Make the block read as at a version, as a new change. Raises Refused for a version that is not kept."""
    plans: list[Plan] = []

    def change(document: BlockDocument) -> None:
        past = past_of(document)
        if document.structured:
            past.require(version)
            plans.append(_set_back(document, version))
        elif version < past.start:
            wanted = past_of(document, archives_of(rows, block)).text_at(version)
            if wanted == document.text():
                raise Refused(f"it reads exactly as at version {version} already")
            document.write(wanted)
            plans.append(Plan(document.version, ()))
        else:
            past.require(version)
            plans.append(past.weave.rolled_back(version))
            if not plans[-1].splices:
                raise Refused(f"it reads exactly as at version {version} already")
            document.splice(plans[-1].splices)
        document.note(Note(Deed.ROLLBACK, version))

    return Done(edit(change), plans[0])


def _set_back(document: BlockDocument, version: int) -> Plan:
    """Give every part the value that it had at a version, by ordinary edits; what is read only is not touched."""
    wanted = document.held_at(version)
    if wanted == document.held_at(document.version):
        raise Refused(f"it is exactly as at version {version} already")
    before = document.text()
    document.change(lambda loro: put_back(loro, wanted))
    splices = difference(before, document.text())
    gone, came = sum(each.delete for each in splices), sum(len(each.insert) for each in splices)
    return Plan(document.version, splices, gone, came)


def undo(edit: Edit, writer: Writer) -> Done:
    """Take back the writer's newest change that is not undone and of which something is left. Raises Refused."""
    return _step_back(edit, writer, Deed.UNDO)


def redo(edit: Edit, writer: Writer) -> Done:
    """Do again what the writer undid last and has not edited past. Raises Refused."""
    return _step_back(edit, writer, Deed.REDO)


def _step_back(edit: Edit, writer: Writer, deed: Deed) -> Done:
    found: list[tuple[Plan, Change]] = []

    def change(document: BlockDocument) -> None:
        past = past_of(document)
        undoable, redoable = undo_stacks(past.by(writer, past.start))
        candidates = undoable if deed is Deed.UNDO else redoable
        if document.structured and candidates:
            each = candidates[-1]
            found.append((_stepped_back(document, past, each), each))
            document.note(Note(deed, each.seq))
            return
        for each in reversed(candidates):
            plan = _alone_back(past, each) or past.weave.taken_back({each.seq})
            if plan.splices:
                found.append((plan, each))
                document.splice(plan.splices)
                document.note(Note(deed, each.seq))
                return
        nothing = "nothing of yours is left to undo here" if deed is Deed.UNDO else "there is nothing to do again here"
        if candidates:
            nothing += f": others changed since what your change {candidates[-1].seq} did"
        kept = f"; what can be undone are {past.range}" if past.start else ""
        raise Refused(f"{nothing}{kept}")

    block = edit(change)
    plan, undone = found[0]
    return Done(block, plan, (undone,))


def _alone_back(past: Past, change: Change) -> Plan | None:
    """Back to before a change after which the same writer only undid and did again, and nobody else wrote.

    What was undone and done again is new text, next to which what an older change took away finds no place any more.
    """
    since = [step.change for step in past.steps if step.change.seq > change.seq]
    if not since or any(each.writer != change.writer or each.note.deed not in _STEPS for each in since):
        return None
    earlier = [step.change.seq for step in past.steps if step.change.seq < change.seq]
    return past.weave.rolled_back(earlier[-1] if earlier else past.start)


def _stepped_back(document: BlockDocument, past: Past, change: Change) -> Plan:
    """Take back the change of a structured block that it stands at. Raises Refused when it was changed since."""
    if document.held_at(change.seq) != document.held_at(document.version):
        raise Refused(
            f"the block has fields, items or sections, and was changed since your change {change.seq}: "
            f"go back to a version, or set the parts by hand"
        )
    earlier = [step.change.seq for step in past.steps if step.change.seq < change.seq]
    return _set_back(document, earlier[-1] if earlier else past.start)


def undo_stacks(changes: list[Change]) -> tuple[list[Change], list[Change]]:
    """One writer's changes that can be undone, and those undos that can be done again; the next one last.

    An edit empties the second. Going back and reverting are edits, too.
    """
    undoable: list[Change] = []
    redoable: list[Change] = []
    for change in changes:
        match change.note.deed:
            case Deed.UNDO:
                undoable = [each for each in undoable if each.seq != change.note.of]
                redoable.append(change)
            case Deed.REDO:
                redoable = [each for each in redoable if each.seq != change.note.of]
                undoable.append(change)
            case _:
                undoable.append(change)
                redoable.clear()
    return undoable, redoable


def revert(edit: Edit, past: Past, whose: Writer, after: int) -> Done:
    """Take back what a writer changed after a version, keeping what others wrote. `past` is the block's, as it is now.

    Raises Refused when there is nothing to take back, or when the block was changed since the past was read.
    """
    changes = past.by(whose, after)
    if not changes:
        raise Refused(f"{whose} changed nothing here since version {max(after, past.start)}; there are {past.range}")
    plan = past.weave.taken_back({each.seq for each in changes})
    if not plan.splices:
        raise Refused(f"nothing of what {whose} changed is left to take back")

    def change(document: BlockDocument) -> None:
        if document.version != past.version:
            raise Moved(f"the block was changed meanwhile: it is at version {document.version} now; try again")
        _require_text(document, "one writer's changes of it cannot be taken back by themselves: go back to a version")
        document.splice(plan.splices)
        document.note(Note(Deed.REVERT, changes[0].seq - 1, whose))

    return Done(edit(change), plan, tuple(changes))


def take_back(edit: Edit, past: Past, changes: Sequence[Change]) -> Done:
    """Take back some changes of a block, by whomever, as one change, keeping what others wrote. `past` is as it is now.

    Raises Refused when nothing of them is left, and for a block of fields, items or sections that was changed since.
    """
    plans: list[Plan] = []

    def change(document: BlockDocument) -> None:
        if document.version != past.version:
            raise Moved(f"the block was changed meanwhile: it is at version {document.version} now; try again")
        plans.append(_taken_back(document, past, frozenset(each.seq for each in changes)))
        document.note(Note(Deed.REVERT, changes[0].seq - 1, changes[0].writer))

    return Done(edit(change), plans[0], tuple(changes))


def _taken_back(document: BlockDocument, past: Past, numbers: frozenset[int]) -> Plan:
    if not document.structured:
        plan = past.weave.taken_back(numbers)
        if not plan.splices:
            raise Refused("nothing of it is left to take back")
        document.splice(plan.splices)
        return plan
    first = min(numbers)
    if any(step.change.seq > first and step.change.seq not in numbers for step in past.steps):
        raise Refused("it has fields, items or sections, and was changed since: set the parts by hand")
    earlier = [step.change.seq for step in past.steps if step.change.seq < first]
    return _set_back(document, earlier[-1] if earlier else past.start)


_STEPS = (Deed.UNDO, Deed.REDO)


class Moved(Refused):
    """A block was changed between looking and writing."""
