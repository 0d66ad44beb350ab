"""Counts of things, for people to read."""


def many(count: float, one: str, more: str = "") -> str:
    """The number with the word for one or for more, such as "2 entries"; by default the plural adds an s."""
    number = f"{count:,}" if isinstance(count, int) else f"{count:g}"
    return f"{number} {one if count == 1 else more or f'{one}s'}"
