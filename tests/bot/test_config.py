"""Configuration through its front door: real files in a real folder, an environment handed in."""

import os
import re
import tomllib
from collections.abc import Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args

import pytest
from msgspec.structs import asdict
from pydantic import BaseModel

from bot.agents.tools.blocks import BlockArguments
from bot.config.blocks import Block
from bot.config.file_settings import DiscordSection, FileSettings
from bot.config.loader import Config, Environment, load_config
from bot.config.mcp import missing_programs
from bot.config.values import Section
from bot.errors import ConfigError
from bot.interfaces import bluesky
from bot.interfaces.cli.data_folder import data_folder
from bot.interfaces.discord import frontend
from bot.services.memory.block_settings import CreateBlock
from memory.blocks import BlockType, Permission
from sources.discord.settings import Direct, Mode
from tests.sources.running import NOTHING_DECIDED
from texts import speaking

ROOT = Path(__file__).parents[2]
SECRET = "canary-7f3b9c2e5d81"


def problems(cwd: Path, environ: dict[str, str] | None = None, *, toml: str = "", env: str = "") -> str:
    """The text of the error that this configuration makes."""
    if toml:
        (cwd / "carina.toml").write_text(toml, "utf-8")
    if env:
        (cwd / ".env").write_text(env, "utf-8")
    with pytest.raises(ConfigError) as caught:
        load_config(environ or {}, cwd)
    assert caught.value.__cause__ is None
    return str(caught.value)


PATROL = "[[agents]]\n[[agents.patrols]]\n"


def loaded(cwd: Path, toml: str, environ: dict[str, str] | None = None) -> Config:
    (cwd / "carina.toml").write_text(toml, "utf-8")
    return load_config(environ or {}, cwd)


def test_without_anything_there_is_carina_in_main_at_home_offline(tmp_path: Path) -> None:
    config = load_config({}, tmp_path)
    assert (config.constellation.name, config.model.default, config.model.max_steps) == ("home", "offline", 25)
    assert config.home == tmp_path / "data"
    (agent,) = config.agents
    assert (agent.name, config.model_of(agent)) == ("Carina", "offline")
    assert [(b.label, b.type, b.audience, b.char_limit, b.pinned) for b in agent.blocks] == [
        ("persona", "core", "public", 2000, False),
        ("human", "core", "each", 2000, False),
        ("scratchpad", "working", "each", 5000, True),
    ]
    assert agent.blocks[1].description == "Stores key details about the person you are conversing with"
    assert [(group.name, group.names, group.default) for group in config.groups] == [("Main", ("Carina",), True)]
    assert config.default_group.name == "Main"
    assert config.secrets() == ()


def test_environment_wins_over_dotenv_and_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"CARINA_MODEL=openai:from-dotenv\nOPENAI_API_KEY={SECRET}\nCARINA_HOME=kept\n")
    toml = '[model]\ndefault = "anthropic:from-file"\nfallback = ["anthropic:spare"]\n'
    config = loaded(
        tmp_path, toml, {"CARINA_MODEL": "openai:from-environment", "CARINA_FALLBACK_MODELS": "offline, openai:b"}
    )
    assert config.model.default == "openai:from-environment"
    assert config.model.fallback == ("offline", "openai:b")
    assert config.home == tmp_path / "kept"
    assert config.secrets() == (SECRET,)


def test_secrets_are_hidden_in_every_representation(tmp_path: Path) -> None:
    (tmp_path / "carina.toml").write_text(f'[telemetry]\notlp = "http://user:{SECRET}-4@127.0.0.1:4318"\n')
    config = load_config(
        {
            "DISCORD_TOKEN": f"{SECRET}-1",
            "OPENAI_API_KEY": f"{SECRET}-2",
            "OPENAI_BASE_URL": f"http://user:{SECRET}-3@127.0.0.1:1/v1/",
        },
        tmp_path,
    )
    assert set(config.secrets()) == {f"{SECRET}-{n}" for n in (1, 2, 3, 4)}
    shown = config.model_copy(update={"openai_base_url": "", "telemetry": None})
    assert SECRET not in f"{shown!r} {shown} {shown.model_dump()} {shown.model_dump_json()}"


