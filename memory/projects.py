"""What was learned from projects: what reviews find, what somebody wants for projects, how finished ones were rated.

The numbers are Open Office's: 20 issues, 10 wishes and 50 projects are kept; shown are issues that two reviews found,
at most 5, the newest 3 wishes, and the last 3 projects that were rated. Room is counted for each person in each
audience, so that nobody pushes out what somebody else said.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from memory.audience import Audience, Scope, Trust
from memory.clock import from_text, to_text
from memory.database import Row, Rows, Tx, Value
from memory.errors import Refused
from memory.fulltext import all_words, storable
from memory.ids import MessageId, PersonId, snowflakes
from memory.turns import Turn

AXES = ("creativity", "visual", "interaction", "completeness", "engagement")
LONGEST, LONGEST_TECH, LONGEST_REVIEW = 300, 100, 8_000
_ISSUE = (11, 199)  # characters of an issue
_WEAK = 2  # the best rating that is weak
_OFTEN, _MOST_OFTEN, _MOST_WISHES, _MOST_RATED = 2, 5, 3, 3


class Kind(StrEnum):
    REVIEW = "review"
    PREFERENCE = "preference"
    PROJECT = "project"


_ROOM = {Kind.REVIEW: 20, Kind.PREFERENCE: 10, Kind.PROJECT: 50}


@dataclass(frozen=True)
class By:
    """Who says something, who hears it, and in which message; None by hand."""

    person: PersonId
    audience: Audience
    trust: Trust
    now: datetime
    message: MessageId | None = None


@dataclass(frozen=True)
class Learning:
    """An issue that was found `times`, a wish, or a project with its `ratings` by axis."""

    id: int
    kind: Kind
    text: str
    tech: str
    times: int
    ratings: Mapping[str, int]
    person: PersonId
    audience: Audience
    trust: Trust
    at: datetime


@dataclass(frozen=True)
class Learned:
    """What a turn is shown of it; each the weightiest first."""

    issues: tuple[Learning, ...] = ()
    wishes: tuple[Learning, ...] = ()
    rated: tuple[Learning, ...] = ()

    @property
    def ids(self) -> list[int]:
        return [each.id for each in (*self.issues, *self.wishes, *self.rated)]

    @property
    def weak(self) -> list[str]:
        """The axes on which the last rated projects were weak."""
        return [axis for axis in AXES if any(0 < each.ratings.get(axis, 0) <= _WEAK for each in self.rated)]


# ------------------------------------------------------------------------------------------------------------- writing

_VERDICT = re.compile(r"^\W*(?:verdict|result|urteil|ergebnis)\W{1,6}(pass|fail)", re.IGNORECASE | re.MULTILINE)
_NUMBERED = re.compile(r"^\s{0,8}(?:\d{1,3}[.):]|[-*•])\s+(.+)$", re.MULTILINE)


def issues_of(review: str) -> list[str]:
    """What a review finds wrong: its numbered or listed issues, or the whole where it is one line; none if it passes.

    A verdict may be bold. Issues of less than 11 or more than 199 characters are left.
    """
    verdict = _VERDICT.search(review)
    if verdict is not None and verdict[1].casefold() == "pass":
        return []
    listed = [match[1] for match in _NUMBERED.finditer(review)]
    lines = [line for line in review.splitlines() if line.strip()]
    found = listed or (lines if len(lines) == 1 and verdict is None else [])
    clean = (" ".join(re.sub(r"[*_`]+", "", each).split()) for each in found)
    return list(dict.fromkeys(each for each in clean if _ISSUE[0] <= len(each) <= _ISSUE[1]))


def note_review(tx: Tx, by: By, review: str) -> list[Learning]:
    """Keep what a review found; an issue that is known is counted, once for each message. Raises Refused."""
    issues = issues_of(_checked(review, LONGEST_REVIEW))
    if not issues:
        raise Refused(
            f"no issue of {_ISSUE[0]} to {_ISSUE[1]} characters stands in it, so there is nothing to keep (a review "
            "that passes teaches nothing): number what was found, one in a line"
        )
    return [_counted(tx, by, issue) for issue in issues]


def _counted(tx: Tx, by: By, issue: str) -> Learning:
    known = _known(tx, by, Kind.REVIEW, issue)
    if known is None:
        return _put(tx, by, Kind.REVIEW, issue)
    if by.message is None or by.message not in json.loads(known["messages"]):
        _touch(tx, by, known, times=known["times"] + 1)
    return _get(tx, known["id"])


def prefer(tx: Tx, by: By, wish: str) -> Learning:
    """Keep what somebody wants for projects; known already, it is the newest again. Raises Refused."""
    text = _checked(wish, LONGEST_TECH)
    known = _known(tx, by, Kind.PREFERENCE, text)
    if known is None:
        return _put(tx, by, Kind.PREFERENCE, text)
    _touch(tx, by, known)
    return _get(tx, known["id"])


def finish(tx: Tx, by: By, summary: str, tech: str = "") -> Learning:
    """Note that a project is done. Raises Refused."""
    if len(tech.strip()) > LONGEST_TECH:
        raise Refused(f"what it was made with takes at most {LONGEST_TECH} characters")
    return _put(tx, by, Kind.PROJECT, _checked(summary, LONGEST), " ".join(storable(tech).split()))


def rate(tx: Tx, by: By, ratings: Mapping[str, int]) -> Learning:
    """Rate the person's newest project, on the axes that are given. Raises Refused."""
    if not ratings or any(axis not in AXES or not 1 <= points <= 5 for axis, points in ratings.items()):
        raise Refused(f"rate with 1 to 5 on at least one of {', '.join(AXES)}")
    sql = "SELECT * FROM project_learnings WHERE kind = ? AND person_id = ? AND audience = ? ORDER BY id DESC LIMIT 1"
    row = tx.one(sql, (Kind.PROJECT, by.person, by.audience))
    if row is None:
        raise Refused("there is no finished project to rate here: say first which one is done")
    _touch(tx, by, row, ratings=json.dumps({**json.loads(row["ratings"]), **ratings}))
    return _get(tx, row["id"])


