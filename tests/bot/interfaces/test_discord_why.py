"""`/why` on an in-process model of Discord: command, menu, choice, buttons and form of the real client."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import discord
import simcord
from pydantic import SecretStr
from simcord.components import walk_components
from simcord.env import Env

from bot.agents.permissions.policy import People
from bot.config import load_config
from bot.interfaces.discord.commands import Commands as Slash
from bot.interfaces.discord.why import ITEMS, MENU, PICK, Tree, install_why
from bot.services.why import Why
from memory import agents
from memory.knowledge import archival
from memory.knowledge.archival import NewEntry, Origin
from memory.people.audience import Audience, Scope, Trust, guild_audience
from memory.queue import messages, outbox, turns
from memory.queue.outbox import NewRow
from memory.queue.turns import Turn
from memory.store.clock import utc_now
from memory.store.constellation import Constellations
from memory.store.database import Database, Tx
from memory.store.faults import commit_point
from memory.store.ids import GuildId, PersonId, PlaceId, TurnId, snowflakes
from sources.discord.client import Commands, make_client
from sources.discord.settings import DiscordSettings
from tests.bot.interfaces.shown import text_of, words_of
from tests.bot.seeding import seeded
from tests.services.calling import registry

SETUP = commit_point("tests.why_ui")


class Room:
    """A channel in which the bot gave one answer to Ana, made from the entries she had told it."""

    def __init__(self, env: Env, database: Database) -> None:
        self.env = env
        self._database = database
        self.guild = env.create_guild("Home")
        self.hall = self.guild.create_text_channel("hall")
        self.ana = self.guild.add_member(env.create_user("ana"))
        self.bea = self.guild.add_member(env.create_user("bea"))

    async def write(self, work: Any) -> Any:
        return await self._database.write(SETUP, work)

    @property
    def audience(self) -> Audience:
        return guild_audience(GuildId(f"discord:{self.guild.id}"))

    async def answered(self, *contents: str) -> Any:
        """The bot's message, and what the store has of it."""
        channel = self.env.bot.get_channel(self.hall.id)
        assert isinstance(channel, discord.TextChannel)
        posted = await channel.send("an answer")
        await self.write(lambda tx: self._store(tx, str(posted.id), contents))
        return posted

    def _store(self, tx: Tx, external_id: str, contents: tuple[str, ...]) -> None:
        now, scope = utc_now(), Scope(self.audience)
        agent, place = agents.agents(tx)[0], PlaceId(f"discord:{self.hall.id}")
        ana = PersonId(f"discord:{self.ana.id}")
        turn = Turn(TurnId(snowflakes.next()), agent.id, None, place, ana, scope, Trust.STRANGER, (), 0, now)
        turns.begin(tx, turn)
        for content in contents:
            origin = Origin(scope, Trust.STRANGER, ana)
            turns.note_use(tx, turn, "entry", archival.insert(tx, agent.id, NewEntry(content, origin), now).id)
        said = messages.Said(
            turn.id, 1, place, agent.id, ana, "Carina", "assistant", "an answer", "discord", self.audience, Trust.AGENT,
            now,
        )  # fmt: skip
        row = NewRow(f"turn/{turn.id}/0", place, "discord", "an answer", self.audience, turn=turn.id)
        row_id = outbox.add(tx, row, now)
        messages.add_said(tx, said)
        assert row_id is not None
        outbox.mark_sent(tx, row_id, external_id, now)

    async def kept(self) -> list[str]:
        def read(tx: Tx) -> list[str]:
            return [row["content"] for row in tx.all("SELECT content FROM archival_entries ORDER BY n")]

        found: list[str] = await self.write(read)
        return found


@asynccontextmanager
async def room(folder: Path) -> AsyncIterator[Room]:
    config = load_config({"CARINA_HOME": str(folder)}, folder)
    settings = DiscordSettings(token=SecretStr("not-a-token"), owner_id=999)
    async with Constellations.open(folder, utc_now) as constellations:
        home, _answering = await seeded(config, constellations)
        async with constellations.use(home) as database:
            people = People((PersonId("discord:999"),))
            answers = registry(Why(database, people, utc_now), people=people)

            def put(tree: Tree) -> None:
                slash = Slash(answers, {}, settings, items=ITEMS)
                slash.install(tree)
                install_why(tree, slash)

            async def never_synced() -> str | None:
                return None

            async def forget(_mark: str) -> None:
                return None

            commands = Commands(put, never_synced, forget, lambda _interaction: "", lambda given: given)
            client = make_client(settings, lambda _event, _args: None, commands, left_out=frozenset(), sharded=False)
            async with simcord.run(client) as env:
                await client.tree.sync()  # as the source does once it is connected
                yield Room(env, database)


