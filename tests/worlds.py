"""Worlds that run twice with something else said in one direct message: what can be seen of them from elsewhere.

A world is a sequence of messages in guilds, private channels, a private thread and direct messages. Its model does
what it is told and repeats everything it is shown, so that whatever reaches a request reaches an answer.
"""

import asyncio
import functools
import re
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from bot.agents.budgets import Budgets
from bot.agents.mcp import Servers
from bot.agents.permissions.roles_and_rights import Approver, People
from bot.agents.tools.search import Where
from bot.config.file_settings import Dreams as DreamSettings
from bot.models.base import Model
from bot.runtime.intake import AudienceResolver
from bot.runtime.replication import Replication
from bot.services.caller import Caller, PlaceScope, Via, owner_at_terminal
from bot.services.memory.dreams import Dreams
from bot.services.memory.search import Search, SearchResults, SearchTerms
from bot.services.people.people_and_linked_accounts import Accounts
from bot.upkeep.background_calls import Background, UpkeepDeps
from bot.upkeep.dream_run import DreamRun
from bot.upkeep.embedding import Embedding, QueryMeaning
from bot.upkeep.scheduled_summaries import SummaryJob
from memory import activity, agents
from memory.agents import Agent
from memory.blocks import Block, BlockType, visible_blocks
from memory.knowledge import entries, graph
from memory.knowledge.graph import Entity, Kind, Triple
from memory.people.audience import Scope, Trust
from memory.queue.notifications import Place, Speaker
from memory.search import vectors
from memory.search.embedding.base import Embedder
from memory.search.embedding.guard import GuardedEmbedder
from memory.search.embedding.query_vectors import Questions
from memory.search.vector_similarity import Meaning
from memory.store.database import Rows, Tx, Value, as_dict
from memory.store.ids import EntryId, PersonId, Snowflakes
from tests.bot.parts import (
    ANN,
    BOB,
    HALL,
    NOON,
    OLGA,
    ScriptedModel,
    channel,
    deleted,
    direct,
    edited,
    person,
    private,
    said,
    thread_in_public,
)
from tests.bot.plain import none_of_folders
from tests.bot.services.calling import somebody
from tests.bot.stage import QUIET, Service, Setting, running, until
from tests.obedient_model import ORDERS, QUESTIONS, WORDS, obey
from tests.service.test_access import CODE

ATTIC = private("attic")
DEN = private("den", inside="attic")
PORT = channel("port", of="abroad")
CELLAR = private("cellar", of="abroad")
ANNA = person("Anna")
"""Ann's other account, where the two are linked."""
ANNS, BOBS, OLGAS = direct(ANN, "guild", "abroad"), direct(BOB, "guild"), direct(OLGA)
ANNAS = direct(ANNA, "guild")
SQUARE = thread_in_public("square")
"""Where everybody in the world reads: a thread on Bluesky."""
CYN = Speaker(PersonId("bluesky:did:plc:cyn"), "Cyn", "cyn.test")
PLACES = [HALL, ATTIC, DEN, PORT, CELLAR, ANNS, BOBS, OLGAS, ANNAS, SQUARE]
WHO = {SQUARE.id: [CYN], ANNS.id: [ANN], BOBS.id: [BOB], OLGAS.id: [OLGA], ANNAS.id: [ANNA]}

TOML = """
[[groups]]
name = "Main"
[[agents]]
name = "Other"
description = "Is there, and answers nowhere"
[[agents]]
name = "Carina"
compaction = { strategy = "recursive_summarization", max_messages = 12, keep_recent = 4 }
[[agents.blocks]]
template = "human"
schema = { type = "text" }
[[agents.blocks]]
label = "persona"
description = "Who you are"
audience = "public"
[[agents.blocks]]
label = "scratchpad"
description = "Notes"
type = "working"
pinned = true
permission = "admin"
[[agents.blocks]]
label = "state"
description = "How they are"
schema = { type = "map", fields = [{ name = "mood" }, { name = "events", type = "list" }] }
"""


@dataclass(frozen=True)
class Line:
    """Somebody says something, an order to the model among it; `edit` and `delete` follow it."""

    place: Place
    speaker: Speaker
    order: str
    words: str
    then: str = ""


@dataclass(frozen=True)
class World:
    """`told` is what is said to the agent alone, in the one run and in the other."""

    before: tuple[Line, ...]
    told: tuple[tuple[Line, ...], tuple[Line, ...]]
    after: tuple[Line, ...]


