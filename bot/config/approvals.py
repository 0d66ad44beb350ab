"""Whether what needs a yes can get one."""

from collections.abc import Iterator

from bot.config.tables import Admins, Approvals


def approval_problems(file: str, approvals: Approvals, admins: Admins, owner: str) -> Iterator[str]:
    """More people than there are cannot say yes; how many have a role nobody here knows. `owner` is one of them."""
    people = 1 + len(admins.persons - {owner})
    if approvals.quorum > people and not any(admins.roles.values()):
        found = f"found {approvals.quorum}, and you and discord.admins are {people}"
        yield f"{file}: approvals.quorum: {found}; expected at most as many, since nothing could be allowed"
