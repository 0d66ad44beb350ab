"""Sign-in codes, browser sessions and API tokens, as rows of global.db: how long each is valid, and what it permits.

A secret is shown once, and only its digest is stored.
"""

import hashlib
import secrets
from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct, field

from memory.store.database import Rows, Tx
from memory.store.ids import AgentId, PersonId, new_id
from memory.store.row_mapper import RowMapper

CODE_LIFE, SESSION_LIFE = timedelta(minutes=5), timedelta(days=30)
_NOTED_EVERY = timedelta(minutes=1)
_MOST_CODES, _MOST_SESSIONS = 10, 100


class Kind(StrEnum):
    CODE = "code"
    """Signs in one browser, once."""
    SESSION = "session"
    PROGRAM = "token"


class KeyScope(StrEnum):
    """What its holder may do; from CHAT on, each includes the one before it."""

    OWN = "own"
    """See and change one person's own data on their page; nothing else."""
    CHAT = "chat"
    """Talk to agents."""
    READ = "read"
    """See what the owner sees."""
    ADMIN = "admin"
    """Do what the owner does."""

    def includes(self, other: "KeyScope") -> bool:
        """Whether this permits at least as much as the other."""
        order = list(KeyScope)
        return order.index(self) >= order.index(other)


class WebKey(Struct, frozen=True):
    """A key without its secret; a new one gets its id when it is made."""

    kind: Kind
    scope: KeyScope
    name: str
    created_at: datetime
    person: PersonId | None = None
    """Whose page it opens; None unless the scope is OWN."""
    agent: AgentId | None = None
    """The only agent that a token can talk to; None for all."""
    id: str = field(default_factory=lambda: new_id("key"))
    expires_at: datetime | None = None
    used_at: datetime | None = None


def add(tx: Tx, new: WebKey) -> str:
    """Store a new key and return its secret. Raises ValueError if a token of that name exists."""
    life = {Kind.CODE: CODE_LIFE, Kind.SESSION: SESSION_LIFE}.get(new.kind)
    tx.run("DELETE FROM web_keys WHERE expires_at <= ?", (new.created_at,))
    for each, most in ((Kind.CODE, _MOST_CODES), (Kind.SESSION, _MOST_SESSIONS)):
        # Limited per person: one person's links and sessions never push out those of somebody else.
        old = "SELECT id FROM web_keys WHERE kind = ? AND person_id IS ? ORDER BY created_at DESC LIMIT -1 OFFSET ?"
        tx.run(f"DELETE FROM web_keys WHERE id IN ({old})", (each, new.person, most - 1))
    secret = f"{'carina_' if new.kind is Kind.PROGRAM else ''}{secrets.token_urlsafe(32)}"
    until = None if life is None else new.created_at + life
    if not tx.insert("web_keys", {**_key.values(new), "digest": _digest(secret), "expires_at": until}, ignore=True):
        raise ValueError(new.name)
    return secret


def find(rows: Rows, kind: Kind, secret: str, now: datetime) -> WebKey | None:
    """The key with that secret, if it is still valid."""
    sql = "SELECT * FROM web_keys WHERE digest = ? AND kind = ? AND (expires_at IS NULL OR expires_at > ?)"
    return _key.first(rows, sql, (_digest(secret), kind, now))


def use_sign_in_code(tx: Tx, code: str, browser: str, now: datetime) -> str | None:
    """Use up a sign-in code and return the secret of a new session; None if the code is invalid."""
    found = find(tx, Kind.CODE, code, now)
    if found is None or not drop(tx, found.id):
        return None
    return add(tx, WebKey(Kind.SESSION, found.scope, browser, now, found.person))


def note_used(tx: Tx, key: WebKey, now: datetime) -> None:
    tx.run("UPDATE web_keys SET used_at = ? WHERE id = ?", (now, key.id))


def is_noted(key: WebKey, now: datetime) -> bool:
    """Whether a use of the key was recorded recently."""
    return key.used_at is not None and now - key.used_at < _NOTED_EVERY


def listing(rows: Rows, kind: Kind, now: datetime) -> list[WebKey]:
    """Valid keys, newest first."""
    sql = "SELECT * FROM web_keys WHERE kind = ? AND (expires_at IS NULL OR expires_at > ?) ORDER BY created_at DESC"
    return _key.all(rows, sql, (kind, now))


def any_made(rows: Rows) -> bool:
    """Whether any key exists, valid or not."""
    return rows.one("SELECT 1 FROM web_keys LIMIT 1") is not None


def drop(tx: Tx, identifier: str) -> bool:
    """Delete a key; False when there was none."""
    return tx.run("DELETE FROM web_keys WHERE id = ?", (identifier,)) == 1


def _digest(secret: str) -> bytes:
    return hashlib.blake2b(secret.encode("utf-8", "replace"), digest_size=32).digest()


_key = RowMapper(WebKey)
