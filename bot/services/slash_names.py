"""Names of operations on Discord: members see few; those for admins and the owner are under `/admin` and `/owner`.

The role that an operation requires decides where it is. Discord allows 25 subcommands in a command, two levels of
groups, and 8,000 characters for a command, so the owner's have their own.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache

from bot.agents.permissions.roles_and_rights import Rank
from bot.services.caller import Via
from bot.services.registry import Operation
from texts import gettext_noop, slash_names

HIDDEN = {
    "admin": gettext_noop("Manage me, as my owner or an admin"),
    "owner": gettext_noop("Manage me, as my owner"),
}
TITLES = {**HIDDEN, "my": gettext_noop("Set your language, quiet hours and state, link accounts, and retry messages")}
"""Descriptions of groups that exist only on Discord."""
CARD_TITLES = {
    "activity": gettext_noop("Recent activity"),
    "agent.list": gettext_noop("Agents"),
    "archival.list": gettext_noop("Long-term memory"),
    "backup.list": gettext_noop("Backups"),
    "budget.list": gettext_noop("Budgets"),
    "context": gettext_noop("What agents see here"),
    "doctor": gettext_noop("Installation check"),
    "dream.report": gettext_noop("Latest cleanup"),
    "dream.waiting": gettext_noop("Inferences about you"),
    "events.list": gettext_noop("Upcoming events"),
    "facts.list": gettext_noop("Facts"),
    "group.list": gettext_noop("Groups"),
    "inbox.list": gettext_noop("Recent messages"),
    "jobs.list": gettext_noop("Scheduled jobs"),
    "language": gettext_noop("Your language"),
    "link.list": gettext_noop("Your linked accounts"),
    "memory.list": gettext_noop("Memory blocks"),
    "memory.show": gettext_noop("Memory blocks"),
    "mode.channel": gettext_noop("What I respond to here"),
    "model": gettext_noop("Which model answers here"),
    "outbox.list": gettext_noop("Undelivered messages"),
    "people.list": gettext_noop("People"),
    "project.list": gettext_noop("Lessons from projects"),
    "remind.list": gettext_noop("Your reminders"),
    "route": gettext_noop("Which group answers here"),
    "source.list": gettext_noop("Sources"),
    "state": gettext_noop("How you are doing"),
    "summary.agent": gettext_noop("What agents did"),
    "summary.constellation": gettext_noop("Recent days and weeks"),
    "summary.conversation": gettext_noop("Earlier conversation"),
    "summary.night": gettext_noop("Overnight"),
    "summary.show": gettext_noop("Latest summaries"),
    "tasks.list": gettext_noop("Your tasks"),
    "tasks.template.list": gettext_noop("Your task templates"),
}
"""Headings above an operation's output."""
BUTTONS = {
    "agent.show": gettext_noop("Settings"),
    "archival.delete": gettext_noop("Delete"),
    "archival.show": gettext_noop("Show in full"),
    "dream.allow": gettext_noop("Approve"),
    "dream.refuse": gettext_noop("Reject"),
    "events.cancel": gettext_noop("Cancel event"),
    "events.move": gettext_noop("Move"),
    "facts.confirm": gettext_noop("Confirm"),
    "facts.correct": gettext_noop("Correct"),
    "facts.forget": gettext_noop("Forget"),
    "group.show": gettext_noop("Settings"),
    "group.status": gettext_noop("Members"),
    "inbox.show": gettext_noop("Show"),
    "jobs.pause": gettext_noop("Pause"),
    "jobs.resume": gettext_noop("Resume"),
    "jobs.run": gettext_noop("Run now"),
    "memory.blame": gettext_noop("Who wrote what"),
    "memory.edit": gettext_noop("Edit"),
    "memory.history": gettext_noop("History"),
    "memory.show": gettext_noop("Show"),
    "memory.undo": gettext_noop("Undo or redo"),
    "memory.widen": gettext_noop("Share"),
    "outbox.drop": gettext_noop("Discard"),
    "outbox.retry": gettext_noop("Send again"),
    "people.forget": gettext_noop("Undo"),
    "project.forget": gettext_noop("Forget"),
    "remind.cancel": gettext_noop("Cancel reminder"),
    "remind.done": gettext_noop("Done"),
    "remind.snooze": gettext_noop("Snooze"),
    "source.pause": gettext_noop("Pause"),
    "source.remove": gettext_noop("Remove"),
    "source.resume": gettext_noop("Resume"),
    "source.show": gettext_noop("Show"),
    "tasks.cancel": gettext_noop("Cancel task"),
    "tasks.done": gettext_noop("Mark as done"),
    "tasks.template.remove": gettext_noop("Remove"),
    "tasks.template.use": gettext_noop("Add its tasks"),
}
"""Operations on one item of a list, as buttons. They need no other argument, or a form asks for it."""
_WITHIN = {
    "approve": "permits",
    "deny": "permits",
    "language": "my",
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
"""Nouns that members find under another one, to keep their list of commands short."""


def names_of(operations: Iterable[Operation]) -> dict[str, str]:
    """The words of each command, by those of its operation: {"outbox list": "owner outbox list"}."""
    nouns: Mapping[str, list[Operation]] = defaultdict(list)
    for each in operations:
        if Via.DISCORD in each.via and each.offered:
            nouns[each.words[0]].append(each)
    return {" ".join(each.words): _name(each, noun) for noun in nouns.values() for each in noun}


@cache
def operation_words(command: str) -> str:
    """The words of the operation that a command calls; a handwritten command's own."""
    return {shown: words for words, shown in slash_names().items()}.get(command, command)


def _least_rank(declared: Operation) -> Rank:
    """The lowest role that may call all of it."""
    taken = (each.needs for each in declared.taken(Via.DISCORD) if each.needs is not None)
    return min((each.least for each in (declared.needs, *taken)), key=list(Rank).index)


def _name(declared: Operation, noun: Iterable[Operation]) -> str:
    """The command's words; a noun mostly for admins or the owner is entirely under their command."""
    needed = [_least_rank(each) for each in noun]
    everybodys = needed.count(Rank.PERSON) * 2 >= len(needed)
    if everybodys and _least_rank(declared) is Rank.PERSON:
        above = _WITHIN.get(declared.words[0], "")
    else:
        above = "admin" if Rank.ADMIN in needed else "owner"
    return " ".join(filter(None, (above, *declared.words)))
