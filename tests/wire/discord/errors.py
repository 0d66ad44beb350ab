"""The errors Discord answers with, by its own code numbers."""

from __future__ import annotations

from typing import Any


class DiscordError(Exception):
    """A request (or a person's action) that Discord refuses."""

    def __init__(self, status: int, code: int, message: str, errors: dict[str, Any] | None = None) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code = code
        self.message = message
        self.errors = errors

    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.errors is not None:
            body["errors"] = self.errors
        return body


_KNOWN: dict[int, tuple[int, str]] = {
    0: (401, "401: Unauthorized"),
    10003: (404, "Unknown Channel"),
    10004: (404, "Unknown Guild"),
    10007: (404, "Unknown Member"),
    10008: (404, "Unknown Message"),
    10013: (404, "Unknown User"),
    10015: (404, "Unknown Webhook"),
    10062: (404, "Unknown interaction"),
    30007: (400, "Maximum number of webhooks reached (15)"),
    40060: (400, "Interaction has already been acknowledged."),
    50001: (403, "Missing Access"),
    50003: (403, "Cannot execute action on a DM channel"),
    50005: (403, "Cannot edit a message authored by another user"),
    50006: (400, "Cannot send an empty message"),
    50007: (403, "Cannot send messages to this user"),
    50008: (400, "Cannot send messages in a non-text channel"),
    50013: (403, "Missing Permissions"),
    50024: (400, "Cannot execute action on this channel type"),
    50027: (401, "Invalid Webhook Token"),
    160002: (400, "You cannot reply without permission to read message history"),
    160004: (400, "A thread has already been created for this message"),
}


def refuse(code: int) -> DiscordError:
    """The error Discord gives for one of its code numbers."""
    status, message = _KNOWN[code]
    return DiscordError(status, code, message)


def invalid(field: str, code: str, message: str) -> DiscordError:
    """Error 50035, naming the field at fault the way Discord nests it."""
    tree: dict[str, Any] = {"_errors": [{"code": code, "message": message}]}
    for part in reversed(field.split(".")):
        tree = {part: tree}
    return DiscordError(400, 50035, "Invalid Form Body", tree)


def too_long(field: str, limit: int) -> DiscordError:
    return invalid(field, "BASE_TYPE_MAX_LENGTH", f"Must be {limit} or fewer in length.")
