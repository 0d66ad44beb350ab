"""Gives freed memory of the process back to the system, which glibc does not do by itself; other C libraries do."""

import ctypes
import platform

_ARENA_MAX = -8  # M_ARENA_MAX of malloc.h


def share_heap() -> None:
    """Use one heap for all threads that start from now on; each would otherwise keep 4 MB for itself."""
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)


def give_back() -> None:
    """Return freed memory to the system: after loading the embedder, glibc would keep 80 of 200 MiB."""
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).malloc_trim(0)