def test_a_whole_file_is_read(tmp_path: Path) -> None:
    toml = """
    [[agents]]
    name = "Iris"
    [[agents.blocks]]
    label = "rules"
    description = "What to keep to"
    type = "working"
    [[agents.blocks]]
    label = "diary"
    description = "What happened"
    type = "log"
    [[agents]]
    name = "Moth"
    [[groups]]
    name = "Day"
    members = ["Iris"]
    default = true
    [[groups]]
    name = "Night"
    members = ["Moth"]
    places = ["discord:123", "discord:guild:456", "terminal:local"]
    [discord]
    modes = { 12 = "open", "34" = "off" }
    merge_seconds = 0
    [discord.allow]
    persons = [12, "34"]
    """
    config = loaded(tmp_path, toml)
    assert [agent.name for agent in config.agents] == ["Iris", "Moth"]
    assert [block.char_limit for block in config.agents[0].blocks] == [5000, 40_000]
    assert "Moth" in config.agents[1].blocks[0].content
    assert config.default_group.names == ("Iris",)
    assert config.groups[1].places == ("discord:123", "discord:guild:456", "terminal:local")
    assert dict(config.discord.modes) == {"12": "open", "34": "off"}
    assert config.discord.allow.persons == frozenset({"12", "34"})


@pytest.mark.parametrize(
    ("toml", "expected"),
    [
        ('[bluesky]\napology = "Later"\n', "bluesky.apology: moved; write it as model.apology"),
        ('[dreams]\nmodel = "openai:x"\n', "dreams.model: moved; write it as model.upkeep"),
        ("[constelation]\n", 'constelation: unknown key; did you mean "constellation"?'),
        (
            '[mcp.notes]\ncommand = "notes"\nask_tools = {}\n',
            "mcp.notes.ask_tools: this setting was removed; delete it",
        ),
        ('[web.server.hooks.a]\ngroup = "Main"\n', "web.server.hooks: this setting was removed; delete it"),
        ("[bluesky]\nwithdraw_answers = false\n", "bluesky.withdraw_answers: this setting was removed; delete it"),
        ("[discord]\nzzzzzz = 1\n", "discord.zzzzzz: unknown key; known here: admins, allow, auto_thread"),
        ('[[agents]]\nname = "Iris"\ntemprature = 1\n', 'agents["Iris"].temprature: unknown key; did you mean "temp'),
        (
            PATROL + 'task = "look"\ncron = "61 * * * *"\n',
            'patrols[1].cron: found "61 * * * *"; expected a cron expression',
        ),
        (PATROL, 'either "task", the text of a checklist, or "file", the name of a file in patrols/'),
        (PATROL + 'name = "source-news"\ntask = "look"', 'a name that does not begin with "source-"'),
        (PATROL + 'task = "look"\nfile = "look.md"\n', 'either "task", the text of a checklist'),
        (PATROL + 'file = "../look.md"\n', 'patrols[1].file: found "../look.md"; expected the name of a'),
        (
            PATROL + 'task = "look"\nname = "a b"\n',
            'patrols["a b"].name: found "a b"; expected at most 64 letters, digits',
        ),
        (2 * (PATROL + 'task = "look"\n'), 'agents.patrols: found two named "heartbeat"; expected different names'),
        ("[[agents]]\ntemperature = 3\n", "agents[1].temperature: found 3; expected a number of at most 2"),
        ('[[agents]]\nname = "a\\nb"\n', 'found "a\\nb"; expected a name of 1 to 64 characters on one line'),
        ('[[agents]]\nname = "a\\u001b[2Jb"\n', "expected a name of 1 to 64 characters on one line"),
        ('[[agents.blocks]]\nlabel = "a/b"\ndescription = "d"\n', "agents: found a table; expected a list"),
        ('[[agents]]\n[[agents.blocks]]\nlabel = "x"\n', 'blocks["x"].description: missing; this key is required'),
        (
            '[[agents]]\n[[agents.blocks]]\nlabel = "x"\ndescription = "d"\ncontent = "long"\nchar_limit = 3\n',
            "expected content or values that fit: block “x” would hold 4 characters, 1 more than its limit of 3",
        ),
        ("[discord]\nmerge_seconds = 0.2\n", "discord.merge_seconds: found 0.2; expected 0 (off) or 0.5 to 5 seconds"),
        ("[discord]\nmerge_seconds = 9\n", "discord.merge_seconds: found 9; expected 0 (off) or 0.5 to 5 seconds"),
        ('[discord]\ndefault_mode = "opn"\n', "discord.default_mode: found \"opn\"; expected one of 'open', 'mention'"),
        ('[discord]\nmodes = { abc = "open" }\n', 'discord.modes.abc: found "abc"; expected a Discord ID'),
        ('[discord.deny]\nguilds = ["x"]\n', 'discord.deny.guilds[1]: found "x"; expected a Discord ID'),
        ("[discord]\nauto_thread = {}\n", "discord.auto_thread: found a table; expected true or false"),
        ('[model]\ndefault = "opnai:x"\n', 'model.default: found "opnai:x"; expected "offline" or "provider:model"'),
        ('[budgets]\ncheaper_model = "opnai:x"\n', '(did you mean "openai"?)'),
        ('[model]\ndefault = "openai:"\n', 'model.default: found "openai:"; expected "offline" or'),
        (
            '[model]\nfallback = ["groq:x"]\n',
            "GROQ_API_KEY: not set; expected a key, because CARINA_FALLBACK_MODELS or model.fallback",
        ),
        ("[model]\nmax_steps = 0\n", "model.max_steps: found 0; expected a number of at least 1"),
        ('[model]\nmax_steps = "x"\n', 'model.max_steps: found "x"; expected an integer\n'),
        ("[model]\nmax_steps = 1.5\n", "model.max_steps: found 1.5; expected an integer\n"),
        ('[discord]\nauto_thread = "q"\n', 'discord.auto_thread: found "q"; expected true or false\n'),
        ("[constellation]\nname = 1979-05-27\n", "constellation.name: found a date or time; expected a string\n"),
        ("[limits]\nturn_seconds = nan\n", "limits.turn_seconds: found"),
        ('[[groups]]\nmembers = ["Carin"]\n', 'found "Carin", which is not an agent; did you mean "Carina"?'),
        (
            '[[groups]]\nmembers = [{ agent = "Carina", model = "gpt" }]\n',
            'groups[1].members["Carina"].model: found "gpt"; expected "offline" or "provider:model"',
        ),
        (
            '[[agents]]\nname = "a"\n[agents.compaction]\nstrategy = "recursive_summarization"\nmodel = "gpt"\n',
            'agents["a"].compaction.model: found "gpt"; expected "offline" or "provider:model"',
        ),
        (
            '[[groups]]\nmembers = ["Carina", "Carina"]\n',
            'groups["Main"].members: found "Carina" twice; expected every agent once',
        ),
        ('[[groups]]\nplaces = ["guild:1"]\n', 'groups[1].places[1]: found "guild:1"; expected "discord:<channel id>"'),
        ('[[groups]]\nname = "a"\n[[groups]]\nname = "A"\n', 'groups: found two named "a"; expected different names'),
        (
            '[[groups]]\nname = "a"\n[[groups]]\nname = "b"\n',
            "groups: found none with default = true; expected exactly one: it answers where no other does",
        ),
        (
            '[[groups]]\nname = "a"\ndefault = true\n[[groups]]\nname = "b"\ndefault = true\n',
            'groups: found "a", "b" with default = true; expected exactly one',
        ),
        (
            '[[agents]]\nname = "a"\n[[agents]]\nname = "b"\n',
            "groups: found none (agents: 2); expected a [[groups]] table",
        ),
        ('[[agents]]\nname = "a"\n[[agents]]\nname = "A"\n', 'agents: found two named "a"; expected different names'),
        ("agents = []\n", "agents: found none; expected at least one"),
        ("limits = 3\n", "limits: found 3; expected a table"),
        (
            '[[agents]]\nname = "a"\ncompaction = { strategy = "squash" }\n',
            """agents["a"].compaction.strategy: found "squash"; expected one of 'truncate', """,
        ),
        ("[model\n", "not valid TOML"),
    ],
)
def test_a_wrong_file_is_refused_by_the_name_of_the_key(tmp_path: Path, toml: str, expected: str) -> None:
    text = problems(tmp_path, toml=toml)
    assert expected in f"{text}\n"
    assert "carina.toml" in text or "model" in text


