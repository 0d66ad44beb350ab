"""Imports exports of other programs: messages, notes and agents, with a line in the report for each record."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, ClassVar

from msgspec import Struct
from pydantic import Field, ValidationError

from bot.agents.initial_blocks import seed_agent
from bot.agents.permissions.roles_and_rights import Action
from bot.config.file_settings import Agent as Section
from bot.config.problems import unfit
from bot.errors import CallError, UserError
from bot.runtime.configured_constellation import agent_row
from bot.services.caller import TERMINAL_ONLY, Caller
from bot.services.names import find_living, named_audience
from bot.services.registry import AT_TERMINAL, Arguments, Options, Param, operation
from bot.services.results import Listing, Markup, Result, Row
from bot.services.transactions import MemoryService, commit, tried
from memory import agents
from memory.knowledge import entry_changes
from memory.knowledge.entries import NewEntry, Origin
from memory.people.audience import Audience, Scope, Trust
from memory.portability import foreign_exports, import_outcomes
from memory.portability.foreign_exports import Note, OldAgent, Record, SkippedRecord, Talk
from memory.portability.import_outcomes import Outcome
from memory.queue import messages
from memory.queue.messages import NewMessage
from memory.store.constellations import Constellations
from memory.store.database import Rows, Tx
from memory.store.errors import Refused
from memory.store.ids import AgentId, PersonId, PlaceId
from sources.terminal import PERSON
from texts import _, error_text, gettext_noop, ngettext, number_text

_OUTCOMES = {
    "carried": gettext_noop("imported"),
    "changed": gettext_noop("changed"),
    "known": gettext_noop("already imported"),
    "refused": gettext_noop("left out"),
}
_BATCH = 200
_SHOWN = 50
_LONGEST = 1_000_000  # length of a message or a prompt
_UNDOES = Options(via=TERMINAL_ONLY, changes=True, seconds=None, asks=True)


def _imports(example: str) -> Options:
    return Options(via=TERMINAL_ONLY, changes=True, seconds=None, example=example)


class OneImport(Arguments):
    file: Annotated[Path, Param("The file or folder to import", via=TERMINAL_ONLY)]
    audience: Annotated[
        str,
        Param(
            "Who can see it: owner, public, guild:discord:1234, channel:discord:1234 or person:discord:1234",
            metavar="WHO",
        ),
    ] = ""
    agent: Annotated[str, Param("Agent that gets the imported notes (default: the first)", metavar="NAME")] = ""
    dry_run: Annotated[bool, Param("Only show what would be imported")] = False
    as_owner: Annotated[str, Param("Author in the file whose messages are your own", metavar="NAME")] = ""


_Origin = Annotated[str, Field(min_length=6), Param("Name of the import, as listed", example="chatgpt:5f2ab1")]


class OutcomeRow(Row):
    record: str
    outcome: str
    reason: str

    def line(self, markup: Markup) -> str:
        return markup.text(f"{self.record}: {_(_OUTCOMES[self.outcome])}{f', {self.reason}' if self.reason else ''}")


class Report(Result):
    """The outcome of an import, with the first records that were changed or refused."""

    source: str
    origin: str
    dry_run: bool
    carried: int
    changed: int
    refused: int
    known: int
    """Imported before."""
    strangers: tuple[str, ...] = ()
    """Authors whose messages count as a stranger's."""
    listed: tuple[OutcomeRow, ...]

    def lines(self, markup: Markup) -> list[str]:
        would = gettext_noop("Would import {records}, {changed} of them changed; {refused} left out.")
        done = gettext_noop("Imported {records}, {changed} of them changed; {refused} left out.")
        records = ngettext("{count} record", "{count} records", self.carried + self.changed)
        head = [self.told(markup, would if self.dry_run else done, records=records)]
        if self.known:
            head.append(ngettext("{count} was already imported.", "{count} were already imported.", self.known))
        others = gettext_noop(
            "Messages from {strangers} are treated as messages from strangers. `--as-owner NAME` "
            "imports yours as your own."
        )
        more = [self.told(markup, others)] if self.strangers else []
        if not self.dry_run:
            text = _("`carina import report` lists imports; `carina import undo {origin}` undoes this one.")
            more.append(text.format(origin=self.origin[:16]))
        return [" ".join(head), *(each.line(markup) for each in self.listed), *more]


class ImportRow(Row):
    constellation: str
    origin: str
    source: str
    at: datetime
    carried: int
    changed: int
    refused: int

    phrase = gettext_noop(
        "{origin} ({source}) into {constellation}, {at}: {carried} imported, {changed} changed, {refused} left out"
    )


