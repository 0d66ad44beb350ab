"""Runs a command that was typed after a slash in a chat; `line_parser.py` decides which lines are commands."""

import contextlib
import shlex
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import click
from msgspec import Struct

from bot.errors import CallError, UserError
from bot.interfaces.cli import streams
from bot.interfaces.cli.chat.connection import Connection
from bot.interfaces.cli.commands import Commands
from bot.interfaces.cli.data_folder import locale
from bot.interfaces.cli.manifest import Entry, Tree, manifest, place
from bot.interfaces.control.client import View
from memory.store.records import replace
from texts import _, gettext_noop, in_chat, language_of

_NOT_HERE = frozenset({"init", "backup.restore", "db.migrate", "restart", "uninstall"})
"""Commands that need a stopped service, or would end the one that the chat uses."""
_OUTSIDE = gettext_noop("`{command}` works only outside of this chat.")


def known() -> frozenset[str]:
    """The first words of all commands, including those that do not work in a chat."""
    found = manifest()
    names = (each for entry in found.operations for each in (entry.name, *entry.also))
    return frozenset(name.partition(".")[0] for name in (*found.by_hand, *names))


def offered() -> Tree:
    """The commands that work in a chat."""
    tree: Tree = {}
    for entry in manifest().operations:
        if entry.name not in _NOT_HERE:
            place(tree, entry.name, entry)
    return tree


class _ChatCommands(Commands):
    """Commands whose usage shows the slash."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, others = super().resolve_command(ctx, args)
        return f"/{name}", command, others


class CommandRunner(Struct, frozen=True):
    """Runs commands typed after a slash. `ask` asks the person a question and returns the answer."""

    line: Connection
    ask: Callable[[str], Awaitable[str]]

    async def run(self, words: str) -> str:
        """Run a command and return its output. Raises UserError, CallError."""
        if (first := words.partition(" ")[0]) in manifest().by_hand:
            raise UserError(_OUTSIDE, command=f"carina {first}")
        called: list[tuple[Entry, Mapping[str, Any], View]] = []
        printed = streams.CapturedOutput()
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                made = _ChatCommands(manifest(), lambda *given: called.append(given))
                made.main(split(words), "", standalone_mode=False)
        except click.exceptions.NoArgsIsHelpError as error:
            return error.format_message()
        except click.ClickException as error:
            usage = error.ctx.get_usage() + "\n" if isinstance(error, click.UsageError) and error.ctx else ""
            raise CallError(f"{usage}{error.format_message()}") from None
        for entry, arguments, view in called:
            printed.write(await self._done(entry, arguments, view))
        return printed.take().rstrip("\n")

    async def _done(self, entry: Entry, arguments: Mapping[str, Any], view: View) -> str:
        if entry.name in _NOT_HERE:
            raise UserError(_OUTSIDE, command=f"carina {entry.name.replace('.', ' ')}")
        reply = await self.line.perform(entry, arguments, replace(view, attended=True, locale=language_of(locale())))
        if reply.confirm is not None:
            sure, asked = None, _("{question} [y/N]", question=reply.confirm) + " "
            while sure is None:
                sure = streams.parse_yes(await self.ask(asked) or "n")
                asked = _("Answer y or n.") + " "
            if not sure:
                raise UserError("Nothing was done.")
            return await self._done(entry, arguments, replace(view, sure=True, shown=reply.confirm))
        if reply.error is not None:
            raise UserError(in_chat(reply.error, offered()))
        text = "\n".join(filter(None, (reply.aside, reply.text)))
        return text if view.as_json else streams.wrapped(in_chat(text, offered()))


def split(words: str) -> list[str]:
    """Split words as a shell does; at spaces if a quotation mark is unmatched, as in "mum's"."""
    try:
        return shlex.split(words)
    except ValueError:
        return words.split()
