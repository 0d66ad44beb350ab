"""What a turn did, step by step, and how that is stored.

A step is one row of JSON (`v` is its version), written when it happens, of a kind in `_KINDS`; the messages that a turn
began with are a column of the turn itself. When a turn is finished, its steps become messages and are deleted.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from msgspec import Struct
from pydantic import AliasChoices, AliasPath, Field

from memory.people.audience import Trust
from memory.store.errors import RowUnreadable
from memory.store.ids import BlockId, MessageId, RequestId
from memory.store.row_mapper import Codec, tagged

Wordings: TypeAlias = tuple[tuple[MessageId, int], ...]
"""Messages, each with the revision that was read."""
CutOff: TypeAlias = Literal["interrupted", "failed", "cancelled"]
"""Interrupted: a later process found it running. Failed: given up, or tried again. Canceled: not wanted any more."""


@dataclass(frozen=True)
class _Stored:
    v: Literal[1] = field(default=1, kw_only=True, repr=False)


@dataclass(frozen=True)
class MessagesJoined(_Stored):
    """The turn answers these messages."""

    messages: Wordings


@dataclass(frozen=True)
class CallApproval:
    """The approval under which a call is made; `covers` are digests of needs (`memory.permission_requests.Need`)."""

    request: RequestId
    covers: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class ToolCall:
    """A call as the model wrote it, or as it was approved."""

    id: str
    name: str
    arguments: str
    permit: CallApproval | None = None


@dataclass(frozen=True)
class ModelAnswer(_Stored):
    """One answer of the model or, without a `model`, an approved call.

    `shown` are the versions of blocks in its prompt, `sizes` the characters of the prompt's parts.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    model: str = ""
    finish: str = ""
    shown: Mapping[BlockId, int] = field(default_factory=dict)
    reasoning: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class CallStarted(_Stored):
    """A call with effects outside the process, or for another agent, has begun; `call` is its id."""

    call: str
    name: str
    effect: bool


@dataclass(frozen=True)
class CallDone(_Stored):
    """The result of a call. `ok`: it succeeded; `effect`: it changed something.

    `forgets`: somebody asked to forget. `trust`: how far the result can be trusted. `shown`: versions of blocks in the
    text.
    """

    call: str
    name: str
    text: str
    ok: bool
    data: Any
    trust: Trust
    effect: bool = False
    forgets: bool = False
    shown: Mapping[BlockId, int] = field(default_factory=dict)


@dataclass(frozen=True)
class CallWaits(_Stored):
    """A call was not made yet: somebody is asked first."""

    ok: ClassVar = False

    call: str
    name: str
    text: str
    request: Annotated[RequestId, Field(validation_alias=AliasChoices("request", AliasPath("data", "waiting")))]


@dataclass(frozen=True)
class CallFailed(_Stored):
    """A call was not made, or nobody knows whether it was; `rule` is the rule that refused it.

    `reason` is the text as a message of the catalog, if it is one, for the offline model.
    """

    ok: ClassVar = False

    call: str
    name: str
    text: str
    rule: str = ""
    reason: Annotated[str, Field(validation_alias=AliasChoices("reason", AliasPath("data", "reason")))] = ""


CallEnded: TypeAlias = CallDone | CallWaits | CallFailed


@dataclass(frozen=True)
class Note(_Stored):
    """A text for the model about these new revisions. `shorten`: its answer was too long to send."""

    text: str
    messages: Wordings = ()
    shorten: bool = False


@dataclass(frozen=True)
class MissingCalls(_Stored):
    """A text for the model: it must make more calls before the turn may end. `force` is the tool it must call now."""

    text: str
    messages: Wordings
    force: str


@dataclass(frozen=True)
class WorkState:
    """How far a turn got. `files` are files and links; `last_activity` describes its last action in a few words."""

    status: CutOff
    prompt: str
    summary: str
    decisions: tuple[str, ...]
    next_steps: tuple[str, ...]
    unfinished: tuple[str, ...]
    files: tuple[str, ...]
    commits: tuple[str, ...]
    last_activity: str
    at: datetime


@dataclass(frozen=True)
class TakenUp(_Stored):
    """The turn continues after an interruption: how far it had got, and which revisions it answered then."""

    recovery: WorkState
    of: Wordings


StepBody: TypeAlias = MessagesJoined | ModelAnswer | CallStarted | CallEnded | Note | MissingCalls | TakenUp


class Step(Struct, frozen=True):
    seq: int
    body: StepBody
    at: datetime


_KINDS: Mapping[str, Mapping[str, type]] = {
    "joined": {"plain": MessagesJoined},
    "answer": {"plain": ModelAnswer},
    "tool_started": {"plain": CallStarted},
    "tool_result": {"plain": CallDone, "waits": CallWaits, "failed": CallFailed},
    "note": {"plain": Note, "missing": MissingCalls, "taken_up": TakenUp},
}
_KIND = {each: kind for kind, of in _KINDS.items() for each in of.values()}
_CODECS = {kind: Codec[StepBody](tagged(**of), whole=True) for kind, of in _KINDS.items()}


def dump(body: StepBody) -> tuple[str, str]:
    kind = _KIND[type(body)]
    return kind, _CODECS[kind].dump(body)


def load(kind: str, text: str) -> StepBody:
    """A step's body. Raises RowUnreadable."""
    codec = _CODECS.get(kind)
    if codec is None:
        raise RowUnreadable(f"A stored step is of the unknown kind {kind!r}.")
    return codec.load(text)


def has_effect(body: StepBody) -> bool:
    """Whether the step changed anything, or may have."""
    return isinstance(body, CallStarted | CallDone) and body.effect


def is_lasting(body: StepBody) -> bool:
    """Whether a step must be kept: a call outside the process, a memory write, a request, or an approval."""
    if isinstance(body, ModelAnswer):
        return any(call.permit is not None for call in body.calls)
    return isinstance(body, CallStarted | CallWaits) or has_effect(body)


def forgets(steps: Iterable[Step]) -> bool:
    """Whether somebody asked to forget: then arguments and results of the turn's tools are not kept."""
    return any(isinstance(step.body, CallDone) and step.body.forgets for step in steps)
