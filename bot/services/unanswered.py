"""What was given up: whoever said it has it answered after all, also after a restart."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from bot.agents.permissions import policy
from bot.agents.permissions.policy import Action, People
from bot.services.caller import Caller
from bot.services.named import row_number
from bot.services.parameters import Arguments, Param
from bot.services.registry import Options, Suggestions, operation, suggestions
from bot.services.results import Sentence
from memory.queue import inbox, messages, outbox
from memory.queue.inbox import InRow, Status
from memory.queue.outbox import EditDetail, TextDetail
from memory.store.clock import Clock
from memory.store.database import Database, Rows, Tx
from memory.store.errors import Refused
from memory.store.faults import commit_point
from memory.store.ids import InboxId
from sources.bluesky.keys import NAME as BLUESKY
from sources.text import one_line
from texts import _, gettext_noop

_RETRY = commit_point("unanswered.retry")
_SUGGESTED = 25
_SHOWN = 80  # characters of a message
_NONE = gettext_noop("You have no failed message with this number.")


class OneMessage(Arguments):
    message: Annotated[str, Field(min_length=1, max_length=30), Param("Number from my apology", suggests="unanswered")]


@dataclass(frozen=True)
class Unanswered:
    """What one constellation gave up on. `queued` sees to what waits for an answer."""

    database: Database
    people: People
    clock: Clock
    queued: Callable[[], None]

    @operation("retry", "Retry a message that I could not answer", Action.CHANGE_OWN, Options(changes=True, keeps=True))
    async def retry(self, caller: Caller, arguments: OneMessage) -> Sentence:
        """By whoever said it, and by those who may retry anything."""

        def work(tx: Tx) -> str:
            row = self._found(tx, caller, arguments.message)
            if row.status is not Status.DEAD:
                return (
                    _("I am already working on it.") if row.status is not Status.DONE else _("That has been answered.")
                )
            said = None if row.message is None else messages.of_id(tx, row.message)
            if said is not None and said.deleted_at is not None:
                raise Refused(_("The message was deleted, so there is nothing to answer."))
            if inbox.revive(tx, row.id) is None:
                raise Refused(_("I can no longer answer that."))
            self._show(tx, row)
            return _("I am trying again now.")

        words = await self.database.write(_RETRY, work, durable=True)
        self.queued()
        return Sentence(text=words)

    @suggestions("unanswered")
    async def suggest(self, caller: Caller) -> Suggestions:
        """What the caller said and I gave up on, with its words as far as they may be seen here."""

        def read(rows: Rows) -> list[tuple[str, str]]:
            found = inbox.given_up(rows, self.people.selves(caller.person), _SUGGESTED)
            said = messages.by_ids(rows, (row.message for row in found if row.message is not None), caller.scope)
            words = {each.id: one_line(each.text, _SHOWN) for each in said}
            return [(str(row.id), words[row.message]) for row in found if row.message in words]

        return await self.database.read(read)

    def _found(self, rows: Rows, caller: Caller, which: str) -> InRow:
        """The message that is meant. Raises Refused; in the same words, whether there is none or it is another's."""
        row = inbox.get(rows, InboxId(row_number(which)))
        theirs = row is not None and row.person in self.people.selves(caller.person)
        if row is None or not (theirs or policy.may(self.people, caller.approver, Action.INBOX)):
            raise Refused(_(_NONE))
        return row

    def _show(self, tx: Tx, row: InRow) -> None:
        """Take the buttons away from what was said when it was given up; on Bluesky there are none."""
        for told in outbox.of_prefix(tx, f"given_up/{row.id}/"):
            pressed = isinstance(told.detail, TextDetail) and told.detail.press is not None
            if pressed and told.source != BLUESKY and not outbox.withdraw(tx, told.id) and told.content:
                detail = EditDetail(told.key)
                new = outbox.NewRow(
                    f"{told.key}/shown", told.place, told.source, told.content, told.audience, detail=detail
                )
                outbox.add(tx, new, self.clock())
