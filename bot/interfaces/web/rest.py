"""Operations as JSON over HTTP, with their OpenAPI 3.1 description; both are made from the registry."""

import asyncio
import functools
import json
import operator
from collections.abc import Mapping, Sequence
from types import GenericAlias, UnionType
from typing import Any, Literal, TypeAlias, get_args, get_origin, get_type_hints
from urllib.parse import urlencode

from msgspec import Struct
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import ModelSchema
from starlette.responses import JSONResponse, Response

from bot.config.problems import nearest
from bot.errors import UserError
from bot.interfaces.version import version
from bot.interfaces.web.refusals import Refusal, problem
from bot.interfaces.web.request import FAILURES, Context, offered
from bot.services.caller import Unconfirmed, Via
from bot.services.idempotent_requests import IdempotentRequest, StoredResponse
from bot.services.memory.block_results import ShownBlock
from bot.services.registry import Operation
from bot.services.results import Entry, Listing, Result, Sentence
from memory.idempotent_requests import RequestState
from memory.store.errors import BlockChanged
from memory.store.ids import text_mark
from texts import _, error_text

_CONFIRM = "x-confirm"
_ASKS = (_CONFIRM, "if-match")
"""Headers that affect the response, in addition to the path and body."""
_KNOWN = {
    RequestState.BEFORE: "This was sent before under this Idempotency-Key. Its answer is not kept: see if it was done.",
    RequestState.OTHER: "This Idempotency-Key was used for another request.",
}

_ROWS, _MOST_ROWS = 100, 1_000
_PART: dict[str, Any] = {
    "limit": {"type": "integer", "minimum": 1, "maximum": _MOST_ROWS},
    "cursor": {"type": "string"},
}
"""Query parameters of every list, with their schema."""
_NEWER = 100  # the row shown last is not found if more new rows than this came before it


class _PageRange(Struct, frozen=True):
    """A page of a list: `limit` rows after `last`, or after the first `at` rows if `last` is gone."""

    limit: int
    at: int
    last: str

    @classmethod
    def asked(cls, given: Mapping[str, Any], usual: int) -> "_PageRange":
        """The range that the request asks for. Raises Refusal."""
        limit, (at, _dot, last) = str(given.get("limit", usual)), str(given.get("cursor", "0")).partition(".")
        if not limit.isdecimal() or not 0 < int(limit[:9]) <= _MOST_ROWS or not at.isdecimal():
            words = _(
                "The limit must be a number up to {most}, and the cursor must come from an earlier answer.",
                most=_MOST_ROWS,
            )
            raise Refusal(400, words)
        return cls(int(limit), int(at[:9]), last)

    def of(self, rows: list[Any]) -> tuple[list[Any], str]:
        """The rows, and the cursor of the next page; empty at the end."""
        marks = [text_mark(json.dumps(row.get("id") or row, sort_keys=True)) for row in rows]
        start = marks.index(self.last) + 1 if self.last in marks else self.at
        end = start + self.limit
        return rows[start:end], f"{end}.{marks[end - 1]}" if end < len(rows) else ""


async def operate(ctx: Context) -> Response:
    """Run an operation: GET if it only reads, otherwise POST with a JSON object of its arguments.

    A POST with an `Idempotency-Key` runs once, however often it is sent.
    """
    name, given = ctx.request.path_params["name"], ctx.request.headers.get("idempotency-key", "")
    if not given or ctx.request.method != "POST" or ctx.key is None:
        return await _operate(ctx)
    asks = "\n".join([name, *(ctx.request.headers.get(each, "") for each in _ASKS)]).encode()
    once = IdempotentRequest.of(ctx.key.id, given, asks + b"\n" + await ctx.request.body())
    match await ctx.web.once.begin(once):
        case StoredResponse(status, body):
            kind = "application/json" if status < 400 else "application/problem+json"
            return Response(body, status, {"Idempotent-Replayed": "true"}, kind)
        case RequestState.NEW:
            pass
        case known:
            return problem(422 if known is RequestState.OTHER else 409, _KNOWN[known], "Not done again")
    try:
        answer = await _operate(ctx)
    except Refusal:
        await ctx.web.once.end(once, None)
        raise
    final = answer.status_code not in (400, 405, 409)  # a request that failed or needs confirmation did nothing
    await ctx.web.once.end(once, (answer.status_code, bytes(answer.body)) if final else None)
    return answer


