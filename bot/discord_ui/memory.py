"""`/memory`: the blocks, their past, and changing them by hand. One person sees all of it.

Everything goes by names that are looked up anew each time; a form carries the block's name and the version that was
shown, so it works after a restart, and what was written meanwhile stays.
"""

import contextlib
import functools
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any, Literal, TypeAlias

import discord
import structlog
from discord import app_commands

from bot.desks.desk import Desk
from bot.desks.remembering import Asking, Remembering
from bot.desks.remembering_text import blame_text, diff_text, done_text, history_text, shares_text, widened_text
from bot.discord_ui.answering import cleaned, defer, suggests, suggests_names, tell
from bot.discord_ui.asking import approver_of, asker_of
from bot.discord_ui.forms import LONGEST, hear_form
from bot.errors import UserError
from memory.blocks.by_hand import field_mark
from memory.errors import StoreError
from sources.discord.hearing import trust_of
from sources.discord.link import REFUSED
from sources.discord.reading import author_of
from sources.discord.settings import DiscordSettings

Interaction: TypeAlias = discord.Interaction[Any]
Command: TypeAlias = app_commands.Command[Any, ..., None]
Ask: TypeAlias = Callable[[Interaction], Awaitable[Asking]]
Name: TypeAlias = app_commands.Range[str, 1, 100]

_FENCED = 1_880  # characters of an answer in a block of code; what is longer goes into a file
_SHOWN = 15  # changes in one answer
# By the block's id: another of its name may come while somebody writes.
_FORM = re.compile(r"carina:memory:edit:(?P<seen>\d{1,9}):(?P<block>\w{1,60})")
_FIELD_FORM = re.compile(r"carina:memory:f:(?P<seen>[0-9a-f]{8}):(?P<field>[0-9a-f]{8}):(?P<block>\w{1,60})")

_log = structlog.get_logger(__name__)


def install_memory(
    tree: app_commands.CommandTree[Any], remembering: Remembering, desk: Desk, settings: DiscordSettings
) -> None:
    """Put the commands into the tree, and have the form heard whenever it was opened."""

    async def ask(interaction: Interaction) -> Asking:
        scope = (await asker_of(interaction, settings)).scope
        return Asking(approver_of(interaction, "memory"), scope, trust_of(author_of(interaction.user), settings))

    group = app_commands.Group(name="memory", description="What I keep in mind, who wrote it when, and going back")
    for command in (_list(remembering, ask), _show(remembering, ask), _history(remembering, ask)):
        group.add_command(command)
    for command in (_diff(remembering, ask), _rollback(remembering, ask), _revert(remembering, ask)):
        group.add_command(command)
    for command in (_undo(remembering, ask), _blame(remembering, ask)):
        group.add_command(command)
    for command in (_edit(remembering, ask), _share(remembering, ask, desk), _unshare(remembering, ask)):
        group.add_command(command)
    group.add_command(_widen(remembering, ask))
    tree.add_command(group)

    _hear_forms(tree, remembering, ask)


def _hear_forms(tree: app_commands.CommandTree[Any], remembering: Remembering, ask: Ask) -> None:
    async def sent(interaction: Interaction, named: re.Match[str], fields: dict[str, str]) -> None:
        async def text() -> str:
            written, seen = fields.get("text", ""), int(named["seen"])
            with _given_back(written):
                done = await remembering.edit(await ask(interaction), named["block"], written, seen)
            merged = " What was written meanwhile was kept." if done["merged"] else ""
            return f"Block {done['block']} is at version {done['version']} now.{merged}"

        await _answer(interaction, text)

    async def sent_field(interaction: Interaction, named: re.Match[str], fields: dict[str, str]) -> None:
        async def text() -> str:
            written, block = fields.get("text", ""), named["block"]
            with _given_back(written):
                asking = await ask(interaction)
                there = await remembering.fields(asking, block)
                field = next((each for each in there if field_mark(each) == named["field"]), None)
                if field is None:
                    raise UserError("The block has no such field any more; nothing was changed.")
                done = await remembering.edit(asking, block, written, field=field, mark=named["seen"])
            return f"{field} of block {done['block']} is written; the block is at version {done['version']} now."

        await _answer(interaction, text)

    hear_form(tree, _FORM, sent)
    hear_form(tree, _FIELD_FORM, sent_field)


@contextlib.contextmanager
def _given_back(written: str) -> Iterator[None]:
    """Say with a refusal what was written: a form that was sent is gone."""
    try:
        yield
    except (UserError, StoreError) as refused:
        raise UserError(f"{refused}\n\nWhat you wrote:\n{written}") from refused


def _list(remembering: Remembering, ask: Ask) -> Command:
    @app_commands.command(name="list", description="Which blocks of my memory you may see here")
    async def command(interaction: Interaction) -> None:
        async def text() -> str:
            return await _listed(remembering, await ask(interaction))

        await _answer(interaction, text)

    return command


