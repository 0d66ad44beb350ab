"""`recall`: stores and finds archival entries."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, ClassVar, Literal

import msgspec
from pydantic import Field, model_validator

from bot.agents.context.quotes import display_name, joined, say
from bot.agents.permissions.calls_needing_approval import Caution
from bot.agents.tools.base import Arguments, Brief, Needs, Outcome, StoreTool, ToolContext, with_expected
from bot.agents.tools.search import EXPECTED, entry_row, lines_of, search_outcome
from bot.errors import ToolError
from memory import agent_groups, agents
from memory.agents import Agent
from memory.erasure.forgotten_entries import forget_entry
from memory.knowledge import entries, entry_changes, repeated_entries
from memory.knowledge.entries import Entry, NewEntry, Origin
from memory.knowledge.entry_journal import ChangedBy
from memory.people.audience import Trust
from memory.permission_requests import Kind, Need, require
from memory.search.all_domains import search
from memory.search.query import Domain, Query
from memory.store.database import Rows, Tx
from memory.store.records import replace
from texts import gettext_lazy, gettext_noop, many

_LISTED = 20  # default limits: entries that a read without a label lists, and rows that a query finds
OBSERVATIONS = "observations"
"""The name of that right in a lasting permission."""
_LATELY, _OBSERVED = timedelta(hours=24), 50


class RecallArguments(Arguments):
    operation: Literal["insert", "save", "append", "read", "delete", "query", "categories", "observations"]
    content: str = Field(default="", description="insert, save, append: the text to keep, in full sentences")
    label: str = Field(
        default="",
        description="a name of your own for an entry (insert, save), one line of plain words, or the name or id of one "
        "(append, read, delete); "
        "read without it lists the newest entries",
    )
    category: str = Field(default="", description="insert: where it belongs, such as people/health; query: only there")
    tags: tuple[str, ...] = Field(default=(), description="insert: a few words to find it by; query: with all of them")
    metadata: dict[str, str | bool | int | float] = Field(
        default_factory=dict, description="insert: other facts about it"
    )
    query: str = Field(default="", description="query: a whole question with names")
    expected: str = Field(default="", description=f"query: {EXPECTED}")
    limit: int = Field(default=_LISTED, ge=1, le=50, description="query, read: how many")
    importance: float = Field(default=0.5, ge=0, le=1, description="insert: 1 must never be lost, 0 may fade")
    forget_words: bool = Field(
        default=False,
        description="delete: also remove the words from the conversation they came from; only when the person "
        "asked to forget them",
    )
    needs: ClassVar[Needs] = {
        **dict.fromkeys(("insert", "save"), ("content",)),
        "append": ("label", "content"),
        "delete": ("label",),
        "query": ("query",),
    }

    @model_validator(mode="before")
    @classmethod
    def _as_others_say_it(cls, given: Any) -> Any:
        """Accept the arguments as other systems give them: a lone query, and nested metadata, which is kept as JSON."""
        if not isinstance(given, dict):
            return given
        if "operation" not in given and given.get("query"):
            given = {**given, "operation": "query"}
        if isinstance(metadata := given.get("metadata"), dict):
            given = {**given, "metadata": {name: _flat(value) for name, value in metadata.items() if value is not None}}
        return given

    def question(self) -> str:
        return self.query if self.operation == "query" else ""

    def question_with_expected(self) -> str:
        return with_expected(self.question(), self.expected)


def _flat(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


class RecallTool(StoreTool[RecallArguments]):
    """`expand` has a model elaborate an entry in the background; False if nothing will."""

    name = "recall"
    shown = gettext_noop("long-term memory")
    description = (
        "Keep things for the long term, outside your context: facts about people, decisions, plans, preferences. "
        "insert stores an entry about one matter; save stores several matters, each of which becomes an entry later; "
        "append adds a line to one, read shows one or lists the newest, delete forgets one, query finds entries and "
        "what was said, categories lists where entries are kept, observations what others of your group stored in the "
        "last 24 hours. Use words that will make sense in a year, and name who it is about."
    )
    brief = Brief(
        "Remember what people tell you for the long term, and forget it when they ask: facts about them, decisions, "
        "plans, preferences. insert remembers something, append adds a line to it, delete forgets it, read shows one "
        "entry or the newest, query finds entries and what was said. Use words that will make sense in a year, and "
        "name who it is about.",
        {
            "content": "insert, append: the text to keep, in full sentences",
            "label": "a name of your own for an entry (insert), or the name or id of one (append, read, delete)",
            "category": "insert: where it belongs, such as people/health",
            "query": "",
            "expected": "",
            "importance": "",
            "forget_words": "",
        },
        "tags, several matters at once, categories, what others of your group stored",
        operations=("insert", "append", "read", "delete", "query"),
    )
    caution = Caution(bound=("operation",))

    def __init__(self, expand: Callable[[Tx, Agent, Entry, datetime], bool] = lambda *_: False) -> None:
        self._expand = expand

    def work(self, tx: Tx, context: ToolContext, arguments: RecallArguments) -> Outcome:
        match arguments.operation:
            case "insert":
                return _insert(tx, context, arguments)[1]
            case "save":
                return self._save(tx, context, arguments)
            case "append":
                known = entries.read_in_group(tx, context.turn, arguments.label)
                entry = entry_changes.append(
                    tx, known.agent, known.id, arguments.content, _origin(context), context.now
                )
                return Outcome(say("added to {id}", id=entry.id), uses=(("entry", entry.id),))
            case "read":
                return _read(tx, context, arguments)
            case "delete":
                return _delete(tx, context, arguments)
            case "query":
                return _query(tx, context, arguments)
            case "categories":
                counted = entries.categories(tx, context.agent.id, context.turn.scope)
                lines = [say("- {category}: {n}", category=category, n=count) for category, count in counted.items()]
                return Outcome(joined(lines) or say("No entry here has a category."))
            case "observations":
                return _observations(tx, context)

    def _save(self, tx: Tx, context: ToolContext, arguments: RecallArguments) -> Outcome:
        entry, outcome = _insert(tx, context, arguments)
        if not self._expand(tx, context.agent, entry, context.now):
            return outcome
        return replace(
            outcome, text=say("{done}; it is written out as focused entries in the background", done=outcome.text)
        )


def _origin(context: ToolContext) -> Origin:
    turn = context.turn
    return Origin(turn.scope, turn.trust, turn.person, context.message, turn.id)


def _insert(tx: Tx, context: ToolContext, arguments: RecallArguments) -> tuple[Entry, Outcome]:
    new = NewEntry(
        content=arguments.content,
        origin=_origin(context),
        label=arguments.label or None,
        category=arguments.category,
        tags=arguments.tags,
        importance=arguments.importance,
        metadata=arguments.metadata,
    )
    known = repeated_entries.is_known(tx, context.agent.id, new)
    entry = entry_changes.insert(tx, context.agent.id, new, context.now)
    seen = entries.seen_of_others(tx, context.agent.id, context.turn.id)
    entry = entry_changes.take_along(tx, entry, seen, context.turn.id, context.now)
    left = repeated_entries.not_taken(entry, new)
    row = msgspec.to_builtins(entry_row(tx, entry, context.turn))
    data = {**row, "already": known, "not_taken": left}
    begun = "stored with what it goes on from" if entry.reinforcement else "stored"
    words = "it was known already and is stronger now" if known else begun
    kept = f"{entry.id}; as it stood before, it did not take on {'; nor '.join(left)}" if left else entry.id
    return entry, Outcome(say("{words} as {kept}", words=words, kept=kept), data, (("entry", entry.id),))


def _read(tx: Tx, context: ToolContext, arguments: RecallArguments) -> Outcome:
    turn, labels = context.turn, [arguments.label]
    if not arguments.label:
        beside, domain = entries.holders(tx, turn), frozenset[Domain]({"archival"})
        newest = Query("", turn.agent, domain, asker=turn.person, beside=beside, limit=arguments.limit)
        labels = [hit.id for hit in search(tx, newest, turn.scope).hits]
    found = [entries.read_in_group(tx, turn, label) for label in labels]
    data = [entry_row(tx, entry, context.turn) for entry in found]
    text = lines_of(data) or say("Nothing is stored that may be used here.")
    return Outcome(text, {"entries": data}, tuple(("entry", entry.id) for entry in found))


def _observations(rows: Rows, context: ToolContext) -> Outcome:
    """Recent observations by other members of the group, if the owner permits reading them."""
    turn = context.turn
    group = None if turn.group is None else agent_groups.group(rows, turn.group)
    others = [] if group is None else [each.agent for each in group.members if each.agent != context.agent.id]
    if group is None or not others:
        raise ToolError("Nobody else in your group has observations to read.")
    reason = gettext_lazy(
        "{agent} wants to read what others in the group “{group}” stored", agent=context.agent.name, group=group.name
    )
    require(Need(Kind.TOOL, OBSERVATIONS, reason), context.permit)
    noted = entries.noted_by(rows, others, turn.scope, context.now - _LATELY, _OBSERVED)
    names = {agent: agents.agent(rows, agent).name for agent in others}
    told = [(display_name(names[entry.agent]), lines_of([entry_row(rows, entry, turn)])) for entry in noted]
    text = joined(say("{by} stored:\n{lines}", by=by, lines=lines) for by, lines in told)
    return Outcome(
        text or say("The others stored nothing in the last 24 hours that may be used here."),
        uses=tuple(("entry", entry.id) for entry in noted),
        trust=min((entry.trust for entry in noted), default=Trust.SYSTEM),
    )


def _delete(tx: Tx, context: ToolContext, arguments: RecallArguments) -> Outcome:
    entry = entries.read_in_group(tx, context.turn, arguments.label)
    removed = 0
    if arguments.forget_words:
        removed = forget_entry(tx, entry, context.turn.person, context.now)
    else:
        entry_changes.delete(tx, entry.agent, entry.id, context.turn.scope, ChangedBy(context.turn.id, context.now))
    data = {"id": entry.id, "content": entry.content, "messages": removed}
    text = say("forgotten: {id}; {n} went with it", id=entry.id, n=many(removed, "message"))
    return Outcome(text, data, forgets=arguments.forget_words)


def _query(rows: Rows, context: ToolContext, arguments: RecallArguments) -> Outcome:
    """Entries and conversations in one search; with a category or tags only entries, because only they have them."""
    turn, domains = context.turn, frozenset[Domain]({"archival", "messages"})
    query = Query(
        arguments.query,
        context.agent.id,
        domains,
        context.agent.id,
        category=arguments.category or None,
        tags=arguments.tags,
        asker=turn.person,
        beside=entries.holders(rows, turn),
        limit=arguments.limit,
        meaning=context.meaning,
        expected=arguments.expected,
        expected_meaning=context.expected_meaning,
        guesses=True,
        question=True,
    )
    return search_outcome(rows, context, query)
