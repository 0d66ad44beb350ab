"""Settings of a group's pattern: the tables `[groups.<pattern>]` of the file and, as JSON, of the group's row.

Agents are named in the file and have ids in the database (`with_agents`), so that renaming an agent keeps it.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field
from pydantic import model_validator as validate_model

from texts import _, gettext_noop

Pattern: TypeAlias = Literal["round_robin", "dynamic", "supervisor", "pipeline", "voting", "sleeptime"]
Role: TypeAlias = Literal["regular", "supervisor", "observer", "specialist"]
Strategy: TypeAlias = Literal["capability", "round_robin", "least_busy", "random"]
Seconds: TypeAlias = Annotated[float, Field(gt=0, le=86_400)]


class Table(BaseModel):
    """One table: frozen, and unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True)


class Member(Table):
    """One agent in a group; in the file, its name alone is the same as a table with only the name. `model` is its model
    there."""

    agent: str = Field(min_length=1, max_length=64)
    role: Role = "regular"
    domain: str = ""
    capabilities: tuple[str, ...] = ()
    model: str = ""

    @validate_model(mode="after")
    def _domain_fits(self) -> "Member":
        if (self.role == "specialist") != bool(self.domain):
            raise ValueError(_('role = "specialist" together with a domain, or neither'))
        return self


class State(Table):
    """A person's state that makes the group available: `said` with `/my state`, or a `field` of a block about them.

    A field has a `value`, or a number `below` or `above` one. In the file a text is the same as a table with `said`.
    """

    said: str = Field(default="", max_length=40)
    block: str = ""
    field: str = ""
    value: str = ""
    below: float | None = None
    above: float | None = None

    @validate_model(mode="after")
    def _complete(self) -> "State":
        conditions = bool(self.value) + (self.below is not None) + (self.above is not None)
        if bool(self.said) == bool(self.block or self.field) or (self.said and conditions):
            raise ValueError(_('either "said", or "block" and "field"'))
        if not self.said and not (self.block and self.field and conditions == 1):
            raise ValueError(_('"block" and "field" together with one of "value", "below" and "above"'))
        return self


class RoundRobin(Table):
    """Members take turns. `skip_unavailable`: archived or hibernated ones are skipped."""

    skip_unavailable: bool = True


class Dynamic(Table):
    """The selector finds the members that answer, at most `count`. With the selector supervisor, `supervisor`
    chooses."""

    selector: Literal["random", "capability", "load_balancing", "supervisor"] = "capability"
    count: int = Field(default=1, ge=1, le=10)
    preferred_domain: str = ""
    supervisor: str = ""
    timeout: Seconds = 300


class Supervisor(Table):
    """The leader answers and delegates tasks, at most `max_delegations` to each member per message."""

    leader: str = ""
    max_delegations: int = Field(default=3, ge=1, le=50)
    strategy: Strategy = "capability"
    fallback: Literal["handle_self", "queue", "fail"] = "handle_self"
    timeout: Seconds = 300


class Stage(Table):
    """One stage of a pipeline; its agents work in parallel, and their results go to the next stage."""

    name: str = Field(min_length=1, max_length=64)
    agents: tuple[str, ...] = Field(min_length=1)
    timeout: Seconds = 120
    on_failure: Literal["skip", "retry", "abort", "fallback"] = "abort"
    attempts: int = Field(default=2, ge=1, le=10)
    fallback_agent: str = ""

    @validate_model(mode="after")
    def _complete(self) -> "Stage":
        if (self.on_failure == "fallback") != bool(self.fallback_agent):
            raise ValueError(_('on_failure = "fallback" together with a fallback_agent, or neither'))
        return self


class Pipeline(Table):
    """Consecutive stages. `parallel_stages`: all at once, and all their results are the answer."""

    stages: tuple[Stage, ...] = Field(default=(), min_length=1)
    parallel_stages: bool = False


class Voting(Table):
    """Every voter is asked. `quorum`: ballots that make a decision, 0 for more than half of the voters."""

    options: tuple[str, ...] = Field(default=("yes", "no"), min_length=2, max_length=20)
    quorum: int = Field(default=0, ge=0, le=100)
    timeout: Seconds = 60
    tie_breaker: Literal["random", "first_vote", "agent", "no_decision"] = "no_decision"
    tie_agent: str = ""
    weight_by_expertise: bool = False

    @validate_model(mode="after")
    def _complete(self) -> "Voting":
        if (self.tie_breaker == "agent") != bool(self.tie_agent):
            raise ValueError(_('tie_breaker = "agent" together with a tie_agent, or neither'))
        if len({option.strip().casefold() for option in self.options}) < len(self.options):
            raise ValueError(_("options that differ from each other"))
        return self


