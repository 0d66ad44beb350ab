"""Who was let in or shut out, and pairing codes, as rows; `bot.services.people.admission_of_strangers` decides and
asks.

A subject is a person ("discord:1234"), a role ("discord:role:77") or a guild ("discord:guild:10"). What a stranger
wrote is not stored: a code's row holds only who asked, under which name, and when.
"""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal, TypeAlias

from msgspec import Struct

from memory.people.audience import OWNER
from memory.store.clock import to_text
from memory.store.database import Rows, Tx
from memory.store.ids import PersonId
from memory.store.row_mapper import RowMapper

CODE_LIFE = timedelta(hours=1)
"""How long a code is valid."""
MOST_OPEN = 20
"""Open codes at the same time; while there are that many, a stranger gets no answer."""
MOST_TOLD = 3
"""Codes that one person can get within `MEMORY`."""
MOST_STRANGERS = 200
"""Strangers that are remembered at the same time."""
MEMORY = timedelta(hours=24)
"""How long it is remembered that a person got codes."""

Via: TypeAlias = Literal["command", "code"]


class Rule(StrEnum):
    ALLOW = "allow"
    DENY = "deny"


class AccessDecision(Struct, frozen=True):
    """One decision, in force until it is dropped."""

    subject: str
    rule: Rule
    via: Via
    by: PersonId
    at: datetime


class PairingRequest(Struct, frozen=True):
    """A stranger who was given a code. `code` is empty after it was withdrawn."""

    person: PersonId
    name: str
    code: str
    expires_at: datetime


def rules(rows: Rows) -> list[AccessDecision]:
    """Every decision in force, newest first. For those who decide, and for the check of incoming messages."""
    return _ruled.all(rows, "SELECT * FROM people_rules ORDER BY decided_at DESC, subject")


def set_rule(tx: Tx, subject: str, rule: Rule, by: PersonId, now: datetime, via: Via = "command") -> None:
    """Let a subject in, or shut it out; the last decision counts. It ends the subject's open code."""
    tx.run("DELETE FROM people_rules WHERE subject = ?", (subject,))
    tx.insert("people_rules", _ruled.values(AccessDecision(subject, rule, via, by, now)))
    tx.run("DELETE FROM pairing_codes WHERE person_id = ?", (subject,))


def drop_rule(tx: Tx, subject: str) -> bool:
    """Drop a decision; False when there was none."""
    return tx.run("DELETE FROM people_rules WHERE subject = ?", (subject,)) == 1


def request_pairing(tx: Tx, person: PersonId, name: str, code: str, now: datetime) -> PairingRequest | None:
    """Give a stranger this code; None if they have an open one or had too many, if too many codes are open, or if
    somebody has this very code."""
    tx.run("DELETE FROM pairing_codes WHERE first_at <= ?", (now - MEMORY,))
    row = tx.one("SELECT * FROM pairing_codes WHERE person_id = ?", (person,))
    if row is not None and (row["expires_at"] > to_text(now) or row["told"] >= MOST_TOLD):
        return None
    strangers = tx.number("SELECT count(*) FROM pairing_codes")
    if len(waiting(tx, now)) >= MOST_OPEN or (row is None and strangers >= MOST_STRANGERS):
        return None
    made = PairingRequest(person, name, code, now + CODE_LIFE)
    told, first = (row["told"] + 1, row["first_at"]) if row is not None else (1, to_text(now))
    tx.run("DELETE FROM pairing_codes WHERE person_id = ?", (person,))
    values = {**_request.values(made), "audience": OWNER, "told": told, "first_at": first}
    return made if tx.insert("pairing_codes", values, ignore=True) else None


def redeem(tx: Tx, code: str, by: PersonId, now: datetime) -> PairingRequest | None:
    """Use a code, once: its person is let in from now on. None if no such code is open."""
    found = _request.first(tx, "SELECT * FROM pairing_codes WHERE code = ? AND expires_at > ?", (code, now))
    if found is not None:
        set_rule(tx, found.person, Rule.ALLOW, by, now, "code")
    return found


def open_request(rows: Rows, person: PersonId) -> PairingRequest | None:
    """A stranger's undecided request, until it is forgotten; their code may have expired before."""
    return _request.first(rows, "SELECT * FROM pairing_codes WHERE person_id = ? AND code IS NOT NULL", (person,))


def ignore(tx: Tx, person: PersonId) -> None:
    """Close a person's request; they get no other code until it is forgotten."""
    tx.run("UPDATE pairing_codes SET code = NULL, told = ? WHERE person_id = ?", (MOST_TOLD, person))


def withdraw(tx: Tx, person: PersonId, now: datetime) -> bool:
    """Close a person's open code; False when there was none. They get no other before it would have expired."""
    sql = "UPDATE pairing_codes SET code = NULL WHERE person_id = ? AND code IS NOT NULL AND expires_at > ?"
    return tx.run(sql, (person, now)) == 1


def waiting(rows: Rows, now: datetime) -> list[PairingRequest]:
    """The strangers with an open code, oldest first. For those who may let them in."""
    sql = "SELECT * FROM pairing_codes WHERE code IS NOT NULL AND expires_at > ? ORDER BY expires_at, person_id"
    return _request.all(rows, sql, (now,))


_ruled = RowMapper(AccessDecision, by="decided_by", at="decided_at")
_request = RowMapper(PairingRequest)