async def _listed(remembering: Remembering, asking: Asking) -> str:
    rows = await remembering.blocks(asking)
    lines = [f"- `{row['block']}` ({row['agent']}, {row['readers']}): {row['description']}" for row in rows]
    return "\n".join(lines) or "There is nothing to see here."


def _show(remembering: Remembering, ask: Ask) -> Command:
    @app_commands.command(name="show", description="Show a block of my memory, or which there are")
    @app_commands.describe(label="Which block; without it you see which there are", version="As it was at that version")
    async def command(
        interaction: Interaction, label: app_commands.Range[str, 0, 100] = "", version: int | None = None
    ) -> None:
        async def text() -> str:
            if not label:
                return await _listed(remembering, await ask(interaction))
            row = await remembering.show(await ask(interaction), label, version)
            size = f"{row['size']:,} of {row['limit']:,} characters, version {row['version']}"
            content = "\n".join(part for part in (row["profile"], row["text"]) if part) or "(empty)"
            return f"**{row['block']}** ({row['agent']}, {size})\n{row['description']}\n\n{content}"

        await _answer(interaction, text)

    return _completed(command, remembering, ask)


def _history(remembering: Remembering, ask: Ask) -> Command:
    @app_commands.command(name="history", description="Who changed a block, when, and what")
    @app_commands.describe(label="Which block", before="Only changes before that one")
    async def command(interaction: Interaction, label: Name, before: int | None = None) -> None:
        async def text() -> str:
            return history_text(await remembering.history(await ask(interaction), label, _SHOWN, before))

        await _answer(interaction, text)

    return _completed(command, remembering, ask)


def _diff(remembering: Remembering, ask: Ask) -> Command:
    @app_commands.command(name="diff", description="What lies between two versions of a block")
    @app_commands.describe(label="Which block", older="A version", newer="The other one; without it the newest")
    async def command(interaction: Interaction, label: Name, older: int, newer: int | None = None) -> None:
        async def text() -> str:
            found = diff_text(await remembering.diff(await ask(interaction), label, older, newer))
            return f"```diff\n{found.replace('```', '` ` `')}\n```" if len(found) < _FENCED else found

        await _answer(interaction, text)

    return _completed(command, remembering, ask)


def _blame(remembering: Remembering, ask: Ask) -> Command:
    @app_commands.command(name="blame", description="Who wrote which part of a block as it stands, and when")
    @app_commands.describe(label="Which block")
    async def command(interaction: Interaction, label: Name) -> None:
        async def text() -> str:
            return blame_text(await remembering.blame(await ask(interaction), label))

        await _answer(interaction, text)

    return _completed(command, remembering, ask)


def _undo(remembering: Remembering, ask: Ask) -> Command:
    @app_commands.command(name="undo", description="Take back your own newest change of a block, or do it again")
    @app_commands.describe(label="Which block", redo="Do again what you undid last")
    async def command(interaction: Interaction, label: Name, redo: bool = False) -> None:
        async def text() -> str:
            done = await remembering.undo(await ask(interaction), label, again=redo)
            return done_text(done["block"], done)

        await _answer(interaction, text)

    return _completed(command, remembering, ask)


def _rollback(remembering: Remembering, ask: Ask) -> Command:
    @app_commands.command(name="rollback", description="Make a block read as at a version; as one more change")
    @app_commands.describe(label="Which block", version="As /memory history numbers them")
    async def command(interaction: Interaction, label: Name, version: int) -> None:
        async def text() -> str:
            done = await remembering.rollback(await ask(interaction), label, version)
            return done_text(done["block"], done)

        await _answer(interaction, text)

    return _completed(command, remembering, ask)


def _revert(remembering: Remembering, ask: Ask) -> Command:
    @app_commands.command(name="revert", description="Take back what one writer changed, and keep what others wrote")
    @app_commands.describe(
        label="Which block", writer="As /memory history names them", since="A change (12), a time, or 8h, 2d; all else"
    )
    async def command(
        interaction: Interaction, label: Name, writer: Name, since: app_commands.Range[str, 0, 40] = ""
    ) -> None:
        async def text() -> str:
            done = await remembering.revert(await ask(interaction), label, writer, since)
            return done_text(done["block"], done)

        await _answer(interaction, text)

    async def writers(interaction: Interaction) -> Iterable[tuple[str, str]]:
        return (await remembering.writers(await ask(interaction), _label(interaction))).items()

    suggests(command, "writer", writers)
    return _completed(command, remembering, ask)


