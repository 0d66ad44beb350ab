"""Memory blocks in a prompt: where each appears, and with which text.

Blocks come before the conversation, where any change makes the provider reread it. So text that the agent appends is
not added there while its call is in view, and a block that it rewrote lately appears only in its call; above, it looks
like an empty one without any calls in view. A block that changed in another way comes after the conversation for an
hour. The text before the conversation is always current, except for the newest appended lines in view.
"""

import functools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import Literal, TypeAlias

from msgspec import Struct

from bot.agents.context.quotes import PromptText, as_written, attribute, line, say, within_block
from bot.models.base import parsed
from memory import blocks
from memory.blocks import Block, BlockType
from memory.people.audience import OWNER, PUBLIC, Audience
from memory.queue import messages
from memory.queue.steps import CallDone, ModelAnswer, Step
from memory.queue.turns import Turn
from memory.store.database import Rows

CHANGED = " is now at "
"""Part of the result of an edit."""
CREATED = " is there now"
"""Part of the result of a creation."""
_LATELY = timedelta(hours=1)  # how long a provider caches a prompt
_SHORT = 2_000  # characters
_BELOW = "(empty, or as you wrote it last in the conversation below)"


class BlockLayout(Struct, frozen=True):
    above: tuple[Block, ...] = ()
    below: tuple[Block, ...] = ()
    logs: tuple[Block, ...] = ()
    """Logs of the turn's own audience, without calls in view."""
    lacking: tuple[PromptText, ...] = ()
    """Text from earlier turns that the blocks above lack."""

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (*self.above, *self.below)


def lay_out(
    rows: Rows,
    turn: Turn,
    known: Iterable[Block],
    history: Sequence[messages.Message],
    steps: Sequence[Step],
    *,
    may_be_cut: bool = False,
) -> BlockLayout:
    """The positions of the known blocks in a prompt with that conversation in view; if that `may_be_cut`, no block
    relies on it."""
    own = [row for row in history if row.tool_call_id is not None and row.agent in (None, turn.agent)]
    changes = Counter[str]()
    before, now = _edits(own, (), changes), _edits((), steps, changes)
    if may_be_cut:
        own, before, now = [], defaultdict(list), defaultdict(list)
    labels = Counter([each.label for each in known])
    above, below, logs, lacking = list[Block](), list[Block](), list[Block](), list[PromptText]()
    for each in known:
        if each.type is BlockType.LOG:
            logs += [each] if each.audience == turn.scope.audience else []
            continue
        latest: Sequence[_Edit] = ()
        older: Sequence[_Edit] = ()
        if (before or now) and labels[each.label] == 1:
            latest, older = now[each.address], before[each.address]
        shown, lacks = _above(rows, each, (*latest, *older), changes, turn)
        (below if shown is None else above).append(shown or each)
        if lacks and (count := lacks - len(latest)) > 0:
            last = "append" if count == 1 else f"{count} appends"
            called = attribute(each.address)
            lacking.append(say("[block {called} above lacks your last {last} in view]", called=called, last=last))
    above.sort(key=lambda each: each.audience != PUBLIC)  # blocks that are the same in every place come first
    return BlockLayout(tuple(above), tuple(below), tuple(_unseen(logs, own)), tuple(lacking))


_Edit: TypeAlias = tuple[Literal["append", "write"], str]


def _edits(
    calls: Iterable[messages.Message], steps: Iterable[Step], changes: Counter[str]
) -> defaultdict[str, list[_Edit]]:
    """What these calls and steps appended or rewrote, newest first, by the label that the agent used.

    Counts in `changes` every change of a block of that label, however and wherever it was made.
    """
    given, done = dict[str, str](), list[str]()
    for row in calls:
        if row.role == "assistant":
            given[row.tool_call_id or ""] = row.tool_args or ""
        elif row.tool_name == "context" and (CHANGED in row.text or CREATED in row.text):
            done.append(given.get(row.tool_call_id or "", ""))
    for step in steps:
        if isinstance(step.body, ModelAnswer):
            given.update({call.id: call.arguments for call in step.body.calls})
        elif isinstance(step.body, CallDone) and step.body.name == "context" and step.body.ok:
            done.append(given.get(step.body.call, ""))
    found = defaultdict[str, list[_Edit]](list)
    for arguments in map(parsed, reversed(done)):
        operation, label = arguments.get("operation"), str(arguments.get("label"))
        if operation in _CHANGING or (operation == "create" and arguments.get("content")):
            changes[_last(label)] += 1
        if operation in ("append", "write") and not arguments.get("field"):
            text = as_written(str(arguments.get("content"))).rstrip()
            found[label].append((operation, f"{text}\n"))
    return found


