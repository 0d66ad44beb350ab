"""People whose messages others' turns leave out: they opted out, or ask not to be shown to all.

Their earlier messages stay stored for themselves. Choices come from global.db and are copied into every constellation.
A label comes with a person's message and ends with their next message without it.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from memory.people.audience import OWNER, Audience, person_audience
from memory.store.database import Rows, Tx
from memory.store.ids import PersonId


class HiddenReason(StrEnum):
    CHOICE = "choice"
    LABEL = "label"


def shown(table: str) -> str:
    """A condition on `person_id` and `audience`: no rows of such people in talks that others heard."""
    own = f"{table}.audience IN ('owner', 'person:' || u.person_id)"
    such = f"EXISTS (SELECT 1 FROM unshown_people u WHERE u.person_id = {table}.person_id AND NOT {own})"
    # Usually there are none: then no row is read for its person where an index has the other columns.
    return f"NOT (EXISTS (SELECT 1 FROM unshown_people) AND {such})"


def heeded(table: str) -> str:
    """A condition as `shown`, for what agents learn from: nowhere any rows of people who paused or opted out."""
    such = f"SELECT 1 FROM unshown_people u WHERE u.person_id = {table}.person_id AND u.why = '{HiddenReason.CHOICE}'"
    return f"{shown(table)} AND NOT EXISTS ({such})"


def note(tx: Tx, person: PersonId, why: HiddenReason, now: datetime, *, holds: bool) -> None:
    """Set or clear one reason to keep a person's messages out of others' turns."""
    if holds:
        tx.insert("unshown_people", {"person_id": person, "why": why, "since": now}, ignore=True)
    else:
        tx.run("DELETE FROM unshown_people WHERE person_id = ? AND why = ?", (person, why))


def choices(tx: Tx, chosen: Mapping[PersonId, str]) -> None:
    """Copy all choices, with their start, from global.db; after a crash they may be missing here."""
    tx.run("DELETE FROM unshown_people WHERE why = ?", (HiddenReason.CHOICE,))
    for person, since in chosen.items():
        tx.insert("unshown_people", {"person_id": person, "why": HiddenReason.CHOICE, "since": since}, ignore=True)


def chosen(rows: Rows) -> dict[PersonId, str]:
    found = rows.all("SELECT person_id, since FROM unshown_people WHERE why = ?", (HiddenReason.CHOICE,))
    return {PersonId(row["person_id"]): row["since"] for row in found}


PEOPLE = "SELECT json_group_array(person_id) FROM unshown_people"


def people(rows: Rows, audience: Audience) -> frozenset[PersonId]:
    """Those whose messages are left out where this audience hears."""
    found = map(PersonId, rows.value(PEOPLE, (), json.loads) or ())
    return frozenset(each for each in found if audience not in (OWNER, person_audience(each)))
