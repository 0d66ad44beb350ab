"""`carina agent`, `group` and `constellation`: by themselves, beside a service, killed at their writes."""

import json
import re
import tomllib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.config import Agent
from bot.config.agent_files import read_exchange, write_exchange
from bot.runtime.configured_constellation import agent_row, agent_section
from tests.bot.command_line import Here
from tests.bot.parts import two
from tests.bot.terminals import Begin, Terminal, carina
from tests.service.live_service import live_service, until

BLOCKS = ("active_context", "current_state", "observation_log", "scratchpad", "task_list")
FILE = two(
    "Star", "Moon", "discord:7", Star='system_prompt = "You are Star."\n', Moon='system_prompt = "You are Moon."\n'
)


@pytest.fixture
def here(here: Here, begin: Begin, tmp_path: Path) -> Here:
    """Commands in a folder with the file above."""
    begin(tmp_path, FILE)
    return here


def rows(here: Here, command: str) -> Any:
    return here(f"{command} --json").data()


def refused(here: Here, command: str, words: str) -> None:
    here(command).refused(words)


def changed(here: Here, agent: str) -> list[str]:
    """The keys of an agent that differ from the file."""
    return [row["key"] for row in rows(here, "config diff") if row["name"] == agent]


# ------------------------------------------------------------------------------------------- the file and the database


def test_what_is_changed_by_command_wins_over_the_file_and_is_shown_to_differ(here: Here, tmp_path: Path) -> None:
    assert changed(here, "Star") == []
    assert rows(here, "agent edit star --set temperature=0.4 --set description=Shines") == [
        {"kind": "agent", "name": "Star", "did": "changed"}
    ]
    assert changed(here, "Star") == ["description", "temperature"]
    (tmp_path / "carina.toml").write_text(FILE.replace("You are Moon.", "You are the Moon."), "utf-8")
    assert changed(here, "Moon") == ["system_prompt"]
    shown = rows(here, "agent show Moon")
    assert (shown["settings"]["system_prompt"], shown["groups"]) == ("You are Moon.", ["Night"])
    assert rows(here, "agent edit Star --unset temperature --unset description")
    assert changed(here, "Star") == []
    for dry_run in ("", " --dry-run"):
        refused(here, f"agent import {tmp_path / 'carina.toml'}{dry_run}", "There is already an agent “Star”")
    again = "There is already a group “Night”. `carina group import FILE --replace` changes it"
    refused(here, "group create Night --member Moon", again)
    (foreseen,) = rows(here, f"agent import {tmp_path / 'carina.toml'} --replace --dry-run")
    assert (foreseen["name"], foreseen["key"]) == ("Moon", "system_prompt")
    assert changed(here, "Moon") == ["system_prompt"]
    (tmp_path / "day.toml").write_text('[[groups]]\nname = "Day"\nmembers = ["Sun"]\n', "utf-8")
    refused(here, f"group import {tmp_path / 'day.toml'} --dry-run", 'found "Sun", which is not an agent')
    replaced = rows(here, f"agent import {tmp_path / 'carina.toml'} --replace")
    assert {each["name"]: each["did"] for each in replaced} == {"Star": "unchanged", "Moon": "changed"}
    group = rows(here, f"group import {tmp_path / 'carina.toml'} --replace")
    assert {each["name"]: each["did"] for each in group} == {"Main": "unchanged", "Night": "unchanged"}
    assert changed(here, "Moon") == []


WATCH = 'patrols=[{name="watch",cron="@daily",task="look"}]'


def patrols(here: Here) -> list[tuple[str, str]]:
    here("jobs pause backup")
    line = r"Back up everything \(paused\): .*; no next run$"
    assert re.search(line, here("jobs list").stdout, re.MULTILINE)
    found = rows(here, "jobs list")
    return [(job["id"], job["when"]) for job in found if job["id"].startswith("patrol:")]


