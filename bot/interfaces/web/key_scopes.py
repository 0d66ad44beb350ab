"""Which session or token may use which page and which part of the API.

`request_checks.py` identifies the sender of a request; `memory/people/web_keys.py` stores the keys and their scopes.
"""

from bot.interfaces.web.refusals import FOR_PROGRAMS, Refusal
from memory.people.web_keys import KeyScope, Kind, WebKey
from texts import _

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
OWN_PAGE = ("/me", "/me/export")
"""The only page for people other than the owner: the data stored about them."""


def require_scope(key: WebKey | None, path: str, method: str) -> None:
    """Raise Refusal if the key does not cover this path: pages need a session, and each scope covers its part of the
    API."""
    if key is not None and key.scope is KeyScope.OWN:
        if key.kind is not Kind.SESSION or path not in (*OWN_PAGE, "/", "/logout"):
            raise Refusal(404, _("There is nothing at this address."))
        if path == "/":
            raise Refusal(303, _("Your page is at another address."), OWN_PAGE[0])
        return
    if key is None:
        raise Refusal(
            401, _("Sign in first: `carina dashboard` gives you a link, and `carina token create NAME` a token.")
        )
    if not path.startswith(FOR_PROGRAMS) and key.kind is not Kind.SESSION:
        raise Refusal(403, _("Pages are for browsers that are signed in, not for tokens."))
    needed = KeyScope.CHAT if path.startswith("/v1/") else KeyScope.READ
    if path.startswith("/mcp") or (path.startswith("/api/") and method not in SAFE):
        needed = KeyScope.ADMIN
    if not key.scope.includes(needed):
        words = _(
            "This needs a token with the scope {needed}; {name} has {scope}.",
            needed=needed,
            name=key.name,
            scope=key.scope,
        )
        raise Refusal(403, words)
