"""Forms that call operations: from what a form sent to arguments, and what came of it on the page."""

from collections.abc import Collection, Mapping
from typing import Any

from bot.errors import CallError
from bot.interfaces.web.context import Context, Question
from bot.services.caller import Via, is_offered
from bot.services.parameters import Parameter
from bot.services.registry import Operation
from bot.services.results import Result
from texts import _

_OURS = frozenset({"csrf", "op", "sure", "shown"})


def offered(ctx: Context) -> dict[str, Operation]:
    """What a browser can have done, by name."""
    found = ctx.web.services.registry.operations.values()
    there = (each for each in found if is_offered(Via.WEB, each.via) and not _needs_path(each))
    return {each.name: each for each in there if each.offered}


def fields_of(declared: Operation, via: Via = Via.WEB) -> list[Parameter]:
    """The arguments that a browser can give."""
    return [each for each in declared.parameters if is_offered(via, each.via) and each.kind != "path"]


def arguments(declared: Operation, form: Mapping[str, str], via: Via = Via.WEB) -> dict[str, Any]:
    """What a form gives, as the operation takes it; what was left empty is not given."""
    given: dict[str, Any] = {}
    for each in fields_of(declared, via):
        text = form.get(each.name)
        if text is None or (text == "" and not each.required and not each.piped):
            continue
        match each.kind:
            case "many":
                given[each.name] = [line.strip() for line in text.splitlines() if line.strip()]
            case "content" | "text":
                given[each.name] = text.replace("\r\n", "\n")
            case _:
                given[each.name] = text
    return given


async def outcome(ctx: Context, offers: Collection[str] | None = None) -> dict[str, Any]:
    """Do what a form of this page asks for, and give what the page says of it; nothing where it was only opened.

    `offers` is all that the page can have done; None is everything, on pages that only the owner sees.
    """
    if ctx.request.method != "POST":
        return {}
    form = await ctx.form()
    declared = ctx.web.services.registry.operations.get(form.get("op", ""))
    if declared is None or (offers is not None and declared.name not in offers):
        raise CallError(_("This form names nothing that can be done here."))
    return await told(ctx, await ctx.act(declared.name, arguments(declared, form, ctx.caller().via), form))


async def told(ctx: Context, result: Result | Question | str) -> dict[str, Any]:
    """What a page says of a result."""
    if isinstance(result, Question):
        return {"question": result}
    failed = isinstance(result, str)
    return {"told": await ctx.words(result), "told_kind": "bad" if failed else "good"}


def _needs_path(declared: Operation) -> bool:
    return any(each.kind == "path" and each.required for each in declared.parameters)