def test_the_patrols_of_an_agent_are_jobs_for_as_long_as_it_has_them(here: Here, tmp_path: Path) -> None:
    assert patrols(here) == []
    assert rows(here, f"agent edit Star --set {WATCH}")
    ((job, when),) = patrols(here)
    assert (job, "@daily" in when) == ("patrol:watch", True)
    assert "- Patrol “watch” (patrol:watch, active): " in here("jobs list").stdout
    assert changed(here, "Star") == ["patrols"]
    twice = 'agents.patrols: found two named "watch"; expected different names'
    refused(here, f"agent edit Moon --set {WATCH.replace('watch', 'Watch')}", twice)
    assert rows(here, "agent archive Star")
    assert patrols(here) == []
    assert rows(here, "agent restore Star")
    assert [job for job, _when in patrols(here)] == ["patrol:watch"]
    assert tomllib.loads(here("agent export Star").stdout)["agents"][0]["patrols"][0]["task"] == "look"
    assert rows(here, "agent edit Star --unset patrols")
    assert patrols(here) == []
    assert changed(here, "Star") == []


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        ("agent edit Nova --set model=offline", 1, "There is no agent “Nova”. Choose from: Moon, Star"),
        ("agent edit Star --set modle=offline", 1, 'agents["Star"].modle: unknown key; did you mean "model"?'),
        ("agent edit Star --set temperature=9", 1, 'agents["Star"].temperature: found 9; expected'),
        ("agent edit Star --set model=openai:x", 1, "OPENAI_API_KEY: not set"),
        ("agent edit Star --set name=Sun", 1, "An agent's name cannot be changed"),
        ("agent edit Star --set model", 2, "--set: expected KEY=VALUE"),
        ("agent edit Star", 2, "agent edit: say what to change, such as --set model=offline"),
        ("agent create", 2, "For example: carina agent create Nova"),
        ("agent import missing.toml", 2, "missing.toml cannot be read"),
        ("agent restore Star", 1, "Star is active."),
        ("group create", 2, "Give the group a name, and at least one member with --member."),
        ("group create Day --member Sun", 1, 'groups["Day"].members: found "Sun", which is not an agent'),
        ('group create Day --member Moon --set places=["discord:7"]', 1, '"discord:7" in both "Day" and "Night"'),
        ("group add member Night Moon", 1, "Moon is already in Night"),
        ("group remove member Night Star", 1, "Star is not in Night"),
        ("group remove member Night Moon", 1, "Moon is the only member of Night"),
        ("group show Day", 1, "There is no group “Day”. Choose from: Main, Night"),
        ("constellation status garden", 1, "There is no constellation “garden”. Choose from: home"),
        ("--constellation garden status", 1, "There is no constellation “garden”. Choose from: home"),
        ("constellation create Home", 1, "There is already a constellation “Home”"),
    ],
)
def test_what_cannot_be_done_is_said(here: Here, command: str, code: int, words: str) -> None:
    here(command).refused(words, code=code)
    assert rows(here, "config diff") == []


def test_an_agent_is_refused_a_name_that_no_constellation_may_have(here: Here) -> None:
    refused(here, "agent create Bad/Name --set description=x", "A name must start with a letter or digit")
    refused(here, "constellation create Bad/Name", "A name must start with a letter or digit")
    assert [row["agent"] for row in rows(here, "agent list")] == ["Moon", "Star"]


def test_what_is_only_in_the_database_is_listed(here: Here, tmp_path: Path) -> None:
    assert here("agent create Nova --set description=x").returncode == 0
    assert here("group create Late --member Nova").returncode == 0
    assert here("agent create Ant --set description=x").returncode == 0
    assert "notifies Star" in here("source add bell --webhook").stdout, "the oldest agent, however others are named"
    said = [f"{each}: only in the database" for each in ("agent Ant", "agent Nova", "group Late")]
    assert here("config diff").stdout.splitlines() == said
    assert {row["only"] for row in rows(here, "config diff")} == {"database"}
    assert here("config apply").stdout.startswith("Nothing to apply")
    (tmp_path / "carina.toml").unlink()
    assert here("config diff").stdout == "There is no carina.toml.\n"