def test_a_wrong_entry_of_a_list_is_one_problem_and_an_empty_list_another(tmp_path: Path) -> None:
    block = '[[agents]]\n[[agents.blocks]]\nlabel = "x"\ndescription = "d"\nschema = '
    part = '{ type = "map", fields = [{ name = "a", type = "nubmer" }] }'
    for schema in (part, f'{{ type = "composite", sections = [{{ name = "s", schema = {part} }}] }}'):
        text = problems(tmp_path, toml=f"{block}{schema}\n")
        assert len(text.splitlines()) == 2
        assert """fields["a"].type: found "nubmer"; expected one of 'text'""" in text
    text = problems(tmp_path, toml=block + '{ type = "map", fields = [] }\n')
    assert text.endswith("schema.fields: found a list; expected 1 or more entries")


def test_more_people_than_there_are_cannot_be_asked_to_say_yes(tmp_path: Path) -> None:
    admins = '[approvals]\nquorum = 3\n[discord.admins]\npersons = ["1234567890123456", "2234567890123456"]\n'
    assert loaded(tmp_path, admins).approvals.quorum == 3
    text = problems(tmp_path, {"DISCORD_OWNER_ID": "1234567890123456"}, toml=admins)
    assert "carina.toml: approvals.quorum: found 3; expected at most 2, counting you and discord.admins" in text
    roles = 'roles = { "3234567890123456" = ["4234567890123456"] }\n'
    assert loaded(tmp_path, admins + roles, {"DISCORD_OWNER_ID": "1234567890123456"}).approvals.quorum == 3


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"CARINA_MODLE": "x"}, 'CARINA_MODLE (environment): unknown setting; did you mean "CARINA_MODEL"?'),
        ({"CARINA_FAULTS": "x"}, 'unknown setting; did you mean "CARINA_MODEL"?'),
        ({"CARINA_LANGUAGE": "de"}, "such as LANGUAGE=de"),
        (
            {"CARINA_MODEL": "gpt"},
            'CARINA_MODEL (environment): "gpt" cannot be used; expected "offline" or "provider:model"',
        ),
        ({"CARINA_MODEL": "openai:x"}, "OPENAI_API_KEY: not set; expected a key (or OPENAI_BASE_URL"),
        ({"CARINA_MODEL": "anthropic:x"}, "ANTHROPIC_API_KEY: not set; expected a key, because CARINA_MODEL"),
        ({"EMBEDDING_MODEL": "cohere:x"}, "EMBEDDING_MODEL (environment)"),
        ({"EMBEDDING_MODEL": "openai:small"}, "EMBEDDING_API_KEY: not set; expected a key"),
        ({"EMBEDDING_BASE_URL": "nowhere"}, "EMBEDDING_BASE_URL (environment)"),
        ({"CARINA_CONFIG": "gone.toml"}, "gone.toml (CARINA_CONFIG): cannot be read: No such file"),
        (
            {"DISCORD_OWNER_ID": "somebody"},
            'DISCORD_OWNER_ID (environment): "somebody" cannot be used; expected a Discord ID',
        ),
        *(
            ({"OPENAI_BASE_URL": given}, "cannot be used; expected a URL with http:// or https:// at the beginning")
            for given in ("localhost:11434", "127.0.0.1:99999/v1", "http://[::1/v1", "http://host/v1\n", "http:///v1")
        ),
        ({"OPENAI_BASE_URL": "localhost"}, 'such as "http://127.0.0.1:11434/v1"'),
        ({"BLUESKY_SERVICE": "bsky.social"}, 'such as "https://bsky.social"'),
        ({"OPENAI_BASE_URL": f"ftp://me:{SECRET}@host"}, "OPENAI_BASE_URL (environment): "),
        (
            {"DISCORD_TOKEN": f"Bot {SECRET}"},
            "DISCORD_TOKEN (environment): a value that is kept secret cannot be used; expected only the value",
        ),
    ],
)
def test_a_wrong_environment_is_refused_by_name(tmp_path: Path, environ: dict[str, str], expected: str) -> None:
    text = problems(tmp_path, environ)
    assert expected in text
    assert SECRET not in text


