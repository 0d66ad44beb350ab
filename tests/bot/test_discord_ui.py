"""The slash commands, quickly: the real client and stores on an in-process model of Discord."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import discord
import simcord
from pydantic import SecretStr
from simcord.env import Env

from bot.config import load_config
from bot.desks.desk import Desk
from bot.desks.operations import Operations
from bot.desks.remembering import Remembering
from bot.desks.searching import Searching
from bot.discord_ui.commands import Tree, install
from bot.discord_ui.house import install_house
from bot.discord_ui.memory import install_memory
from bot.discord_ui.searching import install_search
from bot.houses import open_house
from bot.policy import People
from memory import agents, blocks, messages
from memory.audience import Audience, Trust, channel_audience, guild_audience, person_audience
from memory.blocks import CONSTELLATION_OWNER, NewBlock
from memory.clock import utc_now
from memory.constellation import Constellations
from memory.database import Tx
from memory.documents.document import SYSTEM
from memory.faults import commit_point
from memory.ids import ConstellationId, GuildId, PersonId, PlaceId
from sources.discord.client import Commands, make_client
from sources.discord.settings import DiscordSettings

SETUP = commit_point("tests.discord_ui")
OWNER_ID = 999


class Town:
    """A guild with a public and a private channel, and a desk behind the bot."""

    def __init__(self, env: Env, constellations: Constellations, house: ConstellationId) -> None:
        self.env = env
        self._constellations = constellations
        self._house = house
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
        async with self._constellations.use(self._house) as database:
            await database.write(SETUP, work)

    @property
    def everybody(self) -> Audience:
        return guild_audience(GuildId(f"discord:{self.guild.id}"))


@asynccontextmanager
async def town(folder: Path) -> AsyncIterator[Town]:
    config = load_config({"CARINA_HOME": str(folder)}, folder)
    settings = DiscordSettings(token=SecretStr("not-a-token"), owner_id=OWNER_ID)
    async with Constellations.open(folder, utc_now) as constellations:
        house, _answering = await open_house(config, constellations, PersonId("terminal:owner"), utc_now)
        desk = Desk(constellations, house, "offline", utc_now)

        async def never_synced() -> str | None:
            return None

        async def forget(_mark: str) -> None:
            return None

        people = People((PersonId(f"discord:{OWNER_ID}"),))
        operations = Operations(constellations, house, lambda *_lane: None)

        def put(tree: Tree) -> None:
            install(tree, desk, people)
            install_search(tree, Searching(constellations, house, people, utc_now), settings)
            install_memory(tree, Remembering(constellations, house, people, utc_now), desk, settings)
            install_house(tree, desk, operations, people)

        commands = Commands(put, never_synced, forget)
        client = make_client(settings, lambda _event, _args: None, commands, left_out=frozenset(), sharded=False)
        async with simcord.run(client) as env:
            yield Town(env, constellations, house)


def _text(result: Any) -> str:
    shown = [result.response, *result.followups]
    return "\n".join(message.content for message in shown if message is not None and message.content)


async def test_help_is_seen_by_the_asker_alone(tmp_path: Path) -> None:
    async with town(tmp_path) as home:
        ana = home.guild.add_member(home.env.create_user("ana"))
        result = await ana.slash(home.hall, "help")
        assert result.ephemeral
        assert "direct message" in _text(result)


async def test_status_is_refused_to_who_is_not_the_owner(tmp_path: Path) -> None:
    async with town(tmp_path) as home:
        ana = home.guild.add_member(home.env.create_user("ana"))
        refused = await ana.slash(home.hall, "status")
        assert refused.ephemeral
        assert "Only my owner" in _text(refused)


async def test_search_finds_what_the_asker_may_know_and_nothing_else(tmp_path: Path) -> None:
    async with town(tmp_path) as home:
        ana = home.guild.add_member(home.env.create_user("ana"))
        elsewhere = guild_audience(GuildId("discord:424242"))
        den = channel_audience(PlaceId(f"discord:{home.den.id}"))
        await home.said("the lighthouse party is public here", home.everybody, home.hall.id)
        await home.said("the lighthouse secret of the den", den, home.den.id)
        await home.said("the lighthouse of another guild", elsewhere, 424243)
        await home.said("the lighthouse told in private by Ben", person_audience(PersonId("discord:77")), 77)
        found = _text(await ana.slash(home.hall, "search", text="lighthouse"))
        assert "public here" in found
        assert "secret of the den" not in found
        assert "another guild" not in found
        assert "in private" not in found


async def test_search_says_honestly_that_nothing_was_found(tmp_path: Path) -> None:
    async with town(tmp_path) as home:
        ana = home.guild.add_member(home.env.create_user("ana"))
        assert "Nothing was found" in _text(await ana.slash(home.hall, "search", text="walrus"))
        assert "-# block `persona`, " in _text(await ana.slash(home.hall, "search", text="attentive")), "to look at it"


async def test_memory_show_offers_and_shows_only_blocks_that_may_be_seen_here(tmp_path: Path) -> None:
    async with town(tmp_path) as home:
        ana = home.guild.add_member(home.env.create_user("ana"))

        def work(tx: Tx) -> None:
            for label, audience in (("garden", home.everybody), ("vault", person_audience(PersonId("discord:77")))):
                block = NewBlock(CONSTELLATION_OWNER, label, "notes", audience, Trust.SYSTEM, content=f"in {label}")
                blocks.create_block(tx, block, SYSTEM, utc_now())

        await home.write(work)
        offered = {choice["name"] for choice in await ana.autocomplete(home.hall, "memory show", "label", "")}
        assert "garden" in offered
        assert "vault" not in offered
        assert "in garden" in _text(await ana.slash(home.hall, "memory show", label="garden"))
        hidden = _text(await ana.slash(home.hall, "memory show", label="vault"))
        assert "in vault" not in hidden
        assert "no block" in hidden


async def test_everybody_sees_who_lives_here_and_only_those_in_charge_what_they_may_do(tmp_path: Path) -> None:
    async with town(tmp_path) as home:
        ana = home.guild.add_member(home.env.create_user("ana"))
        shown = await ana.slash(home.hall, "agents")
        assert shown.ephemeral
        assert "**Carina**" in _text(shown)
        assert "recall" not in _text(shown)

        def put_away(tx: Tx) -> None:
            for agent in agents.agents(tx):
                agents.set_status(tx, agent.id, "archived", utc_now())

        await home.write(put_away)
        assert _text(await ana.slash(home.hall, "agents")) == "Every agent is archived."
        assert "Nothing was found" in _text(await ana.slash(home.hall, "search", text="lantern"))


async def test_the_inbox_is_for_those_in_charge(tmp_path: Path) -> None:
    async with town(tmp_path) as home:
        ana = home.guild.add_member(home.env.create_user("ana"))
        assert "Only an admin" in _text(await ana.slash(home.hall, "inbox list"))
        assert "Only an admin" in _text(await ana.slash(home.hall, "inbox retry", row="1"))
