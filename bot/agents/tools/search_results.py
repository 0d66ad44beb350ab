"""Rows that were found, as plain data and as lines for the model."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from msgspec import Struct, field

from bot.agents.context.quotes import NOTHING, PromptText, display_name, indented, joined, line, place_name, say
from bot.agents.tools.base import UseKind
from bot.errors import ToolError
from memory import agents
from memory.knowledge.archival import Entry
from memory.people.audience import Scope
from memory.queue import inbox, messages
from memory.queue.inbox import Place
from memory.queue.messages import Message
from memory.queue.turns import Turn
from memory.search import query
from memory.search.query import DOMAINS, Domain, Hit
from memory.store.clock import to_text
from memory.store.database import Rows
from memory.store.ids import AgentId, PlaceId
from sources.text import one_line

_BESIDE = 160  # characters of what was said before and after a message
_KEPT = 300  # of an entry's label, category, tags and metadata
_PLACES = 10  # named in an error


GUESSES = "Perhaps these, which have none of the words and are only somewhat near in meaning:"
"""What guesses are told with, so that none of them passes for what was found."""


def why_found(hit: Hit) -> str:
    """Why a hit was found, in a few words; empty for one of a listing."""
    parts = [
        "perhaps" if hit.perhaps else "",
        f"has {', '.join(hit.matched)}" if hit.matched else "",
        f"around it {', '.join(hit.around)}" if hit.around else "",
        "its speaker is meant" if hit.named else "",
        f"distance {hit.distance:.2f}" if hit.distance is not None else "",
    ]
    return "; ".join(filter(None, parts))


@dataclass(frozen=True)
class Why:
    """The same as data; `distance` is 1 minus the cosine, None without vectors; `perhaps`: it is a guess."""

    matched: list[str]
    around: list[str]
    named: bool
    distance: float | None
    perhaps: bool

    @classmethod
    def of(cls, hit: Hit) -> "Why":
        distance = None if hit.distance is None else round(hit.distance, 4)
        return cls([*hit.matched], [*hit.around], hit.named, distance, hit.perhaps)


_WHOSE = {
    "role": "role is of messages",
    "place": "place is of messages, activity and summaries",
    "category": "category is of entries and facts",
    "tags": "tags are of entries",
    "author": "author is of messages, entries, activity, facts, tasks and summaries",
    "person": "author 'me' is of messages, entries, blocks, activity, facts and tasks",
}


NEWEST = "No words were asked for, so these are the newest."
"""What a listing is told with, so that it does not pass for what was found."""


def nothing_searched(unmet: Sequence[str]) -> PromptText:
    """Why nothing was searched: conditions that nothing which was asked for can meet; empty without any."""
    if not unmet:
        return NOTHING
    whose = ", ".join(f"{_WHOSE[name]} alone" for name in unmet)
    together = "" if len(unmet) == 1 else ": nothing has all of these conditions"
    return say("Nothing was searched: {whose}.", whose=whose + together)


@dataclass(frozen=True)
class Beside:
    """What was said just before or after a message, with no more than its beginning."""

    id: str
    by: str
    text: str

    @classmethod
    def of(cls, said: Message | None) -> "Beside | None":
        return None if said is None else cls(str(said.id), said.speaker, one_line(said.text, _BESIDE))


class FoundRow(Struct, frozen=True, omit_defaults=True):
    """A row of a result; `mine`: the turn's person said it. An entry has a `content` instead of a `text`."""

    id: str
    at: str
    speaker: str = ""
    place: str = ""
    """What people call it, or its id if it was never named."""
    place_kind: str = ""
    mine: bool | None = None
    kind: str = ""
    text: str = ""
    role: str = ""
    before: Beside | None = None
    after: Beside | None = None
    why: str = ""
    perhaps: bool = False
    content: str = ""
    label: str = ""
    category: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


def uses_of(hits: Iterable[Hit]) -> tuple[tuple[UseKind, str], ...]:
    """The memories among hits that an answer can be explained by."""
    return tuple(
        (hit.kind, hit.id)
        for hit in hits
        if hit.kind == "entry" or hit.kind == "message" or hit.kind == "block" or hit.kind == "summary"
    )


def entry_row(rows: Rows, entry: Entry, turn: Turn) -> FoundRow:
    """An entry with who said it and where, as far as the turn may know."""
    said = messages.by_ids(rows, entry.messages[:1], turn.scope)
    place, place_kind = place_words(rows, said[0].place if said else None)
    return FoundRow(
        id=entry.id,
        at=to_text(entry.created_at),
        speaker=said[0].speaker if said else "",
        place=place,
        place_kind=place_kind,
        mine=turn.person in entry.people,
        content=entry.content,
        label=entry.label or "",
        category=entry.category,
        tags=tuple(entry.tags),
        metadata=entry.metadata,
    )


def place_words(rows: Rows, place: PlaceId | None) -> tuple[str, str]:
    """What people call a place (its id when it was never named), and what sort of place it is."""
    found = inbox.place(rows, place) if place is not None else None
    return (found and found.name) or str(place or ""), str(found.kind) if found else ""


