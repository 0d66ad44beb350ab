"""The payload of an inbox row: what came with a person's message, or the data of an event.

A payload is deleted when the row is answered.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import ConfigDict, Field

from memory.store.ids import AgentId, MessageId, PersonId, RequestId
from memory.store.row_mapper import Codec, UnreadableRow, tagged


@dataclass(frozen=True)
class BlockNote:
    """A working block that comes with a message, about the speaker or the place: in context only for that turn.

    `label` contains the id ("discord_user:1234"), so that it survives a rename. `profile` is the read-only part,
    replaced by every message; the block's document holds agents' notes.
    """

    label: str
    description: str
    profile: str
    about: PersonId | None = None


@dataclass(frozen=True)
class Quotation:
    speaker: str
    text: str
    by_us: bool = False
    external_id: str = ""


@dataclass(frozen=True)
class Attachment:
    """A file that came with a message.

    `text` holds the content of a small text file; `skipped` says why a file was not read, in words for the model
    ("larger than 20 KB", "download timed out"). No payload has its `url`, where it can be had again, or its `content`,
    of a picture that came along.
    """

    name: str
    content_type: str
    size: int
    text: str = ""
    skipped: str = ""
    url: Annotated[str, Field(exclude=True)] = ""
    content: Annotated[bytes, Field(exclude=True)] = field(default=b"", repr=False)


class _Payload:
    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")


@dataclass(frozen=True)
class Extras(_Payload):
    """What came with a message. `background` are earlier lines of the place; `images` are URLs. `temperature` and
    `max_tokens` are a program's, instead of the agent's own."""

    blocks: tuple[BlockNote, ...] = ()
    background: tuple[str, ...] = ()
    quoted: Quotation | None = None
    attachments: tuple[Attachment, ...] = ()
    images: tuple[str, ...] = ()
    mentioned: Mapping[PersonId, str] = field(default_factory=dict)
    temperature: float | None = None
    max_tokens: int | None = None


@dataclass(frozen=True)
class EditEvent(_Payload):
    """Somebody edited a message; what was stored from it has to be stored again."""

    edited: MessageId
    about: MessageId
    reply_to: str | None
    status: Literal["edited"] = "edited"


@dataclass(frozen=True)
class DecisionEvent(_Payload):
    """A permission request was decided; `about` is the message that led to the request."""

    request: RequestId
    status: str
    reply_to: str | None
    about: MessageId | None


@dataclass(frozen=True)
class PatrolEvent(_Payload):
    """An agent's patrol with a checklist is due; `asked`: the owner wants it now."""

    agent: AgentId
    task: str
    asked: bool
    status: Literal["patrol"] = "patrol"


@dataclass(frozen=True)
class TaskEvent(_Payload):
    """A task that another agent delegated. `hops` is 0: only earlier versions counted the delegations before it."""

    agent: AgentId
    hops: int
    status: Literal["task"] = "task"


@dataclass(frozen=True)
class TriggerEvent(_Payload):
    """A group's trigger fired, for the agent that supervises the group."""

    agent: AgentId
    priority: str
    status: Literal["sleeptime"] = "sleeptime"


@dataclass(frozen=True)
class NewsEvent(_Payload):
    """A data source has news for a subscribed agent; `told` is what it is told about them."""

    agent: AgentId
    told: str = ""
    status: Literal["source"] = "source"


@dataclass(frozen=True)
class LetterEvent(_Payload):
    """An agent wrote to a group, or to one `agent` in it; `to` is the name of either."""

    to: str
    agent: AgentId | None = None
    about: MessageId | None = None
    status: Literal["agent"] = "agent"


Event: TypeAlias = EditEvent | DecisionEvent | PatrolEvent | TaskEvent | TriggerEvent | NewsEvent | LetterEvent
Payload: TypeAlias = Extras | Event

PAYLOAD = Codec[Payload](
    tagged(
        Extras,
        edit=EditEvent,
        decision=DecisionEvent,
        patrol=PatrolEvent,
        task=TaskEvent,
        trigger=TriggerEvent,
        news=NewsEvent,
        letter=LetterEvent,
    )
)

_usual = lru_cache(maxsize=100)(PAYLOAD.read)
"""What comes with a person's messages in a place is mostly the same."""
_SHORT = 2_000  # characters of a payload that is remembered


def read(text: str) -> Payload | UnreadableRow:
    """A stored payload, parsed."""
    return _usual(text) if len(text) < _SHORT else PAYLOAD.read(text)


def about(payload: Payload | UnreadableRow) -> MessageId | None:
    return payload.about if isinstance(payload, EditEvent | DecisionEvent | LetterEvent) else None


def addressee(payload: Payload | UnreadableRow) -> AgentId | None:
    return (
        payload.agent if isinstance(payload, PatrolEvent | TaskEvent | TriggerEvent | NewsEvent | LetterEvent) else None
    )


def without(payload: Payload | UnreadableRow, names: list[str]) -> Payload:
    """A payload without what people with these names said; an unreadable one becomes empty."""
    if isinstance(payload, UnreadableRow):
        return Extras()
    if not isinstance(payload, Extras):
        return payload
    said = tuple(f"{name}:" for name in names)
    kept = tuple(each for each in payload.background if not each.startswith(said))
    quoted = None if payload.quoted is not None and payload.quoted.speaker in names else payload.quoted
    return dataclasses.replace(payload, background=kept, quoted=quoted)
