"""Errors of calls to Bluesky, as types that say what to do next."""

from sources.base import DeliveryFailed, DeliveryUnclear, PlatformError
from texts import gettext_lazy

SOON = 5.0


class CallFailed(PlatformError):
    """A call failed."""


class ServerUnreachable(CallFailed):
    """The server is unreachable at the moment: no request was made."""


class NoAnswer(CallFailed):
    """The server gave no clear answer: a timeout, a broken connection, an error of its own."""


class RateLimited(CallFailed):
    """No call may be made for this many seconds, and none was; usually because the server asks for a pause."""

    def __init__(self, seconds: float, reason: str = "") -> None:
        super().__init__(reason or gettext_lazy("Bluesky asks the bot to wait {seconds} s", seconds=round(seconds)))
        self.seconds = seconds


class CallRefused(CallFailed):
    """The server rejects the call. `error` is its name of the reason, such as "ExpiredToken"."""

    def __init__(self, status: int, error: str, message: str) -> None:
        super().__init__(
            gettext_lazy(
                "Bluesky refused it ({status} {error}: {message})",
                status=status,
                error=error[:80],
                message=message[:200],
            )
        )
        self.status = status
        self.error = error
        self.message = message


def as_delivery(why: CallFailed) -> DeliveryFailed | DeliveryUnclear:
    """What a failed write means for the delivery."""
    match why:
        case ServerUnreachable():
            return DeliveryFailed(why.reason, retry_after=SOON, reached=False)
        case RateLimited():
            return DeliveryFailed(why.reason, retry_after=max(why.seconds, 1.0), reached=False)
        case CallRefused():
            return DeliveryFailed(why.reason)
        case _:
            return DeliveryUnclear(why.reason)
