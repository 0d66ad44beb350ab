"""Questions at a terminal about a new or changed agent or group, if the command does not say enough."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias, get_args

import click
from pydantic import BaseModel

from bot.agents.groups.settings import TABLES, Role
from bot.config.agent_files import problem_with
from bot.config.file_settings import Agent, Group
from bot.errors import CallError
from bot.interfaces.cli import streams
from texts import _, gettext_noop

Look: TypeAlias = Callable[..., Any]
"""Returns the data of an operation that only reads, by its name and arguments."""
Given: TypeAlias = Mapping[str, Any]


def ask_missing(name: str, given: Given, look: Look) -> dict[str, Any]:
    """The arguments of an operation; missing ones are asked for. Raises CallError if nobody can be asked."""
    return {"agent.create": _new_agent, "agent.edit": _edited_agent, "group.create": _new_group}[name](given, look)


def _new_agent(given: Given, look: Look) -> dict[str, Any]:
    if "name" in given and _settings(given):
        return dict(given)
    _require_somebody("agent create", _("a name and settings, such as --set description=…"))
    problem = _new_name(
        Agent, gettext_noop("There is already an agent {name}."), [each["agent"] for each in look("agent.list")]
    )
    named = _named(given, "agent create", problem)
    return {**given, "name": named, "settings": [*given.get("settings", ()), *_about(_said(given))]}


def _edited_agent(given: Given, look: Look) -> dict[str, Any]:
    if _settings(given) or given.get("unset"):
        return dict(given)
    _require_somebody("agent edit", _("what to change, such as --set model=offline"))
    settings = _about(look("agent.show", agent=given["agent"])["settings"])
    if not settings:
        raise CallError("agent edit: there is nothing to change.")
    return {**given, "settings": settings}


def _new_group(given: Given, look: Look) -> dict[str, Any]:
    if "name" in given and (given.get("member") or "members" in _said(given)):
        return dict(given)
    _require_somebody("group create", _("a name and --member"))
    problem = _new_name(
        Group, gettext_noop("There is already a group {name}."), [each["group"] for each in look("group.list")]
    )
    known = [each["agent"] for each in look("agent.list")]
    named = _named(given, "group create", problem)

    def no_members(said: str) -> str:
        unknown = [each for each in _listed(said) if each not in known]
        if unknown or not _listed(said):
            return _(
                "There is no agent “{unknown}”. Choose from: {names}.",
                unknown=", ".join(unknown),
                names=", ".join(known),
            )
        return ""

    def no_places(said: str) -> str:
        return problem_with(Group, name="Group", members=known[:1], places=_listed(said))

    members = given.get("member") or _listed(_asked(_("Its agents (names separated by commas)"), "", no_members))
    settings = [*given.get("settings", ()), *_how_it_works(members, _said(given))]
    places = _listed(_asked(_("Where it answers (such as discord:1234; Enter: nowhere yet)"), "", no_places))
    return {**given, "name": named, "member": [], "settings": [*settings, f"places={json.dumps(places)}"]}


def _how_it_works(agents: Sequence[str], said: Mapping[str, str]) -> list[str]:
    """Description, pattern and roles of a new group as settings."""
    made: dict[str, str] = {}
    if "description" not in said:
        made["description"] = json.dumps(_asked(_("What it is for")))
    patterns, roles = [each for each in TABLES if each != "sleeptime"], get_args(Role)
    if "pattern" not in said and len(agents) > 1:
        question = _("Who answers ({patterns}; docs/groups.md explains them)", patterns=", ".join(patterns))
        made["pattern"] = json.dumps(pattern := _asked(question, patterns[0], _one_of(patterns)))
        if pattern == "pipeline":
            names = [_asked(_("Stage of {agent}: its name", agent=each), each) for each in agents]
            stages = (
                f"{{name={json.dumps(name)}, agents=[{json.dumps(each)}]}}"
                for name, each in zip(names, agents, strict=True)
            )
            made["pipeline"] = f"{{stages=[{', '.join(stages)}]}}"
    members = []
    for each in agents:
        question = _("Role of {agent} ({roles})", agent=each, roles=", ".join(roles))
        role = _asked(question, roles[0], _one_of(roles)) if len(agents) > 1 else roles[0]
        domain = _asked(_("What {agent} is responsible for", agent=each)) if role == "specialist" else ""
        members.append(f"{{agent={json.dumps(each)}, role={json.dumps(role)}, domain={json.dumps(domain)}}}")
    return [*(f"{key}={value}" for key, value in made.items()), f"members=[{', '.join(members)}]"]


def _one_of(known: Sequence[str]) -> Callable[[str], str]:
    return lambda said: "" if said in known else _("Choose from: {names}.", names=", ".join(known))


def _about(known: Mapping[str, str]) -> list[str]:
    """Description, model and prompt as settings; an empty one keeps its default."""
    said = {
        "description": _asked(_("What it is for"), known.get("description", "")),
        "model": _asked(
            _("Model (offline or provider:model; Enter: the default)"),
            known.get("model", ""),
            lambda model: problem_with(Agent, model=model),
        ),
        "system_prompt": _asked(_("System prompt (Enter: the default)")),
    }
    return [f"{key}={json.dumps(value)}" for key, value in said.items() if value and value != known.get(key)]


def _named(given: Given, command: str, problem: Callable[[str], str]) -> str:
    if "name" not in given:
        return _asked(_("Name"), problem=problem)
    if wrong := problem(given["name"]):
        raise CallError("{command}: name: {wrong}", command=command, wrong=wrong)
    return str(given["name"])


def _settings(given: Given) -> bool:
    return bool(given.get("settings")) or "prompt" in given


def _said(given: Given) -> dict[str, str]:
    return dict(each.partition("=")[::2] for each in given.get("settings", ()))


def _asked(question: str, default: str = "", problem: Callable[[str], str] = lambda _said: "") -> str:
    """The answer of a person; Enter means the default.

    The question is repeated until `problem`, which returns what is wrong with an answer, returns nothing.
    """
    while True:
        said = str(click.prompt(question, default=default, show_default=bool(default))).strip()
        if not (wrong := problem(said)):
            return said
        click.echo(f"  {wrong}", err=True)


def _new_name(section: type[BaseModel], what: str, taken: Collection[str]) -> Callable[[str], str]:
    """A function that returns what is wrong with a new name."""
    known = {each.casefold(): each for each in taken}

    def problem(said: str) -> str:
        there = known.get(said.casefold())
        return _(what, name=there) if there else problem_with(section, name=said)

    return problem


def _require_somebody(command: str, instead: str) -> None:
    if not streams.is_interactive():
        raise CallError(
            "{command}: there is no terminal to answer questions at. Give {instead}.", command=command, instead=instead
        )


def _listed(text: str) -> Sequence[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
