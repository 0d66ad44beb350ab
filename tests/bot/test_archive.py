"""Long-term entries of several agents, as people see them: all of them, also those of agents that are archived."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from bot.desks.archive import Archive, added_text
from bot.desks.searching import Searching
from bot.errors import UserError
from bot.policy import People
from memory import turns
from memory.agents import Agent, seed_agent, set_status
from memory.audience import OWNER, Scope, Trust
from memory.constellation import Constellations
from memory.database import Tx
from memory.faults import commit_point
from memory.ids import AgentId, PlaceId, TurnId
from memory.turns import Turn
from sources.terminal import PERSON
from tests.bot.parts import NOON, MovableClock

SETUP = commit_point("test_archive.setup")
ADA, BEE = (Agent(AgentId(f"agt_{name.lower()}"), name, "", "", "", ()) for name in ("Ada", "Bee"))


@asynccontextmanager
async def archive(folder: Path) -> AsyncIterator[Archive]:
    async with Constellations.open(folder, MovableClock()) as constellations:
        house = (await constellations.ensure("home", PERSON)).id
        async with constellations.use(house) as database:
            for agent in (ADA, BEE):
                await database.write(SETUP, partial(_seed, agent))
        yield Archive(constellations, house, People((PERSON,)), MovableClock())


def _seed(agent: Agent, tx: Tx) -> None:
    seed_agent(tx, agent, NOON)


async def put_away(of: Archive, agent: Agent) -> None:
    async with of.constellations.use(of.house) as database:
        await database.write(SETUP, lambda tx: set_status(tx, agent.id, "archived", NOON))


async def test_what_every_agent_keeps_is_listed_found_shown_and_deleted(tmp_path: Path) -> None:
    async with archive(tmp_path) as of:
        (first,) = await of.owner_add("The stork is back.", agent="Ada", category="birds/storks", tags=["bird"])
        (second,) = await of.owner_add("The crane is back.", agent="bee")
        assert [(first["agent"], first["category"], first["tags"]), second["agent"]] == [
            ("Ada", "birds/storks", ["bird"]),
            "Bee",
        ]
        await put_away(of, BEE)
        assert [each["agent"] for each in await of.owner_list()] == ["Bee", "Ada"]
        assert [each["agent"] for each in await of.owner_list(limit=1)] == ["Bee"]
        assert [each["id"] for each in await of.owner_list("Ada")] == [first["id"]]
        looking = Searching(of.constellations, of.house, of.people, of.clock)
        assert [hit["id"] for hit in (await looking.owner_search("crane"))["hits"]] == [second["id"]]
        assert (await looking.owner_search("crane", agent="Ada"))["hits"] == []
        assert (await of.owner_show(second["id"]))[0]["text"] == "The crane is back."
        await of.owner_delete(second["id"])
        assert (await looking.owner_search("crane"))["hits"] == []


async def test_words_that_are_kept_already_say_what_was_not_taken_on(tmp_path: Path) -> None:
    async with archive(tmp_path) as of:
        (first,) = await of.owner_add("The stork is back.", "stork", "Ada", "birds/storks", ["bird"])
        assert (first["already"], first["not_taken"]) == (False, [])
        assert added_text(first) == "Kept as `stork` by Ada."
        (again,) = await of.owner_add("The stork is back!", "heron", "Ada", "pond", ["white"])
        assert (again["id"], again["already"], again["tags"]) == (first["id"], True, ["bird", "white"])
        left = ["the label 'heron': it has the label 'stork'", "the category pond: it is in birds/storks"]
        assert again["not_taken"] == left
        said = "Kept as `stork` by Ada. It was known already and is stronger now. It did not take on "
        assert added_text(again) == f"{said}{left[0]}; nor {left[1]}."


async def test_a_label_that_two_agents_use_is_not_guessed(tmp_path: Path) -> None:
    async with archive(tmp_path) as of:
        kept = [(await of.owner_add(f"{name} has a key.", "key", name))[0]["id"] for name in ("Ada", "Bee")]
        for ask in (of.owner_show, of.owner_delete):
            with pytest.raises(UserError, match=f"say which by its id: {kept[0]} of Ada, {kept[1]} of Bee"):
                await ask("key")
        await of.owner_delete("key", "Bee")
        assert (await of.owner_show("key"))[0]["id"] == kept[0]


async def test_what_is_added_is_kept_by_the_agent_that_answered_last(tmp_path: Path) -> None:
    turn = Turn(TurnId(1), BEE.id, None, PlaceId("terminal:local"), PERSON, Scope(OWNER), Trust.OWNER, (), 0, NOON)
    async with archive(tmp_path) as of:
        assert (await of.owner_add("The stork is back."))[0]["agent"] == "Ada"
        async with of.constellations.use(of.house) as database:
            await database.write(SETUP, lambda tx: turns.begin(tx, turn))
            await database.write(
                SETUP, lambda tx: turns.begin(tx, replace(turn, id=TurnId(2), parent=turn.id, agent=ADA.id))
            )
        assert (await of.owner_add("The crane is back."))[0]["agent"] == "Bee"
        await put_away(of, BEE)
        assert (await of.owner_add("The heron is back."))[0]["agent"] == "Ada"
        with pytest.raises(UserError, match="The agent Bee is archived; `carina agent restore` undoes that"):
            await of.owner_add("The owl is back.", agent="Bee")
        await put_away(of, ADA)
        with pytest.raises(UserError, match="Every agent is archived"):
            await of.owner_add("The owl is back.")
        assert len(await of.owner_list()) == 3


@pytest.mark.parametrize("to", ["guild:7", "guild:discord:7", "channel:7", " channel:discord:7"])
async def test_a_server_or_channel_is_named_by_its_number_or_with_its_source(tmp_path: Path, to: str) -> None:
    async with archive(tmp_path) as of:
        await of.owner_add("The stork is back.", "stork")
        kind = to.strip().partition(":")[0]
        audience = f"{kind}:discord:7"
        row = {"id": "discord:7", "source": "discord", "kind": "guild", "name": "#pond in Park", "audience": audience}
        async with of.constellations.use(of.house) as database:
            await database.write(SETUP, lambda tx: tx.insert("places", {**row, "heard_at": ""}))
        assert (await of.owner_widen("stork", to, sure=True))["audience"] == audience
        assert (await of.owner_show("stork"))[0]["audience"] == audience
