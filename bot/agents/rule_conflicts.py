"""Rules about tools that cannot both be kept: found when an agent is read, so that no model is ever told both."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from bot.agents.rules import RuleName, ToolRule

_ORDERED: dict[RuleName, str] = {"requires_preceding": "before", "requires_following": "after"}


def contradiction(rules: Sequence[ToolRule]) -> str:
    """What is expected instead of rules that contradict each other, with both named; empty where none do."""
    found = next(_contradictions(rules), None)
    if found is None:
        return ""
    one, other, why = found
    return f"rules that can be kept together, not {_named(one)} with {_named(other)}: {why}"


def _named(rule: ToolRule) -> str:
    about = f'"{rule.tool}"' if rule.tool else ", ".join(f"[{', '.join(group)}]" for group in rule.groups)
    return f"{rule.rule} of {about}"


def _contradictions(rules: Sequence[ToolRule]) -> Iterator[tuple[ToolRule, ToolRule, str]]:
    for one, other in combinations(rules, 2):
        for first, second in ((one, other), (other, one)):
            if why := _clash(first, second):
                yield one, other, why
    yield from _circles(rules)
    yield from _excluded(rules)


def _clash(one: ToolRule, other: ToolRule) -> str:
    """Why two rules about one tool cannot both be kept, as far as `one` is what `other` forbids."""
    if not one.tool or one.tool != other.tool:
        return ""
    match one.rule, other.rule:
        case "continue_loop", "exit_loop":
            return "a turn cannot go on and end after the same call"
        case "requires_following", "exit_loop":
            return "nothing can follow a call that ends the turn"
        case "start_constraint", "requires_preceding":
            return "nothing can come before what comes first"
        case "periodic", "cooldown" if one.seconds < other.seconds:
            return f"it must be called every {one.seconds:g} seconds and rest for {other.seconds:g}"
        case "allowed_operations", "allowed_operations":
            return "the operations of a tool are named once"
        case _:
            return ""


def _circles(rules: Sequence[ToolRule]) -> Iterator[tuple[ToolRule, ToolRule, str]]:
    """Tools that must each come before (or after) the other, over however many others."""
    for name, word in _ORDERED.items():
        ordered = [rule for rule in rules if rule.rule == name]
        for rule in ordered:
            way = _way(rule, rule.tool, ordered, ())
            if way:
                yield rule, way[-1], f"each of {', '.join(each.tool for each in way)} must come {word} the other"


def _way(rule: ToolRule, back: str, ordered: Sequence[ToolRule], passed: tuple[ToolRule, ...]) -> tuple[ToolRule, ...]:
    """The rules by which one tool leads back to itself; none where it does not."""
    gone = (*passed, rule)
    if back in rule.tools:
        return gone
    further = (each for each in ordered if each.tool in rule.tools and each not in gone)
    return next((way for each in further if (way := _way(each, back, ordered, gone))), ())


def _excluded(rules: Sequence[ToolRule]) -> Iterator[tuple[ToolRule, ToolRule, str]]:
    """Tools that may not be called in one turn, and must be."""
    always = [rule for rule in rules if rule.rule == "required_before_exit"]
    for apart in (rule for rule in rules if rule.rule == "exclusive_groups"):
        for rule in rules:
            others = rule.tools if rule.rule in _ORDERED else ()
            if rule.rule == "required_before_exit":
                others = tuple(each.tool for each in always if each.tool != rule.tool)
            if other := next((each for each in others if _apart(apart, rule.tool, each)), ""):
                yield apart, rule, f'"{rule.tool}" and "{other}" must be called in one turn and may not be'


def _apart(rule: ToolRule, one: str, other: str) -> bool:
    """Whether two tools stand in different groups of a rule, and in none together."""
    of_one = [group for group in rule.groups if one in group]
    of_other = [group for group in rule.groups if other in group]
    return bool(of_one and of_other) and not any(group in of_other for group in of_one)
