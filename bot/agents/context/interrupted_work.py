"""What an agent is told about interrupted work: by the end of the process, a failure, or a cancellation.

A resumed turn continues with its own steps; once, above the newest message, it is told what it was doing. When the
steps are lost (given up, canceled), the agent's next turn in that place is told.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from bot.agents.context.quotes import estimate_tokens
from bot.models.base import parsed
from memory import group_runs
from memory.knowledge import interrupted_work as stored_work
from memory.knowledge import sessions, work_extraction
from memory.knowledge.items import Item
from memory.knowledge.sessions import Session
from memory.queue import inbox, messages, turns
from memory.queue.messages import Message
from memory.queue.steps import (
    CallDone,
    CallEnded,
    CallFailed,
    CallStarted,
    CallWaits,
    CutOff,
    MessagesJoined,
    ModelAnswer,
    Step,
    StepBody,
    TakenUp,
    Wordings,
    WorkState,
    is_lasting,
)
from memory.queue.turns import Turn
from memory.store.database import Rows, Tx
from memory.store.errors import RowUnreadable
from memory.store.ids import TurnId
from memory.store.records import replace
from sources.text import one_line

TOKENS = 180
"""Of the whole text."""
HEAD = "what you were doing"
_PROMPT, _LINE = 500, 150  # characters kept of the request, and shown per line
_WIDE_LINE = 45  # the same for scripts with one token per character
_CUTS = {"interrupted": "was interrupted", "failed": "failed for good", "cancelled": "was canceled"}
_CAUTION = "This is not the whole history: ask when you are unsure of a detail."


def state_of(asked: str, steps: Sequence[Step], status: CutOff, at: datetime) -> WorkState:
    """The progress of a turn, from its steps. Pure."""
    bodies = [step.body for step in steps]
    results = [body for body in bodies if isinstance(body, CallEnded)]
    calls = {call.id: call.arguments for body in bodies if isinstance(body, ModelAnswer) for call in body.calls}
    told = "\n".join(body.text for body in bodies if isinstance(body, ModelAnswer))
    given = "\n".join(body.text for body in results if body.ok)
    uses = [_used(body, calls.get(body.call, "")) for body in results]
    ended = {body.call for body in results}
    begun = [body.name for body in bodies if isinstance(body, CallStarted) and body.call not in ended]
    open_calls = (f"{name} had begun, and nobody saw how it ended" for name in begun)
    arguments = " ".join(calls.values())
    did = [work_extraction.first_sentence(told), f"used {', '.join(uses)}" if uses else ""]
    return WorkState(
        status=status,
        prompt=" ".join(asked.split())[:_PROMPT],
        summary="; ".join(part for part in did if part),
        decisions=tuple(work_extraction.decisions(told)),
        next_steps=tuple(work_extraction.next_steps(told)),
        unfinished=(*open_calls, *work_extraction.unfinished(told)),
        files=tuple(work_extraction.files(f"{told}\n{arguments}")),
        commits=tuple(work_extraction.commits(f"{told}\n{given}")),
        last_activity=next(iter((*begun, *uses[-1:])), ""),
        at=steps[-1].at if steps else at,
    )


def _used(result: CallEnded, arguments: str) -> str:
    """A used tool with its operation, and whether it failed."""
    operation = parsed(arguments).get("operation")
    words = f"{result.name}{f' ({operation})' if operation else ''}"
    return words if result.ok else f"{words}, which failed"


def recovery_text(state: WorkState, last: Session | None = None) -> str:
    """The text, at most `TOKENS` long: the task and what was done first, the session before it last. Pure."""
    lines = [f"Your work here {_CUTS[state.status]}. What is known of it:"]
    caution = [_CAUTION]
    for name, words in _parts(state, last):
        line = f"- {name}: {one_line(words, _WIDE_LINE if _is_wide(words) else _LINE)}"
        if estimate_tokens("\n".join([*lines, line, *caution])) <= TOKENS:
            lines.append(line)
    return "\n".join([*lines, *caution])


def _is_wide(text: str) -> bool:
    return estimate_tokens(text) > len(text) / 2


def _parts(state: WorkState, last: Session | None) -> Iterator[tuple[str, str]]:
    """The parts of the text, most important first."""
    yield "Task", state.prompt or "it was taken back"
    yield "Did", state.summary or "nothing yet that is stored"
    yield from (
        (name, "; ".join(dict.fromkeys(found)))
        for name, found in (
            ("Unfinished", (*state.unfinished, *state.next_steps)),
            ("Files", state.files),
            ("Commits", state.commits),
            ("Decisions", state.decisions),
        )
        if found
    )
    if last is not None and last.what:
        yield "Before that", last.what


def take_up(tx: Tx, identifier: TurnId, now: datetime) -> None:
    """Record beside the steps of a resumed turn, and of its working members, what each was doing.

    The next request shows it. Nothing is recorded after a failure before any action, or for a member that had only been
    asked.
    """
    turn, claimed = turns.get(tx, identifier), inbox.of_turn(tx, identifier)
    if turn is None or turn.status != "running":
        return
    asked = _asked(tx, turn)
    failed = any(row.last_error for row in claimed)
    status: CutOff = "failed" if failed else "interrupted"
    _take_up(tx, turn, asked, (_words(asked), status), now, even_if_idle=not failed)
    for part in group_runs.parts(tx, identifier):
        mine = turns.get(tx, part.turn) if part.status == "running" else None
        if mine is not None and mine.status == "running":
            _take_up(tx, mine, asked, (part.task or _words(asked), status), now, even_if_idle=False)


def _take_up(
    tx: Tx, turn: Turn, asked: Sequence[Message], told: tuple[str, CutOff], now: datetime, *, even_if_idle: bool
) -> None:
    (task, status), steps = told, without_notes(turns.steps(tx, turn.id))
    if not even_if_idle and all(isinstance(step.body, MessagesJoined) for step in steps):
        return
    state = state_of(task, steps, status, now)
    wordings = tuple((message.id, message.revision) for message in asked)
    turns.add_step(tx, turn, TakenUp(state, wordings), now)


def interrupted_work(steps: Sequence[Step], wordings: Wordings) -> WorkState | None:
    """What a turn was doing when it was resumed; None if the messages it answers have changed since."""
    found = [step.body for step in steps if isinstance(step.body, TakenUp)]
    return found[-1].recovery if found and found[-1].of == wordings else None


def without_notes(steps: Iterable[Step]) -> tuple[Step, ...]:
    """The steps without the records of this module."""
    return tuple(step for step in steps if not isinstance(step.body, TakenUp))


def recovery_note(rows: Rows, turn: Turn, state: WorkState | None, left: Sequence[Item]) -> str:
    """The note for a turn: about itself, else about what was left unfinished; empty if there was nothing."""
    if state is None and not left:
        return ""
    found = state or stored_work.left(left[0])
    last = sessions.recent(rows, turn.scope, 1, turn.agent)
    return recovery_text(found, last[0] if last else None)


def store_progress(tx: Tx, identifier: TurnId, status: CutOff, now: datetime) -> None:
    """Store a turn's progress before its steps are deleted. Retracted text is not kept."""
    turn = turns.get(tx, identifier)
    if turn is None:
        return
    try:
        steps = without_notes(turns.steps(tx, identifier))
    except RowUnreadable:  # the turn is given up because of that
        return
    asked = _words(_asked(tx, turn))
    if not asked:  # deleted: only the tools with effects are left to name
        if not any(is_lasting(step.body) for step in steps):
            return
        steps = tuple(replace(step, body=_without_words(step.body)) for step in steps)
    claimed = [row.message for row in inbox.of_turn(tx, identifier) if row.message is not None]
    stored_work.keep(tx, turn, state_of(asked, steps, status, now), claimed)


def _without_words(body: StepBody) -> StepBody:
    match body:
        case ModelAnswer(calls=calls):
            return dataclasses.replace(
                body, text="", calls=tuple(dataclasses.replace(call, arguments="{}") for call in calls)
            )
        case CallDone() | CallWaits() | CallFailed():
            return dataclasses.replace(body, text="")
        case _:
            return body


def _asked(rows: Rows, turn: Turn) -> list[Message]:
    ids = [row.message for row in inbox.of_turn(rows, turn.id) if row.message is not None]
    return messages.by_ids(rows, ids, turn.scope)


def _words(asked: Iterable[Message]) -> str:
    return "\n".join(message.text for message in asked if message.text)