@pytest.mark.parametrize("file", ["[model]\ndefault = 'offline'\n", "[[agents]]\nname = 'Carina'\n"])
def test_the_agent_and_the_group_that_are_made_without_a_table_are_no_difference(
    tmp_path: Path, begin: Begin, file: str
) -> None:
    begin(tmp_path, file)
    assert carina(tmp_path, "config", "diff").stdout == "Agents and groups match carina.toml.\n"
    assert carina(tmp_path, "group", "create", "Late", "--member", "Carina").returncode == 0
    assert carina(tmp_path, "config", "diff").stdout == "group Late: only in the database\n"


def test_who_archives_the_last_agent_that_answers_is_warned(here: Here) -> None:
    assert here("group add member Night Star").returncode == 0
    assert "No agent is answering" not in here("agent archive Moon").stdout
    said = here("agent archive Star").stdout
    assert "No agent is answering in Main, Night now. `carina agent restore Star` changes that." in said


# ---------------------------------------------------------------------------------------------------- to TOML and back


def test_what_is_exported_can_be_imported_elsewhere_and_is_the_same(here: Here, tmp_path: Path) -> None:
    assert rows(here, "agent edit Star --set max_tokens=700")
    agents, groups = tmp_path / "agents.toml", tmp_path / "groups.toml"
    assert here(f"agent export -o {agents}").returncode == 0
    assert here(f"group export -o {groups}").returncode == 0
    assert (agents.stat().st_mode & 0o777, here(f"agent export -o {agents}").returncode) == (0o600, 1)
    other = tmp_path / "other"
    other.mkdir()
    (other / "carina.toml").write_text(agents.read_text("utf-8") + groups.read_text("utf-8"), "utf-8")
    assert carina(other, "chat", "--once", "hello").returncode == 0
    for what in ("agent", "group"):
        assert carina(other, what, "export", "--json").data() == rows(here, f"{what} export")
    star = tomllib.loads(here("agent export Star").stdout)["agents"]
    assert [(agent["name"], agent["max_tokens"]) for agent in star] == [("Star", 700)]


@given(prompt=st.text(min_size=1), name=st.sampled_from(BLOCKS))
def test_every_text_and_every_kind_of_block_comes_back_from_toml(prompt: str, name: str) -> None:
    block = {"template": name, "description": prompt}
    made = Agent.model_validate({"name": "Nova", "system_prompt": prompt, "blocks": [block], "temperature": 0.25})
    section = agent_section(agent_row(made, show_name=False))
    back = read_exchange(write_exchange([section]), "x.toml").agents[0]
    assert agent_section(agent_row(back, show_name=True)) == section


# ------------------------------------------------------------------------------------------------------------- groups


@pytest.mark.parametrize("name", ["Day", "configured"])
def test_a_group_made_by_command_answers_where_it_says(here: Here, tmp_path: Path, name: str) -> None:
    (tmp_path / "day.toml").write_text(
        f'[[groups]]\nname = "{name}"\nmembers = ["Star"]\nplaces = ["discord:8"]\ndefault = true\n', "utf-8"
    )
    assert rows(here, f"group import {tmp_path / 'day.toml'}") == [{"kind": "group", "name": name, "did": "created"}]
    found = {row["group"]: row["answers_in"] for row in rows(here, "group list")}
    assert found == {name: "discord:8, everywhere else", "Main": "", "Night": "discord:7"}
    differing = [(row["name"], row["key"]) for row in rows(here, "config diff")]
    assert differing == [("Main", "default"), (name, "")]
    assert rows(here, f"group status {name}") == {
        "group": name,
        "pattern": "round_robin",
        "members": [{"agent": "Star", "status": "active", "role": "regular", "model": "offline"}],
        "state": {},
        "began": None,
        "ended": None,
        "stopped": "",
    }


PLANNING = """
[[groups]]
name = "Planning"
members = ["Star", { agent = "Moon", role = "specialist", domain = "nights", capabilities = ["sleep"] }]
keywords = ["plan"]
states = ["planning", { block = "current_state", field = "energy", above = 7.5 }]
pattern = "supervisor"
[groups.supervisor]
leader = "Star"
max_delegations = 2
"""


