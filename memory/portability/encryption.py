"""Files that only a passphrase opens: Scrypt makes the key, and each 64 KiB are sealed with ChaCha20-Poly1305.

The nonce holds the number of the piece and whether it is the last (the STREAM construction), so that pieces can
neither be changed nor left out, repeated or cut off unnoticed.
"""

import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from memory.portability.car import CarError, Sink, Source

MAGIC = b"carina-sealed-1\n"
_SALT, _PREFIX, _TAG = 16, 7, 16
_PIECE = 1 << 16
_COST = 1 << 16  # 64 MB of memory for each guess


class Sealed:
    """Seals what is written into it; `close` writes the last piece."""

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


class Opened:
    """Reads what `Sealed` wrote after `MAGIC`. Raises CarError for a wrong passphrase and for what was changed."""

    def __init__(self, source: Source, passphrase: str) -> None:
        rest = source.read(_SALT + _PREFIX)
        if len(rest) < _SALT + _PREFIX:
            raise CarError(f"the file is cut off at byte {len(MAGIC) + len(rest)}")
        self._source, self._cipher = source, _cipher(passphrase, rest[:_SALT])
        self._prefix, self._head = rest[_SALT:], MAGIC + rest
        self._next = source.read(_PIECE + _TAG)
        self._count, self._ended = 0, False
        self._left = self._piece()

    def read(self, size: int, /) -> bytes:
        """So many bytes, fewer at the end only."""
        while len(self._left) < size and not self._ended:
            self._left += self._piece()
        found, self._left = self._left[:size], self._left[size:]
        return found

    def _piece(self) -> bytes:
        sealed, self._next = self._next, self._source.read(_PIECE + _TAG)
        self._ended = not self._next
        try:
            piece = self._cipher.decrypt(_nonce(self._prefix, self._count, self._ended), sealed, self._head)
        except InvalidTag:
            at = len(self._head) + self._count * (_PIECE + _TAG)
            why = "it is damaged or cut off" if self._count else "the passphrase is wrong, or the file is damaged"
            raise CarError(f"the file cannot be opened at byte {at}: {why}") from None
        self._count += 1
        return piece


def _cipher(passphrase: str, salt: bytes) -> ChaCha20Poly1305:
    return ChaCha20Poly1305(Scrypt(salt, 32, n=_COST, r=8, p=1).derive(passphrase.encode()))


def _nonce(prefix: bytes, count: int, last: bool) -> bytes:
    return prefix + count.to_bytes(4, "big") + (b"\x01" if last else b"\x00")
