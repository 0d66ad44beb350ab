"""`send_message`: sends a message to a place other than the one where the turn's answer goes."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct
from pydantic import Field

from bot.agents.answer_messages import Piece, package, queue
from bot.agents.context.quotes import line, say
from bot.agents.groups.loop_guard import TURN_BUDGET, budget_left, pair_rests, root_of
from bot.agents.owner_notices import own_place
from bot.agents.patrols import is_patrol
from bot.agents.permissions.calls_needing_approval import Caution
from bot.agents.tools.base import Arguments, Outcome, Rarely, StoreTool, ToolContext
from bot.agents.tools.search import place_meant
from bot.errors import ToolError
from memory import activity, agent_groups, agents
from memory.agent_groups import Group
from memory.agents import Agent, plain_name
from memory.people.audience import Scope, Trust, person_audience
from memory.permission_requests import Kind, Need, require
from memory.queue import agent_messages, inbox, outbox, payloads
from memory.queue.agent_messages import SentMessage
from memory.queue.turns import Turn
from memory.store.database import Rows, Tx
from memory.store.ids import PlaceId, place_source, snowflakes
from memory.store.records import replace
from sources.base import Endpoint
from sources.names import flatten
from texts import gettext_lazy, gettext_noop, join_lazy


class SendArguments(Arguments):
    target_type: Literal["person", "channel", "agent", "group", "here"] = Field(
        description="person: a direct message to the person you talk to; channel: another place you know; agent or "
        "group: other agents, who take it up here after you; here: a file to go with your answer"
    )
    target: str = Field(
        default="", description='channel: the place\'s name, as "general" or "#general in Home"; agent, group: its name'
    )
    content: str = Field(min_length=1, description="what to say there, as plain text, or the file's content")
    file_name: str = Field(default="", description='person, channel, here: send it as a text file, as "recipe.md"')


_Target: TypeAlias = tuple[PlaceId, Scope, str]
"""The destination, its audience, and its name."""


class SendMessageTool(StoreTool[SendArguments]):
    name = "send_message"
    shown = gettext_noop("messaging")
    rarely = Rarely("write to another place, person or agent")
    description = (
        "Send a message to another place, privately to the person you are talking to, or to other agents, who answer "
        "here by themselves and do not report to you. Not needed to answer: your "
        "final text goes to where the newest message came from. Before what was said here goes to people who did not "
        "hear it, the person you are talking to must agree; they are asked, and you are told. It also sends text "
        "files, which people can save."
    )
    caution = Caution(bound=("target_type", "target"))

    def __init__(self, endpoints: Mapping[str, Endpoint]) -> None:
        self._endpoints = endpoints

    def work(self, tx: Tx, context: ToolContext, arguments: SendArguments) -> Outcome:
        turn = context.turn
        if arguments.target_type in ("agent", "group"):
            return _write(tx, context, arguments)
        if arguments.target_type == "here" and not arguments.file_name:
            raise ToolError("Your final text is what is said here: only a file, with `file_name`, is sent separately.")
        place, hearers, name = _target(tx, context, arguments)
        endpoint = self._endpoints.get(source := place_source(place))
        if endpoint is None:
            raise ToolError(f"Nothing can be delivered to {place}: the front end {source!r} is not connected.")
        stranger = turn.trust < Trust.APPROVED and arguments.target_type == "channel" and place != turn.place
        if not hearers.may_use(turn.scope.audience):
            reason = gettext_lazy("people who can read {target} have not seen this conversation", target=name)
            if stranger:
                also = gettext_lazy("if you allow it, an approver will be asked, too")
                reason = join_lazy("; ", (reason, also))
            require(Need(Kind.SOURCE, place, reason, asks=turn.person, once_only=True), context.permit)
        if stranger:
            reason = gettext_lazy("somebody who is not approved wants me to write in {target}", target=name)
            require(Need(Kind.TOOL, f"send_message to {place}", reason), context.permit)
        pieces = package(arguments.content, endpoint.at(place))
        if arguments.file_name:
            if not endpoint.form.takes_files:
                raise ToolError("No files can be sent there.")
            pieces = [Piece("", flatten(arguments.file_name, 100) or "file.txt", arguments.content)]
        row = outbox.NewRow.of_turn(turn, f"tool/{turn.id}/{snowflakes.next()}", place)
        row = replace(row, audience=hearers.audience)
        shown = context.agent.config
        queue(tx, row, outbox.TextDetail(speaker=shown.show_name, avatar=shown.avatar), pieces, context.now)
        _note_sent(tx, context, gettext_lazy("sent a message to {name}", name=name), name)
        return Outcome(
            say("queued for {place}: it will be delivered as soon as this turn's step is stored", place=place)
        )


_NOBODY = "The message was not sent"


class _To(Struct, frozen=True):
    """The recipient: an agent in a group where it speaks, or (None) the group."""

    group: Group
    agent: Agent | None = None

    @property
    def name(self) -> str:
        return self.group.name if self.agent is None else self.agent.name


def _agent_called(rows: Rows, turn: Turn, name: str) -> _To:
    """Another agent, in the turn's group if it speaks there. Raises ToolError."""
    known = agents.agents(rows)
    found = next((each for each in known if each.name.casefold() == plain_name(name)), None)
    if found is None or found.id == turn.agent:
        others = ", ".join(each.name for each in known if each.id != turn.agent) or "nobody"
        why = "You cannot write to yourself." if found is not None else f"There is no agent {name!r}."
        raise ToolError(f"{why} You can write to: {others}.")
    if found.status != "active":
        raise ToolError(f"{_NOBODY}: {found.name} is {found.status} and answers nobody.")
    speaks = [each for each in agent_groups.groups_of(rows, found.id) if each.speaks(found.id)]
    if not speaks:
        raise ToolError(f"{_NOBODY}: {found.name} only listens, or is in no group.")
    return _To(next((each for each in speaks if each.id == turn.group), speaks[0]), found)


