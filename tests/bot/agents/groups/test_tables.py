"""`[[groups]]` in the file: what is refused, with both that contradict each other; what the database keeps."""

from pathlib import Path

import pytest

from bot.agents.groups.settings import Supervisor, stored
from bot.config import load_config
from bot.errors import ConfigError

AGENTS = "".join(f'[[agents]]\nname = "{name}"\n' for name in ("Ant", "Bee", "Cat", "Dog"))


def problems(folder: Path, toml: str) -> str:
    (folder / "carina.toml").write_text(AGENTS + toml, "utf-8")
    with pytest.raises(ConfigError) as caught:
        load_config({}, folder)
    return str(caught.value)


def group(members: str, rest: str = "") -> str:
    return f'[[groups]]\nname = "G"\nmembers = [{members}]\n{rest}'


@pytest.mark.parametrize(
    ("toml", "expected"),
    [
        (group(""), 'groups["G"].members: found none; expected at least one agent'),
        (group('{ agent = "Ant", role = "observer" }'), "found only observers, who never speak"),
        (
            group('{ agent = "Ant", role = "specialist" }'),
            'expected role = "specialist" together with a domain, or neither',
        ),
        (group('{ agent = "Ant", model = "nowhere:x" }'), 'expected "offline" or "provider:model"'),
        (group('{ agent = "Ant", model = "openai:x" }'), 'OPENAI_API_KEY: not set; expected a key (or OPENAI_BASE_URL'),
        (
            group('"Ant", "Bee"', 'pattern = "voting"\n[groups.voting]\nquorum = 3\n'),
            'groups["G"].voting: found quorum = 3 and 2 voters in carina.toml: groups["G"].members',
        ),
        (
            group('"Ant", { agent = "Bee", role = "observer" }', 'pattern = "voting"\n[groups.voting]\nquorum = 2\n'),
            "found quorum = 2 and 1 voters",
        ),
        (group('"Ant"', 'pattern = "supervisor"\n'), 'found only "Ant" to lead and to be given tasks'),
        (
            group('"Ant", "Bee"', 'pattern = "supervisor"\n[groups.supervisor]\nleader = "Cat"\n'),
            'groups["G"].supervisor.leader: found "Cat", who is not in carina.toml: groups["G"].members',
        ),
        (
            group(
                ", ".join(f'{{ agent = "{each}", role = "supervisor" }}' for each in ("Ant", "Bee")),
                'pattern = "supervisor"',
            ),
            'several members with the role supervisor: "Ant", "Bee"; expected the name of one',
        ),
        (
            group('"Ant"', 'pattern = "pipeline"\n[[groups.pipeline.stages]]\nname = "s"\nagents = ["Ant", "Eel"]\n'),
            "groups[\"G\"].pipeline.stages['s'].agents: found \"Eel\", who is not in",
        ),
        (
            group(
                '"Ant", { agent = "Bee", role = "observer" }',
                'pattern = "pipeline"\n[[groups.pipeline.stages]]\nname = "s"\nagents = ["Bee"]\n',
            ),
            'found "Bee", whose role in members is "observer"; expected one who speaks',
        ),
        (
            group('"Ant"', 'pattern = "pipeline"\n'),
            'expected a table pipeline with stages, because pattern = "pipeline"',
        ),
        (
            group('"Ant"', 'pattern = "dynamic"\n[groups.voting]\nquorum = 1\n'),
            'expected pattern = "voting" with a table voting; the pattern is "dynamic"',
        ),
        (
            group(
                '"Ant"',
                'pattern = "sleeptime"\n[[groups.sleeptime.triggers]]\nname = "t"\non = "constellation_activity"\n',
            ),
            'expected messages above 0 with on = "constellation_activity"',
        ),
        (group('"Ant"', 'pattern = "sleeptime"\n[groups.sleeptime]\nplace = "discrod:7"\n'), 'found "discrod:7"'),
        (group('"Ant"', 'pattern = "sleeptime"\n[groups.sleeptime]\nalso = ["bluesky:me"]\n'), 'found "bluesky:me"'),
        (
            group('"Ant"', 'default = true\nplaces = ["discord:7"]\n')
            + '[[groups]]\nname = "H"\nmembers = ["Bee"]\nplaces = ["discord:7"]\n',
            'found "discord:7" in both "G" and "H"; expected one group for each place',
        ),
        (
            group('"Ant"', 'default = true\nkeywords = ["Plan"]\n')
            + '[[groups]]\nname = "H"\nmembers = ["Bee"]\nkeywords = ["plan"]\n',
            'found "plan" in both "G" and "H"; expected one group for each keyword',
        ),
        (
            group('"Ant"', 'default = true\nstates = ["Sad"]\n')
            + '[[groups]]\nname = "H"\nmembers = ["Bee"]\nstates = ["sad"]\n',
            'found "sad" in both "G" and "H"; expected one group for each state',
        ),
    ],
)  # fmt: skip
def test_what_cannot_work_is_refused_with_both_that_contradict_each_other(
    tmp_path: Path, toml: str, expected: str
) -> None:
    assert expected in problems(tmp_path, toml)


def test_a_row_that_no_pattern_understands_is_refused() -> None:
    assert stored("supervisor", {"max_delegations": 2}) == Supervisor(max_delegations=2)
    with pytest.raises(ValueError, match="there is no pattern 'committee'"):
        stored("committee", {})
