"""CAR files (https://ipld.io/specs/transport/car/carv1/): DAG-CBOR blocks, each named by the digest of its content.

Blocks are read and written one by one, so that a file of any size takes the memory of one block. A file with a
passphrase has the same content, encrypted: Scrypt makes the key, and each 64 KiB is sealed with ChaCha20-Poly1305. The
nonce holds the number of the piece and whether it is the last (the STREAM construction), so that any change, omission,
repetition or cut is noticed.
"""

import hashlib
import importlib
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Literal, Protocol, TypeAlias

import msgspec
from msgspec import Struct

from memory.agents import NAME
from memory.store.errors import StoreError
from memory.store.records import asdict
from texts import gettext_lazy

MOST_BYTES = 1 << 20
"""The most bytes of one block; a file with a larger one is not ours."""
_MOST_HEADER = 1 << 10
_DAG_CBOR_SHA256 = b"\x01\x71\x12\x20"
"""A version 1 CID of DAG-CBOR with SHA-256; the digest follows."""
_CID_BYTES = len(_DAG_CBOR_SHA256) + hashlib.sha256().digest_size


class CarError(StoreError):
    """A file is damaged, foreign or of a newer version, or cannot be imported; the text says where and why."""


class Sink(Protocol):
    def write(self, data: bytes, /) -> object: ...


class Source(Protocol):
    def read(self, size: int, /) -> bytes: ...


class Block(Struct, frozen=True):
    """One block, and where it begins in the file."""

    offset: int
    cid: bytes
    data: bytes

    def content(self) -> Any:
        """The decoded content. Raises CarError."""
        return _decoded(self.data, self.offset)


def _dag_cbor() -> Any:
    return importlib.import_module("libipld")  # a service needs it only to read or write a file


def cid_of(data: bytes) -> bytes:
    return _DAG_CBOR_SHA256 + hashlib.sha256(data).digest()


def shown(cid: bytes) -> str:
    return str(_dag_cbor().encode_cid(cid))


def encoded(content: Any) -> bytes:
    return bytes(_dag_cbor().encode_dag_cbor(content))


def write_header(sink: Sink, root: bytes) -> int:
    """Begin a file with the CID of its last block; returns the number of bytes."""
    return _write_framed(sink, encoded({"roots": [root], "version": 1}))


def write_block(sink: Sink, cid: bytes, data: bytes) -> int:
    """Add a block; returns the number of bytes."""
    return _write_framed(sink, cid + data)


def read_blocks(source: Source) -> tuple[bytes, Iterator[Block]]:
    """The root of a file, and its blocks, each verified by its CID. Raises CarError, also during the iteration."""
    reader = _Reader(source)
    with suppress(CarError):
        framed = reader.framed(_MOST_HEADER)
        match None if framed is None else _decoded(framed[1], 0):
            case {"version": 1, "roots": [bytes(root)]} if len(root) == _CID_BYTES:
                return root, _blocks(reader)
    raise CarError("this is not a CAR file exported by Carina")


def _blocks(reader: "_Reader") -> Iterator[Block]:
    while (framed := reader.framed(MOST_BYTES + _CID_BYTES)) is not None:
        offset, cid, data = framed[0], framed[1][:_CID_BYTES], framed[1][_CID_BYTES:]
        if cid != cid_of(data):
            raise CarError("the block at byte {offset} is damaged: it does not match its digest", offset=offset)
        yield Block(offset, cid, data)