def test_problems_are_told_in_the_language_of_the_reader(tmp_path: Path) -> None:
    with speaking("de"):
        text = problems(tmp_path, {"CARINA_MODEL": "openai:x"}, toml="[model]\nmax_steps = 0\nnothing = 1\n")
        assert "model.max_steps: 0 gefunden; erwartet: eine Zahl ab 1" in text
        assert "model.nothing: unbekannter Schlüssel; hier bekannt: " in text


def test_problems_are_reported_together_and_name_their_file(tmp_path: Path) -> None:
    text = problems(
        tmp_path, {"CARINA_MODEL": "x"}, toml="[limits]\nattempts = 0\n[model]\nretries = 99\n", env="CARINA_HOM=x\n"
    )
    assert len(text.splitlines()) == 5
    for part in ("CARINA_MODEL (environment)", "CARINA_HOM (.env)", "carina.toml: limits.attempts", "model.retries"):
        assert part in text


def test_a_secret_in_the_wrong_place_is_not_shown(tmp_path: Path) -> None:
    key = "sk-" + SECRET
    toml = f'[discord]\ntoken = "{key}"\n[model]\ndefault = "{key}"\n[constellation]\nname = "a{SECRET}\\nb"\n'
    text = problems(tmp_path, {"OPENAI_API_KEY": SECRET}, toml=toml)
    assert "discord.token: unknown key; secrets belong in the environment or in .env" in text
    assert SECRET not in text


