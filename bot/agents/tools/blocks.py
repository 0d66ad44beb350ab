"""`context`: edits memory blocks, and chooses which working blocks the prompt shows."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, TypeAlias

from pydantic import Field, model_validator

from bot.agents.context.block_layout import CHANGED, CREATED, readers
from bot.agents.context.quotes import NOTHING, PromptText, as_written, line, passage, say, within_block
from bot.agents.initial_blocks import new_block
from bot.agents.permissions.calls_needing_approval import Caution
from bot.agents.tools.base import Arguments, Brief, Needs, Outcome, StoreTool, ToolContext
from memory import blocks
from memory.blocks import Author, Block, BlockType, Decision, NewBlock, NewSettings, Permission, revert, shares
from memory.blocks import Operation as BlockOperation
from memory.blocks.document import agent_writer
from memory.blocks.lifecycle import require_allowed_label, tell_changed
from memory.blocks.records import MOST_CHARACTERS
from memory.blocks.replay import not_back
from memory.blocks.rights import decision_for, require_yes
from memory.blocks.schemas import PlainContent, outline, plain_schema
from memory.blocks.shares import shares_of
from memory.store.clock import to_text
from memory.store.database import Rows, Tx
from memory.store.errors import BlockChanged
from memory.store.records import replace
from texts import gettext_noop, many


def size_of(block: Block) -> str:
    """The used part of a block's limit."""
    return f"{len(block.content):,} of {block.char_limit:,} characters"


def description_of(rows: Rows, block: Block) -> str:
    """The properties of a block, without its content."""
    pinned = ", pinned" if block.pinned else ""
    lines = [
        f"block {block.address}: {block.type}{pinned}; you may: {block.access}; "
        f"read by {readers(block.audience)} ({block.audience}); least trusted author: {block.trust.name.lower()}",
        f"what belongs in it: {block.description}",
        f"{size_of(block)} in {many(len(block.content.splitlines()), 'line')}; "
        f"changed {to_text(block.updated_at)[:16].replace('T', ' ')} UTC",
    ]
    if made_of := outline(block.schema):
        lines.append(f"made of {made_of}")
    shared = ", ".join(map(str, shares_of(rows, block)))
    if shared and block.shared_from is None:
        lines.append(f"shared with: {shared}")
    return "\n".join(lines)


Operation: TypeAlias = Literal[
    "append", "replace", "write", "edit_range", "undo", "redo", "archive", "load", "swap", "pin", "unpin", "info",
    "viewport", "set_field", "add_item", "set_item", "remove_item", "share", "unshare", "create", "change", "delete",
    "restore",
]  # fmt: skip
_TAKES = {
    "create": ("content", "description", "limit", "block_type"),
    "change": ("new_label", "description", "limit", "block_type", "made_of", "field"),
    "delete": (),
    "restore": (),
}
_INSTEAD = {
    "write": "; to empty a text, use edit_range from its first line to its last, without content",
    "set_field": "; a block that is one list takes its items as value, and [] empties it",
}


