"""A demo constellation: two agents and a month of invented conversations, written into an empty folder."""

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
from msgspec import Struct

from bot.agents.tools import make_tools, web_tools
from bot.agents.turn_end import words_of
from bot.agents.turn_log import use_in_words
from bot.config.file_settings import Web
from memory import activity, agent_groups, agents, permission_requests, spending
from memory.agent_groups import Group
from memory.agents import Agent
from memory.blocks import NewBlock, edits
from memory.blocks.changes import agent_writer
from memory.blocks.records import Author
from memory.knowledge import entry_changes, graph
from memory.knowledge.entries import NewEntry, Origin
from memory.knowledge.graph import Entity, Triple
from memory.knowledge.upkeep.run_records import begin_run
from memory.people.audience import OWNER, PUBLIC, Audience, Scope, Trust
from memory.permission_requests import Kind, Request
from memory.queue import inbox, messages, notifications, outbox, turns
from memory.queue.notifications import Notification, Place, Speaker
from memory.queue.outbox import NewRow
from memory.queue.turns import Turn
from memory.spending import ModelCost
from memory.store.database import Tx
from memory.store.ids import InboxId, MessageId, PersonId, PlaceId
from memory.store.records import replace
from sources.api import DASHBOARD, SOURCE, place_of
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
    """An agent's note in a block, if any."""

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


_TOOLS = make_tools(
    {},
    *web_tools(Web(fetch=True, search="http://127.0.0.1")),
    selves=lambda person: (person,),
    foreign=lambda _agent: (),
)


def write_demo(tx: Tx, now: datetime) -> None:
    data, writer = _data(), _DemoWriter(tx, now, random.Random(7))  # the same demo every time
    for number, each in enumerate(data.talk):
        writer.say(number, each)
    writer.know(data.known)
    for asked in data.asked:
        writer.ask(asked)
    for night in data.night:
        writer.dream(night)
    for ago in range(_UPKEEP_DAYS):
        writer.keep_up(ago)


def demo_agenda() -> list[tuple[str, dict[str, str]]]:
    """Operations that fill the schedule, each with its arguments."""
    return [(each.pop("operation"), each) for each in _data().agenda]


def _data() -> _Demo:
    return msgspec.toml.decode(Path(__file__).with_name("demo.toml").read_bytes(), type=_Demo)


