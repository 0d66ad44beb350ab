"""A person's own page: what is kept of them as far as they may see it, with what everybody may have done with it.

Who that is comes from their session alone. What a form names, such as the number of a fact, is looked up by the same
operations as on Discord, which give and change nothing that is not theirs.
"""

import json
from typing import Any

from starlette.responses import Response

from bot.interfaces.web.actions import outcome
from bot.interfaces.web.context import FAILURES, Context
from bot.interfaces.web.security import OWN_PAGE, Refusal
from texts import error_text

_ENTRIES = 100
_ACTIONS = frozenset(
    {
        *("privacy.pause", "privacy.optout", "privacy.resume", "privacy.erase", "link.remove", "quiet"),
        *("facts.forget", "facts.correct", "archival.delete", "dream.allow", "dream.refuse"),
        *("remind.done", "remind.cancel", "tasks.done", "tasks.cancel", "events.cancel"),
    }
)


async def own_page(ctx: Context) -> Response:
    """All of it."""
    done = await outcome(ctx, _ACTIONS)
    kept = await ctx.call("privacy.see")
    return ctx.page(
        "me.html", title="What is kept about you", kept=kept, held=(await ctx.words(kept)).splitlines(),
        facts=await _rows(ctx, "facts.list", mine=True), guesses=await _rows(ctx, "dream.waiting"),
        entries=[each for each in await _rows(ctx, "archival.list", limit=_ENTRIES) if _is_of(each, kept.persons)],
        notes=[await ctx.call("memory.show", label=each.block) for each in await _rows(ctx, "memory.list")
               if _is_private(each)],
        reminders=await _rows(ctx, "remind.list"), tasks=await _rows(ctx, "tasks.list"),
        events=await _rows(ctx, "events.list"), clocks=await ctx.words(await ctx.try_call("quiet")), **done,
    )  # fmt: skip


async def export(ctx: Context) -> Response:
    """Everything that is kept of them, as a file."""
    if ctx.request.method != "POST":
        raise Refusal(405, "This takes the button of your page.")
    try:
        found = await ctx.call("privacy.export")
    except FAILURES as error:
        return ctx.page("error.html", 400, title="This did not work", words=error_text(error))
    text = json.dumps(found.data(), ensure_ascii=False, indent=2)
    headers = {"Content-Disposition": 'attachment; filename="carina.json"'}
    return Response(text, media_type="application/json", headers=headers)


async def _rows(ctx: Context, operation: str, **given: Any) -> tuple[Any, ...]:
    found = await ctx.try_call(operation, **given)
    return () if isinstance(found, str) else found.rows


def _is_of(entry: Any, persons: tuple[str, ...]) -> bool:
    return _is_private(entry) or not set(persons).isdisjoint(entry.people)


def _is_private(row: Any) -> bool:
    """Whether nobody else may read it: of what is theirs to see, that is what was said to them alone."""
    return str(row.audience).startswith("person:")


ROUTES = tuple(zip(OWN_PAGE, (own_page, export), strict=True))
