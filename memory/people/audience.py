"""Who may hear something, and what a turn may therefore use.

An `Audience` says who heard a row when it was said. A `Scope` says who will hear what a turn produces, and therefore
which rows the turn may use: only those that everybody in the scope may know. Both are required arguments wherever rows
are read; there is no unscoped read.
"""

import re
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING, NewType

from msgspec import Struct, field

from memory.store.ids import GuildId, PersonId, PlaceId

if TYPE_CHECKING:
    from memory.store.database import Value  # only for types: whoever needs an audience need not load SQLite

Audience = NewType("Audience", str)
"""One of "public", "owner", "guild:<id>", "channel:<id>", "person:<id>"; made by the functions below."""

PUBLIC = Audience("public")
OWNER = Audience("owner")


def guild_audience(guild: GuildId) -> Audience:
    return Audience(f"guild:{guild}")


def channel_audience(place: PlaceId) -> Audience:
    """Those who can see one private channel, private thread or group conversation."""
    return Audience(f"channel:{place}")


def person_audience(person: PersonId) -> Audience:
    return Audience(f"person:{person}")


def parse_audience(text: str) -> Audience:
    """The audience written as `text`; raises ValueError for anything that is not one."""
    kind, _, rest = text.partition(":")
    if text in (PUBLIC, OWNER) or (kind in ("guild", "channel", "person") and rest):
        return Audience(text)
    raise ValueError(f"{text!r} is not an audience: public, owner, guild:<id>, channel:<id> or person:<id>")


class Scope(Struct, frozen=True):
    """Those who will hear a turn's answer.

    `audience` is stamped on what the turn writes. `within` names wider audiences every hearer belongs to: the
    guild around a private channel, the parent channel of a private thread, or guilds that the person of a
    direct message was just checked to be able to see; and in a direct message the other accounts of its
    person ("person:<id>"), as proven by both sides. The owner's own places hear everything but other people's
    direct messages.
    """

    audience: Audience
    within: frozenset[Audience] = field(default_factory=frozenset)

    def may_use(self, row: Audience) -> bool:
        """Whether a row of that audience may be used where this scope hears it."""
        if self.audience == OWNER:
            return not row.startswith("person:") or row in self.within
        return row in self.usable()

    def usable(self) -> frozenset[Audience]:
        """The audiences whose rows may be used; for the owner see `may_use`, which cannot be listed."""
        return frozenset({PUBLIC, self.audience}) | self.within

    def bind(self, sql: str, *parameters: "Value") -> tuple[str, tuple["Value", ...]]:
        """SQL and its parameters, in which KNOWN(column) means that this scope may use a row of that audience.

        Every read within a scope is bound here. What is not bound fails, since SQLite has no such function; what names
        no audience is refused.
        """
        text, count, known = _bound(self, sql)
        if len(parameters) != count:
            raise ValueError(f"{len(parameters)} parameters for {count} question marks: {sql}")
        values = [*parameters]
        for at, audiences in known:
            values[at:at] = audiences
        return text, tuple(values)


_KNOWN = re.compile(r"KNOWN\(([\w.]+)\)")


@lru_cache(maxsize=1_000)
def _bound(scope: Scope, sql: str) -> tuple[str, int, tuple[tuple[int, tuple[str, ...]], ...]]:
    """The SQL with its conditions, its number of parameters, and those to insert, from the last to the first."""
    marks = [*_KNOWN.finditer(sql)]
    if not marks:
        raise ValueError(f"no audience is asked for: {sql}")
    known = tuple((sql.count("?", 0, mark.start()), _condition(scope, mark[1])[1]) for mark in reversed(marks))
    return _KNOWN.sub(lambda mark: _condition(scope, mark[1])[0], sql), sql.count("?"), known


def _condition(scope: Scope, column: str) -> tuple[str, tuple[str, ...]]:
    if scope.audience == OWNER:
        own = tuple(sorted(each for each in scope.within if each.startswith("person:")))
        more = f" or {column} in ({', '.join('?' * len(own))})" if own else ""
        return f"({column} not glob 'person:*'{more})", own
    names = sorted(scope.usable())
    return f"{column} in ({', '.join('?' * len(names))})", tuple(names)


def with_words_of(person: str, entry: str = "archival_entries") -> str:
    """SQL: whether an entry has words of a person, who is named as in the statement: `:person` or `?` (twice)."""
    return f"""({entry}.person_id = {person} OR (instr({entry}.metadata, '"_people"')
        AND {person} IN (SELECT value FROM json_each({entry}.metadata, '$._people'))))"""


def may_write_down(turn: Scope, readers: Audience) -> bool:
    """Whether a turn may write into something that `readers` can see: all of them must be allowed to know the turn.

    Readers who are known only by their audience get nothing beyond it: a guild's block may not take what was said in
    one of its private channels, and the owner's words do not reach a public block by themselves.
    """
    return Scope(readers).may_use(turn.audience)


class Trust(IntEnum):
    """Who said something, stamped by the platform; derived text has the lowest trust of its sources."""

    WEB = 0
    STRANGER = 1
    APPROVED = 2
    AGENT = 3
    OWNER = 4
    SYSTEM = 5
