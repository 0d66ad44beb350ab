"""Commands for archival entries, scoped like messages in the place. `memory.knowledge.entries` has the rows."""

import contextlib
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar

from pydantic import Field

from bot.agents.agenda.tasks import find_one
from bot.agents.permissions import roles_and_rights
from bot.agents.permissions.roles_and_rights import Action, Change, MemoryRights
from bot.errors import UserError
from bot.services.caller import Caller
from bot.services.memory.block_results import SharedBlock
from bot.services.names import find_agent, named_audience, where
from bot.services.registry import ASKS, KEEPS, Arguments, Param, operation, suggestions
from bot.services.results import Listing, Markup, Result, Row, forgotten
from bot.services.transactions import MemoryService
from memory import agents
from memory.agents import Agent
from memory.blocks.revert import Editor
from memory.erasure.forgotten_entries import forget_entry
from memory.knowledge import entries, entry_changes, repeated_entries
from memory.knowledge.entries import Entry, NewEntry, Origin
from memory.people.audience import Scope
from memory.queue import turns
from memory.store.database import Rows, Tx
from memory.store.errors import EntryNotFound, Refused
from memory.store.ids import AgentId, EntryId, PersonId, code
from memory.wider_audience import require_widening_entry, widen_entry
from sources.text import one_line
from texts import _, gettext_noop, ngettext, ngettext_noop

_MOST, _SUGGESTED = 1_000, 100
_SHOWN = 200  # length of an entry in a list

_NO_ENTRY = gettext_noop("There is no entry “{which}” here.")
_SEVERAL_ENTRIES = gettext_noop("Several entries match “{which}”. Choose one: {listed}.")

_Agent = Annotated[str, Param("Only this agent's memory", metavar="NAME", suggests="agents")]
_Which = Annotated[str, Param("Words from the entry, its name or its number", example="dentist", suggests="entries")]
_Limit = Annotated[int, Field(ge=1, le=_MOST), Param("Maximum number to show, newest first", metavar="ROWS")]
_Audience = Annotated[str, Param("Who can see it", example="public", metavar="AUDIENCE", suggests="audiences")]


class AddEntry(Arguments):
    text: Annotated[str, Param("What to keep, in full sentences", example="My dentist is on Elm Street.")]
    label: Annotated[str, Field(max_length=100), Param("Short name for the entry", metavar="NAME")] = ""
    category: Annotated[str, Field(max_length=200), Param("Category, such as health/teeth", metavar="PATH")] = ""
    tag: Annotated[tuple[str, ...], Param("Tag to find it by", metavar="WORD")] = ()
    agent: Annotated[
        str, Param("Agent that keeps it (default: the one that last answered you)", metavar="NAME", suggests="agents")
    ] = ""


class EntryRow(Row):
    suggested = "brief"
    id: str
    agent: str
    label: str
    category: str
    tags: tuple[str, ...]
    importance: float
    reinforcement: int
    metadata: dict[str, Any]
    text: str = Field(validation_alias="content")
    people: tuple[str, ...]
    audience: str
    stored: datetime = Field(validation_alias="created_at")
    changed: datetime = Field(validation_alias="updated_at")
    last_seen: datetime | None
    whole: str = Field(exclude=True)
    """The whole readable text."""

    @classmethod
    def of(cls, entry: Entry, names: Mapping[AgentId, str]) -> "EntryRow":
        return cls.from_record(entry, agent=names.get(entry.agent, ""), whole=whole_text(entry))

    @property
    def name(self) -> str:
        """The label, if it has one that can be shown."""
        return entries.shown_name(self.label, "")

    @property
    def brief(self) -> str:
        text = one_line(self.text, _SHOWN)
        return f"{self.name}: {text}" if self.name else text

    def line(self, markup: Markup) -> str:
        return f"{markup.text(self.brief)}{markup.number(code(self.id))}"


