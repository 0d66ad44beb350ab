"""Completes commands, their arguments and agents' names with Tab while a line is typed in a chat."""

from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from typing import Any

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from bot.errors import UserError
from bot.interfaces.cli.chat.command_runner import offered
from bot.interfaces.cli.chat.connection import Connection
from bot.interfaces.cli.chat.line_parser import ALONE
from bot.interfaces.cli.manifest import Entry, Tree, operation_entry
from texts import _

_SHOWN = 30  # suggestions for an argument


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
    """The description of a command or, for a group, of its commands."""
    if found is None:
        return ""
    return _(found.summary) if isinstance(found, Entry) else ", ".join(sorted(found))
