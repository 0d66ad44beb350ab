"""Conversations with agents over HTTP, for programs and pages, through the same inbox, router, turn and outbox as all
others."""

import re
from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from msgspec import Struct

from bot.agents.turn_events import (
    AgentStarted,
    OfMember,
    TextChunk,
    ToolCallStarted,
    TurnEvent,
)
from bot.errors import UserError
from bot.interfaces.answers import answers_of, follow, require_taken, take_in, words_of
from bot.runtime.router import Router
from bot.services.agents.addressees import Addressee
from bot.services.served_constellations import Services
from bot.services.transactions import reads
from memory import agent_groups, agents, spending
from memory.people.audience import OWNER, Scope
from memory.queue import inbox, message_files, messages, outbox
from memory.queue.inbox import InRow, Status
from memory.queue.messages import Message
from memory.queue.notifications import Notification, Place
from memory.queue.outbox import OutRow, TextDetail
from memory.queue.payloads import Attachment, Extras
from memory.store.database import Database, Rows
from memory.store.fulltext import storable
from memory.store.ids import AgentId, MessageId, OutboxId, PersonId, PlaceId, snowflakes
from memory.store.records import replace
from sources.api import SOURCE, ApiSource, place_of, user_of
from sources.attachments import PICTURES
from sources.outgoing_text import seen
from sources.terminal import PERSON, Shown
from texts import _, error_text

_SPEAKER = re.compile(r"[^\w.-]+")


class Conversation(Struct, frozen=True):
    """A conversation with one agent or group."""

    to: Addressee
    place: Place
    called: str
    """Prefix of each message: the agent's name, if one of several is addressed."""
    user: PersonId | None = None
    """The user on whose behalf a program speaks; None for the owner."""
    temperature: float | None = None
    max_tokens: int | None = None
    """Set only if a program sets them for an answer."""


class PartialAnswer(Struct, frozen=True):
    """The answer as written so far."""

    text: str


class AnswerStage(Struct, frozen=True):
    """A step before the answer continues: a tool call, or a group member that is asked."""

    what: str


class Answer(Struct, frozen=True):
    """The whole answer; no texts if every agent chose to stay silent, `error` if the answer failed."""

    texts: tuple[str, ...]
    error: str = ""
    messages: frozenset[MessageId | None] = frozenset()
    """The message's place in the conversation."""


class LineFile(Struct, frozen=True):
    """A file of a line; `which` identifies it in the address, `skipped` says why it was not accepted."""

    name: str
    size: int
    which: str
    is_picture: bool = False
    skipped: str = ""


class ChatLine(Struct, frozen=True):
    """A line of a conversation; for an answer, `external_id` is what *why* takes."""

    id: MessageId
    mine: bool
    speaker: str
    text: str
    at: datetime
    external_id: str
    files: tuple[LineFile, ...] = ()


