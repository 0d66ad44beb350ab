"""Blocks of memory: labelled texts of an agent or of the whole constellation, read with every prompt.

A prompt needs only the rows of this table, whose `content` is the rendered text; edits go through the block's
document (`memory.block_log`). Every function takes the unit of work or the reader that it runs in, so that a
caller composes several stores in one commit. A block is shown only to a scope that may know it, and takes text
only from a turn that everyone who reads the block may know.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum, StrEnum

from memory.audience import Audience, Scope, Trust, may_write_down
from memory.block_log import DEFAULT_POLICY, CheckpointPolicy, open_block, save_change, search_text
from memory.clock import from_text, to_text
from memory.database import Row, Rows, Tx, Value
from memory.document import SYSTEM, BlockDocument, Stamp, Writer, require_text
from memory.errors import BlockExists, BlockNotFound, BlockRefused, BlockTooLong, Refused
from memory.ids import AgentId, BlockId, PersonId, TurnId, new_id
from memory.requests import Kind, Need, Permit, require
from memory.warm_blocks import WarmBlocks

CONSTELLATION_OWNER = AgentId("_constellation_")
_CORE_LIMIT, _OTHER_LIMIT = 2_000, 5_000
_NAMED = 40  # labels listed in an error


class BlockType(StrEnum):
    CORE = "core"
    WORKING = "working"
    ARCHIVAL = "archival"
    LOG = "log"


IN_CONTEXT = (BlockType.CORE, BlockType.WORKING)


class Permission(StrEnum):
    """What an agent may do to a block, from least to most."""

    READ_ONLY = "read_only"
    PARTNER = "partner"
    HUMAN = "human"
    APPEND = "append"
    READ_WRITE = "read_write"
    ADMIN = "admin"


class Operation(StrEnum):
    READ = "read"
    APPEND = "append"
    OVERWRITE = "overwrite"
    DELETE = "delete"


class Decision(Enum):
    ALLOW = "allow"
    DENY = "deny"
    ASK_PARTNER = "ask the partner"
    ASK_HUMAN = "ask the human of the turn"


_YES, _NO, _PARTNER, _HUMAN = Decision
_RIGHTS = {  # in the order of Operation: read, append, overwrite, delete
    Permission.READ_ONLY: (_YES, _NO, _NO, _NO),
    Permission.PARTNER: (_YES, _PARTNER, _PARTNER, _NO),
    Permission.HUMAN: (_YES, _HUMAN, _HUMAN, _NO),
    Permission.APPEND: (_YES, _YES, _NO, _NO),
    Permission.READ_WRITE: (_YES, _YES, _YES, _NO),
    Permission.ADMIN: (_YES, _YES, _YES, _YES),
}


def decide(permission: Permission, operation: Operation) -> Decision:
    """Whether a permission allows an operation; the one place that says so."""
    return _RIGHTS[permission][list(Operation).index(operation)]


@dataclass(frozen=True)
class NewBlock:
    """A block to be made. `description` tells the model what belongs in it; `char_limit` counts characters.

    `profile` is the read-only part that a source keeps up to date, `content` what the document begins with.
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

    @property
    def limit(self) -> int:
        default = _CORE_LIMIT if self.type is BlockType.CORE else _OTHER_LIMIT
        return default if self.char_limit is None else self.char_limit


@dataclass(frozen=True)
class Block:
    """A block as one agent sees it: `access` is what that agent may do, whatever `permission` says to its owner."""

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
    updated_at: datetime
    shared_from: str | None
    """Name of the agent that shares it with the asking one; None for an own block and the constellation's."""
    access: Permission

    @property
    def address(self) -> str:
        """A name that finds it even where the asking agent has a block of the same label."""
        if self.shared_from is not None:
            return f"{self.shared_from}/{self.label}"
        return f"{self.owner}/{self.label}" if self.owner == CONSTELLATION_OWNER else self.label