class BlockArguments(Arguments):
    operation: Operation = Field(
        description="append: add to the end; replace: new text for old; write: rewrite it all; edit_range: rewrite "
        "lines; undo, redo: your own last change; archive: take a working block out of your context; load: "
        "bring one back; swap: archive one and load another; pin, unpin: keep a working block in context, "
        "or not; info: all about a block; viewport: which lines of a long text you see; set_field, "
        "add_item, set_item, remove_item: in fields and lists; create: a block of your own; change: its "
        "settings; delete, restore: one of your own with the permission admin"
    )
    label: str = Field(description="as in <block:label>")
    content: str = Field(default="", description="append, write, edit_range: the text")
    old_content: str = Field(default="", description="replace: a part of the block, word for word")
    new_content: str = Field(default="", description="replace: what takes its place; empty removes it")
    first_line: int | None = Field(default=None, description="edit_range, viewport: counted from 1")
    last_line: int | None = Field(default=None, description="edit_range: the last replaced; viewport: if not the end")
    field: str = Field(default="", description='a field, section or "section.field"; none for a block that is a list')
    value: Any = Field(default=None, description="set_field (null empties it), add_item (adds to a counter), set_item")
    item: int | None = Field(default=None, description="set_item, remove_item: the item's number")
    load_label: str = Field(default="", description="swap: the archived block to load")
    agent: str = Field(default="", description="share, unshare: the other agent's name")
    permission: Literal["read_only", "append", "read_write"] = Field(default="read_only", description="share")
    description: str = Field(default="", max_length=500, description="create, change: what belongs in the block")
    new_label: str = Field(default="", description="change")
    limit: int = Field(default=0, ge=0, le=MOST_CHARACTERS, description="create, change: character limit")
    block_type: Literal["core", "working", "archival"] | None = Field(default=None, description="create, change")
    made_of: PlainContent | None = Field(
        default=None,
        description="change, while the block is empty: a text, a list, a log, or fields, with their names in `field`, "
        "separated by commas",
    )

    needs: ClassVar[Needs] = {
        "append": ("content",),
        "write": ("content",),
        "edit_range": ("first_line", "last_line"),
        "viewport": ("first_line",),
        "add_item": ("value",),
        "set_item": ("item", "value"),
        "remove_item": ("item",),
        "swap": ("load_label",),
        **dict.fromkeys(("share", "unshare"), ("agent",)),
        "create": ("description",),
    }

    def lacking(self, operation: str, missing: Sequence[str]) -> str:
        if operation == "replace" and self.content:
            return (
                "replace puts new_content in place of old_content, an exact part of the block; write puts content in "
                "place of all of it; append adds content"
            )
        return f"{super().lacking(operation, missing)}{_INSTEAD.get(operation, '')}"

    @model_validator(mode="after")
    def _complete(self) -> "BlockArguments":
        if self.operation == "set_field" and self.value is None and not self.field:
            raise ValueError(self.lacking("set_field", ["field"]))  # a block that is one list has no field to name
        if self.operation == "replace" and not self.old_content:  # which may be empty lines
            raise ValueError(self.lacking("replace", ["old_content"]))
        self._require_used()
        first, last = self.first_line, self.last_line
        if self.operation == "viewport" and first is not None and last is not None and last < first:
            raise ValueError(f"line {last} is before line {first}; without last_line you see all from first_line on")
        if self.operation == "load" and (first is not None or last is not None):
            raise ValueError("load brings the whole block back; viewport, after it, says which lines of it you see")
        return self

    def _require_used(self) -> None:
        """Raise for ignored arguments: a model takes "done" to mean all of them."""
        if (takes := _TAKES.get(self.operation)) is None:
            return
        fields = type(self).model_fields
        given = [name for name, value in self if name not in ("operation", "label") and value != fields[name].default]
        if unused := [name for name in given if name not in takes]:
            raise ValueError(f"{self.operation} takes no {' and no '.join(unused)}")
        if self.operation == "change" and not given:
            raise ValueError(f"change needs one of {', '.join(takes)}")
        if self.field and self.made_of != "fields":
            raise ValueError("field names the fields of a block that is made_of fields")