async def _operate(ctx: Context) -> Response:
    name, method = ctx.request.path_params["name"], ctx.request.method
    declared = offered(ctx).get(name)
    if declared is None:
        return problem(404, f"There is no operation {name}; /openapi.json lists them.")
    if method != "POST" and declared.changes:  # HEAD also ends up here and needs no more rights than GET
        return problem(405, f"{name} changes something: use POST.", "Wrong method")
    given = await _given(ctx, declared)
    part, asked = _part(declared, given)
    caller = ctx.caller(sure=ctx.request.headers.get(_CONFIRM, "").lower() == "yes")
    try:
        result = await ctx.web.services.registry.call(name, caller, asked)
    except Unconfirmed as question:
        return problem(409, f"{question} Send it again with the header X-Confirm: yes.")
    except FAILURES as error:
        if isinstance(error.__cause__, BlockChanged):
            return problem(412, error_text(error), "Changed meanwhile")
        return problem(422 if isinstance(error, UserError) else 400, error_text(error), "Not done")
    data = result.data()
    headers = {"ETag": f'"{result.state}"'} if isinstance(result, ShownBlock) else {}
    if part is not None and isinstance(result, Listing):
        data, cursor = part.of(data)
        if cursor:
            query = urlencode({**given, "cursor": cursor}, doseq=True)
            headers = {"Link": f'<{ctx.request.url.path}?{query}>; rel="next"'}
    if "ETag" in headers and ctx.request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    return JSONResponse(data, headers=headers)


def _part(declared: Operation, given: Mapping[str, Any]) -> tuple[_PageRange | None, Mapping[str, Any]]:
    """The requested page, and the arguments with which the operation lists far enough. Raises Refusal."""
    own = next((each for each in declared.parameters if each.name == "limit"), None)
    if not declared.lists or (own is None and given.keys().isdisjoint(_PART)):
        return None, given
    part = _PageRange.asked(given, own.default if own else _ROWS)
    rest = {name: value for name, value in given.items() if name not in _PART}
    if own is None or own.high is None:
        return part, rest
    return part, {**rest, "limit": max(part.limit, min(part.at + part.limit + _NEWER, int(own.high)))}


async def _given(ctx: Context, declared: Operation) -> dict[str, Any]:
    """The arguments of a request. Raises Refusal."""
    given = await _sent(ctx, declared)
    taken = [*(each.name for each in declared.taken(Via.WEB)), *(_PART if declared.lists else ())]
    if unknown := [name for name in given if name not in {*taken, *(each.name for each in declared.parameters)}]:
        hint = nearest(unknown[0], taken) if taken else _("this operation has none")
        raise Refusal(400, _("{name}: unknown parameter; {hint}", name=unknown[0], hint=hint))
    return given


async def _sent(ctx: Context, declared: Operation) -> dict[str, Any]:
    if ctx.request.method != "POST":
        many = {each.name for each in declared.parameters if each.kind == "many"}
        query = ctx.request.query_params
        if twice := [name for name in query if name not in many and len(query.getlist(name)) > 1]:
            raise Refusal(400, _("{twice} is given more than once.", twice=twice[0]))
        return {name: query.getlist(name) if name in many else query[name] for name in query}
    if name := next(iter(ctx.request.query_params), ""):
        raise Refusal(400, _("{name}: in a POST request, parameters belong in the JSON body.", name=name))
    given = await ctx.json() if await ctx.request.body() else {}
    if state := ctx.request.headers.get("if-match", ""):
        if "only_at" not in {each.name for each in declared.parameters}:
            raise Refusal(400, _("{name} does not accept If-Match; memory.edit does.", name=declared.name))
        given = {**given, "only_at": state.strip('"')}
    return given


_Gives: TypeAlias = tuple[str, Literal["serialization"], TypeAdapter[Any]]
"""An operation with what it gives, as pydantic takes it."""


