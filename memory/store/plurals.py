"""Numbers of things, as people read them."""


def many(count: float, one: str, more: str = "") -> str:
    """ "1 entry", "2 entries": the number with the word for one thing or for more, which without `more` ends in s."""
    number = f"{count:,}" if isinstance(count, int) else f"{count:g}"
    return f"{number} {one if count == 1 else more or f'{one}s'}"
