"""`carina agent ...`: the agents, as the owner."""

from typing import Annotated, Any, TypeAlias

import typer

from bot.cli.asking import ask
from bot.cli.people import Administer, Json, told
from bot.cli.printing import print_found, print_listed
from bot.cli.tables import asked, new_name, read_settings, read_tables, read_text, require_somebody, write_tables
from bot.config import Config
from bot.config.exchange import problem_with
from bot.config.sections import Agent
from bot.errors import CallError

Name = Annotated[str, typer.Argument(metavar="AGENT", help="Its name.")]
Set: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A key of its table in carina.toml; as often as there are."),
]
PromptFile: TypeAlias = Annotated[
    str | None, typer.Option("--prompt-file", metavar="FILE", help="Its system_prompt, from a file; - is piped in.")
]
From: TypeAlias = Annotated[
    str | None, typer.Option("--from", metavar="FILE", help="A TOML file; - is standard input.")
]
Replace: TypeAlias = Annotated[bool, typer.Option("--replace", help="Change those that are there already.")]
Output: TypeAlias = Annotated[
    str, typer.Option("--output", "-o", metavar="FILE", help="A file to make; else standard output.")
]
Source: TypeAlias = Annotated[str, typer.Argument(metavar="FILE", help="A TOML file; - is standard input.")]

_EMPTY = "There are no agents."


def add_agents(app: typer.Typer, administer: Administer) -> None:
    """Put the commands into the program."""
    group = typer.Typer(help="Your agents: who they are, their models, prompts and tools.")
    app.add_typer(group, name="agent")
    _add_looking(group, administer)
    _add_making(group, administer)
    _add_carrying(group, administer)


def _add_looking(group: typer.Typer, administer: Administer) -> None:
    @group.command("list")
    def agent_list(as_json: Json = False) -> None:
        """Show every agent, and where it differs from the configuration's file."""
        administer(told("agent.list", _EMPTY), as_json)

    @group.command("show")
    def agent_show(name: Name, as_json: Json = False) -> None:
        """Show one agent with all its settings."""
        administer(_show, as_json, name)

    @group.command("archive")
    def agent_archive(name: Name, as_json: Json = False) -> None:
        """Let an agent never answer again; its memory stays."""
        administer(told("agent.archive", "", name=name), as_json)

    @group.command("restore")
    def agent_restore(name: Name, as_json: Json = False) -> None:
        """Let an archived agent answer again."""
        administer(told("agent.restore", "", name=name), as_json)

    @group.command("hibernate")
    def agent_hibernate(name: Name, as_json: Json = False) -> None:
        """Let an agent sleep: it ends what it is at, and is asked nothing more."""
        administer(told("agent.hibernate", "", name=name), as_json)

    @group.command("wake")
    def agent_wake(name: Name, as_json: Json = False) -> None:
        """Let a hibernated agent be asked again."""
        administer(told("agent.wake", "", name=name), as_json)


def _add_making(group: typer.Typer, administer: Administer) -> None:
    @group.command("create")
    def agent_create(
        name: Annotated[str | None, typer.Argument(metavar="AGENT", help="Its name.")] = None,
        settings: Set = None,
        prompt_file: PromptFile = None,
        source: From = None,
        as_json: Json = False,
    ) -> None:
        """Make an agent: by settings, from a file, or by questions when you sit at a terminal and say nothing."""
        given = _given(settings, prompt_file)
        if source is not None:
            if name or given:
                raise CallError("--from: found other settings beside it; expected it alone")
            administer(_import, as_json, source, False)
            return
        if name is None:
            require_somebody("agent create", "a name and settings, or --from FILE")
        elif not given:
            require_somebody("agent create", "settings beside the name, such as --set description=…, or --from FILE")
        administer(_create, as_json, name, given)

    @group.command("edit")
    def agent_edit(
        name: Name,
        settings: Set = None,
        prompt_file: PromptFile = None,
        unset: Annotated[list[str] | None, typer.Option(metavar="KEY", help="Give it its default again.")] = None,
        as_json: Json = False,
    ) -> None:
        """Change settings of an agent; they hold from its next turn on, whatever the file says."""
        given = {**_given(settings, prompt_file), **dict.fromkeys(unset or ())}
        if not given:
            require_somebody("agent edit", "what to change, such as --set model=offline")
        administer(_edit, as_json, name, given)


