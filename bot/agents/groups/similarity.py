"""How like a question is to what members know, by meaning, where there is an embedder."""

from collections.abc import Awaitable, Callable, Mapping

from bot.agents.groups.settings import Dynamic
from bot.agents.groups.team import team
from memory import agents
from memory.people.audience import Scope
from memory.queue import messages
from memory.queue.inbox import InRow
from memory.search.query import Nearness
from memory.search.similarity import Meaning
from memory.store.database import Database, Rows
from memory.store.ids import GroupId


async def likeness(
    database: Database, head: InRow, meaning: Callable[[str], Awaitable[Nearness | None]]
) -> Mapping[str, float]:
    """Cosines of the waiting words to the profiles of members, by profile; none where words alone decide.

    Only for groups that choose by capability (`may_compare`). Profiles are the same each time and stay embedded.
    """
    question, profiles = await database.read(lambda rows: _compared(rows, head))
    if not profiles:
        return {}
    asked = await meaning(question)
    if not isinstance(asked, Meaning):
        return {}
    found: dict[str, float] = {}
    for profile in profiles:
        known = await meaning(profile)
        near = asked.like(known) if isinstance(known, Meaning) else None
        if near is not None:
            found[profile] = near
    return found


def may_compare(rows: Rows, group: GroupId) -> bool:
    """Whether a group may choose by what its members know; most do not, and need no more than this look."""
    return agents.pattern(rows, group) == "dynamic"


def _compared(rows: Rows, head: InRow) -> tuple[str, list[str]]:
    """The waiting words, and the profiles that they are to be compared with."""
    found = team(rows, GroupId(head.group or ""))
    settings = found.settings
    if not isinstance(settings, Dynamic) or settings.selector != "capability" or len(found.candidates) < 2:
        return "", []
    heard = messages.by_ids(rows, [head.message] if head.message is not None else [], Scope(head.audience))
    text = "\n".join(message.text for message in heard if message.role == "user")
    return text, [each.profile for each in found.candidates if each.profile] if text.strip() else []
