"""What nobody answers, because no agent of the group is active: it waits for one, and people are told once."""

from datetime import datetime

from bot.agents.groups.team import Team
from bot.agents.notices import Notices
from memory import agents
from memory.agents import Group
from memory.people.audience import OWNER, PUBLIC
from memory.queue import inbox, outbox
from memory.queue.inbox import InRow
from memory.queue.payloads import PatrolDue
from memory.store.database import Tx
from memory.store.ids import place_source
from sources.terminal import SOURCE
from texts import _


def unattended(tx: Tx, rows: list[InRow], found: Team, notices: Notices, now: datetime) -> bool:
    """Whether nobody of the team is there to answer these rows; then they wait until somebody is.

    Who asks is told when the first of a conversation waits, at the terminal each time, and never in public; the
    owner once a day.
    """
    if isinstance(patrol := rows[0].payload, PatrolDue):  # nobody goes on another's patrol
        agent = patrol.agent
        gone = agents.statuses(tx, [agent]).get(agent) != "active"
        if gone:
            inbox.set_aside(tx, rows, "its agent is not active", now)
        return gone
    if found.candidates or found.observers:
        return False
    told = inbox.keep_for_an_agent(tx, rows, now)
    _tell_owner(tx, rows[0], found.group, notices, now, told=told)
    if rows[0].source == place_source(rows[0].place) and not (told or rows[0].audience == PUBLIC):
        _tell_asker(tx, rows[0], notices, now)
    return True


def _tell_owner(tx: Tx, row: InRow, group: Group, notices: Notices, now: datetime, *, told: bool) -> None:
    text = _(
        "Nobody answers in {place}: every agent of the group {group_name} is archived or "
        "hibernated. `carina agent restore NAME` or `carina agent wake NAME` brings one back, and what was "
        "said in the last {count} days is answered then.",
        place=row.place,
        group_name=group.name,
        count=inbox.KEPT.days,
    )
    if row.source == "discord":
        text = f"{text} {_('`/admin route` there lets another group answer.')}"
    if row.audience == OWNER:  # the owner asks, and is told there
        notices = Notices(row.place, row.source)
    here = row.place == notices.place
    if here and told and row.source != SOURCE:
        return
    key = str(row.id) if here else f"{row.place}/{now:%Y-%m-%d}"
    notices.tell_owner(tx, f"unattended/{group.id}/{key}", text, now)


def _tell_asker(tx: Tx, row: InRow, notices: Notices, now: datetime) -> None:
    if row.audience == OWNER or row.place == notices.place:
        return
    text = _(
        "Nobody answers here at the moment. I keep what you write for {count} days and answer it if that changes.",
        count=inbox.KEPT.days,
    )
    key = f"unattended/{row.id}"
    outbox.add(tx, outbox.NewRow(key, row.place, row.source, text, row.audience, person=row.person), now)