_CHANGING = frozenset(
    ("append", "replace", "write", "edit_range", "undo", "redo", "set_field", "add_item", "set_item", "remove_item")
)


def _last(label: str) -> str:
    """The end of a label, which is the same in every address of the block."""
    return label.rpartition("/")[2]


def _above(
    rows: Rows, block: Block, edits: Sequence[_Edit], changes: Counter[str], turn: Turn
) -> tuple[Block | None, int]:
    """The block as it appears above the conversation, and how many appended lines in view, newest first, it lacks.
    `changes` counts all changes in view, by the label of the block.

    None if it appears below: notes on the current one of several speakers, and blocks that changed lately in other
    ways. A long block never does, because nothing there is cached.
    """
    if block.id in turn.blocks and block.about is not None and not turn.scope.audience.startswith("person:"):
        return None, 0
    text, lacks, written = block.content, 0, False
    for operation, each in edits:
        written = operation == "write" and text == each and block.shown == block.content
        if operation == "write" or not text.endswith(each) or block.shown != block.content:
            break
        text, lacks = text.removesuffix(each), lacks + 1
    changed = blocks.changed_at(rows, block, block.version - lacks) if lacks else block.updated_at
    if changed > block.created_at and changed > turn.started_at - _LATELY:
        if written:
            return block._replace(content=_BELOW), 0
        if len(block.shown) <= _SHORT:
            return None, 0
    if not (text or block.profile) and block.is_text and changes[_last(block.label)] == lacks:
        text = _BELOW
    return block if text == block.content else block._replace(content=text), lacks


def _unseen(logs: Iterable[Block], calls: Iterable[messages.Message]) -> Iterator[Block]:
    seen = Counter(
        [f"- [{row.created_at:%Y-%m-%d %H:%M}] tool: {row.tool_name}" for row in calls if row.role == "tool"]
    )
    for log in logs:
        heads = [(each.partition(";")[0], each) for each in log.content.splitlines(keepends=True)]
        left = [each for head, each in heads if not seen[head] or seen.subtract([head])]
        if left:
            yield log._replace(content="".join(left))


def render_block(
    block: Block,
    labels: Mapping[str, int] = MappingProxyType({}),
    audience_names: Mapping[Audience, str] = MappingProxyType({}),
) -> str:
    """A block as the model sees it: name, rights, readers, purpose, content.

    The name is one that tools find: another agent's block by its address, and so a constellation block if an own block
    with the same label is shown.
    """
    alone = not block.shared_from and labels.get(block.label, 0) <= 1
    heard = audience_names.get(block.audience) or readers(block.audience)
    called = block.label if alone else block.address
    head = called, block.access, heard, block.shared_from
    return _rendered(head, block.description, block.profile, block.shown)


@functools.lru_cache(maxsize=1_000)
def _rendered(head: tuple[str, str, str, str], description: str, profile: str, shown: str) -> str:
    """Cached, because most blocks are the same in the next prompt."""
    called, access, heard, shared_from = attribute(head[0]), head[1], attribute(head[2]), head[3]
    shared = f' shared_from="{attribute(shared_from)}"' if shared_from else ""
    opened = f'<block:{called} permission="{access}" readers="{heard}"{shared}>'
    texts = within_block(profile), within_block(shown).rstrip()
    return "\n".join([opened, f"({line(description)})", *filter(None, texts), f"</block:{called}>"])


def readers(audience: Audience) -> str:
    if audience == PUBLIC:
        return "everybody"
    if audience == OWNER:
        return "the owner"
    kind = audience.partition(":")[0]
    return {"guild": "this server", "channel": "this channel", "person": "this person"}[kind]
