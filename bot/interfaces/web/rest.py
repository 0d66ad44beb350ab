"""Operations as JSON over HTTP, and their description (OpenAPI 3.1), both made from the registry."""

import json
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from starlette.responses import JSONResponse, Response

from bot.errors import UserError
from bot.interfaces.cli.version import version
from bot.interfaces.web.actions import fields_of, offered
from bot.interfaces.web.context import FAILURES, Context
from bot.interfaces.web.security import Refusal, problem
from bot.services.caller import Unconfirmed
from bot.services.registry import Operation

_CONFIRM = "x-confirm"


async def operate(ctx: Context) -> Response:
    """Do an operation: GET where it only looks, POST with a JSON object of its arguments."""
    name, method = ctx.request.path_params["name"], ctx.request.method
    declared = offered(ctx).get(name)
    if declared is None:
        return problem(404, f"There is no operation {name}; /openapi.json lists them.")
    if method == "GET" and declared.changes:
        return problem(405, f"{name} changes something: use POST.", "Wrong method")
    given = await _given(ctx, declared)
    caller = ctx.caller(sure=ctx.request.headers.get(_CONFIRM, "").lower() == "yes")
    try:
        results = [each async for each in ctx.web.services.registry.results(name, caller, given)]
    except Unconfirmed as question:
        return problem(409, f"{question} Send it again with the header X-Confirm: yes.")
    except FAILURES as error:
        return problem(422 if isinstance(error, UserError) else 400, str(error), "Not done")
    return JSONResponse(results[-1].data() if results else None)


async def _given(ctx: Context, declared: Operation) -> dict[str, Any]:
    """The arguments of a request. Raises Refusal."""
    if ctx.request.method == "GET":
        many = {each.name for each in declared.parameters if each.kind == "many"}
        query = ctx.request.query_params
        if twice := [name for name in query if name not in many and len(query.getlist(name)) > 1]:
            raise Refusal(400, f"{twice[0]} is given more than once.")
        return {name: query.getlist(name) if name in many else query[name] for name in query}
    body = await ctx.request.body()
    try:
        given = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise Refusal(400, "The body is not a JSON object.")
    return given


async def describe(ctx: Context) -> Response:
    """The whole API for programs that read descriptions."""
    paths = {f"/api/v1/{name}": _path(declared) for name, declared in sorted(offered(ctx).items())}
    chat = {"summary": "Talk to an agent or a group", "operationId": "chat.completions", "responses": _responses()}
    return JSONResponse(
        {
            "openapi": "3.1.0",
            "info": {"title": "Carina", "version": version()},
            "paths": {**paths, "/v1/chat/completions": {"post": chat}},
            "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
            "security": [{"token": []}],
        }
    )


def _path(declared: Operation) -> dict[str, Any]:
    schema = _schema(declared)
    about = {"operationId": declared.name, "summary": declared.summary, "responses": _responses()}
    if declared.changes:
        body = {"required": bool(schema["required"]), "content": {"application/json": {"schema": schema}}}
        return {"post": {**about, "requestBody": body}}
    parameters = [
        {"name": name, "in": "query", "required": name in schema["required"], "schema": told}
        for name, told in schema["properties"].items()
    ]
    return {"get": {**about, "parameters": parameters}}


def _schema(declared: Operation) -> JsonSchemaValue:
    """Of the arguments that can be given here."""
    whole = declared.arguments.model_json_schema(schema_generator=GenerateJsonSchema)
    help_of = {each.name: each.help for each in fields_of(declared)}
    there = {name: each for name, each in whole.get("properties", {}).items() if name in help_of}
    told = {name: {**each, "description": help_of[name]} for name, each in there.items()}
    required = [name for name in whole.get("required", ()) if name in help_of]
    shared = {"$defs": whole["$defs"]} if "$defs" in whole else {}
    return {"type": "object", "properties": told, "required": required, "additionalProperties": False, **shared}


def _responses() -> dict[str, Any]:
    wrong = {"description": "It was not done", "content": {"application/problem+json": {"schema": {"type": "object"}}}}
    return {"200": {"description": "What came of it", "content": {"application/json": {}}}, "4XX": wrong}


ROUTES = (
    ("GET", "/openapi.json", describe),
    ("GET", "/api/v1/{name}", operate),
    ("POST", "/api/v1/{name}", operate),
)
