"""What turns and searches are given where nothing is to be found by meaning."""

from collections.abc import Mapping

from bot.agents.permissions.roles_and_rights import People
from bot.services.memory.search import Search
from bot.upkeep.embedding import QueryMeaning
from memory.people.audience import Scope
from memory.search.vector_similarity import Meaning
from memory.store.clock import Clock
from memory.store.database import Database
from memory.store.ids import AgentId


async def words_alone(_text: str) -> Meaning | None:
    """No text has a vector."""


async def none_of_folders(_text: str, _agent: AgentId | None, _scope: Scope, _path: str) -> Mapping[str, Meaning]:
    return {}


async def not_understood(_text: str) -> QueryMeaning:
    return QueryMeaning()


def search(database: Database, people: People, clock: Clock) -> Search:
    return Search(database, people, clock, "UTC", not_understood, none_of_folders)
