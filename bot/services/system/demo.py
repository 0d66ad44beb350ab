"""A demo constellation: two agents and a month of invented conversations, written into an empty folder."""

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
from msgspec import Struct

from memory import activity, agents, budgets, requests
from memory.agents import Agent, Group
from memory.blocks import NewBlock, edits
from memory.blocks.changes import agent_writer
from memory.blocks.records import Author
from memory.budgets import ModelCost
from memory.knowledge import archival, graph
from memory.knowledge.archival import NewEntry, Origin
from memory.knowledge.consolidation.run_records import begin_run
from memory.knowledge.graph import Entity, Triple
from memory.people.audience import OWNER, PUBLIC, Audience, Scope, Trust
from memory.queue import inbox, messages, outbox, turns
from memory.queue.inbox import Arrival, Place
from memory.queue.outbox import NewRow
from memory.queue.payloads import Extras
from memory.queue.turns import Turn
from memory.requests import Kind, Request
from memory.store.database import Tx
from memory.store.ids import InboxId, MessageId, PersonId, PlaceId
from sources.api import SOURCE, place_of
from sources.terminal import PERSON
from texts import gettext_lazy

CONFIGURATION = """\
[constellation]
name = "demo"
owner = "Robin"

[schedule]
zone = "UTC"

[web.server]
listen = "127.0.0.1:0"

[[agents]]
name = "Carina"
description = "Keeps Robin's days in order, and remembers"

[[agents]]
name = "Anchor"
description = "Looks things up, compares and drafts"

[[groups]]
name = "Home"
members = ["Carina"]
default = true

[[groups]]
name = "Workshop"
members = ["Anchor", "Carina"]

[[groups]]
name = "Nightwatch"
members = ["Carina"]
pattern = "sleeptime"
[groups.sleeptime]
quiet = "00:00-23:59"
[[groups.sleeptime.triggers]]
name = "evening"
on = "time_elapsed"
minutes = 1440

[[budgets.limits]]
subject = "constellation"
period = "day"
usd = 1.5
tokens = 800000
"""
_MODELS = ("openai:gpt-5-mini", "openai:gpt-5")
_CHANNEL = Place(PlaceId("discord:1001"), "guild", Audience("guild:1000"), "#general", (PUBLIC,))
_PEOPLE = {"Robin": PERSON, "Mika": PersonId("discord:2001"), "Jonas": PersonId("discord:2002")}
_UPKEEP_DAYS = 30


class _Noted(Struct, frozen=True, kw_only=True):
    """What an agent wrote down in a block, if anything."""

    block: str = ""
    label: str = "human"
    about: str = "What I know about Robin"


class _Said(_Noted, frozen=True, kw_only=True):
    ago: int
    at: str
    who: str
    text: str
    answer: str
    to: str = "Carina"
    where: str = ""
    tools: list[str] = []


class _Known(Struct, frozen=True):
    says: str
    triples: list[tuple[str, graph.Kind, str, str, graph.Kind]]


class _Asked(Struct, frozen=True):
    agent: str
    tool: str
    arguments: str


class _Night(_Noted, frozen=True, kw_only=True):
    ago: int
    text: str


class _Demo(Struct, frozen=True):
    talk: list[_Said]
    known: list[_Known]
    asked: list[_Asked]
    night: list[_Night]
    agenda: list[dict[str, str]]


class _DemoWriter(Struct):
    tx: Tx
    now: datetime
    dice: random.Random

    def group(self, name: str) -> Group:
        return next(each for each in agents.groups(self.tx) if each.name == name)

    def agent(self, name: str) -> Agent:
        found = agents.agent_named(self.tx, name)
        if found is None:
            raise ValueError(f"the demo has no agent {name}")
        return found


def write_demo(tx: Tx, now: datetime) -> None:
    data = _data()
    writing = _DemoWriter(tx, now, random.Random(7))  # the same demo every time
    for number, each in enumerate(data.talk):
        _say(writing, number, each)
    _know(writing, data.known)
    for asked in data.asked:
        _ask(writing, asked)
    for night in data.night:
        _dream(writing, night)
    for ago in range(_UPKEEP_DAYS):
        _keep_up(writing, ago)