@pytest.mark.parametrize("content", [b"CARINA_HOME", b"CARINA_HOME=\xff\n"])
def test_a_broken_dotenv_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".env").write_bytes(content)
    assert ".env: " in problems(tmp_path)


def test_an_unreadable_line_of_dotenv_is_named(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"CARINA_MODEL=offline\nDISCORD_TOKEN: {SECRET}\n")
    text = problems(tmp_path)
    assert ".env: line 2 cannot be read; expected NAME=value on each line" in text
    assert SECRET not in text


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "carina.toml").write_bytes(b"\xff\xfe")
    assert "carina.toml: not UTF-8 text" in problems(tmp_path)
    assert "cannot be read" in problems(tmp_path, {"CARINA_CONFIG": "."})


@pytest.mark.parametrize(
    ("home", "why"),
    [
        ("carina.toml", "carina.toml; expected a folder that you can write to or create, but"),
        ("carina.toml/deep/down", "carina.toml is not a folder"),
        ("leads-nowhere", "leads-nowhere is not a folder"),
        ("x" * 300, "too long"),
        ("~nobody-of-this-name/data", "no user of this machine has the name after ~"),
    ],
)
def test_a_data_folder_that_cannot_be_is_named(tmp_path: Path, home: str, why: str) -> None:
    (tmp_path / "leads-nowhere").symlink_to(tmp_path / "nowhere")
    text = problems(tmp_path, {"CARINA_HOME": home}, toml="[model]\n")
    assert "CARINA_HOME: found " in text
    assert why in text


def test_the_key_of_a_replica_may_be_named_from_ones_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    key = loaded(tmp_path, '[backup]\nssh_key = "~/.ssh/id_ed25519"\n').backup.ssh_key
    assert key == str(tmp_path / ".ssh" / "id_ed25519")  # Litestream itself takes "~" as the name of a folder


def test_a_data_folder_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda path, _mode: path != tmp_path)  # the superuser may write everywhere
    text = problems(tmp_path, {"CARINA_HOME": "data"})
    assert f"CARINA_HOME: found {tmp_path / 'data'}; " in text
    assert f"but you cannot write to {tmp_path}" in text


