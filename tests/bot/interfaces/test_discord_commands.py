"""The slash commands, quickly: the real client and stores on an in-process model of Discord."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import discord
import simcord
from pydantic import SecretStr
from simcord.env import Env

from bot.agents.permissions.policy import People
from bot.config import load_config
from bot.interfaces.discord.commands import Commands as Slash
from bot.interfaces.discord.general import Tree, install
from bot.services import titles
from bot.services.blocks import Blocks
from bot.services.search import Search
from memory import blocks
from memory.blocks import CONSTELLATION_OWNER, NewBlock
from memory.blocks.document import SYSTEM
from memory.people.audience import Audience, Trust, channel_audience, guild_audience, person_audience
from memory.queue import messages
from memory.store.clock import utc_now
from memory.store.constellation import Constellations
from memory.store.database import Database, Tx
from memory.store.faults import commit_point
from memory.store.ids import GuildId, PersonId, PlaceId
from sources.discord.client import Commands, make_client
from sources.discord.settings import DiscordSettings
from tests.bot.interfaces.shown import text_of
from tests.bot.seeding import seeded
from tests.services.calling import registry

SETUP = commit_point("tests.discord_ui")
OWNER_ID = 999


class Live:
    """A guild with a public and a private channel, and services behind the bot."""

    def __init__(self, env: Env, database: Database) -> None:
        self.env = env
        self._database = database
        self.guild = env.create_guild("Home")
        everyone = self.guild.default_role
        self.hall = self.guild.create_text_channel("hall")
        self.den = self.guild.create_text_channel(
            "den", overwrites={everyone: discord.PermissionOverwrite(view_channel=False)}
        )

    async def said(self, text: str, audience: Audience, place: int) -> None:
        def work(tx: Tx) -> None:
            messages.add_heard(
                tx,
                messages.Heard(
                    place=PlaceId(f"discord:{place}"),
                    person=PersonId("discord:1"),
                    speaker="Ana",
                    text=text,
                    source="discord",
                    external_id=str(abs(hash(text))),
                    audience=audience,
                    trust=Trust.STRANGER,
                    at=utc_now(),
                ),
            )

        await self.write(work)

    async def write(self, work: Any) -> None:
        await self._database.write(SETUP, work)

    @property
    def everybody(self) -> Audience:
        return guild_audience(GuildId(f"discord:{self.guild.id}"))


@asynccontextmanager
async def live_service(folder: Path) -> AsyncIterator[Live]:
    config = load_config({"CARINA_HOME": str(folder)}, folder)
    settings = DiscordSettings(token=SecretStr("not-a-token"), owner_id=OWNER_ID)
    async with Constellations.open(folder, utc_now) as constellations:
        home, _answering = await seeded(config, constellations)
        async with constellations.use(home) as database:

            async def never_synced() -> str | None:
                return None

            async def forget(_mark: str) -> None:
                return None

            people = People((PersonId(f"discord:{OWNER_ID}"),))

            def put(tree: Tree) -> None:
                install(tree)
                looking = registry(Search(database, people, utc_now), Blocks(database, people, utc_now), people=people)
                Slash(looking, titles(), settings).install(tree)

            commands = Commands(put, never_synced, forget, lambda _interaction: "", lambda given: given)
            client = make_client(settings, lambda _event, _args: None, commands, left_out=frozenset(), sharded=False)
            async with simcord.run(client) as env:
                await client.tree.sync()  # as the source does once it is connected
                yield Live(env, database)


async def test_help_is_seen_by_the_asker_alone(tmp_path: Path) -> None:
    async with live_service(tmp_path) as home:
        ana = home.guild.add_member(home.env.create_user("ana"))
        result = await ana.slash(home.hall, "help")
        assert result.ephemeral
        assert "direct message" in text_of(result)


async def test_search_finds_what_the_asker_may_know_and_nothing_else(tmp_path: Path) -> None:
    async with live_service(tmp_path) as home:
        ana = home.guild.add_member(home.env.create_user("ana"))
        elsewhere = guild_audience(GuildId("discord:424242"))
        den = channel_audience(PlaceId(f"discord:{home.den.id}"))
        await home.said("the lighthouse party is public here", home.everybody, home.hall.id)
        await home.said("the lighthouse secret of the den", den, home.den.id)
        await home.said("the lighthouse of another guild", elsewhere, 424243)
        await home.said("the lighthouse told in private by Ben", person_audience(PersonId("discord:77")), 77)
        found = text_of(await ana.slash(home.hall, "search", text="lighthouse"))
        assert "public here" in found
        assert "secret of the den" not in found
        assert "another guild" not in found
        assert "in private" not in found


async def test_search_says_honestly_that_nothing_was_found(tmp_path: Path) -> None:
    async with live_service(tmp_path) as home:
        ana = home.guild.add_member(home.env.create_user("ana"))
        assert "Nothing was found" in text_of(await ana.slash(home.hall, "search", text="walrus"))
        assert "-# block persona, " in text_of(await ana.slash(home.hall, "search", text="attentive")), "to look at it"


async def test_memory_show_offers_and_shows_only_blocks_that_may_be_seen_here(tmp_path: Path) -> None:
    async with live_service(tmp_path) as home:
        ana = home.guild.add_member(home.env.create_user("ana"))

        def work(tx: Tx) -> None:
            for label, audience in (("garden", home.everybody), ("vault", person_audience(PersonId("discord:77")))):
                block = NewBlock(CONSTELLATION_OWNER, label, "notes", audience, Trust.SYSTEM, content=f"in {label}")
                blocks.create_block(tx, block, SYSTEM, utc_now())

        await home.write(work)
        offered = {choice["name"] for choice in await ana.autocomplete(home.hall, "memory show", "label", "")}
        assert "garden" in offered
        assert "vault" not in offered
        assert "in garden" in text_of(await ana.slash(home.hall, "memory show", label="garden"))
        hidden = text_of(await ana.slash(home.hall, "memory show", label="vault"))
        assert "in vault" not in hidden
        assert "no block" in hidden
