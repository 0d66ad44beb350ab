"""What nobody answers, because no agent of the group is active: it is set aside, and the owner is told."""

from datetime import datetime

from bot.agents.groups.team import Team
from bot.agents.notices import Notices
from memory import agents
from memory.people.audience import OWNER
from memory.queue import inbox
from memory.queue.inbox import InRow
from memory.queue.payloads import PatrolDue
from memory.store.database import Tx
from texts import _


def unattended(tx: Tx, rows: list[InRow], found: Team, notices: Notices, now: datetime) -> bool:
    """Whether nobody of the team is there to answer these rows; then they are done with.

    The owner is told once a day.
    """
    group = found.group
    if isinstance(patrol := rows[0].payload, PatrolDue):  # nobody goes on another's patrol
        agent = patrol.agent
        gone = agents.statuses(tx, [agent]).get(agent) != "active"
        if gone:
            inbox.set_aside(tx, rows, "its agent is not active", now)
        return gone
    if found.candidates or found.observers:
        return False
    inbox.set_aside(tx, rows, "nobody in the group answers", now)
    text = _(
        "Nobody answers in {place}: every agent of the group {group_name} is archived or "
        "hibernated. `carina agent restore NAME` or `carina agent wake NAME` brings one back; "
        "`/route` lets another group answer.",
        place=rows[0].place,
        group_name=group.name,
    )
    if rows[0].audience == OWNER:  # the owner asks, and is told there, each time
        notices = Notices(rows[0].place, rows[0].source)
    here = rows[0].place == notices.place
    key = str(rows[0].id) if here else f"{rows[0].place}/{now:%Y-%m-%d}"
    notices.tell_owner(tx, f"unattended/{group.id}/{key}", text, now)
    return True
