"""What a provider library raises, as our errors: who acts next, and words that name no secret."""

import re
from typing import Any

from pydantic_ai import exceptions as theirs

from bot.models.base import ContextTooLong, ModelBusy, ModelError, ModelRefused, ModelRejected, Trouble
from bot.models.http_failures import BUSY_STATUS, OVERFLOW, cut_off, late, no_answer, one_line


def failure(error: Exception, model: str, secret: str) -> ModelError:
    """The error of ours that says what may be done now."""
    match error:
        case theirs.ModelContextWindowExceededError():
            return ContextTooLong(f"{model}: the conversation is too long for it")
        case theirs.ModelHTTPError(status_code=status) if status == 413 or _overflows(error):
            return ContextTooLong(f"{model}: the conversation is too long for it")
        case theirs.ModelAuthenticationError():
            return ModelRefused(f"{model} refused us ({_code(error)})", trouble=Trouble.KEY)
        case theirs.ModelQuotaExceededError():
            return ModelRefused(f"{model} refused us ({_code(error)})", trouble=Trouble.QUOTA)
        case theirs.ModelNotFoundError():
            reason = f"{model} is not there ({_code(error)}): {_said(error, secret)}"
            return ModelRefused(reason, trouble=Trouble.MISSING)
        case theirs.ModelRequestTimeout() | theirs.ModelTimeoutError():
            return late(model)
        case theirs.ModelConnectionError(phase=phase):
            return cut_off(model, phase or "closed")
        case theirs.ModelRateLimitError() | theirs.ModelUnavailableError() | theirs.ModelServerError():
            return ModelBusy(f"{model} is busy or failing ({_code(error)})", error.retry_after)
        case theirs.ModelHTTPError(status_code=status) if status in BUSY_STATUS:
            return ModelBusy(f"{model} is busy or failing ({_code(error)})", error.retry_after)
        case theirs.ModelRequestRejectedError() | theirs.ModelHTTPError():
            return ModelRejected(f"{model} did not take the request ({_code(error)}): {_said(error, secret)}")
        case theirs.UserError():
            return ModelRejected(f"{model} cannot be asked that: {one_line(error.message, secret)}")
        case _:
            return no_answer(model, type(error).__name__)


def _overflows(error: theirs.ModelHTTPError) -> bool:
    """Local servers name no code for it."""
    return error.status_code in (400, 422, 500) and bool(OVERFLOW.search(str(error.body)))


def _code(error: theirs.ModelAPIError) -> str:
    status = f"HTTP {error.status_code}" if isinstance(error, theirs.ModelHTTPError) else ""
    named = error.provider_error_code or error.provider_error_type or ""
    code = named if re.fullmatch(r"[\w.-]{1,60}", named) else ""
    return " ".join(filter(None, (status, code))) or type(error).__name__


def _said(error: theirs.ModelAPIError, secret: str) -> str:
    """The provider's own words, as far as it sent some."""
    body: Any = error.body
    for key in ("error", "message"):
        body = body.get(key, body) if isinstance(body, dict) else body
    return one_line(body, secret) if isinstance(body, str) else "no reason given"