class EntryDetails(Result):
    row: EntryRow

    def lines(self, markup: Markup) -> list[str]:
        row = self.row
        named, plain = gettext_noop("{name}, stored {stored}"), gettext_noop("Stored {stored}")
        return [row.told(markup, named if row.name else plain), markup.text(row.whole)]


class AddedEntry(Result):
    row: EntryRow
    already: bool
    """Its words were already known."""
    not_taken: tuple[str, ...]
    """The parts of the request that it lacks."""

    def lines(self, markup: Markup) -> list[str]:
        kept, named = gettext_noop("{agent} will remember it.{id}"), gettext_noop("{agent} will remember it as {name}.")
        values = {"name": markup.text(self.row.name), "id": markup.number(code(self.row.id))}
        said = [self.row.told(markup, named if self.row.name else kept, **values)]
        if self.already:
            said.append(_("I already knew that; now I'm more certain of it."))
        if self.not_taken:
            said.append(_("Not saved: {parts}.", parts="; ".join(markup.text(_(each)) for each in self.not_taken)))
        return [" ".join(said)]


class WidenedEntry(SharedBlock):
    entry: str


class Archive(MemoryService, frozen=True):
    titles: ClassVar = {"archival": "Manage long-term memory entries"}

    @operation("archival.list", "List the newest entries you can see here", Action.READ_MEMORY)
    def list_entries(self, rows: Rows, caller: Caller, limit: _Limit = 20, agent: _Agent = "") -> Listing[EntryRow]:
        named = agents_called(rows, agent)
        found = [each for of in named for each in entries.latest(rows, of.id, caller.scope, limit=limit)]
        found.sort(key=lambda entry: (entry.created_at, entry.id), reverse=True)
        names = {agent.id: agent.name for agent in named}
        shown = (EntryRow.of(entry, names) for entry in found[:limit])
        return Listing.of(shown, _("There are no entries to show here."))

    @operation("archival.show", "Show one entry in full", Action.READ_MEMORY)
    def show_entry(self, rows: Rows, caller: Caller, entry: _Which, agent: _Agent = "") -> EntryDetails:
        found = _entry(rows, agent, entry, caller.scope)
        return EntryDetails(row=EntryRow.of(found, {each.id: each.name for each in agents.every_agent(rows)}))

    @operation("archival.add", "Add an entry, used only in private conversations with you", Action.KEEP, KEEPS)
    def add_entry(self, tx: Tx, caller: Caller, arguments: AddEntry) -> AddedEntry:
        origin = Origin(caller.scope, caller.trust, caller.person)
        entry = NewEntry(arguments.text, origin, arguments.label or None, arguments.category, arguments.tag)
        now = self.clock()
        keeper = _keeper(tx, arguments.agent, caller.person)
        try:
            known = repeated_entries.is_known(tx, keeper.id, entry)
            kept = entry_changes.insert(tx, keeper.id, entry, now)
        except Refused as error:
            raise Refused("This cannot be stored: {error}.", error=error) from error
        row, left = EntryRow.of(kept, {keeper.id: keeper.name}), tuple(repeated_entries.not_taken(kept, entry))
        return AddedEntry(row=row, already=known, not_taken=left)

    @operation(
        "archival.delete", "Delete an entry, your messages behind it, and answers that used it", Action.CHANGE_OWN, ASKS
    )
    def delete_entry(self, tx: Tx, caller: Caller, entry: _Which, agent: _Agent = "") -> str:
        """Delete an entry, with the messages it came from if they are the caller's.

        One that is found by words is shown first, because they may have meant another.
        """
        now = self.clock()
        found = _entry(tx, agent, entry, caller.scope)
        held = MemoryRights(found.people, found.audience, (Change.FORGET,))
        self.require_change(caller, Change.FORGET, held)
        count = forget_entry(tx, found, self.asking(caller, found.people), now)
        if entry.removeprefix("#") not in (found.id, code(found.id)):
            one, more = ngettext_noop(
                "Delete this entry and {count} message with it? {text}",
                "Delete this entry and {count} messages with it? {text}",
            )
            text = one_line(found.content, _SHOWN)
            asked = ngettext(one, more, count, text=text) if count else _("Delete this entry? {text}", text=text)
            caller.confirm(asked)  # otherwise it is rolled back
        return forgotten(count)

    @operation("archival.widen", "Share an entry that contains only your own words", Action.WIDEN, ASKS)
    def widen_entry(
        self, tx: Tx, caller: Caller, entry: _Which, audience: _Audience, agent: _Agent = ""
    ) -> WidenedEntry:
        """Widen the audience of an entry in its current version; the caller confirms the text, and is asked again if it
        changes."""
        to, person, scope = named_audience(audience), caller.person, caller.scope
        owner = roles_and_rights.may(self.people, caller.approver, Action.EDIT_ANY)
        editor = Editor(person, self.people.selves(person), owner, scope, caller.trust, self.clock())
        found = _entry(tx, agent, entry, scope)
        told = WidenedEntry(
            named=_("Entry {entry}", entry=found.label) if found.label else _("This entry"),
            entry=entries.shown_name(found.label, found.id),
            before=where(tx, found.audience, scope),
            after=where(tx, to, scope),
            audience=str(to),
            text=whole_text(found),
        )
        try:
            require_widening_entry(tx, editor, found, to)
            caller.confirm(told.question)
            widen_entry(tx, editor, found, to)
        except Refused as error:
            raise Refused("This cannot be shared more widely: {error}.", error=error) from error
        return told

    @suggestions("entries")
    async def suggest(self, caller: Caller) -> Listing[EntryRow]:
        return await self.list_entries(caller, limit=_SUGGESTED)


