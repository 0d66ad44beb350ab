"""The constellation of a configuration as the service makes it, for tests that run no service."""

from bot.config import Config
from bot.runtime.configured_constellation import configured_constellation, seed_routing
from bot.runtime.group_routing import GroupRouting
from memory.store.clock import utc_now
from memory.store.constellations import Constellations
from memory.store.ids import ConstellationId
from sources.terminal import PERSON


async def seeded(config: Config, constellations: Constellations) -> tuple[ConstellationId, GroupRouting]:
    """Make it, with its agents and groups."""
    found = await configured_constellation(config, constellations, PERSON)
    async with constellations.use(found.id) as database:
        return found.id, await seed_routing(config, database, utc_now)
