"""Commands for activity, tasks and notes of agents, scoped like messages in the place.

The owner and admins assign, hand over and note as agents do with `coord`, and change tasks with `tasks`
(`bot.services.people.tasks`). What they write is readable by the audience of the place where they call; at the
terminal, by the audience that they name.
"""

from datetime import datetime, timedelta
from typing import Annotated, ClassVar

from pydantic import Field, InstanceOf

from bot.agents.context.situation import folded
from bot.agents.permissions.roles_and_rights import Action
from bot.services.caller import TERMINAL_ONLY, Caller, is_offered
from bot.services.names import find_living, named_audience
from bot.services.people.tasks import TaskRow, tree_lines
from bot.services.registry import KEEPS, Arguments, Param, operation
from bot.services.results import ActionReport, Listing, Markup, Result, Row, report
from bot.services.transactions import ZonedService
from memory import activity, coordination
from memory.activity import Details, Event, EventFilter, Importance, Kind, TaskChanged, ToolUsed
from memory.agenda import tasks
from memory.agents import Agent
from memory.coordination import Handoff
from memory.knowledge.items import By
from memory.people.audience import Scope, Trust
from memory.people.identities import person_called
from memory.store.database import Rows, Tx
from memory.store.ids import AgentId, PersonId
from memory.store.records import replace
from sources.names import place_title
from sources.terminal import PLACE
from sources.text import one_line
from texts import _, gettext_noop, number_text

_LISTED, _SHOWN = 20, 600
_SHORT = 120  # length of a tool's arguments and of its result
_SHORTEST = 0.1  # shorter tool calls are listed without their duration

_IMPORTANCES = gettext_noop("low"), gettext_noop("medium"), gettext_noop("high"), gettext_noop("critical")
"""Shown in the reader's language."""

_Words = Annotated[str, Field(min_length=1, max_length=2_000)]
_Importance = Annotated[
    Importance, Param("Importance; at medium or higher, absent agents are notified when they return")
]
_Audience = Annotated[
    str, Param("Who can see it: owner, public, guild:discord:1234 or channel:discord:1234", via=TERMINAL_ONLY)
]
_Note = Annotated[_Words, Param("What the agent needs to know", example="The plants are watered.")]
_Reader = Annotated[str, Param("Agent to read it (default: the next one)", metavar="NAME", suggests="agents")]
_Decision = Annotated[_Words, Param("What was decided or is important", example="We meet on Fridays.")]


class ListActivity(Arguments):
    hours: Annotated[float, Field(ge=0.1, le=24 * 366), Param("How many hours to look back")] = 24.0
    agent: Annotated[str, Param("Only this agent", metavar="NAME", suggests="agents")] = ""
    kind: Annotated[Kind | None, Param("Show only events of this kind")] = None
    limit: Annotated[int, Field(ge=1, le=1_000), Param("Maximum number to show, newest first", metavar="ROWS")] = 50


class AssignTask(Arguments):
    task: Annotated[_Words, Param("What to do", example="water the plants")]
    agent: Annotated[str, Param("Agent to do it (default: any)", metavar="NAME", suggests="agents")] = ""
    importance: Annotated[Importance, Param("How urgent it is")] = "medium"
    audience: _Audience = "owner"


class EventRow(Row):
    at: datetime
    kind: str
    agent: str = Field(validation_alias="agent_name")
    place: str = Field(validation_alias="place_name")
    text: str
    importance: str
    audience: str
    details: InstanceOf[Details]
    arguments: str = ""
    """The arguments of a tool in short, followed by `result` if the conversation still has it."""
    result: str = ""
    person: PersonId | None = Field(None, exclude=True)
    by: str = Field("", exclude=True)
    """The name of `person`, if a person did it by hand."""

    @classmethod
    def of(cls, event: Event, call: tuple[str, str], by_hand: str) -> "EventRow":
        text, (given, gave) = _sentence(event, by_hand), (one_line(each, _SHORT) for each in call)
        given = "" if given == "{}" else given
        details = event.details
        if isinstance(details, TaskChanged):
            details = replace(details, before={})  # kept so that the change can be undone
        return cls.from_record(event, text=text, details=details, arguments=given, result=gave, by=by_hand)

    def line(self, markup: Markup) -> str:
        seconds = (isinstance(self.details, ToolUsed) and self.details.seconds) or 0.0
        took = "" if seconds < _SHORTEST else _(" ({seconds} s)", seconds=number_text(seconds, ".1f"))
        return self.told(markup, "{at} {text}") + took


