"""What may be done to a block: the permissions, the operations, and the one function that decides."""

from enum import Enum, StrEnum


class Permission(StrEnum):
    """What an agent may do to a block, from least to most."""

    READ_ONLY = "read_only"
    PARTNER = "partner"
    HUMAN = "human"
    APPEND = "append"
    READ_WRITE = "read_write"
    ADMIN = "admin"


class Operation(StrEnum):
    """What is done to a block, for every door: the four columns of the table, and what counts as one of them."""

    READ = "read"
    APPEND = "append"
    OVERWRITE = "overwrite"
    DELETE = "delete"
    CHANGE = "change"
    PIN = "pin"
    UNPIN = "unpin"
    ARCHIVE = "archive"
    LOAD = "load"
    SWAP = "swap"
    ROLLBACK = "rollback"
    UNDO = "undo"
    REVERT = "revert"
    SHARE = "share"
    WIDEN = "widen"


class Decision(Enum):
    ALLOW = "allow"
    DENY = "deny"
    ASK_PARTNER = "ask the partner"
    ASK_HUMAN = "ask the human of the turn"


_COLUMNS = (Operation.READ, Operation.APPEND, Operation.OVERWRITE, Operation.DELETE)
_COUNTS_AS = {
    Operation.CHANGE: Operation.DELETE,
    Operation.PIN: Operation.APPEND,
    Operation.UNPIN: Operation.APPEND,
    Operation.ARCHIVE: Operation.APPEND,
    Operation.LOAD: Operation.APPEND,
    Operation.SWAP: Operation.OVERWRITE,
    Operation.ROLLBACK: Operation.OVERWRITE,
    Operation.UNDO: Operation.OVERWRITE,
    Operation.REVERT: Operation.OVERWRITE,
}
OF_THE_OWNER = frozenset({Operation.SHARE, Operation.WIDEN})
"""What is for the agent whose block it is: a right over another's block is not enough."""

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
    """Whether a permission allows an operation; the one place that says so. `own`: the block is the asking agent's."""
    if operation in OF_THE_OWNER:
        enough = (Permission.ADMIN,) if operation is Operation.WIDEN else (Permission.READ_WRITE, Permission.ADMIN)
        return _YES if own and permission in enough else _NO
    return _RIGHTS[permission][_COLUMNS.index(_COUNTS_AS.get(operation, operation))]