def demo_agenda() -> list[tuple[str, dict[str, str]]]:
    """Operations that fill the schedule, each with its arguments."""
    return [(each.pop("operation"), each) for each in _data().agenda]


def _data() -> _Demo:
    return msgspec.toml.decode(Path(__file__).with_name("demo.toml").read_bytes(), type=_Demo)


def _moment(now: datetime, told: _Said) -> datetime:
    clock = datetime.strptime(told.at, "%H:%M").replace(tzinfo=UTC)
    return min(
        (now - timedelta(days=told.ago)).replace(hour=clock.hour, minute=clock.minute, second=0),
        now - timedelta(minutes=20),
    )


def _say(writing: _DemoWriter, number: int, told: _Said) -> None:
    tx, dice = writing.tx, writing.dice
    at = _moment(writing.now, told)
    agent = writing.agent(told.to)
    group = writing.group("Workshop" if agent.name == "Anchor" else "Home")
    own = place_of("dashboard", group.id, group.name)
    place = _CHANNEL if told.where else Place(own.id, own.kind, own.audience, own.name, own.within)
    source = "discord" if told.where else SOURCE
    person, trust = _PEOPLE[told.who], Trust.OWNER if told.who == "Robin" else Trust.APPROVED
    external = f"demo-{number}"
    arrival = Arrival(
        source, external, "message", place, person, told.who, trust, external, told.text, at, Extras(), group.id
    )
    taken = inbox.accept(tx, arrival, at)
    if taken is None:
        return
    begun = at + timedelta(milliseconds=dice.randint(40, 700))
    scope = Scope(place.audience, frozenset(place.within))
    turn = Turn(turns.new_turn_id(), agent.id, group.id, place.id, person, scope, trust, (), 0, begun)
    turns.begin(tx, turn)
    row = inbox.get(tx, InboxId(taken.id))
    inbox.claim(tx, [row] if row is not None else [], turn.id)
    heard = row.message if row is not None and row.message is not None else MessageId(0)
    messages.join_batch(tx, [heard], turn.id)
    ended = _work(writing, turn, told.tools)
    _answer(writing, turn, agent, told.answer, source, ended)
    _remember(tx, turn, agent, told, ended)


