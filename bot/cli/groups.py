"""`carina group ...` and `carina constellation ...`, as the owner."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from bot.cli.agents import From, Output, Replace, Set, Source
from bot.cli.asking import ask
from bot.cli.people import Administer, Json, told
from bot.cli.printing import print_data, print_found, print_lines, print_listed, print_rows, record_lines
from bot.cli.tables import asked, listed, new_name, read_settings, read_tables, require_somebody, write_tables
from bot.config import Config
from bot.config.exchange import problem_with
from bot.config.sections import Group
from bot.errors import CallError

Name = Annotated[str, typer.Argument(metavar="GROUP", help="Its name.")]
Member = Annotated[str, typer.Argument(metavar="AGENT", help="Which agent.")]


def add_groups(app: typer.Typer, administer: Administer) -> None:
    """Put the commands into the program."""
    group = typer.Typer(help="Groups of agents: who is in them and where they answer.")
    app.add_typer(group, name="group")
    _add_looking(group, administer)
    _add_making(group, administer)
    _add_members(group, administer)


def _add_looking(group: typer.Typer, administer: Administer) -> None:
    @group.command("list")
    def group_list(as_json: Json = False) -> None:
        """Show every group, and where it differs from the configuration's file."""
        administer(told("group.list", "There are no groups."), as_json)

    @group.command("show")
    def group_show(name: Name, as_json: Json = False) -> None:
        """Show one group with all its settings."""
        administer(_show, as_json, name)

    @group.command("status")
    def group_status(name: Name, as_json: Json = False) -> None:
        """Show who is in a group and how each stands."""
        administer(_group_status, as_json, name)

    @group.command("export")
    def group_export(
        names: Annotated[list[str] | None, typer.Argument(metavar="[GROUP]...", help="Which; else all.")] = None,
        output: Output = "",
        as_json: Json = False,
    ) -> None:
        """Print groups as TOML that `group import`, `group create --from` and carina.toml take."""
        administer(_export, as_json, names or [], output)


def _add_making(group: typer.Typer, administer: Administer) -> None:
    @group.command("create")
    def group_create(
        name: Annotated[str | None, typer.Argument(metavar="GROUP", help="Its name.")] = None,
        member: Annotated[list[str] | None, typer.Option(help="An agent in it; as often as there are.")] = None,
        settings: Set = None,
        source: From = None,
        as_json: Json = False,
    ) -> None:
        """Make a group: by settings, from a file, or by questions when you sit at a terminal and say nothing."""
        given = read_settings(settings or ())
        if source is not None:
            if name or member or given:
                raise CallError("--from: found other settings beside it; expected it alone")
            administer(_import, as_json, source, False)
            return
        members = {"members": member} if member else {}
        if not name or not (member or given.get("members")):
            require_somebody("group create", "a name and --member, or --from FILE")
        administer(_create, as_json, name, {**given, **members})

    @group.command("import")
    def group_import(source: Source, replace: Replace = False, as_json: Json = False) -> None:
        """Make the groups of a file; all of them or, when one is wrong, none."""
        administer(_import, as_json, source, replace)


def _add_members(group: typer.Typer, administer: Administer) -> None:
    add = typer.Typer(help="Put agents into groups.")
    remove = typer.Typer(help="Take agents out of groups.")
    group.add_typer(add, name="add")
    group.add_typer(remove, name="remove")

    @add.command("member")
    def add_member(
        name: Name,
        agent: Member,
        role: Annotated[str, typer.Option(help="regular, supervisor, observer or specialist.")] = "",
        domain: Annotated[str, typer.Option(help="What a specialist is for.")] = "",
        settings: Set = None,
        as_json: Json = False,
    ) -> None:
        """Put an agent into a group, as its last member."""
        said = {key: value for key, value in (("role", role), ("domain", domain)) if value}
        given = {**read_settings(settings or ()), **said}
        administer(told("group.add_member", "", name=name, agent=agent, settings=given), as_json)

    @remove.command("member")
    def remove_member(name: Name, agent: Member, as_json: Json = False) -> None:
        """Take an agent out of a group; its memory stays."""
        administer(told("group.remove_member", "", name=name, agent=agent), as_json)


