"""Stored bytes made smaller: zstd, which is the standard library's own from Python 3.14 on."""

import sys

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_FROM_BYTES = 10_000  # below that a snapshot shrinks by little, and is read more often than it is kept
_MAGIC = b"\x28\xb5\x2f\xfd"


def pack(data: bytes) -> bytes:
    """The same bytes, compressed when that is worth while (level 3: a third to a half less, 1 ms for 100 kB)."""
    return zstd.compress(data, 3) if len(data) > _FROM_BYTES else data


def unpack(data: bytes) -> bytes:
    """What was packed, or the bytes themselves. Raises ValueError for what only looks packed."""
    if not data.startswith(_MAGIC):
        return data
    try:
        return zstd.decompress(data)
    except zstd.ZstdError as error:
        raise ValueError(f"it cannot be decompressed: {error}") from error
