"""The terminal as a place: "terminal:local", where only the owner reads.

A chat session *attaches* to the endpoint and gets the messages. If nobody is attached, a delivery fails temporarily and
waits in the outbox.

A journal records what was shown: one line with the outbox id, on disk before the text goes to the screen. So a text is
shown at most once, and after a crash `find` reports what is in the journal. The gap between journal and screen cannot
be closed: a journaled text counts as shown even if the process, or the chat's own process, died right then. Nothing is
lost by that, since the conversation has it, and a chat begins with the last answers.
"""

import asyncio
import getpass
import json
import os
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from memory.people.audience import OWNER, Trust
from memory.queue.notifications import Kind, Notification, Place, Speaker
from memory.store.clock import Clock, utc_now
from memory.store.data_folder import private_file, sync_folder
from memory.store.faults import call_point, outside
from memory.store.ids import OutboxId, PersonId, PlaceId, code
from memory.store.records import replace
from sources.base import Activity, Buttons, Deliver, Delivery, DeliveryFailed, DeliveryUnclear, Endpoint, PlaceKind
from sources.names import flatten
from sources.outgoing_text import seen
from sources.text import sendable, visible
from texts import _, gettext_lazy, moment_text, speaking

SOURCE = "terminal"
PLACE = Place(PlaceId("terminal:local"), PlaceKind.TERMINAL, OWNER, name="the terminal", bindings=("terminal:local",))
PERSON = PersonId("terminal:owner")
ONCE = "terminal-once-"
"""The prefix of external ids of messages whose senders only wait for the answer."""

_JOURNAL = call_point("terminal.journal")
_JOURNAL_SECONDS = 30.0
_WAIT_SECONDS = 30 * 86_400.0
"""The retry time with nobody attached: very long, so that waiting does not use up the row's attempts."""
_LATE = timedelta(minutes=5)


def local_name() -> str:
    """The name of the account that runs this process, on one line; "you" if it has none."""
    try:
        return flatten(getpass.getuser()) or "you"
    except (KeyError, OSError, ImportError):
        return "you"


class TerminalSource:
    """Receives from chat sessions. `owner` is the name by which agents know the person."""

    name = SOURCE

    def __init__(self, owner: str = "", clock: Clock = utc_now) -> None:
        self._speaker = Speaker(PERSON, flatten(owner) or local_name(), trust=Trust.OWNER)
        self._clock = clock

    def hear(self, text: str, external_id: str) -> Notification:
        """A typed text as a notification; does not deliver it."""
        return Notification(
            source=SOURCE,
            external_id=external_id,
            kind=Kind.MESSAGE,
            place=PLACE,
            speaker=self._speaker,
            at=self._clock(),
            text=sendable(text),
        )

    async def run(self, _deliver: Deliver) -> None:
        """Only wait: messages arrive with chat sessions."""
        await asyncio.Event().wait()


class Message(Struct, frozen=True, tag=True, tag_field="kind"):
    """A message, whole. `id` is its external id."""

    id: str
    text: str
    speaker: str = ""


class Edit(Struct, frozen=True, tag=True, tag_field="kind"):
    """The new text of a message that was shown."""

    id: str
    text: str


class Deletion(Struct, frozen=True, tag=True, tag_field="kind"):
    """A message that was shown and is withdrawn."""

    id: str


class Busy(Struct, frozen=True, tag=True, tag_field="kind"):
    """Whether an answer is being made, and the model that is waited for, if one is."""

    busy: bool
    model: str = ""


class Typed(Struct, frozen=True, tag=True, tag_field="kind"):
    """A line of the person, typed in some session. `id` is its external id."""

    id: str
    speaker: str
    text: str


Shown: TypeAlias = Message | Edit | Deletion | Busy | Typed
Listener: TypeAlias = Callable[[Shown], None]
"""Takes an item without waiting, such as a queue's `put_nowait`."""


class Journal:
    """The outbox ids that were shown, one per line; readable only by its owner.

    `add` returns when the line is on disk. Above `most_bytes` only the newest `keep` ids remain.
    """

    def __init__(self, path: Path, *, most_bytes: int = 1_000_000, keep: int = 10_000) -> None:
        self._path = private_file(path)
        self._most_bytes, self._keep = most_bytes, keep
        self._lock = threading.Lock()
        self._ids = self._load()

    def __contains__(self, identifier: OutboxId) -> bool:
        return identifier in self._ids

    def add(self, identifier: OutboxId) -> None:
        """Record that it is shown. Blocks for the disk; raises OSError."""
        with self._lock:
            self._append({"id": identifier})
            self._ids.add(identifier)

    def take_back(self, identifier: OutboxId) -> None:
        """Record that it was not shown after all. Blocks for the disk; raises OSError."""
        with self._lock:
            self._append({"id": identifier, "shown": False})
            self._ids.discard(identifier)

    def _load(self) -> set[OutboxId]:
        ids: set[OutboxId] = set()
        content = self._path.read_bytes()
        for line in content.splitlines():
            with suppress(ValueError):  # a partial line from a crash
                match json.loads(line):
                    case {"id": int(identifier), "shown": False}:
                        ids.discard(OutboxId(identifier))
                    case {"id": int(identifier)}:
                        ids.add(OutboxId(identifier))
        if content and not content.endswith(b"\n"):
            with self._path.open("ab") as file:
                file.write(b"\n")
        return ids

    def _append(self, entry: Mapping[str, int]) -> None:
        if self._path.stat().st_size > self._most_bytes:
            self._compact()
        _append_lines(self._path, entry)

    def _compact(self) -> None:
        self._ids = set(sorted(self._ids)[-self._keep :])
        self._path.with_suffix(".new").unlink(missing_ok=True)
        fresh = private_file(self._path.with_suffix(".new"))
        _append_lines(fresh, *({"id": identifier} for identifier in sorted(self._ids)))
        fresh.replace(self._path)
        sync_folder(self._path.parent)