class Trigger(Table):
    """When a sleeptime group acts. `on` decides which other keys apply; `minutes` and `messages` are thresholds.

    time_elapsed: `minutes` since the last run; with of = "activity", of conversation without a pause of 15 minutes;
    with of = "person", of one person's, once for each such stretch. `cooldown`: minutes before it can fire again.
    constellation_activity: `messages` since the last run, or `minutes` with at least one. threshold_exceeded: `field`
    of the block `block`, or in the newest result of the tool `tool`, is above `threshold`. pattern_detected: a message
    since the last run matches `words`. custom: the predicate that an installed package offers as `predicate`
    (`carina.triggers`).
    """

    name: str = Field(min_length=1, max_length=64)
    on: Literal["time_elapsed", "constellation_activity", "threshold_exceeded", "pattern_detected", "custom"]
    priority: Literal["low", "medium", "high", "critical"] = "medium"
    minutes: Annotated[float, Field(ge=0, le=60 * 24 * 366)] = 0
    of: Literal["last_run", "activity", "person"] = "last_run"
    cooldown: Annotated[float, Field(ge=0, le=60 * 24 * 366)] = 0
    messages: int = Field(default=0, ge=0, le=1_000_000)
    block: str = ""
    tool: str = ""
    field: str = ""
    threshold: float = 0
    words: tuple[str, ...] = ()
    predicate: str = ""

    @validate_model(mode="after")
    def _complete(self) -> "Trigger":
        holds, keys = {
            "time_elapsed": (self.minutes > 0, gettext_noop("minutes above 0")),
            "constellation_activity": (self.messages > 0, gettext_noop("messages above 0")),
            "threshold_exceeded": (
                bool(self.block) is not bool(self.tool) and bool(self.field),
                gettext_noop('"field" together with either "block" or "tool"'),
            ),
            "pattern_detected": (any(word.strip() for word in self.words), "words"),
            "custom": (bool(self.predicate), "predicate"),
        }[self.on]
        if not holds:
            raise ValueError(_('{keys} with on = "{on}"', keys=_(keys), on=self.on))
        return self


class Sleeptime(Table):
    """Every `check_minutes` the group checks its triggers; if one holds, the intervention agent acts in `place`.

    During its `quiet` hours ("22:30-07:00", in the service's time zone) it waits, unless a critical trigger holds.
    """

    check_minutes: Annotated[float, Field(gt=0, le=60 * 24 * 31)] = 20
    triggers: tuple[Trigger, ...] = Field(default=(), min_length=1)
    intervention_agent: str = ""
    place: str = "terminal:local"
    also: tuple[str, ...] = ()
    """Additional places to check, each within the scope of its audience."""
    quiet: str = Field(default="", pattern=r"^(?:(?:[01]\d|2[0-3]):[0-5]\d-(?:[01]\d|2[0-3]):[0-5]\d)?$")


Settings: TypeAlias = RoundRobin | Dynamic | Supervisor | Pipeline | Voting | Sleeptime
TABLES: Mapping[Pattern, type[Table]] = {
    "round_robin": RoundRobin,
    "dynamic": Dynamic,
    "supervisor": Supervisor,
    "pipeline": Pipeline,
    "voting": Voting,
    "sleeptime": Sleeptime,
}
_NEEDED: Mapping[str, str] = {"pipeline": "stages", "sleeptime": "triggers"}
_AGENT_KEYS = frozenset({"supervisor", "leader", "agents", "fallback_agent", "tie_agent", "intervention_agent"})


def with_agents(config: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """The same settings with agents renamed: names to ids, or back; unknown ones stay."""

    def renamed(key: str, value: Any) -> Any:
        match value:
            case dict():
                return with_agents(value, names)
            case list() | tuple():
                return [renamed(key, each) for each in value]
            case str() if key in _AGENT_KEYS:
                return names.get(value, value)
            case _:
                return value

    return {key: renamed(key, value) for key, value in config.items()}


def named_agents(config: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Every agent named in settings, with its key."""
    found: list[tuple[str, str]] = []
    for key, value in config.items():
        entries = value if isinstance(value, list | tuple) else [value]
        for entry in entries:
            if isinstance(entry, dict):
                within = f"{key}[{entry['name']!r}]" if "name" in entry else key
                found += [(f"{within}.{inner}", agent) for inner, agent in named_agents(entry)]
            elif isinstance(entry, str) and entry and key in _AGENT_KEYS:
                found.append((key, entry))
    return found


def chosen(pattern: Pattern, tables: Mapping[Pattern, Table | None]) -> Table:
    """The table of a pattern, or its defaults; ValueError if it is missing or of another pattern."""
    for other, table in tables.items():
        if other != pattern and table is not None:
            wrong = gettext_noop('pattern = "{other}" with a table {other}; the pattern is "{pattern}"')
            raise ValueError(_(wrong, other=other, pattern=pattern))
    given = tables[pattern]
    if given is None and pattern in _NEEDED:
        missing = gettext_noop('a table {pattern} with {needed}, because pattern = "{pattern}"')
        raise ValueError(_(missing, pattern=pattern, needed=_NEEDED[pattern]))
    return TABLES[pattern]() if given is None else given


def stored(pattern: str, config: Mapping[str, Any]) -> Table:
    """The settings of a group's row. Raises ValueError if they are invalid."""
    for known, table in TABLES.items():
        if known == pattern:
            return table.model_validate(config)
    raise ValueError(f"there is no pattern {pattern!r}; there are {', '.join(TABLES)}")
