"""The next step of a turn: a pure function of what is stored.

No state of a running turn is only in memory, so a restart asks the same question of the same rows and continues after
the last commit.
"""

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct

from bot.agents.context.prompt import PromptInputs, PromptMessage
from bot.agents.context.quotes import display_name, quotation
from bot.agents.tool_rules import REMINDERS, Rules
from bot.models.base import Call
from memory.permission_requests import Permit
from memory.queue.steps import (
    CallApproval,
    CallEnded,
    CallStarted,
    MessagesJoined,
    MissingCalls,
    ModelAnswer,
    Note,
    Step,
    Wordings,
    has_effect,
)
from memory.store.ids import MessageId
from texts import _

MAX_RESTARTS = 2
MAX_EDITS_TOLD = 3
"""How often an edit is told after that: each costs a call of the model. The answer is then to an earlier text."""


class CallModel(Struct, frozen=True):
    """Call the model; `last`: no tool may follow; `force` names a tool that it must call now."""

    last: bool
    force: str = ""


class CallTool(Struct, frozen=True):
    """Make a tool call. `begun`: it was begun before, and its end is unknown; `permit`: it was approved."""

    call: Call
    begun: bool
    permit: Permit | None = None


class Finish(Struct, frozen=True):
    text: str


class Restart(Struct, frozen=True):
    """Begin again: the messages changed and nothing irrevocable was done."""


class Cancel(Struct, frozen=True):
    """Stop: nobody wants the answer any more."""


NextStep: TypeAlias = CallModel | CallTool | Finish | Restart | Note | MissingCalls | Cancel
"""A note for the model: the messages changed too late to begin again, or required calls are missing."""


def next_step(material: PromptInputs, *, said: bool, max_steps: int) -> NextStep:
    """Decide the next step. `said`: whether something of this turn was sent, or may have been."""
    live = [asked for asked in material.asked if asked.message.deleted_at is None]
    if not live and not said:
        return Cancel()
    other = changed(material)
    if sum(isinstance(step.body, Note) and bool(step.body.messages) for step in material.steps) >= MAX_EDITS_TOLD:
        other = [each for each in other if each.message.deleted_at is not None]
    may_restart = other and not said and material.turn.restarts < MAX_RESTARTS
    if may_restart and not any(has_effect(step.body) for step in material.steps):
        return Restart()
    answers = [step.body for step in material.steps if isinstance(step.body, ModelAnswer)]
    call = open_call(material)
    if call is not None and len(answers) < max_steps:
        return call  # a call gets its result before the model reads anything else
    if other:
        return Note(_describe(other), wordings(material))
    rules, ended = Rules.of(material.agent), answers and isinstance(material.steps[-1].body, ModelAnswer)
    if not ended and not rules.ends(material.steps):
        if len(answers) < max_steps:
            last = len(answers) == max_steps - 1
            return CallModel(last, "" if last else rules.forced(material.steps))
        return Finish(answers[-1].text or _gave_up(max_steps))
    if len(answers) < max_steps - 1 and (reminder := _reminder(material, rules)) is not None:
        return reminder
    return Finish(answers[-1].text or (_gave_up(max_steps) if ended and answers[-1].calls else ""))


def _reminder(material: PromptInputs, rules: Rules) -> MissingCalls | None:
    """The calls still required before the turn may end: an error, then a reminder, then a forced call.

    A model that does not even make a forced call is not called again. A voter's call is forced at once.
    """
    if not (demands := rules.demands(material.steps, material.used, material.turn.started_at)):
        return None
    told = sum(isinstance(step.body, MissingCalls) for step in material.steps)
    reminders = 0 if material.part is not None and material.part.is_one_call else REMINDERS
    if told > reminders:
        return None
    missing = "; ".join(f"`{demand.tool}` ({demand.why})" for demand in demands)
    begun = ("Your answer was not sent yet: a call is missing before it", "Reminder: a call is still missing")
    head = begun[min(told, 1)] if told < reminders else "You have to call it now"
    text = f"{head}: {missing}. Make the call, then give your whole answer."
    return MissingCalls(text, wordings(material), demands[0].tool if told == reminders else "")


def open_call(material: PromptInputs) -> CallTool | None:
    """The first call of the newest answer that has no result yet."""
    later: list[Step] = []
    for step in reversed(material.steps):
        if isinstance(step.body, ModelAnswer):
            return _open_call(step.body, later)
        later.append(step)
    return None


def wordings(material: PromptInputs) -> Wordings:
    """The current revision of every message of the turn, as a step stores it."""
    return tuple((asked.message.id, asked.message.revision) for asked in material.asked)


def changed(material: PromptInputs) -> list[PromptMessage]:
    """The messages whose text has changed since they were read."""
    known: dict[MessageId, int] = {}
    for step in material.steps:
        if isinstance(step.body, MessagesJoined | Note | MissingCalls):
            known.update(step.body.messages)
    return [
        asked
        for asked in material.asked
        if known.get(asked.message.id, asked.message.revision) != asked.message.revision
    ]


def _describe(changed: list[PromptMessage]) -> str:
    lines = []
    for asked in changed:
        message, who = asked.message, display_name(asked.message.speaker) or "Somebody"
        if message.deleted_at is not None:
            lines.append(f"{who} deleted a message of this turn meanwhile: do not use or repeat it.")
        else:
            head = f"{who} edited a message of this turn meanwhile. It now says:"
            lines.append(f"{head}\n{quotation(who, message.text)}")
    return "\n".join(lines)


def _open_call(answer: ModelAnswer, later: Sequence[Step]) -> CallTool | None:
    if not answer.calls:
        return None
    ended = {step.body.call for step in later if isinstance(step.body, CallEnded)}
    begun = {step.body.call for step in later if isinstance(step.body, CallStarted)}
    for call in answer.calls:
        if call.id not in ended:
            return CallTool(Call(call.id, call.name, call.arguments), call.id in begun, _permit(call.permit))
    return None


def _permit(given: CallApproval | None) -> Permit | None:
    return None if given is None else Permit(frozenset(given.covers), given.request)


def _gave_up(max_steps: int) -> str:
    return _(
        "I reached my limit on steps ({steps}) without an answer. Ask me again, perhaps in smaller parts.",
        steps=max_steps,
    )