def add_constellations(app: typer.Typer, administer: Administer) -> None:
    """Put the commands into the program."""
    group = typer.Typer(help="Constellations: each has its own agents, groups and memory.")
    app.add_typer(group, name="constellation")

    @group.command("list")
    def constellation_list(as_json: Json = False) -> None:
        """Show the constellations of the data folder."""
        administer(told("constellation.list", "There is none."), as_json)

    @group.command("create")
    def constellation_create(
        name: Annotated[str, typer.Argument(metavar="NAME", help="Its name.")], as_json: Json = False
    ) -> None:
        """Make an empty one; it runs when the configuration names it, and then the file's agents come into it."""
        administer(told("constellation.create", "", name=name), as_json)

    @group.command("status")
    def constellation_status(
        name: Annotated[str, typer.Argument(metavar="[NAME]", help="Which; else the one of the configuration.")] = "",
        as_json: Json = False,
    ) -> None:
        """Show who lives in a constellation and how large it is."""
        administer(_status, as_json, name)


async def _create(config: Config, name: str | None, given: dict[str, Any], *, as_json: bool) -> None:
    """Make a group, with questions to whoever sits at the terminal where not everything was said."""
    if not name or not given.get("members"):
        problem = new_name(Group, "a group", [each["group"] for each in await ask(config, "group.list")])
        if name and (wrong := problem(name)):
            raise CallError(f"group create: the name: {wrong}")
        known = [each["agent"] for each in await ask(config, "agent.list")]
        name = name or asked("Name", problem=problem)
        given = {**_about(known, given), **given}
    made = await ask(config, "group.create", settings={"name": name, **given})
    print_listed(made, as_json=as_json, empty="")


def _about(known: Sequence[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Members and places as somebody at the terminal wants them; `known` are the agents."""

    def no_members(said: str) -> str:
        unknown = [each for each in listed(said) if each not in known]
        if unknown or not listed(said):
            return f"found {', '.join(unknown) or 'nobody'}; expected some of: {', '.join(known)}"
        return ""

    def no_places(said: str) -> str:
        return problem_with(Group, name="Group", members=known[:1], places=listed(said))

    question = "Which agents are in it? (names with commas between them)"
    return {
        "members": given.get("members") or listed(asked(question, problem=no_members)),
        "places": listed(asked("Where does it answer? (such as discord:1234; empty: nowhere yet)", problem=no_places)),
    }


async def _show(config: Config, name: str, *, as_json: bool) -> None:
    found = await ask(config, "group.show", name=name)
    print_found(found, [f"# {found['file']}", found["toml"].rstrip("\n")], as_json=as_json)


async def _group_status(config: Config, name: str, *, as_json: bool) -> None:
    found = await ask(config, "group.status", name=name)
    if as_json:
        print_data(found)
        return
    print_lines([f"{found['group']}: {found['pattern']}"])
    print_rows(found["members"], empty="Nobody is in it.")
    if found["kept"]:
        print_lines(found["kept"])


async def _export(config: Config, names: list[str], output: str, *, as_json: bool) -> None:
    write_tables(await ask(config, "group.export", names=names), output, as_json=as_json)


async def _import(config: Config, source: str, replace: bool, *, as_json: bool) -> None:
    text = read_tables(source)
    done = await ask(config, "group.import", toml=text, source=source, replacing=replace)
    print_listed(done, as_json=as_json, empty="")


async def _status(config: Config, name: str, *, as_json: bool) -> None:
    found = await ask(config, "constellation.status", name=name)
    shown = {key: ", ".join(value) if isinstance(value, list) else value for key, value in found.items()}
    print_found(found, record_lines(shown), as_json=as_json)
