"""Requests and our own answers against Discord's OpenAPI description.

The description hardly ever forbids unknown keys; here every object schema with properties does, apart from
the tolerances below, each of which discord.py (or Discord itself) needs.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from tests.wire.discord.calls import Reply, Request
from tests.wire.discord.errors import invalid
from tests.wire.discord.messages import Json

_ROOT = "urn:discord"
_ID = re.compile(r'"[1-9][0-9]{16,19}"')

EXTRA: dict[str, tuple[str, ...]] = {
    "RichEmbed": ("flags",),
    "MessageEditRequestPartial": ("tts",),
    "BaseCreateMessageCreateRequest": ("tts",),
    "IncomingWebhookUpdateRequestPartial": ("tts",),
    "IncomingWebhookUpdateForInteractionCallbackRequestPartial": ("tts",),
    "ApplicationCommandUpdateRequest": ("nsfw",),
    "CreateForumThreadRequest": ("type",),
    "CreatedThreadResponse": ("message",),
}
"""Keys beyond the description that are let through, by schema."""


class Description:
    """What is read of the file, with a validator for each place that was needed; every server checks by the same."""

    def __init__(self, path: Path) -> None:
        document: Json = json.loads(path.read_text("utf-8"))
        _tolerate(document)
        _forbid_unknown(document)
        self.paths: dict[str, Json] = document["paths"]
        resource: Resource[Any] = Resource.from_contents(document, default_specification=DRAFT202012)
        self.registry: Registry[Any] = Registry().with_resource(_ROOT, resource).crawl()
        self.validators: dict[str, Draft202012Validator] = {}
        self.sound: set[tuple[str, bytes]] = set()
        """What was found to be as described, but for its ids: every start registers the same commands."""


_describe = functools.cache(Description)


class Checker:
    """Collects what deviates from the description."""

    def __init__(self, path: Path) -> None:
        self._description = _describe(path)
        self.violations: list[str] = []
        self.own_faults: list[str] = []

    def check_request(self, call: Request) -> None:
        """The request's body against its operation; refused with 50035 unless only keys are unknown."""
        operation = self._description.paths.get(call.template, {}).get(call.method.lower())
        if operation is None:
            self.violations.append(f"{call.method} {call.template}: not in the description")
            return
        content = operation.get("requestBody", {}).get("content", {})
        if call.json is None:
            if operation.get("requestBody", {}).get("required"):
                self.violations.append(f"{call.method} {call.path}: no body")
            return
        if "application/json" not in content:
            self.violations.append(f"{call.method} {call.path}: a body where none belongs")
            return
        place = f"paths/{_escape(call.template)}/{call.method.lower()}/requestBody/content/application~1json"
        found = [explain(error) for error in self._errors(place, call.json)]
        self.violations += [f"{call.method} {call.path}: {error}" for error in found]
        if any("Additional properties" not in error for error in found):
            raise invalid("body", "SCHEMA", found[0])

    def check_answer(self, call: Request, reply: Reply) -> None:
        """Our own answer against the operation's answer for its status."""
        operation = self._description.paths.get(call.template, {}).get(call.method.lower(), {})
        described = operation.get("responses", {}).get(str(reply.status))
        name = f"{call.method} {call.path} -> {reply.status}"
        if described is None:
            self.own_faults.append(f"{name}: status not in the description")
        elif "content" in described:
            place = (
                f"paths/{_escape(call.template)}/{call.method.lower()}/responses/{reply.status}"
                "/content/application~1json"
            )
            self.own_faults += [f"{name}: {explain(error)}" for error in self._errors(place, reply.json)]
        elif reply.json is not None:
            self.own_faults.append(f"{name}: a body where none belongs")

    def _errors(self, place: str, value: Any) -> list[ValidationError]:
        seen = place, hashlib.sha256(_ID.sub('"1"', json.dumps(value)).encode()).digest()
        if seen in self._description.sound:
            return []
        validator = self._description.validators.get(place)
        if validator is None:
            schema = {"$ref": f"{_ROOT}#/{place}/schema"}
            validator = Draft202012Validator(schema, registry=self._description.registry)
            self._description.validators[place] = validator
        found = list(validator.iter_errors(value))
        if not found:
            self._description.sound.add(seen)
        return found


def _escape(template: str) -> str:
    return template.replace("~", "~0").replace("/", "~1").replace("{", "%7B").replace("}", "%7D")


def _tolerate(document: Json) -> None:
    schemas = document["components"]["schemas"]
    schemas["SnowflakeType"] = {"anyOf": [schemas["SnowflakeType"], {"type": "integer", "minimum": 0}]}
    for name, keys in EXTRA.items():
        schemas[name]["properties"] |= {key: {} for key in keys}


def _forbid_unknown(node: Any) -> None:
    """Close every object schema, but not the members of an allOf, which see only their part."""
    if isinstance(node, list):
        for item in node:
            _forbid_unknown(item)
    if not isinstance(node, dict):
        return
    if "properties" in node and "type" in node and "allOf" not in node:
        node.setdefault("additionalProperties", False)
    for key, value in node.items():
        if key != "allOf":
            _forbid_unknown(value)


def explain(error: ValidationError) -> str:
    """The most telling of the errors below a union: in the branch that fits best."""
    while error.context:
        error = _best_branch(error.context)[0]
    where = "/".join(str(part) for part in error.absolute_path)
    return f"{where or 'body'}: {error.message[:300]}"


def _best_branch(context: list[ValidationError]) -> list[ValidationError]:
    """The errors of the branch meant: of the right `type`, then with the fewest errors."""
    branches: dict[object, list[ValidationError]] = {}
    for error in context:
        branches.setdefault(error.relative_schema_path[0], []).append(error)
    return min(branches.values(), key=lambda errors: (any(map(_about_type, errors)), len(errors)))


def _about_type(error: ValidationError) -> bool:
    path = error.relative_path
    if error.validator in ("type", "const", "enum"):
        return not path or path[-1] == "type"
    return bool(error.context) and bool(path) and path[-1] == "type"