def _group_called(rows: Rows, turn: Turn, name: str) -> _To:
    """A group in which somebody else can answer. Raises ToolError."""
    known = agent_groups.groups(rows)
    found = next((each for each in known if each.name.casefold() == plain_name(name)), None)
    if found is None:
        there = ", ".join(each.name for each in known)
        raise ToolError(f"There is no group {name!r}. The groups are: {there}.")
    able = [agent for agent in agent_groups.answering(rows, found) if found.speaks(agent)]
    if not set(able) - {turn.agent}:
        raise ToolError(f"{_NOBODY}: nobody else in the group {found.name} can answer.")
    return _To(found)


def _queue_message(tx: Tx, context: ToolContext, text: str, to: _To) -> str:
    """Queue a message by the agent of a turn; returns the reason for a refusal, or an empty text. Raises ToolError."""
    turn, now = context.turn, context.now
    if not budget_left(tx, turn, now):
        return f"{_NOBODY}: the message that you answer has caused {TURN_BUDGET} turns of agents. Answer now."
    if pair_rests(tx, turn, to.group.id if to.agent is None else to.agent.id, now):
        return f"{_NOBODY}: {to.name} and you have written to each other too often. Answer with what you have."
    agent = None if to.agent is None else to.agent.id
    event = inbox.Event(
        source=agent_messages.SOURCE,
        external_id=f"{turn.id}/{snowflakes.next()}",
        place=turn.place,
        person=turn.person,
        group=to.group.id,
        text=text,
        hearers=turn.scope,
        trust=turn.trust,
        payload=payloads.LetterEvent(to.name, agent, context.message),
        by=(context.agent.id, context.agent.name),
    )
    row = inbox.add_event(tx, event, now)
    if row is not None:
        agent_messages.add(tx, SentMessage(row, root_of(tx, turn), turn.id, turn.agent, agent, to.group.id), now)
    return ""


def _write(tx: Tx, context: ToolContext, arguments: SendArguments) -> Outcome:
    """Queue it for other agents, in the same place and for the same audience."""
    turn = context.turn
    if is_patrol(turn.place):
        raise ToolError("On patrol you write to no agents: leave them a task or a note with `coord`.")
    called = _agent_called if arguments.target_type == "agent" else _group_called
    to = called(tx, turn, arguments.target)
    if problem := _queue_message(tx, context, arguments.content, to):
        return Outcome(line(problem), ok=False)
    _note_sent(tx, context, gettext_lazy("sent a message to {name}", name=to.name), to.name)
    return Outcome(say("{name} takes it up here as soon as people are answered", name=to.name))


def _note_sent(tx: Tx, context: ToolContext, words: str, name: str) -> None:
    activity.note_of_turn(tx, context.turn, activity.MessageSent(1, name), words, context.now)


def _target(tx: Tx, context: ToolContext, arguments: SendArguments) -> _Target:
    turn = context.turn
    if arguments.target_type == "person":
        if turn.person is None:
            raise ToolError("Nobody is talking to you at the moment.")
        # The person hears this very place, so may know what is said in it.
        hearers = Scope(person_audience(turn.person), frozenset({turn.scope.audience}))
        return own_place(turn.person), hearers, "that person's messages"
    if arguments.target_type == "here":
        return turn.place, turn.scope, "this conversation"
    found = place_meant(inbox.known_places(tx, turn.scope), arguments.target)
    return found.id, Scope(found.audience, frozenset(found.within)), found.name or found.id
