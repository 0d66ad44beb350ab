"""Records of blocks: a new block, a block as an agent sees it, who edits it, its permissions, and its limits of length.

`rights.py` decides what each permission allows.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import Enum, StrEnum
from typing import Any, NamedTuple

from msgspec import Struct, field

from memory.blocks.document import Writer
from memory.blocks.schemas import TEXT, Schema, TextSchema, view
from memory.blocks.store import DEFAULT_POLICY, CheckpointPolicy
from memory.people.audience import Audience, Scope, Trust
from memory.permission_requests import Permit
from memory.store.errors import BlockTooLong
from memory.store.ids import AgentId, BlockId, PersonId, TurnId

MOST_CHARACTERS = 100_000
MOST_LABEL = 100
"""Characters of a block's label."""
_USUAL = {"core": 2_000, "log": 40_000}  # a log shows only its newest entries in context
_OTHERS = 5_000


class Permission(StrEnum):
    """What an agent may do to a block, from least to most."""

    READ_ONLY = "read_only"
    PARTNER = "partner"
    HUMAN = "human"
    APPEND = "append"
    READ_WRITE = "read_write"
    ADMIN = "admin"


class Operation(StrEnum):
    """What can be done to a block; each counts as one of the four columns of the table of rights.

    Going back to a version, undoing and reverting overwrite.
    """

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
    SHARE = "share"


class Decision(Enum):
    ALLOW = "allow"
    DENY = "deny"
    ASK_PARTNER = "ask the partner"
    ASK_HUMAN = "ask the human of the turn"


CONSTELLATION_OWNER = AgentId("_constellation_")
LOGS = ("tool_execution_log", "event_log", "compression_summaries")
"""The labels of the logs that Carina itself writes."""


class BlockType(StrEnum):
    """When a block is shown: core always, working while pinned or referred to, archival never by itself; of a log,
    whose entries cannot be changed, the newest."""

    CORE = "core"
    WORKING = "working"
    ARCHIVAL = "archival"
    LOG = "log"


IN_CONTEXT = (BlockType.CORE, BlockType.WORKING)


_APPENDS = (Permission.APPEND, Permission.READ_WRITE, Permission.ADMIN)


def access_at(kind: BlockType, own: Permission, given: Permission | None, *, shared: bool) -> Permission:
    """What an agent may do to a block of that kind, given its own permission and that of the share."""
    if kind is BlockType.LOG:  # entries stay as they are; logs of the system are read_only
        level = Permission.APPEND if own in _APPENDS and given in (None, *_APPENDS) else Permission.READ_ONLY
        return level if given is not None or not shared else Permission.READ_ONLY
    if given is None:
        return own
    if not shared:  # a constellation block has a level for each agent; the block's own is for the others
        return given
    order = list(Permission)  # nobody can share more than the block allows its owner
    return min(own, given, key=order.index)


class NewBlock(Struct, frozen=True):
    """A block to be created. `description` tells the model what belongs in it; `char_limit` is in characters.

    `profile` is the read-only part that a source keeps up to date, `content` the initial text. With any schema but
    text, `values` are the initial values of the fields or sections, by name.
    """

    owner: AgentId
    label: str
    description: str
    audience: Audience
    trust: Trust
    type: BlockType = BlockType.WORKING
    permission: Permission = Permission.READ_WRITE
    char_limit: int | None = None
    pinned: bool = False
    about: PersonId | None = None
    profile: str = ""
    content: str = ""
    schema: Schema = TEXT
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def limit(self) -> int:
        return usual_limit(self.type) if self.char_limit is None else self.char_limit


class Block(NamedTuple):
    """A block as one agent sees it: `access` is what that agent may do, `permission` what the owner may do."""

    id: BlockId
    owner: AgentId
    label: str
    description: str
    type: BlockType
    char_limit: int
    permission: Permission
    pinned: bool
    about: PersonId | None
    audience: Audience
    trust: Trust
    profile: str
    content: str
    created_at: datetime
    updated_at: datetime
    shared_from: str | None
    """Name of the agent that shares the block; None for the agent's own blocks and the constellation's."""
    access: Permission
    schema: Schema = TEXT
    version: int = 0
    """The number of the newest change."""

    @property
    def is_text(self) -> bool:
        return isinstance(self.schema, TextSchema)

    @property
    def shown(self) -> str:
        return view(self.schema, self.content)

    @property
    def address(self) -> str:
        """A name that finds the block even if the asking agent has one with the same label."""
        if self.shared_from is not None:
            return f"{self.shared_from}/{self.label}"
        return f"{self.owner}/{self.label}" if self.owner == CONSTELLATION_OWNER else self.label


class Author(Struct, frozen=True):
    """Who edits for which agent, and who hears the turn in which it happens.

    `trust` is the turn's; a block keeps the trust of the least trusted author. `template` is the block to create when
    the label exists only for another audience.
    """

    agent: AgentId
    scope: Scope
    writer: Writer
    trust: Trust
    now: datetime
    turn: TurnId | None = None
    template: NewBlock | None = None
    policy: CheckpointPolicy = DEFAULT_POLICY
    permit: Permit | None = None
    """The approval under which the edit is made, where one is needed."""
    shown: Mapping[BlockId, int] = field(default_factory=dict)
    """The versions of blocks that the author was shown: line and item numbers and whole values refer to these."""
    source: str = ""
    """In words: why the turn has less trust."""


def usual_limit(kind: str) -> int:
    """The most characters of a block of that type for which nobody set a limit."""
    return _USUAL.get(kind, _OTHERS)


def require_fits(name: str, limit: int, size: int, before: int = 0) -> None:
    """Raises BlockTooLong for a block's text of more than `limit` characters; one that was over it may still shrink."""
    if size > limit and size > before:
        raise BlockTooLong(
            "block “{name}” would hold {size:,} characters, {over:,} more than its limit of {limit:,}",
            name=name,
            size=size,
            over=size - limit,
            limit=limit,
        )