def _work(writing: _DemoWriter, turn: Turn, tools: list[str]) -> datetime:
    """Model calls with tool calls in between; returns the end of the last one."""
    tx, dice, at = writing.tx, writing.dice, turn.started_at
    size = dice.randint(2_600, 4_800)
    for tool in (*tools, ""):
        at += timedelta(milliseconds=dice.randint(600, 2_400))
        model = _MODELS[dice.random() < 0.25]
        written = dice.randint(30, 240)
        price = (0.25, 2.0) if model == _MODELS[0] else (1.25, 10.0)
        cost = (size * price[0] + written * price[1]) / 1e6
        budgets.record(tx, turn, ModelCost(model, size, written, size * 2 // 3, 0, cost * 4), at)
        size += dice.randint(150, 900)
        if tool:
            at += timedelta(milliseconds=dice.randint(8, 1_900))
            details = {"tool": tool, "operation": None, "worked": True}
            words = gettext_lazy("used {tool}", tool=tool)
            activity.note(tx, activity.of_turn(turn, activity.Kind.TOOL, words, details), at)
    return at


def _answer(writing: _DemoWriter, turn: Turn, agent: Agent, text: str, source: str, at: datetime) -> None:
    tx, sent = writing.tx, at + timedelta(milliseconds=writing.dice.randint(15, 420))
    said = messages.TurnRow(
        turn.id, 0, turn.place, agent.id, turn.person, agent.name, "assistant", text, source,
        turn.scope.audience, Trust.AGENT, at,
    )  # fmt: skip
    message = messages.add_said(tx, said)
    new = NewRow(
        f"turn/{turn.id}/0", turn.place, text, turn.scope.audience, turn=turn.id, message=message,
        person=turn.person, agent=agent.id,
    )  # fmt: skip
    row = outbox.add(tx, new, at)
    inbox.finish(tx, turn.id, at)
    turns.end(tx, turn.id, "done", at)
    if row is not None:
        outbox.mark_sending(tx, row, at)
        outbox.mark_sent(tx, row, f"demo-answer-{row}", sent)


def _remember(tx: Tx, turn: Turn, agent: Agent, told: _Noted, at: datetime) -> None:
    if told.block:
        new = NewBlock(agent.id, told.label, told.about, OWNER, Trust.OWNER, char_limit=600, pinned=True)
        author = Author(agent.id, turn.scope, agent_writer(agent.id), turn.trust, at, turn.id, new)
        edits.write_block(tx, author, told.label, told.block)


def _know(writing: _DemoWriter, known: list[_Known]) -> None:
    """Add the graph, read out of stored entries as a nightly run would."""
    tx, agent, at = writing.tx, writing.agent("Carina"), writing.now - timedelta(hours=8)
    run = begin_run(tx, at, "done", ())
    origin = Origin(Scope(OWNER), Trust.OWNER, PERSON)
    for each in known:
        entry = archival.insert(tx, agent.id, NewEntry(each.says, origin, category="knowledge"), at)
        triples = [
            Triple(Entity(one, kind), relation, Entity(other, of)) for one, kind, relation, other, of in each.triples
        ]
        graph.put(tx, run, entry, triples, at)


def _ask(writing: _DemoWriter, asked: _Asked) -> None:
    """A waiting request, in a turn that waits for it."""
    tx, agent = writing.tx, writing.agent(asked.agent)
    group = writing.group("Workshop" if agent.name == "Anchor" else "Home")
    at = writing.now - timedelta(minutes=writing.dice.randint(12, 50))
    reason = gettext_lazy("the agent's rules require approval for {tool}", tool=asked.tool)
    place, scope = place_of("dashboard", group.id, group.name), Scope(OWNER)
    turn = Turn(turns.new_turn_id(), agent.id, group.id, place.id, PERSON, scope, Trust.OWNER, (), 0, at)
    turns.begin(tx, turn)
    turns.end(tx, turn.id, "cancelled", at)
    requests.ask(
        tx,
        Request(
            requests.new_request_id(), Kind.TOOL, asked.tool, agent.id, group.id, turn.id, f"demo-{turn.id}",
            asked.tool, asked.arguments, requests.digest_of(asked.tool, asked.arguments),
            ((Kind.TOOL, asked.tool, ""),), {}, reason, place.id, PERSON, scope, Trust.OWNER, (PERSON,), 1,
            once_only=False, created_at=at, expires_at=writing.now + timedelta(hours=20),
        ),
    )  # fmt: skip


def _dream(writing: _DemoWriter, told: _Night) -> None:
    """A nightly turn, with its answer."""
    tx, agent, group = writing.tx, writing.agent("Carina"), writing.group("Nightwatch")
    night = (writing.now - timedelta(days=told.ago)).replace(hour=3, minute=writing.dice.randint(0, 59))
    at = night if night < writing.now else writing.now - timedelta(minutes=writing.dice.randint(40, 80))
    place = place_of("dashboard", group.id, group.name)
    turn = Turn(turns.new_turn_id(), agent.id, group.id, place.id, None, Scope(OWNER), Trust.AGENT, (), 0, at)
    turns.begin(tx, turn)
    ended = _work(writing, turn, ["context"])
    _answer(writing, turn, agent, told.text, SOURCE, ended)
    _remember(tx, turn, agent, told, ended)


def _keep_up(writing: _DemoWriter, ago: int) -> None:
    """The daily costs of summaries and the like."""
    dice, at = writing.dice, writing.now - timedelta(days=ago, minutes=90)
    for name in ("Carina", "Anchor"):
        for _call in range(dice.randint(2, 9)):
            size, written = dice.randint(3_000, 16_000), dice.randint(200, 1_100)
            cost = (size * 0.25 + written * 2) / 1e6 * dice.uniform(2, 5)
            spent = ModelCost(_MODELS[0], size, written, size // 3, 0, cost)
            budgets.record_upkeep(writing.tx, writing.agent(name).id, None, spent, at)