@dataclass(frozen=True)
class Author:
    """Who edits for which agent, and who hears the turn in which it happens.

    `trust` is the turn's; a block never keeps more than the least trusted of its authors. `template` is the
    block to make when the label exists only for another audience.
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
    """The yes under which the edit is made, where one is needed."""


def visible_blocks(
    rows: Rows,
    agent: AgentId,
    scope: Scope,
    types: Collection[BlockType] = IN_CONTEXT,
    referred: Collection[str] | None = None,
) -> list[Block]:
    """The agent's own, shared and constellation blocks that the scope may use: core, working, the rest; by label.

    With `referred` (ids or labels), working blocks that are neither pinned nor among them are left out.
    """
    where, parameters = scope.sql("b.audience")
    where += f" AND b.block_type IN ({_marks(types)})"
    parameters += tuple(types)
    if referred is not None:
        among = _marks(referred)
        where += f" AND (b.block_type <> 'working' OR b.pinned OR b.label IN ({among}) OR b.id IN ({among}))"
        parameters += (*referred, *referred)
    order, found = list(BlockType), _select(rows, agent, where, parameters)
    return sorted(found, key=lambda b: (order.index(b.type), b.label, b.owner != agent, b.owner, b.audience))


def find_block(rows: Rows, agent: AgentId, label: str, scope: Scope) -> Block:
    """The block of that label, or of that address "owner/label"; an own block comes before others.

    Of several instances it is the one of the scope's own audience, else the widest. Raises BlockNotFound,
    which names what can be seen from here.
    """
    require_text(label)
    where, parameters = scope.sql("b.audience")
    parts = label.split("/", 4)  # a name may hold a slash itself
    labels = ["/".join(parts[start:]) for start in range(len(parts))]
    found = _select(rows, agent, f"{where} AND b.label IN ({_marks(labels)})", (*parameters, *labels))
    named = [block for block in found if block.label == label]
    instances = [block for block in named if block.owner == agent] or named
    instances = instances or [block for block in found if label in (block.address, f"{block.owner}/{block.label}")]
    if not instances:
        seen = sorted({block.label for block in visible_blocks(rows, agent, scope, tuple(BlockType))})
        more = f" and {len(seen) - _NAMED} more" if len(seen) > _NAMED else ""
        raise BlockNotFound(f"no block {label[:80]!r} here; there are: {', '.join(seen[:_NAMED]) or 'none'}{more}")
    if len(addresses := sorted({block.address for block in instances})) > 1:
        raise BlockNotFound(f"several blocks are called {label!r}: say which, {' or '.join(addresses)}")
    return min(instances, key=lambda block: (block.audience != scope.audience, _narrowness(block.audience)))


def _narrowness(audience: Audience) -> tuple[int, str]:
    kinds = ("public", "guild", "channel", "person", "owner")
    return kinds.index(audience.partition(":")[0]), audience


def _marks(values: Collection[object]) -> str:
    return ", ".join("?" * len(values))


_LIVING = """
SELECT b.id, b.agent_id, b.label, b.description, b.block_type, b.char_limit, b.permission, b.pinned, b.person_id,
    b.audience, b.trust, b.profile, b.content, b.updated_at, s.permission AS given, a.name AS owner_name
FROM memory_blocks b
LEFT JOIN shared_block_agents s ON s.block_id = b.id AND s.agent_id = ?
LEFT JOIN agents a ON a.id = b.agent_id
WHERE b.deleted_at IS NULL AND (b.agent_id IN (?, '_constellation_')
    OR b.id IN (SELECT block_id FROM shared_block_agents WHERE agent_id = ?))
