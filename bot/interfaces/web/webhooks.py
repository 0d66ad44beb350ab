"""Webhook deliveries from other programs: signatures are checked, and each delivery is accepted once."""

import hashlib
import hmac
import json
import re
import time
from contextlib import suppress

from starlette.responses import Response

from bot.errors import UserError
from bot.interfaces.web.refusals import problem
from bot.interfaces.web.request import Context
from texts import error_text

_WINDOW = 300  # seconds for which a timestamped signature is valid
_LONGEST = 8_000
_STAMPED = re.compile(r"t=(\d{1,12}),\s*v1=([0-9a-f]{64})")


async def deliver(ctx: Context) -> Response:
    """Accept a delivery with `X-Hub-Signature-256`, as GitHub signs, or `X-Carina-Signature: t=<time>,v1=<HMAC>`."""
    sources, body = ctx.web.talk.services.data_sources, await ctx.request.body()
    found = await sources.webhook(ctx.request.path_params["name"])
    signature = None if found is None else _signature(ctx, found[1], body)
    if found is None or signature is None:
        return problem(401, "This delivery is not signed with the secret of a webhook, or too old.")
    try:
        await sources.deliver(found[0], signature, _words(ctx.request.headers.get("x-github-event", ""), body))
    except UserError as error:
        return problem(503, error_text(error))
    return Response(status_code=202)


def _signature(ctx: Context, secret: bytes, body: bytes) -> str | None:
    """The signature if valid. It also identifies the delivery, because ids in other headers are not signed."""
    given = ctx.request.headers.get("x-hub-signature-256", "")
    if given:
        expected = hmac.new(secret, body, hashlib.sha256).hexdigest()
        return expected if hmac.compare_digest(given.encode(), f"sha256={expected}".encode()) else None
    stamped = _STAMPED.fullmatch(ctx.request.headers.get("x-carina-signature", ""))
    if stamped is None or abs(time.time() - int(stamped[1])) > _WINDOW:
        return None
    expected = hmac.new(secret, stamped[1].encode() + b"." + body, hashlib.sha256).hexdigest()
    return expected if hmac.compare_digest(stamped[2], expected) else None


def _words(event: str, body: bytes) -> str:
    """The message for agents: the delivery as received, JSON indented."""
    text = body.decode("utf-8", "replace")
    with suppress(ValueError, RecursionError):
        text = json.dumps(json.loads(text), ensure_ascii=False, indent=1)
    head = f"Event {event}:\n" if event else ""
    rest = len(text) - _LONGEST
    left = f"\n… {rest:,} more characters were left out." if rest > 0 else ""
    return f"{head}{text[:_LONGEST]}{left}" or "(empty)"


ROUTES = (("POST", "/hooks/{name}", deliver),)
