"""What every change of a block passes: the right, the yes that it may take, the limit; and that it is told of."""

from dataclasses import replace

from memory import activity
from memory.blocks.changes import SYSTEM
from memory.blocks.lookup import find_block, visible_blocks
from memory.blocks.records import Author, Block, BlockType
from memory.blocks.rights import Decision, Operation, Permission, decide
from memory.people.audience import Trust, may_write_down
from memory.requests import Kind, Need, Permit, require
from memory.store.database import Rows, Tx
from memory.store.errors import BlockRefused, BlockTooLong


def decision_for(block: Block, author: Author, operation: Operation) -> Decision:
    """Whether the author may do that, or may with a yes; raises BlockRefused when not.

    Where a yes is needed and nobody has spoken whom it could be asked for (a job's edit), it is refused.
    """
    access = Permission.ADMIN if author.writer == SYSTEM else block.access
    decision = decide(access, operation, own=author.writer == SYSTEM or block.owner == author.agent)
    if decision is Decision.DENY:
        raise BlockRefused(
            "block {address} is {access} here: no {operation}",
            address=block.address,
            access=access,
            operation=operation,
        )
    if decision is not Decision.ALLOW and author.turn is None:
        raise BlockRefused(
            "block {address} is {access}: {operation} needs approval, and no turn can ask for it",
            address=block.address,
            access=access,
            operation=operation,
        )
    return decision


def standing_block(rows: Rows, author: Author, label: str, operation: Operation) -> tuple[Block, Decision]:
    """A block that is there already, which this author may change so, or may with a yes.

    Raises BlockNotFound; BlockRefused for want of the right, and when somebody who sees the block may not know what
    is said in the turn, with the blocks that may be written instead.
    """
    block = find_block(rows, author.agent, label, author.scope)
    decision = decision_for(block, author, operation)
    if may_write_down(author.scope, block.audience):
        return block, decision
    read = f"block {block.address} is read by others ({block.audience}) than hear this"
    if operation not in (Operation.APPEND, Operation.OVERWRITE):
        raise BlockRefused(
            "{read}, so no {operation} from here: do it where all of them hear you", read=read, operation=operation
        )
    others = [
        other.address
        for other in visible_blocks(rows, author.agent, author.scope)
        if other.audience == author.scope.audience and decide(other.access, operation) is Decision.ALLOW
    ]
    instead = f"write to {' or '.join(others[:5])} instead" if others else "no block here may be written instead"
    raise BlockRefused(f"{read}; {instead}")


def require_yes(rows: Rows, author: Author, block: Block, operation: Operation, decision: Decision) -> None:
    """What the block's permission asks for; and for just anybody no core block that others read is written, and none
    is shared.

    Raises ApprovalNeeded for the block as it is now: a yes to an older version is none, and the reason says so.
    """
    core = block.type is BlockType.CORE and not block.audience.startswith("person:")
    trusted = author.trust >= Trust.APPROVED or not (core or operation is Operation.SHARE)
    if decision is Decision.ALLOW and trusted:
        return
    reach = "would be read by another agent" if operation is Operation.SHARE else "is always in context"
    used = author.source or "a stranger's words"
    why = f"{reach}, and this turn uses {used}" if not trusted else f"is {block.access}"
    row = rows.one("SELECT next_seq FROM memory_blocks WHERE id = ?", (block.id,))
    following = int(row["next_seq"]) if row is not None else 0
    # Not the id: a block that is made from its template by this very edit has another one next time.
    version = f"{block.audience} {following}"
    asks = block.about if decision is Decision.ASK_HUMAN else None
    need = Need(Kind.EDIT, f"{block.owner}/{block.label}", "", version=version, asks=asks)
    again = _why_again(need, block.audience, following, author.permit)
    require(replace(need, reason=f"block {block.address} {why}: {operation}{again}"), author.permit)


def _why_again(need: Need, audience: str, following: int, permit: Permit | None) -> str:
    """Words for who said yes already, to an older version of that very block."""
    told = (version for kind, subject, version in permit.covers if (kind, subject) == need.mark[:2]) if permit else ()
    seen = [int(number) for where, _, number in (each.rpartition(" ") for each in told) if where == audience]
    older = [number for number in seen if number < following]
    if not older:
        return ""
    return f"; asked again, since the block changed meanwhile (version {max(older) - 1} then, {following - 1} now)"


def require_fits(name: str, limit: int, before: int, after: int) -> None:
    """Raises BlockTooLong with the numbers; a text that is over its limit may still shrink."""
    if after > limit and after > before:
        raise BlockTooLong(
            "block {name} is at {before:,} of {limit:,} characters; this adds {after:,}",
            name=name,
            before=before,
            limit=limit,
            after=after - before,
        )


def tell_changed(tx: Tx, author: Author, block: Block, change: str) -> None:
    """Note a change that an agent made; what the system keeps up by itself is no event."""
    if author.writer == SYSTEM or block.type is BlockType.LOG:
        return
    event = activity.NewEvent(
        activity.Kind.BLOCK,
        f"changed the block {block.label} ({change})",
        block.audience,
        author.trust,
        author.agent,
        block.about,
        turn=author.turn,
        details={"label": block.label, "change": change, "block": block.id},
    )
    activity.note(tx, event, author.now)
