"""Who wrote which part of a block as it stands."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from memory.documents.changes import Change
from memory.documents.parts import HIDDEN
from memory.documents.past import Past
from memory.documents.schemas import segments
from memory.documents.weave import Piece, Weave


def blame(past: Past) -> list[Piece]:
    """The text in parts that one change wrote; of a structured block by the fields and items that it shows.

    What its text alone tells are headings and entries of logs: where an item comes, the numbers of those behind it
    change, and nobody wrote those. Raises BlockCorrupt.
    """
    pieces = past.weave.blame()
    if past.parts is None or past.held is None:
        return pieces
    changes = {step.change.seq: step.change for step in past.steps}
    wrote = [piece.change for piece in pieces for _ in piece.text]
    texts: dict[str, Iterator[int | None]] = {}
    place = 0
    for text, path, item in segments(past.held.schema, past.held.whole):
        numbers: Sequence[int | None] = [None] * len(text)
        if path is not None and item is None and (weave := past.parts.text(path)) is not None:
            numbers = _of_text(text, weave, texts.setdefault(path, _letters(weave)))
        elif path is not None:
            numbers = [past.parts.author(path, item)] * len(text)
        for at, number in enumerate(numbers, place):
            if number is not None:
                wrote[at] = changes.get(number)
        place += len(text)
    return _pieces("".join(piece.text for piece in pieces), wrote)


def _of_text(shown: str, weave: Weave, letters: Iterator[int | None]) -> Sequence[int | None]:
    """The change of each character of a text that may be shown with other spaces than it has."""
    standing = weave.text()
    if shown == standing:
        return [run.born for run in weave.runs if run.stands for _ in run.text]
    if HIDDEN in standing:  # which of its characters are spaces is not known
        return []
    found, last = list[int | None](), None
    for char in shown:
        last = last if char.isspace() else next(letters)
        found.append(last)
    return found


def _letters(weave: Weave) -> Iterator[int | None]:
    return iter([run.born for run in weave.runs if run.stands for char in run.text if not char.isspace()])


def _pieces(text: str, wrote: Sequence[Change | None]) -> list[Piece]:
    found, place = list[Piece](), 0
    for change, chars in groupby(wrote):
        size = sum(1 for _ in chars)
        found.append(Piece(text[place : place + size], change))
        place += size
    return found