@dataclass(frozen=True)
class Harness:
    """On what a world happens. Nobody but those in the places `aside` may see what was told.

    With an `embedder` all that was said is embedded before the next is said. Ann and Anna are `linked` from the
    beginning, until they are `parted`: before the secret is told, or right after it. `mcp` opens servers of tools.
    """

    aside: tuple[Place, ...] = (ANNS,)
    embedder: Embedder | None = None
    linked: bool = False
    parted: Literal["", "before", "after"] = ""
    mcp: Callable[[Path], AbstractAsyncContextManager[tuple[str, Servers]]] = lambda _: nullcontext((TOML, Servers()))


USUAL = Harness()
_APART: tuple[Where, ...] = ("activity", "facts", "tasks", "summaries")
"""What is searched by its name alone."""


def random_worlds(most: int) -> settings:
    """So many of them with `make slow`, fewer in a run that has to be quick.

    A world takes a second: to make a failing one smaller would take minutes.
    """
    count = max(2, most * settings().max_examples // 100)
    return settings(
        max_examples=count, phases=(Phase.explicit, Phase.generate), suppress_health_check=list(HealthCheck)
    )


def lines(most: int) -> st.SearchStrategy[tuple[Line, ...]]:
    return st.lists(st.sampled_from(PLACES).flatmap(_line), max_size=most).map(tuple)


def _line(place: Place) -> st.SearchStrategy[Line]:
    return st.builds(
        Line,
        st.just(place),
        st.sampled_from(WHO.get(place.id, [ANN, BOB, OLGA])),
        st.sampled_from(ORDERS),
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join),
        st.sampled_from(["", "", "", "edit", "delete"]),
    )


secrets = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
"""Not even how long it is may be seen."""


def tellings(place: Place) -> st.SearchStrategy[tuple[tuple[Line, ...], tuple[Line, ...]]]:
    """The same orders with two secrets."""
    pairs = st.tuples(secrets, secrets).filter(lambda pair: pair[0] != pair[1])
    orders = st.lists(st.sampled_from(ORDERS), min_size=1, max_size=4)
    return st.builds(lambda pair, told: (telling(place, pair[0], told), telling(place, pair[1], told)), pairs, orders)


def telling(place: Place, secret: str, orders: Iterable[str]) -> tuple[Line, ...]:
    """The one who writes there says it, with these orders."""
    return tuple(Line(place, WHO.get(place.id, [BOB])[0], order, secret) for order in orders)


# -------------------------------------------------------------------------------------------------- what is seen


@dataclass
class Seen:
    """What came out of a run, by who could see it."""

    elsewhere: list[str]
    secret: list[str]
    """What was seen where it was told: the proof that it was there to be leaked."""


class Numbers:
    """Snowflakes that depend on the line they are made for alone: not on how many were made before."""

    def __init__(self) -> None:
        self._next = 10**17

    def line(self, number: int) -> None:
        self._next = 10**17 + number * 10**6

    def __call__(self) -> int:
        self._next += 1
        return self._next


