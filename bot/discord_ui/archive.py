"""`/archival list|search|show|add|delete|widen` and `/context`: long-term entries; what an agent sees in a place."""

import re
from collections.abc import Iterable
from typing import Any, TypeAlias

import discord
import structlog
from discord import app_commands

from bot.desks.archive import Archive, New, added_data, added_text, shown_lines, whole_text
from bot.desks.desk import Asker
from bot.desks.remembering import Asking
from bot.desks.remembering_text import widened_text
from bot.desks.searching import Searching, Wanted
from bot.discord_ui.answering import Interaction, Suggest, answer, defer, suggests
from bot.discord_ui.asking import approver_of, asker_of, scope_here
from bot.discord_ui.forms import LONGEST, hear_form
from bot.discord_ui.searching import how_searched
from memory.archival import Entry, shown_name
from memory.audience import Scope
from memory.search import Hit
from sources.discord.hearing import trust_of
from sources.discord.link import REFUSED
from sources.discord.reading import author_of
from sources.discord.settings import DiscordSettings
from sources.text import one_line

Command: TypeAlias = app_commands.Command[Any, ..., None]
Tree: TypeAlias = app_commands.CommandTree[Any]

_log = structlog.get_logger("bot.discord_ui.archive")
FORM = "carina:archival:add"


def install_archive(tree: Tree, archive: Archive, searching: Searching, settings: DiscordSettings) -> None:
    """Put the commands into the tree."""
    group = app_commands.Group(name="archival", description="What I keep for the long term")
    group.add_command(_list(archive, settings))
    group.add_command(_search(searching, settings))
    group.add_command(_show(archive, settings))
    group.add_command(_add())
    group.add_command(_delete(archive, settings))
    group.add_command(_widen(archive, settings))
    tree.add_command(group)
    tree.add_command(_context(archive, settings))

    async def sent(interaction: Interaction, _named: re.Match[str], fields: dict[str, str]) -> None:
        if await defer(interaction):
            written = fields.get("text", ""), fields.get("label", "")
            await answer(interaction, _added(interaction, archive, settings, written))

    hear_form(tree, re.compile(re.escape(FORM)), sent)


def _list(archive: Archive, settings: DiscordSettings) -> Command:
    async def words(asker: Asker, limit: int) -> str:
        lines = [_line(entry) for entry in await archive.latest(asker, limit=limit)]
        return "\n".join(f"- {_escape(line)}" for line in lines) or "Nothing is stored that you may know here."

    @app_commands.command(name="list", description="The newest entries that you may know here")
    @app_commands.describe(limit="How many")
    async def command(interaction: Interaction, limit: app_commands.Range[int, 1, 100] = 10) -> None:
        if await defer(interaction):
            await answer(interaction, words(await asker_of(interaction, settings), limit), file_name="archival.md")

    return command


def _search(searching: Searching, settings: DiscordSettings) -> Command:
    async def words(asker: Asker, text: str, limit: int) -> str:
        found = await searching.search(asker, Wanted(text, "archival", limit=limit))
        lines = [f"- {hit_line(hit)}" for hit in found.hits]
        nothing = "Nothing that is stored and that you may know here has to do with that."
        return "\n".join([*(lines or [nothing]), *how_searched(found)])

    @app_commands.command(name="search", description="Entries that have to do with something, the best first")
    @app_commands.describe(text="Words, or what it is about", limit="How many")
    async def command(
        interaction: Interaction,
        text: app_commands.Range[str, 1, 200],
        limit: app_commands.Range[int, 1, 50] = 8,
    ) -> None:
        if await defer(interaction):
            found = words(await asker_of(interaction, settings), text, limit)
            await answer(interaction, found, file_name="archival.md")

    return command


def hit_line(hit: Hit) -> str:
    """An entry that was found, by what it is shown and deleted with."""
    return _escape(f"{shown_name(hit.label, hit.id)}: {one_line(hit.text, 200)}")