"""


def _select(rows: Rows, agent: AgentId, where: str, parameters: tuple[str, ...]) -> list[Block]:
    found = rows.all(f"{_LIVING} AND {where}", (agent, agent, agent, *parameters))
    return [_block(row, agent) for row in found]


def _own(rows: Rows, owner: AgentId, label: str, audience: Audience) -> Block | None:
    found = _select(rows, owner, "b.agent_id = ? AND b.label = ? AND b.audience = ?", (owner, label, audience))
    return found[0] if found else None


def _by_id(rows: Rows, agent: AgentId, block: BlockId) -> Block:
    return _select(rows, agent, "b.id = ?", (block,))[0]


def _block(row: Row, agent: AgentId) -> Block:
    # In the order of _LIVING: to read by name takes twice the time, for every block of every prompt.
    block, owner, label, description, kind, limit, own, pinned, about, *rest = row
    audience, trust, profile, content, updated_at, given, owner_name = rest
    shared = owner not in (agent, CONSTELLATION_OWNER)
    return Block(
        id=block,
        owner=owner,
        label=label,
        description=description,
        type=BlockType(kind),
        char_limit=limit,
        permission=Permission(own),
        pinned=bool(pinned),
        about=about,
        audience=audience,
        trust=Trust(trust),
        profile=profile,
        content=content,
        updated_at=from_text(updated_at),
        shared_from=(owner_name or owner) if shared else None,
        access=_access(BlockType(kind), Permission(own), given, shared=shared),
    )


def _access(kind: BlockType, own: Permission, given: str | None, *, shared: bool) -> Permission:
    if kind is BlockType.LOG:
        return Permission.READ_ONLY  # the system appends to logs
    if given is None:
        return own
    if not shared:  # the constellation's block: each agent has its own level, the block's is for the others
        return Permission(given)
    order = list(Permission)  # nobody can give away more than the block allows its owner
    return min(own, Permission(given), key=order.index)


def create_block(tx: Tx, new: NewBlock, writer: Writer, now: datetime) -> Block:
    """Make a block. Raises BlockExists for a living one of that owner, label and audience; Refused, BlockTooLong."""
    _require_sound(new)
    block, moment = BlockId(new_id("blk")), to_text(now)
    row: dict[str, Value] = {"id": block, "agent_id": new.owner, "label": new.label, "description": new.description}
    row |= {"block_type": new.type, "permission": new.permission, "audience": new.audience, "person_id": new.about}
    row |= {"char_limit": new.limit, "pinned": int(new.pinned), "trust": int(new.trust), "profile": new.profile}
    row |= {"created_at": moment, "updated_at": moment, "search_text": search_text(new.label, new.description, "")}
    if not tx.insert("memory_blocks", row, ignore=True):
        raise BlockExists(f"there is a block {new.label!r} already, for {new.audience}")
    if new.content:
        opened = open_block(tx, block, writer, now)
        opened.document.append(new.content)
        save_change(tx, opened, Stamp(writer, None, opened.next_seq, now))
    return _by_id(tx, new.owner, block)


def ensure_block(tx: Tx, spec: NewBlock, writer: Writer, now: datetime) -> Block:
    """The block of that owner, label and audience, made if need be; else only profile and description are renewed."""
    found = _own(tx, spec.owner, spec.label, spec.audience)
    if found is None:
        return create_block(tx, spec, writer, now)
    if (found.profile, found.description) == (spec.profile, spec.description):
        return found
    _require_sound(replace(spec, content=""))
    search = search_text(spec.label, spec.description, found.content)
    tx.run(
        "UPDATE memory_blocks SET profile = ?, description = ?, search_text = ?, updated_at = ? WHERE id = ?",
        (spec.profile, spec.description, search, to_text(now), found.id),
    )
    return _by_id(tx, spec.owner, found.id)


def _require_sound(new: NewBlock) -> None:
    if not new.label.strip() or "\n" in new.label:
        raise Refused(f"a block needs a label of one line, not {new.label!r}")
    if not new.description.strip():
        raise Refused(f"block {new.label} needs a description: it tells the model what belongs in it")
    for text in (new.label, new.description, new.profile):
        require_text(text)
    _require_fits(new.label, new.limit, 0, len(new.content))


def append_block(tx: Tx, author: Author, label: str, text: str) -> Block:
    """Add text to the end of a block. Raises BlockNotFound, BlockRefused, BlockTooLong, Refused, BlockCorrupt."""
    return _edit(tx, author, label, Operation.APPEND, lambda document: document.append(text))


def replace_in_block(tx: Tx, author: Author, label: str, old: str, new: str) -> Block:
    """Put `new` in place of every `old`, which must occur exactly so. Raises as `append_block`."""
    return _edit(tx, author, label, Operation.OVERWRITE, lambda document: document.replace(old, new))


def write_block(tx: Tx, author: Author, label: str, text: str) -> Block:
    """Make `text` the whole content of a block. Raises as `append_block`."""
    return _edit(tx, author, label, Operation.OVERWRITE, lambda document: document.write(text))


def _edit(tx: Tx, author: Author, label: str, operation: Operation, change: Callable[[BlockDocument], None]) -> Block:
    block, decision = _writable(tx, author, label, operation)
    opened = open_block(tx, block.id, author.writer, author.now)
    change(opened.document)
    text = opened.document.text()
    _require_fits(block.address, block.char_limit, len(block.content), len(text))
    _require_yes(tx, author, block, operation, decision)  # not for what would be refused anyway
    if not save_change(tx, opened, Stamp(author.writer, author.turn, opened.next_seq, author.now), author.policy):
        return block
    trust = min(block.trust, author.trust)
    if trust < block.trust:
        tx.run("UPDATE memory_blocks SET trust = ? WHERE id = ?", (int(trust), block.id))
    return replace(block, content=text, trust=trust, updated_at=from_text(to_text(author.now)))


def _writable(tx: Tx, author: Author, label: str, operation: Operation) -> tuple[Block, Decision]:
    """The instance that this author may change, or may with a yes; made from the template where others have one."""
    template, ours = author.template, author.scope.audience
    fits = template is not None and (template.owner, template.label) == (author.agent, label)
    if template and fits and not _own(tx, author.agent, label, ours):
        create_block(tx, replace(template, audience=ours), author.writer, author.now)
    block = find_block(tx, author.agent, label, author.scope)
    decision = _decision(block, author.writer, operation)
    if may_write_down(author.scope, block.audience):
        return block, decision
    others = [
        other.address
        for other in visible_blocks(tx, author.agent, author.scope)
        if other.audience == author.scope.audience and decide(other.access, operation) is Decision.ALLOW
    ]
    instead = f"write to {' or '.join(others[:5])} instead" if others else "no block here may be written instead"
    raise BlockRefused(f"block {block.address} is read by others ({block.audience}) than hear this; {instead}")


def _decision(block: Block, writer: Writer, operation: Operation) -> Decision:
    access = Permission.ADMIN if writer == SYSTEM else block.access
    decision = decide(access, operation)
    if decision is Decision.DENY:
        raise BlockRefused(f"block {block.address} is {access} here: no {operation}")
    return decision


def _require_yes(tx: Tx, author: Author, block: Block, operation: Operation, decision: Decision) -> None:
    """What the block's permission asks for; and core blocks that others read are not written for just anybody.

    Raises ApprovalNeeded for the block as it is now: a yes to an older version is none.
    """
    trusted = author.trust >= Trust.APPROVED or block.type is not BlockType.CORE or block.audience.startswith("person:")
    if decision is Decision.ALLOW and trusted:
        return
    why = "is always in context, and a stranger's words would change it" if not trusted else f"is {block.access}"
    row = tx.one("SELECT next_seq FROM memory_blocks WHERE id = ?", (block.id,))
    # Not the id: a block that is made from its template by this very edit has another one next time.
    version = f"{block.audience} {row['next_seq'] if row is not None else 0}"
    asks = block.about if decision is Decision.ASK_HUMAN else None
    reason = f"block {block.address} {why}: {operation}"
    require(Need(Kind.EDIT, f"{block.owner}/{block.label}", reason, version=version, asks=asks), author.permit)


def _require_fits(name: str, limit: int, before: int, after: int) -> None:
    if after > limit and after > before:  # one that is over its limit may still shrink
        raise BlockTooLong(f"block {name} is at {before:,} of {limit:,} characters; this adds {after - before:,}")


def delete_block(tx: Tx, author: Author, label: str) -> Block:
    """Take a block away and free its label; the row stays until it is erased. Raises BlockNotFound, BlockRefused."""
    block = find_block(tx, author.agent, label, author.scope)
    _require_yes(tx, author, block, Operation.DELETE, _decision(block, author.writer, Operation.DELETE))
    tx.run("UPDATE memory_blocks SET deleted_at = ?, search_text = '' WHERE id = ?", (to_text(author.now), block.id))
    tx.kept(WarmBlocks).take(block.id)
    return block
