"""What a provider's server says went wrong, as our errors: who acts next, and words that name no secret."""

import re
from collections.abc import Collection, Mapping
from typing import Any

from bot.models.base import ContextTooLong, ModelBusy, ModelError, ModelGarbage, ModelRefused, ModelRejected, Trouble

OVERFLOW = re.compile(r"context.?(size|length|window)|prompt is too long|too many tokens|exceed_context", re.IGNORECASE)
_SPENT = re.compile(r"insufficient_quota|billing|credit balance", re.IGNORECASE)
BUSY_STATUS = (408, 409, 425, 429)
_LONGEST_MESSAGE = 200


def unsupported(error: ModelError, document: object, options: Collection[str]) -> str:
    """The option that the server refuses the request for, by its own words; empty when it names none of these."""
    if not isinstance(error, ModelRejected):
        return ""
    said = _error(document)
    named = str(said.get("param") or "").partition(".")[0]
    words = re.findall(r"\w+", str(said.get("message")))
    words += ["response_format"] if "json_schema" in words else []  # some name the kind of format alone
    return next((option for option in sorted(options) if option == named or option in words), "")


def refusal(status: int, document: object, retry_after: float | None, model: str, secret: str) -> ModelError:
    """The error for an answer of this status; `document` is its body, as far as it was JSON, else its text."""
    error, code = _error(document), f"HTTP {status} {_code(document)}".strip()
    words = one_line(str(error.get("message") or "no reason given"), secret)
    told = f"{_code(document)} {error.get('message')}"
    if status == 413 or (status in (400, 422, 500) and OVERFLOW.search(told)):
        return ContextTooLong(f"{model}: the conversation is too long for it")
    if status == 402 or (status in (400, 403, 429) and _SPENT.search(told)):
        return ModelRefused(f"{model} refused us ({code})", trouble=Trouble.QUOTA)
    if status in (401, 403):
        return ModelRefused(f"{model} refused us ({code})", trouble=Trouble.KEY)
    if status == 404:
        return ModelRefused(f"{model} is not there ({code}): {words}", trouble=Trouble.MISSING)
    if status in BUSY_STATUS or status >= 500:
        return ModelBusy(f"{model} is busy or failing ({code})", retry_after)
    return ModelRejected(f"{model} did not take the request ({code}): {words}")


def failed_in_stream(document: object, model: str, secret: str) -> ModelError:
    """The error for one that is told after the answer has begun: most of these pass, so another try may work."""
    code = _error(document).get("code")
    if isinstance(code, int) and 400 <= code < 600:
        return refusal(code, document, None, model, secret)
    if OVERFLOW.search(f"{_code(document)} {_error(document).get('message')}"):
        return ContextTooLong(f"{model}: the conversation is too long for it")
    return ModelBusy(f"{model} is busy or failing ({_code(document) or 'an error in its answer'})")


def late(model: str) -> ModelError:
    return ModelBusy(f"{model} did not answer in time", trouble=Trouble.UNREACHABLE)


def cut_off(model: str, phase: str) -> ModelError:
    return ModelBusy(f"{model}: the connection failed ({phase})", trouble=Trouble.UNREACHABLE)


def no_answer(model: str, why: str) -> ModelError:
    return ModelGarbage(f"{model} answered something that is no answer ({why})")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, where the server names them as a number; a date is not worth reading."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) / unit
        except (KeyError, ValueError):
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    return None


def _error(document: object) -> Mapping[str, Any]:
    """What is told of it: servers say it as an object, as a text, or without an envelope."""
    found = document.get("error", document) if isinstance(document, dict) else document
    return found if isinstance(found, dict) else {"message": found}


def _code(document: object) -> str:
    error = _error(document)
    named = error.get("code") or error.get("type") or ""
    return named if isinstance(named, str) and re.fullmatch(r"[\w.-]{1,60}", named) else ""


def one_line(text: str, secret: str) -> str:
    """A provider's words on one short line, without the secret."""
    hidden = text.replace(secret, "***") if secret else text
    line = " ".join(hidden.split())
    return line if len(line) <= _LONGEST_MESSAGE else line[:_LONGEST_MESSAGE] + "…"
