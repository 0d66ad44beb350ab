"""Chance that comes out the same when it is asked again: drawn from a number that is stored."""

import hashlib
from collections.abc import Sequence


def shuffled(seed: int, keys: Sequence[str]) -> list[str]:
    """The keys in an order that depends on nothing but them and the seed, and is as good as random."""
    return sorted(keys, key=lambda key: hashlib.blake2b(f"{seed}/{key}".encode(), digest_size=8).digest())
