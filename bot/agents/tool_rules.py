"""Rules for an agent's tools: which calls they refuse, and which they demand before a turn may end.

Pure functions of a turn's stored steps, so that a restart in between changes nothing. The model is told all rules in
advance; a violation gets an error, then a reminder, then the demanded call is forced.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field
from pydantic import model_validator as validate_model

from bot.models.base import Call, parsed
from memory.agents import Agent
from memory.queue.steps import CallEnded, CallFailed, CallWaits, MissingCalls, ModelAnswer, Step
from texts import _, gettext_noop, many

RuleName: TypeAlias = Literal[
    "continue_loop",
    "exit_loop",
    "requires_preceding",
    "requires_following",
    "exclusive_groups",
    "start_constraint",
    "required_before_exit",
    "required_before_exit_if",
    "max_calls",
    "cooldown",
    "periodic",
    "requires_consent",
    "allowed_operations",
    "needed",
]
EVERY = "*"
"""In place of a tool's name: any tool."""
MORE_TOOLS = "more_tools"
"""Loads tools that the prompt only names; no rule counts it as a use of a tool."""
REMINDERS = 2
"""Errors and reminders before a call is forced; a member that is only asked for one call gets none."""
_RULES: dict[RuleName, tuple[str, str]] = {
    "continue_loop": ("After {tool} you go on: its result comes back to you.", ""),
    "exit_loop": (
        "A call of {tool} ends your turn: the text that you write together with the call is your answer.",
        "",
    ),
    "requires_preceding": ("Call {tools} earlier in the same turn before you call {tool}.", "tools"),
    "requires_following": ("After {tool}, call {tools} before your turn ends.", "tools"),
    "exclusive_groups": ("Use only one of these in one turn: {groups}.", "groups"),
    "start_constraint": ("If you call any tool in a turn, call {tool} first.", ""),
    "required_before_exit": ("Call {tool} in every turn before you give your answer.", ""),
    "required_before_exit_if": ("If you have called {any}, call {tool} before you give your answer.", "tools"),
    "max_calls": ("Call {tool} at most {times} in a turn.", "count"),
    "cooldown": ("Leave {span} between two calls of {tool}.", "seconds"),
    "periodic": ("Call {tool} at least every {span}.", "seconds"),
    "requires_consent": ("{tool} needs somebody's approval, which is requested when you call it.", ""),
    "allowed_operations": ("Of {tool} you may use only: {operations}.", "operations"),
    "needed": ("You need {tool} for your work: use it.", ""),
}
"""Every rule in words, and the key that it needs besides `tool`, if any."""
_FOR_EVERY = ("exit_loop", "max_calls", "cooldown")


