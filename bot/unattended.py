"""What nobody answers, because no agent of the group is active: it is set aside, and the owner is told."""

from datetime import datetime

from bot.notices import Notices
from memory import agents, inbox
from memory.audience import OWNER
from memory.database import Tx
from memory.ids import AgentId, GroupId
from memory.inbox import InRow
from memory.working import PATROL


def unattended(tx: Tx, rows: list[InRow], notices: Notices, now: datetime) -> bool:
    """Whether nobody is there to answer these rows; then they are done with, and the owner is told once a day."""
    group = agents.group(tx, GroupId(rows[0].group or ""))
    if rows[0].source == PATROL:  # nobody goes on another's patrol
        agent = AgentId(rows[0].payload["agent"])
        gone = agents.statuses(tx, [agent]).get(agent) != "active"
        if gone:
            inbox.set_aside(tx, rows, "its agent is not active", now)
        return gone
    if agents.answering(tx, group):
        return False
    inbox.set_aside(tx, rows, "nobody in the group answers", now)
    text = (
        f"Nobody answers in {rows[0].place}: every agent of the group {group.name} is archived or "
        "hibernated. `carina agent restore NAME` or `wake NAME` brings one back; `/route` lets another group answer."
    )
    if rows[0].audience == OWNER:  # the owner asks, and is told there, each time
        notices = Notices(rows[0].place, rows[0].source)
    here = rows[0].place == notices.place
    key = str(rows[0].id) if here else f"{rows[0].place}/{now:%Y-%m-%d}"
    notices.tell_owner(tx, f"unattended/{group.id}/{key}", text, now)
    return True
