"""Blocks as wholes: made, renamed, described, resized, retyped, deleted and brought back by owner and admins."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from bot.agents.permissions import policy
from bot.agents.permissions.policy import Action, People
from bot.errors import UserError
from bot.services.block_names import Named, find_named
from bot.services.block_sharing import OneBlock
from bot.services.caller import Caller
from bot.services.named import find_living
from bot.services.parameters import Arguments, Param
from bot.services.registry import Options, operation
from bot.services.results import Sentence
from memory import activity
from memory.blocks import Block, BlockType, NewBlock, NewSettings, Permission, create_block, restore_block
from memory.blocks.document import person_writer
from memory.blocks.lifecycle import deleted_blocks, remove_block, require_allowed_label, set_block_settings
from memory.people.audience import Trust, may_write_down
from memory.store.clock import Clock
from memory.store.database import Database, Tx
from memory.store.faults import commit_point
from texts import _

_ADMINISTER = commit_point("memory.administer")
_CHANGES = Options(changes=True, keeps=True, file_name="memory.md")

_Label = Annotated[str, Field(min_length=1, max_length=100), Param("Name of the block", metavar="BLOCK")]
_Description = Annotated[str, Field(max_length=500), Param("What belongs in the block, for the agent")]
_Limit = Annotated[int | None, Field(ge=1, le=100_000), Param("Maximum number of characters")]
_Type = Annotated[
    Literal["core", "working", "archival"] | None,
    Param("core: always in context; working: while pinned; archival: found by search"),
]


class CreateBlock(Arguments):
    label: _Label
    description: Annotated[
        str, Field(min_length=1, max_length=500), Param("What belongs in the block, for the agent", positional=True)
    ]
    agent: Annotated[str, Field(max_length=64), Param("Agent that gets it (default: the first)", suggests="agents")] = (
        ""
    )
    type: _Type = None
    limit: _Limit = None
    permission: Annotated[Permission, Param("What the agent may do with it")] = Permission.READ_WRITE


class ChangeBlock(OneBlock):
    rename: Annotated[str, Field(max_length=100), Param("New name of the block", metavar="NAME")] = ""
    description: _Description = ""
    limit: _Limit = None
    type: _Type = None


class RestoreBlock(Arguments):
    label: _Label


@dataclass(frozen=True)
class BlockSettings:
    """Of the blocks of one constellation."""

    titles: ClassVar = {"memory": "Create, edit and restore memory blocks"}

    database: Database
    people: People
    clock: Clock

    @operation("memory.create", "Create a memory block", Action.BLOCKS, _CHANGES)
    async def create(self, caller: Caller, arguments: CreateBlock) -> Sentence:
        """Whoever reads the answer can read the block."""

        def work(tx: Tx) -> None:
            owner, kind = find_living(tx, arguments.agent), BlockType(arguments.type or "working")
            new = NewBlock(
                owner.id, arguments.label, arguments.description, caller.scope.audience, caller.trust, kind,
                arguments.permission, arguments.limit, pinned=kind is BlockType.WORKING,
            )  # fmt: skip
            require_allowed_label(arguments.label)
            self._require_theirs(caller, create_block(tx, new, person_writer(caller.person), self.clock()))
            self._note(tx, caller, arguments.label, "created")

        await self.database.write(_ADMINISTER, work)
        return Sentence(text=_("Created block {block}.", block=arguments.label))

    @operation("memory.change", "Rename, describe, resize or retype a block", Action.BLOCKS, _CHANGES)
    async def change(self, caller: Caller, arguments: ChangeBlock) -> Sentence:
        """What it says stays."""
        kind = None if arguments.type is None else BlockType(arguments.type)
        new = NewSettings(arguments.rename, arguments.description, arguments.limit or 0, kind)
        if new == NewSettings():
            raise UserError(_("Nothing to change was given."))

        def work(tx: Tx) -> str:
            block = find_named(tx, caller.scope, arguments.label).block
            for each in (block.type, kind or block.type):  # a core block is guarded on the way in as on the way out
                self._require_theirs(caller, block._replace(type=each))
            self._note(tx, caller, block.label, "changed")
            return set_block_settings(tx, block, new, self.clock()).label

        label = await self.database.write(_ADMINISTER, work)
        return Sentence(text=_("Changed block {block}.", block=label))

    @operation(
        "memory.delete", "Delete a memory block", Action.BLOCKS,
        Options(changes=True, confirm="Delete block {label}?", file_name="memory.md"),
    )  # fmt: skip
    async def delete(self, caller: Caller, arguments: OneBlock) -> Sentence:
        """It can be brought back."""

        def work(tx: Tx) -> Named:
            named = find_named(tx, caller.scope, arguments.label)
            self._require_theirs(caller, named.block)
            remove_block(tx, named.block, self.clock())
            self._note(tx, caller, named.block.label, "deleted")
            return named

        named = await self.database.write(_ADMINISTER, work)
        label, command = named.block.label, caller.command("memory restore")
        return Sentence(text=_("Deleted block {block}. {command} brings it back.", block=label, command=command))

    @operation("memory.restore", "Bring a deleted block back", Action.BLOCKS, _CHANGES)
    async def restore(self, caller: Caller, arguments: RestoreBlock) -> Sentence:
        """The one of that name that was deleted last."""

        def work(tx: Tx) -> None:
            found = deleted_blocks(tx, caller.scope, arguments.label)
            if not found:
                raise UserError(_("There is no deleted block {block} here.", block=repr(arguments.label)))
            owner, audience = found[0]
            self._require_theirs(caller, restore_block(tx, owner, arguments.label, audience, self.clock()))
            self._note(tx, caller, arguments.label, "restored")

        await self.database.write(_ADMINISTER, work)
        return Sentence(text=_("Block {block} is back.", block=arguments.label))

    def _require_theirs(self, caller: Caller, block: Block) -> None:
        """What others read elsewhere, and what is before a model's eyes at every turn, is the owner's to settle."""
        if policy.may(self.people, caller.approver, Action.EDIT_ANY):
            return
        heard = (caller.scope,) if caller.here is None else (caller.scope, caller.here.scope)
        if not any(may_write_down(scope, block.audience) for scope in heard):
            raise UserError(_("Block {block} is also seen elsewhere. Only the owner can change it.", block=block.label))
        if caller.trust < Trust.APPROVED and block.type is BlockType.CORE and not block.audience.startswith("person:"):
            raise UserError(_("Block {block} is always in context. Only the owner can change it.", block=block.label))

    def _note(self, tx: Tx, caller: Caller, label: str, change: str) -> None:
        words, details = f"{change} the block {label} by hand", {"label": label, "change": change}
        event = activity.NewEvent(
            activity.Kind.BLOCK, words, caller.scope.audience, caller.trust, person=caller.person, details=details
        )
        activity.note(tx, event, self.clock())
