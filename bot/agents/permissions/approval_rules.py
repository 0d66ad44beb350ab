"""Which calls need approval, who may answer, and which answers count.

Pure. `approval_requests.py` beside this stores the requests; `memory/blocks/rights.py` decides about edits of blocks;
`who_may.py` decides about people's commands.
"""

from collections.abc import Collection
from typing import Literal, TypeAlias

from msgspec import Struct

from bot.agents.permissions.who_may import Approver, People
from memory.people.audience import OWNER, PUBLIC, Scope, Trust
from memory.permission_requests import Kind, Need, Request, Status, Verdict
from memory.queue.turns import Turn
from texts import _, gettext_lazy


def approvers(people: People, need: Need, turn: Turn) -> tuple[tuple[str, ...], int]:
    """Who may answer, and how many approvals are needed.

    A person who is asked directly is asked only about their own turn: they are not shown what others said.
    """
    if need.asks is not None and need.asks == turn.person:
        return (need.asks,), 1
    if need.kind is Kind.SOURCE:
        return (), 1  # messages can be passed on only by their authors
    return people.in_charge, people.quorum


Asks: TypeAlias = Literal["never", "private", "always"]
"""When calls of a tool need approval for anybody; "private": if not everybody may know the arguments."""


class Caution(Struct, frozen=True):
    """When calls of a tool need approval, whatever their arguments, and which arguments a lasting approval fixes.

    Turns with less trust than `trusted` need it. `bound` names the fixed arguments, None for all of them.
    """

    trusted: Trust = Trust.WEB
    asks: Asks = "never"
    bound: tuple[str, ...] | None = None
    once_only: bool = False
    edition: str = ""
    """A digest of a foreign tool's description: an approval covers only this one. Empty for ours."""
    goes_to: str = ""
    """Who receives the call's content, in words; empty if it stays here."""


def subject(tool: str, caution: Caution) -> str:
    return f"{tool}@{caution.edition}" if caution.edition else tool


def call_needs(turn: Turn, tool: str, consent: Collection[str], caution: Caution, source: str = "") -> Need | None:
    """Why a call of a tool needs approval, judged by its name and the turn; None if it does not.

    `consent` are the tools that need approval by the agent's rules; `source` says what lowered the turn's trust.
    """
    if tool in consent:
        reason = gettext_lazy("the agent's rules require approval for {tool}", tool=tool)
    elif turn.trust < caution.trusted:
        reason = (
            gettext_lazy("{tool} was called in a turn that uses {source}", tool=tool, source=source)
            if source
            else gettext_lazy("{tool} was called for somebody who is not trusted with it", tool=tool)
        )
    elif caution.asks == "always":
        reason = gettext_lazy("{tool} always requires approval", tool=tool)
    elif caution.asks == "private" and turn.scope.audience != PUBLIC:
        reason = gettext_lazy("{tool} could reveal to others what was said here", tool=tool)
    else:
        return None
    if caution.goes_to:
        reason = gettext_lazy("{reason}, and its input goes to {to}", reason=reason, to=caution.goes_to)
    return Need(Kind.TOOL, subject(tool, caution), reason, once_only=caution.once_only)


def asks_each_time(need: Need, turn: Turn, who: tuple[str, ...]) -> bool:
    """Whether an approval holds only once: always if the approvers may not know the call's arguments."""
    return need.once_only or (not Scope(OWNER).may_use(turn.scope.audience) and who != (turn.person,))


def shortest(verdicts: Collection[Verdict]) -> Verdict | None:
    """How long an approval holds: if several approved, the shortest of their choices counts. None without one."""
    return next((each for each in (Verdict.ONCE, Verdict.HOUR, Verdict.ALWAYS) if each in verdicts), None)


def may_answer(request: Request, identities: Collection[str]) -> bool:
    """Whether one of these (a person's id, and the person's roles where they answer) is among the approvers."""
    return not set(identities).isdisjoint(request.approvers)


def refusal(request: Request, who: Approver, verdict: Verdict) -> str:
    """Why this answer does not count, in words for the person; empty if it does."""
    if not may_answer(request, who.identities):
        return _("You cannot answer this request. Only the people chosen when it was made can.")
    match request.status:
        case Status.EXPIRED:
            return _("This request has expired, and nothing was done. The agent can ask again.")
        case Status.WITHDRAWN:
            return _("This request was withdrawn. Nothing will be done.")
        case Status.WAITING:
            pass
        case _:
            return _("This request has already been decided.")
    if verdict in (Verdict.HOUR, Verdict.ALWAYS) and request.once_only:
        return _("This needs approval each time.")
    return ""
