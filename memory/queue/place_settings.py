"""Settings by command, as rows: how a place is heard, which group and model answer there, what is paused, and a
person's language. `bot.services.people.place_settings` has the commands."""

import json
from collections.abc import Collection
from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

from memory.people.audience import Audience
from memory.store.database import Rows, Tx
from memory.store.ids import PersonId, PlaceId
from memory.store.row_mapper import RowMapper

Kind: TypeAlias = Literal["mode", "group", "model", "pause", "language"]


class Setting(Struct, frozen=True):
    """One setting. `value` is a mode, a group id, a model, a language, or empty for a pause."""

    kind: Kind
    subject: str
    value: str
    by: PersonId
    at: datetime


def settings(rows: Rows) -> list[Setting]:
    """All current settings, newest first."""
    return _setting.all(rows, "SELECT * FROM steering ORDER BY decided_at DESC, kind, subject")


class EffectiveSettings(NamedTuple):
    model: str
    """From the narrowest setting that applies; empty if there is none."""
    within: frozenset[Audience]
    """The wider audiences of those who hear the place."""


def at_place(rows: Rows, place: PlaceId) -> EffectiveSettings:
    """How a place is answered."""
    return rows.cached(("steering", "places"), ("at place", place), lambda: _at_place(rows, place))


def _at_place(rows: Rows, place: PlaceId) -> EffectiveSettings:
    sql = """SELECT (SELECT s.value FROM steering s
               LEFT JOIN json_each((SELECT bindings FROM places WHERE id = :place)) b ON b.value = s.subject
               WHERE s.kind = 'model' AND (s.subject = :place OR b.key IS NOT NULL)
               ORDER BY s.subject = :place DESC, b.key LIMIT 1),
             (SELECT within FROM places WHERE id = :place)"""
    model, within = rows.all(sql, {"place": place})[0]
    return EffectiveSettings(model or "", frozenset(json.loads(within or "[]")))


def keep_servers(tx: Tx, place: PlaceId, servers: Collection[Audience]) -> None:
    """Record that those who hear the place are now, of its servers, only in these."""
    heard = at_place(tx, place).within
    left = {each for each in heard if each.startswith("guild:")} - {*servers}
    if left:
        tx.run("UPDATE places SET within = ? WHERE id = ?", (sorted(heard - left), place))


def put(tx: Tx, setting: Setting) -> None:
    drop(tx, setting.kind, setting.subject)
    tx.insert("steering", _setting.values(setting))


_setting = RowMapper(Setting, by="decided_by", at="decided_at")


def drop(tx: Tx, kind: Kind, subject: str) -> bool:
    """Remove a setting; False if there was none."""
    return tx.run("DELETE FROM steering WHERE kind = ? AND subject = ?", (kind, subject)) == 1