class Talk(Struct, frozen=True):
    """Conversations over HTTP in one constellation."""

    services: Services
    router: Router
    source: ApiSource

    @property
    def database(self) -> Database:
        return self.services.database

    @reads
    def names(self, rows: Rows, only: AgentId | None = None) -> list[str]:
        """The names to talk to: agents that answer, then groups. `only` limits them to one agent."""
        there = [each.name for each in agents.agents(rows) if each.status == "active" and only in (None, each.id)]
        if only is not None:
            return there
        groups = [each.name for each in agent_groups.groups(rows) if agent_groups.answering(rows, each)]
        return list(dict.fromkeys([*there, *groups]))

    async def conversation(self, who: str, name: str, user: str = "") -> Conversation:
        """The conversation of a program, its user or the dashboard with an agent or group. Raises UserError."""
        who = _SPEAKER.sub("-", who)
        place = place_of(who, "", user=user)
        talking = self.services.talking
        alone = name.casefold() in {each.name.casefold() for each in await self.database.read(agents.agents)}
        to = await (talking.agent(name, place) if alone else talking.group(name))
        groups = await self.database.read(agent_groups.groups)
        several = alone and any(each.id == to.group and len(each.members) > 1 for each in groups)
        there = place_of(who, to.group, to.name, user)
        called = f"{to.name}: " if several else ""
        return Conversation(to, there, called, user_of(who, user) if user else None)

    async def say(self, to: Conversation, text: str, external_id: str = "", files: Sequence[Attachment] = ()) -> str:
        """Store a message durably and return its id. A repeated id is the same message. Raises UserError."""
        require_taken(self.services, text, to.user or PERSON, files=bool(files))
        said = external_id or f"{SOURCE}-{snowflakes.next()}"
        extras = Extras(attachments=tuple(files), temperature=to.temperature, max_tokens=to.max_tokens)
        if refused := await take_in(self.services, self.router, replace(self._heard(to, text, said), extras=extras)):
            raise UserError("I'll answer this later. {refused}", refused=refused)
        return said

    @reads
    def said_otherwise(self, rows: Rows, to: Conversation, text: str, external_id: str) -> bool:
        """Whether the id belongs to a different message. The part after a "." identifies the files."""
        known = messages.by_external_prefix(rows, SOURCE, external_id.partition(".")[0])
        if known is None:
            return False
        return (
            known.external_id != external_id
            or known.place != to.place.id
            or known.text not in ("", storable(self._heard(to, text, external_id).text))
        )

    def _heard(self, to: Conversation, text: str, external_id: str) -> Notification:
        heard = self.source.hear(text, external_id, to.place, to.to.group, to.user)
        return replace(heard, text=f"{to.called}{heard.text}")

    async def take_back(self, to: Conversation, external_id: str) -> None:
        """Withdraw a message, which stops its answer if that is unfinished."""
        await take_in(self.services, self.router, self.source.unsay(external_id, to.place))

    async def follow(self, place: PlaceId, external_id: str) -> AsyncIterator[PartialAnswer | AnswerStage | Answer]:
        """Stream the answer to a message until it ends; also works after the answer or a restart."""
        try:
            async for each in follow(self.services, place, external_id):
                yield await self._answer(place, each) if isinstance(each, InRow) else _told(each)
        except UserError as error:
            yield Answer((), error_text(error))

    async def _answer(self, place: PlaceId, row: InRow) -> Answer:
        if row.status is Status.DEAD:
            return Answer((), _("This could not be answered: {error}.", error=row.last_error))
        said = await self.database.read(lambda rows: answers_of(rows, row, place))
        if not said and await self.database.read(lambda rows: _taken_back(rows, row)):
            return Answer((), _("Stopped: the message was withdrawn."))
        return Answer(tuple(map(words_of, said)), messages=frozenset(each.message for each in said))

    @reads
    def tokens(self, rows: Rows, external_id: str) -> tuple[int, int]:
        """Tokens that the turn of a message sent to models, and tokens that they wrote."""
        row = inbox.by_external(rows, SOURCE, external_id)
        return (0, 0) if row is None or row.turn is None else spending.of_turn(rows, row.turn)

    @reads
    def history(
        self, rows: Rows, to: Conversation, limit: int, words: str = "", around: int | None = None
    ) -> list[ChatLine]:
        """The latest lines, or those that match a search, or those about the message with an id."""
        found = messages.newest_in(rows, to.place.id, Scope(OWNER), limit, words, around)
        return [_line(rows, each, to.called) for each in found]

    @reads
    def file(self, rows: Rows, place: PlaceId, message: int, position: int) -> Attachment | None:
        """A file attached to a message in one of the owner's conversations."""
        return message_files.one(rows, place, message, position, Scope(OWNER))

    @reads
    def sent_file(self, rows: Rows, place: PlaceId, row: int, position: int) -> Attachment | None:
        """A file that an agent sent in one of the owner's conversations."""
        found = outbox.get(rows, OutboxId(row))
        if found is None or found.place != place or not Scope(OWNER).may_use(found.audience):
            return None
        return next((each for number, each in enumerate(_files_in(found)) if number == position), None)


def _told(event: Shown | TurnEvent) -> PartialAnswer | AnswerStage:
    match event:
        case TextChunk(text=text):
            return PartialAnswer(text)
        case ToolCallStarted(tool=tool) | OfMember(event=ToolCallStarted(tool=tool)):
            return AnswerStage(_("uses {tool}", tool=tool))
        case AgentStarted(name=name):
            return AnswerStage(_("asks {agent}", agent=name))
        case _:
            return AnswerStage("")


def _line(rows: Rows, message: Message, called: str) -> ChatLine:
    sql = "SELECT external_id FROM outbox WHERE turn_id = ? AND message_id = ? ORDER BY id DESC LIMIT 1"
    found = rows.one(sql, (message.batch, message.id))
    external = (found["external_id"] if found is not None else "") or ""
    mine = message.role == "user"
    identifier = (message.external_id or "") if mine else external
    files = list[tuple[str, Sequence[Attachment]]]()
    if mine:
        files = [(f"of={message.id}", message_files.names(rows, message.id, Scope(OWNER)))]
    elif message.batch is not None and (found is not None or not message.text):
        sent = outbox.files_of_turn(rows, message.batch, message.place)
        files = [(f"sent={each.id}", _files_in(each)) for each in sent]
    shown = tuple(
        LineFile(each.name, each.size, f"{of}&n={number}", each.content_type in PICTURES, each.skipped)
        for of, held in files
        for number, each in enumerate(held)
    )
    text = message.text.removeprefix(called) if mine else message.text
    return ChatLine(message.id, mine, message.speaker, text, message.created_at, identifier, shown)


def _files_in(row: OutRow) -> list[Attachment]:
    files = row.detail.files if isinstance(row.detail, TextDetail) else ()
    held = ((name, seen(text).encode()) for name, text in files)
    return [Attachment(name, "text/plain", len(content), content=content) for name, content in held]


def _taken_back(rows: Rows, row: InRow) -> bool:
    message = messages.by_external(rows, row.source, row.external_id)
    return message is None or message.deleted_at is not None