def _add_carrying(group: typer.Typer, administer: Administer) -> None:
    @group.command("export")
    def agent_export(
        names: Annotated[list[str] | None, typer.Argument(metavar="[AGENT]...", help="Which; else all.")] = None,
        output: Output = "",
        as_json: Json = False,
    ) -> None:
        """Print agents as TOML that `agent import`, `agent create --from` and carina.toml take."""
        administer(_export, as_json, "agent.export", names or [], output)

    @group.command("import")
    def agent_import(source: Source, replace: Replace = False, as_json: Json = False) -> None:
        """Make the agents of a file; all of them or, when one is wrong, none."""
        administer(_import, as_json, source, replace)


def _given(settings: list[str] | None, prompt_file: str | None) -> dict[str, Any]:
    given = read_settings(settings or ())
    if prompt_file is not None:
        if "system_prompt" in given:
            raise CallError("--prompt-file and system_prompt: found both; expected one of them")
        given["system_prompt"] = read_text(prompt_file)
    return given


async def _create(config: Config, name: str | None, given: dict[str, Any], *, as_json: bool) -> None:
    """Make an agent, with questions to whoever sits at the terminal where not everything was said."""
    if name is None or not given:
        problem = new_name(Agent, "an agent", [each["agent"] for each in await ask(config, "agent.list")])
        if name is not None and (wrong := problem(name)):
            raise CallError(f"agent create: the name: {wrong}")
        name = name if name is not None else asked("Name", problem=problem)
        given = {**given, **_about(given)}
    made = await ask(config, "agent.create", settings={"name": name, **given})
    print_listed(made, as_json=as_json, empty="")


def _about(known: dict[str, Any]) -> dict[str, Any]:
    """Description, model and prompt as somebody at the terminal wants them; what stays empty keeps its default."""
    said = {
        "description": asked("What is it there for?", known.get("description", "")),
        "model": asked(
            "Model (offline or provider:model; empty: the service's)",
            known.get("model", ""),
            lambda model: problem_with(Agent, model=model),
        ),
        "system_prompt": asked("What is it told before everything else? (empty: the usual)"),
    }
    return {key: value for key, value in said.items() if value and value != known.get(key)}


async def _show(config: Config, name: str, *, as_json: bool) -> None:
    found = await ask(config, "agent.show", name=name)
    groups = ", ".join(found["groups"]) or "none"
    head = [f"# {found['status']}; in the groups: {groups}; {found['file']}"]
    if "tools" not in found["settings"]:
        head.append(f"# every tool there is, also those of later versions: {', '.join(found['tools'])}")
    print_found(found, [*head, found["toml"].rstrip("\n")], as_json=as_json)


async def _edit(config: Config, name: str, given: dict[str, Any], *, as_json: bool) -> None:
    if not given:
        known = (await ask(config, "agent.show", name=name))["settings"]
        given = _about(known)
        if not given:
            raise CallError("agent edit: found nothing that is to be changed")
    print_listed(await ask(config, "agent.edit", name=name, changes=given), as_json=as_json, empty="")


async def _export(config: Config, operation: str, names: list[str], output: str, *, as_json: bool) -> None:
    write_tables(await ask(config, operation, names=names), output, as_json=as_json)


async def _import(config: Config, source: str, replace: bool, *, as_json: bool) -> None:
    text = read_tables(source)
    done = await ask(config, "agent.import", toml=text, source=source, replacing=replace)
    print_listed(done, as_json=as_json, empty="")