def test_patterns_roles_and_rules_go_out_and_in(here: Here, tmp_path: Path) -> None:
    (tmp_path / "planning.toml").write_text(PLANNING, "utf-8")
    assert here(f"group import {tmp_path / 'planning.toml'}").returncode == 0
    text = here("group export Planning").stdout
    before, after = tomllib.loads(PLANNING)["groups"][0], tomllib.loads(text)["groups"][0]
    assert {key: after[key] for key in before if key != "supervisor"} == {
        key: value for key, value in before.items() if key != "supervisor"
    }
    assert after["supervisor"].items() >= before["supervisor"].items()
    (tmp_path / "carina.toml").write_text(FILE + PLANNING, "utf-8")
    assert rows(here, "config diff") == []
    refused(here, "group remove member Planning Star", 'groups["Planning"].supervisor.leader: found "Star"')
    assert rows(here, "group add member Night Star --role observer") == [
        {"kind": "group", "name": "Night", "did": "changed"}
    ]
    assert [each["role"] for each in rows(here, "group status Night")["members"]] == ["regular", "observer"]
    refused(here, "group add member Main Moon --role king", 'role: found "king"')


def test_what_a_pattern_remembers_is_shown_with_agents_by_name(here: Here, tmp_path: Path) -> None:
    assert here("group add member Main Moon").returncode == 0
    assert carina(tmp_path, "chat", "--once", "hello").returncode == 0
    found = rows(here, "group status Main")
    assert list(found["state"]["used"]) == ["Star"]
    shown = here("group status Main").stdout.splitlines()
    assert "Next in turn: Moon" in shown
    assert not any("together" in line for line in shown), "one answered"
    assert any(re.fullmatch(r"Last asked: Star \w{3}, \w{3} \d+, \d{4}, \d+:\d\d [AP]M \(.*\)", line) for line in shown)


# ----------------------------------------------------------------------------------------------- archived, and at work


def test_an_archived_agent_answers_nobody_and_keeps_its_memory(tmp_path: Path) -> None:
    assert carina(tmp_path, "chat", "--once", "remember that my dentist is on Elm Street").returncode == 0
    assert carina(tmp_path, "agent", "archive", "carina").returncode == 0
    silent = carina(tmp_path, "chat", "--once", "where is my dentist?")
    assert "Elm Street" not in silent.stdout
    assert "every agent in the group “Main” is archived or hibernated" in silent.stdout
    reached_elsewhere = {"DISCORD_TOKEN": "no-such-token", "DISCORD_OWNER_ID": "12345678901234567"}
    silent = carina(tmp_path, "chat", "--once", "where is my dentist?", **reached_elsewhere)
    assert "No agent is answering here at the moment." in silent.stdout, "who asks is told"
    assert carina(tmp_path, "agent", "restore", "carina").returncode == 0
    assert "Elm Street" in carina(tmp_path, "chat", "--once", "where is my dentist?").stdout


def test_a_hibernated_agent_is_asked_nothing_until_it_is_woken(here: Here, tmp_path: Path) -> None:
    assert rows(here, "agent hibernate Star") == {"agent": "Star", "status": "hibernated"}
    for command in ("agent hibernate Star", "agent restore Star"):
        refused(here, command, "Star is hibernated; wake it with `carina agent wake`")
    assert rows(here, "constellation status")["hibernated"] == ["Star"]
    about = here("constellation status").stdout
    assert re.search(r"\nsize: [\d.]+ MB$", about)
    assert about.startswith("home (configured)\n"), "no ID"
    assert "wait" not in about, "nothing does"
    silent = carina(tmp_path, "chat", "--once", "hello")
    assert "every agent in the group “Main” is archived or hibernated" in silent.stdout
    assert here("agent wake Star").stdout == "Star is active.\n"
    assert "No agent is answering" not in carina(tmp_path, "chat", "--once", "hello").stdout
    refused(here, "agent wake Star", "Star is active.")


