"""What a conducted run says, as rows: each member's words under its name, the group's own under the group's."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from bot.agents.answers import Piece
from bot.agents.context.prompt import PromptInputs
from bot.agents.groups.team import Team
from bot.agents.transcript import answered_id
from memory import agents
from memory.people.audience import Trust
from memory.queue import messages, outbox
from memory.store.database import Tx
from memory.store.ids import AgentId, MessageId, place_source


@dataclass(frozen=True)
class Spoken:
    """The words by agent, in order; no agent: the group itself."""

    words: tuple[tuple[AgentId | None, str], ...]
    team: Team


def write(
    tx: Tx, material: PromptInputs, spoken: Spoken, package: Callable[[str, str], list[Piece]], now: datetime
) -> None:
    """Store the run's batch and queue what is said; inside the transaction that ends the run."""
    asked = [each.message.id for each in material.asked]
    messages.join_batch(tx, asked, material.turn.id)
    said = [(agent, text) for agent, text in spoken.words if text.strip()]
    after = ""
    for number, (agent, text) in enumerate(said):
        speaker = spoken.team.group.name if agent is None else agents.agent(tx, agent).name
        message = _store(tx, material, (agent, speaker), text, len(asked) + number + 1, now)
        pieces = package(place_source(material.turn.place), text)
        after = _queue(tx, material, (agent, speaker), (number, message, after), pieces, now)


def _store(
    tx: Tx, material: PromptInputs, who: tuple[AgentId | None, str], text: str, sequence: int, now: datetime
) -> MessageId:
    turn, (agent, speaker) = material.turn, who
    said = messages.Said(
        turn=turn.id,
        sequence=sequence,
        place=turn.place,
        agent=agent or turn.agent,
        person=turn.person,
        speaker=speaker,
        role="assistant",
        text=text,
        source=place_source(turn.place),
        audience=turn.scope.audience,
        trust=Trust.AGENT,
        at=now,
    )
    return messages.add_said(tx, said)


def _queue(
    tx: Tx,
    material: PromptInputs,
    who: tuple[AgentId | None, str],
    what: tuple[int, MessageId, str],
    pieces: list[Piece],
    now: datetime,
) -> str:
    """Queue one member's words behind the row with the key in `what`; gives the key of the last row there is then.

    Only the very first row answers the message; each other one goes on from the row before it.
    """
    turn, (agent, speaker), (number, message, after) = material.turn, who, what
    newest = next((each for each in reversed(material.asked) if each.message.deleted_at is None), None)
    answers = answered_id(newest) if newest is not None else ""
    for place, piece in enumerate(pieces):
        key = f"turn/{turn.id}/{number}/{place}"
        row = outbox.NewRow(
            key=key,
            place=turn.place,
            source=place_source(turn.place),
            content=piece.text,
            audience=turn.scope.audience,
            turn=turn.id,
            message=message,
            person=turn.person,
            agent=agent or turn.agent,
            detail=outbox.TextDetail(
                reply_to="" if after else answers,
                after=after,
                mentions=(turn.person,) if turn.person else (),
                speaker=speaker,
                avatar="" if agent is None else agents.agent(tx, agent).face.avatar,
                files=piece.files,
            ),
        )
        outbox.add(tx, row, now)
        after = key
    return after
