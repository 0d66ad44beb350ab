"""Text that can be encoded: models and platforms sometimes send half a character."""

import re

_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """Surrogate pairs joined, lone surrogates replaced."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class Pieces:
    """Cleans a text that comes in pieces; one that ends within a character waits for its other half."""

    def __init__(self) -> None:
        self._half = ""

    def add(self, piece: str) -> str:
        text = self._half + piece
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return clean(text.removesuffix(self._half) if self._half else text)
