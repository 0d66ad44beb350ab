"""The commands of the command line in a chat, after a slash: parsed, run, and completed while they are typed."""

import contextlib
import shlex
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any

import click
from msgspec import Struct
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from bot.errors import CallError, UserError
from bot.interfaces.cli import streams
from bot.interfaces.cli.chat.connection import Connection
from bot.interfaces.cli.chat.line_parser import ALONE
from bot.interfaces.cli.commands import Commands
from bot.interfaces.cli.data_folder import locale
from bot.interfaces.cli.manifest import Entry, Tree, manifest, operation_entry, place
from bot.interfaces.control.client import View
from memory.store.records import replace
from texts import _, gettext_noop, language_of

_NOT_HERE = frozenset({"init", "backup.restore", "db.migrate", "restart", "uninstall"})
"""What needs a service that does not run, or ends the one that the chat is with."""
_OUTSIDE = gettext_noop("`{command}` works only outside of this chat.")
_SHOWN = 30  # suggestions for an argument


def known() -> frozenset[str]:
    """The first words of all commands, also of those that do not work in a chat."""
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


class CommandLine(Struct, frozen=True):
    """Runs what is typed after a slash. `ask` asks the person a question and returns the answer."""

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
            if not sure:
                raise UserError("Nothing was done.")
            return await self._done(entry, arguments, replace(view, sure=True, shown=reply.confirm))
        if reply.error is not None:
            raise UserError(reply.error)
        text = "\n".join(filter(None, (reply.aside, reply.text)))
        return text if view.as_json else streams.wrapped(text)


def split(words: str) -> list[str]:
    """Split words as a shell does; at spaces if a quotation mark has no second one, as in "mum's"."""
    try:
        return shlex.split(words)
    except ValueError:
        return words.split()


class Completions(Completer):
    """Completes commands after a slash, their arguments, and names after an @."""

    def __init__(self, line: Connection) -> None:
        self._line = line
        self._tree = offered()

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Nothing: `get_completions_async` returns them."""
        del document, complete_event
        return ()

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        del complete_event
        text = document.text_before_cursor
        *before, last = text.split(" ") if text.startswith("/") else [text.rpartition(" ")[2]]
        found: Iterable[tuple[str, str]] = ()
        if text.startswith("/") and "\n" not in text:
            found = self._words(last) if not before else await self._after([before[0][1:], *before[1:]], last)
        elif last.startswith("@"):
            found = [(f"@{value}", words) for value, words in await self._suggested("agent.show", "agent", {})]
        for value, words in found:
            if value.casefold().startswith(last.casefold()) or (words and last and last.casefold() in words.casefold()):
                yield Completion(value, start_position=-len(last), display_meta=words)

    def _words(self, last: str) -> Iterator[tuple[str, str]]:
        if last.startswith("/"):
            own = dict.fromkeys(ALONE, "")
            for word in sorted({*self._tree, *own}):
                yield f"/{word}", _about(self._tree.get(word))

    async def _after(self, before: list[str], last: str) -> list[tuple[str, str]]:
        at: Tree | Entry = self._tree
        while before and isinstance(at, dict) and before[0] in at:
            at = at[before.pop(0)]
        if isinstance(at, dict):
            return [(word, _about(below)) for word, below in sorted(at.items())] if not before else []
        flags = [(flag, _(each.help)) for each in at.parameters for flag in each.flags if flag[:2] == "--"]
        if last.startswith("-"):
            return flags
        option = next((each for each in at.parameters if before and before[-1] in each.flags), None)
        given = [word for word in before if not word.startswith("-")]
        positional = [each for each in at.parameters if each.positional]
        told = option or (positional[len(given)] if len(given) < len(positional) else None)
        if told is None:
            return []
        known = {each.name: word for each, word in zip(positional, given, strict=False)}
        return [(choice, "") for choice in told.choices] or await self._suggested(at.name, told.name, known)

    async def _suggested(self, name: str, argument: str, given: Mapping[str, Any]) -> list[tuple[str, str]]:
        if not next(each.suggests for each in operation_entry(name).parameters if each.name == argument):
            return []
        try:
            found = await self._line.suggest(name, argument, given)
        except UserError:
            return []
        quoted = ((f'"{value}"' if " " in value else value, words) for value, words in found[:_SHOWN])
        return [(value, "" if words == value else words) for value, words in quoted]


def _about(found: Tree | Entry | None) -> str:
    """What a command does, or of what kind those below it are."""
    if found is None:
        return ""
    return _(found.summary) if isinstance(found, Entry) else ", ".join(sorted(found))
