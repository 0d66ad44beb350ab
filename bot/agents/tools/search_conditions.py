"""The conditions of a search as they are named: who spoke, a category, tags. Raises ToolError with what there is.

Only what the scope may know is told.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, get_args

from bot.errors import ToolError
from memory import agents
from memory.people.audience import Scope
from memory.search import query
from memory.search.query import DOMAINS, Domain
from memory.store.database import Rows
from memory.store.ids import AgentId

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
        return DOMAINS
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