class BlockTool(StoreTool[BlockArguments]):
    name = "context"
    shown = gettext_noop("the memory blocks")
    description = (
        "Edit your memory blocks: short texts that you see at every turn. Keep them current: what you learn about "
        "people, what you are working on, how you should behave. Write in full sentences that still make sense in "
        "a month. A write that is too long is refused: shorten the block by replace, or keep details with recall. "
        "Lines and items keep the numbers that you were shown until your answer ends. What was said to fewer people "
        "than a block's `readers` cannot be written there."
    )
    brief = Brief(
        "Keep in mind at every turn what you learn about people, how they want you to behave from now on, what you are "
        "working on: edits your memory blocks, short texts that you always see. Write in full sentences that still "
        "make sense in a month. What was said to fewer people than a block's `readers` cannot be written there.",
        {"label": "", "content": "append, write: the text", "old_content": "", "new_content": ""},
        "undo, lines, fields and lists; create, archive, pin, share, change and delete blocks",
        operations=("append", "replace", "write"),
    )
    caution = Caution(
        bound=("operation", "label", "field", "load_label", "agent", "permission", "new_label", "made_of")
    )

    def work(self, tx: Tx, context: ToolContext, arguments: BlockArguments) -> Outcome:
        author = author_of(context, arguments.label)
        try:
            return self._done(tx, author, arguments)
        except BlockChanged as error:  # its own answer already shows the model the new content
            block = blocks.find_block(tx, author.agent, arguments.label, author.scope)
            text = say("block {label}: {why}", label=block.address, why=passage(str(error)))
            return Outcome(text, ok=False, shown={block.id: block.version})

    def _done(self, tx: Tx, author: Author, arguments: BlockArguments) -> Outcome:
        label = arguments.label
        match arguments.operation:
            case "append" | "replace" | "write" | "edit_range":
                return _edited(author, _edit(tx, author, arguments))
            case "set_field" | "add_item" | "set_item" | "remove_item":
                return _edited(author, _set(tx, author, arguments))
            case "undo" | "redo":
                step_back = revert.undo if arguments.operation == "undo" else revert.redo
                back = step_back(revert.by_agent(tx, author, label), author.writer)
                return _edited(author, back.block, passage(not_back(back.plan.lost)))
            case "info":
                block = blocks.find_block(tx, author.agent, label, author.scope)
                return _used(block, passage(description_of(tx, block)))
            case "viewport":
                block = _look_at(tx, author, arguments)
                text = say(
                    "what you now see of block {label}:\n{text}", label=block.address, text=within_block(block.shown)
                )
                return replace(_used(block, text), shown={block.id: block.version})
            case "share":
                permission = Permission(arguments.permission)
                block = shares.share_by_agent(tx, author, label, arguments.agent, permission)
                return _used(block, line(f"{arguments.agent} sees block {block.label} now, at {permission}"))
            case "unshare":
                block = shares.unshare_by_agent(tx, author, label, arguments.agent)
                return _used(block, line(f"{arguments.agent} no longer sees block {block.label}"))
            case "create" | "change" | "delete" | "restore":
                return _administer(tx, author, arguments)
            case _:
                return _move(tx, author, arguments)


def _administer(tx: Tx, author: Author, arguments: BlockArguments) -> Outcome:
    label, scope = arguments.label, author.scope
    kind = None if arguments.block_type is None else BlockType(arguments.block_type)
    match arguments.operation:
        case "create":
            new = NewBlock(
                author.agent, label, arguments.description, scope.audience, author.trust, kind or BlockType.WORKING,
                Permission.ADMIN, arguments.limit or None, pinned=kind in (None, BlockType.WORKING),
                content=as_written(arguments.content),
            )  # fmt: skip
            require_allowed_label(label)
            block, done = blocks.create_block(tx, new, author.writer, author.now, author.turn), CREATED
            require_yes(tx, author, block, BlockOperation.CHANGE, Decision.ALLOW)
            tell_changed(tx, author, block, "create")
        case "change":
            made_of = None if arguments.made_of is None else plain_schema(arguments.made_of, arguments.field)
            new_settings = NewSettings(arguments.new_label, arguments.description, arguments.limit, kind, made_of)
            block, done = blocks.change_block(tx, author, label, new_settings), " is changed"
        case "delete":
            block, done = blocks.delete_block(tx, author, label), " is deleted; restore brings it back"
        case _:
            block, done = blocks.undelete_block(tx, author.agent, label, scope.audience, author.now), " is back"
            decision = decision_for(block, author, BlockOperation.DELETE)  # whoever may restore it may delete it
            require_yes(tx, author, block, BlockOperation.DELETE, decision)
            tell_changed(tx, author, block, "restore")
    return _used(block, line(f"block {block.label}{done}: {size_of(block)}"))