async def test_a_running_service_takes_a_change_and_stops_who_is_archived(tmp_path: Path) -> None:
    async with live_service(tmp_path, scripted=True) as t:
        await t.service.start()
        code, out, _ = await t.service.run("agent", "edit", "Carina", "--set", "system_prompt=You are a pirate.")
        assert (code, "Changed" in out) == (0, True)
        await t.ask(t.ana, t.general, "<@bot> hello")
        assert "You are a pirate." in str(t.model.requests[-1].messages)
        code, out, _ = await t.service.run("agent", "archive", "Carina")
        assert (code, "archived" in out) == (0, True)
        asked = len(t.model.requests)
        await t.ana.say(t.general, "<@bot> hello?")
        code, out, _ = await t.service.run("agent", "list", "--json")
        assert [row["status"] for row in json.loads(out)] == ["archived"]
        assert len(t.model.requests) == asked
        code, _, _ = await t.service.run("agent", "restore", "Carina")
        assert code == 0
        row = json.loads((await t.service.run("inbox", "list", "--dead", "--json"))[1])[0]["id"]
        assert (await t.service.run("inbox", "retry", str(row)))[0] == 0
        await until(lambda: len(t.model.requests) > asked)  # what was said meanwhile is answered now
        await t.service.stop()


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("agent create Nova --set model=offline", '"Nova"'),
        ("agent archive Carina", '"archived"'),
        ("agent hibernate Carina", '"hibernated"'),
        ("group create Night --member Carina", '"Night"'),
    ],
)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_command_that_is_killed_did_all_or_nothing(
    tmp_path: Path, begin: Begin, command: str, found: str, when: str
) -> None:
    begin(tmp_path)
    assert carina(tmp_path, *command.split(), CARINA_FAULT=f"command.write:{when}").returncode < 0
    assert (found in carina(tmp_path, command.split()[0], "list", "--json").stdout) == (when == "after")


# ---------------------------------------------------------------------------------------------------------- questions


def test_a_name_or_place_that_cannot_be_is_asked_for_again_at_once(tmp_path: Path, begin: Begin) -> None:
    begin(tmp_path)
    assert carina(tmp_path, "agent", "create", "Nova").returncode == 0
    with closing(Terminal(tmp_path, "group", "create")) as terminal:
        for question, said, told in (
            ("Name", "", "expected a name of 1 to 64 characters"),
            ("Name", "main", "There is already a group “Main”."),
            ("Name", "Calendar", ""),
            ("Its agents", "", "  Choose from: Carina, Nova."),
            ("Its agents", "Nova, Rex", "There is no agent “Rex”. Choose from: Carina, Nova."),
            ("Its agents", "Nova, Carina", ""),
            ("What it is for", "keeps the days", ""),
            ("Who answers", "everybody", "Choose from: round_robin, dynamic, supervisor, pipeline, voting."),
            ("Who answers", "pipeline", ""),
            ("Name of Nova's stage", "draft", ""),
            ("Name of Carina's stage", "", ""),
            ("Role of Nova", "boss", "Choose from: regular, supervisor, observer, specialist."),
            ("Role of Nova", "specialist", ""),
            ("What Nova is responsible for", "dates", ""),
            ("Role of Carina", "", ""),
            ("Where it answers", "the kitchen", 'found "the kitchen"; expected'),
            ("Where it answers", "", ""),
        ):
            terminal.until(rf"{question}.*: ")
            terminal.type(f"{said}\n")
            terminal.until(re.escape(told) if told else r"\n")
        assert terminal.ended() == 0
    groups = carina(tmp_path, "group", "list", "--json").data()
    assert {"group": "Calendar", "members": "Nova, Carina"}.items() <= groups[0].items() | groups[1].items()
    made = carina(tmp_path, "group", "show", "Calendar", "--json").data()["settings"]
    assert (made["description"], made["pattern"]) == ("keeps the days", "pipeline")
    assert [(each["name"], each["agents"]) for each in made["pipeline"]["stages"]] == [
        ("draft", ["Nova"]),
        ("Carina", ["Carina"]),
    ]
    assert {"agent": "Nova", "role": "specialist", "domain": "dates"}.items() <= made["members"][0].items()


