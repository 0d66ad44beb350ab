"""How far this machine's clock differs from a server's, by the Date of its answer."""

import time
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import aiohttp

from memory.store.faults import call_point, outside
from sources.findings import Finding, State
from texts import _, gettext_noop

_ASK = call_point("clock.ask")
_SECONDS = 10.0
_TOLERATED = 30.0
"""Seconds. Bluesky rejects tokens after a minute; Date is in whole seconds, and the network takes time, too."""


async def examine_clock(url: str) -> Finding:
    """Compare clocks with the server of a URL; this changes nothing there, and any answer will do."""
    try:
        async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as http:
            before = time.time()
            answer = await outside(_ASK, http.get(url, allow_redirects=False), _SECONDS)
            middle = (before + time.time()) / 2
            answer.release()
        server = parsedate_to_datetime(answer.headers["date"]).timestamp() + 0.5
    except (aiohttp.ClientError, OSError, TimeoutError, KeyError, ValueError) as why:
        return Finding(
            "clock",
            State.DOUBT,
            _("the clock could not be checked: {kind}", kind=type(why).__name__),
            _("check the network"),
        )
    off = middle - server
    host = urlsplit(url).hostname
    if abs(off) <= _TOLERATED:
        return Finding("clock", State.GOOD, _("within {seconds:.0f} seconds of {host}", seconds=_TOLERATED, host=host))
    said = (
        gettext_noop("{seconds} seconds ahead of {host}")
        if off > 0
        else gettext_noop("{seconds} seconds behind {host}")
    )
    side = _(said, seconds=f"{abs(off):.0f}", host=host)
    words = _("{off}: reminders will come at the wrong time, and logins may be refused", off=side)
    return Finding("clock", State.PROBLEM, words, _("have the system set its clock over the network (NTP)"))