class _Target(Struct, frozen=True):
    source: str
    origin: str
    agent: AgentId
    audience: Audience
    now: datetime
    owner: frozenset[str]
    """The owner's accounts, and the owner's name in the file, in lower case."""

    def is_owner(self, said: Talk) -> bool:
        """Whether the owner said it: a person's own export does not name them."""
        return said.role == "user" and (
            not said.speaker or not self.owner.isdisjoint({said.person, said.speaker.casefold()})
        )


class Imports(MemoryService, frozen=True):
    titles: ClassVar = {"import": "Import what was exported from Carina or other programs"}

    constellations: Constellations

    @operation(
        "import.chatgpt",
        "Import the conversations from a ChatGPT export",
        Action.AGENTS,
        _imports("conversations.json"),
    )
    async def chatgpt(self, _caller: Caller, arguments: OneImport) -> Report:
        return await self._take(
            "chatgpt", arguments, lambda path: foreign_exports.chatgpt(foreign_exports.read_json(path))
        )

    @operation(
        "import.discord", "Import your own messages from a Discord data package", Action.AGENTS, _imports("package.zip")
    )
    async def discord(self, _caller: Caller, arguments: OneImport) -> Report:
        return await self._take("discord", arguments, foreign_exports.discord)

    @operation("import.letta", "Import the agents from a Letta agent file", Action.AGENTS, _imports("sam.af"))
    async def letta(self, _caller: Caller, arguments: OneImport) -> Report:
        return await self._take("letta", arguments, lambda path: foreign_exports.letta(foreign_exports.read_json(path)))

    @operation(
        "import.markdown", "Import the notes from a folder into long-term memory", Action.AGENTS, _imports("~/notes")
    )
    async def markdown(self, _caller: Caller, arguments: OneImport) -> Report:
        if not arguments.file.is_dir():
            raise UserError("{path} is not a folder.", path=arguments.file)
        return await self._take("markdown", arguments, foreign_exports.markdown)

    @operation(
        "import.v1", "Import a CAR file from version 1 of the program Pattern", Action.AGENTS, _imports("old.car")
    )
    async def version_1(self, _caller: Caller, arguments: OneImport) -> Report:
        return await self._take("v1", arguments, foreign_exports.version_1)

    @operation("import.report", "List imports and what happened to their records", Action.AGENTS, AT_TERMINAL)
    async def report(self, _caller: Caller) -> Listing[ImportRow]:
        """The imports of all constellations, newest first; each constellation keeps its own records."""
        found = await self.constellations.read_each(import_outcomes.past_imports)
        every = ((name, past) for name, imports in found.items() for past in imports)
        rows = [ImportRow.from_record(past, constellation=name, origin=past.origin[:16]) for name, past in every]
        rows.sort(key=lambda row: row.at, reverse=True)
        return Listing.of(rows, _("Nothing has been imported yet."))

    @operation("import.records", "Show what happened to each record in an import", Action.AGENTS, AT_TERMINAL)
    def show(self, rows: Rows, _caller: Caller, origin: _Origin) -> Listing[OutcomeRow]:
        found = import_outcomes.outcomes(rows, _origin(rows, origin), 10_000)
        return Listing.of(map(OutcomeRow.from_record, found), _("This import has no records."))

    @operation("import.undo", "Undo an import", Action.AGENTS, _UNDOES)
    def undo(self, tx: Tx, caller: Caller, origin: _Origin) -> str:
        found = _origin(tx, origin)
        caller.confirm(
            _("Delete the messages and entries from the import {origin}, and archive its agents?", origin=found)
        )
        if not (count := import_outcomes.undo(tx, found, self.clock())):
            raise UserError(
                "The import {origin} has nothing left to undo. Imports of CAR files cannot be undone: use `carina "
                "agent archive` or `carina constellation delete`.",
                origin=origin,
            )
        return ngettext("Removed {count} imported record.", "Removed {count} imported records.", count)

    async def _take(self, source: str, arguments: OneImport, reader: Callable[[Path], Iterable[Record]]) -> Report:
        """Store records in batches; each batch and its report are one transaction."""
        if not arguments.audience:
            raise CallError("Use --audience to choose who can see it, such as owner or public.")
        audience = named_audience(arguments.audience)
        if not arguments.file.exists():
            raise UserError("There is no {file}.", file=arguments.file)
        agent = (await self.database.read(lambda rows: find_living(rows, arguments.agent))).id
        file = arguments.file
        origin = await asyncio.to_thread(foreign_exports.digest, file)
        owner = frozenset({*self.people.selves(PERSON), arguments.as_owner.casefold()} - {""})
        target = _Target(source, f"{source}:{origin}", agent, audience, self.clock(), owner)
        counts, listed = Counter[str](), list[Outcome]()
        found = await asyncio.to_thread(foreign_exports.whole, partial(reader, file), file)
        said = [each for each in found if isinstance(each, Talk) and each.role == "user"]
        strangers = {each.speaker for each in said if not target.is_owner(each)}
        if arguments.as_owner and arguments.as_owner.casefold() not in {each.speaker.casefold() for each in said}:
            raise UserError("Nobody in this file is named “{name}”.", name=arguments.as_owner)
        for at in range(0, len(found), _BATCH):
            store = partial(_store, batch=found[at : at + _BATCH], target=target)
            done = await (tried if arguments.dry_run else commit)(self.database, store)
            counts.update(each.outcome for each in done)
            listed += [each for each in done if each.outcome in ("changed", "refused")]
        return Report(
            source=source,
            origin=target.origin,
            dry_run=arguments.dry_run,
            strangers=tuple(sorted(strangers))[:_SHOWN],
            listed=tuple(map(OutcomeRow.from_record, listed[:_SHOWN])),
            **{name: counts[name] for name in _OUTCOMES},
        )