class Run:
    """A world that happens: its service with what composition would give it, and what is seen."""

    def __init__(self, ground: Harness, model: ScriptedModel, numbers: Numbers) -> None:
        self.ground, self.model, self.numbers = ground, model, numbers
        self.seen = Seen([], [])
        guarded = GuardedEmbedder(ground.embedder) if ground.embedder is not None else None
        self.guarded, self.questions = guarded, Questions(guarded, seconds=30)

    async def meaning(self, text: str) -> Meaning | None:
        return await self.embedding.meaning(text)

    async def begin(self, service: Service) -> None:
        self.service, people = service, service.approvals.people
        self.embedding = Embedding(service.database, self.guarded, self.questions, str, lambda _model: self.embedding)
        self.embedding.settle = 0.0
        self.accounts = Accounts(
            service.constellations,
            people,
            AudienceResolver(people),
            service.clock,
            functools.partial(service.router.taken_in, 5),
            service.router.moved,
        )
        if self.ground.linked:
            first = await self.accounts.start(somebody(ANN.id))
            second = await self.accounts.say(somebody(ANNA.id), code=_code(first))
            await self.accounts.say(somebody(ANN.id), code=second.data()["code"])

    async def part(self) -> None:
        await self.accounts.remove(somebody(ANN.id))

    async def say(self, lines: Iterable[Line], first: int) -> None:
        """Ids and times hang on a line's number alone, not on how much was said before."""
        for number, line in enumerate(lines, first):
            await self.embed()
            begun = len(self.model.requests)
            self.numbers.line(number)
            self.service.clock.now = NOON + timedelta(seconds=4 * number)  # between the parts: more than an hour
            await _say(self.service, line, number)
            self._where(line.place).extend(repr(request) for request in self.model.requests[begun:])

    async def embed(self) -> None:
        """Embed all there is; nothing is embedded while anybody is answered."""
        if self.guarded is None:
            return

        async def done() -> bool:
            standing = await self.service.read(vectors.progress)
            assert not standing.refused
            return standing.waiting == 0

        embedding = asyncio.create_task(self.embedding.run(lambda: False))
        await until(done, 60)
        embedding.cancel()
        await asyncio.gather(embedding, return_exceptions=True)

    async def dream(self) -> Dreams:
        """Memory is tidied by rule; what it did is for people to ask."""
        service = self.service

        async def nobody(agent: Agent) -> Model:
            raise AssertionError(f"{agent.name} has no model for this")

        means = UpkeepDeps(Background(nobody, Budgets(), service.clock, str, 180), DreamSettings(), Path("directives"))
        dreaming = DreamRun(service.database, means, lambda: False)
        await dreaming.run()
        await service.write(self._link)
        return Dreams(service.database, service.approvals.people, service.clock, dreaming, lambda: None)

    def _link(self, tx: Tx) -> None:
        """The graph as a model might read it out of entries: the first word of each belongs to its last."""
        for row in tx.all("SELECT * FROM archival_entries WHERE parent_entry_id IS NULL ORDER BY n"):
            entry = entries.to_entry(row)
            first, last = (Entity(entry.content.split()[at], Kind.THING) for at in (0, -1))
            if graph.names_both(entry, triple := Triple(first, "belongs to", last)):
                graph.put(tx, "drm_world", entry, (triple,), self.service.clock())

    async def tell(self) -> None:
        """Agents, days and weeks are told in short, as the service's own jobs do."""
        service, self.service.clock.now = self.service, NOON + timedelta(days=2)
        turn_deps = service.runtime.turn_deps
        await service.write(lambda tx: activity.deactivate_idle(tx, NOON + timedelta(hours=3)))
        told = SummaryJob(Background.of(turn_deps), "UTC", lambda: False)
        await told.agents(service.database, NOON + timedelta(hours=3))
        await told.days(service.database, service.clock.now)

    async def look(self) -> None:
        """The outbox, the stores by audience, and what people are shown when they ask the service itself."""
        dreams = await self.dream()
        await self.tell()
        await self.embed()
        theirs = {place.audience for place in self.ground.aside}
        for sql in (
            "SELECT place_id, content, detail, status, last_error, audience FROM outbox ORDER BY id",
            "SELECT content, tool_args, source_metadata, audience FROM messages ORDER BY id",
            "SELECT content, label, tags, category, reinforcement, audience FROM archival_entries ORDER BY n",
            "SELECT label, content, profile, schema, block_type, pinned, audience FROM memory_blocks ORDER BY n",
            "SELECT event_type, words, details, importance, at, audience FROM activity_events ORDER BY id",
            "SELECT agent_id, last_active, active, audience FROM agent_presence ORDER BY agent_id, audience",
            "SELECT title, notes, status, updated_at, audience FROM tasks ORDER BY id",
            "SELECT audience, at FROM handoff_reads ORDER BY note_id, audience",
            "SELECT kind, key, text, json_remove(detail, '$.kept'), agent_id, person_id, trust,"
            " created_at, valid_until, audience FROM items ORDER BY kind, audience, key, id",
            "SELECT pass, action, before, audience FROM dream_items ORDER BY n",
            "SELECT id, tool, arguments, reason, status, place_id, audience FROM permission_requests ORDER BY id",
            "SELECT subject, relation, object, audience FROM graph_triples ORDER BY id",
        ):
            for row in await self.service.rows(sql):
                where = self.seen.secret if row["audience"] in theirs else self.seen.elsewhere
                where.append(repr(as_dict(row)))
        replication = Replication(None, self.service.constellations, self.service.clock, str)
        around = self.service.database, self.service.clock, (), (), replication
        status = QUIET(*around, "home", "scripted:one", self.service.clock())
        store = self.service.database, People(())
        looking = Search(*store, self.service.clock, "UTC", self._understood, none_of_folders)
        self.seen.elsewhere.append(repr((await status.show(owner_at_terminal())).agents))
        for place in (ANNS, ANNAS, BOBS, OLGAS, DEN, HALL, SQUARE):
            scope = self.accounts.audience.with_audiences(place).scope
            asker = WHO.get(place.id, [BOB])[0].id
            caller = Caller(Approver(asker), Via.DISCORD, scope, PlaceScope(place.id, scope), Trust.STRANGER)
            texts = ("", *WORDS, " ".join(WORDS), *QUESTIONS)
            found = [await looking.search(caller, SearchTerms(text=text, limit=50)) for text in texts]
            for domain in _APART:
                wanted = [SearchTerms(text=text, domain=domain, limit=50) for text in texts]
                asked = [await looking.search(caller, each) for each in wanted]
                found += map(_unnumbered, asked)
            named = [await looking.places(caller), await looking.authors(caller), await looking.tags(caller)]
            named.append(await looking.categories(caller))
            blocks = await self.service.read(functools.partial(_blocks, scope=scope))
            links = await self.service.read(functools.partial(self._links, scope=scope))
            report = await dreams.report(caller)
            tidied = "" if place == OLGAS else report.data()  # the owner is told how much else there was
            self._where(place).append(f"{place.id}: {found!r} {named!r} {blocks!r} {tidied!r} {links!r}")

    async def _understood(self, text: str) -> QueryMeaning:
        return QueryMeaning(await self.meaning(text))

    def _links(self, rows: Rows, scope: Scope) -> list[list[EntryId]]:
        """Where words lead in the graph of every agent."""
        known = [each.id for each in agents.every_agent(rows)]
        now = self.service.clock()
        texts = (*WORDS, *QUESTIONS)
        return [graph.linked(rows, one, text, scope, now) for one in known for text in texts]

    def _where(self, place: Place) -> list[str]:
        return self.seen.secret if place in self.ground.aside else self.seen.elsewhere


