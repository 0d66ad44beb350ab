"""A picture that somebody sends reaches a model that sees, from the platform to the request that the provider gets."""

from collections.abc import AsyncGenerator
from pathlib import Path

from bot.config import load_config
from bot.models.base import Event, Model, Request
from bot.models.catalog import open_models
from memory.queue.notifications import Notification
from tests.bot.parts import MovableClock, ScriptedModel
from tests.bot.stage import Setting, running
from tests.sources.bluesky_stage import Harness
from tests.sources.running import connected, home
from tests.wire.discord.messages import Upload
from tests.wire.discord.server import DiscordServer
from tests.wire.model import Answer, ModelServer


class Seeing(ScriptedModel):
    """A model that is not scripted, where one is expected."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self._model = model

    async def complete(self, request: Request) -> AsyncGenerator[Event, None]:
        async for event in self._model.complete(request):
            yield event


async def seen(folder: Path, notification: Notification) -> list[str]:
    """The addresses of pictures that a provider gets because of it."""
    async with ModelServer.start() as wire:
        wire.default = lambda _: Answer("A boat.")
        folder.mkdir(exist_ok=True)
        (folder / "carina.toml").write_text("[model]\nbase_url_images = true")
        config = load_config({**wire.environment(), "CARINA_MODEL": "openai:scripted"}, folder)
        async with (
            open_models(config, MovableClock()) as models,
            running(folder, Setting(Seeing(await models.catalog.get(config.model.default)))) as service,
        ):
            service.hear(notification)
            (request,) = await wire.wait_for(1)
            service.crash()
        content = request.messages[-1]["content"]
        assert isinstance(content, list), content
        return [part["image_url"]["url"] for part in content if part["type"] == "image_url"]


async def test_a_picture_on_discord_reaches_a_model_that_sees(server: DiscordServer, tmp_path: Path) -> None:
    general, ana = home(server)
    async with connected(server) as hearing:
        said = await ana.say(general, "<@bot> what is it?", attachments=[Upload("boat.png", b"\x89PNG", "image/png")])
        heard = await hearing.ear.next()
    assert await seen(tmp_path, heard) == [said.attachments[0].url]


async def test_a_picture_on_bluesky_reaches_a_model_that_sees(here: Harness, tmp_path: Path) -> None:
    source = await here.begun()
    here.mention("what is it?", alts=("a boat",))
    await here.poll(source)
    assert await seen(tmp_path / "service", here.heard[0]) == ["https://pictures.test/small/1"]
