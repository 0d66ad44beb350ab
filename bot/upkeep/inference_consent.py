"""Asks people whether sensitive inferences about them may be used: a card with two buttons.

It is a job of the run that made the inference, so it asks once, in private, and not in quiet hours. Strangers and
people on Bluesky get no unrequested messages: theirs waits until they look (`/memory dream waiting`).
"""

from datetime import datetime

from msgspec import Struct

from bot.agents.agenda.delivery_to_a_person import PersonalMessages
from bot.agents.owner_notices import own_place
from memory import jobs
from memory.jobs import EntryDue, NewJob
from memory.knowledge.entries import Entry
from memory.knowledge.upkeep import run_records
from memory.people.audience import Trust
from memory.queue import outbox
from memory.store.database import Tx
from memory.store.ids import EntryId, PersonId, place_source
from scheduler import triggers
from scheduler.job_kinds import DueJob, JobResult, Kinds, QueueJob
from scheduler.triggers import DateTrigger
from sources.terminal import SOURCE
from sources.text import one_line
from texts import _, gettext_lazy, language

ASK = "preference"
OFFERS = ("allow", "refuse")
_ASKED_AT = ("discord", SOURCE)
_SHOWN = 500


def plan(tx: Tx, run: str, now: datetime) -> None:
    """Schedule the questions to everybody about whom a run inferred something sensitive."""
    for entry in run_records.pending_of_run(tx, run):
        trigger, payload = triggers.dump(DateTrigger(now)), EntryDue(entry.id)
        job = NewJob(f"{ASK}:{entry.id}", ASK, trigger, now, payload, entry.people[0], entry.audience)
        jobs.put(tx, job, now)


def show(tx: Tx, entry: Entry, words: str, now: datetime) -> None:
    """Show the result on the card, without buttons; an unsent card is withdrawn."""
    row = outbox.of_key(tx, _key(entry.id))
    if row is None or row.status is outbox.Status.WITHDRAWN or outbox.withdraw(tx, row.id):
        return
    outbox.empty(tx, row.id)
    outbox.add_edit(tx, row, "shown", words, now, person=entry.people[0])


class ConsentRequests(Struct, frozen=True):
    messages: PersonalMessages

    def kinds(self) -> Kinds:
        return {ASK: QueueJob(self.ask)}

    def ask(self, tx: Tx, firing: DueJob) -> JobResult:
        entry = run_records.pending_of_id(tx, firing.job.read(EntryDue).entry)
        if entry is None:
            return JobResult(gettext_lazy("it was already decided or withdrawn"))
        person = entry.people[0]
        if entry.trust < Trust.APPROVED:
            return JobResult(gettext_lazy("strangers get no unsolicited messages"))
        if place_source(person) not in _ASKED_AT:
            return JobResult(gettext_lazy("nobody gets unsolicited messages there"))
        if kept := self.messages.kept_back(tx, person, firing.now):
            return kept
        with self.messages.speaking_to(person):
            self._queue(tx, entry, person, firing.now)
        return JobResult(gettext_lazy("asked"))

    def _queue(self, tx: Tx, entry: Entry, person: PersonId, now: datetime) -> None:
        place, audience, _ = self.messages.where(tx, person, own_place(person), entry.audience)
        detail = outbox.TextDetail(press=outbox.PressButtons(ASK, entry.id, OFFERS, language()))
        text = _words(entry, place_source(place))
        row = outbox.NewRow(_key(entry.id), place, text, audience, person=person, agent=entry.agent, detail=detail)
        outbox.add(tx, row, now)


def _key(entry: EntryId) -> str:
    return f"preference/{entry}"


def _words(entry: Entry, source: str) -> str:
    lines = [
        _("From what you said, I inferred something that may be sensitive. I'll use it only if you say yes:"),
        f"> {one_line(entry.content, _SHOWN)}",
    ]
    if source == SOURCE:
        lines.append(_("Answer with `carina dream allow {id}` or `carina dream refuse {id}`.", id=entry.id))
    lines.append(_("-# If you don't answer, I'll never use it, and will forget it after 90 days."))
    return "\n".join(lines)