async def describe(ctx: Context) -> Response:
    """Describe the API as an OpenAPI document."""
    takes, gives = dict[str, JsonSchemaValue](), list[_Gives]()
    operations = sorted(offered(ctx).items())
    for name, declared in operations:
        takes[name] = _arguments_schema(declared)
        result: TypeAdapter[Any] = TypeAdapter(_data_type(declared.gives))
        result.rebuild()
        gives.append((name, "serialization", result))
        await asyncio.sleep(0)  # everything together takes long enough to delay others
    results, types = await asyncio.to_thread(_result_schemas, gives)
    # Types of two operations may have one name.
    types |= {f"{name}.{of}": told for name, whole in takes.items() for of, told in whole.get("$defs", {}).items()}
    paths = {f"/api/v1/{name}": _path(declared, takes[name], results[name]) for name, declared in operations}
    chat = {"summary": "Talk to an agent or a group", "operationId": "chat.completions", "responses": _responses({})}
    return JSONResponse(
        {
            "openapi": "3.1.0",
            "info": {"title": "Carina", "version": version()},
            "paths": {**paths, "/v1/chat/completions": {"post": chat}},
            "components": {"schemas": types, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
            "security": [{"token": []}],
        }
    )


def _path(declared: Operation, takes: JsonSchemaValue, result: JsonSchemaValue) -> dict[str, Any]:
    schema = _schema(declared, takes)
    about = {"operationId": declared.name, "summary": declared.summary, "responses": _responses(result)}
    if declared.changes:
        body = {"required": bool(schema["required"]), "content": {"application/json": {"schema": schema}}}
        return {"post": {**about, "requestBody": body}}
    parameters = [
        {"name": name, "in": "query", "required": name in schema["required"], "schema": told}
        for name, told in schema["properties"].items()
    ]
    if declared.lists:
        parts = {name: each for name, each in _PART.items() if name not in schema["properties"]}
        parameters += [{"name": name, "in": "query", "required": False, "schema": each} for name, each in parts.items()]
    return {"get": {**about, "parameters": parameters}}


def _schema(declared: Operation, takes: JsonSchemaValue) -> JsonSchemaValue:
    help_of = {each.name: each.help for each in declared.taken(Via.WEB)}
    there = {name: each for name, each in takes.get("properties", {}).items() if name in help_of}
    told = {name: {**each, "description": help_of[name]} for name, each in there.items()}
    required = [name for name in takes.get("required", ()) if name in help_of]
    return {"type": "object", "properties": told, "required": required, "additionalProperties": False}


def _arguments_schema(declared: Operation) -> JsonSchemaValue:
    template = f"#/components/schemas/{declared.name}.{{model}}"
    return declared.arguments.model_json_schema(ref_template=template, schema_generator=GenerateJsonSchema)


class _AsData(GenerateJsonSchema):
    """The schemas of results as `Result.data` gives them, merged with their row."""

    def ser_schema(self, _schema: object) -> None:
        """Values that are serialized by a function keep the schema of their type."""

    def is_instance_schema(self, _schema: object) -> JsonSchemaValue:
        return {"type": "object"}

    def model_schema(self, schema: ModelSchema) -> JsonSchemaValue:
        told = super().model_schema(schema)
        if issubclass(schema["cls"], Result) and (row := told["properties"].pop("row", None)):
            told["required"].remove("row")
            told["allOf"] = [row]
        return told


def _result_schemas(gives: Sequence[_Gives]) -> tuple[dict[str, JsonSchemaValue], dict[str, JsonSchemaValue]]:
    """The schemas of the results of operations, by operation, and of the types to which they refer."""
    template = "#/components/schemas/{model}"
    found, more = TypeAdapter.json_schemas(gives, ref_template=template, schema_generator=_AsData)
    return {name: told for (name, _mode), told in found.items()}, more.get("$defs", {})


def _data_type(gives: Any) -> Any:
    """The type of what `Result.data` gives for a type of results."""
    kind = get_origin(gives) or gives
    if kind is UnionType:
        return functools.reduce(operator.or_, map(_data_type, get_args(gives)))
    if kind is str:
        return Sentence
    if (own := get_type_hints(kind.data)["return"]) is not Any:
        return own
    if not issubclass(kind, Listing | Entry):
        return kind
    (row,) = get_args(gives) or get_args(kind.__orig_bases__[0])
    return GenericAlias(list, row) if issubclass(kind, Listing) else row


def _responses(result: JsonSchemaValue) -> dict[str, Any]:
    wrong = {
        "description": "The request was refused",
        "content": {"application/problem+json": {"schema": {"type": "object"}}},
    }
    return {"200": {"description": "The result", "content": {"application/json": {"schema": result}}}, "4XX": wrong}


ROUTES = (("GET", "/openapi.json", describe), ("GET", "/api/v1/{name}", operate), ("POST", "/api/v1/{name}", operate))