@pytest.mark.parametrize("name", ["  ", "two\nlines", "x" * 65])
def test_a_constellation_has_a_name_that_the_configuration_takes(tmp_path: Path, begin: Begin, name: str) -> None:
    begin(tmp_path)
    carina(tmp_path, "constellation", "create", name).refused("expected a name of 1 to 64 characters on one line")
    carina(tmp_path, "constellation", "create").refused("NAME is missing.", code=2)
    assert len(carina(tmp_path, "constellation", "list", "--json").data()) == 1


# --------------------------------------------------------------------------------------------- comparing and applying


def test_a_table_that_was_changed_in_the_file_is_shown_and_applied(here: Here, tmp_path: Path) -> None:
    assert here("config diff").stdout == "Agents and groups match carina.toml.\n"
    assert here("config apply").stdout == "Nothing to apply: agents and groups match carina.toml.\n"
    new = '[[agents]]\nname = "Comet"\nsystem_prompt = "You are Comet."\n[[groups]]'
    changed = FILE.replace("You are Moon.", "You are the Moon.").replace("[[groups]]", new, 1)
    (tmp_path / "carina.toml").write_text(changed.replace('members = ["Star"]', 'members = ["Star", "Comet"]'), "utf-8")
    members = ["Star"], ["Star", "Comet"]
    found = {
        (row["kind"], row["name"], row["key"]): (row["database"], row["file"]) for row in rows(here, "config diff")
    }
    assert found["agent", "Moon", "system_prompt"] == ("You are Moon.", "You are the Moon.")
    assert found["agent", "Comet", ""] == (None, None)
    own, table = found["group", "Main", "members"]
    assert ([each["agent"] for each in own], [each["agent"] for each in table]) == members
    assert len(found) == 3
    said = here("config diff").stdout
    assert 'agent Moon, system_prompt: "You are Moon." in the database, "You are the Moon." in the file' in said
    assert "agent Comet: only in the file; it would be created" in said
    (told,) = (line for line in said.splitlines() if line.startswith("group Main, members: "))
    assert "Comet" in told, "what differs is in the part that is shown"
    assert here("config apply").stdout.splitlines() == [
        "Changed agent Moon.", "Created agent Comet.", "Changed group Main.",
    ]  # fmt: skip
    assert rows(here, "config diff") == []
    assert here("config apply").stdout.startswith("Nothing to apply")


def test_a_file_that_cannot_be_used_applies_nothing(here: Here, tmp_path: Path) -> None:
    (tmp_path / "carina.toml").write_text(FILE.replace("You are Moon.", "Moon").replace('"Star"]', '"Sun"]'), "utf-8")
    here("config apply").refused("Sun", code=2)


def test_a_block_gets_its_new_description_from_the_file_unless_somebody_described_it(
    here: Here, tmp_path: Path
) -> None:
    def apply(sky: str, sea: str) -> dict[str, str]:
        own = "\n".join(
            f'[[agents.blocks]]\nlabel = "{label}"\naudience = "owner"\ndescription = "{words}"'
            for label, words in (("sky", sky), ("sea", sea))
        )
        changed = FILE.replace("[[groups]]", f'[[agents]]\nname = "Comet"\n{own}\n[[groups]]', 1)
        (tmp_path / "carina.toml").write_text(changed, "utf-8")
        assert "agent Comet" in here("config apply").stdout
        return {each["block"]: each["description"] for each in rows(here, "memory list")}

    found = apply("Stars", "Tides")
    assert (found["sky"], found["sea"]) == ("Stars", "Tides")
    assert here("memory change sea --description Fish").returncode == 0
    found = apply("Clouds", "Waves")
    assert (found["sky"], found["sea"]) == ("Clouds", "Fish")
