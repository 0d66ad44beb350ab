"""Settings of blocks: the owner and admins create, rename, describe, resize, retype, delete and restore them."""

from datetime import datetime
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from bot.agents.permissions import roles_and_rights
from bot.agents.permissions.roles_and_rights import Action, People
from bot.errors import UserError
from bot.services.caller import Caller
from bot.services.memory.block_results import ShareRow, Shares, WidenedBlock
from bot.services.names import NamedBlock, find_living, find_named, named_audience, named_past, shown_block, where
from bot.services.registry import ASKS, KEEPS, Arguments, Param, Suggestions, operation, suggestions
from bot.services.transactions import MemoryService
from memory import activity
from memory.activity import BlockUpdated, NewEvent
from memory.blocks import Block, BlockType, NewBlock, NewSettings, Permission, create_block, lifecycle, undelete_block
from memory.blocks.document import person_writer
from memory.blocks.records import MOST_CHARACTERS, MOST_LABEL
from memory.blocks.revert import Editor
from memory.blocks.schemas import PlainContent, plain_schema
from memory.blocks.shares import share_block, shares_of, unshare_block
from memory.blocks.store import DEFAULT_POLICY, CheckpointPolicy
from memory.people.audience import Trust, may_write_down
from memory.people.identities import label_called
from memory.store.database import Rows, Tx
from memory.wider_audience import require_widening, widen_block
from texts import _

BlockName = Annotated[str, Param("Name of the block", example="persona", metavar="BLOCK", suggests="blocks")]
WritableBlock = Annotated[
    str, Param("Name of the block", example="persona", metavar="BLOCK", suggests="writable blocks")
]

_SharedWith = Annotated[
    str, Param("Agent to share with (default: show who has it)", suggests="agents", positional=True)
]
_RIGHTS = {
    "partner": "Write if the owner or an admin approves",
    "human": "Write if the person it is about approves",
    "read_write": "Read and write",
}
_Shared = Annotated[
    Literal["read_only", "append", "read_write"], Param("What the agent may do with it", short="--at", labels=_RIGHTS)
]
_Agent = Annotated[str, Param("Name of the agent", example="Carina", suggests="sharers")]
_To = Annotated[
    str, Param("Who can see it", example="public", metavar="AUDIENCE", suggests="audiences", positional=True)
]


def editor_of(people: People, caller: Caller, now: datetime, checkpoints: CheckpointPolicy) -> Editor:
    """The rights with which a caller changes blocks by hand."""
    owner = roles_and_rights.may(people, caller.approver, Action.EDIT_ANY)
    known = people.owner if caller.person in people.owner else (caller.person,)
    return Editor(caller.person, known, owner, caller.scope, caller.trust, now, checkpoints)


def _shared(rows: Rows, named: NamedBlock) -> Shares:
    shares = tuple(map(ShareRow.from_record, shares_of(rows, named.block)))
    return Shares(block=named.name, agent=named.agent, shares=shares)


_Label = Annotated[
    str, Field(min_length=1, max_length=MOST_LABEL), Param("Name of the block", example="recipes", metavar="BLOCK")
]
_Deleted = Annotated[
    str,
    Field(min_length=1, max_length=MOST_LABEL),
    Param("Name of the block", example="recipes", metavar="BLOCK", suggests="deleted blocks"),
]
_Description = Annotated[
    str, Field(max_length=500), Param("What belongs in the block, for the agent", example="What we cook")
]
_Limit = Annotated[int | None, Field(ge=1, le=MOST_CHARACTERS), Param("Maximum number of characters")]
_Type = Annotated[
    Literal["core", "working", "archival"] | None,
    Param("Type: core is always in context, working only while pinned; archival is found by search"),
]


class CreateBlock(Arguments):
    label: _Label
    description: Annotated[
        str,
        Field(min_length=1, max_length=500),
        Param("What belongs in the block, for the agent", example="What we cook", positional=True),
    ]
    agent: Annotated[str, Param("Agent that gets it (default: the first)", suggests="agents")] = ""
    type: _Type = None
    limit: _Limit = None
    permission: Annotated[Permission, Param("What the agent may do with it", labels=_RIGHTS)] = Permission.READ_WRITE


class ChangeBlock(Arguments):
    label: BlockName
    rename: Annotated[str, Field(max_length=MOST_LABEL), Param("New name of the block", metavar="NAME")] = ""
    description: _Description = ""
    limit: _Limit = None
    type: _Type = None
    content: Annotated[PlainContent | None, Param("What an empty block should hold: text, a list, a log or fields")] = (
        None
    )
    fields: Annotated[str, Param("Names of the fields, separated by commas")] = ""


