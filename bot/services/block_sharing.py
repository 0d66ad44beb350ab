"""Who may see a block: sharing it with other agents, and letting more people know it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from bot.agents.permissions import policy
from bot.agents.permissions.policy import Action, People
from bot.errors import UserError
from bot.services.block_names import Named, damage_told, find_named, named_audience, named_past, where
from bot.services.block_results import ShareRow, Shares, WidenedBlock
from bot.services.caller import Caller
from bot.services.named import find_living
from bot.services.parameters import Arguments, Param
from bot.services.registry import Options, Suggestions, operation, suggestions
from memory.blocks import Permission
from memory.blocks.history import Past
from memory.blocks.lifecycle import share_block, shares_of, unshare_block
from memory.blocks.revert import Hand
from memory.blocks.rows import version_of
from memory.blocks.store import DEFAULT_POLICY, CheckpointPolicy
from memory.people.audience import Audience
from memory.store.clock import Clock
from memory.store.database import Database, Rows, Tx
from memory.store.faults import commit_point
from memory.store.ids import BlockId
from memory.wider_audience import require_widening, widen_block
from texts import _

_SHARE = commit_point("memory.share")
_WIDEN = commit_point("memory.widen")
_CHANGES = Options(changes=True, file_name="memory.md")

_Name = Annotated[
    str, Field(min_length=1, max_length=100), Param("Name of the block", metavar="BLOCK", suggests="blocks")
]


class OneBlock(Arguments):
    label: _Name


class ShareBlock(OneBlock):
    agent: Annotated[
        str,
        Field(max_length=64),
        Param("Agent to share with (default: show who has it)", suggests="agents", positional=True),
    ] = ""
    at: Annotated[Literal["read_only", "append", "read_write"], Param("What the agent may do")] = "read_only"


class UnshareBlock(OneBlock):
    agent: Annotated[str, Field(min_length=1, max_length=64), Param("Name of the agent", suggests="sharers")]


class WidenBlock(OneBlock):
    to: Annotated[
        str,
        Field(min_length=1, max_length=100),
        Param("Who can see it: public, guild:<id> or channel:<id>", metavar="AUDIENCE", positional=True),
    ] = "public"


@dataclass(frozen=True)
class BlockSharing:
    """Of the blocks of one constellation."""

    database: Database
    people: People
    clock: Clock
    checkpoints: CheckpointPolicy = DEFAULT_POLICY

    @operation("memory.share", "Share a block with another agent", Action.SHARE, _CHANGES)
    async def share(self, caller: Caller, arguments: ShareBlock) -> Shares:
        """At that permission; without an agent only says with whom it is shared."""
        if not arguments.agent:
            return await self.database.read(lambda rows: _shared(rows, find_named(rows, caller.scope, arguments.label)))

        def work(tx: Tx) -> Shares:
            named, agent = find_named(tx, caller.scope, arguments.label), find_living(tx, arguments.agent)
            share_block(tx, named.block, agent.name, Permission(arguments.at), self.clock())
            return _shared(tx, named)

        return await self.database.write(_SHARE, work)

    @operation("memory.unshare", "Stop sharing a block with an agent", Action.SHARE, _CHANGES)
    async def unshare(self, caller: Caller, arguments: UnshareBlock) -> Shares:
        """The agent does not see it from its next step on."""

        def work(tx: Tx) -> Shares:
            named = find_named(tx, caller.scope, arguments.label)
            unshare_block(tx, named.block, arguments.agent)
            return _shared(tx, named)

        return await self.database.write(_SHARE, work)

    @operation(
        "memory.widen", "Share a block that contains only your own words", Action.WIDEN,
        Options(changes=True, asks=True, file_name="memory.md"),
    )  # fmt: skip
    async def widen(self, caller: Caller, arguments: WidenBlock) -> WidenedBlock:
        """As it stands; the caller sees first what would be told."""
        audience, hand = named_audience(arguments.to), hand_of(self.people, caller, self.clock(), self.checkpoints)

        def look(rows: Rows) -> tuple[BlockId, Past, WidenedBlock]:
            named, past = named_past(rows, caller.scope, arguments.label)
            require_widening(rows, hand, named.block, past, audience)
            return named.block.id, past, _widened(rows, named, audience, caller)

        with damage_told():
            looked_at, known, found = await self.database.read(look)
        caller.confirm(found.question)

        def work(tx: Tx) -> WidenedBlock:
            named = find_named(tx, caller.scope, arguments.label)
            if named.block.id != looked_at or version_of(tx, looked_at) != known.version:
                raise UserError(_("The block changed in the meantime. Look at it again, then repeat the command."))
            told = _widened(tx, named, audience, caller)
            widen_block(tx, hand, named.block, known, audience)
            return told

        return await self.database.write(_WIDEN, work)

    @suggestions("sharers", within="label")
    async def suggest_sharers(self, caller: Caller, label: str) -> Suggestions:
        """The agents that a block is shared with."""
        found = await self.share(caller, ShareBlock(label=label))
        return [(each.agent, each.agent) for each in found.shares]


def hand_of(people: People, caller: Caller, now: datetime, checkpoints: CheckpointPolicy) -> Hand:
    """Under whose rights a caller changes blocks by hand."""
    owner = policy.may(people, caller.approver, Action.EDIT_ANY)
    known = people.owner if caller.person in people.owner else (caller.person,)
    return Hand(caller.person, known, owner, caller.scope, caller.trust, now, checkpoints)


def _shared(rows: Rows, named: Named) -> Shares:
    shares = tuple(ShareRow.of(each) for each in shares_of(rows, named.block))
    return Shares(block=named.name, agent=named.agent, shares=shares)


def _widened(rows: Rows, named: Named, to: Audience, caller: Caller) -> WidenedBlock:
    return WidenedBlock(
        named=_("Block {block}", block=named.name),
        block=named.name,
        before=where(rows, named.block.audience, caller.scope),
        after=where(rows, to, caller.scope),
        audience=str(to),
        text=named.block.content,
    )