class _DemoWriter(Struct):
    tx: Tx
    now: datetime
    dice: random.Random

    def say(self, number: int, told: _Said) -> None:
        clock = datetime.strptime(told.at, "%H:%M").replace(tzinfo=UTC)
        day = (self.now - timedelta(days=told.ago)).replace(hour=clock.hour, minute=clock.minute, second=0)
        at = min(day, self.now - timedelta(minutes=20))
        agent, group, own = self._answering(told.to)
        place, source = (_CHANNEL, "discord") if told.where else (own, SOURCE)
        person, trust = _PEOPLE[told.who], Trust.OWNER if told.who == "Robin" else Trust.APPROVED
        external = f"demo-{number}"
        speaker = Speaker(person, told.who, trust=trust)
        said = Notification(source, external, notifications.Kind.MESSAGE, place, speaker, at, told.text)
        taken = inbox.accept(self.tx, said, group.id, at)
        if taken is None:
            return
        begun = at + timedelta(milliseconds=self.dice.randint(40, 700))
        turn = Turn(turns.new_turn_id(), agent.id, group.id, place.id, person, place.scope, trust, (), 0, begun)
        turns.begin(self.tx, turn)
        row = inbox.get(self.tx, InboxId(taken.id))
        inbox.claim(self.tx, [row] if row is not None else [], turn.id)
        heard = row.message if row is not None and row.message is not None else MessageId(0)
        messages.join_batch(self.tx, [heard], turn.id)
        self._answer(turn, agent, told, told.answer, source, told.tools)

    def know(self, known: list[_Known]) -> None:
        """Add the graph, extracted from stored entries as a nightly run would."""
        agent, at = self._agent("Carina"), self.now - timedelta(hours=8)
        run = begin_run(self.tx, at, "done", ())
        origin = Origin(Scope(OWNER), Trust.OWNER, PERSON)
        for each in known:
            entry = entry_changes.insert(self.tx, agent.id, NewEntry(each.says, origin, category="knowledge"), at)
            triples = [
                Triple(Entity(one, kind), relation, Entity(other, of))
                for one, kind, relation, other, of in each.triples
            ]
            graph.put(self.tx, run, entry, triples, at)

    def ask(self, asked: _Asked) -> None:
        """A waiting request, in a turn that waits for it."""
        agent, group, place = self._answering(asked.agent)
        at, scope = self.now - timedelta(minutes=self.dice.randint(12, 50)), Scope(OWNER)
        reason = gettext_lazy("the agent's rules require approval for {tool}", tool=asked.tool)
        turn = Turn(turns.new_turn_id(), agent.id, group.id, place.id, PERSON, scope, Trust.OWNER, (), 0, at)
        turns.begin(self.tx, turn)
        turns.end(self.tx, turn.id, "cancelled", at)
        request = Request(
            permission_requests.new_request_id(), Kind.TOOL, asked.tool, agent.id, group.id, turn.id, f"demo-{turn.id}",
            asked.tool, asked.arguments, permission_requests.digest_of(asked.tool, asked.arguments),
            ((Kind.TOOL, asked.tool, ""),), {}, reason, place.id, PERSON, scope, Trust.OWNER, (PERSON,), 1,
            once_only=False, created_at=at, expires_at=self.now + timedelta(hours=20),
        )  # fmt: skip
        permission_requests.ask(self.tx, request)

    def dream(self, told: _Night) -> None:
        """A nightly turn, with its answer."""
        agent, group = self._agent("Carina"), self._group("Nightwatch")
        night = (self.now - timedelta(days=told.ago)).replace(hour=3, minute=self.dice.randint(0, 59))
        at = night if night < self.now else self.now - timedelta(minutes=self.dice.randint(40, 80))
        place = place_of(DASHBOARD, group.id, group.name)
        turn = Turn(turns.new_turn_id(), agent.id, group.id, place.id, None, Scope(OWNER), Trust.AGENT, (), 0, at)
        turns.begin(self.tx, turn)
        self._answer(turn, agent, told, told.text, SOURCE, ["context"])

    def keep_up(self, ago: int) -> None:
        """The daily costs of summaries and other upkeep."""
        at = self.now - timedelta(days=ago, minutes=90)
        for name in ("Carina", "Anchor"):
            for _call in range(self.dice.randint(2, 9)):
                size, written = self.dice.randint(3_000, 16_000), self.dice.randint(200, 1_100)
                cost = _cost(_MODELS[0], size, written) * self.dice.uniform(2, 5)
                spent = ModelCost(_MODELS[0], size, written, size // 3, 0, cost)
                spending.record_upkeep(self.tx, self._agent(name).id, None, spent, at)

    def _agent(self, name: str) -> Agent:
        found = agents.agent_named(self.tx, name)
        if found is None:
            raise ValueError(f"the demo has no agent {name}")
        return found

    def _group(self, name: str) -> Group:
        return next(each for each in agent_groups.groups(self.tx) if each.name == name)

    def _answering(self, name: str) -> tuple[Agent, Group, Place]:
        """An agent with its group, and its chat on the dashboard."""
        agent, group = self._agent(name), self._group("Workshop" if name == "Anchor" else "Home")
        own = place_of(DASHBOARD, group.id, group.name)
        return agent, group, Place(own.id, own.kind, own.audience, own.name, own.within)

    def _answer(self, turn: Turn, agent: Agent, told: _Noted, text: str, source: str, tools: list[str]) -> None:
        """A turn: the work, its answer, and the note, if any."""
        tx, at = self.tx, self._work(turn, agent, tools)
        sent = at + timedelta(milliseconds=self.dice.randint(15, 420))
        message = messages.add(tx, replace(words_of(turn, agent.name, text, at), source=source))
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
        if told.block:
            block = NewBlock(agent.id, told.label, told.about, OWNER, Trust.OWNER, char_limit=600, pinned=True)
            author = Author(agent.id, turn.scope, agent_writer(agent.id), turn.trust, at, turn.id, block)
            edits.write_block(tx, author, told.label, told.block)

    def _work(self, turn: Turn, agent: Agent, tools: list[str]) -> datetime:
        """Model calls with tool calls in between; returns the end of the last one."""
        dice, at, shown = self.dice, turn.started_at, _TOOLS(agent).tools
        size = dice.randint(2_600, 4_800)
        for tool in (*tools, ""):
            at += timedelta(milliseconds=dice.randint(600, 2_400))
            model, written = _MODELS[dice.random() < 0.25], dice.randint(30, 240)
            cost = ModelCost(model, size, written, size * 2 // 3, 0, _cost(model, size, written) * 4)
            spending.record(self.tx, turn, cost, at)
            size += dice.randint(150, 900)
            if tool:
                at += timedelta(milliseconds=dice.randint(8, 1_900))
                used = activity.ToolUsed(tool, None, worked=True)
                activity.note_of_turn(self.tx, turn, used, use_in_words(gettext_lazy(shown[tool].shown)), at)
        return at


def _cost(model: str, size: int, written: int) -> float:
    """In dollars, for tokens in and out."""
    price = (0.25, 2.0) if model == _MODELS[0] else (1.25, 10.0)
    return (size * price[0] + written * price[1]) / 1e6
