"""Explains why something was said, and changes the memories behind it.

Everything is read through the caller's scope, and every change checks the memory and the rights again in its
transaction: a button or form only carries an id, and an id proves nothing.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Annotated

from pydantic import Field

from bot.agents.permissions import roles_and_rights
from bot.agents.permissions.roles_and_rights import Action, Change, MemoryRights, Rank
from bot.agents.tools.base import Toolset
from bot.errors import UserError
from bot.services.caller import Caller, Via
from bot.services.names import place_as_read, shown_block
from bot.services.registry import FORM, Arguments, Options, Param, operation
from bot.services.results import Markup, Result, Row, forgotten
from bot.services.transactions import MemoryService
from memory import agents, why
from memory.agents import Agent
from memory.erasure.edited_or_deleted_messages import forget_derived, narrow_entry, narrow_message, take_back
from memory.erasure.forgotten_entries import forget_entry
from memory.knowledge import entries, entry_changes, facts
from memory.people.audience import OWNER, PUBLIC, Audience, Trust, person_audience
from memory.queue import inbox, messages, outbox
from memory.queue.messages import Message
from memory.store.database import Rows, Tx
from memory.store.errors import Refused
from memory.store.ids import PersonId, TurnId, place_source, text_mark
from memory.store.records import replace
from memory.why import Kind, Memory
from sources.discord.markup import message_link
from sources.terminal import PLACE
from sources.text import one_line
from texts import _, gettext_noop, ngettext

_LOOKS, _LOOK_SECONDS = 20, 0.1  # tries to find a message whose id may not be stored yet

_LISTED = 10  # memories, not counting blocks
_SHORT, _FULL = 160, 1_500  # length of a quote in a list, and of a single memory
_LINK = re.compile(r"https://(?:\w+\.)?discord(?:app)?\.com/channels/(?:@me|\d+)/\d+/")
_NO_ANSWER = gettext_noop("I haven't given an answer here that I can explain to you.")
_NOT_KNOWN = gettext_noop(
    "I have no answer with this link here. Choose one of my answers here by its link (*Copy Message Link*)."
)
_NOT_ANSWER = gettext_noop(
    "I sent that, but it isn't an answer: it is a question, a notice, or something I was asked to pass on."
)
_UNDER_WAY = gettext_noop("I'm still writing that answer. Ask again when it is done.")
_GONE = gettext_noop("You cannot see this memory here. It may already be forgotten.")
_NOTHING = gettext_noop("This answer used nothing from memory. It is based on this conversation alone.")
_UNRECORDED = gettext_noop("What I based this answer on was erased along with the data of the person I answered.")
_WHEN = {
    "entry": gettext_noop("said {when}"),
    "message": gettext_noop("said {when}"),
    "block": gettext_noop("last changed {when}"),
    "summary": gettext_noop("from {when}"),
}
_READERS = {
    "guild": gettext_noop("everyone on that server can read it"),
    "channel": gettext_noop("everyone in that channel can read it"),
    "person": gettext_noop("one person can read it, in direct messages"),
}
_CHANGES = Options(changes=True, offered=False)


_Message = Annotated[
    str, Param("Link to one of my answers here (default: the newest)", via=frozenset({Via.DISCORD, Via.WEB}))
]


class OneMemory(Arguments):
    kind: Annotated[Kind, Param("What it is")]
    id: Annotated[str, Param("ID of the memory")]


class OpenEntry(Arguments):
    id: Annotated[str, Param("The id of an entry")]


class CorrectEntry(OpenEntry):
    seen: Annotated[str, Param("The mark of what the form showed")]
    text: Annotated[str, Param("What it should say")] = ""


class MemoryRow(Row):
    """A memory that an answer used: its text, time, speaker and audience."""

    kind: str
    id: str
    label: str
    text: str
    at: datetime
    speaker: str
    place: str
    audience: str
    link: str
    readers: str = Field(exclude=True)
    said: bool = Field(exclude=True)
    noted: bool = Field(default=False, exclude=True)
    mine: bool = Field(exclude=True)
    """Whether it contains only the reader's words."""
    changes: tuple[Change, ...] = Field(exclude=True)
    """What the caller may do to it."""

    @classmethod
    def of(cls, memory: Memory, asker: PersonId, mine: bool, changes: tuple[Change, ...]) -> "MemoryRow":
        place = (memory.place.name or _("a channel")) if memory.place else ""
        more = {"mine": mine, "link": _link(memory), "readers": _readers(memory.audience, asker), "changes": changes}
        return cls.from_record(memory, place=place, **more)

    def quoted(self, markup: Markup, limit: int, *, readers: bool = True) -> str:
        who = _(" by {speaker}", speaker=markup.text(self.speaker)) if self.speaker and self.kind != "block" else ""
        who = _(" by you") if who and self.mine else who
        where = _(" in {place}", place=markup.text(place_as_read(self.place, self.audience))) if self.place else ""
        where = _(" at the terminal") if self.place == PLACE.name else where
        when = _(_WHEN[self.kind], when=markup.time(self.at))
        head = f"{markup.text(self._name)}, {when}{who}{where}" + (f"; {self.readers}" if readers else "")
        lines = [head, f"> {markup.text(one_line(self.text, limit))}"]
        return "\n".join([*lines, f"<{self.link}>"] if self.link else lines)

    @property
    def _name(self) -> str:
        match self.kind:
            case "entry":
                return _("Stored entry “{label}”", label=self.label) if self.label else _("Stored entry")
            case "message":
                if self.said or (self.noted and self.speaker):
                    return _("A message")
                return _("A notice that only I received") if self.noted else _("One of my answers")
            case "summary":
                return (
                    _("Summary of an agent's work") if self.label == "agent" else _("Summary ({kind})", kind=self.label)
                )
            case _:
                of = _(" ({speaker})", speaker=self.speaker) if self.speaker else ""
                return _("Block “{label}”{of} in its current version", label=shown_block(self.label), of=of)