class ActivityList(Listing[EventRow]):
    def lines(self, markup: Markup) -> list[str]:
        told = list[str]()
        for row, count in folded(self.rows, lambda row: row.text):
            times = _(" ({count} times)", count=count) if count > 1 else ""
            told.append(f"{self.mark}{row.line(markup)}{times}")
        return [*(told or [_(self.empty)]), *filter(None, [markup.text(self.more)])]


class AgentPresence(Row):
    name: str
    description: str
    last_active: datetime | None

    def line(self, markup: Markup) -> str:
        about = f": {self.description}" if self.description else ""
        active = self.told(markup, gettext_noop("; last active {last_active}")) if self.last_active else ""
        return markup.text(f"{self.name}{about}") + active


class StoredNote(Row):
    id: str
    text: str
    phrase = "{text}"


class NoteRow(StoredNote):
    importance: str
    by: str = Field(validation_alias="by_name")


class CoordinationStatus(Result):
    agents: tuple[AgentPresence, ...]
    tasks: tuple[TaskRow, ...]
    handoffs: tuple[StoredNote, ...]
    notes: tuple[NoteRow, ...]

    def lines(self, markup: Markup) -> list[str]:
        lines = [each.line(markup) for each in self.agents]
        parts = (
            (_("Open tasks"), tree_lines(self.tasks, markup)),
            (_("Handoff notes"), [f"- {row.line(markup)}" for row in self.handoffs]),
            (_("Notes"), [f"- {row.line(markup)}" for row in self.notes]),
        )
        for title, told in parts:
            if told:
                lines += [f"{title}:", *told]
        return lines if any(told for _title, told in parts) else [*lines, _("There are no open tasks.")]


class Coordination(ZonedService, frozen=True):
    titles: ClassVar = {"coord": "Manage the tasks, handoffs and notes that agents share"}

    @operation("activity", "List what agents did recently", Action.READ_MEMORY)
    def list_activity(self, rows: Rows, caller: Caller, arguments: ListActivity) -> ActivityList:
        since = self.clock() - timedelta(hours=arguments.hours)
        named = _agent(rows, arguments.agent)
        wanted = EventFilter(since, arguments.kind, None if named is None else named.id)
        events = activity.recent(rows, caller.scope, arguments.limit, wanted)
        words = activity.calls(rows, events, caller.scope)
        events = [each._replace(speaker=_now_called(rows, each, caller.scope)) for each in events]
        listed = (EventRow.of(each, words.get(each.id, ("", "")), _hand(rows, each.person, caller)) for each in events)
        doubt = (
            _("[unverified]: from somebody who is not approved, or from the web.")
            if any(map(_is_doubted, events))
            else ""
        )
        return ActivityList.of(listed, _("There is nothing to show here for that time."), doubt)

    @operation("coord.status", "Show agents, open tasks, handoffs and notes", Action.READ_MEMORY)
    def show_status(self, rows: Rows, caller: Caller) -> CoordinationStatus:
        scope, zone = caller.scope, self.zone_of(rows, caller)
        return CoordinationStatus(
            agents=tuple(map(AgentPresence.from_record, activity.others(rows, AgentId(""), scope))),
            tasks=tuple(TaskRow.of(each, zone) for each in tasks.shared(rows, scope, _LISTED)),
            handoffs=tuple(
                StoredNote.from_record(each, text=_handoff(each))
                for each in coordination.handoffs(rows, scope, _LISTED)
            ),
            notes=tuple(
                NoteRow.from_record(each, text=one_line(each.text, _SHOWN))
                for each in coordination.notes(rows, scope, _LISTED)
            ),
        )

    @operation("coord.assign", "Assign a task to an agent", Action.COORDINATE, KEEPS)
    def assign_task(self, tx: Tx, caller: Caller, arguments: AssignTask) -> ActionReport:
        by = self._by(caller, arguments.audience)
        task = coordination.assign(tx, by, arguments.task, _agent(tx, arguments.agent), arguments.importance)
        done = _("Assigned to {to}.{id}") if task.to_name else _("Added. Any agent can take it.{id}")
        return report(done, id=str(task.id), to=task.to_name)

    @operation("coord.handoff", "Leave a note for an agent to read in its next turn", Action.COORDINATE, KEEPS)
    def hand_over(self, tx: Tx, caller: Caller, note: _Note, agent: _Reader = "", audience: _Audience = "owner") -> str:
        reader = _agent(tx, agent)
        coordination.hand_over(tx, self._by(caller, audience), note, reader)
        return _("{to_name} will read it in its next turn.", to_name=reader.name if reader else _("The next agent"))

    @operation("coord.note", "Leave a note for all agents", Action.COORDINATE, KEEPS)
    def add_note(
        self, tx: Tx, caller: Caller, note: _Decision, importance: _Importance = "medium", audience: _Audience = "owner"
    ) -> str:
        coordination.add_note(tx, self._by(caller, audience), note, importance)
        return _("Noted for all agents.")

    def _by(self, caller: Caller, audience: str) -> By:
        """The writer, with the audience of the text."""
        named = is_offered(caller.via, TERMINAL_ONLY)
        scope = Scope(named_audience(audience)) if named else (caller.here or caller.alone).scope
        return By(scope, caller.trust, self.clock(), person=caller.person)


