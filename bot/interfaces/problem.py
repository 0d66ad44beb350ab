"""An error as programs read it (RFC 9457): the answer of the HTTP API, and what a command with `--json` prints."""

from typing import Any

from texts import _


def problem_details(status: int, words: str, title: str = "") -> dict[str, Any]:
    titles = {
        400: _("Bad request"),
        401: _("Not signed in"),
        403: _("Not allowed"),
        404: _("Not found"),
        409: _("Confirmation needed"),
    }
    return {"type": "about:blank", "title": title or titles.get(status, "Error"), "status": status, "detail": words}
