"""Answers with a code, such as "yes 1234" in a direct message: which approval request they decide."""

from datetime import datetime

from bot.agents.permissions.approval_requests import Broker, Ruling
from bot.agents.permissions.roles_and_rights import Approver
from memory import permission_requests
from memory.permission_requests import Status, Verdict
from memory.store import ids
from memory.store.database import Rows, Tx
from memory.store.ids import RequestId
from sources.text import one_line
from texts import _, ngettext

_LISTED, _REASON = 5, 100  # questions told apart at once, and characters of each one's reason


def answer_by_code(tx: Tx, broker: Broker, code: str, who: Approver, verdict: Verdict, now: datetime) -> Ruling:
    """Answer the request that the code refers to; if that is not clear, nothing is decided."""
    meant = _request_meant(tx, code, who)
    return _nothing_decided(tx, code, who, now) if meant is None else broker.answer(tx, meant, who, verdict, now)


def _request_meant(rows: Rows, code: str, who: Approver) -> RequestId | None:
    """The request whose number is `code`, or the only one asking this person whose number ends in it."""
    exact = permission_requests.get(rows, RequestId(min(int(code), ids.LARGEST) if code.isdecimal() else 0))
    if exact is not None:
        return exact.id
    asking = [each.id for each in permission_requests.asking(rows, who.identities)]
    meant = [each for each in asking if len(code) >= ids.SHORTEST and str(each).endswith(code)]
    return meant[0] if len(meant) == 1 else None


def _nothing_decided(rows: Rows, code: str, who: Approver, now: datetime) -> Ruling:
    """The answer to a person whose code is missing or matches no request: the ones that wait for them.

    The text is empty if there are none and no code was given.
    """
    if not code and not permission_requests.is_asked(rows, who.identities):
        return Ruling("", counted=False)
    asking = permission_requests.asking(rows, who.identities)
    waiting = [each for each in asking if each.status is Status.WAITING and each.expires_at > now]
    if not waiting:
        return Ruling(_("No request is waiting for you.") if code else "", counted=False)
    numbers = [each.id for each in asking]
    found = [
        f"{ids.code(each.id, numbers)} ({each.tool}: {one_line(_(each.reason), _REASON)})" for each in waiting[:_LISTED]
    ]
    if len(waiting) > _LISTED:
        found.append(ngettext("{count} more", "{count} more", len(waiting) - _LISTED))
    words = ngettext(
        "Nothing was decided: {count} request is waiting for you. Answer yes or no with its number: {found}",
        "Nothing was decided: {count} requests are waiting for you. Answer yes or no with "
        "the number of a request: {found}",
        len(waiting),
        found=", ".join(found),
    )
    return Ruling(words, counted=False)