class Explanation(Result):
    """The sources of one answer: each memory with its origin, then the tools that ran, and the rest as counts."""

    turn: str
    answer: str = ""
    memories: tuple[MemoryRow, ...]
    tools: tuple[str, ...]
    called: Mapping[str, str] = Field(default={}, exclude=True)
    """Names of tools for people, where they differ."""
    vain: int
    """Number of searches that found nothing."""
    hidden: int
    gone: int
    recorded: bool

    @property
    def changeable(self) -> tuple[MemoryRow, ...]:
        """The memories that the caller may change."""
        return tuple(each for each in self.memories if each.changes)

    def lines(self, markup: Markup) -> list[str]:
        found = [each for each in self.memories if each.kind != "block"]
        kept = [each for each in self.memories if each.kind == "block"]
        lines = [_("My answer:"), f"> {markup.text(one_line(self.answer, _SHORT))}", ""] if self.answer else []
        if found:
            lines.append(_("What I could see for this answer, besides the conversation here:"))
        elif not (self.hidden or self.gone):
            lines.append(_(_NOTHING if self.recorded else _UNRECORDED))
        lines += _numbered(found[:_LISTED], 1, markup)
        if (more := len(found) - _LISTED) > 0:
            lines.append(ngettext("{count} more, not shown here.", "{count} more, not shown here.", more))
        if kept:  # without a blank line, Markdown continues a quotation, and no list begins above 1
            lines += ["", _("What I always see:"), ""] if lines and lines[-1] else [_("What I always see:"), ""]
        lines += [*_numbered(kept, len(found) + 1, markup), *([""] if kept else [])]
        if self.hidden:
            lines.append(
                ngettext(
                    "{count} memory that you cannot see here.",
                    "{count} memories that you cannot see here.",
                    self.hidden,
                )
            )
        if self.gone:
            lines.append(ngettext("{count} memory since forgotten.", "{count} memories since forgotten.", self.gone))
        ran = Counter(_(self.called.get(name, name)) for name in self.tools)
        tools = ", ".join(f"{markup.text(name)}{f' × {count}' if count > 1 else ''}" for name, count in ran.items())
        lines.append(_("Tools used: {tools}.", tools=tools) if tools else _("No tools were used."))
        if self.vain:
            lines.append(ngettext("{count} search found nothing.", "{count} searches found nothing.", self.vain))
        return lines


class ItemExplanation(Result):
    row: MemoryRow

    @property
    def changeable(self) -> tuple[MemoryRow, ...]:
        """The memory if the caller may change it, else None."""
        return (self.row,) if self.row.changes else ()

    def lines(self, markup: Markup) -> list[str]:
        return [self.row.quoted(markup, _FULL)]


class Correctable(Result):
    """The text of an entry with which a form opens."""

    id: str
    text: str
    mark: str
    phrase = "{text}"


