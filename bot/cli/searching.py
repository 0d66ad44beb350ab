"""`carina search`: what was said or stored, by words and by conditions."""

from typing import Annotated, Any, Literal

import typer

from bot.cli.asking import ask
from bot.cli.house import AgentName
from bot.cli.people import Administer, Json
from bot.cli.printing import print_data, print_lines, print_rows
from bot.config import Config
from bot.desks.searching import words_alone_text
from bot.tools.found import NEWEST
from memory.archival import shown_name
from memory.search import Domain

_TEXTS = ("text", "why", "before", "after")


def add_search(app: typer.Typer, archival: typer.Typer, administer: Administer) -> None:
    """Put the commands into the program: of everything, and of entries into the group of `carina archival`."""

    @app.command("search")
    def search(
        text: Annotated[str, typer.Argument(help="Words to look for; without, the newest.")] = "",
        domain: Annotated[
            Domain | None, typer.Option(help="Where to look; without it entries, messages and blocks.")
        ] = None,
        author: Annotated[str, typer.Option(help="Only what this one said or did; me: what you said here.")] = "",
        role: Annotated[
            Literal["user", "assistant"] | None, typer.Option(help="Only what people said (user), or agents.")
        ] = None,
        place: Annotated[str, typer.Option(help="Only what was said there, by its name or id.")] = "",
        since: Annotated[
            str, typer.Option(help="Only from then on: 2026-11-01, '2026-11-01 08:00', or how long ago (8h, 2d).")
        ] = "",
        until: Annotated[str, typer.Option(help="Only up to then, in the same forms; a day counts whole.")] = "",
        category: Annotated[str, typer.Option(help="Only what is of this category, or below it.")] = "",
        tag: Annotated[list[str] | None, typer.Option(help="Only entries with it; with all of several --tag.")] = None,
        limit: Annotated[int, typer.Option(min=1, max=100)] = 8,
        agent: AgentName = "",
        as_json: Json = False,
    ) -> None:
        """Find what was said or stored, as far as you may read it."""
        wanted: dict[str, Any] = {"text": text, "domain": domain or "", "author": author, "role": role or ""}
        wanted |= {"place": place, "since": since, "until": until, "category": category, "tags": tag or []}
        wanted |= {"limit": limit, "agent": agent}
        administer(_searched, as_json, wanted)

    @archival.command("search")
    def archival_search(
        text: Annotated[str, typer.Argument(help="Words to look for; without, the newest.")] = "",
        category: Annotated[str, typer.Option(help="Only entries of this category, or below it.")] = "",
        tag: Annotated[list[str] | None, typer.Option(help="Only entries with it; with all of several --tag.")] = None,
        limit: Annotated[int, typer.Option(min=1, max=100)] = 8,
        agent: AgentName = "",
        as_json: Json = False,
    ) -> None:
        """Find entries, as far as you may read them: `carina search --domain archival`."""
        wanted = {"text": text, "domain": "archival", "category": category, "tags": tag or []}
        administer(_searched, as_json, wanted | {"limit": limit, "agent": agent})


async def _searched(config: Config, arguments: dict[str, Any], *, as_json: bool) -> None:
    found = await ask(config, "search", **arguments)
    where = ", ".join(f"{count} {domain}" for domain, count in found["searched"].items())
    if as_json:
        print_data(found)
        return
    nothing = found["unmet"] or f"Nothing was found. Searched: {where}."
    rows = [_shown(hit) for hit in found["hits"]]
    print_rows(rows, empty=nothing, brief=_TEXTS, whole="Long texts are cut here; --json has them whole.")
    if found["newest"] and found["hits"]:
        print_lines([NEWEST])
    if why := words_alone_text(found["words_alone"]):
        print_lines([why])


def _shown(hit: dict[str, Any]) -> dict[str, Any]:
    """A hit for people: why it was found as words, and what was said beside it as lines."""
    beside = {name: f"{said['by']}: {said['text']}" if (said := hit[name]) else "" for name in ("before", "after")}
    label = shown_name(hit["label"], "") if hit["kind"] == "entry" else hit["label"]
    names = ("kind", "id", "label", "text", "by", "audience", "when", "why")
    return {name: hit[name] for name in names} | {"label": label} | beside