def _look_at(tx: Tx, author: Author, arguments: BlockArguments) -> Block:
    """Move the viewport: to the named lines, or from a line to the end; from the first line it covers everything."""
    first, last = arguments.first_line or 0, arguments.last_line
    if last is not None:
        count = last - first + 1
    elif first == 1:
        count = 0
    else:
        lines = len(blocks.find_block(tx, author.agent, arguments.label, author.scope).content.splitlines())
        count = max(lines - first + 1, 1)  # a missing line raises an error
    return blocks.set_viewport(tx, author, arguments.label, first, count)


def _edit(tx: Tx, author: Author, arguments: BlockArguments) -> Block:
    label, field, text = arguments.label, arguments.field, as_written(arguments.content)
    old, new = as_written(arguments.old_content), as_written(arguments.new_content)
    match arguments.operation:
        case "append":
            return blocks.append_block(tx, author, label, f"{text.rstrip()}\n", field)
        case "replace":
            return blocks.replace_in_block(tx, author, label, old, new, field)
        case "write" if field:
            return blocks.set_field(tx, author, label, field, text)
        case "write":
            return blocks.write_block(tx, author, label, f"{text.rstrip()}\n")
        case _:
            return blocks.edit_lines(tx, author, label, arguments.first_line or 0, arguments.last_line or 0, text)


def _set(tx: Tx, author: Author, arguments: BlockArguments) -> Block:
    label, field, value, item = arguments.label, arguments.field, arguments.value, arguments.item or 0
    match arguments.operation:
        case "set_field":
            return blocks.set_field(tx, author, label, field, value)
        case "add_item":
            return blocks.add_item(tx, author, label, field, value)
        case "set_item":
            return blocks.set_item(tx, author, label, field, item, value)
        case _:
            return blocks.remove_item(tx, author, label, field, item)


def _move(tx: Tx, author: Author, arguments: BlockArguments) -> Outcome:
    label = arguments.label
    if arguments.operation == "swap":
        gone, came = blocks.swap_blocks(tx, author, label, arguments.load_label)
        loaded = _loaded(came)
        text = say("block {label} is archived; {loaded}", label=gone.label, loaded=loaded.text)
        return Outcome(text, uses=(("block", gone.id), *loaded.uses))
    block = blocks.move_block(tx, author, label, BlockOperation(arguments.operation))
    match arguments.operation:
        case "load":
            return _loaded(block)
        case "archive":
            return _used(block, line(f"block {block.label} is archived: search finds it, load brings it back"))
        case _:
            stays = "stays" if block.pinned else "is no longer"
            return _used(block, line(f"block {block.label} {stays} in your context"))


def _edited(author: Author, block: Block, more: PromptText = NOTHING) -> Outcome:
    """The result of an edit; with the content if the model had seen it and the next prompt does not show it."""
    done = say(f"block {{label}}{CHANGED}{{size}}{{more}}", label=block.label, size=size_of(block), more=more)
    if block.id not in author.shown or block.type is BlockType.CORE or block.pinned:
        return _used(block, done)
    text = say("{done}; what you see of it:\n{shown}", done=done, shown=within_block(block.shown))
    return replace(_used(block, text), shown={block.id: block.version})


def _loaded(block: Block) -> Outcome:
    return _used(block, line(f"block {block.label} is in your context now, {size_of(block)}"))


def _used(block: Block, text: PromptText) -> Outcome:
    return Outcome(text, uses=(("block", block.id),))


def author_of(context: ToolContext, label: str) -> Author:
    """The agent of a turn as the writer of blocks."""
    turn = context.turn
    return Author(
        agent=context.agent.id,
        scope=turn.scope,
        writer=agent_writer(context.agent.id),
        trust=turn.trust,
        now=context.now,
        turn=turn.id,
        template=_template(context, label),
        policy=context.checkpoints,
        permit=context.permit,
        shown=context.shown,
        source=context.source,
    )


def _template(context: ToolContext, label: str) -> NewBlock | None:
    """The agent's per-audience block of that label, if it has one."""
    seeds = (seed for seed in context.agent.config.blocks if seed.label == label and seed.audience == "each")
    return next((new_block(context.agent.id, seed, context.turn.scope.audience) for seed in seeds), None)
