"""Responses to requests that are refused: a page, or an error in the format that the program expects."""

from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response

from bot.interfaces.problem import problem_details

FOR_PROGRAMS = ("/api/", "/v1/", "/openapi.json", "/mcp", "/metrics")
"""Path prefixes for programs, which get errors as JSON."""


class Refusal(Exception):
    """The reason a request is refused: a status and a message, or a redirect for a browser."""

    parameter: str | None = None
    code: str | None = None

    def __init__(self, status: int, words: str, instead: str = "") -> None:
        super().__init__(words)
        self.status, self.words, self.instead = status, words, instead

    def response(self, path: str) -> Response:
        """The response in the format of the path."""
        if not path.startswith(FOR_PROGRAMS):
            if self.instead or self.status == 401:
                return RedirectResponse(self.instead or "/login", 303)
            return PlainTextResponse(self.words, self.status)
        if path.startswith("/v1/"):
            kind = "invalid_request_error" if self.status < 500 else "server_error"
            told = {"message": self.words, "type": kind, "param": self.parameter, "code": self.code}
            return JSONResponse({"error": told}, self.status)
        if path.startswith("/mcp"):  # its clients show the text of a JSON-RPC error only
            wrong = {"code": -32600 if self.status < 500 else -32603, "message": self.words}
            return JSONResponse({"jsonrpc": "2.0", "id": None, "error": wrong}, self.status, _sign_in(self.status))
        return problem(self.status, self.words)


def problem(status: int, words: str, title: str = "") -> Response:
    body = problem_details(status, words, title)
    return JSONResponse(body, status, _sign_in(status), media_type="application/problem+json")


def _sign_in(status: int) -> dict[str, str] | None:
    return {"WWW-Authenticate": "Bearer"} if status == 401 else None
