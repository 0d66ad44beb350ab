"""What arrived and could not be stored: tried again, with the edits and deletions that follow it, or given up.

The database refusing is no reason to give anything up (`bot.storage_retry`); this is about whatever else goes wrong.
"""

from datetime import datetime

from bot.agents.notices import Notices
from memory.store.database import Database
from memory.store.faults import commit_point
from sources.base import Kind, Notification
from texts import _

_LOST = commit_point("inbox.lost")


class LateArrivals:
    """What waits to be stored, and the changes to it that arrived meanwhile: they follow it, in their order."""

    def __init__(self) -> None:
        self._changes: dict[tuple[str, str], list[Notification]] = {}

    def add(self, notification: Notification) -> None:
        """It could not be stored."""
        self._changes.setdefault((notification.source, notification.subject), [])

    def follows(self, notification: Notification) -> bool:
        """Whether it changes what waits here; then it is kept until that is stored."""
        waiting = self._changes.get((notification.source, notification.subject))
        if waiting is None or notification.kind not in (Kind.EDIT, Kind.DELETE):
            return False
        waiting.append(notification)
        return True

    def pop(self, notification: Notification) -> list[Notification]:
        """It waits no more; gives what is to follow it."""
        return self._changes.pop((notification.source, notification.subject), [])


async def tell_lost(database: Database, notices: Notices, notification: Notification, now: datetime) -> None:
    """Tell the owner what was given up."""
    words = _(
        "Something that arrived from {source} (ID there: {external_id}) could not be stored "
        "after several attempts, so I cannot answer it. The log has the details; please report "
        "it.",
        source=notification.source,
        external_id=notification.external_id,
    )
    key = f"lost/{notification.source}/{notification.external_id}"
    await database.write(_LOST, lambda tx: notices.tell_owner(tx, key, words, now))
