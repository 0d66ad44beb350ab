"""Blocks for people: looked at, looked back at, changed by hand. One front door for Discord and the command line.

Everything is read through the asker's scope, and every change is decided again in the transaction that makes it.
Blocks go by names that people understand: the label, and where there are several of that label, whose and where.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from bot import policy
from bot.desks.remembering_names import (
    Named,
    block_name,
    damage_told,
    find_named,
    named_audience,
    named_blocks,
    named_past,
    version_before,
    where,
    writer_called,
    writer_names,
)
from bot.desks.remembering_text import change_data, changed_lines, diff_lines, done_data, piece_data
from bot.errors import UserError
from bot.policy import Action, Approver, People, Standing
from memory.audience import OWNER, Audience, Scope, Trust
from memory.blocks import Permission, by_hand, history
from memory.blocks.history import Done, Edit, Hand, past_of_block
from memory.blocks.repair import note_damage, repair_block, verify_block
from memory.blocks.rows import version_of
from memory.blocks.shares import SHARED_AT, share_by_hand, shares_of, unshare_by_hand
from memory.blocks.storage import DEFAULT_POLICY, CheckpointPolicy
from memory.clock import Clock, to_text
from memory.constellation import Constellations
from memory.database import Rows, Tx
from memory.documents.blame import blame
from memory.documents.changes import person_writer, played
from memory.documents.past import Past
from memory.errors import BlockCorrupt
from memory.faults import commit_point
from memory.ids import BlockId, ConstellationId
from memory.widening import require_widening, widen_block
from sources.terminal import PERSON

T = TypeVar("T")

_CHANGE = commit_point("memory.change")
_REPAIR = commit_point("memory.repair")
_SHARE = commit_point("memory.share")
_WIDEN = commit_point("memory.widen")


@dataclass(frozen=True)
class Asking:
    """Who asks, what they may know there, and how far their words are trusted."""

    who: Approver
    scope: Scope
    trust: Trust


@dataclass(frozen=True)
class Remembering:
    """The blocks of one constellation. Everything raises UserError or StoreError with words for who asked."""

    constellations: Constellations
    house: ConstellationId
    people: People
    clock: Clock
    checkpoints: CheckpointPolicy = DEFAULT_POLICY

    async def blocks(self, asking: Asking) -> list[dict[str, Any]]:
        """The blocks that the asker may see here."""

        def read(rows: Rows) -> list[dict[str, Any]]:
            return [_summary(rows, named, asking.scope) for named in named_blocks(rows, asking.scope)]

        return await self._read(read)

    async def show(self, asking: Asking, name: str, version: int | None = None) -> dict[str, Any]:
        """One block, as it is or as it was."""

        def read(rows: Rows) -> dict[str, Any]:
            named = find_named(rows, asking.scope, name)
            block, now = named.block, version_of(rows, named.block.id)
            text = block.content
            if version is not None and version != now:
                text = past_of_block(rows, block.id).text_at(version)
            more = {"version": now if version is None else version, "newest": now, "text": text, "size": len(text)}
            return {**_summary(rows, named, asking.scope), **more, "profile": block.profile}

        return await self._read(read)

    async def opened(self, asking: Asking, name: str, field: str = "") -> dict[str, Any]:
        """One block, or a field of it, for a form to write it anew in. Raises what keeps the asker from that."""

        def read(rows: Rows) -> dict[str, Any]:
            block = find_named(rows, asking.scope, name).block
            history.require_hand(self._hand(asking), block)
            if not field:
                by_hand.require_text(block)
            if not field and not by_hand.is_list(block):
                return {}
            text = by_hand.field_text(rows, block, field)
            return {"text": text, "seen": by_hand.field_mark(text), "version": version_of(rows, block.id)}

        found = await self._read(read)
        return {**await self.show(asking, name), **found}

    async def fields(self, asking: Asking, name: str) -> list[str]:
        """The fields of a block that a person may write; none of one that is a text."""
        return await self._read(lambda rows: by_hand.fields_by_hand(find_named(rows, asking.scope, name).block))

    async def history(self, asking: Asking, name: str, limit: int = 20, before: int | None = None) -> dict[str, Any]:
        """The newest changes of a block, newest first, or those before one; each with what it did in short."""

        def read(rows: Rows) -> dict[str, Any]:
            named, past = named_past(rows, asking.scope, name)
            names = writer_names(rows, past, asking.scope, asking.who, self.people)
            steps = [step for step in past.steps if before is None or step.change.seq < before]
            text, data = played(past.text, steps[:-limit]), []
            for step in steps[-limit:]:
                data.append(change_data(step, text, names))
                text = played(text, [step])
            return {"block": named.name, "versions": past.range, "changes": data[::-1]}

        return await self._read(read)

    async def diff(self, asking: Asking, name: str, older: int, newer: int | None = None) -> dict[str, Any]:
        """What lies between two versions: as lines for a person, and as parts for a program."""

        def read(rows: Rows) -> dict[str, Any]:
            named, past = named_past(rows, asking.scope, name)
            end = past.version if newer is None else newer
            before, after = past.text_at(older), past.text_at(end)
            data = {"block": named.name, "from": older, "to": end}
            return {**data, "lines": diff_lines(before, after, older, end), "parts": changed_lines(before, after)}

        return await self._read(read)

    async def blame(self, asking: Asking, name: str) -> dict[str, Any]:
        """Who wrote which part of a block as it stands, and when."""

        def read(rows: Rows) -> dict[str, Any]:
            named, past = named_past(rows, asking.scope, name)
            names = writer_names(rows, past, asking.scope, asking.who, self.people)
            parts = [piece_data(piece, names) for piece in blame(past)]
            return {"block": named.name, "parts": parts, "versions": past.range}

        return await self._read(read)

    async def writers(self, asking: Asking, name: str) -> dict[str, str]:
        """Who wrote in a block, by id and with what they are called, in the order in which they first did."""

        def read(rows: Rows) -> dict[str, str]:
            _named, past = named_past(rows, asking.scope, name)
            names = writer_names(rows, past, asking.scope, asking.who, self.people)
            return {step.change.writer: names[step.change.writer] for step in past.steps}

        return await self._read(read)

    async def edit(
        self, asking: Asking, name: str, text: str, seen: int | None = None, field: str = "", mark: str = ""
    ) -> dict[str, Any]:
        """Make that the whole text, or that of one field, where what came after the version that was seen stays.

        `mark` is of what the field held when it was seen: one that was changed since stays as it is.
        """

        def change(tx: Tx, named: Named, edit: Edit) -> dict[str, Any]:
            if field or by_hand.is_list(named.block):
                block = by_hand.write_field(edit, named.block, field, text, mark, seen)
                merged = by_hand.kept_more(tx, block, field, text)
            else:
                block = history.write(edit, text, seen)
                merged = block.content != text
            return {"block": named.name, "version": block.version, "merged": merged, "text": block.content}

        return await self._change(asking, name, change)

    async def rollback(self, asking: Asking, name: str, version: int) -> dict[str, Any]:
        """Make the block read as at a version."""
        return await self._gone_back(asking, name, lambda edit, known: history.roll_back(edit, version, known), version)

    async def undo(self, asking: Asking, name: str, *, again: bool = False) -> dict[str, Any]:
        """Take back the asker's own newest change, or do again what they undid."""
        writer = person_writer(asking.who.person)
        step = history.redo if again else history.undo
        return await self._gone_back(asking, name, lambda edit, known: step(edit, writer, known))

    async def revert(self, asking: Asking, name: str, whose: str, since: str) -> dict[str, Any]:
        """Take back what one writer changed since a version or a time, and keep what others wrote.

        A long past takes its time: it is replayed by a reader, and only what changed meanwhile makes the writer do it.
        """

        def replay(rows: Rows) -> tuple[BlockId, Past]:
            named, past = named_past(rows, asking.scope, name)
            return named.block.id, past.rewoven()

        replayed, known = await self._read(replay)

        def change(tx: Tx, named: Named, edit: Edit) -> Done:
            block = named.block.id
            same = block == replayed and version_of(tx, block) == known.version
            past = known if same else past_of_block(tx, block)
            names = writer_names(tx, past, asking.scope, asking.who, self.people)
            writer = writer_called(names, past, whose, self.people)
            return history.revert(edit, past, writer, version_before(past, since, self.clock()), whose)

        return await self._done(asking, name, change)

    async def share(
        self, asking: Asking, name: str, agent: str = "", permission: str = Permission.READ_ONLY
    ) -> dict[str, Any]:
        """Let another agent see a block at that permission; without an agent only says whom it is shared with."""
        policy.require(self.people, asking.who, Action.SHARE)
        if permission not in SHARED_AT:
            raise UserError(f"A block is shared at {', '.join(SHARED_AT)}, not {permission[:40]!r}.")
        if not agent:
            return await self._read(lambda rows: _shared(rows, find_named(rows, asking.scope, name)))

        def work(tx: Tx) -> dict[str, Any]:
            named = find_named(tx, asking.scope, name)
            share_by_hand(tx, named.block, agent, Permission(permission), self.clock())
            return _shared(tx, named)

        async with self.constellations.use(self.house) as database:
            return await database.write(_SHARE, work)

    async def unshare(self, asking: Asking, name: str, agent: str) -> dict[str, Any]:
        """Take a share back: the agent does not see the block from its next step on."""
        policy.require(self.people, asking.who, Action.SHARE)

        def work(tx: Tx) -> dict[str, Any]:
            named = find_named(tx, asking.scope, name)
            unshare_by_hand(tx, named.block, agent)
            return _shared(tx, named)

        async with self.constellations.use(self.house) as database:
            return await database.write(_SHARE, work)

    async def widen(self, asking: Asking, name: str, to: str, *, sure: bool = False) -> dict[str, Any]:
        """Let those of a wider audience ("public", "guild:<id>", "channel:<id>") know a block of one's own words.

        Without `sure` nothing is changed: it says what they would be told.
        """
        policy.require(self.people, asking.who, Action.WIDEN)
        audience = named_audience(to)

        def look(rows: Rows) -> tuple[BlockId, Past, dict[str, Any]]:
            named, past = named_past(rows, asking.scope, name)
            require_widening(rows, self._hand(asking), named.block, past, audience)
            return named.block.id, past, _widened(rows, named, audience, asking.scope, done=False)

        looked_at, known, found = await self._read(look)
        if not sure:
            return found

        def work(tx: Tx) -> dict[str, Any]:
            named = find_named(tx, asking.scope, name)
            if named.block.id != looked_at or version_of(tx, looked_at) != known.version:
                raise UserError("The block was changed meanwhile: look at it again, then say it once more.")
            told = _widened(tx, named, audience, asking.scope, done=True)
            widen_block(tx, self._hand(asking), named.block, known, audience)
            return told

        async with self.constellations.use(self.house) as database:
            return await database.write(_WIDEN, work)

    async def verify(self, asking: Asking, *, repair: bool = False) -> list[dict[str, Any]]:
        """Whether every block's stored document is sound; with `repair`, what is not is built anew."""
        if policy.standing(self.people, asking.who) is not Standing.OWNER:
            raise UserError("Only the owner may have the memory checked.")
        found = await self._read(_every_block)
        results = []
        for identifier, name in found:
            problems = await self._read(functools.partial(_problems, identifier))
            repaired: Sequence[str] = ()
            if problems and repair:
                repaired = await self._repair(identifier)
            state = "sound" if not problems else "repaired" if repaired else "damaged"
            results.append({"block": name, "state": state, "found": problems})
        return results

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """By the names the control socket knows; whoever reaches that socket is the owner."""
        owner = Asking(Approver(PERSON, door="command line"), Scope(OWNER), Trust.OWNER)
        acts: tuple[Callable[..., Any], ...] = (
            self.blocks, self.show, self.history, self.diff, self.blame, self.edit, self.rollback, self.undo,
            self.revert, self.share, self.unshare, self.widen, self.verify,
        )  # fmt: skip
        return {f"memory.{act.__name__}": functools.partial(act, owner) for act in acts}

    async def _repair(self, identifier: BlockId) -> Sequence[str]:
        async with self.constellations.use(self.house) as database:
            try:
                return await database.write(_REPAIR, lambda tx: repair_block(tx, identifier, self.clock()))
            except BlockCorrupt as error:
                why, now = [str(error)], self.clock()
                await database.write(_REPAIR, lambda tx: note_damage(tx, identifier, why, "unreadable", now))
                return ()

    async def _gone_back(
        self, asking: Asking, name: str, act: Callable[[Edit, Past | None], Done], version: int | None = None
    ) -> dict[str, Any]:
        """Go back in a block whose past a reader replays first; only what changed meanwhile makes the writer do it."""

        def replay(rows: Rows) -> tuple[BlockId, Past]:
            block = find_named(rows, asking.scope, name).block.id
            return block, history.past_to_go_back(rows, block, version)

        replayed, known = await self._read(replay)
        return await self._done(
            asking, name, lambda _tx, named, edit: act(edit, known if named.block.id == replayed else None)
        )

    async def _done(self, asking: Asking, name: str, act: Callable[[Tx, Named, Any], Done]) -> dict[str, Any]:
        def change(tx: Tx, named: Named, edit: Edit) -> dict[str, Any]:
            done = act(tx, named, edit)
            version = version_of(tx, named.block.id)
            return {"block": named.name, "version": version, "text": done.block.content, **done_data(done)}

        return await self._change(asking, name, change)

    async def _change(
        self, asking: Asking, name: str, change: Callable[[Tx, Named, Edit], dict[str, Any]]
    ) -> dict[str, Any]:
        def work(tx: Tx) -> dict[str, Any]:
            named = find_named(tx, asking.scope, name)
            return change(tx, named, history.by_hand(tx, self._hand(asking), named.block))

        async with self.constellations.use(self.house) as database:
            with damage_told():
                return await database.write(_CHANGE, work)

    def _hand(self, asking: Asking) -> Hand:
        owner = policy.may(self.people, asking.who, Action.EDIT_ANY)
        known = self.people.owner if asking.who.person in self.people.owner else (asking.who.person,)
        return Hand(asking.who.person, known, owner, asking.scope, asking.trust, self.clock(), self.checkpoints)

    async def _read(self, read: Callable[[Rows], T]) -> T:
        async with self.constellations.use(self.house) as database:
            with damage_told():
                return await database.read(read)


