"""Sharing a block or an archival entry with a wider audience, by the person whose words it holds.

Only the one person who said it may widen it: the person of the direct messages in which it was written, or the owner
for what was written in the owner's places. Nobody widens another's words, so anything that others contributed to stays
as it is. The wider block is a new one without the old one's past, so removed text is not shared. An entry keeps its id,
so it is still deleted with the messages that it was learned from.
"""

from collections.abc import Collection
from typing import Any

from memory import activity, agents
from memory.activity import BlockUpdated, EntryWidened, NewEvent
from memory.blocks import CONSTELLATION_OWNER, Block, BlockType, NewBlock, create_block
from memory.blocks.changes import SYSTEM, Change, person_writer
from memory.blocks.containers import parts_of
from memory.blocks.history import ChangeLog
from memory.blocks.repair import open_block
from memory.blocks.revert import Editor
from memory.blocks.schema_paths import SAVED
from memory.blocks.schemas import ListSchema, TextSchema
from memory.blocks.shares import common_blocks
from memory.knowledge import entries, entry_changes
from memory.knowledge.entries import Entry
from memory.people.audience import OWNER, PUBLIC, Audience, Scope, person_audience
from memory.queue.turns import audiences_used
from memory.store.database import Rows, Tx
from memory.store.errors import BlockRefused, Refused
from memory.store.ids import PersonId, TurnId
from memory.store.records import replace
from texts import gettext_lazy, gettext_noop


def require_widening(rows: Rows, editor: Editor, block: Block, past: ChangeLog, to: Audience) -> None:
    """Check that this person may share the block with an audience. `past` is the block's current past.

    Raises BlockRefused with the reason: the words are not theirs alone, or the audience is not wider or has
    its own block of that label.
    """
    if block.type is BlockType.LOG:
        raise BlockRefused("block “{label}” is a log: it says what happened in one place", label=block.label)
    if _is_separate(rows, block):
        raise BlockRefused(
            "every audience has its own block “{label}”: write down there what those readers may know",
            label=block.label,
        )
    what = gettext_lazy("block “{name}”", name=block.label)
    if refused := _not_theirs_to_tell(rows, editor, what, block.audience, to):
        raise BlockRefused(refused)
    turns = {change.turn for change in past.changes if change.turn is not None}
    own = len(past.changes) == past.version and not past.start
    own = own and all(_is_own(rows, change, editor.known, block.audience) for change in past.changes)
    if not own or _has_others(rows, turns, editor, block.audience, to):
        raise BlockRefused(_MORE, what=what)


def widen_block(tx: Tx, editor: Editor, block: Block, past: ChangeLog, to: Audience) -> Block:
    """Create a block with the same text for a wider audience and delete the old one; returns the new one.

    Raises as `require_widening`; BlockExists if that audience has a block of that label, and Refused for a damaged
    block that must be repaired first.
    """
    require_widening(tx, editor, block, past, to)
    content, values = _content(tx, editor, block)
    trust = min(block.trust, editor.trust)
    new = NewBlock(
        block.owner, block.label, block.description, to, trust, block.type, block.permission, block.char_limit,
        block.pinned, block.about, content=content, schema=block.schema, values=values,
    )  # fmt: skip
    tx.run("UPDATE memory_blocks SET deleted_at = ?, search_text = '' WHERE id = ?", (editor.now, block.id))
    made = create_block(tx, new, person_writer(editor.person), editor.now)
    tx.run("UPDATE shared_block_agents SET block_id = ? WHERE block_id = ?", (made.id, block.id))
    whose = "named_by, named_turn, described_by, described_turn"
    sql = f"UPDATE memory_blocks SET ({whose}) = (SELECT {whose} FROM memory_blocks WHERE id = ?) WHERE id = ?"
    tx.run(sql, (block.id, made.id))
    widened = BlockUpdated(block.label, "widen")
    # Told where the block was: that it came from there is nothing that the others need to know.
    activity.note(tx, NewEvent(widened, widened.words, block.audience, editor.trust, person=editor.person), editor.now)
    return made


def _is_separate(rows: Rows, block: Block) -> bool:
    """Whether the configuration gives every audience a block of this label, which readers would see instead."""
    common = block.owner == CONSTELLATION_OWNER
    seeds = [each.seed for each in common_blocks(rows)] if common else agents.agent(rows, block.owner).config.blocks
    return any(seed.label == block.label and seed.audience == "each" for seed in seeds)