def whole_text(entry: Entry) -> str:
    """All readable parts of an entry: its text, then category, tags and metadata."""
    more = {_("category"): entry.category, _("tags"): ", ".join(entry.tags)}
    more |= {str(name): str(value) for name, value in entry.metadata.items()}
    return "\n".join([entry.content, *(f"({name}: {value})" for name, value in more.items() if value)])


def agents_called(rows: Rows, name: str) -> list[Agent]:
    """The agent of that name, or all, including archived ones, whose memory stays. Raises UserError."""
    return [find_agent(rows, name)] if name else agents.every_agent(rows)


def _keeper(rows: Rows, name: str, person: PersonId) -> Agent:
    """The agent that stores a person's entry: the named one, else the one that answered them last, else the first."""
    living = [agent for agent in agents_called(rows, name) if agent.status != "archived"]
    if not living:
        who = _("The agent “{name}”", name=name) if name else _("Every agent")
        raise UserError("{name} is archived. `carina agent restore` restores it.", name=who)
    last = turns.answered_last(rows, person)
    return next((agent for agent in living if agent.id == last), living[0])


def _entry(rows: Rows, agent: str, label: str, scope: Scope) -> Entry:
    """The entry with this label, number or text, or with part of its text. Raises UserError, Refused."""
    found = dict[EntryId, tuple[Agent, Entry]]()
    for of in agents_called(rows, agent):
        with contextlib.suppress(EntryNotFound):
            entry = entries.read(rows, of.id, label, scope)
            found[entry.id] = of, entry
            if entry.id == label:
                return entry
    if not found:
        if (whole := entries.ending(rows, label, scope)) is not None:
            return _entry(rows, agent, whole, scope)
        every = [each for of in agents_called(rows, agent) for each in entries.latest(rows, of.id, scope, _MOST)]
        return find_one(every, label, lambda each: each.content, _NO_ENTRY, _SEVERAL_ENTRIES)
    if len(found) > 1:
        named = ((code(each, found), of.name) for each, (of, _entry) in found.items())
        which = ", ".join(_("{id} ({agent})", id=f"#{end}", agent=name) for end, name in named)
        raise UserError("Several agents have an entry “{label}”. Choose one by ID: {which}.", label=label, which=which)
    return next(entry for _of, entry in found.values())