class BlockSettings(MemoryService, frozen=True):
    titles: ClassVar = {"memory": "Create, edit and restore memory blocks"}

    checkpoints: CheckpointPolicy = DEFAULT_POLICY

    @operation("memory.share", "Share a block with another agent", Action.SHARE)
    def share(
        self, tx: Tx, caller: Caller, label: BlockName, agent: _SharedWith = "", permission: _Shared = "read_only"
    ) -> Shares:
        named = find_named(tx, caller.scope, label)
        if agent:
            share_block(tx, named.block, find_living(tx, agent).name, Permission(permission), self.clock())
        return _shared(tx, named)

    @operation("memory.unshare", "Stop sharing a block with an agent", Action.SHARE)
    def unshare(self, tx: Tx, caller: Caller, label: BlockName, agent: _Agent) -> Shares:
        named = find_named(tx, caller.scope, label)
        unshare_block(tx, named.block, agent)
        return _shared(tx, named)

    @suggestions("audiences")
    async def audiences(self, caller: Caller) -> Suggestions:
        """Suggest everybody and the server and channel of the call."""
        here, found = caller.location, {"public": _("everyone")}
        if here is not None and here.guild:
            found[f"guild:{here.guild}"] = _("everyone on this server")
        if here is not None and here.audience.startswith("channel:"):
            found[here.audience] = _("everyone in this channel")
        return list(found.items())

    @operation("memory.widen", "Share a block that contains only your own words", Action.WIDEN, ASKS)
    def widen(self, tx: Tx, caller: Caller, label: WritableBlock, to: _To = "public") -> WidenedBlock:
        """Widen the audience of a block in its current text; the caller confirms the text, and is asked again if it
        changes."""
        audience, editor = named_audience(to), editor_of(self.people, caller, self.clock(), self.checkpoints)
        named, past = named_past(tx, caller.scope, label)
        require_widening(tx, editor, named.block, past, audience)
        told = WidenedBlock(
            named=_("Block {block}", block=shown_block(named.name)),
            block=named.name,
            before=where(tx, named.block.audience, caller.scope),
            after=where(tx, audience, caller.scope),
            audience=str(audience),
            text=named.block.content,
        )
        caller.confirm(told.question)
        widen_block(tx, editor, named.block, past, audience)
        return told

    @suggestions("sharers", within="label")
    def suggest_sharers(self, rows: Rows, caller: Caller, label: str) -> Suggestions:
        return [each.agent for each in shares_of(rows, find_named(rows, caller.scope, label).block)]

    @operation("memory.create", "Create a memory block", Action.BLOCKS, KEEPS)
    def create(self, tx: Tx, caller: Caller, arguments: CreateBlock) -> str:
        owner, kind = find_living(tx, arguments.agent), BlockType(arguments.type or "working")
        new = NewBlock(
            owner.id, arguments.label, arguments.description, caller.scope.audience, caller.trust, kind,
            arguments.permission, arguments.limit, pinned=kind is BlockType.WORKING,
        )  # fmt: skip
        lifecycle.require_allowed_label(arguments.label)
        self._require_theirs(caller, create_block(tx, new, person_writer(caller.person), self.clock()))
        self._note(tx, caller, arguments.label, "created")
        return _("Created the block “{block}”.", block=arguments.label)

    @operation("memory.change", "Change a block's name, description, size or type", Action.BLOCKS, KEEPS)
    def change(self, tx: Tx, caller: Caller, arguments: ChangeBlock) -> str:
        kind = None if arguments.type is None else BlockType(arguments.type)
        if arguments.fields and arguments.content is None:
            raise UserError("Give field names if the content is “fields”, and only then.")
        schema = None if arguments.content is None else plain_schema(arguments.content, arguments.fields)
        new = NewSettings(arguments.rename, arguments.description, arguments.limit or 0, kind, schema)
        if new == NewSettings():
            raise UserError("Say what to change.")
        block = find_named(tx, caller.scope, arguments.label).block
        for each in (block.type, kind or block.type):  # checked when it becomes core and when it stops being core
            self._require_theirs(caller, block._replace(type=each))
        self._note(tx, caller, block.label, "changed")
        label = lifecycle.set_block_settings(tx, block, new, person_writer(caller.person), self.clock()).label
        return _("Changed the block “{block}”.", block=label)

    @operation("memory.delete", "Delete a memory block", Action.BLOCKS, ASKS)
    def delete(self, tx: Tx, caller: Caller, label: BlockName) -> str:
        named = find_named(tx, caller.scope, label)
        self._require_theirs(caller, named.block)
        lifecycle.remove_block(tx, named.block, self.clock())
        caller.confirm(_("Delete the block “{label}”?", label=named.block.label))  # otherwise it is rolled back
        self._note(tx, caller, named.block.label, "deleted")
        return _("Deleted the block “{block}”. `carina memory restore` brings it back.", block=named.block.label)

    @operation("memory.restore", "Bring a deleted block back", Action.BLOCKS, KEEPS)
    def restore(self, tx: Tx, caller: Caller, label: _Deleted) -> str:
        found = lifecycle.deleted_blocks(tx, caller.scope, label)
        if not found:
            raise UserError("There is no deleted block “{block}” here.", block=label)
        owner, audience = found[0]
        self._require_theirs(caller, undelete_block(tx, owner, label, audience, self.clock()))
        self._note(tx, caller, label, "restored")
        return _("Block “{block}” is back.", block=label)

    @suggestions("deleted blocks")
    def suggest_deleted(self, rows: Rows, caller: Caller) -> Suggestions:
        labels = lifecycle.deleted_labels(rows, caller.scope)
        return [(each, shown_block(label_called(rows, each, caller.scope))) for each in labels]

    def _require_theirs(self, caller: Caller, block: Block) -> None:
        """Raise unless the caller may change settings of a block that others read elsewhere, or that is in every
        prompt: only the owner may."""
        if roles_and_rights.may(self.people, caller.approver, Action.EDIT_ANY):
            return
        heard = (caller.scope,) if caller.here is None else (caller.scope, caller.here.scope)
        if not any(may_write_down(scope, block.audience) for scope in heard):
            raise UserError(
                "Block “{block}” is also visible elsewhere. Only the owner can change it.", block=block.label
            )
        if caller.trust < Trust.APPROVED and block.type is BlockType.CORE and not block.audience.startswith("person:"):
            raise UserError("Block “{block}” is always in context. Only the owner can change it.", block=block.label)

    def _note(self, tx: Tx, caller: Caller, label: str, change: str) -> None:
        did = BlockUpdated(label, change)
        activity.note(
            tx, NewEvent(did, did.words, caller.scope.audience, caller.trust, person=caller.person), self.clock()
        )
