"""Unprompted messages to one person: due reminders (of `reminder_scheduling.ReminderJob`), announced events, questions
for consent.

They are delivered in the place that they belong to if its audience may know them, else to the person alone, and in the
person's language. People who opted out get none, and quiet hours (`quiet_hours.py`) delay those that are not urgent.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime

from msgspec import Struct

from bot.agents.agenda.quiet_hours import held_back, quiet_until
from bot.agents.owner_notices import Notices, own_place
from bot.agents.permissions.roles_and_rights import Selves
from memory.knowledge.working_memory import PATROL
from memory.people import person_settings
from memory.people.audience import OWNER, Audience, Scope, person_audience
from memory.queue import inbox, outbox
from memory.store.database import Rows, Tx
from memory.store.ids import PersonId, PlaceId, place_source
from memory.store.records import replace
from scheduler.job_kinds import JobResult
from sources.api import SOURCE as API
from sources.terminal import PLACE
from texts import gettext_lazy, language, speaking


class PersonalMessages(Struct, frozen=True):
    """Queues messages to persons. What the owner sets at the terminal, over HTTP or by a patrol comes as a notice."""

    notices: Notices
    zone: str
    opted_out: Callable[[PersonId], bool]
    selves: Selves
    spoken: Callable[[PersonId], str]
    """The language that a person chose; empty without a choice."""

    def kept_back(self, rows: Rows, person: PersonId, now: datetime, *, urgent: bool = False) -> JobResult | None:
        """The reason why a person gets no message now; None if there is none."""
        if self.opted_out(person):
            return JobResult(gettext_lazy("the person opted out"))
        return None if urgent else held_back(quiet_until(rows, self.selves(person), self.zone, now))

    def speaking_to(self, person: PersonId) -> AbstractContextManager[None]:
        """Within the context, texts are in the language that the person chose."""
        return speaking(self.spoken(person) or language())

    def say(self, tx: Tx, row: outbox.NewRow, now: datetime, press: outbox.PressButtons | None = None) -> None:
        """Queue a message to the row's person if its audience may know it; if others read it, mention the person."""
        person = row.person or PersonId("")
        place, audience, mention = self.where(tx, person, row.place, row.audience)
        named = mention and place_source(place) == "discord"
        text = f"<@{person.partition(':')[2]}> {row.content}" if named else row.content
        detail = outbox.TextDetail(mentions=(person,) if mention and person else (), press=press)
        outbox.add(tx, replace(row, place=place, content=text, audience=audience, detail=detail), now)

    def read_on(self, rows: Rows, person: PersonId, place: PlaceId, audience: Audience) -> str:
        """The source of the place where it is delivered."""
        return place_source(self.where(rows, person, place, audience)[0])

    def where(self, rows: Rows, person: PersonId, place: PlaceId, audience: Audience) -> tuple[PlaceId, Audience, bool]:
        """Where to deliver what was set in a place: the place, its audience, and whether to name the person."""
        only_answers = place_source(place) == API and audience == OWNER  # over HTTP nobody reads later messages
        if place == PLACE.id or place_source(place) == PATROL or only_answers:
            return self.notices.place, OWNER, False
        known = inbox.place(rows, place)
        alone = person_settings.of(rows, self.selves(person)).reminders == "privately"
        if known is not None and known.kind != "direct" and not alone:
            hearers = Scope(known.audience, frozenset(known.within))
            if hearers.may_use(audience):
                return known.id, known.audience, True
        return own_place(person), OWNER if audience == OWNER else person_audience(person), False