def lines_of(found: Iterable[FoundRow]) -> PromptText:
    """One quoted line for each row: id, when, who, where, words; then what an entry is kept with, what was said beside
    a message, and why it was found. Guesses come last, and are said to be some."""
    lines: list[PromptText] = []
    guessing = False
    for row in found:
        if row.perhaps and not guessing:
            lines.append(say(GUESSES))
            guessing = True
        who = display_name(row.speaker)
        where = say("in {place}", place=_place(row)) if row.place else NOTHING
        when = joined([say("{at} UTC", at=row.at[:16].replace("T", " ")), joined([who, where], " ")], ", ")
        shown = indented(row.content or row.text) if row.content or row.kind == "passage" else line(row.text)
        lines.append(say("- {id} ({when}): {text}", id=row.id, when=when, text=shown))
        if words := _kept(row):
            lines.append(say("  kept with {words}", words=words))
        beside = (("before", row.before), ("after", row.after))
        lines += [say("  {where}: {said}", where=where, said=_said(said)) for where, said in beside if said]
        if row.why:
            lines.append(say("  why: {why}", why=row.why))
    return joined(lines)


def _place(row: FoundRow) -> PromptText:
    said_there = row.place_kind and row.kind not in ("block", "passage", "summary")
    return (place_name(row.place) if said_there else NOTHING) or line(row.place)


def _kept(row: FoundRow) -> PromptText:
    """An entry's label, category, tags and metadata, on one line."""
    told = (("label", row.label), ("category", row.category), ("tags", ", ".join(row.tags)))
    more = [f"{key}={value}" for key, value in row.metadata.items()]
    return line("; ".join([*(f"{name} {value}" for name, value in told if value), *more]), _KEPT)


def _said(said: Beside) -> PromptText:
    text = line(said.text)
    return say("{by}: {text}", by=display_name(said.by), text=text) if said.by else text


def place_meant(known: list[Place], target: str) -> Place:
    """The place that is meant; raises ToolError with the names of those that could be."""
    wanted = _bare(target)
    found = [each for each in known if wanted in _names(each)]
    if len({each.id for each in found}) == 1:
        return found[0]
    listed = ", ".join(repr(each.name or each.id) for each in (found or known)[:_PLACES])
    if found:
        raise ToolError(f"Several places are called {target!r}: say which, {listed}.")
    raise ToolError(f"No place {target!r} is known that may be spoken of here. There are: {listed or 'none'}.")


def _names(place: Place) -> set[str]:
    """What a place may be called: its whole name, the part before the server's, and its id with or without source."""
    return {_bare(place.name), _bare(place.name.partition(" in ")[0]), place.id, place.id.partition(":")[2]} - {""}


def _bare(name: str) -> str:
    return name.strip().strip("<>").removeprefix("#").strip().casefold()


Where: TypeAlias = Literal[
    "archival_memory",
    "conversations",
    "constellation_messages",
    "blocks",
    "activity",
    "facts",
    "tasks",
    "summaries",
    "files",
    "all",
]
"""The domains by the names that agents and people give them."""

_WHERE: Mapping[Where, frozenset[Domain]] = {
    "archival_memory": frozenset(("archival", "archival_blocks")),
    "conversations": frozenset(("messages",)),
    "constellation_messages": frozenset(("messages",)),
    "all": frozenset(get_args(Domain)) - {"archival_blocks"},  # blocks has them
}

_NAMED = 20  # names that an error gives


def domains_of(where: Where | None) -> frozenset[Domain]:
    """What is searched under a name; without one what an answer is usually found in."""
    if where is None:
        return DOMAINS | {"facts", "tasks"}
    return _WHERE.get(where) or frozenset(name for name in get_args(Domain) if name == where)


def author_meant(rows: Rows, name: str, scope: Scope) -> str | None:
    """A person or an agent by id or name; None for none."""
    if not name or ":" in name:  # what has a colon is a person's id
        return name or None
    ours = {said for agent in agents.every_agent(rows) for said in (agent.id.casefold(), agent.name.casefold())}
    if name.casefold() not in ours and not query.has_spoken(rows, name, scope):
        raise ToolError(_unknown(f"Nobody called {name!r} said anything", query.speakers(rows, scope, _NAMED)))
    return name


def category_meant(
    rows: Rows, name: str, domains: frozenset[Domain], agent: AgentId | None, scope: Scope
) -> str | None:
    """A category that something has, unless what is asked has none at all."""
    if not name or not domains & {"archival", "facts"}:
        return name or None
    known, wanted = query.categories(rows, domains, agent, scope), name.casefold()
    if not any(each.casefold() == wanted or each.casefold().startswith(f"{wanted}/") for each in known):
        raise ToolError(_unknown(f"There is no category {name!r}", known))
    return name


def tags_meant(
    rows: Rows, names: Sequence[str], domains: frozenset[Domain], agent: AgentId | None, scope: Scope
) -> tuple[str, ...]:
    """Likewise. What is no tag as a whole is several, with commas between."""
    known = query.tags(rows, agent, scope) if any(names) and "archival" in domains else []
    there = {each.casefold() for each in known}
    whole = ([name] if name.strip().casefold() in there else name.split(",") for name in names)
    wanted = tuple(filter(None, (each.strip() for part in whole for each in part)))
    missing = next((each for each in wanted if each.casefold() not in there), "")
    if missing and "archival" in domains:
        raise ToolError(_unknown(f"There is no tag {missing!r}", known))
    return wanted


def _unknown(said: str, known: Sequence[str]) -> str:
    more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
    return f"{said} that you may know here; there are: {', '.join(known[:_NAMED]) or 'none'}{more}."
