"""What programs and the dashboard say to agents: the source of the HTTP API.

Each conversation is a place of its own, "api:<who>/<whom>", where only the owner reads; what a program says for one of
its users, "api:<who>/<user>/<whom>", where that user alone does. Whoever waits for an answer reads it from the
conversation, so an answer counts as delivered as soon as it is stored there.
"""

import asyncio
from collections.abc import Collection

from memory.people.audience import OWNER, Trust, person_audience
from memory.store.clock import Clock
from memory.store.ids import OutboxId, PersonId, PlaceId
from sources.base import (
    Activity,
    Buttons,
    Deliver,
    Delivery,
    Endpoint,
    Kind,
    Notification,
    Place,
    PlaceKind,
    Speaker,
    deletion,
)
from sources.outgoing import seen
from sources.text import flatten, sendable, visible

SOURCE = "api"


def user_of(who: str, user: str) -> PersonId:
    """One of the users of a program, who is nobody that Carina knows from elsewhere. `user` has no "/"."""
    return PersonId(f"{SOURCE}:{who}/{user}")


def place_of(who: str, whom: str, called: str = "", user: str = "") -> Place:
    """The conversation of a program, of one of its users or of the dashboard, with the group of that id."""
    if user:
        name = flatten(f"{user} of {who} with {called}")
        audience = person_audience(user_of(who, user))
        return Place(PlaceId(f"{SOURCE}:{who}/{user}/{whom}"), PlaceKind.API, audience, name=name)
    page = who == "dashboard"
    name = flatten(f"the {who} with {called}" if page else f"{who} with {called}")
    kind = PlaceKind.DASHBOARD if page else PlaceKind.API
    return Place(PlaceId(f"{SOURCE}:{who}/{whom}"), kind, OWNER, name=name)


class ApiSource:
    """Hears what the owner's programs say in the owner's name."""

    name = SOURCE

    def __init__(self, person: PersonId, owner: str, clock: Clock) -> None:
        self._speaker = Speaker(person, flatten(owner) or "you", trust=Trust.OWNER)
        self._clock = clock

    def hear(self, text: str, external_id: str, place: Place, group: str, user: PersonId | None = None) -> Notification:
        """What the owner said, or a user of their program, as a notification for a group; delivers nothing."""
        name = "" if user is None else flatten(user.rpartition("/")[2])
        return Notification(
            source=SOURCE,
            external_id=external_id,
            kind=Kind.MESSAGE,
            place=place,
            speaker=self._speaker if user is None else Speaker(user, name),
            subject=external_id,
            at=self._clock(),
            text=sendable(text),
            to=group,
            alone=True,
        )

    def hear_hook(self, text: str, name: str, delivery: str, place: Place, group: str) -> Notification:
        """What another program delivered: its words, with the trust of a page of the web."""
        speaker = Speaker(PersonId(f"{SOURCE}:hook-{name}"), flatten(name), trust=Trust.WEB)
        identifier = f"hook-{name}-{delivery}"
        now = self._clock()
        return Notification(
            SOURCE, identifier, Kind.MESSAGE, place, speaker, identifier, now, sendable(text), to=group, alone=True
        )

    def unsay(self, subject: str, place: Place) -> Notification:
        """That something said before is taken back, which stops its answer."""
        return deletion(SOURCE, subject, place, self._clock())

    async def run(self, _deliver: Deliver) -> None:
        """Wait: what is said comes with a request."""
        await asyncio.Event().wait()


class ApiEndpoint(Endpoint):
    """Leaves answers in the conversation, where whoever waits for them reads them."""

    max_length = 1_000_000

    def split(self, text: str) -> list[str]:
        text = seen(text)
        return [text] if visible(text) else []

    async def send(self, delivery: Delivery) -> str:
        """Nothing leaves the service: the stored row is what is read."""
        return f"{SOURCE}-{delivery.id}"

    async def find(self, deliveries: tuple[Delivery, ...], taken: Collection[str] = ()) -> dict[OutboxId, str]:
        """All of them, since sending cannot fail."""
        known = {one.id: f"{SOURCE}-{one.id}" for one in deliveries}
        return {identifier: external for identifier, external in known.items() if external not in taken}

    async def edit(self, place: PlaceId, external_id: str, text: str, buttons: Buttons | None = None) -> None:
        """Approval cards are shown from the requests themselves."""

    async def withdraw(self, place: PlaceId, external_id: str) -> None:
        """What was withdrawn is not read any more."""

    async def show(self, activity: Activity) -> None:
        """Whoever waits is told of turns directly."""
