"""`send_message`: saying something elsewhere than where the turn's answer goes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import Field

from bot.agents.answers import Piece, package, queue
from bot.agents.context.quotes import line, say
from bot.agents.groups.agent_messages import Letter, agent_called, group_called, write
from bot.agents.notices import own_place
from bot.agents.patrols import is_patrol
from bot.agents.permissions.policy import Caution
from bot.agents.tools.base import Arguments, Outcome, StoreTool, ToolContext
from bot.agents.tools.search_results import place_meant
from bot.errors import ToolError
from memory import activity
from memory.people.audience import Scope, Trust, person_audience
from memory.queue import inbox, outbox
from memory.requests import Kind, Need, require
from memory.store.database import Tx
from memory.store.ids import PlaceId, place_source, snowflakes
from sources.base import Endpoint
from sources.text import flatten
from texts import gettext_lazy


class SendArguments(Arguments):
    target_type: Literal["person", "channel", "agent", "group", "here"] = Field(
        description="person: a direct message to the one you are talking to; channel: another place you know; agent "
        "or group: other agents, who take it up here after you; here: a file to go with your answer"
    )
    target: str = Field(
        default="", description='channel: the place\'s name, as "general" or "#general in Home"; agent, group: its name'
    )
    content: str = Field(min_length=1, description="what to say there, as plain text, or what is in the file")
    file_name: str = Field(default="", description='person, channel, here: send it as a text file, as "recipe.md"')


@dataclass(frozen=True)
class _Target:
    """Where to, and who will hear it."""

    place: PlaceId
    source: str
    hearers: Scope
    name: str


class SendMessageTool(StoreTool[SendArguments]):
    name = "send_message"
    description = (
        "Send a message to another place, privately to the person you are talking to, or to other agents, who answer "
        "here by themselves and do not report to you. Not needed to answer: your "
        "final text goes to where the newest message came from. What was said here is carried to people who did not "
        "hear it only when the person you are talking to agrees; they are asked, and you are told. It also sends text "
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
            raise ToolError("Your final text is what is said here: only a file, with `file_name`, is sent by itself.")
        target = _target(tx, context, arguments)
        place, source = target.place, target.source
        endpoint = self._endpoints.get(source)
        if endpoint is None:
            raise ToolError(f"Nothing can be delivered to {place}: the front end {source!r} is not connected.")
        if not target.hearers.may_use(turn.scope.audience):
            reason = gettext_lazy("people who can read {target} have not seen this conversation", target=target.name)
            require(Need(Kind.SOURCE, place, reason, asks=turn.person, once_only=True), context.permit)
        if turn.trust < Trust.APPROVED and arguments.target_type == "channel" and place != turn.place:
            reason = gettext_lazy("somebody who is not approved wants me to write in {target}", target=target.name)
            require(Need(Kind.TOOL, f"send_message to {place}", reason), context.permit)
        pieces = package(arguments.content, endpoint.split, endpoint.form)
        if arguments.file_name:
            if not endpoint.form.takes_files:
                raise ToolError("No files can be sent there.")
            pieces = [Piece("", flatten(arguments.file_name, 100) or "file.txt", arguments.content)]
        row = replace(
            outbox.NewRow.of_turn(turn, f"tool/{turn.id}/{snowflakes.next()}", place), audience=target.hearers.audience
        )
        face = context.agent.face
        queue(tx, row, outbox.TextDetail(speaker=face.name, avatar=face.avatar), pieces, context.now)
        details = {"messages": 1, "target": target.name}
        words = gettext_lazy("sent a message to {name}", name=target.name)
        activity.note(tx, activity.of_turn(turn, activity.Kind.SENT, words, details), context.now)
        return Outcome(
            say("queued for {place}: it will be delivered as soon as this turn's step is stored", place=place)
        )


def _write(tx: Tx, context: ToolContext, arguments: SendArguments) -> Outcome:
    """Let other agents take it up, in the same place and for the same ears."""
    turn = context.turn
    if is_patrol(turn.place):
        raise ToolError("On patrol you write to no agents: leave them a task or a note with `coord`.")
    called = agent_called if arguments.target_type == "agent" else group_called
    to = called(tx, turn, arguments.target)
    if problem := write(tx, Letter(turn, context.agent, arguments.content, context.message), to, context.now):
        return Outcome(line(problem), ok=False)
    details = {"messages": 1, "target": to.name}
    words = gettext_lazy("wrote to {name}", name=to.name)
    activity.note(tx, activity.of_turn(turn, activity.Kind.SENT, words, details), context.now)
    return Outcome(say("{name} takes it up here as soon as people are answered", name=to.name))


def _target(tx: Tx, context: ToolContext, arguments: SendArguments) -> _Target:
    turn = context.turn
    if arguments.target_type == "person":
        if turn.person is None:
            raise ToolError("Nobody is talking to you at the moment.")
        place, audience = own_place(turn.person), person_audience(turn.person)
        # The person hears this very place, so may know what is said in it.
        hearers = Scope(audience, frozenset({turn.scope.audience}))
        return _Target(place, place_source(place), hearers, "that person's messages")
    if arguments.target_type == "here":
        return _Target(turn.place, place_source(turn.place), turn.scope, "this conversation")
    found = place_meant(inbox.known_places(tx, turn.scope), arguments.target)
    hearers = Scope(found.audience, frozenset(found.within))
    return _Target(found.id, place_source(found.id), hearers, found.name or found.id)