def _share(remembering: Remembering, ask: Ask, desk: Desk) -> Command:
    @app_commands.command(name="share", description="Let another agent see a block, and change it as far as you say")
    @app_commands.describe(
        label="Which block", agent="Which agent; without it, whom it is shared with", at="What that agent may do"
    )
    async def command(
        interaction: Interaction,
        label: Name,
        agent: app_commands.Range[str, 0, 64] = "",
        at: Literal["read_only", "append", "read_write"] = "read_only",
    ) -> None:
        async def text() -> str:
            return shares_text(await remembering.share(await ask(interaction), label, agent, at))

        await _answer(interaction, text)

    async def agents(_interaction: Interaction) -> Iterable[str]:
        return await desk.agent_names()

    suggests_names(command, "agent", agents)
    return _completed(command, remembering, ask)


def _unshare(remembering: Remembering, ask: Ask) -> Command:
    @app_commands.command(name="unshare", description="Take back that another agent sees a block, at once")
    @app_commands.describe(label="Which block", agent="Which agent")
    async def command(interaction: Interaction, label: Name, agent: app_commands.Range[str, 1, 64]) -> None:
        async def text() -> str:
            return shares_text(await remembering.unshare(await ask(interaction), label, agent))

        await _answer(interaction, text)

    async def sharers(interaction: Interaction) -> Iterable[str]:
        found = await remembering.share(await ask(interaction), _label(interaction))
        return (share["agent"] for share in found["shares"])

    suggests_names(command, "agent", sharers)
    return _completed(command, remembering, ask)


def _widen(remembering: Remembering, ask: Ask) -> Command:
    @app_commands.command(name="widen", description="Let more people know a block that holds your own words alone")
    @app_commands.describe(
        label="Which block",
        to="public, guild:<id> or channel:<id>",
        sure="Do it; without it you see what would be told",
    )
    async def command(
        interaction: Interaction, label: Name, to: app_commands.Range[str, 1, 100] = "public", sure: bool = False
    ) -> None:
        async def text() -> str:
            return widened_text(await remembering.widen(await ask(interaction), label, to, sure=sure))

        await _answer(interaction, text)

    return _completed(command, remembering, ask)


def _completed(command: Command, remembering: Remembering, ask: Ask) -> Command:
    async def names(interaction: Interaction) -> Iterable[str]:
        return (row["block"] for row in await remembering.blocks(await ask(interaction)))

    suggests_names(command, "label", names)
    return command


def _label(interaction: Interaction) -> str:
    """The block that the command names so far."""
    return str(interaction.namespace.label or "")


# ------------------------------------------------------------------------------------------------------- the form


def _edit(remembering: Remembering, ask: Ask) -> Command:
    @app_commands.command(name="edit", description="Write a block, or a field of it, anew, in a form")
    @app_commands.describe(label="Which block", field="Only this field of a block that has fields")
    async def command(interaction: Interaction, label: Name, field: app_commands.Range[str, 0, 140] = "") -> None:
        """A form has to be the first answer, so the block is read before anything is said."""
        try:
            row = await remembering.opened(await ask(interaction), label, field)
            if len(row["text"]) > LONGEST:
                raise UserError(_too_long(len(row["text"]), field))
        except (UserError, StoreError) as error:
            await _answer(interaction, functools.partial(_said, str(error)))
            return
        try:
            await interaction.response.send_modal(_form(interaction, row, field))
        except REFUSED as reason:
            _log.warning("interaction_unanswered", reason=str(reason), hint="nothing was done; it can be done again")

    async def fields(interaction: Interaction) -> Iterable[str]:
        return await remembering.fields(await ask(interaction), _label(interaction))

    suggests_names(command, "field", fields)
    return _completed(command, remembering, ask)


def _too_long(size: int, field: str) -> str:
    """What to do where a form holds less than there is to edit."""
    ways = "" if field else "name one `field` of it, if it has fields; else "
    return (
        f"A form takes {LONGEST:,} characters, and this has {size:,}: {ways}ask the agent for the change, or edit it "
        "in the terminal, which takes any length (`carina memory edit`)."
    )


def _form(interaction: Interaction, row: dict[str, Any], field: str) -> discord.ui.Modal:
    what = f"f:{row['seen']}:{field_mark(field)}" if field else f"edit:{row['version']}"
    title = "Edit a field of a block" if field else "Edit a block"
    form = discord.ui.Modal(title=title, custom_id=f"carina:memory:{what}:{row['id']}", timeout=None)
    entry = discord.ui.TextInput[Any](
        custom_id="text",
        style=discord.TextStyle.long,
        default=cleaned(interaction, row["text"]),
        max_length=min(LONGEST, max(row["limit"], len(row["text"]))),
        required=False,
    )
    form.add_item(discord.ui.Label(text="What it should say", component=entry))
    form.stop()  # what is sent is heard by its id, also after a restart
    return form


async def _said(words: str) -> str:
    return words


async def _answer(interaction: Interaction, work: Callable[[], Awaitable[str]]) -> None:
    """Tell Discord that an answer is coming, do it, and say what came of it; what was done stands in any case."""
    if not await defer(interaction):
        return
    try:
        text = await work()
    except (UserError, StoreError) as error:
        text = str(error)
    await tell(interaction, text, file_name="memory.md")