def _shared(rows: Rows, named: Named) -> dict[str, Any]:
    """Whom a block is shared with, at what, and what of that is in effect."""
    shares = [
        {"agent": each.agent, "permission": str(each.given), "effective": str(each.access), "why": each.why}
        for each in shares_of(rows, named.block)
    ]
    return {"block": named.name, "agent": named.agent, "shares": shares}


def _widened(rows: Rows, named: Named, to: Audience, scope: Scope, *, done: bool) -> dict[str, Any]:
    """Which text is, or would be, made known to whom."""
    return {
        "block": named.name,
        "from": where(rows, named.block.audience, scope),
        "to": where(rows, to, scope),
        "audience": str(to),
        "text": named.block.content,
        "done": done,
    }


def _summary(rows: Rows, named: Named, scope: Scope) -> dict[str, Any]:
    block = named.block
    return {
        "block": named.name,
        "id": block.id,
        "agent": named.agent,
        "type": str(block.type),
        "readers": where(rows, block.audience, scope),
        "size": len(block.content),
        "limit": block.char_limit,
        "permission": str(block.permission),
        "description": block.description,
        "changed_at": to_text(block.updated_at),
    }


def _problems(block: BlockId, rows: Rows) -> list[str]:
    return verify_block(rows, block)


def _every_block(rows: Rows) -> list[tuple[BlockId, str]]:
    """All living blocks, for maintenance; those of somebody's direct messages without their names."""
    found = rows.all(
        "SELECT b.id, b.label, b.audience, a.name FROM memory_blocks b LEFT JOIN agents a ON a.id = b.agent_id"
        " WHERE b.deleted_at IS NULL ORDER BY b.n"
    )
    return [(BlockId(row["id"]), block_name(row["name"], row["label"], row["audience"])) for row in found]
