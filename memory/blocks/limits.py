"""How long a block may be: the usual limit of each type, the highest one, and the refusal of a longer text."""

from memory.store.errors import BlockTooLong

MOST_CHARACTERS = 100_000
MOST_LABEL = 100
"""Characters of a block's label."""
_USUAL = {"core": 2_000, "log": 40_000}  # a log shows only its newest entries in context
_OTHERS = 5_000


def usual_limit(kind: str) -> int:
    """The most characters of a block of that type for which nobody set a limit."""
    return _USUAL.get(kind, _OTHERS)


def require_fits(name: str, limit: int, size: int, before: int = 0) -> None:
    """Raises BlockTooLong for a block's text of more than `limit` characters; one that was over it may still shrink."""
    if size > limit and size > before:
        raise BlockTooLong(
            "block {name} would hold {size:,} characters, {over:,} more than its limit of {limit:,}",
            name=name,
            size=size,
            over=size - limit,
            limit=limit,
        )
