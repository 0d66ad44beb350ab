"""The source of the HTTP API: what programs and the dashboard write to agents.

Each conversation is a place of its own: "api:<who>/<whom>", which only the owner reads; or, if a program writes for one
of its users, "api:<who>/<user>/<whom>", which only that user reads. Callers read the answer from the conversation, so
an answer counts as delivered once it is stored there.
"""

import asyncio
from collections.abc import Collection

from memory.people.audience import OWNER, Trust, person_audience
from memory.queue.notifications import Kind, Notification, Place, Speaker
from memory.store.clock import Clock
from memory.store.ids import OutboxId, PersonId, PlaceId
from sources.base import Activity, Buttons, Deliver, Delivery, Endpoint, PlaceKind, deletion
from sources.names import flatten
from sources.outgoing_text import seen
from sources.text import sendable, visible

SOURCE = "api"
DASHBOARD = "dashboard"
"""The dashboard among the programs; no token is called so: they would share its conversations."""


def user_of(who: str, user: str) -> PersonId:
    """A user of a program; Carina does not know this person from elsewhere. `user` contains no "/"."""
    return PersonId(f"{SOURCE}:{who}/{user}")


def place_of(who: str, whom: str, called: str = "", user: str = "") -> Place:
    """The conversation of a program, of one of its users, or of the dashboard, with the group of that id."""
    if user:
        name = flatten(f"{user} of {who} with {called}")
        audience = person_audience(user_of(who, user))
        return Place(PlaceId(f"{SOURCE}:{who}/{user}/{whom}"), PlaceKind.API, audience, name=name)
    page = who == DASHBOARD
    name = flatten(f"the {who} with {called}" if page else f"{who} with {called}")
    kind = PlaceKind.DASHBOARD if page else PlaceKind.API
    return Place(PlaceId(f"{SOURCE}:{who}/{whom}"), kind, OWNER, name=name)


class ApiSource:
    """Receives what the owner's programs write in the owner's name."""

    name = SOURCE

    def __init__(self, person: PersonId, owner: str, clock: Clock) -> None:
        self._speaker = Speaker(person, flatten(owner) or "you", trust=Trust.OWNER)
        self._clock = clock

    def hear(self, text: str, external_id: str, place: Place, group: str, user: PersonId | None = None) -> Notification:
        """A message by the owner, or by a user of a program, as a notification for a group; does not deliver it."""
        name = "" if user is None else flatten(user.rpartition("/")[2])
        return Notification(
            source=SOURCE,
            external_id=external_id,
            kind=Kind.MESSAGE,
            place=place,
            speaker=self._speaker if user is None else Speaker(user, name),
            at=self._clock(),
            text=sendable(text),
            to=group,
            keeps_files=True,
            alone=True,
        )

    def unsay(self, subject: str, place: Place) -> Notification:
        """Take back an earlier message, which stops its answer."""
        return deletion(SOURCE, subject, place, self._clock())

    async def run(self, _deliver: Deliver) -> None:
        """Only wait: messages arrive with requests."""
        await asyncio.Event().wait()


class ApiEndpoint(Endpoint):
    """Leaves answers in the conversation, where callers read them."""

    max_length = 1_000_000

    def split(self, text: str) -> list[str]:
        text = seen(text)
        return [text] if visible(text) else []

    async def send(self, delivery: Delivery) -> str:
        """Nothing leaves the service: callers read the stored row."""
        return f"{SOURCE}-{delivery.id}"

    async def find(self, deliveries: tuple[Delivery, ...], taken: Collection[str] = ()) -> dict[OutboxId, str]:
        """All of them, since sending cannot fail."""
        known = {one.id: f"{SOURCE}-{one.id}" for one in deliveries}
        return {identifier: external for identifier, external in known.items() if external not in taken}

    async def edit(self, place: PlaceId, external_id: str, text: str, buttons: Buttons | None = None) -> None:
        """Nothing to do: approval cards are rendered from the requests."""

    async def withdraw(self, place: PlaceId, external_id: str) -> None:
        """Nothing to do: a withdrawn row is not read any more."""

    def show(self, activity: Activity) -> None:
        """Nothing to do: callers watch turns directly."""