class Why(MemoryService, frozen=True):
    """Why something was said; `tools` returns an agent's tools."""

    tools: Callable[[Agent], Toolset]

    @operation("why", "Show what my last answer here was based on", Action.WHY)
    async def explain(self, caller: Caller, message: _Message = "") -> Explanation:
        if not (message := _LINK.sub("", message.strip())):
            return await self.database.read(lambda rows: self._newest(rows, caller))
        for _look in range(_LOOKS):
            found = await self.database.read(lambda rows: self._of_message(rows, caller, message))
            if found is not None:
                return found
            await asyncio.sleep(_LOOK_SECONDS)
        raise UserError(_(_UNDER_WAY))

    @operation("why.memory", "Show one memory that an answer used", Action.WHY, Options(offered=False))
    def show_memory(self, rows: Rows, caller: Caller, arguments: OneMemory) -> ItemExplanation:
        return ItemExplanation(row=self._row(_find(rows, caller, arguments.kind, arguments.id), caller))

    @operation("why.forget", "Forget a memory that an answer used", Action.CHANGE_OWN, _CHANGES)
    def forget(self, tx: Tx, caller: Caller, arguments: OneMemory) -> str:
        """Forget a memory and, if they are the caller's, the messages it came from."""
        now = self.clock()
        found = self._permitted(tx, caller, Change.FORGET, arguments.kind, arguments.id)
        if found.kind == "message":
            return _forget_message(tx, why.message_of(tx, found), now)
        entry = why.entry_of(tx, found)
        gone = forget_entry(tx, entry, self.asking(caller, entry.people), now)
        return forgotten(gone)

    @operation("why.form", "Open a form with an entry that an answer used", Action.CHANGE_OWN, _CHANGES)
    def open_form(self, rows: Rows, caller: Caller, arguments: OpenEntry) -> Correctable:
        found = self._permitted(rows, caller, Change.CORRECT, "entry", arguments.id)
        return Correctable(id=found.id, text=found.text, mark=text_mark(found.text))

    @operation("why.correct", "Correct an entry that an answer used", Action.CHANGE_OWN, FORM)
    def correct(self, tx: Tx, caller: Caller, arguments: CorrectEntry) -> str:
        """Rewrite a memory, unless it was changed since the form was opened."""
        now = self.clock()
        found = self._permitted(tx, caller, Change.CORRECT, "entry", arguments.id)
        try:
            content = entries.checked_content(arguments.text)
        except Refused as error:
            raise UserError("This cannot be stored: {error}.", error=error) from error
        if content == found.text:
            return _("It already says that; nothing was changed.")
        if text_mark(found.text) != arguments.seen:
            raise UserError(
                "It was changed after you opened the form, so your text was not saved. It now says:\n{text}",
                text=found.text,
            )
        trust = Trust.OWNER if self._is_owner(caller) else caller.trust
        entry = replace(why.entry_of(tx, found), content=content, trust=trust, updated_at=now, last_seen=now)
        entry_changes.store(tx, entry, None)
        done = _("Corrected. The old words are still in the conversation where they were said.")
        learned = [each.text for each in facts.learned_from(tx, entry.messages, caller.scope) if each.text != content]
        if not learned:
            return done
        listed = "; ".join(_("“{text}”", text=one_line(each, _SHORT).rstrip(".")) for each in learned)
        also = _("Facts learned from the same message stay: {facts}.", facts=listed)
        return f"{done}\n{also} {_('`carina facts correct` changes it.')}"

    @operation("why.narrow", "Keep a memory to direct messages", Action.CHANGE_OWN, _CHANGES)
    def narrow(self, tx: Tx, caller: Caller, arguments: OneMemory) -> str:
        found = self._permitted(tx, caller, Change.NARROW, arguments.kind, arguments.id)
        own = self._is_owner(caller)
        to = OWNER if own else person_audience(self.asking(caller, found.people))
        if found.audience == to or _kept_apart(found):
            return (
                _("I already use it only in your own places.")
                if own
                else _("I already use it only in our direct messages.")
            )
        stay = 0
        if found.kind == "message":
            stay = narrow_message(tx, why.message_of(tx, found), to, self.clock())
        else:
            narrow_entry(tx, why.entry_of(tx, found), to, self.clock())
        said = (
            _("From now on, I'll use it only in your own places. What was said elsewhere can still be read there.")
            if own
            else _(
                "From now on, I'll use it only in our direct messages. What was said elsewhere can still be read there."
            )
        )
        if not stay:
            return said
        return f"{said} " + ngettext(
            "{count} entry that also contains other people's words stays unchanged.",
            "{count} entries that also contain other people's words stay unchanged.",
            stay,
        )

    # ------------------------------------------------------------------ answers

    def _newest(self, rows: Rows, caller: Caller) -> Explanation:
        turn = why.newest_answer(rows, caller.place, caller.scope)
        if turn is None:
            raise UserError(_(_NO_ANSWER))
        return self._explain(rows, turn, caller)

    def _of_message(self, rows: Rows, caller: Caller, external_id: str) -> Explanation | None:
        """The answer in a message; None while it may be in progress."""
        place = caller.place
        said = outbox.said_by_us(rows, place_source(place), external_id)
        if said is not None and said.place == place and not why.is_answer(said):
            raise UserError(_(_NOT_ANSWER))
        turn = why.answer(rows, said, place, caller.scope)
        if said is None and why.under_way(rows, place):
            return None
        if turn is None:
            raise UserError(_(_NOT_KNOWN))
        if said is not None and said.kind == "preview":
            raise UserError(_(_UNDER_WAY))
        return self._explain(rows, turn, caller)

    def _explain(self, rows: Rows, turn: TurnId, caller: Caller) -> Explanation:
        account = why.account(rows, turn, caller.scope)
        memories = tuple(self._row(memory, caller) for memory in account.memories)
        used = self.tools(agents.agent(rows, account.agent)).tools if account.tools else {}
        called = {name: tool.shown for name, tool in used.items() if tool.shown and name in account.tools}
        return Explanation.from_record(account, memories=memories, called=called)

    def _row(self, memory: Memory, caller: Caller) -> MemoryRow:
        held = _held(memory)
        may = [each for each in Change if not roles_and_rights.change_refusal(self.people, caller.approver, each, held)]
        if _kept_apart(memory):
            may = [each for each in may if each is not Change.NARROW]
        mine = memory.said and bool(memory.people) and {*memory.people} <= {*self.people.selves(caller.person)}
        return MemoryRow.of(memory, caller.person, mine, tuple(may))

    # ------------------------------------------------------------------ rights

    def _permitted(self, rows: Rows, caller: Caller, change: Change, kind: Kind, identifier: str) -> Memory:
        found = _find(rows, caller, kind, identifier)
        self.require_change(caller, change, _held(found))
        return found

    def _is_owner(self, caller: Caller) -> bool:
        return roles_and_rights.rank_of(self.people, caller.approver) is Rank.OWNER