class ToolRule(BaseModel):
    """A rule as configured and stored. `tools`, `groups` and `operations` are names.

    `count` is the number of calls in one turn; `seconds` the time between two calls of the tool: at least (cooldown),
    at most (periodic).
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True)

    rule: RuleName
    tool: str = ""
    tools: tuple[str, ...] = ()
    groups: tuple[tuple[str, ...], ...] = ()
    count: int = Field(default=0, ge=0, le=1000)
    seconds: float = Field(default=0, ge=0, le=31_622_400)
    operations: tuple[str, ...] = ()

    @validate_model(mode="after")
    def _complete(self) -> "ToolRule":
        wanted = _RULES[self.rule][1]
        for key in ("count", "groups", "operations", "seconds", "tools"):
            if key != wanted and getattr(self, key):
                raise ValueError(_("no {key} in the rule {rule}", key=key, rule=self.rule))
        if wanted and not getattr(self, wanted):
            raise ValueError(_("{key} in the rule {rule}", key=wanted, rule=self.rule))
        if (self.rule == "exclusive_groups") == bool(self.tool):
            none, one = gettext_noop("no tool in the rule {rule}"), gettext_noop("a tool in the rule {rule}")
            raise ValueError(_(none if self.tool else one, rule=self.rule))
        if self.tool == EVERY and self.rule not in _FOR_EVERY:
            by_name = gettext_noop('a tool by its name in the rule {rule}; "*" is for {rules}')
            raise ValueError(_(by_name, rule=self.rule, rules=", ".join(_FOR_EVERY)))
        return self

    @property
    def named(self) -> set[str]:
        return {self.tool, *self.tools, *(name for group in self.groups for name in group)} - {"", EVERY}

    def holds_for(self, tool: str) -> bool:
        return self.tool in (tool, EVERY)

    def plain(self) -> dict[str, Any]:
        """The stored form, without default values."""
        return self.model_dump(exclude_defaults=True, mode="json")


class Refusal(Struct, frozen=True):
    """Why a call is refused, in words for the model, and by which rule."""

    rule: RuleName
    text: str


class Demand(Struct, frozen=True):
    """A call without which a turn may not end, and why."""

    tool: str
    why: str


class _Result(Struct, frozen=True):
    """The result of one call of the turn. One that waits for approval is `tried`, not `ok`."""

    tool: str
    seq: int
    ok: bool
    tried: bool
    rule: str
    at: datetime


class Rules(Struct, frozen=True):
    """An agent's rules, applied to one turn at a time."""

    rules: tuple[ToolRule, ...] = ()

    @classmethod
    def of(cls, agent: Agent) -> "Rules":
        return cls(tuple(ToolRule.model_validate(dict(rule)) for rule in agent.rules)) if agent.rules else _NONE

    @property
    def remembered(self) -> dict[str, float]:
        """The tools whose last use in earlier turns matters, and for how many seconds."""
        found: dict[str, float] = {}
        for rule in self._of("cooldown", "periodic"):
            found[rule.tool] = max(found.get(rule.tool, 0), rule.seconds)
        return found

    def operations(self) -> dict[str, tuple[str, ...]]:
        """For tools that a rule restricts: the operations that remain."""
        return {rule.tool: rule.operations for rule in self._of("allowed_operations")}

    def refusal(self, call: Call, steps: Sequence[Step], used: Mapping[str, datetime], now: datetime) -> Refusal | None:
        """Why this call is refused now; None if it is allowed. `used`: the last calls of tools in earlier turns."""
        if call.name == MORE_TOOLS:
            return None
        done = _results(steps)
        checks = (
            self._start(call.name, done),
            self._operation(call),
            self._preceding(call.name, done),
            self._group(call.name, done),
            self._count(call.name, done),
            self._cooldown(call.name, done, used, now),
        )
        return next((refusal for refusal in checks if refusal is not None), None)

    def ends(self, steps: Sequence[Step]) -> bool:
        """Whether the last calls end the turn, so that the model is not called again."""
        if not steps or not isinstance(steps[-1].body, CallEnded):
            return False
        answers = [step.seq for step in steps if isinstance(step.body, ModelAnswer)]
        made = [result.tool for result in _results(steps) if result.ok and result.seq > max(answers, default=0)]
        goes_on = {rule.tool for rule in self._of("continue_loop")}
        return any(rule.holds_for(tool) for rule in self._of("exit_loop") for tool in made if tool not in goes_on)

    def demands(self, steps: Sequence[Step], used: Mapping[str, datetime], now: datetime) -> list[Demand]:
        """The calls that the turn still needs before it may end."""
        if not self.rules:
            return []
        done = [result for result in _results(steps) if result.tried]
        here = {result.tool: result.seq for result in done}
        found = []
        for rule in self.rules:
            match rule.rule:
                case "required_before_exit" if rule.tool not in here:
                    found.append(Demand(rule.tool, "it must be called in every turn"))
                case "required_before_exit_if" if rule.tool not in here and here.keys() & set(rule.tools):
                    found.append(Demand(rule.tool, f"it must be called after {_any(here.keys() & set(rule.tools))}"))
                case "requires_following" if rule.tool in here:
                    late = [tool for tool in rule.tools if here.get(tool, -1) < here[rule.tool]]
                    found += [Demand(tool, f"it must follow {_name(rule.tool)}") for tool in late]
                case "periodic" if rule.tool not in here and _older(used.get(rule.tool), now, rule.seconds):
                    found.append(Demand(rule.tool, f"it must be called every {_span(rule.seconds)}"))
        return list({demand.tool: demand for demand in reversed(found)}.values())[::-1]

    def forced(self, steps: Sequence[Step]) -> str:
        """The tool that the model must call now, after errors and reminders did not help; empty for a free choice."""
        if steps and isinstance(last := steps[-1].body, MissingCalls) and last.force:
            return last.force
        if not self.rules:
            return ""
        done = _results(steps)
        refused = sum(result.rule == "start_constraint" for result in done)
        first = self._first(done)
        return first if first and refused > REMINDERS else ""

    def missing(self, tools: Iterable[str]) -> list[str]:
        """Tools that the agent needs for its rules but does not have."""
        return sorted({rule.tool for rule in self._of("needed")} - set(tools))

    def sentences(self) -> list[str]:
        """The rules in words for the model and for people, in their order."""
        return [_sentence(rule) for rule in self.rules]

    def _of(self, *names: RuleName) -> list[ToolRule]:
        return [rule for rule in self.rules if rule.rule in names] if self.rules else []

    def _first(self, done: Sequence[_Result]) -> str:
        """The tool that must be called before all others and has not been; or empty."""
        came = {result.tool for result in done if result.tried}
        return next((rule.tool for rule in self._of("start_constraint") if rule.tool not in came), "")

    def _start(self, tool: str, done: Sequence[_Result]) -> Refusal | None:
        first = self._first(done)
        if not first or first == tool or tool in {rule.tool for rule in self._of("start_constraint")}:
            return None
        text = f"{_name(first)} must be called before any other tool in a turn; {_name(tool)} was not called."
        if any(result.rule == "start_constraint" for result in done):
            text += f" This is a reminder: call {_name(first)} now, then repeat what you want to do."
        return Refusal("start_constraint", text)

    def _operation(self, call: Call) -> Refusal | None:
        allowed = self.operations().get(call.name)
        wanted = str(parsed(call.arguments).get("operation", ""))
        if allowed is None or wanted in allowed:
            return None
        return Refusal("allowed_operations", f"Of {_name(call.name)} you may use {', '.join(allowed)}, not {wanted!r}.")

    def _preceding(self, tool: str, done: Sequence[_Result]) -> Refusal | None:
        came = {result.tool for result in done if result.ok}
        for rule in self._of("requires_preceding"):
            if rule.holds_for(tool) and (lacking := [each for each in rule.tools if each not in came]):
                text = f"{_name(tool)} may be called only after {_all(rule.tools)} in the same turn; still to come: "
                return Refusal("requires_preceding", f"{text}{_all(lacking)}.")
        return None

    def _group(self, tool: str, done: Sequence[_Result]) -> Refusal | None:
        for rule in self._of("exclusive_groups"):
            own = next((group for group in rule.groups if tool in group), None)
            if own is None:
                continue
            others = {name for group in rule.groups if group is not own for name in group} - set(own)
            if taken := next((result.tool for result in done if result.tried and result.tool in others), None):
                text = f"{_name(tool)} may not be called in the same turn as {_name(taken)}, which was called already."
                return Refusal("exclusive_groups", text)
        return None

    def _count(self, tool: str, done: Sequence[_Result]) -> Refusal | None:
        for rule in self._of("max_calls"):
            made = sum(result.tool == tool and not result.rule for result in done)
            if rule.holds_for(tool) and made >= rule.count:
                return Refusal("max_calls", f"{_name(tool)} may be called {_times(rule.count)} in a turn, no more.")
        return None

    def _cooldown(
        self, tool: str, done: Sequence[_Result], used: Mapping[str, datetime], now: datetime
    ) -> Refusal | None:
        here = [result.at for result in done if result.tool == tool and not result.rule]
        last = max([*here, *(used[name] for name in (tool,) if name in used)], default=None)
        for rule in self._of("cooldown"):
            if rule.holds_for(tool) and last is not None and not _older(last, now, rule.seconds):
                left = _span(rule.seconds - (now - last).total_seconds())
                text = f"After each call, {_name(tool)} cannot be called for {_span(rule.seconds)}; wait {left} more."
                return Refusal("cooldown", text)
        return None