def _origin(rows: Rows, given: str) -> str:
    """The import whose name begins with this. Raises UserError."""
    found = {each.origin for each in import_outcomes.past_imports(rows) if each.origin.startswith(given)}
    if len(found) != 1:
        raise UserError("There is no import “{origin}” here. `carina import report` shows them.", origin=given)
    return found.pop()


def _store(tx: Tx, batch: Sequence[Record], target: _Target) -> list[Outcome]:
    done = []
    for each in batch:
        outcomes = _known(tx, each, target)
        if outcomes is None:
            try:
                outcomes = _outcomes(each, _stored(tx, each, target))
            except Refused as error:
                outcomes = _refused(each, error_text(error)[:500])
            except ValidationError as error:
                wrong = (f"{'.'.join(map(str, item['loc']))}: {unfit(item)}" for item in error.errors())
                outcomes = _refused(each, "; ".join(wrong)[:500])
        for outcome in outcomes:
            if outcome.outcome != "known":
                import_outcomes.note(tx, target.source, target.origin, outcome, target.now)
        done += outcomes
    return done


def _known(rows: Rows, each: Record, target: _Target) -> list[Outcome] | None:
    if import_outcomes.carried(rows, target.source, each.key):
        return [Outcome(each.key, "known")]
    said = each.text if isinstance(each, Talk) else each.prompt if isinstance(each, OldAgent) else ""
    if len(said) > _LONGEST:
        return _refused(each, _("it is longer than {most} characters", most=number_text(_LONGEST)))
    if isinstance(each, OldAgent) and agents.agent_named(rows, each.name) is not None:
        return _refused(each, _("there is already an agent “{name}”", name=each.name[:60]))
    return None


def _refused(each: Record, why: str) -> list[Outcome]:
    blocks = each.blocks if isinstance(each, OldAgent) else ()
    with_it = (Outcome(block.key, "refused", _("its agent was left out")) for block in blocks)
    return [Outcome(each.key, "refused", why), *with_it]


def _outcomes(each: Record, became: str) -> list[Outcome]:
    match each:
        case SkippedRecord(key=key, why=why):
            return [Outcome(key, "refused", why)]
        case OldAgent():
            blocks = [_outcome(block.key, block.changes) for block in each.blocks]
            return [_outcome(each.key, each.changes, became), *blocks]
        case _:
            return [_outcome(each.key, each.changes, became)]


def _outcome(key: str, changes: Sequence[str], became: str = "") -> Outcome:
    return Outcome(key, "changed" if changes else "carried", "; ".join(changes)[:2_000], became)


def _stored(tx: Tx, each: Record, target: _Target) -> str:
    """Store a record; returns the id of its row. Raises Refused, ValidationError."""
    match each:
        case Talk():
            own = target.is_owner(each)
            person = PersonId(each.person) if each.person else PERSON if own else None
            heard = NewMessage(
                PlaceId(f"import:{target.source}:{each.conversation}"), person, each.speaker, each.text, "import",
                f"{target.source}/{each.key}", target.audience, Trust.OWNER if own else Trust.STRANGER,
                each.at, "user" if each.role == "user" else "system",
            )  # fmt: skip
            return f"messages {messages.add(tx, heard)}"
        case Note():
            new = NewEntry(each.text, Origin(Scope(target.audience), Trust.STRANGER, PERSON), tags=each.tags)
            return f"archival_entries {entry_changes.insert(tx, target.agent, new, target.now).id}"
        case OldAgent():
            shown_to = target.audience if target.audience in ("public", "owner") else "owner"
            blocks = [{**block.table, "audience": shown_to} for block in each.blocks]
            given = {"name": each.name, "blocks": blocks} | ({"system_prompt": each.prompt} if each.prompt else {})
            made = agent_row(Section.model_validate(given), show_name=False)
            seed_agent(tx, made, target.now)
            return f"agents {made.id}"
        case SkippedRecord():
            return ""
