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


def patterned(name: str, members: str, table: str = "") -> str:
    return group(members, f'pattern = "{name}"\n{table}')


def stage(agents: str) -> str:
    return f'[[groups.pipeline.stages]]\nname = "s"\nagents = [{agents}]\n'


def both(one: str, other: str) -> str:
    """Two groups, each with a setting that the other has as well."""
    return group('"Ant"', f"default = true\n{one}\n") + f'[[groups]]\nname = "H"\nmembers = ["Bee"]\n{other}\n'


OBSERVED = '"Ant", { agent = "Bee", role = "observer" }'
LEADERS = ", ".join(f'{{ agent = "{each}", role = "supervisor" }}' for each in ("Ant", "Bee"))
TRIGGER = '[[groups.sleeptime.triggers]]\nname = "t"\non = "constellation_activity"\n'
MEMBERS = 'carina.toml: groups["G"].members'


@pytest.mark.parametrize(
    ("toml", "expected"),
    [
        (group(""), 'groups["G"].members: found none; expected at least one agent'),
        (group('{ agent = "Ant", role = "observer" }'), "found only observers, who never speak"),
        (group('{ agent = "Ant", role = "specialist" }'), 'role = "specialist" together with a domain, or neither'),
        (group('{ agent = "Ant", model = "nowhere:x" }'), 'expected "offline" or "provider:model"'),
        (group('{ agent = "Ant", model = "openai:x" }'), "OPENAI_API_KEY: not set; expected a key (or OPENAI_BASE_URL"),
        (
            patterned("voting", '"Ant", "Bee"', "[groups.voting]\nquorum = 3\n"),
            f'groups["G"].voting: found quorum = 3, but voters in {MEMBERS}: 2',
        ),
        (patterned("voting", OBSERVED, "[groups.voting]\nquorum = 2\n"), "found quorum = 2, but voters"),
        (patterned("supervisor", '"Ant"'), 'found only one agent that speaks, "Ant"'),
        (
            patterned("supervisor", '"Ant", "Bee"', '[groups.supervisor]\nleader = "Cat"\n'),
            f'groups["G"].supervisor.leader: found "Cat", which is not in {MEMBERS}',
        ),
        (
            patterned("supervisor", LEADERS),
            'several members with the role supervisor: "Ant", "Bee"; expected the name of one',
        ),
        (
            patterned("pipeline", '"Ant"', stage('"Ant", "Eel"')),
            """groups["G"].pipeline.stages['s'].agents: found "Eel", which is not in""",
        ),
        (
            patterned("pipeline", OBSERVED, stage('"Bee"')),
            'found "Bee", whose role in members is "observer"; expected one that speaks',
        ),
        (patterned("pipeline", '"Ant"'), 'expected a table pipeline with stages, because pattern = "pipeline"'),
        (
            patterned("dynamic", '"Ant"', "[groups.voting]\nquorum = 1\n"),
            'expected pattern = "voting" with a table voting; the pattern is "dynamic"',
        ),
        (patterned("sleeptime", '"Ant"', TRIGGER), 'expected messages above 0 with on = "constellation_activity"'),
        (patterned("sleeptime", '"Ant"', '[groups.sleeptime]\nplace = "discrod:7"\n'), 'found "discrod:7"'),
        (patterned("sleeptime", '"Ant"', '[groups.sleeptime]\nalso = ["bluesky:me"]\n'), 'found "bluesky:me"'),
        *(
            (
                both(f'{key}s = ["{one}"]', f'{key}s = ["{other}"]'),
                f"""found "{other}" in both "G" and "H"; expected one group for each {key}""",
            )
            for key, one, other in (
                ("place", "discord:7", "discord:7"),
                ("keyword", "Plan", "plan"),
                ("state", "Sad", "sad"),
            )
        ),
    ],
)
def test_what_cannot_work_is_refused_with_both_that_contradict_each_other(
    tmp_path: Path, toml: str, expected: str
) -> None:
    assert expected in problems(tmp_path, toml)


def test_a_row_that_no_pattern_understands_is_refused() -> None:
    assert stored("supervisor", {"max_delegations": 2}) == Supervisor(max_delegations=2)
    with pytest.raises(ValueError, match="there is no pattern 'committee'"):
        stored("committee", {})
