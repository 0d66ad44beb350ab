"""Lasting permissions that nobody had to ask for: the owner allows an agent something before it wants it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from bot import policy
from bot.desks.approving import grant_data
from bot.errors import UserError
from bot.policy import Action, Approver, People
from bot.tools.base import Tool, Toolset
from bot.tools.recall import OBSERVATIONS
from memory import agents, grants
from memory.agents import Agent
from memory.amounts import many
from memory.audience import OWNER, Audience, Scope, parse_audience
from memory.clock import Clock
from memory.constellation import Constellations
from memory.database import Rows, Tx
from memory.faults import commit_point
from memory.grants import Entry, Grant
from memory.ids import ConstellationId, GrantId, snowflakes
from memory.requests import Kind
from sources.terminal import PERSON

_GIVE = commit_point("approval.give")

_MOST_HOURS = 24 * 366
_OWNER = Approver(PERSON, door="command line")


@dataclass(frozen=True)
class Wanted:
    """What is to be allowed: a tool with arguments (JSON), or writing a block; for words of one audience.

    Beside the tools, `observations` is reading what other members of the agent's groups stored (`recall`).
    """

    agent: str
    audience: str
    tool: str = ""
    block: str = ""
    arguments: str = ""
    hours: float | None = None


@dataclass(frozen=True)
class Granting:
    """Gives grants in one constellation; `tools` are those of an agent."""

    constellations: Constellations
    house: ConstellationId
    people: People
    clock: Clock
    tools: Callable[[Agent], Toolset]

    async def give(self, wanted: Wanted, who: Approver) -> Grant:
        """Allow it from now on. Raises UserError."""
        policy.require(self.people, who, Action.GRANT)
        audience = _audience(wanted.audience)
        if wanted.hours is not None and not 0 < wanted.hours <= _MOST_HOURS:
            raise UserError(f"A permission lasts more than 0 and at most {_MOST_HOURS} hours, or until it is revoked.")
        now = self.clock()

        def work(tx: Tx) -> Grant:
            agent = _agent(tx, wanted.agent)
            kind, subject, pattern = self._subject(agent, wanted)
            until = None if wanted.hours is None else now + timedelta(hours=wanted.hours)
            identifier = GrantId(snowflakes.next())
            grant = Grant(identifier, kind, subject, agent.id, pattern, audience, who.person, None, now, until)
            grants.give(tx, grant)
            lasts = "until revoked" if wanted.hours is None else many(wanted.hours, "hour")
            detail = f"{lasts}, by {who.door}, without a request"
            grants.note(tx, Entry("granted", now, audience, who.person, None, grant.id, agent.id, kind, detail=detail))
            return grant

        async with self.constellations.use(self.house) as database:
            return await database.write(_GIVE, work, durable=True)

    def _subject(self, agent: Agent, wanted: Wanted) -> tuple[Kind, str, dict[str, Any]]:
        if bool(wanted.tool) == bool(wanted.block):
            raise UserError("Say what is allowed: a tool or a block, one of them.")
        pattern = _pattern(wanted.arguments)
        if wanted.block:
            self._having(agent, "context", pattern)
            return Kind.EDIT, f"{agent.id}/{wanted.block}", pattern
        if wanted.tool == OBSERVATIONS:
            self._having(agent, "recall", pattern)
            return Kind.TOOL, OBSERVATIONS, pattern
        tool = self._having(agent, wanted.tool, pattern)
        return Kind.TOOL, policy.subject(tool.name, tool.caution), pattern

    def _having(self, agent: Agent, tool: str, pattern: dict[str, Any]) -> Tool:
        """The agent's tool of that name, which takes these arguments. Raises UserError."""
        known = self.tools(agent).tools
        if tool not in known:
            raise UserError(f"{agent.name} has no tool {tool!r}; it has: {', '.join(sorted(known))}.")
        fields = known[tool].arguments.named()
        if unknown := sorted(set(pattern) - set(fields)):
            raise UserError(f"{tool} takes no {', '.join(unknown)}; it takes: {', '.join(fields)}.")
        return known[tool]

    def handlers(self) -> dict[str, Callable[..., Any]]:
        """By the names the control socket knows; whoever reaches that socket is the owner."""
        return {"permits.grant": self.owner_give}

    async def owner_give(self, **wanted: Any) -> list[dict[str, Any]]:
        """Give one; the keys are those of `Wanted`."""
        try:
            asked = Wanted(**wanted)
        except TypeError as error:
            raise UserError(f"permits.grant: {error}") from None
        given = await self.give(asked, _OWNER)
        async with self.constellations.use(self.house) as database:
            return [await database.read(lambda rows: grant_data(rows, given))]


def _agent(rows: Rows, name: str) -> Agent:
    found = {agent.name.casefold(): agent for agent in agents.agents(rows)}
    if name.casefold() not in found:
        raise UserError(f"There is no agent {name!r}; there are: {', '.join(agent.name for agent in found.values())}.")
    return found[name.casefold()]


def _audience(text: str) -> Audience:
    try:
        audience = parse_audience(text)
    except ValueError as error:
        raise UserError(f"{error}.") from None
    if not Scope(OWNER).may_use(audience):
        raise UserError(
            "What is said in somebody's direct messages is allowed once at a time only, when it is asked for."
        )
    return audience


def _pattern(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text or "{}")
    except ValueError as error:
        raise UserError(f'The arguments are no JSON ({error}): they look like {{"operation": "insert"}}.') from None
    if not isinstance(found, dict):
        raise UserError(
            'The arguments are a JSON object, such as {"operation": "insert"}; without any, all are allowed.'
        )
    return found
