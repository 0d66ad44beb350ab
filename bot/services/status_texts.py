"""The status of a service in words; imports only what showing it needs. `Config.unset` says what is not configured."""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime

from pydantic import Field

from bot.config.values import OFFLINE
from bot.models.health import ModelHealth
from bot.services.results import Lines, Markdown, Markup, Result, Row
from sources.findings import Finding, State
from sources.text import cells
from texts import _, gettext_noop, ngettext

_MARKS = {State.GOOD: "✅", State.UNSET: "▫️", State.DOUBT: "⚠️", State.PROBLEM: "❌"}
_WORDS = {
    State.GOOD: gettext_noop("ok"),
    State.UNSET: gettext_noop("not set"),
    State.DOUBT: gettext_noop("check"),
    State.PROBLEM: gettext_noop("problem"),
}


class FindingRow(Row):
    about: str
    """In English, for programs."""
    name: str = Field(default="", exclude=True)
    """The same for people, if it contains values."""
    state: State
    words: str
    remedy: str

    def line(self, markup: Markup) -> str:
        remedy = f"\n{markup.small(markup.text(self.remedy))}" if self.remedy else ""
        return f"{_MARKS[self.state]} {markup.text(f'{self.name or _(self.about)}: {self.words}')}{remedy}"


class Findings(Lines[FindingRow]):
    """The findings; the command fails if there is a problem."""

    @classmethod
    def of_checks(cls, found: Iterable[Finding]) -> "Findings":
        return cls.of(FindingRow.from_record(each, name=_(each.about)) for each in found)

    @property
    def code(self) -> int:
        return int(any(row.state is State.PROBLEM for row in self.rows))

    def terminal(self, _markup: Markup) -> str:
        counts = Counter(row.state for row in self.rows)
        problems = ngettext("{count} problem", "{count} problems", counts[State.PROBLEM])
        summary = _("{problems}, {doubts} to check.", problems=problems, doubts=counts[State.DOUBT])
        return "\n".join([*map(finding_text, self.rows), summary])


def finding_text(found: Finding | FindingRow) -> str:
    named = (isinstance(found, FindingRow) and found.name) or _(found.about)
    state, widest = _(_WORDS[found.state]), 2 + max(cells(_(each)) for each in _WORDS.values())
    remedy = f"\n{' ' * widest}-> {found.remedy}" if found.remedy else ""
    return f"{state}{' ' * (widest - cells(state))}{named}: {found.words}{remedy}"


class ModelState(Row):
    model: str
    state: str
    words: str
    since: datetime | None = Field(default=None, exclude=True)
    problem: str = Field(default="", exclude=True)

    @classmethod
    def of(cls, found: ModelHealth) -> "ModelState":
        state = _(found.state.value)
        why = [f"{state}: {found.reason}" if found.reason else state]
        if found.since is not None:
            why = [f"{found.why}.", found.advice] if found.trouble is not None else []
            why += found.pause
        problem = " ".join(why)
        return cls.from_record(found, problem=problem)

    def line(self, markup: Markup) -> str:
        name = markup.text(_("Model {model}", model=self.model))
        if self.since is None:
            return f"{name}: {markup.text(self.problem or self.words)}"
        problem = f": {markup.text(self.problem)}" if self.problem else ""
        state, since = _(self.state), markup.time(self.since)
        return _("{name}: {state} since {since}{problem}", name=name, state=state, since=since, problem=problem)


