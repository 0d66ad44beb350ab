"""What operations are called on Discord: members see few, those in charge find theirs under `/admin` and `/owner`.

Who may do something decides where it stands. Discord takes 25 commands within one, two levels of groups, and 8,000
characters for all of a command, which is why the owner's are not under `/admin` too.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache

from bot.agents.permissions import policy
from bot.agents.permissions.policy import Standing
from bot.services import services
from bot.services.caller import Via
from bot.services.registry import Operation, operations_of
from texts import gettext_noop

HIDDEN = {
    "admin": gettext_noop("For my owner and admins"),
    "owner": gettext_noop("For my owner"),
}
TITLES = {
    **HIDDEN,
    "my": gettext_noop("Your quiet hours, state, linked accounts and unanswered messages"),
}
"""What the groups are for that exist on Discord alone."""
_WITHIN = {
    "approve": "permits",
    "deny": "permits",
    "link": "my",
    "quiet": "my",
    "retry": "my",
    "state": "my",
    "activity": "memory",
    "archival": "memory",
    "context": "memory",
    "dream": "memory",
    "project": "memory",
}
"""Which nouns members find under another, so that their list of commands is short."""


def names_of(operations: Iterable[Operation]) -> dict[str, str]:
    """The words of each command, by those of its operation: {"outbox list": "owner outbox list"}."""
    nouns: Mapping[str, list[Operation]] = defaultdict(list)
    for each in operations:
        if Via.DISCORD in each.via and each.offered:
            nouns[each.words[0]].append(each)
    return {" ".join(each.words): _name(each, noun) for noun in nouns.values() for each in noun}


@cache
def slash_names() -> Mapping[str, str]:
    """The same for all services."""
    return names_of(operations_of(services()).values())


@cache
def operation_words(command: str) -> str:
    """The words of the operation that a command calls; of a command that is written by hand, its own."""
    return {shown: words for words, shown in slash_names().items()}.get(command, command)


def _standing(declared: Operation) -> Standing:
    """The least that somebody is who may do all of it."""
    least, order = dict(policy.table()), list(Standing)
    taken = (each.needs for each in declared.parameters if each.needs is not None and Via.DISCORD in each.via)
    return min((least[each] for each in (declared.needs, *taken)), key=order.index)


def _name(declared: Operation, noun: Iterable[Operation]) -> str:
    """A noun that is mostly for those in charge stands under theirs as a whole."""
    needed = [_standing(each) for each in noun]
    everybodys = needed.count(Standing.PERSON) * 2 >= len(needed)
    if everybodys and _standing(declared) is Standing.PERSON:
        above = _WITHIN.get(declared.words[0], "")
    else:
        above = "admin" if Standing.ADMIN in needed else "owner"
    return " ".join(filter(None, (above, *declared.words)))