def _append_lines(path: Path, *entries: Mapping[str, int]) -> None:
    with path.open("ab") as file:
        file.writelines(json.dumps(entry).encode("ascii") + b"\n" for entry in entries)
        file.flush()
        os.fsync(file.fileno())


class TerminalEndpoint(Endpoint):
    """Shows deliveries to the attached chat sessions."""

    max_length = 1_000_000

    def __init__(self, journal: Journal, clock: Clock = utc_now) -> None:
        self._journal, self._clock = journal, clock
        self._listeners: list[Listener] = []

    @contextmanager
    def attach(self, listener: Listener) -> Iterator[None]:
        """Receive what is shown, until the context ends."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    def split(self, text: str) -> list[str]:
        text = seen(text)
        return [text] if visible(text) else []

    async def send(self, delivery: Delivery) -> str:
        """Show a delivery, unless it was shown before. Raises DeliveryFailed, DeliveryUnclear."""
        self._check(delivery.place)
        external_id = _external_id(delivery)
        if delivery.id in self._journal:
            return external_id
        await self._note(delivery.id)
        if not self._listeners:  # the last one left during the disk write
            with suppress(OSError):  # else it counts as shown, as after a crash here
                await asyncio.to_thread(self._journal.take_back, delivery.id)
                self._check(delivery.place)
        shown, made = shown_as(delivery), delivery.created_at
        waited = self._clock() - made > _LATE  # a reminder that waited for a chat must not pass for one of now
        self.tell(replace(shown, text=f"[{moment_text(made)}] {shown.text}") if waited else shown)
        return external_id

    async def find(self, deliveries: tuple[Delivery, ...], taken: Collection[str] = ()) -> dict[OutboxId, str]:
        known = {one.id: _external_id(one) for one in deliveries if one.id in self._journal}
        return {identifier: external for identifier, external in known.items() if external not in taken}

    async def edit(self, place: PlaceId, external_id: str, text: str, buttons: Buttons | None = None) -> None:
        """Show the new text of a message. Raises DeliveryFailed if nobody is attached."""
        self._check(place)
        self.tell(Edit(external_id, seen(text) + _answers(buttons)))

    async def withdraw(self, place: PlaceId, external_id: str) -> None:
        """Tell the attached sessions that a message is withdrawn."""
        if place == PLACE.id:
            self.tell(Deletion(external_id))

    def show(self, activity: Activity) -> None:
        """Tell the attached sessions that an answer is being made, or is not any more."""
        if activity.place == PLACE.id:
            self.tell(Busy(activity.busy))

    def _check(self, place: PlaceId) -> None:
        if place != PLACE.id:
            raise DeliveryFailed(gettext_lazy("{place} is not a terminal", place=place))
        if not self._listeners:
            raise DeliveryFailed(gettext_lazy("nobody is at the terminal"), retry_after=_WAIT_SECONDS)

    async def _note(self, identifier: OutboxId) -> None:
        try:
            await outside(_JOURNAL, asyncio.to_thread(self._journal.add, identifier), _JOURNAL_SECONDS)
        except TimeoutError as error:
            raise DeliveryUnclear(gettext_lazy("the terminal's journal is not responding")) from error
        except OSError as error:
            reason = gettext_lazy("the terminal's journal could not be written: {reason}", reason=error.strerror)
            raise DeliveryFailed(reason, retry_after=60) from error

    def tell(self, shown: Shown) -> None:
        """Show something to the attached sessions, such as what was typed in one of them."""
        for listener in tuple(self._listeners):
            listener(shown)


def shown_as(delivery: Delivery) -> Message:
    """A delivery in the form for chat sessions."""
    text = "\n\n".join([*filter(None, [delivery.text]), *(f"{file.name}:\n{file.text}" for file in delivery.files)])
    return Message(_external_id(delivery), seen(text) + _answers(delivery.buttons), delivery.speaker)


def _answers(buttons: Buttons | None) -> str:
    if buttons is None:
        return ""
    with speaking(buttons.language):
        if buttons.kind == "retry":
            return "\n" + _("`carina retry {id}` tries again.", id=code(buttons.request))
        if buttons.kind == "pairing":
            return "\n" + _("`carina people allow {id}` or `carina people deny {id}` decides.", id=buttons.request)
        if buttons.kind != "permit":
            return ""
        how = _(
            "Answer with /approve {id} or /deny {id}. Outside of a chat, use `carina approve` or `carina deny`.",
            id=code(buttons.request),
        )
        longer = _("With --hour or --always, the approval lasts longer.") if "always" in buttons.offers else ""
        return "\n" + " ".join(filter(None, (how, longer)))


def row_of(external_id: str) -> OutboxId:
    return OutboxId(int(external_id.removeprefix("terminal-")))


def _external_id(delivery: Delivery) -> str:
    return f"terminal-{delivery.id}"