def test_a_file_of_settings_whose_name_cannot_be_one_is_named(tmp_path: Path) -> None:
    for name, why in (("x" * 300, "cannot be read: "), ("~nobody-of-this-name/c", "no user of this machine")):
        text = problems(tmp_path, {"CARINA_CONFIG": name})
        assert "CARINA_CONFIG" in text
        assert why in text


def test_when_blocks_get_a_checkpoint_is_configured(tmp_path: Path) -> None:
    policy = loaded(tmp_path, "[memory]\ncheckpoint_minutes = 2\ncheckpoint_kilobytes = 3\n").memory.checkpoints()
    assert (policy.age, policy.size) == (timedelta(minutes=2), 3_000)


def test_what_is_not_configured_is_known_with_the_setting_that_would_do_it(tmp_path: Path) -> None:
    bluesky = {"bluesky": "BLUESKY_HANDLE and BLUESKY_APP_PASSWORD"}
    web = {**bluesky, "reading the web": "[web] fetch", "searching the web": "[web] search"}
    assert load_config({}, tmp_path).unset() == {"language model": "CARINA_MODEL", "discord": "DISCORD_TOKEN", **web}
    environ = {"CARINA_MODEL": "openai:x", "OPENAI_API_KEY": SECRET, "DISCORD_TOKEN": SECRET}
    assert load_config(environ, tmp_path).unset() == {"owner on Discord": "DISCORD_OWNER_ID", **web}
    assert load_config({**environ, "DISCORD_OWNER_ID": "7"}, tmp_path).unset() == web
    toml = '[[agents]]\nname = "Iris"\nmodel = "openai:x"\n'
    assert "language model" not in loaded(tmp_path, toml, {"OPENAI_API_KEY": SECRET}).unset()


# ------------------------------------------------------------------------------------------ examples and documentation


SCHEMA = ("agents.blocks.schema", "constellation.blocks.schema")
"""One setting, whatever is in it: `docs/blocks.md` describes its parts."""
COMPACTION = "agents.compaction"
"""Likewise: one of four tables, which `docs/compaction.md` describes."""


def keys_of(model: type[BaseModel], path: str = "") -> Iterator[str]:
    """Every setting of the file as "table.key", tables themselves left out."""
    for name, field in model.model_fields.items():
        inner = [each for each in (field.annotation, *get_args(field.annotation)) if isinstance(each, type)]
        table = next((each for each in inner if issubclass(each, BaseModel)), None)
        key = ".".join(filter(None, (path, field.alias or name)))
        yield from keys_of(table, key) if table and key not in SCHEMA else [key]


def once(keys: Iterable[str]) -> set[str]:
    """The same, without those that the blocks of a constellation have in common with those of agents."""
    return {re.sub(r"^constellation\.blocks\.(?!permissions)", "agents.blocks.", key) for key in keys}


def variables() -> set[str]:
    return {str(field.alias) for field in Environment.model_fields.values()} - {"CARINA_FAULT"}  # ours alone


READ_ELSEWHERE = {
    "discord": {"admins", "merge_seconds"},  # who may approve, and the inbox
    "bluesky": {"person_per_hour", "thread_per_hour"},  # the inbox
}


def other(value: Any) -> Any:
    """Another value than a setting has by default."""
    if isinstance(value, Section):
        return value.model_copy(update={name: other(held) for name, held in value})
    if isinstance(value, int | float):
        return not value if isinstance(value, bool) else value + 1
    if isinstance(value, str):
        return "off" if value else "x"
    return {"1": "off"} if isinstance(value, dict) else type(value)("1")


def arrived(source: str, config: Config) -> dict[str, object]:
    if source == "discord":
        return asdict(frontend.settings_of(config, NOTHING_DECIDED))
    settings = bluesky.settings_of(config)
    return {**asdict(settings), **asdict(settings.filters)}


