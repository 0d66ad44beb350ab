"""Which calls of agents need approval. Pure.

`who_may_approve.py` decides who may approve them; `memory/blocks/rights.py` decides about edits of blocks.
"""

from collections.abc import Collection
from typing import Literal, TypeAlias

from msgspec import Struct

from memory.people.audience import PUBLIC, Trust
from memory.permission_requests import Kind, Need
from memory.queue.turns import Turn
from texts import gettext_lazy

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
