"""What happened outside, as sources report it and as the inbox stores it."""

from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from memory.people.audience import Audience, Scope, Trust
from memory.queue.payloads import Extras
from memory.store.ids import PersonId, PlaceId


class Kind(StrEnum):
    MESSAGE = "message"
    EDIT = "edit"
    DELETE = "delete"
    REACTION = "reaction"
    PASSED = "passed"
    """A message that must not be heard: only how far its place was read is stored."""


class Place(Struct, frozen=True):
    """Where something is said, and who hears what is said there: the columns of `places`.

    `id` carries its source ("discord:1234"). `audience` is stamped on everything said there; `within` names
    wider audiences that every hearer belongs to at this moment (checked by the source, never assumed).
    `bindings` are the ids by which global.db maps the place to a constellation, narrowest first.
    """

    id: PlaceId
    kind: str
    audience: Audience
    name: str = ""
    within: tuple[Audience, ...] = ()
    bindings: tuple[str, ...] = ()

    @property
    def scope(self) -> Scope:
        return Scope(self.audience, frozenset(self.within))


class Speaker(Struct, frozen=True):
    """Who did it. The source flattens names to one line (`sources.names.flatten`)."""

    id: PersonId
    name: str
    username: str = ""
    trust: Trust = Trust.STRANGER
    unshown: bool | None = None
    """Whether they ask that their messages are not shown to everybody; None where people cannot say so."""


class Notification(Struct, frozen=True):
    """Something that happened outside, addressed to agents.

    `external_id` is unique for the happening, not for the message: message id; id@edited_timestamp; id!;
    id?; message/user/emoji/count. `subject` is the id of the message that an edit, deletion or reaction is about.
    `position` is what the place's cursor becomes (empty: it does not move). `answer` is False for what is only heard.
    """

    source: str
    external_id: str
    kind: Kind
    place: Place
    speaker: Speaker | None
    at: datetime
    text: str = ""
    subject: str = ""
    answer: bool = True
    position: str = ""
    extras: Extras = Extras()
    keeps_files: bool = False
    """Whether its files are stored with the message, as nobody else has them."""
    to: str = ""
    """The id of the group that is addressed by name; empty for the place's group."""
    alone: bool = False
    """Whether it gets a separate answer, whatever else the speaker writes at the time."""

    @property
    def person(self) -> PersonId | None:
        return None if self.speaker is None else self.speaker.id

    @property
    def trust(self) -> Trust:
        return Trust.STRANGER if self.speaker is None else self.speaker.trust
