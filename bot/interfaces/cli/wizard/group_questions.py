"""Questions at a terminal about a new group, if the command does not say enough."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, get_args

import click

from bot.agents.groups.settings import TABLES, Role
from bot.config.agent_files import problem_with
from bot.config.file_settings import Group
from bot.errors import CallError
from bot.interfaces.cli import streams
from texts import _

Look: TypeAlias = Callable[..., Any]
"""Returns the data of an operation that only reads, by its name and arguments."""
Given: TypeAlias = Mapping[str, Any]


def ask_missing(given: Given, look: Look) -> dict[str, Any]:
    """The arguments of `group.create`; missing ones are asked for. Raises CallError if nobody can be asked."""
    if "name" in given and (given.get("member") or "members" in _said(given)):
        return dict(given)
    if not streams.is_interactive():
        raise CallError("Give the group a name, and at least one member with --member.")
    taken = {each["group"].casefold(): each["group"] for each in look("group.list")}
    known = [each["agent"] for each in look("agent.list")]

    def no_name(said: str) -> str:
        there = taken.get(said.casefold())
        return _("There is already a group “{name}”.", name=there) if there else problem_with(Group, name=said)

    if "name" not in given:
        given = {**given, "name": _asked(_("Name"), problem=no_name)}
    elif wrong := no_name(given["name"]):
        raise CallError("group create: name: {wrong}", wrong=wrong)

    def no_members(said: str) -> str:
        if not (named := _listed(said)):
            return _("Choose from: {names}.", names=", ".join(known))
        if unknown := [each for each in named if each not in known]:
            return _(
                "There is no agent “{name}”. Choose from: {known}.", name=", ".join(unknown), known=", ".join(known)
            )
        return ""

    def no_places(said: str) -> str:
        return problem_with(Group, name="Group", members=known[:1], places=_listed(said))

    members = given.get("member") or _listed(_asked(_("Its agents (names separated by commas)"), "", no_members))
    settings = [*given.get("settings", ()), *_how_it_works(members, _said(given))]
    places = _listed(_asked(_("Where it answers (such as discord:1234; Enter: nowhere yet)"), "", no_places))
    return {**given, "member": [], "settings": [*settings, f"places={json.dumps(places)}"]}


def _how_it_works(agents: Sequence[str], said: Mapping[str, str]) -> list[str]:
    """Description, pattern and roles of a new group as settings."""
    made: dict[str, str] = {}
    if "description" not in said:
        made["description"] = json.dumps(_asked(_("What it is for")))
    patterns, roles = [each for each in TABLES if each != "sleeptime"], get_args(Role)
    if "pattern" not in said and len(agents) > 1:
        question = _("Who answers ({patterns})", patterns=", ".join(patterns))
        made["pattern"] = json.dumps(pattern := _asked(question, patterns[0], _one_of(patterns)))
        if pattern == "pipeline":
            names = [_asked(_("Name of {agent}'s stage", agent=each), each) for each in agents]
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


def _listed(text: str) -> Sequence[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
