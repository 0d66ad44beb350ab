"""Letting more people know a block: by whom its words are, with the text as it stands and without its past.

What a block says may be made known more widely only by the one person who said it: the person of the direct messages
that it was written in, or the owner for what was written in the owner's places. Nobody widens another's words, so a
block that somebody else had a hand in stays where it is. The wider block is a new one: what stood in it earlier, and
was taken out, is not made known with it.
"""

import json
from collections.abc import Collection

from memory import activity
from memory.activity import Kind, NewEvent
from memory.audience import OWNER, PUBLIC, Audience, Scope
from memory.block_history import Hand
from memory.block_log import open_block
from memory.blocks import Block, BlockType, NewBlock, create_block
from memory.changes import SYSTEM, Change, person_writer
from memory.clock import to_text
from memory.containers import held
from memory.database import Rows, Tx
from memory.errors import BlockRefused, Refused
from memory.ids import PersonId, TurnId
from memory.past import Past
from memory.schemas import ListSchema, TextSchema
from memory.warm_blocks import WarmBlocks


def require_widening(rows: Rows, hand: Hand, block: Block, past: Past, to: Audience) -> None:
    """Whether this person may let those of an audience know the block. `past` is the block's, as it is now.

    Raises BlockRefused with the reason: the words are not theirs alone, or the audience is no wider one.
    """
    if block.type is BlockType.LOG:
        raise BlockRefused(f"block {block.label} is a log: it says what happened in one place")
    own = block.audience == OWNER and hand.is_owner
    if not own and block.audience not in {f"person:{each}" for each in hand.known}:
        raise BlockRefused(
            f"block {block.label} may hold words of several people: only what one person wrote or said to an agent "
            "alone can be made known more widely, by that person"
        )
    if to == OWNER or to.startswith("person:"):
        raise BlockRefused(f"{to} is not wider than {block.audience}: name a server, a channel or everybody")
    if to != PUBLIC and not hand.scope.may_use(to):
        raise BlockRefused(f"you cannot see {to} from here, so it is not yours to tell there")
    if to != PUBLIC and rows.one("SELECT 1 FROM places WHERE audience = ? LIMIT 1", (to,)) is None:
        raise BlockRefused(f"there is no place of the audience {to}")
    missing = len(past.steps) != past.version or past.start
    if missing:
        raise BlockRefused(f"it is not known any more who wrote all of block {block.label}: there are {past.range}")
    foreign = [step.change for step in past.steps if not _is_own(rows, step.change, hand.known, block.audience)]
    if foreign:
        made = ", ".join(str(change.seq) for change in foreign[:5])
        raise BlockRefused(
            f"block {block.label} holds more than your words: {foreign[0].writer} made change {made}. Write what "
            "others may know into another block"
        )
    _require_sources(rows, [step.change for step in past.steps], block, to)


def widen_block(tx: Tx, hand: Hand, block: Block, past: Past, to: Audience) -> Block:
    """Make a block with the same text for a wider audience, and take the old one away; gives the new one.

    Raises as `require_widening`; BlockExists where that audience has a block of that label, and Refused for a block
    that was damaged and has to be set right first.
    """
    require_widening(tx, hand, block, past, to)
    content, values = _content(tx, hand, block)
    trust = min(block.trust, hand.trust)
    new = NewBlock(
        block.owner, block.label, block.description, to, trust, block.type, block.permission, block.char_limit,
        block.pinned, block.about, content=content, schema=block.schema, values=values,
    )  # fmt: skip
    tx.run("UPDATE memory_blocks SET deleted_at = ?, search_text = '' WHERE id = ?", (to_text(hand.now), block.id))
    tx.kept(WarmBlocks).take(block.id)
    made = create_block(tx, new, person_writer(hand.person), hand.now)
    tx.run("UPDATE shared_block_agents SET block_id = ? WHERE block_id = ?", (made.id, block.id))
    words, details = f"let more people know the block {block.label}", {"label": block.label, "change": "widen"}
    # Told where the block was: that it came from there is nothing that the others need to know.
    event = NewEvent(Kind.BLOCK, words, block.audience, hand.trust, person=hand.person, details=details)
    activity.note(tx, event, hand.now)
    return made


def _content(tx: Tx, hand: Hand, block: Block) -> tuple[str, dict[str, object]]:
    """The text, or the values, of a block as it is."""
    document = open_block(tx, block.id, person_writer(hand.person), hand.now).document
    found = document.look(held)
    if found is None or isinstance(block.schema, TextSchema):
        return document.text(), {}
    values, recovered = found
    if recovered:
        raise Refused(f"block {block.label} was damaged: set its fields again, and empty `recovered`, first")
    return "", {"items": values} if isinstance(block.schema, ListSchema) else dict(values)


def _is_own(rows: Rows, change: Change, known: Collection[PersonId], audience: Audience) -> bool:
    """Whether a change is this person's: by hand, or by an agent in a turn of theirs alone; or the form it began as."""
    if change.turn is None and (change.writer == SYSTEM or (change.seq == 1 and change.writer.startswith("agent:"))):
        return True
    if change.writer in {person_writer(each) for each in known}:
        return True
    row = None if change.turn is None else _turn(rows, change.turn)
    return row is not None and row[0] in known and row[1] == audience


def _turn(rows: Rows, turn: TurnId) -> tuple[str | None, str] | None:
    row = rows.one("SELECT person_id, audience FROM turns WHERE id = ?", (turn,))
    return None if row is None else (row["person_id"], row["audience"])


def _require_sources(rows: Rows, changes: Collection[Change], block: Block, to: Audience) -> None:
    """What the agent had before it when it wrote may be known there too, or the block could carry it along."""
    turns = json.dumps(sorted({change.turn for change in changes if change.turn is not None}))
    sql = "SELECT DISTINCT audience FROM turn_uses WHERE turn_id IN (SELECT value FROM json_each(?)) ORDER BY audience"
    for row in rows.all(sql, (turns,)):
        audience = Audience(row["audience"])
        if audience != block.audience and not Scope(to).may_use(audience):
            raise BlockRefused(
                f"when block {block.label} was written the agent had before it what only {audience} may know, and the "
                "block may hold some of it: write what others may know into another block"
            )