@pytest.mark.parametrize("name", READ_ELSEWHERE)
def test_every_setting_of_a_source_arrives_there(tmp_path: Path, name: str) -> None:
    secrets = {"DISCORD_TOKEN": SECRET, "BLUESKY_HANDLE": "me.test", "BLUESKY_APP_PASSWORD": SECRET}
    config = load_config(secrets, tmp_path)
    section: Section = getattr(config, name)
    before, after = (arrived(name, each) for each in (config, config.model_copy(update={name: other(section)})))
    same = {key for key in type(section).model_fields if before.get(key) == after.get(key)}
    assert same == READ_ELSEWHERE[name], "give the source's settings this field, or name here who reads it instead"


def choices(of: object) -> set[object]:
    """The values of a Literal, alone or beside None."""
    return {value for part in (of, *get_args(of)) for value in get_args(part) if isinstance(value, str)}


def test_what_may_be_chosen_is_what_there_is() -> None:
    lasting = {*BlockType} - {BlockType.LOG}  # a log is the system's, or of the configuration
    assert choices(BlockArguments.model_fields["block_type"].annotation) == lasting
    assert choices(CreateBlock.model_fields["type"].annotation) == lasting
    assert choices(Block.model_fields["type"].annotation) == {*BlockType}
    assert choices(Block.model_fields["permission"].annotation) == {*Permission}
    assert choices(DiscordSection.model_fields["default_mode"].annotation) == {*Mode}
    assert choices(DiscordSection.model_fields["dm"].annotation) == {*Direct}


def uncommented(name: str) -> str:
    """An example with every setting switched on: "#key" is a setting, "# word" an explanation."""
    return re.sub(r"(?m)^#(?=[\[A-Za-z])", "", (ROOT / name).read_text("utf-8"))


def flat(data: object, path: str = "") -> Iterator[str]:
    match data:
        case dict() if path == "mcp":  # its keys are names
            for table in data.values():
                for name, value in table.items():
                    yield from flat(value, f"{path}.{name}")
        case dict() if data and path not in ("discord.modes", "constellation.blocks.permissions", *SCHEMA, COMPACTION):
            for name, value in data.items():
                yield from flat(value, f"{path}.{name}" if path else name)
        case list() if data and isinstance(data[0], dict):
            for value in data:
                yield from flat(value, path)
        case _:
            yield path


EXAMPLES = re.compile(
    r"""agents\.(rules\..*|patrols\.task|system_prompt|avatar|temperature|max_tokens|context_budget)
    |agents\.blocks\.(label|description|content|char_limit|template)|constellation\.blocks\..*
    |groups\.(name|pattern|default|members\.agent|states\..*|pipeline\.stages\.(name|agents|on_failure|fallback_agent))
    |groups\.(sleeptime\.(also|quiet|triggers\.(name|on|messages|minutes))|voting\.tie_(agent|breaker))
    |model\.apology|schedule\.zone|budgets\.limits\.(usd|tokens)|backup\.(litestream|replica|ssh_key)
    |mcp\.(command|url)""",
    re.VERBOSE,
)
"""Settings that are shown with an example, since their defaults explain nothing."""


def changed(table: BaseModel, path: str = "") -> Iterator[str]:
    """The settings that do not have their defaults, in all tables of a table."""
    for name, field in type(table).model_fields.items():
        value, key = getattr(table, name), ".".join(filter(None, (path, field.alias or name)))
        among = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else (value,)
        tables = [each for each in among if isinstance(each, BaseModel)]
        for each in tables:
            yield from changed(each, key)
        if not tables and value != field.get_default(call_default_factory=True):
            yield key


def test_the_example_file_shows_every_setting_with_its_default(tmp_path: Path) -> None:
    data = tomllib.loads(uncommented("carina.example.toml"))
    assert once(flat(data)) == once(keys_of(FileSettings))
    wrong = {key for key in changed(FileSettings.model_validate(data)) if not EXAMPLES.fullmatch(key)}
    assert wrong == set(), "show the default in carina.example.toml, or add the key to EXAMPLES"
    assert tomllib.loads((ROOT / "carina.example.toml").read_text("utf-8")) == {}
    assert load_config({"CARINA_CONFIG": str(ROOT / "carina.example.toml")}, tmp_path).groups


