"""What models answer to upkeep: schemas, and reading one out of a text. Whatever does not fit wholly is no answer.

Relations alone, and what is made of something that was saved, are taken one by one: each stands for itself, is checked
against the words of its entry, and nothing goes because of it.
"""

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memory.knowledge.graph import Kind
from memory.store.plurals import many

T = TypeVar("T", bound=BaseModel)

_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"```(?:json)?", re.IGNORECASE)
_MOST = 60  # of anything in one answer


class Unusable(Exception):
    """An answer that cannot be used, in words of ours; nothing is done by it."""


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class MergeWish(_Answer):
    sources: list[str] = Field(min_length=2, max_length=3)
    content: str = Field(min_length=1, max_length=2_000)
    category: str = ""
    tags: list[str] = Field(default=[], max_length=20)


class RefineWish(_Answer):
    id: str
    category: str = ""
    tags: list[str] = Field(default=[], max_length=20)


class Consolidation(_Answer):
    """What is to become of entries."""

    merge: list[MergeWish] = Field(default=[], max_length=_MOST)
    retire: list[str] = Field(default=[], max_length=_MOST)
    refine: list[RefineWish] = Field(default=[], max_length=_MOST)


class Lesson(_Answer):
    sources: list[str] = Field(min_length=1, max_length=10)
    domain: str = Field(min_length=1, max_length=40)
    dont: str = Field(min_length=1, max_length=300)
    because: str = Field(min_length=1, max_length=300)
    instead: str = Field(min_length=1, max_length=300)


class Lessons(_Answer):
    """What corrections teach."""

    lessons: list[Lesson] = Field(default=[], max_length=_MOST)


class Preference(_Answer):
    sources: list[str] = Field(min_length=1, max_length=20)
    content: str = Field(min_length=1, max_length=500)
    strength: Literal["strong", "mild", "casual"]
    sensitive: bool = False


class Preferences(_Answer):
    """What people seem to want."""

    preferences: list[Preference] = Field(default=[], max_length=_MOST)


class Named(_Answer):
    name: str = Field(min_length=1, max_length=80)
    kind: Kind


class Relation(_Answer):
    source: str
    subject: Named
    relation: str = Field(min_length=1, max_length=40)
    object: Named


class Relations(_Answer):
    """Who and what entries speak of, and how these belong together."""

    triples: list[object] = Field(default=[], max_length=4 * _MOST)


class Contradiction(_Answer):
    wrong: str
    right: str


class Contradictions(_Answer):
    """Which entries do not hold any more, and by which."""

    contradictions: list[Contradiction] = Field(default=[], max_length=_MOST)


class Focused(_Answer):
    content: str = Field(min_length=1, max_length=600)
    category: str = ""
    tags: list[str] = Field(default=[], max_length=20)
    importance: float = Field(default=0.5, ge=0, le=1)


class WrittenOut(_Answer):
    """What was saved, as entries of one matter each."""

    entries: list[object] = Field(default=[], max_length=_MOST)


class Judgement(_Answer):
    """How a talk went: tools that helped, tools that failed or were missed, and messages that set something right."""

    quality: Literal["good", "fair", "poor"]
    worked: list[str] = Field(default=[], max_length=_MOST)
    failed: list[str] = Field(default=[], max_length=_MOST)
    corrections: list[str] = Field(default=[], max_length=_MOST)


def read_answer(text: str, schema: type[T]) -> T:
    """The outermost {…} of an answer, without what was thought aloud. Raises Unusable."""
    bare = _FENCE.sub("", _THOUGHT.sub("", text)).strip()
    start, end = bare.find("{"), bare.rfind("}")
    if start < 0 or end < start or bare.startswith("["):
        raise Unusable("the answer was no JSON")
    try:
        return schema.model_validate(json.loads(bare[start : end + 1]))
    except ValidationError as error:
        count = error.error_count()
        raise Unusable(f"the answer did not fit its form in {count} place{'s' * (count > 1)}") from error
    except (ValueError, RecursionError) as error:
        raise Unusable("the answer was no JSON") from error


def each_fitting(given: Sequence[object], schema: type[T]) -> list[T]:
    """Those of a list that fit, each by itself."""
    found = []
    for each in given:
        with suppress(ValidationError):
            found.append(schema.model_validate(each))
    return found


def known(named: list[str], shown: set[str]) -> None:
    """Raise Unusable unless every id that an answer names was shown, and is named once."""
    unknown = len(set(named) - shown)
    if unknown:
        raise Unusable(f"the answer named {many(unknown, 'id')} that it was not shown")
    if len(set(named)) != len(named):
        raise Unusable("the answer named an id more than once")
