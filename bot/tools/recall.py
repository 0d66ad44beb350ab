"""`recall`: long-term entries that are found by search and never in context by themselves."""

from typing import Any, Literal

from pydantic import Field, model_validator

from bot.policy import Caution
from bot.tools.base import Arguments, Outcome, ToolContext
from bot.tools.found import entry_data, lines_of
from memory import archival
from memory.archival import NewEntry, Origin
from memory.database import Tx
from memory.following import forget_words

_LISTED = 20  # entries that a read without a label lists


class RecallArguments(Arguments):
    operation: Literal["insert", "append", "read", "delete"]
    content: str = Field(default="", description="insert, append: the text to keep, in full sentences")
    label: str = Field(
        default="",
        description="a name of your own for an entry (insert), or the name or id of one (append, read, delete); "
        "read without it lists the newest entries",
    )
    category: str = Field(default="", description="insert: where it belongs, such as people/health or work")
    tags: tuple[str, ...] = Field(default=(), description="insert: a few words to find it by")
    importance: float = Field(default=0.5, ge=0, le=1, description="insert: 1 must never be lost, 0 may fade")
    forget_words: bool = Field(
        default=False,
        description="delete: also remove the words from the conversation they came from; only when the person "
        "asked to forget them",
    )

    @model_validator(mode="after")
    def _complete(self) -> "RecallArguments":
        if self.operation in ("insert", "append") and not self.content.strip():
            raise ValueError(f"{self.operation} needs content")
        if self.operation in ("append", "delete") and not self.label:
            raise ValueError(f"{self.operation} needs the label or id of an entry")
        return self


class RecallTool:
    name = "recall"
    description = (
        "Keep things for the long term, outside your context: facts about people, decisions, plans, preferences. "
        "insert stores a new entry (the same words twice only strengthen it), append adds a line to one, read shows "
        "one or lists the newest, delete forgets one. Store one matter per entry, in words that will make sense in "
        "a year, naming who it is about. Find entries again with search."
    )
    arguments: type[Arguments] = RecallArguments
    caution = Caution(bound=("operation",))

    def work(self, tx: Tx, context: ToolContext, arguments: RecallArguments) -> Outcome:
        match arguments.operation:
            case "insert":
                return _insert(tx, context, arguments)
            case "append":
                entry = archival.append(
                    tx, context.agent.id, arguments.label, arguments.content, _origin(context), context.now
                )
                return Outcome(f"added to {entry.id}", {"id": entry.id}, (("entry", entry.id),))
            case "read":
                return _read(tx, context, arguments)
            case "delete":
                return _delete(tx, context, arguments)


def _origin(context: ToolContext) -> Origin:
    turn = context.turn
    return Origin(turn.scope, turn.trust, turn.person, context.message, turn.id)


def _insert(tx: Tx, context: ToolContext, arguments: RecallArguments) -> Outcome:
    new = NewEntry(
        content=arguments.content,
        origin=_origin(context),
        label=arguments.label or None,
        category=arguments.category,
        tags=arguments.tags,
        importance=arguments.importance,
    )
    entry = archival.insert(tx, context.agent.id, new, context.now)
    data = entry_data(tx, entry, context.turn) | {"already": entry.reinforcement > 0}
    words = "it was known already and is stronger now" if entry.reinforcement else "stored"
    return Outcome(f"{words} as {entry.id}", data, (("entry", entry.id),))


def _read(tx: Tx, context: ToolContext, arguments: RecallArguments) -> Outcome:
    scope, agent = context.turn.scope, context.agent.id
    if arguments.label:
        found = [archival.read(tx, agent, arguments.label, scope)]
    else:
        found = archival.latest(tx, agent, scope, limit=_LISTED)
    data: list[dict[str, Any]] = [entry_data(tx, entry, context.turn) for entry in found]
    text = lines_of(data) or "Nothing is stored that may be used here."
    return Outcome(text, {"entries": data}, tuple(("entry", entry.id) for entry in found))


def _delete(tx: Tx, context: ToolContext, arguments: RecallArguments) -> Outcome:
    deleted = archival.delete(tx, context.agent.id, arguments.label, context.turn.scope)
    removed = 0
    if arguments.forget_words:
        asking = context.turn.person
        removed = forget_words(tx, deleted.entry, deleted.messages, asking, context.now)
    data = {"id": deleted.entry.id, "content": deleted.entry.content, "messages": removed}
    text = f"forgotten: {deleted.entry.id}; {removed} messages lost their words with it"
    return Outcome(text, data, forgets=arguments.forget_words)