_NONE = Rules()


def _results(steps: Sequence[Step]) -> list[_Result]:
    found = []
    for step in steps:
        if isinstance(body := step.body, CallEnded) and body.name != MORE_TOOLS:
            rule = body.rule if isinstance(body, CallFailed) else ""
            found.append(_Result(body.name, step.seq, body.ok, body.ok or isinstance(body, CallWaits), rule, step.at))
    return found


def _older(moment: datetime | None, now: datetime, seconds: float) -> bool:
    return moment is None or now - moment >= timedelta(seconds=seconds)


def _sentence(rule: ToolRule) -> str:
    return _RULES[rule.rule][0].format(
        tool="every tool" if rule.tool == EVERY else _name(rule.tool),
        tools=_all(rule.tools),
        any=_any(rule.tools),
        groups=" or ".join(_all(group) for group in rule.groups),
        times=_times(rule.count),
        span=_span(rule.seconds),
        operations=", ".join(rule.operations),
    )


def _name(tool: str) -> str:
    return f"`{tool}`"


def _all(tools: Iterable[str]) -> str:
    return " and ".join(map(_name, tools))


def _any(tools: Iterable[str]) -> str:
    return " or ".join(map(_name, sorted(tools)))


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _span(seconds: float) -> str:
    """A duration in the largest unit in which it is at least one, rounded up."""
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{-(-seconds // size):.0f} {unit}"
    return many(int(max(-(-seconds // 1), 1)), "second")
