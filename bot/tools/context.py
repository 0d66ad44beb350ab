"""`context`: the blocks that are always, or for the moment, before the model's eyes."""

from typing import Literal

from pydantic import Field, model_validator

from bot.policy import Caution
from bot.seeding import new_block
from bot.tools.base import Arguments, Outcome, ToolContext
from memory import blocks
from memory.blocks import Author, NewBlock
from memory.database import Tx
from memory.document import agent_writer


class ContextArguments(Arguments):
    operation: Literal["append", "replace"] = Field(
        description="append adds text to the end of a block; replace puts new text in place of old text"
    )
    label: str = Field(description="the block's label, as in <block:label>")
    content: str = Field(default="", description="append: the text to add")
    old_content: str = Field(default="", description="replace: text that stands in the block, exactly as it stands")
    new_content: str = Field(default="", description="replace: what to put there instead; empty removes it")

    @model_validator(mode="after")
    def _complete(self) -> "ContextArguments":
        if self.operation == "append" and not self.content:
            raise ValueError("append needs content")
        if self.operation == "replace" and not self.old_content:
            raise ValueError("replace needs old_content")
        return self


class ContextTool:
    name = "context"
    description = (
        "Edit your memory blocks: short texts that you see at every turn. Keep them current: what you learn about "
        "people, what you are working on, how you should behave. Write in full sentences that still make sense in "
        "a month. A block has a character limit; nothing is cut, a write that is too long is refused with the "
        "numbers: shorten the block by replace, or keep details with recall. Who can read a block stands in its "
        "`readers`; what was said in a narrower place than that cannot be written there."
    )
    arguments: type[Arguments] = ContextArguments
    caution = Caution(bound=("operation", "label"))

    def work(self, tx: Tx, context: ToolContext, arguments: ContextArguments) -> Outcome:
        author = author_of(context, arguments.label)
        if arguments.operation == "append":
            block = blocks.append_block(tx, author, arguments.label, f"{arguments.content.rstrip()}\n")
        else:
            block = blocks.replace_in_block(tx, author, arguments.label, arguments.old_content, arguments.new_content)
        size = f"{len(block.content):,} of {block.char_limit:,} characters"
        return Outcome(f"block {block.label} is now at {size}", uses=(("block", block.id),))


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
        permit=context.permit,
    )


def _template(context: ToolContext, label: str) -> NewBlock | None:
    """The agent's block of that label that exists once for each audience, if it has such a one."""
    for seed in context.agent.config.get("blocks", ()):
        if seed["label"] == label and seed["audience"] == "each":
            return new_block(context.agent.id, seed, context.turn.scope.audience)
    return None
