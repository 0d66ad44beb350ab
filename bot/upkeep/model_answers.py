"""Answers of models in upkeep: their forms, which are also the schemas sent with a request, and how they are read."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, SkipValidation, StringConstraints, ValidationError

from memory.knowledge.graph import Kind
from texts import TextError, gettext_noop

T = TypeVar("T", bound="Form")

_THOUGHT_BEGINS, _THOUGHT_ENDS = re.compile(r"<think>", re.IGNORECASE), re.compile(r"</think>", re.IGNORECASE)
_BRACKET, _JSON_BEGINS = re.compile(r"[\[{]"), re.compile(r'\{\s*"|\[\s*\{')
_MOST = 60  # of anything in one answer
_MOST_BROKEN = 40  # brackets that begin nothing: a repetitive answer is not read to its end
_CONSTRAINABLE = ("type", "properties", "items", "enum", "const", "anyOf", "$ref", "$defs")
"""The part of JSON Schema that every provider with constrained output supports."""


class UnusableAnswer(TextError):
    """An answer that cannot be used, in our words; it changes nothing."""


class Form(BaseModel):
    """The form of an answer, or of a part of one. Other keys are not read."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True, defer_build=True)


class MergeWish(Form):
    sources: list[str] = Field(min_length=2, max_length=3)
    content: str = Field(min_length=1, max_length=2_000)
    category: str = ""
    tags: list[str] = Field(default=[], max_length=20)


class RefineWish(Form):
    id: str
    category: str = ""
    tags: list[str] = Field(default=[], max_length=20)


class Consolidation(Form):
    merge: list[MergeWish] = Field(default=[], max_length=_MOST)
    retire: list[str] = Field(default=[], max_length=_MOST)
    refine: list[RefineWish] = Field(default=[], max_length=_MOST)


class Lesson(Form):
    sources: list[str] = Field(min_length=1, max_length=10)
    domain: str = Field(min_length=1, max_length=40)
    dont: str = Field(min_length=1, max_length=300)
    because: str = Field(default="", max_length=300)
    instead: str = Field(default="", max_length=300)


class Lessons(Form):
    lessons: list[Lesson] = Field(default=[], max_length=_MOST)


class Preference(Form):
    sources: list[str] = Field(min_length=1, max_length=20)
    content: str = Field(min_length=1, max_length=500)
    strength: Literal["strong", "mild", "casual"]
    sensitive: bool = False


class Preferences(Form):
    preferences: list[Preference] = Field(default=[], max_length=_MOST)


class NamedEntity(Form):
    name: str = Field(min_length=1, max_length=80)
    kind: Kind


class Relation(Form):
    source: str
    subject: NamedEntity
    relation: str = Field(min_length=1, max_length=40)
    object: NamedEntity


class Relations(Form):
    """The people and things in entries, and their relations."""

    triples: list[SkipValidation[Relation]] = Field(default=[], max_length=4 * _MOST)


class Contradiction(Form):
    wrong: str
    right: str


class Contradictions(Form):
    """Entries that are no longer valid, each with the one that replaces it."""

    contradictions: list[Contradiction] = Field(default=[], max_length=_MOST)


class FocusedEntry(Form):
    content: str = Field(min_length=1, max_length=600)
    category: str = ""
    tags: list[str] = Field(default=[], max_length=20)
    importance: float = Field(default=0.5, ge=0, le=1)


class ExpandedEntries(Form):
    """A saved text as entries of one topic each."""

    entries: list[SkipValidation[FocusedEntry]] = Field(default=[], max_length=_MOST)


class Judgement(Form):
    """The outcome of a conversation: tools that helped, tools that failed or were missed, and messages that corrected
    something."""

    quality: Literal["good", "fair", "poor"]
    worked: list[str] = Field(default=[], max_length=_MOST)
    failed: list[str] = Field(default=[], max_length=_MOST)
    corrections: list[str] = Field(default=[], max_length=_MOST)


Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=300)]


class AgentDigest(Form):
    summary: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=800)]


class DayDigest(Form):
    summary: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2_000)]
    key_decisions: tuple[Line, ...] = Field(default=(), max_length=12)
    open_threads: tuple[Line, ...] = Field(default=(), max_length=12)


def read_answer(text: str, form: type[T]) -> T:
    """The one JSON object in an answer that has keys of the form. UnusableAnswer does not quote it."""
    answered = _THOUGHT_BEGINS.split(_THOUGHT_ENDS.split(text)[-1])[0]
    found = list(_objects(answered))
    fitting = [each for each in found if each.keys() & form.model_fields.keys()]
    if not found:
        raise UnusableAnswer(gettext_noop("the model did not answer in JSON"))
    if any(each != fitting[0] for each in fitting):
        raise UnusableAnswer(gettext_noop("the model answered with several JSON objects"))
    if not fitting and any(found):
        raise UnusableAnswer(gettext_noop("the model's answer did not have the required form"))
    try:
        return form.model_validate(fitting[0] if fitting else {})
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(each) for each in first["loc"])
        what = f"{where}: {first['type'].replace('_', ' ')}"
        raise UnusableAnswer(
            gettext_noop("the model's answer did not have the required form ({what})"), what=what
        ) from error


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects in a text that are not inside a list."""
    decoder, at, broken = json.JSONDecoder(), 0, 0
    while (begins := _BRACKET.search(text, at)) is not None:
        try:
            found, at = decoder.raw_decode(text, begins.start())
        except (ValueError, RecursionError):
            at, broken = begins.end(), broken + 1
            # The content of a broken or truncated object is no answer.
            if broken == _MOST_BROKEN or _JSON_BEGINS.match(text, begins.start()):
                return
            continue
        if isinstance(found, dict):
            yield found


def each_fitting(given: Sequence[object], form: type[T]) -> list[T]:
    found = []
    for each in given:
        with suppress(ValidationError):
            found.append(form.model_validate(each))
    return found


def schema_of(form: type[Form]) -> dict[str, Any]:
    """The form as a JSON schema for constrained output: every key is required, and no other is allowed."""
    return _constrained(form.model_json_schema())


def _constrained(schema: dict[str, Any]) -> dict[str, Any]:
    found = {name: schema[name] for name in _CONSTRAINABLE if name in schema}
    for name in ("properties", "$defs"):
        if name in found:
            found[name] = {key: _constrained(value) for key, value in found[name].items()}
    if "items" in found:
        found["items"] = _constrained(found["items"])
    if "anyOf" in found:
        found["anyOf"] = [_constrained(each) for each in found["anyOf"]]
    if "properties" in found:
        found |= {"required": [*found["properties"]], "additionalProperties": False}
    return found


def known(named: list[str], shown: set[str]) -> None:
    """Raise UnusableAnswer unless every id in an answer was shown, and occurs once."""
    if not set(named) <= shown:
        raise UnusableAnswer(gettext_noop("the model named entries that it was not shown"))
    if len(set(named)) != len(named):
        raise UnusableAnswer(gettext_noop("the model named an entry more than once"))