def test_the_example_environment_shows_every_variable_and_sets_none(tmp_path: Path) -> None:
    shown = re.findall(r"(?m)^#([A-Z_]+)=", (ROOT / ".env.example").read_text("utf-8"))
    assert sorted(shown) == sorted(variables())
    (tmp_path / ".env").write_text((ROOT / ".env.example").read_text("utf-8"), "utf-8")
    assert load_config({}, tmp_path).home == tmp_path / "data"


def test_the_documentation_names_every_setting_and_no_other() -> None:
    documented: set[str] = set()
    tables: list[str] = []
    for line in (ROOT / "docs" / "settings.md").read_text("utf-8").splitlines():
        if line.startswith("#"):
            tables = re.findall(r"`\[+([a-z._]+?)(?:\.<name>)?\]+`", line) or [""]
        elif found := re.match(r"\| `(\w+)` \|", line):
            documented |= {f"{table}.{found[1]}".lstrip(".") for table in tables}
    assert documented == {*once(keys_of(FileSettings)), *variables()}


@pytest.mark.parametrize("name", ["DISCORD_TOKN", "DISCORD_BOT_TOKEN", "OPENAI_KEY", "BLUESKY_PASSWORD"])
def test_a_name_in_dotenv_that_is_nearly_a_setting_is_named(tmp_path: Path, name: str) -> None:
    said = problems(tmp_path, env=f"{name}={SECRET}\n")
    assert f"{name} (.env): unknown setting; did you mean" in said
    assert SECRET not in said


def test_other_names_in_dotenv_and_those_of_mcp_servers_are_none_of_ours(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("COMPOSE_PROJECT_NAME=x\nDISCORD_TOKEN_2=y\n", "utf-8")
    assert loaded(tmp_path, '[mcp.chat]\ncommand = "chat"\nenv = { TOKEN = "DISCORD_TOKEN_2" }\n')


def test_a_name_in_the_environment_that_is_nearly_a_setting_is_said_where_that_is_missing(tmp_path: Path) -> None:
    """As compose passes `.env`. It is no error: other programs have names there as well."""
    config = load_config({"DISCORD_TOKN": "abc", "DISCORD_TOKEN_2": "abc"}, tmp_path)
    assert config.unset()["discord"] == "DISCORD_TOKEN, not DISCORD_TOKN"


def test_a_dotenv_beside_the_named_file_counts_and_the_one_here_overrides_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "settings").mkdir()
    (tmp_path / "settings" / "mine.toml").write_text("", "utf-8")
    (tmp_path / "settings" / ".env").write_text("DISCORD_TOKEN=there\nDISCORD_OWNER_ID=1\nCARINA_HOME=kept\n", "utf-8")
    monkeypatch.setattr(os, "environ", {"CARINA_CONFIG": "settings/mine.toml"})
    config = load_config(os.environ, tmp_path)
    assert (config.discord_owner, config.home) == ("1", data_folder(tmp_path)) == ("1", tmp_path / "kept")
    (tmp_path / ".env").write_text("DISCORD_OWNER_ID=2\nCARINA_CONFIG=settings/mine.toml\n", "utf-8")
    monkeypatch.setattr(os, "environ", {})
    config = load_config({}, tmp_path)
    assert (config.discord_owner, config.discord_token and config.discord_token.get_secret_value()) == ("2", "there")
    assert data_folder(tmp_path) == tmp_path / "kept"


def test_programs_that_are_not_there_are_named(tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\n", "utf-8")
    tool.chmod(0o700)
    toml = (
        f'[mcp.gone]\ncommand = "no-such-program"\n[mcp.there]\ncommand = "sh"\n[mcp.own]\ncommand = "{tool}"\n'
        f'[mcp.beside]\ncommand = "./tool"\ncwd = "{tmp_path}"\n[mcp.web]\nurl = "http://127.0.0.1:1"\n'
    )
    (said,) = missing_programs(loaded(tmp_path, toml).mcp)
    assert said == "MCP server “gone”: there is no program “no-such-program”; correct mcp.gone.command, or install it"