def _find(rows: Rows, caller: Caller, kind: Kind, identifier: str) -> Memory:
    found = why.find(rows, kind, identifier, caller.scope)
    if found is None:
        raise UserError(_(_GONE))
    return found


def _kept_apart(memory: Memory) -> bool:
    """Whether only one person can hear it already."""
    return memory.audience == OWNER or memory.audience.startswith("person:")


def _held(memory: Memory) -> MemoryRights:
    changes = {"entry": tuple(Change), "message": (Change.FORGET, Change.NARROW)}.get(memory.kind, ())
    if not memory.said:  # an agent's answer: people may have it forgotten, but did not write it
        changes = tuple(each for each in changes if each is Change.FORGET)
    return MemoryRights(memory.people, memory.audience, changes)


def _forget_message(tx: Tx, message: Message, now: datetime) -> str:
    messages.redact(tx, [message.id], now)
    outbox.forget(tx, [message.id])
    inbox.forget_payload(tx, message.id, now)
    entries = forget_derived(tx, message.id, now)
    blocks = take_back(tx, message, now) if message.agent is None else 0  # an answer was no reason to write
    gone = [ngettext("{count} entry", "{count} entries", entries)]
    if blocks:
        gone.append(ngettext("{count} block", "{count} blocks", blocks))
    return _(
        "Forgotten, with what came from it: {gone}. On Discord, the message stays where it is.", gone=", ".join(gone)
    )


def _numbered(memories: Sequence[MemoryRow], start: int, markup: Markup) -> list[str]:
    """Numbered lines with each memory's readers, unless only the owner can read all of them."""
    told = any(each.audience != OWNER for each in memories)
    return [f"{n}. {each.quoted(markup, _SHORT, readers=told)}" for n, each in enumerate(memories, start)]


def _link(memory: Memory) -> str:
    """The URL of the message behind a memory; empty if there is none."""
    place = memory.place
    if place is None:
        return ""
    return message_link(place.id, place.kind, (place.audience, *place.within), memory.external_id)


def _readers(audience: Audience, asker: PersonId) -> str:
    if audience == PUBLIC:
        return _("everyone can read it")
    if audience == OWNER:
        return _("only you can read it")
    if audience == person_audience(asker):
        return _("only you can read it, in our direct messages")
    return _(_READERS[audience.partition(":")[0]])
