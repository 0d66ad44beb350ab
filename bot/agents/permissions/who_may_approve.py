"""Who may approve a request, how many must, and which answers count. Pure.

`calls_needing_approval.py` decides which calls need approval; `approval_requests.py` stores the requests;
`roles_and_rights.py` decides about people's commands.
"""

from collections.abc import Collection

from bot.agents.permissions.roles_and_rights import Approver, People
from memory.people.audience import OWNER, Scope
from memory.permission_requests import Kind, Need, Request, Status, Verdict
from memory.queue.turns import Turn
from texts import _


def approvers(people: People, need: Need, turn: Turn) -> tuple[tuple[str, ...], int]:
    """Who may answer, and how many approvals are needed.

    A person who is asked directly is asked only about their own turn: they are not shown what others said.
    """
    if need.asks is not None and need.asks == turn.person:
        return (need.asks,), 1
    if need.kind is Kind.SOURCE:
        return (), 1  # messages can be passed on only by their authors
    return people.in_charge, people.quorum


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