def _blocks(rows: Rows, scope: Scope) -> list[tuple[str, list[Block]]]:
    every = tuple(BlockType)
    return [(each.name, visible_blocks(rows, each.id, scope, types=every)) for each in agents.agents(rows)]


def _unnumbered(found: SearchResults) -> SearchResults:
    """Without the ids of what is found: here they count what was made before, in reality they tell the time."""
    return found.model_copy(
        update={"hits": tuple(hit.model_copy(update={"id": "", "source": ""}) for hit in found.hits)}
    )


def _code(text: str) -> str:
    found = CODE.search(text)
    assert found is not None, text
    return found[1]


async def live(world: World, told: Iterable[Line], folder: Path, ground: Harness) -> Seen:
    """Run a world once."""
    most = 4000 if ground.embedder is None else 500  # to embed much takes long, and requests are seen whole anyway
    obedient = functools.partial(obey, targets=[place.name or place.id for place in PLACES], most=most)
    model, numbers = ScriptedModel(otherwise=obedient), Numbers()
    run = Run(ground, model, numbers)
    async with AsyncExitStack() as stack:
        stack.enter_context(patch.object(Snowflakes, "next", numbers))
        stack.push_async_callback(run.questions.aclose)
        toml, servers = await stack.enter_async_context(ground.mcp(folder))
        setting = Setting(model, toml=toml, meaning=run.meaning, mcp=servers)
        service = await stack.enter_async_context(running(folder, setting))
        await run.begin(service)
        await run.say(world.before, 1)
        if ground.parted == "before":
            await run.part()
        await run.say(told, 1_000)
        if ground.parted == "after":
            await run.part()
        await run.say(world.after, 2_000)
        await run.look()
    return run.seen


async def _say(service: Service, line: Line, number: int) -> None:
    await service.heard(said(f"{line.order} {line.words}", number, line.place, line.speaker))
    if line.then == "edit":
        await service.heard(edited(f"find {line.words}", number, line.place, line.speaker))
    if line.then == "delete":
        await service.heard(deleted(number, line.place))


def everything_known(_scope: Scope, sql: str, *parameters: Value) -> tuple[str, tuple[Value, ...]]:
    """A leak, to put in the place of `Scope.bind`: beneath it, what it bound for other tests would be used again."""
    return re.sub(r"KNOWN\([\w.]+\)", "1", sql), parameters


def compared(world: World, ground: Harness = USUAL) -> tuple[Seen, Seen]:
    """What is seen of a world in each of its two runs."""
    runs = []
    for told in world.told:
        with TemporaryDirectory() as folder:
            runs.append(asyncio.run(live(world, told, Path(folder), ground)))
    return runs[0], runs[1]


SECRETS = "dentist mondays", "lantern recipes harbour"


def around(*orders: str) -> tuple[Line, ...]:
    """Everybody gives these orders in every place."""
    return tuple(
        Line(place, speaker, order, " ".join(SECRETS))
        for place in PLACES
        for speaker in WHO.get(place.id, [BOB])
        for order in orders
    )


def world_of(places: Iterable[Place], told: tuple[str, ...], *orders: str) -> World:
    """Everybody gives these orders before and after the secret was told in each of the places."""
    everybody, where = around(*orders), tuple(places)
    one, other = (tuple(line for place in where for line in telling(place, secret, told)) for secret in SECRETS)
    return World(everybody[::3], (one, other), everybody)
