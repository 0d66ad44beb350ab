"""What the doctor makes of what a running service says, and of a disk, files and backups."""

import asyncio
import shutil
from collections import namedtuple
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.config import load_config
from bot.interfaces.cli.doctor import (
    examine_approvals,
    examine_backups,
    examine_bluesky,
    examine_databases,
    examine_directives,
    examine_embedder,
    examine_folder,
    examine_models,
    examine_service,
)
from bot.services.status_texts import ServiceStatus
from memory.store import backups
from memory.store.clock import utc_now
from memory.store.constellations import Constellations
from memory.store.data_folder import DataFolder
from memory.store.sqlite import Distances
from sources.findings import Finding, State
from tests.bot.parts import NOON
from tests.memory.search.embedding_server import serving
from texts import speaking

SOUND: dict[str, Any] = ServiceStatus(
    constellation="home", not_configured={}, models=(), embedding="", mcp={}, agents={}, ready={"discord": True},
    fronts={"discord": "connected as carina, 40 ms", "dashboard": "http://127.0.0.1:8480"},
).model_dump(mode="json")  # fmt: skip
PROBLEM, DOUBT, GOOD = State.PROBLEM, State.DOUBT, State.GOOD
FEW = "2 people must approve, but only 1 can get the request"
Usage = namedtuple("Usage", "total used free")


def test_a_sound_service() -> None:
    assert examine_service(SOUND) == [Finding("service", GOOD, "running, with no failed messages")]


@pytest.mark.parametrize(
    ("more", "about", "state", "words"),
    [
        ({"halted": "2026-11-22T12:00:00Z"}, "service", DOUBT, "everything has been halted since 2026-11-22 12:00 UTC"),
        ({"unstored": "It takes no writes."}, "database", PROBLEM, "It takes no writes"),
        ({"unfollowed": 2}, "memory", PROBLEM, "parts of edited or deleted messages that could not be removed: 2"),
        ({"silent": "`carina agent restore Carina`"}, "agents", PROBLEM, "no agent is answering"),
        ({"dead": 2}, "inbox", DOUBT, "failed messages: 2"),
        ({"failed": 1, "unknown": 2}, "outbox", DOUBT, "answers that were not delivered, or may not have been: 3"),
        ({"gaps": ["discord:1: given up"]}, "missed messages", DOUBT, "discord:1: given up"),
        ({"damage": ["block persona"]}, "memory", PROBLEM, "block persona"),
        (
            {"fronts": {"discord": "nicht verbunden"}, "ready": {"discord": False}},
            "service on discord",
            DOUBT,
            "nicht verbunden",
        ),
    ],
)
def test_what_to_look_at(more: dict[str, Any], about: str, state: State, words: str) -> None:
    (found,) = examine_service(SOUND | more)
    assert (found.about, found.state, found.words) == (about, state, words)
    assert found.remedy


async def test_an_embedder_that_hangs_is_given_up_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.interfaces.cli.doctor._EMBEDDER_SECONDS", 1.0)
    async with serving() as embeddings:
        embeddings.usual = None
        own = {"EMBEDDING_MODEL": "openai:small", "EMBEDDING_BASE_URL": embeddings.url, "EMBEDDING_API_KEY": "k"}
        async with asyncio.timeout(15):
            found = await examine_embedder(load_config(own, tmp_path), str)
    assert (found.state, found.words) == (PROBLEM, "openai:small did not answer within 1 s")


ADMINS = '[discord.admins]\npersons = ["1234567890123456", "2234567890123456"]\n'
ROLES = '[discord.admins.roles]\n1234567890123456 = ["2234567890123456"]\n'


@pytest.mark.parametrize(
    ("toml", "connected", "found"),
    [
        ("[approvals]\nquorum = 3\n" + ADMINS, True, None),
        ("[approvals]\nquorum = 2\n" + ADMINS, False, (PROBLEM, FEW)),
        ("[approvals]\nquorum = 2\n" + ROLES, True, (DOUBT, FEW)),
        ('[approvals]\nquorum = 2\nchannel = "1234567890123456"\n' + ROLES, True, None),
        (ROLES, True, None),
    ],
)
def test_whether_enough_people_hear_of_what_is_asked(
    tmp_path: Path, toml: str, connected: bool, found: tuple[State, str] | None
) -> None:
    (tmp_path / "carina.toml").write_text(toml, "utf-8")
    token = {"DISCORD_TOKEN": "a.b.c", "DISCORD_OWNER_ID": "3234567890123456"} if connected else {}
    findings = examine_approvals(load_config(token, tmp_path))
    assert [(each.about, each.state) for each in findings] == ([("approvals", found[0])] if found else [])
    assert all(found and found[1] in each.words and each.remedy for each in findings)


