"""What the owner is told of a pause: only what comes true."""

from pathlib import Path

from bot.desks.steering import Steering
from bot.houses import Answering
from bot.policy import Approver, People
from memory.ids import GroupId
from tests.bot.parts import OLGA
from tests.bot.stage import Service, running

OWNER = Approver(OLGA.id)


def steering_of(service: Service) -> Steering:
    answering, people = Answering({}, GroupId("grp_one")), People((OLGA.id,))
    sources = ("discord", "bluesky")
    return Steering(service.constellations, answering, people, service.clock, service.house, lambda: None, sources)


async def test_reading_back_is_promised_only_of_a_source_that_does_it(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        steering, read = steering_of(service), list[str]()
        steering.resumed["discord"] = lambda: read.append("discord")
        assert "`source resume`, which reads the newest of it." in await steering.pause("discord", OWNER)
        assert "`source resume`, and what was said meanwhile is not read" in await steering.pause("bluesky", OWNER)
        assert "paused is read as after a restart" in await steering.resume_source("discord", OWNER)
        assert "paused is not read" in await steering.resume_source("bluesky", OWNER)
        assert read == ["discord"]
