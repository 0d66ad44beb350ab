"""Errors of calls to Bluesky, as types that say what to do next."""

from sources.base import DeliveryFailed, DeliveryUnclear, SourceRefused
from texts import _, gettext_lazy

SOON = 5.0


class CallFailed(Exception):
    """A call failed. `reason` is for logs and for the owner."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Unreachable(CallFailed):
    """The server is unreachable at the moment: nothing was asked."""


class NoAnswer(CallFailed):
    """The server gave no clear answer: a timeout, a broken connection, an error of its own."""


class NoLogin(NoAnswer):
    """The server's answer to a login is not that of a Bluesky server; this may be temporary."""

    def __init__(self, service: str, what: str) -> None:
        super().__init__(
            gettext_lazy(
                "{service} did not open a session ({what}). If this continues, check BLUESKY_SERVICE.",
                service=service,
                what=what,
            )
        )


class RateLimited(CallFailed):
    """The server asks to wait so many seconds. Nothing was done."""

    def __init__(self, seconds: float) -> None:
        super().__init__(gettext_lazy("Bluesky asks to wait {seconds} s", seconds=round(seconds)))
        self.seconds = seconds


class Refused(CallFailed):
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


class WrongPassword(SourceRefused):
    """The server rejects the handle with this password."""

    def __init__(self, handle: str, service: str) -> None:
        super().__init__(
            _(
                "{service} refused the login of {handle}. Check BLUESKY_HANDLE, and create a new app "
                "password for BLUESKY_APP_PASSWORD in the settings of the account, under Privacy and "
                "security, App passwords.",
                service=service,
                handle=handle,
            )
        )


class AccountGone(SourceRefused):
    """The server does not host the account any more."""

    def __init__(self, handle: str, service: str) -> None:
        super().__init__(
            _(
                "{service} says that the account {handle} was taken down. Ask its operators why, or set BLUESKY_HANDLE "
                "to another account.",
                service=service,
                handle=handle,
            )
        )


def as_delivery(why: CallFailed) -> DeliveryFailed | DeliveryUnclear:
    """What a failed write means for the delivery."""
    match why:
        case Unreachable():
            return DeliveryFailed(why.reason, retry_after=SOON, reached=False)
        case RateLimited():
            return DeliveryFailed(why.reason, retry_after=max(why.seconds, 1.0), reached=False)
        case Refused():
            return DeliveryFailed(why.reason)
        case _:
            return DeliveryUnclear(why.reason)
