"""Bluesky costs nothing where it is not configured, and is configured by two settings that belong together."""

import subprocess
import sys
from pathlib import Path

import pytest

from bot.bluesky import settings_of
from bot.config import load_config
from bot.errors import ConfigError
from bot.tools.bluesky import PLACE
from memory.outbox import Status
from sources.base import DeliveryFailed
from tests.bot.parts import OLGA, Platform, ScriptedModel, call, direct, said, says
from tests.bot.stage import Setting, running

HANDLE, PASSWORD = {"BLUESKY_HANDLE": "@me.bsky.social"}, {"BLUESKY_APP_PASSWORD": "abcd-efgh-ijkl-mnop"}


def test_the_library_is_not_loaded_by_a_program_that_does_not_serve_bluesky() -> None:
    look = "import sys, bot.app, bot.cli, bot.discord_ui; sys.exit('atproto_client' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", look], check=False).returncode == 0


def test_what_is_configured_arrives_at_the_source(tmp_path: Path) -> None:
    toml = '[bluesky]\nexclude_dids = ["did:plc:eve"]\nkeywords = ["cats"]\nmax_posts = 2\nowner = "did:plc:me"\n'
    (tmp_path / "carina.toml").write_text(toml, "utf-8")
    config = load_config({**HANDLE, **PASSWORD, "BLUESKY_POLL_SECONDS": "3"}, tmp_path)
    made = settings_of(config)
    assert (made.handle, made.service, made.poll_seconds) == ("me.bsky.social", "https://bsky.social", 3)
    assert (made.filters.exclude_dids, made.filters.keywords) == (frozenset({"did:plc:eve"}), ("cats",))
    assert (made.most_posts, made.owner) == (2, "did:plc:me")
    assert config.sources == ["bluesky"]
    assert "abcd-efgh-ijkl-mnop" in config.secrets()


@pytest.mark.parametrize(
    ("environ", "toml", "words"),
    [
        (HANDLE, "", "BLUESKY_APP_PASSWORD: not set"),
        (PASSWORD, "", "BLUESKY_HANDLE: not set"),
        ({"BLUESKY_HANDLE": "nobody"}, "", 'expected a handle such as "me.bsky.social", or a DID'),
        ({"BLUESKY_POLL_SECONDS": "0"}, "", "BLUESKY_POLL_SECONDS"),
        ({}, '[bluesky]\nfriends = ["ana.test"]\n', "not a handle"),
        ({}, "[bluesky]\nmax_posts = 0\n", "bluesky.max_posts"),
    ],
)
def test_what_is_wrong_is_said_by_its_name(tmp_path: Path, environ: dict[str, str], toml: str, words: str) -> None:
    (tmp_path / "carina.toml").write_text(toml, "utf-8")
    with pytest.raises(ConfigError) as wrong:
        load_config(environ, tmp_path)
    assert words in str(wrong.value)
    assert "abcd-efgh" not in str(wrong.value)


async def test_an_act_that_fails_takes_no_other_act_of_its_turn_with_it(tmp_path: Path) -> None:
    follows = [call("bluesky", did, operation="follow", target=f"did:plc:{did}") for did in ("eve", "dan")]
    toml = '[[agents]]\nname = "Star"\nsystem_prompt = "Shine."\ntools = ["bluesky"]\n'
    setting = Setting(ScriptedModel(says("", *follows), says("Done.")), toml=toml)
    setting.platform = Platform(setting.clock, refuses={PLACE: DeliveryFailed("opted out")})
    async with running(tmp_path, setting) as service:
        await service.heard(said("follow both", 1, direct(OLGA), OLGA))
        rows = [row for row in await service.outbox() if row.place == PLACE]
        assert [(row.detail["target"], row.status) for row in rows] == [
            ("did:plc:eve", Status.FAILED),
            ("did:plc:dan", Status.FAILED),
        ]