class _Reader:
    """Reads length-prefixed data from a file."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._offset = 0

    def framed(self, most: int) -> tuple[int, bytes] | None:
        """The next piece, with where it begins; None at the end of the file. Raises CarError."""
        begins, size = self._offset, self._varint()
        if size is None:
            return None
        data = self._source.read(size) if 0 < size <= most else b""
        if not data or len(data) < size:
            raise _no_block(begins)
        self._offset += size
        return begins, data

    def _varint(self) -> int | None:
        begins, value = self._offset, 0
        for shift in range(0, 35, 7):
            byte = self._source.read(1)
            if not byte:
                break
            self._offset += 1
            value |= (byte[0] & 0x7F) << shift
            if byte[0] < 0x80:
                return value
        if self._offset == begins:
            return None
        raise _no_block(begins)


def _no_block(offset: int) -> CarError:
    return CarError("the block at byte {offset} is incomplete: the file is damaged or cut off", offset=offset)


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
        return _dag_cbor().decode_dag_cbor(data)
    except (ValueError, RecursionError) as error:
        raise CarError("the block at byte {offset} is not DAG-CBOR: {error}", offset=offset, error=error) from error


# -------------------------------------------------------------------------------------------------------- sealed files


MAGIC = b"carina-sealed-1\n"
_SALT, _PREFIX, _TAG = 16, 7, 16
_PIECE = 1 << 16
_COST = 1 << 16  # 64 MB of memory for each guess


class Encryptor:
    """Encrypts what is written to it; `close` writes the last piece."""

    def __init__(self, target: Sink, passphrase: str) -> None:
        salt, self._prefix = os.urandom(_SALT), os.urandom(_PREFIX)
        self._target, self._cipher = target, _cipher(passphrase, salt)
        self._head = MAGIC + salt + self._prefix
        self._waiting, self._count = bytearray(), 0
        target.write(self._head)

    def write(self, data: bytes, /) -> None:
        self._waiting += data
        while len(self._waiting) > _PIECE:
            self._seal(bytes(self._waiting[:_PIECE]), last=False)
            del self._waiting[:_PIECE]

    def close(self) -> None:
        self._seal(bytes(self._waiting), last=True)

    def _seal(self, piece: bytes, *, last: bool) -> None:
        self._target.write(self._cipher.encrypt(_nonce(self._prefix, self._count, last), piece, self._head))
        self._count += 1


class Decryptor:
    """Decrypts what `Encryptor` wrote after `MAGIC`. Raises CarError for a wrong passphrase or changed data."""

    def __init__(self, source: Source, passphrase: str) -> None:
        rest = source.read(_SALT + _PREFIX)
        if len(rest) < _SALT + _PREFIX:
            raise CarError("the file is cut off at byte {offset}", offset=len(MAGIC) + len(rest))
        self._source, self._cipher = source, _cipher(passphrase, rest[:_SALT])
        self._prefix, self._head = rest[_SALT:], MAGIC + rest
        self._next = source.read(_PIECE + _TAG)
        self._count, self._ended = 0, False
        self._left = self._piece()

    def read(self, size: int, /) -> bytes:
        """The next `size` bytes, fewer only at the end."""
        while len(self._left) < size and not self._ended:
            self._left += self._piece()
        found, self._left = self._left[:size], self._left[size:]
        return found

    def _piece(self) -> bytes:
        sealed, self._next = self._next, self._source.read(_PIECE + _TAG)
        self._ended = not self._next
        try:
            piece: bytes = self._cipher.decrypt(_nonce(self._prefix, self._count, self._ended), sealed, self._head)
        except importlib.import_module("cryptography.exceptions").InvalidTag:
            at = len(self._head) + self._count * (_PIECE + _TAG)
            wrong = gettext_lazy("the passphrase is wrong, or the file is damaged")
            why = gettext_lazy("it is damaged or cut off") if self._count else wrong
            raise CarError("the file could not be decrypted at byte {offset}: {why}", offset=at, why=why) from None
        self._count += 1
        return piece


def _cipher(passphrase: str, salt: bytes) -> Any:
    """The cipher; its library takes 7 MB and is seldom needed, so it is imported here."""
    primitives = "cryptography.hazmat.primitives"
    scrypt = importlib.import_module(f"{primitives}.kdf.scrypt").Scrypt(salt, 32, n=_COST, r=8, p=1)
    return importlib.import_module(f"{primitives}.ciphers.aead").ChaCha20Poly1305(scrypt.derive(passphrase.encode()))


def _nonce(prefix: bytes, count: int, last: bool) -> bytes:
    return prefix + count.to_bytes(4, "big") + (b"\x01" if last else b"\x00")


# --------------------------------------------------------------------------------------- what an export says of itself


FORMAT = 1
"""The version of the blocks; `schema` is that of the tables."""
Kind: TypeAlias = Literal["constellation", "group", "agent"]


class About(Struct, frozen=True):
    kind: Kind
    id: str
    name: str
    schema: int
    thin: bool
    carina: int = FORMAT


class TableManifest(Struct, frozen=True):
    """A table's part of the manifest. `lists` are the CIDs of blocks that list its chunks."""

    columns: list[str]
    rows: int
    lists: list[bytes]


class Manifest(Struct, frozen=True):
    about: About
    tables: Mapping[str, TableManifest]

    def data(self) -> dict[str, Any]:
        return {**asdict(self.about), "tables": msgspec.to_builtins(self.tables, builtin_types=(bytes,))}


def read_about(content: Any, known: int) -> About:
    """Parse the first block. Raises CarError for another program's file or one of a newer Carina."""
    if not isinstance(content, dict) or not isinstance(content.get("carina"), int):
        raise CarError("this CAR file was not made by Carina: its first block does not say what it is")
    if content["carina"] > FORMAT or (isinstance(content.get("schema"), int) and content["schema"] > known):
        raise CarError(
            "this file was made by a newer version of Carina (format {given}, schema {schema}; this one reads "
            "format {format} and schema {known}): install the newer version",
            given=content["carina"],
            schema=content.get("schema"),
            format=FORMAT,
            known=known,
        )
    with suppress(msgspec.ValidationError):
        about = msgspec.convert(content, About)
        if re.fullmatch(NAME, about.name):
            return about
    raise CarError("this CAR file does not say what it contains")


def read_manifest(content: Any, about: About) -> Manifest:
    """Parse the last block. Raises CarError if it is not the manifest of this export."""
    match content:
        case {"tables": dict(tables), **rest} if rest == asdict(about):
            return Manifest(about, {name: _held(name, each) for name, each in tables.items()})
    raise CarError(
        "the last block of the file is not the manifest of this export: the file is cut off or was pieced together"
    )


def _held(name: str, told: Any) -> TableManifest:
    try:
        return msgspec.convert(told, TableManifest, builtin_types=(bytes,))
    except msgspec.ValidationError:
        raise CarError("the manifest does not describe the table {name!r}", name=name[:80]) from None
