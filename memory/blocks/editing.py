"""Changing what a block says. Every edit goes the same way: find, check, change the document, save it."""

from collections.abc import Callable
from dataclasses import replace

from memory.amounts import many
from memory.audience import may_write_down
from memory.blocks.finding import find_block, own_block, visible_blocks
from memory.blocks.guard import decision_for, require_fits, require_yes
from memory.blocks.making import create_block
from memory.blocks.records import Author, Block
from memory.blocks.rights import Decision, Operation, decide
from memory.blocks.rows import archives_of
from memory.blocks.storage import open_block, save_change
from memory.blocks.telling import tell_changed
from memory.clock import from_text, to_text
from memory.database import Rows, Tx
from memory.documents.containers import on_its_own_line
from memory.documents.document import BlockDocument, Stamp
from memory.documents.merging import Archives, lines_changed, lines_now, shown_text, sight_of, write_known, write_seen
from memory.documents.runs import Sight
from memory.documents.schemas import outline
from memory.errors import BlockRefused, Refused


def append_block(tx: Tx, author: Author, label: str, text: str, own_line: bool = False) -> Block:
    """Add text to the end of a block, or below its last line (`own_line`).

    Raises BlockNotFound, BlockRefused, BlockTooLong, Refused, BlockCorrupt.
    """

    def change(document: BlockDocument) -> None:
        document.append(on_its_own_line(document.text(), text) if own_line else text)

    return edit_text(tx, author, label, Operation.APPEND, change)


def replace_in_block(tx: Tx, author: Author, label: str, old: str, new: str) -> Block:
    """Put `new` in place of every `old`, which must occur exactly so. Raises as `append_block`."""
    return edit_text(tx, author, label, Operation.OVERWRITE, lambda document: document.replace(old, new))


def write_block(tx: Tx, author: Author, label: str, text: str, seen: int | None = None) -> Block:
    """Make `text` the whole content; what others wrote after version `seen`, or since the author was shown it, stays.

    Raises as `append_block`; Refused where the author sees some of its lines alone, and BlockChanged where it is not
    kept any more what they were shown.
    """

    def change(block: Block, document: BlockDocument) -> None:
        _require_text(block)
        if seen is not None:
            write_seen(document, text, seen)
            return
        if block.id in author.shown and block.shown != block.content:
            raise Refused(f"you see some lines of block {block.address} alone: {_NOT_WHOLE}")
        write_known(document, text, sight(author, block, document), archives(tx, block))

    return edit_block(tx, author, label, Operation.OVERWRITE, change)


def edit_lines(tx: Tx, author: Author, label: str, first: int, last: int, text: str) -> Block:
    """Put `text` in place of the lines `first` to `last`, counted from 1; empty text takes them away.

    The numbers are those of the version that the author was shown; beyond its last line, of what it added itself as
    long as nobody else wrote. Raises as `append_block`, and BlockChanged where
    those lines do not stand there as they did.
    """

    def change(block: Block, document: BlockDocument) -> None:
        _require_text(block)
        known = sight(author, block, document)
        shown = shown_text(document, known, archives(tx, block))
        if known is not None and not known.others and last > len(shown.splitlines()):
            shown = document.text()
        document.write(_spliced(shown, document.text(), first, last, text))

    return edit_block(tx, author, label, Operation.OVERWRITE, change)


def _spliced(shown: str, now: str, first: int, last: int, text: str) -> str:
    seen, lines = shown.splitlines(), now.splitlines(keepends=True)
    if not 1 <= first <= last <= len(seen):
        raise Refused(f"lines {first} to {last} are not there: the block has {many(len(seen), 'line')}, counted from 1")
    start = lines_now(seen, now.splitlines(), first, last)
    if start is None:
        raise lines_changed(now)
    end = start + last - first + 1
    ends = "\n" if text and not text.endswith("\n") and lines[end - 1].endswith("\n") else ""
    return "".join([*lines[:start], text + ends, *lines[end:]])


def sight(author: Author, block: Block, document: BlockDocument) -> Sight | None:
    """What the author knows of a block; None: all there is."""
    return sight_of(document, author.shown.get(block.id), author.writer, author.turn)


def archives(rows: Rows, block: Block) -> Archives:
    """What is kept of a block beside its document."""
    return lambda: archives_of(rows, block.id)


def edit_text(
    tx: Tx, author: Author, label: str, operation: Operation, change: Callable[[BlockDocument], None]
) -> Block:
    """Make one change of a text. Raises as `append_block`, and Refused where the block is no text."""

    def work(block: Block, document: BlockDocument) -> None:
        _require_text(block)
        change(document)

    return edit_block(tx, author, label, operation, work)


def _require_text(block: Block) -> None:
    if not block.is_text:
        raise Refused(f"block {block.address} has {outline(block.schema)}; {_INSTEAD}")


_NOT_WHOLE = "edit_range writes those anew; viewport with first_line 1 shows all of it"
_INSTEAD = "name the field or section, or use set_field and add_item"


def edit_block(
    tx: Tx, author: Author, label: str, operation: Operation, change: Callable[[Block, BlockDocument], None]
) -> Block:
    """Make one change of a block's document under the rights of an operation. Raises as `append_block`."""
    block, decision = writable(tx, author, label, operation)
    opened = open_block(tx, block.id, author.writer, author.now)
    change(block, opened.document)
    text = opened.document.text()
    require_fits(block.address, block.char_limit, len(block.content), len(text))
    require_yes(tx, author, block, operation, decision)  # not for what would be refused anyway
    if not save_change(tx, opened, Stamp(author.writer, author.turn, opened.next_seq, author.now), author.policy):
        return block
    tell_changed(tx, author, block, operation)
    trust = min(block.trust, author.trust)
    if trust < block.trust:
        tx.run("UPDATE memory_blocks SET trust = ? WHERE id = ?", (int(trust), block.id))
    moment = from_text(to_text(author.now))
    return block._replace(content=text, trust=trust, updated_at=moment, version=opened.document.version)


def writable(tx: Tx, author: Author, label: str, operation: Operation) -> tuple[Block, Decision]:
    """The instance that this author may change, or may with a yes; made from the template where others have one."""
    template, ours = author.template, author.scope.audience
    fits = template is not None and (template.owner, template.label) == (author.agent, label)
    if template and fits and not own_block(tx, author.agent, label, ours):
        create_block(tx, replace(template, audience=ours), author.writer, author.now)
    return standing_block(tx, author, label, operation)


def standing_block(rows: Rows, author: Author, label: str, operation: Operation) -> tuple[Block, Decision]:
    """A block that is there already, which this author may change so, or may with a yes.

    Raises BlockNotFound; BlockRefused for want of the right, and when somebody who sees the block may not know what
    is said in the turn, with the blocks that may be written instead.
    """
    block = find_block(rows, author.agent, label, author.scope)
    decision = decision_for(block, author, operation)
    if may_write_down(author.scope, block.audience):
        return block, decision
    read = f"block {block.address} is read by others ({block.audience}) than hear this"
    if operation not in (Operation.APPEND, Operation.OVERWRITE):
        raise BlockRefused(f"{read}, so no {operation} from here: do that where all of them hear you")
    others = [
        other.address
        for other in visible_blocks(rows, author.agent, author.scope)
        if other.audience == author.scope.audience and decide(other.access, operation) is Decision.ALLOW
    ]
    instead = f"write to {' or '.join(others[:5])} instead" if others else "no block here may be written instead"
    raise BlockRefused(f"{read}; {instead}")
