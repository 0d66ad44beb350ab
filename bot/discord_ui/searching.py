"""`/search`: what was said or stored, by words and by conditions, as far as the asker may know it where they ask."""

from typing import Any, TypeAlias

import discord
from discord import app_commands

from bot.desks.searching import ROLES, Searching, Wanted, words_alone_text
from bot.discord_ui.answering import Interaction, answer, defer, suggests, suggests_names
from bot.discord_ui.asking import asker_of
from bot.tools.found import NEWEST, nothing_searched, why_found
from memory.archival import shown_name
from memory.messages import Message
from memory.search import Domain, Hit, Results
from sources.discord.settings import DiscordSettings
from sources.text import one_line

Command: TypeAlias = app_commands.Command[Any, ..., None]
Tree: TypeAlias = app_commands.CommandTree[Any]
Short: TypeAlias = app_commands.Range[str, 1, 100]

_SHOWN, _BESIDE = 300, 120  # characters of one hit, and of what was said before and after it
_DOMAINS: dict[Domain, str] = {
    "archival": "long-term entries",
    "messages": "conversations",
    "blocks": "blocks, with older lines of logs",
    "activity": "what agents did",
    "facts": "what was learned from what people said",
    "tasks": "tasks",
    "summaries": "earlier talk, days and weeks in short",
    "files": "files of folders",
}
_OPTIONS = {
    "text": "Words to look for; without them the newest",
    "domain": "Where to look; without it entries, conversations and blocks",
    "author": "Only what this one said or did; me: what you said",
    "role": "Only what people said, or agents",
    "place": "Only what was said there",
    "since": "Only from then on: 2026-11-01, 2026-11-01 08:00, or how long ago, as 2d",
    "until": "Only up to then; a day counts whole",
    "category": "Only what is of this category, or below it",
    "tag": "Only entries with this tag; of several, with commas between, all",
    "limit": "How many to show",
}


def install_search(tree: Tree, searching: Searching, settings: DiscordSettings) -> None:
    """Put the command into the tree."""
    tree.add_command(_search(searching, settings))


def _search(searching: Searching, settings: DiscordSettings) -> Command:
    @app_commands.command(name="search", description="Find what was said or stored, as far as you may know it")
    @app_commands.describe(**_OPTIONS)
    @app_commands.choices(
        domain=[app_commands.Choice(name=words, value=name) for name, words in _DOMAINS.items()],
        role=[app_commands.Choice(name=words, value=name) for name, words in ROLES.items()],
    )
    async def command(
        interaction: Interaction,
        text: app_commands.Range[str, 1, 200] = "",
        domain: str = "",
        author: Short = "",
        role: str = "",
        place: Short = "",
        since: Short = "",
        until: Short = "",
        category: Short = "",
        tag: app_commands.Range[str, 1, 200] = "",
        limit: app_commands.Range[int, 1, 20] = 5,
    ) -> None:
        wanted = Wanted(text, domain, author, role, place, since, until, category, (tag,), limit=limit)
        if await defer(interaction):
            await answer(interaction, _found(interaction, searching, settings, wanted), file_name="search.md")

    _suggest(command, searching, settings)
    return command


def _suggest(command: Command, searching: Searching, settings: DiscordSettings) -> None:
    """What can be named, of what may be known where the command is given."""

    async def places(interaction: Interaction) -> list[tuple[str, str]]:
        return await searching.places(await asker_of(interaction, settings))

    async def authors(interaction: Interaction) -> list[str]:
        return await searching.authors(await asker_of(interaction, settings))

    async def categories(interaction: Interaction) -> list[str]:
        return await searching.categories(await asker_of(interaction, settings))

    async def tags(interaction: Interaction) -> list[str]:
        return await searching.tags(await asker_of(interaction, settings))

    suggests(command, "place", places)
    for option, names in (("author", authors), ("category", categories), ("tag", tags)):
        suggests_names(command, option, names)


async def _found(interaction: Interaction, searching: Searching, settings: DiscordSettings, wanted: Wanted) -> str:
    return results_text(await searching.search(await asker_of(interaction, settings), wanted))


def how_searched(found: Results) -> list[str]:
    """Small lines on a listing, which is no search, and on a search that went by words alone."""
    listed = [f"-# {NEWEST}"] if found.newest and found.hits else []
    why = words_alone_text(found.words_alone)
    return [*listed, f"-# {discord.utils.escape_markdown(why, as_needed=True)}"] if why else listed


def results_text(results: Results) -> str:
    """Hits as quotations."""
    where = ", ".join(f"{results.seen.get(domain, 0)} {domain}" for domain in results.searched)
    nothing = nothing_searched(results.unmet) or f"Nothing was found. I searched what you may know: {where}."
    lines = [*map(_quoted, results.hits)] or [nothing]
    return "\n".join([*lines, *how_searched(results)])


def _quoted(hit: Hit) -> str:
    """A hit as a quotation, with the name by which it is looked at."""
    label = shown_name(hit.label, hit.id) if hit.label and hit.kind == "entry" else hit.label
    name = f" `{one_line(label).replace('`', '')}`" if label else ""
    by = f" by {discord.utils.escape_markdown(one_line(hit.speaker))}" if hit.speaker else ""
    text = discord.utils.escape_markdown(" ".join(hit.text[:_SHOWN].split()))
    why = f"; {discord.utils.escape_markdown(words)}" if (words := why_found(hit)) else ""
    beside = [_beside(word, said) for word, said in (("before", hit.before), ("after", hit.after)) if said]
    return "\n".join([f"> {text}", *beside, f"-# {hit.kind}{name}{by}, {discord.utils.format_dt(hit.when)}{why}"])


def _beside(word: str, said: Message) -> str:
    """What was said just before or after a message, in small."""
    return f"-# {word}: {discord.utils.escape_markdown(one_line(f'{said.speaker}: {said.text}', _BESIDE))}"