def _sentence(event: Event, by_hand: str) -> str:
    """Who did what, where, and the beginning of the message; `by_hand` is the person who did it, if no agent did."""
    told = _("{who} {words}", who=event.agent_name or by_hand, words=one_line(_(event.words), _SHOWN))
    place = place_title(event.place_name) if event.place_name != event.place else _("a channel")
    place = _("the terminal") if event.place == PLACE.id else place
    said = {"told": told, "place": place, "said": one_line(event.said, _SHORT)}
    if event.said and event.kind is Kind.RECEIVED and event.speaker:
        told = _("{told} from {speaker} in {place}: “{said}”", speaker=event.speaker, **said)
    elif event.said:
        told = _("{told} in {place}: “{said}”", **said)
    if event.kind is Kind.NOTABLE and event.importance:
        told += f" ({_(event.importance)})"
    return told + (_doubt(event.trust) if _is_doubted(event) else "")


def _is_doubted(event: Event) -> bool:
    """Whether it repeats an unconfirmed claim; an agent's reply is its own words."""
    return (
        event.kind is not Kind.SENT and bool(event.said or event.kind is Kind.NOTABLE) and event.trust < Trust.APPROVED
    )


def _handoff(note: Handoff) -> str:
    by_hand = _("the owner") if note.trust is Trust.OWNER else _("somebody")
    by, to = note.from_name or by_hand, note.to_name or _("anyone")
    return _("{by} to {to}: {text}", by=by, to=to, text=one_line(note.content, _SHOWN)) + _doubt(note.trust)


def _doubt(trust: Trust) -> str:
    return _(" [unverified]") if trust < Trust.APPROVED else ""


def _hand(rows: Rows, person: PersonId | None, caller: Caller) -> str:
    """The name of the person who did something by hand, if the caller may know it."""
    called = person_called(rows, person, caller.scope) if person else ""
    if not called and person is not None and person.startswith("terminal:"):
        return _("The owner")
    return called or (caller.approver.name if person == caller.person else "") or _("Somebody")


def _now_called(rows: Rows, event: Event, scope: Scope) -> str:
    """The speaker under their current name, so that nobody is listed under two."""
    return (person_called(rows, event.person, scope) if event.person and event.speaker else "") or event.speaker


def _agent(rows: Rows, name: str) -> Agent | None:
    """The agent of that name; None for an empty name. Raises UserError."""
    return find_living(rows, name) if name.strip() else None
