"""Refuses addresses that sent too many wrong codes or tokens.

`sign_in_pages.py` and `request_checks.py` use this when a code, a Discord account or a token is rejected.
"""

import time
from collections import defaultdict, deque

from msgspec import Struct, field

from bot.interfaces.web.refusals import Refusal

_TRIES, _TRY_SECONDS = 10, 300.0
_MOST_CLIENTS = 10_000


class FailedSignIns(Struct):
    """Counts failed sign-ins by address.

    A correct code still works, because any web page can make a browser send wrong codes from its owner's address.
    """

    _failed: dict[str, deque[float]] = field(default_factory=lambda: defaultdict(deque))

    def refuse_after_many(self, client: str, words: str) -> None:
        """Raise Refusal with this message if the address failed too often in the last five minutes."""
        failed = self._failed.get(client)
        while failed and failed[0] < time.monotonic() - _TRY_SECONDS:
            failed.popleft()
        if failed is not None and len(failed) >= _TRIES:
            raise Refusal(429, words)

    def note(self, client: str) -> None:
        if len(self._failed) >= _MOST_CLIENTS:
            self._failed.clear()
        self._failed[client].append(time.monotonic())