def forget(tx: Tx, identifier: int) -> None:
    """Take it away."""
    tx.run("DELETE FROM project_learnings WHERE id = ?", (identifier,))


def note_shown(tx: Tx, turn: Turn, shown: Sequence[int]) -> None:
    """Remember that a turn was shown these: by the messages that they come from."""
    sql = """INSERT INTO turn_uses (turn_id, kind, row_id, audience) SELECT DISTINCT ?, 'message', m.value, ?
             FROM project_learnings p, json_each(p.messages) m WHERE p.id IN (SELECT value FROM json_each(?))
             ON CONFLICT DO NOTHING"""
    if shown:
        tx.run(sql, (turn.id, turn.scope.audience, json.dumps(list(shown))))


def _checked(text: str, longest: int) -> str:
    text = storable(text).strip()
    if longest != LONGEST_REVIEW:
        text = " ".join(text.split())
    if not text or len(text) > longest:
        raise Refused(f"it takes 1 to {longest:,} characters; this has {len(text):,}")
    return text


def _key(text: str) -> str:
    return " ".join(all_words(text))


def _known(tx: Tx, by: By, kind: Kind, text: str) -> Row | None:
    sql = "SELECT * FROM project_learnings WHERE kind = ? AND key = ? AND person_id = ? AND audience = ?"
    return tx.one(sql, (kind, _key(text), by.person, by.audience))


def _touch(tx: Tx, by: By, row: Row, **changes: Value) -> None:
    """It was said again; who trusts it least counts."""
    told = [*json.loads(row["messages"]), *([by.message] if by.message is not None else [])]
    values: dict[str, Value] = {**changes, "messages": json.dumps(list(dict.fromkeys(told)))}
    values |= {"trust": min(row["trust"], int(by.trust)), "updated_at": to_text(by.now)}
    fields = ", ".join(f"{name} = :{name}" for name in values)
    tx.run(f"UPDATE project_learnings SET {fields} WHERE id = :id", {**values, "id": row["id"]})


def _put(tx: Tx, by: By, kind: Kind, text: str, tech: str = "") -> Learning:
    """Keep it; where there is no room the least found and oldest goes, never the new one."""
    identifier, now = snowflakes.next(), to_text(by.now)
    values: dict[str, Value] = {"id": identifier, "kind": kind, "text": text, "key": _key(text), "tech": tech}
    values |= {"messages": json.dumps([] if by.message is None else [by.message]), "person_id": by.person}
    values |= {"audience": by.audience, "trust": int(by.trust), "created_at": now, "updated_at": now}
    tx.insert("project_learnings", values)
    old = """DELETE FROM project_learnings WHERE id IN (SELECT id FROM project_learnings
               WHERE kind = ? AND person_id = ? AND audience = ? AND id <> ?
               ORDER BY times DESC, updated_at DESC, id DESC LIMIT -1 OFFSET ?)"""
    tx.run(old, (kind, by.person, by.audience, identifier, _ROOM[kind] - 1))
    return _get(tx, identifier)


# ------------------------------------------------------------------------------------------------------------- reading


def learned(rows: Rows, scope: Scope, until: datetime) -> Learned:
    """What those who hear a turn may know of it, from people who are approved."""
    if rows.one("SELECT 1 FROM project_learnings LIMIT 1") is None:
        return Learned()  # where nobody has projects no turn pays for them
    condition, parameters = scope.sql("audience")
    sql = f"SELECT * FROM project_learnings WHERE {condition} AND kind = ? AND trust >= ? AND created_at <= ?"

    def of(kind: Kind, rest: str, limit: int) -> tuple[Learning, ...]:
        values: tuple[Value, ...] = (*parameters, kind, int(Trust.APPROVED), to_text(until), limit)
        return tuple(map(_learning, rows.all(f"{sql} {rest} LIMIT ?", values)))

    return Learned(
        of(Kind.REVIEW, f"AND times >= {_OFTEN} ORDER BY times DESC, updated_at DESC, id", _MOST_OFTEN),
        of(Kind.PREFERENCE, "ORDER BY updated_at DESC, id DESC", _MOST_WISHES),
        of(Kind.PROJECT, "AND ratings <> '{}' ORDER BY id DESC", _MOST_RATED),
    )


def listing(rows: Rows, scope: Scope) -> list[Learning]:
    """All that the scope may know, the newest first."""
    condition, parameters = scope.sql("audience")
    sql = f"SELECT * FROM project_learnings WHERE {condition} ORDER BY kind, updated_at DESC, id DESC LIMIT 200"
    return [_learning(row) for row in rows.all(sql, parameters)]


def _get(tx: Tx, identifier: int) -> Learning:
    row = tx.one("SELECT * FROM project_learnings WHERE id = ?", (identifier,))
    if row is None:
        raise AssertionError("what was written is there")
    return _learning(row)


def _learning(row: Row) -> Learning:
    return Learning(
        id=row["id"],
        kind=Kind(row["kind"]),
        text=row["text"],
        tech=row["tech"],
        times=row["times"],
        ratings=json.loads(row["ratings"]),
        person=PersonId(row["person_id"]),
        audience=Audience(row["audience"]),
        trust=Trust(row["trust"]),
        at=from_text(row["created_at"]),
    )


# -------------------------------------------------------------------------------------------------------------- people
