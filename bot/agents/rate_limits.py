"""Rate limits of answers, checked before any model call, so that excess messages cost nothing.

Messages over the limit wait, and are answered together when the limit allows. The person is told once, except in
public, where that would be one more post.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from msgspec import Struct, field

from bot.agents.permissions import approval_requests
from bot.agents.permissions.roles_and_rights import Selves
from bot.config import Config
from memory.knowledge.working_memory import PATROL
from memory.people.audience import PUBLIC, Audience, Scope, Trust
from memory.queue import inbox, messages, outbox, turns
from memory.queue.agent_messages import SOURCE as WRITTEN
from memory.queue.inbox import InRow
from memory.store.database import Rows, Tx
from memory.store.ids import PersonId, place_source
from texts import _, moment_text

WINDOW = timedelta(hours=1)


class Rates(Struct, frozen=True):
    """Turns per hour for a person with all linked accounts, for a guild, and in total; 0 for no limit.

    The owner has none.
    """

    person: int = 0
    guild: int = 0
    everybody: int = 0
    place: int = 0
    """In one place, such as a thread of a public network."""
    sources: Mapping[str, "Rates"] = field(default_factory=dict)
    """Separate limits of sources that everybody reads."""

    def of(self, source: str, audience: Audience) -> "Rates":
        return self.sources.get(source, self) if audience == PUBLIC else self


NO_LIMITS = Rates()


def configured_rates(config: Config) -> Rates:
    """The rate limits; lower in public places."""
    limits, bluesky = config.limits, config.bluesky
    public = Rates(bluesky.person_per_hour, 0, limits.all_per_hour, bluesky.thread_per_hour)
    return Rates(limits.person_per_hour, limits.guild_per_hour, limits.all_per_hour, sources={"bluesky": public})


def refuse(tx: Tx, rates: Rates, rows: list[InRow], selves: Selves, now: datetime) -> bool:
    """Whether these rows are over a limit; then they wait until it allows, and the person is told."""
    head = rows[0]
    rates = rates.of(head.source, head.audience)
    here = place_source(head.place)
    own = () if head.person is None or here == PATROL else selves(head.person)  # news of a source are nobody's words
    again = None if rates == NO_LIMITS else _again(tx, rates, head, own, now)
    if again is None or _exempt(tx, head):
        return False
    for each in rows:
        inbox.put_off(tx, each.id, again, inbox.OVER_LIMIT)
    if head.audience == PUBLIC or here == PATROL or any(each.last_error == inbox.OVER_LIMIT for each in rows):
        return True  # nobody reads notices there, or they were already told
    words = _(
        "That was a lot at once, and I've reached my limit. I'll answer everything together on {again}. You "
        "don't need to repeat it.",
        again=moment_text(again, here),
    )
    key = f"rate/{head.person}/{head.place}/{again:%Y-%m-%dT%H}"
    outbox.add(tx, outbox.NewRow(key, head.place, words, head.audience, person=head.person), now)
    return True


def _exempt(rows: Rows, head: InRow) -> bool:
    """Exempt rows: the owner's, patrols, messages between agents, and decisions on requests, whose person was counted
    before."""
    if head.source in (approval_requests.SOURCE, PATROL, WRITTEN) or head.message is None:
        return True
    found = messages.by_ids(rows, [head.message], Scope(head.audience))
    return any(message.trust is Trust.OWNER for message in found)


def _again(rows: Rows, rates: Rates, head: InRow, own: tuple[PersonId, ...], now: datetime) -> datetime | None:
    """When the strictest reached limit allows the person again; None if none is reached."""
    since, reached = now - WINDOW, []
    if rates.everybody:
        reached.append(turns.nth_newest(rows, rates.everybody, since))
    if rates.person and own:
        reached.append(turns.nth_newest(rows, rates.person, since, people=own))
    if rates.place:
        reached.append(turns.nth_newest(rows, rates.place, since, place=head.place))
    if rates.guild and (guild := _guild(rows, head)):
        reached.append(turns.nth_newest(rows, rates.guild, since, within=guild))
    return max((began + WINDOW for began in reached if began is not None), default=None)


def _guild(rows: Rows, head: InRow) -> Audience | None:
    place = inbox.place(rows, head.place)
    audiences = (head.audience, *(place.within if place is not None else ()))
    return next((each for each in audiences if each.startswith("guild:")), None)
