"""CAR files (https://ipld.io/specs/transport/car/carv1/): DAG-CBOR blocks, each named by the digest of its content.

Blocks are read and written one by one, so that a file of any size takes the memory of one block.
"""

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

import libipld

from memory.store.errors import StoreError

MOST_BYTES = 1 << 20
"""Of one block. What is larger is no file of ours."""
_MOST_HEADER = 1 << 10
_DAG_CBOR_SHA256 = b"\x01\x71\x12\x20"
"""A CID of version 1 of DAG-CBOR with a SHA-256; the digest follows."""
_CID_BYTES = len(_DAG_CBOR_SHA256) + hashlib.sha256().digest_size


class CarError(StoreError):
    """A file is damaged, foreign or of a newer version, or cannot be imported; the text says where and why."""


class Sink(Protocol):
    def write(self, data: bytes, /) -> object: ...


class Source(Protocol):
    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True)
class Block:
    """One block and where it begins in the file."""

    offset: int
    cid: bytes
    data: bytes

    def content(self) -> Any:
        """What it says. Raises CarError."""
        return _decoded(self.data, self.offset)


def cid_of(data: bytes) -> bytes:
    """The CID of a block."""
    return _DAG_CBOR_SHA256 + hashlib.sha256(data).digest()


def shown(cid: bytes) -> str:
    """A CID as people see it."""
    return libipld.encode_cid(cid)


def encoded(content: Any) -> bytes:
    """A block that says this."""
    return libipld.encode_dag_cbor(content)


def write_header(sink: Sink, root: bytes) -> int:
    """Begin a file with the CID of its last block; gives the number of bytes."""
    return _write_framed(sink, encoded({"roots": [root], "version": 1}))


def write_block(sink: Sink, cid: bytes, data: bytes) -> int:
    """Add a block; gives the number of bytes."""
    return _write_framed(sink, cid + data)


def read_blocks(source: Source) -> tuple[bytes, Iterator[Block]]:
    """The root of a file, and its blocks, each verified by its CID. Raises CarError, also while it is read."""
    reader = _Reader(source)
    with suppress(CarError):
        framed = reader.framed(_MOST_HEADER)
        match None if framed is None else _decoded(framed.data, 0):
            case {"version": 1, "roots": [bytes(root)]} if len(root) == _CID_BYTES:
                return root, _blocks(reader)
    raise CarError("this is no CAR file of Carina: it begins with something else (at byte 0)")


def _blocks(reader: "_Reader") -> Iterator[Block]:
    while (framed := reader.framed(MOST_BYTES + _CID_BYTES)) is not None:
        cid, data = framed.data[:_CID_BYTES], framed.data[_CID_BYTES:]
        if cid != cid_of(data):
            raise CarError(f"the block at byte {framed.offset} is damaged: it does not have the digest that names it")
        yield Block(framed.offset, cid, data)


@dataclass(frozen=True)
class _Framed:
    offset: int
    data: bytes


class _Reader:
    """Reads what stands in a file with its length before it."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._offset = 0

    def framed(self, most: int) -> _Framed | None:
        """The next of them; None at the end of the file. Raises CarError."""
        begins, size = self._offset, self._varint()
        if size is None:
            return None
        if not 0 < size <= most:
            raise CarError(f"no block of ours begins at byte {begins}: it would have {size:,} bytes")
        data = self._source.read(size)
        if len(data) < size:
            raise CarError(f"the file is cut off in the block at byte {begins}: {size - len(data):,} bytes are missing")
        self._offset += size
        return _Framed(begins, data)

    def _varint(self) -> int | None:
        begins, value = self._offset, 0
        for shift in range(0, 35, 7):
            byte = self._source.read(1)
            if not byte:
                if shift:
                    raise CarError(f"the file is cut off at byte {self._offset}")
                return None
            self._offset += 1
            value |= (byte[0] & 0x7F) << shift
            if byte[0] < 0x80:
                return value
        raise CarError(f"no block of ours begins at byte {begins}")


def _write_framed(sink: Sink, data: bytes) -> int:
    left, head = len(data), bytearray()
    while left >= 0x80:
        head.append(left & 0x7F | 0x80)
        left >>= 7
    head.append(left)
    sink.write(bytes(head))
    sink.write(data)
    return len(head) + len(data)


def _decoded(data: bytes, offset: int) -> Any:
    try:
        return libipld.decode_dag_cbor(data)
    except (ValueError, RecursionError) as error:
        raise CarError(f"the block at byte {offset} is no DAG-CBOR: {error}") from error
