"""Pages for messages: the list, failures in intake and delivery, and the stages of one message with their times."""

from typing import Any

from starlette.responses import Response

from bot.interfaces.web.request import Context, outcome
from texts import _, gettext_noop

_MOST = 100
_SHOWN = {"": gettext_noop("Newest"), "dead": gettext_noop("Failed"), "undelivered": gettext_noop("Not delivered")}


async def messages(ctx: Context) -> Response:
    """Incoming messages, newest first; those given up; undelivered answers."""
    done = await outcome(ctx)
    show = ctx.query("show") if ctx.query("show") in _SHOWN else ""
    rows, undelivered = (), ()
    older: int | None = None
    if show == "undelivered":
        undelivered = (await ctx.call("outbox.list", limit=_MOST)).rows
    else:
        before = {"before": ctx.query("before")} if ctx.query("before") else {}
        rows = (await ctx.call("inbox.list", dead=show == "dead", limit=_MOST, **before)).rows
        older = rows[-1].id if len(rows) == _MOST else None
    return ctx.page(
        "messages.html", title=_("Messages"), tabs=_SHOWN, show=show, rows=rows, undelivered=undelivered,
        older=older, **done,
    )  # fmt: skip


async def message(ctx: Context) -> Response:
    done = await outcome(ctx)
    trace = await ctx.call("inbox.show", row=ctx.request.path_params["row"])
    begun = min(each.at for each in trace.stages)
    ended = max(each.ended for each in trace.stages)
    whole = max(1.0, (ended - begun).total_seconds() * 1_000)
    bars = [_bar(each, begun, whole) for each in trace.stages]
    return ctx.page("message.html", title=_("Message"), trace=trace, bars=bars, whole=whole, **done)


def _bar(stage: Any, begun: Any, whole: float) -> dict[str, Any]:
    """The position of a stage on a timeline 1,000 units wide."""
    at = (stage.at - begun).total_seconds() * 1_000_000 / whole
    width = max(4.0, 1_000 * stage.milliseconds / whole)
    return {"stage": stage, "x": round(min(at, 996.0), 1), "width": round(min(width, 1_000 - min(at, 996.0)), 1)}


ROUTES = (("/messages", messages), ("/messages/{row}", message))
