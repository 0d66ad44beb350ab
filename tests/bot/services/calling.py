"""Calls of operations through a registry, as an interface makes them."""

from datetime import UTC, datetime
from typing import Any

from bot.agents.permissions.roles_and_rights import Approver, People
from bot.services.caller import Caller, PlaceScope, Via
from bot.services.registry import Clocks, Guard, Registry
from memory.agents import Agent
from memory.people.audience import Scope, Trust, person_audience
from memory.store.faults import commit_point
from memory.store.ids import AgentId, PersonId, PlaceId
from sources.terminal import PERSON

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
PEOPLE = People((PERSON,))
SETUP = commit_point("tests.services")
ADA, BEA = (Agent(AgentId(f"agt_{each}"), name, "", "offline", "x", ()) for each, name in ((1, "Ada"), (2, "Bea")))


def somebody(person: PersonId, trust: Trust = Trust.STRANGER) -> Caller:
    """A person on Discord, in their direct messages."""
    scope = Scope(person_audience(person))
    return Caller(Approver(person), Via.DISCORD, scope, PlaceScope(PlaceId(f"{person}/direct"), scope), trust)


def registry(*services: object, people: People = PEOPLE, ignored: bool = False) -> Registry:
    """Of these services; `key-123` is a secret, and of nobody anything is kept where it is `ignored`."""
    return Registry(
        services, Guard(people, lambda _person: ignored, _clean), Clocks(lambda: NOW, _utc, lambda _person: "")
    )


def _clean(given: Any) -> Any:
    return {key: value.replace("key-123", "***") if isinstance(value, str) else value for key, value in given.items()}


async def _utc(_person: PersonId) -> str:
    return "UTC"
