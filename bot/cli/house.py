"""`carina source`, `carina cost`, `carina permits grant` and `carina archival`."""

from typing import Annotated, Any

import typer

from bot.cli.asking import ask
from bot.cli.people import Administer, Json, told
from bot.cli.printing import print_data, print_found, print_lines, print_rows, record_lines
from bot.config import Config
from bot.desks.archive import added_text
from bot.desks.remembering_text import widened_text
from memory.archival import shown_name

AgentName = Annotated[str, typer.Option("--agent", help="Whose; without it every agent's.")]
Keeper = Annotated[str, typer.Option("--agent", help="Who keeps it; without it the agent you talked to last.")]
EntryName = Annotated[str, typer.Argument(help="Its label or id.")]
Source = Annotated[str, typer.Argument(help="Which, such as discord.")]

_LISTED = ("id", "agent", "label", "category", "tags", "metadata", "text", "people", "audience", "stored")


def add_books(app: typer.Typer, permits: typer.Typer, administer: Administer) -> None:
    """Put the commands into the program."""

    @app.command("cost")
    def cost(
        days: Annotated[int, typer.Option(min=1, max=3660, help="How many days back.")] = 30,
        by: Annotated[str, typer.Option(help="What to add up by: agent, model or day.")] = "model",
        as_json: Json = False,
    ) -> None:
        """Show what models cost: calls, tokens, and money where the price is known."""
        administer(told("cost", "No model was asked.", days=days, by=by), as_json)
        if not as_json:
            administer(told("budget.list", "No budget limits it (`carina budget set`)."), as_json)

    @permits.command("grant")
    def permits_grant(
        agent: Annotated[str, typer.Argument(help="Which agent.")],
        what: Annotated[str, typer.Argument(help="One of its tools, or block:LABEL for a block that it may write.")],
        audience: Annotated[
            str, typer.Argument(help="Whose words: public, owner, guild:discord:1234 or channel:discord:1234.")
        ],
        arguments: Annotated[str, typer.Option(help="Arguments that a call must have, as JSON.")] = "",
        hours: Annotated[float | None, typer.Option(help="For how long; without it until it is revoked.")] = None,
        as_json: Json = False,
    ) -> None:
        """Allow an agent something before it asks."""
        named = {"block": what.removeprefix("block:")} if what.startswith("block:") else {"tool": what}
        wanted = {"agent": agent, "audience": audience, **named, "arguments": arguments, "hours": hours}
        administer(told("permits.grant", "", **wanted), as_json)


def add_archive(app: typer.Typer, administer: Administer) -> typer.Typer:
    """Put the commands into the program; gives their group, for those that are written elsewhere."""
    archival = typer.Typer(help="What your agents keep for the long term.")
    app.add_typer(archival, name="archival")

    @archival.command("list")
    def archival_list(
        limit: Annotated[int, typer.Option(min=1, max=200)] = 20, agent: AgentName = "", as_json: Json = False
    ) -> None:
        """Show the newest entries that you may read."""
        administer(_listed, as_json, {"limit": limit, "agent": agent})

    @archival.command("show")
    def archival_show(entry: EntryName, agent: AgentName = "", as_json: Json = False) -> None:
        """Show one entry: what is known of it, and below that its whole text."""
        administer(_entry, as_json, {"label": entry, "agent": agent})

    @archival.command("add")
    def archival_add(
        text: Annotated[str, typer.Argument(help="What to keep.")],
        label: Annotated[str, typer.Option(help="A short name for it.")] = "",
        category: Annotated[str, typer.Option(help="Where it belongs, such as health/teeth.")] = "",
        tag: Annotated[list[str] | None, typer.Option(help="A word to find it by; more of them by more --tag.")] = None,
        agent: Keeper = "",
        as_json: Json = False,
    ) -> None:
        """Have something kept, known in your own places."""
        wanted = {"content": text, "label": label, "agent": agent, "category": category, "tags": tag or []}
        administer(_added, as_json, wanted)

    _add_changing(archival, administer)
    return archival


def _add_changing(archival: typer.Typer, administer: Administer) -> None:
    @archival.command("delete")
    def archival_delete(entry: EntryName, agent: AgentName = "", as_json: Json = False) -> None:
        """Have an entry forgotten, with your words that it came from."""
        administer(told("archival.delete", "", label=entry, agent=agent), as_json)

    @archival.command("widen")
    def archival_widen(
        entry: EntryName,
        audience: Annotated[str, typer.Argument(help="public, guild:<id> or channel:<id>.")],
        sure: Annotated[bool, typer.Option("--yes", help="Do it; without it you see what would be told.")] = False,
        agent: AgentName = "",
        as_json: Json = False,
    ) -> None:
        """Let more people know an entry that holds your own words alone, as it stands."""
        wanted = {"label": entry, "to": audience, "agent": agent, "sure": sure}
        administer(_widened, as_json, wanted)


async def _listed(config: Config, arguments: dict[str, Any], *, as_json: bool) -> None:
    found = await ask(config, "archival.list", **arguments)
    if as_json:
        print_data(found)
        return
    whole = "The whole of an entry: carina archival show ENTRY"
    rows = [{name: entry[name] for name in _LISTED} | {"label": shown_name(entry["label"], "")} for entry in found]
    print_rows(rows, empty="Nothing is stored.", brief=("text",), whole=whole)


async def _entry(config: Config, arguments: dict[str, Any], *, as_json: bool) -> None:
    found = await ask(config, "archival.show", **arguments)
    if as_json:
        print_data(found)
        return
    for entry in found:
        print_lines([*record_lines({**entry, "label": shown_name(entry["label"], ""), "text": ""}), "", entry["text"]])


async def _added(config: Config, arguments: dict[str, Any], *, as_json: bool) -> None:
    found = await ask(config, "archival.add", **arguments)
    if as_json:
        print_data(found)
    else:
        print_lines([added_text(each) for each in found])


async def _widened(config: Config, arguments: dict[str, Any], *, as_json: bool) -> None:
    found = await ask(config, "archival.widen", **arguments)
    print_found(found, [widened_text(found)], as_json=as_json)


def add_sources(app: typer.Typer, administer: Administer) -> None:
    """Put the commands into the program."""
    source = typer.Typer(help="Where your agents listen at all.")
    app.add_typer(source, name="source")

    @source.command("list")
    def source_list(as_json: Json = False) -> None:
        """Show the sources, and which are paused."""
        administer(told("source.list", "No source is configured beside the terminal."), as_json)

    @source.command("pause")
    def source_pause(source: Source, as_json: Json = False) -> None:
        """Hear and answer nothing of a source until it is resumed."""
        administer(told("source.pause", "", source=source), as_json)

    @source.command("resume")
    def source_resume(source: Source, as_json: Json = False) -> None:
        """Hear and answer a source again."""
        administer(told("source.resume", "", source=source), as_json)
