"""Why Discord cannot be used at all; composition tells the operator."""

from sources.base import SourceRefused
from texts import _


class WrongToken(SourceRefused):
    """Discord does not know the token."""

    def __init__(self) -> None:
        super().__init__(
            _("Discord refuses the token (DISCORD_TOKEN). Reset it in the developer portal, and set the new one.")
        )


class MissingIntent(SourceRefused):
    """Discord refuses the connection for an intent even after the privileged ones were left out."""

    def __init__(self) -> None:
        super().__init__(_("Discord refuses the gateway intents. Check the bot's settings in the developer portal."))


class GatewayRefused(SourceRefused):
    """Discord closed the connection for a reason that trying again does not cure."""

    def __init__(self, code: int) -> None:
        super().__init__(_("Discord closed the gateway for good (close code {code}).", code=code))
        self.code = code
