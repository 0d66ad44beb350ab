"""What was learned from projects: issues found by reviews, people's wishes, and ratings of finished ones.

The numbers are Open Office's: 20 issues, 10 wishes and 50 projects are kept. Shown are at most 5 issues that two
reviews found, the newest 3 wishes, and the last 3 rated projects. Limits apply per person and audience, so that nobody
displaces what somebody else said.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from operator import attrgetter

from msgspec import Struct, field

from memory.knowledge import items
from memory.knowledge.items import By, Item, Kind
from memory.people.audience import Scope, Trust
from memory.store.database import Rows, Tx
from memory.store.errors import Refused
from memory.store.fulltext import all_words, storable
from texts import gettext_lazy

AXES = ("creativity", "visual", "interaction", "completeness", "engagement")
LONGEST, LONGEST_TECH, LONGEST_REVIEW = 300, 100, 8_000
_ISSUE = (5, 199)  # characters of an issue
NOT_KEPT = gettext_lazy(
    "each finding must be numbered and have {least} to {most} characters, and a review can have up to 20 findings",
    least=_ISSUE[0],
    most=_ISSUE[1],
)
_WEAK = 2  # the best rating that counts as weak
_OFTEN, _MOST_OFTEN, _MOST_WISHES, _MOST_RATED = 2, 5, 3, 3


KINDS = (Kind.REVIEW, Kind.PREFERENCE, Kind.PROJECT)
_ROOM = {Kind.REVIEW: 20, Kind.PREFERENCE: 10, Kind.PROJECT: 50}
_ORDER = (Kind.PREFERENCE, Kind.PROJECT, Kind.REVIEW)  # of a list
_LISTED = 200
READ = 1_000  # items, of all that the scope may know


class ProjectLearnings(Struct, frozen=True):
    """What a turn is shown; each list starts with the strongest."""

    issues: tuple[Item, ...] = ()
    wishes: tuple[Item, ...] = ()
    rated: tuple[Item, ...] = ()

    @property
    def ids(self) -> list[int]:
        return [each.id for each in (*self.issues, *self.wishes, *self.rated)]

    @property
    def weak(self) -> list[str]:
        """The axes on which the last rated projects were weak."""
        return [axis for axis in AXES if any(0 < ratings_of(each).get(axis, 0) <= _WEAK for each in self.rated)]


# ------------------------------------------------------------------------------------------------------------- writing

_VERDICT = r"(?im)^[^\w\n]*(?:verdict|result|urteil|ergebnis)\W{1,6}(pass|fail)"
_MARKUP = re.compile(r"`+|(?<!\w)[*_]+(?=\S)|(?<=\S)[*_]+(?!\w)")
"""Not within words, such as snake_case."""
_MARK = re.compile(r"\s{0,8}(?:(\d{1,3})[.):]|[-*•])\s+")


class Review(Struct, frozen=True):
    """The issues of a review, and the texts that are not stored."""

    issues: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def read_review(review: str) -> Review:
    """The numbered or listed issues of a review, also within one line; or the whole if it is one line. None if it
    passes.

    A verdict may be bold. Texts that are too short or too long, are not in the list, or exceed the limit are `left`.
    """
    verdict = re.search(_VERDICT, review)
    if verdict is not None:
        if verdict[1].casefold() == "pass":
            return Review()
        review = review[: verdict.start()] + "\n" + review[verdict.end() :].lstrip("*_`.,:; ")
    listed, others = _listed(review)
    found = listed or (others if len(others) == 1 and verdict is None else [])
    issues = list(dict.fromkeys(each for each in found if _ISSUE[0] <= len(each) <= _ISSUE[1]))
    room = _ROOM[Kind.REVIEW]
    left = [each for each in (*found, *others) if each not in issues]
    return Review(tuple(issues[:room]), (*issues[room:], *dict.fromkeys(left)))


def _listed(review: str) -> tuple[list[str], list[str]]:
    """The issues of a list, each with its continuation lines, and the other lines."""
    listed, others, within = list[str](), list[str](), False
    for line in review.splitlines():
        mark = _MARK.match(line)
        if mark is not None:
            listed += _numbered(line[mark.end() :], mark[1])
        elif within and line[:1].isspace() and line.strip():
            listed[-1] += f" {line}"
        else:
            others.append(line)
        within = mark is not None or (within and bool(line.strip()))
    clean = [[" ".join(_MARKUP.sub("", each).split()) for each in some] for some in (listed, others)]
    return clean[0], [each for each in clean[1] if each]


def _numbered(text: str, number: str | None) -> list[str]:
    """The issues in one line, as long as their numbers continue."""
    found = [text]
    while number is not None:
        number = str(int(number) + 1)
        parts = re.split(rf"\s{number}[.):]\s+", found[-1], maxsplit=1)
        if len(parts) == 1:
            break
        found[-1:] = parts
    return found


def note_review(tx: Tx, by: By, review: str) -> list[Item]:
    """Store a review's issues; a known issue is counted, once per message. Raises Refused."""
    issues = read_review(_checked(review, LONGEST_REVIEW)).issues
    if not issues:
        raise Refused(
            "it has no finding of {least} to {most} characters, so there is nothing to learn: number "
            "the findings, one per line",
            least=_ISSUE[0],
            most=_ISSUE[1],
        )
    return [_counted(tx, by, issue) for issue in issues]