def last(result: Any) -> Any:
    """What is shown at last; seen by one person."""
    assert result.ephemeral
    return (result.followups or [result.response])[-1]


async def test_command_and_menu_say_the_same_and_offer_what_is_the_askers(tmp_path: Path) -> None:
    async with room(tmp_path) as home:
        answer = await home.answered("Ana keeps a *quagga*.")
        shown = await home.ana.context_menu(home.hall, MENU, answer)
        assert r"> Ana keeps a \*quagga" in text_of(shown)
        assert text_of(await home.ana.slash(home.hall, "why")) == text_of(shown)
        assert text_of(await home.ana.slash(home.hall, "why", message=str(answer.id))) == text_of(shown)
        labels = [part["label"] for part in walk_components(last(shown).components) if part["type"] == 2]
        assert labels == ["Forget", "Correct", "Only in DM"]
        theirs = last(await home.bea.context_menu(home.hall, MENU, answer))
        assert not any("custom_id" in part for part in walk_components(theirs.components)), "nothing to press"


async def test_forget_is_done_once(tmp_path: Path) -> None:
    async with room(tmp_path) as home:
        shown = last(await home.ana.context_menu(home.hall, MENU, await home.answered("Ana keeps a quagga.")))
        assert "Forgotten." in text_of(await home.ana.click(shown, label="Forget"))
        assert "It may already be forgotten" in text_of(await home.ana.click(shown, label="Forget"))
        assert await home.kept() == []
        assert "1 memory that is forgotten now" in text_of(await home.ana.slash(home.hall, "why"))


async def test_the_form_holds_the_words_and_rewrites_them(tmp_path: Path) -> None:
    async with room(tmp_path) as home:
        shown = last(await home.ana.context_menu(home.hall, MENU, await home.answered("Ana keeps a quagga.")))
        form = await home.ana.click(shown, label="Correct")
        assert form.modal is not None
        assert "Ana keeps a quagga." in str(form.modal)
        assert "Corrected." in text_of(await home.ana.submit_modal(form, {"text": "Ana keeps an okapi."}))
        assert await home.kept() == ["Ana keeps an okapi."]


async def test_a_memory_too_long_for_a_form_says_what_to_do(tmp_path: Path) -> None:
    async with room(tmp_path) as home:
        shown = last(await home.ana.context_menu(home.hall, MENU, await home.answered("quagga " * 600)))
        refused = await home.ana.click(shown, label="Correct")
        assert refused.modal is None
        assert "a form can hold 4,000" in text_of(refused)


async def test_one_of_several_is_chosen_and_kept_to_direct_messages(tmp_path: Path) -> None:
    async with room(tmp_path) as home:
        answer = await home.answered("Ana keeps a quagga.", "Ana keeps an okapi.")
        shown = last(await home.ana.context_menu(home.hall, MENU, answer))
        (menu,) = [part for part in walk_components(shown.components) if part["type"] == 3]
        assert menu["custom_id"] == PICK
        value = next(option["value"] for option in menu["options"] if "okapi" in option["label"])
        chosen = last(await home.ana.select(shown, [value]))
        assert "only in our direct messages" in text_of(await home.ana.click(chosen, label="Only in DM"))
        for_bea = text_of(await home.bea.slash(home.hall, "why"))
        assert "quagga" in for_bea
        assert "okapi" not in for_bea
        assert "1 memory that you cannot see here." in for_bea


async def test_a_long_account_comes_as_a_file_too(tmp_path: Path) -> None:
    async with room(tmp_path) as home:
        answer = await home.answered(*(f"{number} " + "quagga " * 30 for number in range(30)))
        shown = last(await home.ana.context_menu(home.hall, MENU, answer))
        assert "The file has all of it" in "\n".join(words_of(shown))
        assert [file.filename for file in shown.attachments] == ["why.md"]
        (menu,) = [part for part in walk_components(shown.components) if part["type"] == 3]
        assert len(menu["options"]) == 25