def _content(tx: Tx, editor: Editor, block: Block) -> tuple[str, dict[str, object]]:
    """The current text, or the values, of a block."""
    document = open_block(tx, block.id, person_writer(editor.person), editor.now).document
    found = document.read(parts_of)
    if isinstance(block.schema, TextSchema):
        return document.text(), {}
    if found.values[SAVED]:
        raise Refused(
            "block “{label}” was damaged: first set its fields again, and empty `recovered`", label=block.label
        )
    held = {path: value for path, value in found.values.items() if path != SAVED}
    if isinstance(block.schema, ListSchema):
        return "", {"items": held[""]}
    nested: dict[str, Any] = {}
    for path, value in held.items():
        section, _, field = path.rpartition(".")
        (nested.setdefault(section, {}) if section else nested)[field] = value
    return "", nested


def _is_own(rows: Rows, change: Change, known: Collection[PersonId], audience: Audience) -> bool:
    """Whether a change is this person's: by hand, by an agent in a turn for them alone, or the initial content."""
    if change.turn is None and (change.writer == SYSTEM or (change.seq == 1 and change.writer.startswith("agent:"))):
        return True
    if change.writer in {person_writer(each) for each in known}:
        return True
    return change.turn is not None and _is_own_turn(rows, change.turn, known, audience)


def widen_entry(tx: Tx, editor: Editor, entry: Entry, to: Audience) -> Entry:
    """Share an entry with a wider audience, too; returns the changed entry. Raises as `require_widening_entry`."""
    require_widening_entry(tx, editor, entry, to)
    made = entry_changes.store(tx, replace(entry, audience=to, trust=min(entry.trust, editor.trust)), None)
    words = gettext_lazy("let more people see the entry {name}", name=entries.shown_name(entry.label, entry.id))
    widened = EntryWidened(entry.id, "widen")
    activity.note(tx, NewEvent(widened, words, entry.audience, editor.trust, person=editor.person), editor.now)
    return made


def require_widening_entry(rows: Rows, editor: Editor, entry: Entry, to: Audience) -> None:
    """Check that this person may share the entry with an audience.

    Raises Refused with the reason: the words are not theirs alone, the audience is not wider, or it has an entry of
    that label.
    """
    name = entries.shown_name(entry.label, "")
    what = gettext_lazy("entry {entry}", entry=name) if name else gettext_lazy("this entry")
    if refused := _not_theirs_to_tell(rows, editor, what, entry.audience, to):
        raise Refused(refused)
    if not entries.stands(rows, entry.id):
        raise Refused("{what} was retired: only current entries can be shared more widely", what=what)
    turns, own = entries.turns_that_wrote(rows, entry), entry.people and set(entry.people) <= set(editor.known)
    own = own and not entries.is_of_upkeep(rows, entry.id)
    own = own and all(_is_own_turn(rows, each, editor.known, entry.audience) for each in turns)
    if not own or _has_others(rows, turns, editor, entry.audience, to):
        raise Refused(_MORE, what=what)
    if entry.label is not None:
        entry_changes.require_unused_label(rows, entry.agent, entry.label, to)


# ------------------------------------------------------------------------------------------------- for both of them


def _not_theirs_to_tell(rows: Rows, editor: Editor, what: str, audience: Audience, to: Audience) -> str:
    """Why this person cannot share something of `audience` with `to`; empty if nothing forbids it so far."""
    own = audience == OWNER and editor.is_owner
    if not own and audience not in {f"person:{each}" for each in editor.known}:
        return gettext_lazy(
            "{what} may contain several people's words; you can share only what you wrote yourself or told an agent in "
            "private",
            what=what,
        )
    if to == OWNER or to.startswith("person:"):
        wider = gettext_noop("{to} is not wider than {audience}: name a server, a channel or everyone")
        return gettext_lazy(wider, to=to, audience=audience)
    if to != PUBLIC and not editor.scope.may_use(to):
        return gettext_lazy("you cannot see {to} from here, so you cannot share anything there", to=to)
    if to != PUBLIC and rows.one("SELECT 1 FROM places WHERE audience = ? LIMIT 1", (to,)) is None:
        return gettext_lazy("there is no place with the audience {to}", to=to)
    return ""


def _is_own_turn(rows: Rows, turn: TurnId, known: Collection[PersonId], audience: Audience) -> bool:
    row = rows.one("SELECT person_id, audience FROM turns WHERE id = ?", (turn,))
    return row is not None and row["person_id"] in known and row["audience"] == audience


def _has_others(rows: Rows, turns: Collection[TurnId], editor: Editor, audience: Audience, to: Audience) -> bool:
    """Whether the agent was shown something in these turns that `to` may not know, and that is not this person's."""
    shown = audiences_used(rows, turns)
    own = {audience, *map(person_audience, editor.known)}
    return shown is None or not all(map(Scope(to).may_use, shown - own))


_MORE = gettext_noop("{what} may contain more than your own words: write down separately what others may know")
"""They wrote part of it, the agent knew something of theirs then, or nobody knows any more who wrote it."""