def _counted(tx: Tx, by: By, issue: str) -> Item:
    known = _known(tx, by, Kind.REVIEW, issue)
    if known is None:
        return _put(tx, by, Kind.REVIEW, issue)
    return items.put_again(tx, known, by, counts=True)


def prefer(tx: Tx, by: By, wish: str) -> Item:
    """Store a wish for projects; a known one becomes the newest. Raises Refused."""
    text = _checked(wish, LONGEST_TECH)
    known = _known(tx, by, Kind.PREFERENCE, text)
    if known is None:
        return _put(tx, by, Kind.PREFERENCE, text)
    return items.put_again(tx, known, by)


class _Detail(Struct, frozen=True):
    tech: str = ""
    ratings: Mapping[str, int] = field(default_factory=dict)


def finish(tx: Tx, by: By, summary: str, tech: str = "") -> Item:
    """Record that a project is finished. Raises Refused."""
    if len(tech.strip()) > LONGEST_TECH:
        raise Refused("its technologies can have at most {longest_tech} characters", longest_tech=LONGEST_TECH)
    made = _Detail(" ".join(storable(tech).split()))
    return _put(tx, by, Kind.PROJECT, _checked(summary, LONGEST), made)


def rate(tx: Tx, by: By, ratings: Mapping[str, int]) -> Item:
    """Rate the person's newest project on the given axes. Raises Refused."""
    if not ratings or any(axis not in AXES or not 1 <= points <= 5 for axis, points in ratings.items()):
        raise Refused("give 1 to 5 points for at least one of {names}", names=", ".join(AXES))
    done = items.find(tx, Kind.PROJECT, person_id=by.person, audience=by.scope.audience)
    if not done:
        raise Refused("there is no finished project to rate here: say first which one is done")
    detail = _Detail(tech_of(done[0]), {**ratings_of(done[0]), **ratings})
    return items.put_again(tx, done[0], by, detail=detail)


def _checked(text: str, longest: int) -> str:
    text = storable(text).strip()
    if longest != LONGEST_REVIEW:
        text = " ".join(text.split())
    if not text or len(text) > longest:
        raise Refused("it must have 1 to {longest:,} characters; this has {text:,}", longest=longest, text=len(text))
    return text


def _key(text: str) -> str:
    return " ".join(all_words(text))


def _known(tx: Tx, by: By, kind: Kind, text: str) -> Item | None:
    found = items.find(tx, kind, key=_key(text), person_id=by.person, audience=by.scope.audience)
    return found[0] if found else None


def _put(tx: Tx, by: By, kind: Kind, text: str, detail: Struct | None = None) -> Item:
    """Store an item; if there is no room, drop the least found and oldest one, never the new one."""
    older = items.find(tx, kind, person_id=by.person, audience=by.scope.audience)
    weightiest = sorted(older, key=lambda each: (each.strength, each.updated_at, each.id), reverse=True)
    items.remove(tx, [each.id for each in weightiest[_ROOM[kind] - 1 :]])
    return by.put(tx, kind, text, _key(text), detail)


# ------------------------------------------------------------------------------------------------------------- reading


def ratings_of(project: Item) -> Mapping[str, int]:
    return project.read(_Detail).ratings


def tech_of(project: Item) -> str:
    return project.read(_Detail).tech


def learned(stored: Mapping[Kind, Sequence[Item]], until: datetime) -> ProjectLearnings:
    """What is shown of these, from approved people: issues found often, the newest wishes and rated projects."""
    if stored.keys().isdisjoint(KINDS):
        return ProjectLearnings()
    issues, wishes, rated = (
        [
            each
            for each in sorted(stored.get(kind, ()), key=attrgetter("updated_at", "id"), reverse=True)
            if each.trust >= Trust.APPROVED and each.created_at <= until
        ]
        for kind in KINDS
    )
    often = sorted([each for each in issues if each.strength >= _OFTEN], key=attrgetter("strength"), reverse=True)
    newest = sorted([each for each in rated if ratings_of(each)], key=attrgetter("id"), reverse=True)
    return ProjectLearnings(tuple(often[:_MOST_OFTEN]), tuple(wishes[:_MOST_WISHES]), tuple(newest[:_MOST_RATED]))


def listing(rows: Rows, scope: Scope) -> list[Item]:
    """Everything that the scope may know, newest of each kind first."""
    return sorted(items.known(rows, scope, KINDS, _LISTED), key=lambda each: _ORDER.index(each.kind))
