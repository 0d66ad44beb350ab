"""Who may write to a block: what each permission allows, what everybody who reads the block may know, and when somebody
has to approve."""

from memory.blocks.changes import SYSTEM
from memory.blocks.records import Author, Block, BlockType, Decision, Operation, Permission
from memory.blocks.visibility import find_block, visible_blocks
from memory.people.audience import Trust, may_write_down
from memory.permission_requests import Kind, Need, Permit, require
from memory.store.database import Rows
from memory.store.errors import BlockRefused
from memory.store.records import replace
from texts import gettext_lazy, gettext_noop

_COLUMNS = (Operation.READ, Operation.APPEND, Operation.OVERWRITE, Operation.DELETE)
_COUNTS_AS = {
    Operation.CHANGE: Operation.DELETE,
    Operation.PIN: Operation.APPEND,
    Operation.UNPIN: Operation.APPEND,
    Operation.ARCHIVE: Operation.APPEND,
    Operation.LOAD: Operation.APPEND,
    Operation.SWAP: Operation.OVERWRITE,
}

_YES, _NO, _PARTNER, _HUMAN = Decision
_RIGHTS = {  # in the order of _COLUMNS
    Permission.READ_ONLY: (_YES, _NO, _NO, _NO),
    Permission.PARTNER: (_YES, _PARTNER, _PARTNER, _NO),
    Permission.HUMAN: (_YES, _HUMAN, _HUMAN, _NO),
    Permission.APPEND: (_YES, _YES, _NO, _NO),
    Permission.READ_WRITE: (_YES, _YES, _YES, _NO),
    Permission.ADMIN: (_YES, _YES, _YES, _YES),
}


def decide(permission: Permission, operation: Operation, *, own: bool = True) -> Decision:
    """Whether a permission allows an operation; decided only here. `own`: the block is the asking agent's."""
    if operation is Operation.SHARE:  # a right to another's block is not enough
        return _YES if own and permission in (Permission.READ_WRITE, Permission.ADMIN) else _NO
    return _RIGHTS[permission][_COLUMNS.index(_COUNTS_AS.get(operation, operation))]


def decision_for(block: Block, author: Author, operation: Operation) -> Decision:
    """Whether the author may do that, or may with approval; raises BlockRefused when not.

    If approval is needed but nobody spoke whom to ask (an edit of a job), it is refused.
    """
    access = Permission.ADMIN if author.writer == SYSTEM else block.access
    decision = decide(access, operation, own=author.writer == SYSTEM or block.owner == author.agent)
    told = {"address": block.address, "access": access, "operation": operation}
    if decision is Decision.DENY:
        raise BlockRefused("block “{address}” has the permission {access} here, so {operation} is not possible", **told)
    if decision is not Decision.ALLOW and author.turn is None:
        raise BlockRefused(
            "block “{address}” has the permission {access}: {operation} needs approval, and only an agent's "
            "turn can ask for it",
            **told,
        )
    return decision


def existing_block(rows: Rows, author: Author, label: str, operation: Operation) -> tuple[Block, Decision]:
    """An existing block, and whether this author may change it at once or with approval.

    Raises BlockNotFound; BlockRefused if the right is missing, or if somebody who sees the block may not know what is
    said in the turn; the error names blocks that may be written instead.
    """
    block = find_block(rows, author.agent, label, author.scope)
    decision = decision_for(block, author, operation)
    if may_write_down(author.scope, block.audience):
        return block, decision
    others_read = gettext_noop("block “{block}” is read by people ({audience}) who cannot read this")
    read = gettext_lazy(others_read, block=block.address, audience=block.audience)
    if operation not in (Operation.APPEND, Operation.OVERWRITE):
        raise BlockRefused(
            "{read}, so {operation} is not possible here: do it where all of them can see it",
            read=read,
            operation=operation,
        )
    others = [
        other.address
        for other in visible_blocks(rows, author.agent, author.scope)
        if other.audience == author.scope.audience and decide(other.access, operation) is Decision.ALLOW
    ]
    if not others:
        raise BlockRefused("{read}; there is no block here to write to instead", read=read)
    raise BlockRefused("{read}; write to {blocks} instead", read=read, blocks=" or ".join(others[:5]))


def require_yes(rows: Rows, author: Author, block: Block, operation: Operation, decision: Decision) -> None:
    """Require approval if the block's permission asks for it, or if a turn without trust writes a core block that
    others read, or shares a block.

    Raises ApprovalNeeded for this version of the block: an approval of an older version does not count, and the reason
    says so.
    """
    core = block.type is BlockType.CORE and not block.audience.startswith("person:")
    trusted = author.trust >= Trust.APPROVED or not (core or operation is Operation.SHARE)
    if decision is Decision.ALLOW and trusted:
        return
    values = {"block": block.address, "used": author.source or gettext_lazy("a stranger's words")}
    if trusted:
        why = gettext_lazy(
            "block “{block}” has the permission {access}, so {operation} needs approval",
            access=block.access,
            operation=operation,
            **values,
        )
    elif operation is Operation.SHARE:
        why = gettext_lazy("block “{block}” would be shared with another agent, and this turn uses {used}", **values)
    else:
        why = gettext_lazy("block “{block}” is always in context, and this turn uses {used}", **values)
    following = rows.number("SELECT next_seq FROM memory_blocks WHERE id = ?", (block.id,))
    # Not the id: a block that this very edit creates from its template has a new id next time.
    version = f"{block.audience} {following}"
    asks = block.about if decision is Decision.ASK_HUMAN else None
    need = Need(Kind.EDIT, f"{block.owner}/{block.label}", "", version=version, asks=asks)
    require(replace(need, reason=_why_again(why, need, block.audience, following, author.permit)), author.permit)


def _why_again(why: str, need: Need, audience: str, following: int, permit: Permit | None) -> str:
    """The reason, with an extra sentence for a person who approved an older version of that block."""
    told = (version for kind, subject, version in permit.covers if (kind, subject) == need.mark[:2]) if permit else ()
    seen = [int(number) for where, _, number in (each.rpartition(" ") for each in told) if where == audience]
    older = [number for number in seen if number < following]
    if not older:
        return why
    return gettext_lazy(
        "{why} (again, because the block has changed: version {then} then, {now} now)",
        why=why,
        then=max(older) - 1,
        now=following - 1,
    )