class ServiceStatus(Result):
    running: bool = True
    started: datetime | None = None
    halted: datetime | None = None
    unstored: str = ""
    """Since when and why a database refuses writes, and what waits; empty if nothing does."""
    constellation: str
    fronts: dict[str, str]
    ready: dict[str, bool] = Field(default_factory=dict)
    """For each front end whether it is connected, and whether the other parts work."""
    not_configured: dict[str, str]
    """Parts that are not configured, each with its setting."""
    models: tuple[ModelState, ...]
    embedding: str
    mcp: dict[str, str]
    agents: dict[str, str]
    """The model of each."""
    waiting: int = 0
    """Notifications that wait for an answer."""
    unsent: int = 0
    dead: int = 0
    failed: int = 0
    """Undelivered rows of the outbox that the owner has to retry or drop."""
    unknown: int = 0
    """The same, but it is unknown whether they were delivered."""
    unfollowed: int = 0
    """Parts of edits and deletions that could not be applied."""
    damage: tuple[str, ...] = ()
    """Damage found in memory during the last days."""
    gaps: tuple[str, ...] = ()
    """Places whose missed messages could not be read."""
    silent: str = ""
    """The command that makes an agent answer again, if none does."""

    def lines(self, markup: Markup) -> list[str]:
        """What needs attention, one line per part, then the numbers."""
        problems = (f"{_titled(each.about)}: {each.words}; {each.remedy}" for each in self.problems())
        counts = gettext_noop("{waiting} waiting for an answer, {unsent} to be sent, {dead} failed")
        return [markup.text(self.heading), *map(markup.text, problems), *self.parts(markup), self.told(markup, counts)]

    @property
    def heading(self) -> str:
        return _("Carina is running (constellation “{constellation}”)", constellation=self.constellation)

    def parts(self, markup: Markup) -> list[str]:
        missing = gettext_noop("{part}: not configured (set {setting})")
        if isinstance(markup, Markdown):  # whose readers set nothing there
            missing = gettext_noop("{part}: not configured")
        unset = self.not_configured.items()
        before = (
            *(f"{_titled(name)}: {words}" for name, words in self.fronts.items()),
            *(_(missing, part=_titled(part), setting=_(setting)) for part, setting in unset),
        )
        after = (
            *([_("Search by meaning: {how}", how=self.embedding)] if self.embedding else []),
            *(_("MCP server “{name}”: {words}", name=name, words=words) for name, words in self.mcp.items()),
            *(_agent(name, model) for name, model in self.agents.items()),
        )
        return [*map(markup.text, before), *(model.line(markup) for model in self.models), *map(markup.text, after)]

    def problems(self) -> Iterator[Finding]:
        """What needs attention."""
        if self.halted:
            words = _("everything has been halted since {halted}", halted=self.halted)
            yield Finding("service", State.DOUBT, words, _("`carina halt release` resumes"))
        if self.unstored:
            remedy = _("free up disk space, or stop the program that is locking the file")
            yield Finding("database", State.PROBLEM, self.unstored.rstrip(".。"), remedy)
        if self.silent:
            remedy = _("{command} lets one answer again", command=_(self.silent))
            yield Finding("agents", State.PROBLEM, _("no agent is answering"), remedy)
        if self.dead:
            words = _("failed messages: {count}", count=self.dead)
            remedy = _("`carina inbox list --dead` shows them")
            yield Finding("inbox", State.DOUBT, words, remedy)
        if count := self.failed + self.unknown:
            words = _("answers that were not delivered, or may not have been: {count}", count=count)
            remedy = _("`carina outbox list` shows them")
            yield Finding("outbox", State.DOUBT, words, remedy)
        if self.unfollowed:
            words = _("parts of edited or deleted messages that could not be removed: {count}", count=self.unfollowed)
            remedy = _("`carina restart` tries again; the log says why")
            yield Finding("memory", State.PROBLEM, words, remedy)
        for words in self.damage:
            yield Finding("memory", State.PROBLEM, words, _("`carina memory verify` shows details"))
        for words in self.gaps:
            remedy = _("make sure the bot can read the channel's history; messages missed there stay unanswered")
            yield Finding("missed messages", State.DOUBT, words, remedy)


def _titled(part: str) -> str:
    """The title of a part; a platform's in its own spelling."""
    words = part.title() if part in ("discord", "bluesky") else _(part)
    return f"{words[:1].upper()}{words[1:]}"


def _agent(name: str, model: str) -> str:
    if model == OFFLINE:
        return _("Agent “{name}”: answers without a language model", name=name)
    return _("Agent “{name}”: answers with {model}", name=name, model=model)
