"""`/privacy` as people see it: the real client and stores on an in-process model of Discord."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import discord
import pytest
import simcord
from pydantic import SecretStr
from simcord.env import Env

from bot.agents.permissions.policy import People
from bot.config import load_config
from bot.interfaces.discord import questions, responses
from bot.interfaces.discord.commands import Commands
from bot.interfaces.discord.questions import Asked, Questions
from bot.services.erasure import Eraser
from bot.services.privacy import Choices, Privacy, Whose
from memory.people.audience import Audience, Trust, guild_audience, person_audience
from memory.queue import messages
from memory.store.clock import utc_now
from memory.store.constellation import Constellations
from memory.store.database import Tx
from memory.store.faults import commit_point
from memory.store.ids import ConstellationId, GuildId, PersonId, PlaceId
from sources.discord.client import Commands as Offered
from sources.discord.client import make_client
from sources.discord.settings import DiscordSettings
from tests.bot.interfaces.shown import text_of
from tests.bot.seeding import seeded
from tests.services.calling import registry, somebody

SETUP = commit_point("tests.discord_privacy")


class Home:
    """A guild with a channel, two people, and the commands."""

    def __init__(self, env: Env, privacy: Privacy, home: ConstellationId) -> None:
        self.env, self.privacy, self._home = env, privacy, home
        self.guild = env.create_guild("Home")
        self.hall = self.guild.create_text_channel("hall")
        self.ana = self.guild.add_member(env.create_user("ana"))
        self.ben = self.guild.add_member(env.create_user("ben"))

    def person(self, member: Any) -> PersonId:
        return PersonId(f"discord:{member.id}")

    async def said(self, member: Any, text: str, audience: Audience | None = None) -> None:
        """Store something that somebody said."""
        heard = messages.Heard(
            place=PlaceId("discord:1"),
            person=self.person(member),
            speaker="somebody",
            text=text,
            source="discord",
            external_id=text,
            audience=audience or guild_audience(GuildId("discord:1")),
            trust=Trust.STRANGER,
            at=utc_now(),
        )

        def work(tx: Tx) -> None:
            messages.add_heard(tx, heard)

        async with self.privacy.constellations.use(self._home) as database:
            await database.write(SETUP, work)

    async def kept(self) -> list[str]:
        async with self.privacy.constellations.use(self._home) as database:
            found = await database.read(lambda rows: rows.all("SELECT content FROM messages ORDER BY id"))
        return [row["content"] for row in found]


@asynccontextmanager
async def connected(folder: Path, asked: Questions | None = None) -> AsyncIterator[Home]:
    config = load_config({"CARINA_HOME": str(folder)}, folder)
    settings = DiscordSettings(token=SecretStr("not-a-token"))
    async with Constellations.open(folder, utc_now) as constellations:
        home, _answering = await seeded(config, constellations)
        choices, eraser = (
            Choices(constellations, utc_now, lambda person: (person,)),
            Eraser.at_rest(constellations, folder, utc_now),
        )
        privacy = Privacy(constellations, People((PersonId("terminal:owner"),)), choices, eraser, utc_now)

        async def never_synced() -> str | None:
            return None

        async def forget(_mark: str) -> None:
            return None

        offered = Commands(registry(privacy), Privacy.titles, settings, questions=asked or Questions())
        installed = Offered(offered.install, never_synced, forget, lambda _interaction: "", lambda given: given)
        client = make_client(settings, lambda _event, _args: None, installed, left_out=frozenset(), sharded=False)
        async with simcord.run(client) as env:
            await client.tree.sync()  # as the source does once it is connected
            yield Home(env, privacy, home)


def shown(result: Any) -> list[Any]:
    """Every message of an answer; all of them are for one person."""
    found = [message for message in (result.response, *result.followups) if message is not None]
    assert found
    assert result.ephemeral
    return found


async def test_see_says_how_much_and_only_of_the_asker(tmp_path: Path) -> None:
    async with connected(tmp_path) as home:
        await home.said(home.ana, "a llama")
        await home.said(home.ana, "a secret", person_audience(home.person(home.ana)))
        await home.said(home.ben, "a tortoise")
        found = text_of(await home.ana.slash(home.hall, "privacy see"))
        assert "- 2 messages" in found
        assert "llama" not in found
        assert "Nothing about you is kept." in text_of(
            await home.guild.add_member(home.env.create_user("eve")).slash(home.hall, "privacy see")
        )


async def test_export_is_a_json_file_of_the_asker_alone(tmp_path: Path) -> None:
    async with connected(tmp_path) as home:
        await home.said(home.ana, "a llama")
        await home.said(home.ben, "a tortoise")
        (answer,) = [each for each in shown(await home.ana.slash(home.hall, "privacy export")) if each.attachments]
        (file,) = answer.attachments
        data = json.loads(await file.read())
        assert file.filename == "privacy.json"
        assert "a llama" in json.dumps(data)
        assert "tortoise" not in json.dumps(data)


@pytest.mark.parametrize(("most", "name"), [(3_000, "privacy.json.gz"), (10, "")])
async def test_an_export_that_is_too_large_is_packed_or_given_by_the_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, name: str
) -> None:
    async with connected(tmp_path) as home:
        for number in range(30):
            await home.said(home.ana, f"llama {number}")
        export = await home.privacy.export(somebody(home.person(home.ana)), Whose())
        assert len(json.dumps(export.data())) > 3_000
        monkeypatch.setattr(responses, "LARGEST_FILE", most)
        result = await home.ana.slash(home.hall, "privacy export")
        names = [file.filename for message in shown(result) for file in message.attachments]
        assert names == ([name] if name else [])
        assert name or "too large for a file here" in text_of(result)


@pytest.mark.parametrize(("command", "words"), [("pause", "Paused"), ("optout", "Opted out")])
async def test_pause_and_optout_hold_until_resume(tmp_path: Path, command: str, words: str) -> None:
    async with connected(tmp_path) as home:
        ana = home.person(home.ana)
        assert words in text_of(await home.ana.slash(home.hall, f"privacy {command}"))
        assert home.privacy.choices.withheld(ana)
        assert not home.privacy.choices.withheld(home.person(home.ben))
        assert "nothing new is kept" in text_of(await home.ana.slash(home.hall, "privacy see"))
        assert "Resumed" in text_of(await home.ana.slash(home.hall, "privacy resume"))
        assert not home.privacy.choices.withheld(ana)


async def test_erase_asks_first_and_keeps_or_erases_by_a_button(tmp_path: Path) -> None:
    async with connected(tmp_path) as home:
        await home.said(home.ana, "a llama called Quetzal")
        await home.said(home.ben, "a tortoise")
        asked = await home.ana.slash(home.hall, "privacy erase")
        assert "cannot be undone" in text_of(asked)
        assert await home.kept() == ["a llama called Quetzal", "a tortoise"]
        card = shown(asked)[-1]
        assert "Nothing was done." in text_of(await home.ana.click(card, label="No"))
        assert "already answered" in text_of(await home.ana.click(card, label="Yes, do it"))
        assert await home.kept() == ["a llama called Quetzal", "a tortoise"]
        card = shown(await home.ana.slash(home.hall, "privacy erase"))[-1]
        receipt = text_of(await home.ana.click(card, label="Yes, do it"))
        assert "1 message; left: none" in receipt
        assert "and found none" in receipt
        assert await home.kept() == ["a tortoise"]
        assert "Erased on" in text_of(await home.ana.slash(home.hall, "privacy see"))
        assert "already answered" in text_of(await home.ana.click(card, label="Yes, do it"))


async def test_a_question_of_long_ago_is_over(tmp_path: Path) -> None:
    now = [0.0]
    asked = Questions(lambda: now[0])
    async with connected(tmp_path, asked) as home:
        await home.said(home.ana, "a llama")
        card = shown(await home.ana.slash(home.hall, "privacy erase"))[-1]
        now[0] = 901.0
        assert "has expired" in text_of(await home.ana.click(card, label="Yes, do it"))
        assert await home.kept() == ["a llama"]


def test_a_question_is_answered_once_by_who_asked_for_it_and_the_oldest_makes_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def token(buttons: Sequence[discord.ui.Button[Any]]) -> str:
        (first, _) = buttons
        return str(first.custom_id).rpartition(":")[2]

    monkeypatch.setattr(questions, "_MOST", 2)
    asked = Questions()
    first, second = (token(asked.ask(Asked(1, "files.remove", {"file": name}, "Sure?"))) for name in "ab")
    assert asked.take(first, 2) is None
    third = token(asked.ask(Asked(1, "files.remove", {"file": "c"}, "Sure?")))
    assert asked.take(first, 1) is None
    found = asked.take(second, 1)
    assert found is not None
    assert found.given == {"file": "b"}
    assert asked.take(second, 1) is None
    assert asked.take(third, 1) is not None