def _show(archive: Archive, settings: DiscordSettings) -> Command:
    async def words(asker: Asker, label: str) -> str:
        entry = await archive.show(asker, label)
        stored = discord.utils.format_dt(entry.created_at)
        return f"`{shown_name(entry.label, entry.id)}`, stored {stored}\n{_escape(whole_text(entry))}"

    @app_commands.command(name="show", description="One entry in full")
    @app_commands.describe(entry="Its label or id")
    async def command(interaction: Interaction, entry: app_commands.Range[str, 1, 200]) -> None:
        if await defer(interaction):
            await answer(interaction, words(await asker_of(interaction, settings), entry), file_name="entry.md")

    suggests(command, "entry", _entries(archive, settings))
    return command


def _add() -> Command:
    @app_commands.command(name="add", description="Have something kept for the long term, for when I talk to you alone")
    async def command(interaction: Interaction) -> None:
        try:
            await interaction.response.send_modal(_form())
        except REFUSED as reason:
            _log.warning("interaction_unanswered", reason=str(reason), hint="nothing was done; it can be done again")

    return command


def _form() -> discord.ui.Modal:
    form = discord.ui.Modal(title="Keep for the long term", custom_id=FORM, timeout=None)
    content = discord.ui.TextInput[Any](custom_id="text", style=discord.TextStyle.long, max_length=LONGEST)
    label = discord.ui.TextInput[Any](custom_id="label", required=False, max_length=100)
    form.add_item(discord.ui.Label(text="What to keep, in full sentences", component=content))
    form.add_item(discord.ui.Label(text="A short name for it, if you like", component=label))
    form.stop()  # what is sent is heard by its id, also after a restart
    return form


async def _added(
    interaction: Interaction, archive: Archive, settings: DiscordSettings, written: tuple[str, str]
) -> str:
    content, label = written
    trust = trust_of(author_of(interaction.user), settings)
    added = await archive.add(await asker_of(interaction, settings), trust, New(content, label))
    return added_text(added_data(added))


def _delete(archive: Archive, settings: DiscordSettings) -> Command:
    @app_commands.command(name="delete", description="Have an entry forgotten, with your words that it came from")
    @app_commands.describe(entry="Its label or id")
    async def command(interaction: Interaction, entry: app_commands.Range[str, 1, 200]) -> None:
        if await defer(interaction):
            asker = await asker_of(interaction, settings)
            await answer(interaction, archive.delete(asker, approver_of(interaction, "command"), entry))

    suggests(command, "entry", _entries(archive, settings))
    return command


def _widen(archive: Archive, settings: DiscordSettings) -> Command:
    async def words(interaction: Interaction, label: str, to: str, *, sure: bool) -> str:
        scope, trust = (await asker_of(interaction, settings)).scope, trust_of(author_of(interaction.user), settings)
        asking = Asking(approver_of(interaction, "command"), scope, trust)
        return _escape(widened_text(await archive.widen(asking, label, to, sure=sure)))

    @app_commands.command(name="widen", description="Let more people know an entry that holds your own words alone")
    @app_commands.describe(
        entry="Its label or id",
        to="public, guild:<id> or channel:<id>",
        sure="Do it; without it you see what would be told",
    )
    async def command(
        interaction: Interaction,
        entry: app_commands.Range[str, 1, 200],
        to: app_commands.Range[str, 1, 100] = "public",
        sure: bool = False,
    ) -> None:
        if await defer(interaction):
            await answer(interaction, words(interaction, entry, to, sure=sure), file_name="entry.md")

    suggests(command, "entry", _entries(archive, settings))
    return command


def _entries(archive: Archive, settings: DiscordSettings) -> Suggest:
    async def latest(interaction: Interaction) -> Iterable[tuple[str, str]]:
        found = await archive.latest(await asker_of(interaction, settings), limit=100)
        return ((entry.id, _line(entry)) for entry in found)

    return latest


def _context(archive: Archive, settings: DiscordSettings) -> Command:
    async def words(scope: Scope) -> str:
        return "\n".join(f"- {_escape(line)}" for line in shown_lines(await archive.context(scope)))

    @app_commands.command(name="context", description="What I see of my memory when I answer you here, and its size")
    async def command(interaction: Interaction) -> None:
        if await defer(interaction):
            await answer(interaction, words(await scope_here(interaction, settings)), file_name="context.md")

    return command


def _line(entry: Entry) -> str:
    return f"{shown_name(entry.label, entry.id)}: {one_line(entry.content, 200)}"


def _escape(text: str) -> str:
    return discord.utils.escape_markdown(text, as_needed=True)
