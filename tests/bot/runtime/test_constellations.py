"""Several constellations in one service: whose place is whose, what closes and opens, and that nothing crosses."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.agents.permissions.roles_and_rights import Approver
from bot.config import load_config
from bot.errors import CallError, UserError
from bot.services.caller import Caller, Location, PlaceScope, Via
from bot.services.served_constellations import ServedConstellations, ServedRegistry, Services
from bot.services.served_folder import open_shared
from bot.services.system.restart import Restart
from memory import jobs
from memory.jobs import NewJob
from memory.people.audience import OWNER, Scope, Trust
from memory.queue import inbox
from memory.queue.notifications import Notification, Place
from memory.store.clock import utc_now
from memory.store.database import Tx
from memory.store.ids import ConstellationId
from memory.store.records import replace
from scheduler import triggers
from scheduler.job_kinds import DueJob, JobResult, QueueJob
from scheduler.triggers import DateTrigger
from sources.base import Deliver, Front
from sources.terminal import PERSON
from tests.benchmarks.world import Making, open_world
from tests.bot.parts import MovableClock, Platform, channel, deleted, edited, place_id, said
from tests.bot.stage import SETUP, until
from tests.captured_logs import capture_logs

HALL, DECK = channel("hall", of="1"), channel("deck", of="2")
SECRETS = {"home": "tangerine", "boat": "periwinkle"}


@dataclass
class Side:
    """The service, with a platform that only remembers."""

    served: ServedConstellations
    home: Services
    platform: Platform
    registry: ServedRegistry

    async def create(self, name: str, *places: str) -> ConstellationId:
        await self.call("constellation.create", name=name)
        for place in places:
            await self.call("constellation.assign", place=place, name=name)
        found = self.served.shared.constellations.named(name)
        assert found is not None
        return found.id

    async def call(self, operation: str, at: Place | None = None, **given: Any) -> Any:
        return (await self.registry.call(operation, owner(at, sure=True), given)).data()

    async def heard(self, *notifications: Notification) -> None:
        for notification in notifications:
            self.served.router.receive(notification)
        await self.served.router.taken_in(5)

    async def answered(self, place: Place, count: int = 1) -> list[str]:
        await until(lambda: len(self.platform.texts(place.id)) >= count, 20)
        return self.platform.texts(place.id)

    async def texts(self, identifier: ConstellationId) -> list[str]:
        async with self.served.shared.constellations.use(identifier) as database:
            found = await database.read(lambda rows: rows.all("SELECT content FROM messages ORDER BY id"))
        return [row["content"] for row in found]

    def is_open(self, identifier: ConstellationId) -> bool:
        return self.served.opened.get(identifier) is not None

    async def all_idle(self) -> None:
        await until(lambda: all(runtime.idle for runtime in self.served.opened), 20)


class Silent:
    """A source that hears nothing."""

    name = "discord"

    async def run(self, _deliver: Deliver) -> None:
        await asyncio.Event().wait()


def owner(at: Place | None, *, sure: bool = False) -> Caller:
    """The owner, who may see everything there is in the constellation of a place."""
    location = None if at is None else Location(at.id, at.audience, (at.id,), at.bindings)
    scope = Scope(OWNER)
    via = Via.TERMINAL if at is None else Via.DISCORD
    return Caller(
        Approver(PERSON), via, scope, PlaceScope(place_id("own"), scope), Trust.OWNER, sure=sure, location=location
    )


@pytest.fixture
async def side(tmp_path: Path) -> AsyncIterator[Side]:
    async with serving(tmp_path) as made:
        yield made


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[Side]:
    config = load_config({"CARINA_HOME": str(folder), "EMBEDDING_MODEL": "none"}, folder)
    platform = Platform(MovableClock(utc_now()))
    front = Front(Silent(), platform, None, None)

    async def tell(name: str, error: Exception) -> None:
        raise AssertionError(f"{name}: {error!r}")

    with capture_logs():
        async with (
            open_shared(config, utc_now, lambda _served: (front,), Restart(possible=False), lambda: "") as served,
            served.use(served.shared.configured) as home,
            asyncio.TaskGroup() as tasks,
        ):
            await served.router.start(tasks, tell)
            running = tasks.create_task(served.runner.run())
            yield Side(served, home, platform, ServedRegistry(served))
            await served.router.drain(5)
            served.router.stop()
            running.cancel()


async def test_a_place_is_answered_in_its_constellation_and_all_others_in_the_configured_one(side: Side) -> None:
    boat = await side.create("boat", "discord:guild:2")
    await side.heard(said("hello from the hall", 1, HALL), said("hello from the deck", 2, DECK))
    await side.answered(HALL)
    await side.answered(DECK)
    assert "hello from the hall" in await side.texts(side.home.runtime.id)
    assert "hello from the deck" not in await side.texts(side.home.runtime.id)
    assert "hello from the deck" in await side.texts(boat)
    await side.call("constellation.unassign", place="discord:guild:2")
    await side.heard(said("and again", 3, DECK))
    await side.answered(DECK, 2)
    assert "and again" in await side.texts(side.home.runtime.id)
    assert "and again" not in await side.texts(boat)


async def test_no_command_of_one_constellation_shows_what_another_holds(side: Side) -> None:
    await side.create("boat", "discord:guild:2")
    for number, (name, place) in enumerate((("home", HALL), ("boat", DECK))):
        await side.heard(said(f"remember that my word is {SECRETS[name]}", number, place))
        await side.answered(place)
    for place, own, other in ((HALL, "tangerine", "periwinkle"), (DECK, "periwinkle", "tangerine")):
        shown = {}
        for declared in side.registry.operations.values():
            spans = declared.name.startswith(("privacy.", "doctor"))  # the first is about a person, everywhere
            if declared.changes or spans or Via.DISCORD not in declared.via:
                continue
            given = {each.name: own for each in declared.parameters if each.required and each.kind == "text"}
            try:
                shown[declared.name] = str(await side.call(declared.name, place, **given))
            except (UserError, CallError) as refused:
                shown[declared.name] = str(refused)
        assert own in shown["search"]
        assert len(shown) > 25
        assert [name for name, words in shown.items() if other in words] == []
        assert (await side.call("search", place, text=other))["hits"] == []


async def test_an_agent_of_one_constellation_recalls_nothing_of_another(side: Side) -> None:
    await side.create("boat", "discord:guild:2")
    await side.heard(said("remember that my locker is tangerine", 1, HALL))
    await side.answered(HALL)
    await side.heard(said("what is my locker?", 2, DECK))  # the same person, in another server
    assert "tangerine" not in " ".join(await side.answered(DECK))
    await side.heard(said("what is my locker?", 3, HALL))
    assert "tangerine" in (await side.answered(HALL, 2))[-1]


async def test_what_waits_in_an_idle_constellation_is_answered_after_a_restart(tmp_path: Path) -> None:
    async with serving(tmp_path) as side:
        boat = await side.create("boat", "discord:guild:2")
        async with side.served.use(boat) as services:
            group = services.places.answering.default
        await side.all_idle()
        assert await side.served.opened.shut(boat)
        async with side.served.shared.constellations.use(boat) as database:  # as a killed process leaves it
            heard = said("are you there?", 7, DECK)
            await database.write(SETUP, lambda tx: inbox.accept(tx, heard, group, utc_now()))
    async with serving(tmp_path) as side:
        assert len(await side.answered(DECK)) == 1


async def test_an_idle_constellation_is_closed_and_a_job_that_is_due_opens_it(side: Side) -> None:
    boat = await side.create("boat", "discord:guild:2")
    await side.heard(said("hello", 1, DECK))
    await side.answered(DECK)
    ran = asyncio.Event()
    make = side.served.opened.make

    def note(_tx: Tx, _firing: DueJob) -> JobResult:
        ran.set()
        return JobResult()

    @asynccontextmanager
    async def with_kind(identifier: ConstellationId) -> AsyncIterator[Any]:
        async with make(identifier) as runtime:
            services = side.served._open[identifier]
            side.served._open[identifier] = replace(services, kinds={**services.kinds, "note": QueueJob(note)})
            yield runtime

    side.served.opened.make = with_kind
    await side.all_idle()
    side.served.opened.seconds = 0
    await side.served.opened.close_idle()
    assert not side.is_open(boat)
    assert side.is_open(side.home.runtime.id), "the configured one stays open"
    side.served.opened.seconds = 600
    soon = utc_now() + timedelta(seconds=0.3)
    new = NewJob("soon", "note", triggers.dump(DateTrigger(soon)), soon)
    async with side.served.shared.constellations.use(boat) as database:
        await database.write(SETUP, lambda tx: jobs.put(tx, new, utc_now()))
    side.served.runner.changed(boat)
    await asyncio.wait_for(ran.wait(), 20)
    assert side.is_open(boat)


async def test_after_a_halt_what_waits_in_a_closed_constellation_is_answered_too(side: Side) -> None:
    boat = await side.create("boat", "discord:guild:2")
    await side.call("halt.now")
    await side.heard(said("hello", 1, DECK))
    await side.all_idle()
    assert await side.served.opened.shut(boat)
    await asyncio.sleep(0.3)
    assert not side.is_open(boat), "while everything is halted it is not opened for that"
    await side.call("halt.release")
    side.served.opened._slots[boat].closed -= 1_000  # long ago
    side.served.runner.changed(boat)
    assert len(await side.answered(DECK)) == 1


async def test_edits_and_deletions_follow_what_was_said_before_its_place_was_assigned(side: Side) -> None:
    home = side.home.runtime.id
    await side.heard(said("my code is tangerine", 1, DECK), said("and periwinkle", 2, DECK))
    await side.answered(DECK, 1)
    boat = await side.create("boat", "discord:guild:2")
    await side.heard(edited("my code is a secret", 1, DECK), deleted(2, DECK))

    async def followed() -> bool:
        found = " ".join(await side.texts(home))
        return "tangerine" not in found and "periwinkle" not in found

    await until(followed, 20)
    assert await side.texts(boat) == []


async def test_a_deleted_constellation_is_kept_aside_and_its_places_go_to_the_configured_one(
    side: Side, tmp_path: Path
) -> None:
    await side.create("boat", "discord:guild:2")
    await side.heard(said("hello", 1, DECK))
    await side.answered(DECK)
    with pytest.raises(UserError, match=r"Delete the constellation “boat”\?"):
        await side.registry.call("constellation.delete", owner(None), {"name": "boat"})
    with pytest.raises(UserError, match="home is the configured constellation"):
        await side.call("constellation.delete", name="home")
    done = (await side.call("constellation.delete", name="boat"))["text"]
    assert "1 place now belongs to home" in done
    (kept,) = (tmp_path / "deleted").iterdir()
    assert str(kept) in done
    assert (kept / "carina.db").stat().st_size > 0
    assert [row["constellation"] for row in await side.call("constellation.list")] == ["home"]
    await side.heard(said("hello again", 2, DECK))
    await side.answered(DECK, 2)
    assert "hello again" in await side.texts(side.home.runtime.id)


async def test_one_in_use_is_not_deleted(side: Side) -> None:
    boat = await side.create("boat")
    async with side.served.use(boat):
        with pytest.raises(UserError, match="boat” is in use"):
            await side.call("constellation.delete", name="boat")
    assert (await side.call("constellation.delete", name="boat"))["text"].startswith("Deleted boat.")


@pytest.mark.parametrize(
    ("operation", "given", "words"),
    [
        ("assign", {"place": "the hall", "name": "home"}, "is not a place"),
        ("assign", {"place": "discord:1'; DROP TABLE places", "name": "home"}, "is not a place"),
        ("assign", {"place": "discord:guild:2", "name": "nowhere"}, "There is no constellation “nowhere”"),
        ("unassign", {"place": "discord:guild:2"}, "is not assigned to any constellation"),
        ("create", {"name": "Home"}, "There is already a constellation “Home”"),
        ("delete", {"name": "nowhere"}, "There is no constellation “nowhere”"),
    ],
)
async def test_what_cannot_be_is_refused(side: Side, operation: str, given: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        await side.call(f"constellation.{operation}", **given)


async def test_a_place_that_a_person_assigned_stays_there_whatever_the_file_says(side: Side) -> None:
    boat = await side.create("boat", "discord:guild:2")
    constellations = side.served.shared.constellations
    await constellations.configure(["discord:guild:2", "discord:guild:3"], side.home.runtime.id)
    assert constellations.of_place(DECK.bindings, side.home.runtime.id) == boat
    assert [each.place for each in constellations.assigned(side.home.runtime.id)] == ["discord:guild:3"]
    await constellations.configure([], side.home.runtime.id)
    assert [each.place for each in constellations.assigned()] == ["discord:guild:2"]


async def test_benchmarks_close_the_constellations_that_they_opened(tmp_path: Path) -> None:
    async with open_world(Making(tmp_path)) as world:
        assert [*world.router.opened]
    assert not [*world.router.opened]
