"""A chat on a console: answers appear as they are written, if the console can show temporary text.

A terminal shows rendered Markdown; a pipe gets only whole answers, unrendered and without color.
"""

import re
import time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.segment import Segment, SegmentLines
from rich.text import Text

from memory.store.lazy import LazyLibrary
from sources.outgoing_text import seen
from sources.terminal import Busy, Deletion, Edit, Message, Shown, Typed

if TYPE_CHECKING:
    from bot.interfaces.cli.chat import markdown_blocks
else:
    markdown_blocks = LazyLibrary("bot.interfaces.cli.chat.markdown_blocks")  # a pipe needs none of rich's Markdown

_MARKS = re.compile(r"([\\`*_\[\]<>~])")
_DRAW_SECONDS = 0.1
"""The minimum seconds between redraws of a growing answer: models write faster than people read."""


class Moment:
    """The temporary text below the conversation: the end of a growing answer, or a note that one is being made. This
    base class shows nothing, for a console that gets only whole answers."""

    def grow(self, lines: list[list[Segment]]) -> None:
        """Show these lines in place of the previous ones."""

    def think(self, model: str) -> None:
        """Show that an answer is being made, and the model in use, if known."""

    def clear(self) -> None:
        """Remove the temporary text."""


class ChatView:
    def __init__(self, console: Console, moment: Moment | None = None) -> None:
        self._console = console
        self._moment = moment or Moment()
        self._streamed = ""
        self._drawn = 0
        """Number of characters of `_streamed` that are permanently on the screen."""
        self._next_draw = 0.0
        self._last = Message("", "")
        self._typed: list[Typed] = []
        """Lines of other sessions, held until a growing answer is complete."""

    def stream(self, text: str) -> None:
        """Show a growing answer; `text` is all of it so far."""
        text = seen(text)
        if not self._console.is_terminal or not text:
            return
        if not text.startswith(self._streamed):  # another model started over
            self._forget(anew=True)
        self._streamed = text
        if time.monotonic() >= self._next_draw:
            self._draw_growing()
            self._next_draw = time.monotonic() + _DRAW_SECONDS

    def show(self, shown: Shown) -> None:
        match shown:
            case Message():
                self._finish(shown)
            case Edit():
                self._change(shown)
            case Deletion():
                self.note("(taken back)")
            case Busy():
                self._wait(shown.busy, shown.model)
            case Typed():
                self._typed.append(shown)
        self._recall_typed()

    def note(self, text: str) -> None:
        """A line about the chat, not part of it."""
        self._write(text, style="dim")

    def recall(self, speaker: str, text: str) -> None:
        self._say(seen(text), speaker, style="dim")

    def close(self) -> bool:
        """Finish the temporary lines; an unfinished answer stays as it is. Returns whether there was one."""
        self._moment.clear()
        if unfinished := bool(self._streamed):
            rest, after = self._streamed[self._drawn :], self._drawn > 0
            self._forget()
            self._print(rest, after=after)
        self._recall_typed()
        return unfinished

    def _recall_typed(self) -> None:
        while self._typed and not self._streamed:
            line = self._typed.pop(0)
            self.recall(line.speaker, line.text)

    def _finish(self, said: Message) -> None:
        self._last = said
        text, kept = seen(said.text), self._streamed[: self._drawn]
        self._forget(anew=not text.startswith(kept))
        if kept and text.startswith(kept):
            self._print(text[len(kept) :], after=True)
        else:
            self._say(text, said.speaker)

    def _change(self, changed: Edit) -> None:
        before = self._last.text if self._last.id == changed.id else ""
        self._last = Message(changed.id, changed.text)
        if not before or not changed.text.startswith(before):
            self.note("(changed)")
            before = ""
        if changed.text != before:
            self._say(seen(changed.text[len(before) :]))

    def _wait(self, busy: bool, model: str) -> None:
        if not busy and not self._streamed:
            self._moment.clear()
        elif busy and self._console.is_terminal and not self._streamed:
            self._moment.think(model)

    # ------------------------------------------------------------------ drawing

    def _forget(self, *, anew: bool = False) -> None:
        """Drop the growing answer: remove its temporary lines, and mark the rest as void."""
        self._moment.clear()
        if anew and self._drawn:
            self._write("(begun anew)", style="dim")
        self._streamed, self._drawn, self._next_draw = "", 0, 0.0

    def _draw_growing(self) -> None:
        """Print the finished part permanently, and the growing part below it temporarily."""
        *complete, last = markdown_blocks.blocks(self._streamed[self._drawn :]) or [markdown_blocks.Block("", 0)]
        begun = self._drawn
        for block in complete:
            self._place(block, after=self._drawn > 0)
            self._drawn = begun + block.end
        self._moment.grow(
            [*([[]] if self._drawn else []), *markdown_blocks.lines(self._console, last)][
                -max(self._console.height - 2, 1) :
            ]
        )

    def _say(self, text: str, speaker: str = "", style: str = "none") -> None:
        if not self._console.is_terminal:
            self._write(f"{speaker}: {text}" if speaker else text)
            return
        if speaker:
            name = _MARKS.sub(r"\\\1", seen(speaker))
            beside = [block.kind for block in markdown_blocks.blocks(text)[:1]] == ["paragraph_open"]
            text = f"**{name}:** {text}" if beside else f"**{name}:**\n\n{text}"
        self._print(text, style=style)

    def _print(self, text: str, *, after: bool = False, style: str = "none") -> None:
        """Print whole blocks, `after` others of the same answer."""
        for block in markdown_blocks.blocks(text):
            self._place(block, after=after, style=style)
            after = True

    def _place(self, block: "markdown_blocks.Block", *, after: bool, style: str = "none") -> None:
        if after:
            self._console.print()
        self._console.print(SegmentLines(markdown_blocks.lines(self._console, block, style), new_lines=True), end="")

    def _write(self, text: str, *, style: str = "") -> None:
        clean = seen(text)
        if self._console.is_terminal:
            self._console.print(Text(clean, style or "none"))
        else:  # literally: rich would turn tabs into spaces
            self._console.file.write(clean + "\n")
            self._console.file.flush()
