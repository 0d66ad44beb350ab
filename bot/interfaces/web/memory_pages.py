"""Pages for memory: blocks with a slider over their versions, stored entries, facts, and a journal of changes."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, zip_longest
from typing import Any

from markupsafe import Markup
from msgspec import Struct
from starlette.responses import Response

from bot.interfaces.web.render import colors
from bot.interfaces.web.request import FAILURES, Context, outcome, told
from bot.services.memory.block_results import EditResult
from memory.blocks.changes import differing
from texts import _, error_text

_CHANGES = 500
_TABS = ("blocks", "entries", "facts", "journal", "tools")
_JOURNAL_HOURS = 24 * 30
_FEW, _MOST_ROWS = 100, 1_000


async def memory(ctx: Context) -> Response:
    entries = await ctx.chosen("entry") if ctx.request.method == "POST" else []
    done = await _forgotten(ctx, entries) if len(entries) > 1 else await outcome(ctx)
    tab = ctx.query("show") if ctx.query("show") in _TABS else "blocks"
    agent = ctx.query("agent")
    given = {"agent": agent} if agent else {}
    limit = min(max(ctx.number("limit") or 0, _FEW), _MOST_ROWS)
    found: Any = ()
    categories = list[str]()
    match tab:
        case "entries":
            suggested = await ctx.web.services.registry.suggest("search", "category", ctx.caller(), {})
            categories = sorted(name for name, _words in suggested)
            found = (await ctx.call("archival.list", limit=limit, **given)).rows
        case "facts":
            found = (await ctx.call("facts.list", **given)).rows
        case "journal" | "tools":
            kind = "memory_block_updated" if tab == "journal" else "tool_executed"
            more = {"hours": _JOURNAL_HOURS, "kind": kind, "limit": limit, **given}
            found = (await ctx.call("activity", **more)).rows
        case _:
            rows = (await ctx.call("memory.list")).rows
            held = sorted((row for row in rows if agent in ("", row.agent)), key=lambda row: row.agent)
            found = {name: list(each) for name, each in groupby(held, key=lambda row: row.agent)}
    readers = await ctx.readers(found) if tab in ("entries", "facts") else {}
    return ctx.page(
        "memory.html",
        title=_("Memory"),
        tab=tab,
        agent=agent,
        found=found,
        more=min(2 * limit, _MOST_ROWS) if tab not in ("blocks", "facts") and len(found) == limit < _MOST_ROWS else 0,
        categories=categories,
        readers=readers,
        **done,
    )


async def _forgotten(ctx: Context, entries: Sequence[str]) -> dict[str, Any]:
    results = [await ctx.act("archival.delete", {"entry": each}, {}) for each in entries]
    words = dict.fromkeys([await ctx.words(each) for each in results])
    return {"told": "\n".join(words), "told_kind": "bad" if any(isinstance(each, str) for each in results) else "good"}


async def block(ctx: Context) -> Response:
    """One block: its text, who wrote which part, and any version next to the newest."""
    label = ctx.query("label")
    done: dict[str, Any] = {}
    draft, conflict = None, None
    if ctx.request.method == "POST":
        form = await ctx.form()
        if form.get("op") == "memory.edit":
            done, draft, conflict = await _edited(ctx, label, form)
        else:
            done = await outcome(ctx)
    shown, history = (
        await ctx.call("memory.show", label=label),
        await ctx.call("memory.history", label=label, limit=_CHANGES),
    )
    changes = list(reversed(history.changes))
    versions = [changes[0].version - 1, *(each.version for each in changes)] if changes else [shown.newest]
    version = ctx.number("version")
    version = version if version is not None and version in versions else shown.newest
    blame = await ctx.try_call("memory.blame", label=label)
    parts = [] if isinstance(blame, str) else blame.parts
    writers = colors([*(each.writer for each in changes), *(each.writer for each in parts)])
    return ctx.page(
        "block.html", title=_("Block {block}", block=shown.row.block), shown=shown, changes=changes, versions=versions,
        version=version, parts=parts, writers=writers, draft=draft, conflict=conflict,
        **await _compared(ctx, label, version, shown.newest), **done,
    )  # fmt: skip


async def at_version(ctx: Context) -> Response:
    label, version = ctx.query("label"), ctx.number("version") or 0
    shown = await ctx.call("memory.show", label=label)
    return ctx.page(
        "block_version.html", shown=shown, version=version, **await _compared(ctx, label, version, shown.newest)
    )


async def _compared(ctx: Context, label: str, version: int, newest: int) -> dict[str, Any]:
    history = await ctx.call("memory.history", label=label, before=version + 1, limit=1)
    try:
        diff = await ctx.call("memory.diff", label=label, older=version, newer=newest)
    except FAILURES as error:
        return {"rows": [], "problem": error_text(error), "change": None}
    change = next((each for each in history.changes if each.version == version), None)
    return {"rows": side_by_side(diff.before, diff.after), "problem": "", "change": change}


async def _edited(ctx: Context, label: str, form: dict[str, str]) -> tuple[dict[str, Any], str | None, str | None]:
    """Store an edited text, merged with other writers' changes. If it cannot be stored, it stays in the form."""
    text = form.get("text", "").replace("\r\n", "\n")
    seen = form.get("seen", "")
    given = {"label": label, "text": text, **({"seen": int(seen)} if seen.isdecimal() else {})}
    result = await ctx.act("memory.edit", given, form)
    if isinstance(result, EditResult):
        return await told(ctx, result), None, result.text if result.merged else None
    return await told(ctx, result), text, None


class DiffRow(Struct, frozen=True):
    """One line of two versions side by side; None where a version has no such line."""

    before: Markup | None
    after: Markup | None
    same: bool


def side_by_side(before: str, after: str) -> list[DiffRow]:
    """Two texts line by line, with removed and added words marked."""
    rows: list[DiffRow] = []
    for same, went, came in _parts(before.splitlines(), after.splitlines()):
        if same:
            rows += [DiffRow(Markup.escape(line), Markup.escape(line), same=True) for line in went]
        else:
            rows += [_changed(*pair) for pair in zip_longest(went, came)]
    return rows


def _parts(one: Sequence[str], other: Sequence[str]) -> Iterator[tuple[bool, Sequence[str], Sequence[str]]]:
    """The parts of two sequences in order: whether they are equal, and their content in each."""
    done = 0
    for start, end, first, last in reversed(differing(one, other)):
        yield True, one[done:start], one[done:start]
        yield False, one[start:end], other[first:last]
        done = end
    yield True, one[done:], one[done:]


def _changed(before: str | None, after: str | None) -> DiffRow:
    if before is None or after is None:
        shown = [None if each is None else Markup.escape(each) for each in (before, after)]
        return DiffRow(shown[0], shown[1], same=False)
    left, right = Markup(), Markup()
    for same, went, came in _parts(*(re.findall(r"\w+|\W", each) for each in (before, after))):
        left += _marked("del", went, same)
        right += _marked("ins", came, same)
    return DiffRow(left, right, same=False)


def _marked(tag: str, words: Sequence[str], same: bool) -> Markup:
    text = Markup.escape("".join(words))
    return text if same or not text else Markup("<{0}>{1}</{0}>").format(Markup.escape(tag), text)


ROUTES = (
    ("/memory", memory),
    ("/memory/block", block),
    ("/memory/block/at", at_version),
)
