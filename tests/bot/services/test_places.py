"""What the owner is told of a pause: only what comes true."""

from pathlib import Path

from bot.agents.permissions.policy import People
from bot.runtime.bootstrap import RoutingTable
from bot.services.caller import owner_at_terminal
from bot.services.places import AccountSettings, Places
from memory.store.ids import GroupId
from sources.terminal import PERSON
from tests.bot.stage import Service, running
from tests.services.calling import registry


def places_of(service: Service) -> Places:
    answering, people = RoutingTable({}, GroupId("grp_one")), People((PERSON,))
    sources = ("discord", "bluesky")
    return Places(
        service.database, answering, people, service.clock, lambda: None, sources, AccountSettings(service.database)
    )


async def test_reading_back_is_promised_only_of_a_source_that_does_it(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        places, read = places_of(service), list[str]()
        places.accounts.resumed["discord"] = lambda: read.append("discord")

        async def told(done: str, source: str) -> str:
            given = {"source": source}
            return str((await registry(places).call(f"source.{done}", owner_at_terminal(), given)).data()["text"])

        assert "I will then read the newest messages of each place." in await told("pause", "discord")
        assert "I will not read what is said in the meantime." in await told("pause", "bluesky")
        assert "I am reading the newest messages" in await told("resume", "discord")
        assert "I have not read what was said in the meantime" in await told("resume", "bluesky")
        assert read == ["discord"]
