"""`working_memory`: stores what an agent needs for a while, between calls and turns, or passes to others."""

from datetime import datetime, timedelta
from typing import ClassVar, Literal

from pydantic import Field

from bot.agents.context.quotes import PromptText, joined, quotation, say
from bot.agents.context.quotes import line as shown_line
from bot.agents.context.working_memory import TOOL, lasting, line
from bot.agents.permissions.calls_needing_approval import Caution
from bot.agents.tools.base import Arguments, Needs, Outcome, Rarely, StoreTool, ToolContext
from memory.knowledge import working_memory
from memory.knowledge.working_memory import DEFAULT_TTL, By, Entry, NewEntry, ranked
from memory.people.audience import Trust
from memory.queue.turns import UseKind
from memory.store.database import Tx
from texts import gettext_noop, many

_FOUND, _PREVIEW = 20, 120  # entries that one search shows, and characters of each


class WorkingMemoryArguments(Arguments):
    operation: Literal["save", "get", "list", "search", "delete"]
    key: str = Field(default="", description="path; list, search: where")
    content: str = ""
    query: str = ""
    ttl_minutes: float = DEFAULT_TTL / timedelta(minutes=1)
    category: str = Field(default="", description="save, search")
    tags: tuple[str, ...] = Field(default=(), description="save, search")
    needs: ClassVar[Needs] = {"save": ("key", "content"), "get": ("key",), "delete": ("key",)}


class WorkingMemoryTool(StoreTool[WorkingMemoryArguments]):
    name = TOOL
    shown = gettext_noop("short-term memory")
    rarely = Rarely("notes for yourself that expire")
    caution = Caution()
    description = (
        "Scratch space that expires: partial results, parts of long results, handoffs. Keys are in your own namespace; "
        "full paths (session/, patrol/, subagent/, shared/) read elsewhere, everyone can write shared/topic/name. What "
        "must last belongs in `context` or `recall`."
    )

    def work(self, tx: Tx, context: ToolContext, arguments: WorkingMemoryArguments) -> Outcome:
        by = By.in_turn(tx, context.turn, context.message, context.now)
        path = working_memory.whole_key(arguments.key, by.namespace) if arguments.key.strip() else by.namespace
        match arguments.operation:
            case "save":
                return _save(tx, by, arguments)
            case "get":
                return _shown(working_memory.required(tx, path, by.scope, by.now), by.now)
            case "delete":
                gone = working_memory.delete(tx, by, path)
                return Outcome(say("deleted: {gone}", gone=", ".join(gone)))
            case "list":
                found = working_memory.listing(tx, path, by.scope, by.now)
                text = _clipped([line(each, by.now) for each in found]) or say(
                    "Nothing is kept under {path} here.", path=path
                )
                return Outcome(text, uses=_used(found))
            case "search":
                return _search(tx, by, path, arguments)


def _save(tx: Tx, by: By, arguments: WorkingMemoryArguments) -> Outcome:
    ttl = timedelta(minutes=min(1e6, max(0, arguments.ttl_minutes)))  # larger numbers and NaN make no timedelta
    new = NewEntry(arguments.key, arguments.content, ttl, arguments.category, arguments.tags)
    kept = working_memory.save(tx, by, new)
    return Outcome(say("saved as {key}, expires in {ttl}", key=kept.key, ttl=lasting(kept, by.now)))


def _shown(found: list[Entry], now: datetime) -> Outcome:
    """The value; a key has several only if it was written for several audiences."""
    first, others = found[0], len(found) - 1
    also = say(" (the same key is kept for {n} other audiences too)" if others else "", n=others)
    content = quotation(f"working memory, {first.key}", first.content)
    text = say("{head}{also}\n{content}", head=line(first, now), also=also, content=content)
    return Outcome(text, {"content": first.content}, _used([first]), trust=first.trust)


def _search(tx: Tx, by: By, path: str, arguments: WorkingMemoryArguments) -> Outcome:
    there = working_memory.listing(tx, path, by.scope, by.now, parts=True)
    wanted = {tag.casefold() for tag in arguments.tags}
    fitting = [
        each
        for each in there
        if wanted <= {tag.casefold() for tag in each.tags} and _is_in(each.category, arguments.category)
    ]
    found = (ranked(fitting, arguments.query) if arguments.query.strip() else fitting)[:_FOUND]
    if not found:
        searched = many(len(there), "entry", "entries")
        return Outcome(say("Nothing found. Searched: {n} under {path}.", n=searched, path=path))
    lines = [say("{head}: {text}", head=line(each, by.now), text=shown_line(each.content, _PREVIEW)) for each in found]
    trust = min((each.trust for each in found), default=Trust.SYSTEM)
    return Outcome(quotation(f"working memory, {path}", _clipped(lines)), uses=_used(found), trust=trust)


def _used(shown: list[Entry]) -> tuple[tuple[UseKind, str], ...]:
    return tuple(("item", str(each.id)) for each in shown)


def _clipped(lines: list[PromptText]) -> PromptText:
    shown: list[PromptText] = []
    room = working_memory.LONGEST
    for each in lines:
        room -= len(each) + 1
        if room < 0:
            return joined([*shown, say("- and {n} more: name a longer path", n=len(lines) - len(shown))])
        shown.append(each)
    return joined(shown)


def _is_in(category: str, wanted: str) -> bool:
    """Whether a category is the wanted one or below it."""
    wanted = wanted.strip().strip("/").casefold()
    return not wanted or f"{category.casefold()}/".startswith(f"{wanted}/")
