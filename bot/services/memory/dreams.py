"""Commands for dreams, the upkeep of long-term memory: show the report, run it, undo it, approve pending changes."""

from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, ClassVar

from pydantic import Field

from bot.agents.permissions import roles_and_rights
from bot.agents.permissions.roles_and_rights import Action, Rank
from bot.errors import UserError
from bot.services.caller import Caller
from bot.services.names import typed_id
from bot.services.registry import Options, Param, operation, suggestions
from bot.services.results import ActionReport, Listing, Markup, Row, report
from bot.services.transactions import MemoryService
from bot.upkeep import inference_consent
from bot.upkeep.dream_run import DreamRun, counts_words
from bot.upkeep.evaluations import RATED
from memory import agents
from memory.knowledge import evaluations, feedback
from memory.knowledge.entries import Entry
from memory.knowledge.upkeep import run_records
from memory.knowledge.upkeep.applied_plans import undo
from memory.knowledge.upkeep.planned_changes import Pass
from memory.knowledge.upkeep.run_records import Item, Run
from memory.store.database import Rows, Tx
from memory.store.records import replace
from sources.text import one_line
from texts import _, gettext_noop, ngettext, ngettext_noop, sentence

_LISTED, _SHOWN = 100, 300
_REPORTS = Options(formerly=("summary.dream",))
_GIVEN = {
    feedback.Signal.CORRECTION: ngettext_noop("{count} correction", "{count} corrections"),
    feedback.Signal.UP: ngettext_noop("{count} thumbs up", "{count} thumbs up"),
    feedback.Signal.DOWN: ngettext_noop("{count} thumbs down", "{count} thumbs down"),
    feedback.Signal.FAILURE: ngettext_noop("{count} tool failure", "{count} tool failures"),
}


_Entry = Annotated[str, Param("Inference, as listed", example="1", suggests="guesses")]


class ReportRow(Row):
    """A line of the report: a run, a change to one entry, or one that was left out."""

    what: str
    at: datetime | None = None
    """Of a run."""
    agent: str = ""
    entry: str = ""
    into: str = ""
    of: str = ""
    audience: str = ""
    text: str

    def line(self, markup: Markup) -> str:
        return (
            markup.text(self.text)
            if self.at is None
            else _("Cleanup on {at}{text}", at=markup.time(self.at), text=markup.text(self.text))
        )


class GuessRow(Row):
    """An inference about the caller, which is not used until they confirm it."""

    id: str
    text: str = Field(validation_alias="content")
    since: datetime = Field(validation_alias="created_at")
    phrase = "{text}{id}"
    suggested = "text"


class Dreams(MemoryService, frozen=True):
    titles: ClassVar = {"dream": "Show and control the cleanup of long-term memory"}

    upkeep: DreamRun
    announce: Callable[[], None]
    """Called when a message may have been queued."""

    @operation("dream.report", "Show what the latest cleanup did", Action.READ_MEMORY, _REPORTS)
    def report(self, rows: Rows, caller: Caller) -> Listing[ReportRow]:
        owner = roles_and_rights.rank_of(self.people, caller.approver) is Rank.OWNER
        run = run_records.latest_run(rows) if owner else run_records.latest_seen(rows, caller.scope)
        if run is None:
            return Listing.of((), _("Memory has not been cleaned up yet."))
        items, hidden = run_records.reported(rows, run.id, caller.scope, _LISTED)
        names = {each.id: each.name for each in agents.every_agent(rows)}
        if not owner:
            seen = (_item(run, item, names.get(item.agent, item.agent)) for item in items)
            return Listing.of((_head(_as_seen(run, items)), *seen))
        since = run.at - run_records.WEEK
        given, went = feedback.tallied(rows, list(names), since), evaluations.tallied(rows, list(names), since)
        told = [_head(run), *_lines(run, items, hidden, names), *_signals(given), *_talks(*went)]
        earlier = None if items or hidden else run_records.newest_done(rows)
        if earlier is not None and earlier.id != run.id:  # the run that can be undone stays visible
            items, hidden = run_records.reported(rows, earlier.id, caller.scope, _LISTED)
            told += [_head(earlier), *_lines(earlier, items, hidden, names)]
        return Listing.of(told)

    @operation("dream.run", "Clean up long-term memory now", Action.JOBS, Options(changes=True, seconds=None))
    async def run(self, _caller: Caller) -> str:
        return sentence(_((await self.upkeep.run()).words or gettext_noop("there is nothing new")))

    @operation("dream.undo", "Undo the latest cleanup that changed something", Action.EDIT_ANY)
    def undo(self, tx: Tx, _caller: Caller) -> ActionReport:
        undone = undo(tx, self.clock())
        run, gone, allowed = undone.run, undone.gone, undone.allowed
        missing = _(" Since then, entries from {gone} of its changes have been removed.", gone=gone) if gone else ""
        stays = (
            ngettext(
                " {count} inference stays, because it was approved.",
                " {count} inferences stay, because they were approved.",
                allowed,
            )
            if allowed
            else ""
        )
        return report(
            _("The cleanup from {at} was undone: {text}"),
            at=run.at,
            text=_("{counts}; everything is as it was before.", counts=counts_words(run)) + missing + stays,
        )

    @operation("dream.waiting", "List inferences about you that are waiting for your approval", Action.READ_MEMORY)
    @suggestions("guesses")
    def list_waiting(self, rows: Rows, caller: Caller) -> Listing[GuessRow]:
        own = self.people.selves(caller.person)
        found = map(GuessRow.from_record, run_records.pending_of_people(rows, sorted(own)))
        return Listing.of(found, _("Nothing is waiting for your approval."))

    @operation("dream.allow", "Approve an inference about you", Action.CHANGE_OWN)
    def allow(self, tx: Tx, caller: Caller, entry: _Entry) -> str:
        found = self._answered(tx, caller, entry, yes=True)
        return _("I'll use it from now on: {content}", content=found.content)

    @operation("dream.refuse", "Reject and forget an inference about you", Action.CHANGE_OWN)
    def refuse(self, tx: Tx, caller: Caller, entry: _Entry) -> str:
        self._answered(tx, caller, entry, yes=False)
        return _("Forgotten. It was never used.")

    def _answered(self, tx: Tx, caller: Caller, identifier: str, *, yes: bool) -> Entry:
        found = run_records.answer_pending(tx, identifier, sorted(self.people.selves(caller.person)), yes=yes)
        if found is None:
            raise UserError(
                "There is no inference “{identifier}” waiting for your approval. `carina dream waiting` lists them.",
                identifier=identifier,
            )
        words = (
            _("✓ I'll use it from now on: {content}", content=one_line(found.content, _SHOWN))
            if yes
            else _("✗ Forgotten.")
        )
        inference_consent.show(tx, found, words, self.clock())
        return found