@pytest.mark.parametrize(("free", "state"), [(99_000_000, PROBLEM), (999_000_000, DOUBT), (1_000_000_000, GOOD)])
def test_room_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, state: State) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: Usage(10**12, 0, free))
    *_, disk = examine_folder(DataFolder(tmp_path / "not" / "yet" / "there"))
    assert (disk.about, disk.state) == ("disk", state)
    assert bool(disk.remedy) is (state is not GOOD)


def test_a_data_folder_that_cannot_be_created_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder", "utf-8")
    refused, _disk = examine_folder(DataFolder(tmp_path / "file" / "carina"))
    assert (refused.state, "cannot be created" in refused.words) == (PROBLEM, True)
    assert "CARINA_HOME" in refused.remedy
    allowed, _disk = examine_folder(DataFolder(tmp_path / "new" / "carina"))
    assert (allowed.state, [each.name for each in tmp_path.iterdir()]) == (GOOD, ["file"])


def test_files_that_cannot_be_opened_and_a_missing_extension(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, vectors = examine_databases(2, ["a is older", "b is damaged"])
    assert [first.words, second.words] == ["a is older", "b is damaged"]
    assert {first.state, second.state} == {PROBLEM}
    assert vectors.about == "sqlite-vec"
    monkeypatch.setattr("bot.interfaces.cli.doctor.distances", Distances("", "", "no wheel for this machine"))
    *_, vectors = examine_databases(0, [])
    assert (vectors.state, "no wheel for this machine" in vectors.words) == (DOUBT, True)


async def test_why_nobody_answers_is_said_in_the_readers_language(tmp_path: Path) -> None:
    away = "http://127.0.0.1:9"
    config = load_config(
        {
            "CARINA_HOME": str(tmp_path / "data"), "CARINA_MODEL": "openai:x", "OPENAI_BASE_URL": f"{away}/v1",
            "BLUESKY_HANDLE": "me.example", "BLUESKY_APP_PASSWORD": "a-b", "BLUESKY_SERVICE": away,
        },
        tmp_path,
    )  # fmt: skip
    with speaking("de"):
        (bluesky,) = await examine_bluesky(config, None)
        (model,) = await examine_models(config, utc_now, {"openai:x": ""})
    assert bluesky.words.startswith(f"{away} ist nicht erreichbar")
    assert model.words == "nicht erreichbar: keine Verbindung zum Server"


async def test_backups(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "data")
    folder.prepare()
    async with Constellations.open(folder.path, utc_now):
        pass
    assert examine_backups(folder, NOON).words == "there is none yet"
    backups.create(folder.path, NOON)
    assert examine_backups(folder, NOON + timedelta(days=2)).state is GOOD
    old = examine_backups(folder, NOON + timedelta(days=4))
    assert (old.state, old.words) == (DOUBT, f"the newest is from {NOON:%Y-%m-%d %H:%M} UTC")


def test_directives_that_are_replaced_built_in_and_not_used(tmp_path: Path) -> None:
    folder, where = DataFolder(tmp_path), tmp_path / "directives"
    where.mkdir()
    assert list(examine_directives(folder)) == []
    (where / "memory-rules.md").write_text("Nothing about cats.")
    (where / "lessons.md").write_bytes(b"\xff\xfe\xfa")
    (where / "entities.md").write_text(" \n")
    (where / "sessions.md").write_text("x" * 8_001)
    (where / "memory_rules.md").write_text("Nothing about dogs.")
    good, *doubts = examine_directives(folder)
    assert (good.about, good.state) == ("directives", GOOD)
    assert good.words.startswith(f"sessions.md, memory-rules.md from {where}; built in: ")
    assert {"lessons.md", "entities.md"} <= set(good.words.partition("built in: ")[2].split(", "))
    words = {each.words.split()[0]: each.words for each in doubts}
    assert words.keys() == {"lessons.md", "entities.md", "sessions.md", "memory_rules.md"}
    assert "cannot be read, so the built-in text is used" in words["lessons.md"]
    assert "is empty, so the built-in text is used" in words["entities.md"]
    assert "8,001 characters, of which the first 8,000 are used" in words["sessions.md"]
    assert "not used" in words["memory_rules.md"]
    assert {each.state for each in doubts} == {DOUBT}
    assert all(each.remedy for each in doubts)