def _head(run: Run) -> ReportRow:
    state = {"undone": _(", undone since"), "refused": _(", rejected by its own checks")}.get(run.outcome, "")
    return ReportRow(what="run", at=run.at, text=sentence(f"{state}: {_(counts_words(run))}"))


def _as_seen(run: Run, items: list[Item]) -> Run:
    """A run limited to these items; people who may not know the others do not see their number either."""
    done = Counter(item.action for item in items)
    return replace(run, retired=done["merged"] + done["retired"], made=done["made"], refined=done["refined"], related=0)


def _lines(run: Run, items: list[Item], hidden: int, names: dict[Any, str]) -> list[ReportRow]:
    lines = [_item(run, item, names.get(item.agent, item.agent)) for item in items]
    if hidden:
        more = ngettext("{count} more change", "{count} more changes", hidden)
        lines.append(ReportRow(what="hidden", text=_("{more} that you cannot see.", more=more)))
    return [*lines, *(ReportRow(what="left", text=_("Skipped: {note}.", note=note)) for note in run.notes)]


def _item(run: Run, item: Item, agent: str) -> ReportRow:
    words = one_line(item.content, _SHOWN)
    match item.action:
        case "made" if item.waiting:
            said = _("inferred, and waiting for the person's approval: “{words}”", words=words)
        case "made":
            said = _(
                "created{entry} ({item}): “{words}”",
                entry=typed_id(item.entry),
                item=item.category or _("no category"),
                words=words,
            )
        case "merged":
            said = _("merged into another entry{entry}: “{words}”", entry=typed_id(item.into or ""), words=words)
        case "retired" if item.of is Pass.CONTRADICTIONS:
            said = _("retired because it is no longer true: “{words}”", words=words)
        case "retired":
            said = _("retired as noise: “{words}”", words=words)
        case _ if run.outcome == "undone":
            said = _("category and tags corrected: “{words}”", words=words)
        case _:
            tags = _(", tags {names}", names=", ".join(item.tags)) if item.tags else ""
            said = _(
                "{item} became {category}{tags}: “{words}”",
                item=item.before["category"] or _("no category"),
                category=item.category,
                tags=tags,
                words=words,
            )
    return ReportRow(
        what=item.action,
        agent=agent,
        entry=item.entry,
        into=item.into or "",
        of=str(item.of),
        audience=item.audience,
        text=f"{agent}: {said}",
    )


def _signals(given: dict[feedback.Signal, int]) -> list[ReportRow]:
    if not given:
        return []
    said = ", ".join(ngettext(*_GIVEN[kind], count) for kind, count in sorted(given.items()))
    return [ReportRow(what="feedback", text=_("In the week before: {said}.", said=said))]


def _talks(went: Counter[evaluations.Quality], failed: Counter[str]) -> list[ReportRow]:
    if not went:
        return []
    said = ", ".join(_(RATED[each], count=went[each]) for each in evaluations.Quality if went[each])
    tools = _("; tools that failed or did not help: {names}", names=", ".join(sorted(failed))) if failed else ""
    return [ReportRow(what="talks", text=_("Conversations in that week: {said}{tools}.", said=said, tools=tools))]
