"""The simple pages: overview, approvals, search, agents, people, costs and others."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from functools import partial
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from msgspec import Struct
from starlette.responses import Response

from bot.interfaces.command_headings import HEADINGS
from bot.interfaces.web.recent_logs import components, tail
from bot.interfaces.web.refusals import Refusal
from bot.interfaces.web.request import FAILURES, Context, arguments, offered, outcome, told
from bot.interfaces.web.request_checks import OWN_PAGE
from bot.services import titles
from bot.services.caller import Via
from bot.services.memory.context_preview import Preview
from bot.services.people.approvals import RequestRow
from bot.services.people.place_settings import MODES
from bot.services.people.privacy import PersonCounts
from bot.services.people.tasks import TaskRow, as_tree, typed_due
from bot.services.registry import Operation
from bot.services.results import Result
from bot.services.system.jobs import JobRow
from memory.erasure.personal_tables import ERASED
from memory.permission_requests import Status
from memory.queue import inbox
from memory.store.ids import MessageId, text_mark
from scheduler.times_in_words import time_words
from scheduler.zones import zone_of
from sources.api import DASHBOARD, SOURCE
from texts import DAY_END, _, language

_DAYS = (1, 7, 30, 90)
_WEEK = 7
_SOON = timedelta(hours=1)
_CALENDAR_DAYS = 35
_MONDAY_FIRST = ("de",)
"""Languages whose calendar weeks begin on Monday; in American English and Japanese they begin on Sunday."""
_HITS, _MORE_HITS = 10, 50
_MORE_FILTERS = frozenset({"until", "author", "role", "place", "category", "tag"})
_LINES = 300
_TOLD_ELSEWHERE = ("reminder:", "event:")
"""Jobs of reminders and events, which the calendar shows as those."""
_KINDS = ("reminder", "event", "task", "job")


class Due(Struct, frozen=True, order=True):
    """A calendar entry; a repeating one appears several times with the same id."""

    at: datetime
    kind: str
    text: str
    id: str

    @property
    def clock(self) -> str:
        """Its time of day; empty for an all-day entry."""
        return "" if self.at.time() == DAY_END else time_words(self.at)


async def overview(ctx: Context) -> Response:
    """The state of the service, and what needs attention."""
    done = await outcome(ctx)
    status, budgets, week, waiting, undelivered, jobs = await asyncio.gather(
        ctx.call("status"),
        ctx.rows("budget.list"),
        ctx.try_call("inbox.days", days=_WEEK),
        ctx.try_call("permits.list"),
        ctx.rows("outbox.list"),
        ctx.rows("jobs.list"),
    )
    soon = ctx.web.clock() + _SOON
    budget = next((each for each in budgets if (each.of, each.each) == ("constellation", "day") and each.usd), None)
    today = 0.0 if isinstance(week, str) else week.rows[-1].cost_usd
    cost = today if budget is None else budget.usd_spent  # of a day in UTC
    return ctx.page(
        "overview.html", title=_("Overview"), service=status, cost=cost, budget=budget,
        week=None if isinstance(week, str) else week,
        requests=() if isinstance(waiting, str) else _waiting(waiting.requests), undelivered=undelivered,
        due=sum(each.next is not None and each.next <= soon and each.state != "paused" for each in _own(jobs)), **done,
    )  # fmt: skip


async def approvals(ctx: Context) -> Response:
    """Requests waiting for approval, with their exact arguments, and standing approvals."""
    done = await outcome(ctx)
    found = await ctx.call("permits.list")
    whole = {each.id: await ctx.try_call("permits.show", request=each.id) for each in _waiting(found.requests)[:50]}
    record = await ctx.rows("permits.audit", limit=40)
    return ctx.page("approvals.html", title=_("Approvals"), found=found, whole=whole, record=record, **done)


def _waiting(requests: Sequence[RequestRow]) -> list[RequestRow]:
    return [each for each in requests if each.status == Status.WAITING]


async def search(ctx: Context) -> Response:
    """One search over everything."""
    declared = _operation(ctx, "search")
    wanted = arguments(declared, ctx.request.query_params)
    limit = _MORE_HITS if ctx.query("all") else _HITS
    found = await ctx.try_call("search", **{**wanted, "limit": limit}) if wanted else None
    failed = found if isinstance(found, str) else ""
    said = [MessageId(int(hit.id)) for hit in found.hits if hit.kind == "message"] if found and not failed else []
    fields = [each for each in declared.taken(Via.WEB) if each.name not in ("text", "limit")]
    return ctx.page(
        "search.html", title=_("Search"), found=None if failed else found, wanted=wanted, fields=fields,
        more=_MORE_FILTERS, limit=limit, query=str(ctx.request.query_params),
        agents=[each.agent for each in (await ctx.call("agent.list")).rows],
        readers=await ctx.readers(found.hits if found and not failed else ()),
        rows=await ctx.web.talk.database.read(lambda rows: inbox.of_messages(rows, said)) if said else {},
        told=failed, told_kind="bad" if failed else "good",
    )  # fmt: skip


async def agents(ctx: Context) -> Response:
    """The agents that answer, and the groups in which they work together."""
    done = await outcome(ctx)
    found, groups = await ctx.call("agent.list"), await ctx.call("group.list")
    return ctx.page("agents.html", title=_("Agents"), agents=found.rows, groups=groups.rows, **done)


async def agent(ctx: Context) -> Response:
    found, done = await _stored(ctx, "agent")
    return ctx.page("agent.html", title=found.agent, agent=found, **done)


async def group(ctx: Context) -> Response:
    settings, done = await _stored(ctx, "group")
    found = await ctx.call("group.status", group=settings.group)
    return ctx.page("group.html", title=found.group, group=found, toml=settings.toml, **done)


async def _stored(ctx: Context, kind: str) -> tuple[Any, dict[str, Any]]:
    """Save the settings in a form, or preview the changes; values that are not saved stay in the form."""
    show = partial(ctx.call, f"{kind}.show", **{kind: ctx.request.path_params["name"]})
    found, form = await show(), await ctx.form()
    if "dry_run" not in form and form.get("seen", (now := text_mark(found.toml))) != now:
        words = _(
            "Somebody else changed these settings while you were editing, so your changes have not been saved. "
            "Preview shows the differences; Save overwrites the other changes."
        )
        return found, {"told": words, "told_kind": "bad", "draft": form.get("file", "")}
    if done := await outcome(ctx, (f"{kind}.import",)):
        found = await show()
    return found, {**done, "draft": form.get("file", "") if done.get("told_kind") == "bad" or "dry_run" in form else ""}


async def people(ctx: Context) -> Response:
    """People with their accounts and access, and the data stored about them."""
    done = await outcome(ctx)
    listed = (await ctx.call("people.list")).rows
    kept = await ctx.try_call("privacy.see", person=ctx.query("person")) if ctx.query("person") else None
    return ctx.page(
        "people.html", title=_("People"), listed=listed, kept=kept,
        held=await ctx.kept(kept) if isinstance(kept, PersonCounts) else [],
        names={ERASED: _(ERASED)} | {each.subject: each.name for each in listed if each.name}, **done,
    )  # fmt: skip


async def costs(ctx: Context) -> Response:
    days = ctx.number("days")
    days = days if days in _DAYS else 30
    found = await ctx.call("cost", days=days)
    bills = found.every["day"]
    zone = zone_of((await ctx.web.services.registry.plain(ctx.caller())).zone)
    by_day, today = {bill.of: bill for bill in bills}, ctx.web.clock().astimezone(zone).date()
    each_day = [(today - timedelta(days=back)).isoformat() for back in reversed(range(days))]
    spent = [by_day.get(day) for day in each_day]
    plot = {
        "labels": each_day,
        "series": [
            {"label": _("Cost ($)"), "values": [round(b.cost_usd, 4) if b else 0 for b in spent], "scale": "$"},
            {"label": _("Tokens"), "values": [b.input_tokens + b.output_tokens if b else 0 for b in spent]},
        ],
    }
    return ctx.page(
        "costs.html", title=_("Costs"), days=days, choices=_DAYS, plot_data=plot, bills=bills,
        agents=found.every["agent"], models=found.every["model"], purposes=found.every["purpose"],
        budgets=found.budgets,
    )  # fmt: skip


async def nights(ctx: Context) -> Response:
    """What agents did unattended, with an undo."""
    done = await outcome(ctx)
    night = {"night": ctx.query("night")} if ctx.query("night") else {}
    found = await ctx.try_call("summary.night", **night)
    report, guesses = await ctx.rows("dream.report"), await ctx.rows("dream.waiting")
    return ctx.page(
        "nights.html", title=_("Nights"), night=ctx.query("night"),
        turns=() if isinstance(found, str) else found.rows, problem=found if isinstance(found, str) else "",
        report=report, guesses=guesses, **done,
    )  # fmt: skip


async def schedule(ctx: Context) -> Response:
    done = await outcome(ctx)
    every = ("jobs.list", "remind.list", "tasks.list", "coord.status")
    jobs, reminders, tasks, shared = [await ctx.call(name) for name in every]
    events, times = [await ctx.call(name, days=_CALENDAR_DAYS) for name in ("events.list", "events.calendar")]
    lists = [(_("Tasks"), as_tree(tasks.rows)), (_("Tasks that agents share"), as_tree(shared.tasks))]
    own = _own(jobs.rows)
    dated = [(each.next, "job", each.title, each.id) for each in own if each.next and each.state != "paused"]
    dated += [(each.at, each.kind, each.text, each.id) for each in times.rows]
    dated += [(each.due, "task", each.text, each.id) for each in (*tasks.rows, *shared.tasks) if each.due]
    zone = (await ctx.web.services.registry.plain(ctx.caller())).zone
    local = [Due(at.astimezone(zone_of(zone)), *rest) for at, *rest in dated]
    now = ctx.web.clock().astimezone(zone_of(zone))
    shares = [(_week_share(now, each.at), each) for each in local]
    return ctx.page(
        "schedule.html", title=_("Schedule"), days=_calendar(now, local), now_at=_week_share(now, now), jobs=own,
        week={kind: [(at, each) for at, each in shares if 0 <= at < 1 and each.kind == kind] for kind in _KINDS},
        reminders=reminders.rows, events=events.rows, tasks=lists, present=_present, zone=zone, **done,
    )  # fmt: skip


def _present(task: TaskRow) -> str:
    """The values that a form for changing a task begins with."""
    fields = "\n".join(f"{name}={value}" for name, value in task.fields.items())
    given = {"task": task.id, "title": task.text, "notes": task.notes, "state": task.status}
    given["due"] = typed_due(task.due)
    return urlencode({**given, "priority": task.priority, "under": task.step_of, "field": fields})


def _own(jobs: Sequence[JobRow]) -> list[JobRow]:
    return [each for each in jobs if not each.id.startswith(_TOLD_ELSEWHERE)]


def _week_share(now: datetime, at: datetime) -> float:
    """Position of a time in the seven days from today on; today is 0 to 1/7."""
    return ((at.date() - now.date()).days + (at.hour + at.minute / 60) / 24) / _WEEK


def _calendar(now: datetime, dated: Sequence[Due]) -> list[dict[str, Any]]:
    """Five weeks from the start of this one; each day lists entries before jobs, and a repeating job once."""
    first = (now - timedelta(days=(now.weekday() + (language() not in _MONDAY_FIRST)) % _WEEK)).date()
    by_day: dict[date, dict[str, Due]] = {}
    for each in sorted(dated, key=lambda one: (one.kind == "job", one)):
        by_day.setdefault(each.at.date(), {}).setdefault(each.id, each)
    days, today = [first + timedelta(days=number) for number in range(_CALENDAR_DAYS)], now.date()
    due = {day: list(by_day.get(day, {}).values()) for day in days}
    return [{"date": day, "today": day == today, "past": day < today, "due": due[day]} for day in days]


async def context(ctx: Context) -> Response:
    """The full prompt that an agent would get in a place right now, and why each memory is in it."""
    asked = await ctx.form() if ctx.request.method == "POST" else dict(ctx.request.query_params)
    change = {
        name: asked[name].replace("\r\n", "\n") for name in ("block", "text") if "block" in asked and name in asked
    }
    places = [*await ctx.web.services.registry.suggest("context", "place", ctx.caller(), {})]
    own = next(
        (id_ for id_, _name in places if id_.startswith(f"{SOURCE}:{DASHBOARD}/")), places[0][0] if places else ""
    )
    seen = {"place": asked.get("place") or own, "agent": asked.get("agent", ""), "person": asked.get("person", "")}
    preview = await ctx.try_call("context", **seen, **change) if places else None
    before = await ctx.try_call("context", **seen) if places and change else None
    return ctx.page(
        "context.html", title=_("Context"), agents=(await ctx.call("agent.list")).rows, places=places, seen=seen,
        change=change, people=(await ctx.call("people.list")).rows, preview=preview,
        before=sum(each.tokens for each in before.sections) if isinstance(before, Preview) else None,
    )  # fmt: skip


async def graph(ctx: Context) -> Response:
    """A browser for the knowledge graph."""
    about = ctx.query("about")
    found = await ctx.try_call("graph", **({"about": about} if about else {}))
    failed = found if isinstance(found, str) else ""
    return ctx.page("graph.html", title=_("Graph"), about=about, found=None if failed else found, problem=failed)


async def logs(ctx: Context) -> Response:
    wanted: dict[str, Any] = {"level": ctx.query("level"), "words": ctx.query("text")}
    wanted |= {"turn": ctx.query("turn").strip(), "component": ctx.query("component")}
    return ctx.page("logs.html", title=_("Logs"), lines=tail(_LINES, **wanted), components=components(), **wanted)


async def settings(ctx: Context) -> Response:
    """The configuration with its sources, the active sessions, and the tokens."""
    done = await outcome(ctx)
    found, sessions, tokens, sources, modes = await asyncio.gather(
        *map(ctx.call, ("settings", "dashboard.sessions", "token.list", "source.list", "mode.list"))
    )
    return ctx.page(
        "settings.html", title=_("Settings"), rows=found.rows, sessions=sessions.rows, tokens=tokens.rows,
        this=ctx.request.state.key.id, sources=sources.rows, modes=modes.rows,
        mode_names={name: _(words) for name, words in MODES.items()}, **done,
    )  # fmt: skip


async def commands(ctx: Context) -> Response:
    """Every command, in the order of `carina --help`."""
    found = sorted(offered(ctx).values(), key=lambda each: each.name)
    groups = {name: list(each) for name, each in groupby(found, key=lambda each: each.words[0])}
    told, parts = titles(), dict[str, tuple[list[Operation], dict[str, list[Operation]]]]()
    for part, names in HEADINGS.items():
        there = [name for name in names if name in groups]
        alone = [each for name in there if name not in told for each in groups[name]]
        parts[part] = alone, {told[name]: groups[name] for name in there if name in told}
    return ctx.page("commands.html", title=_("Commands"), parts=parts)


async def command(ctx: Context) -> Response:
    declared = _operation(ctx, ctx.request.path_params["name"])
    form = await ctx.form() if ctx.request.method == "POST" else dict(ctx.request.query_params)
    done, shown = dict[str, Any](), ""
    if ctx.request.method == "POST" or not (declared.changes or any(each.required for each in declared.parameters)):
        came = await ctx.act(declared.name, arguments(declared, form, before=ctx.request.query_params), form)
        shown = came.document if isinstance(came, Result) else ""
        if isinstance(came, Result) and not declared.changes:
            shown = shown or await ctx.words(came, numbered=True)
        else:
            done = await told(ctx, came)
    return ctx.page(
        "command.html", title=_(declared.summary), declared=declared, fields=declared.taken(Via.WEB), form=form,
        shown=shown, query=ctx.request.url.query, known=await _known(ctx, declared, form), **done,
    )  # fmt: skip


async def _known(ctx: Context, declared: Operation, form: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Labels for the given field values; none for a field whose suggestions depend on a missing value."""
    known = dict[str, dict[str, str]]()
    for each in declared.taken(Via.WEB):
        if each.suggests and form.get(each.name):
            with suppress(*FAILURES):
                found = await ctx.web.services.registry.suggest(declared.name, each.name, ctx.caller(), form)
                known[each.name] = dict(found)
    return known


def _operation(ctx: Context, name: str) -> Operation:
    found = offered(ctx).get(name)
    if found is None:
        raise Refusal(404, _("There is no command “{name}”.", name=name))
    return found


_ENTRIES = 100
_ACTIONS = frozenset(
    {
        *("privacy.pause", "privacy.optout", "privacy.resume", "privacy.erase", "link.remove", "quiet"),
        *("facts.forget", "facts.correct", "archival.delete", "dream.allow", "dream.refuse"),
        *("remind.done", "remind.cancel", "tasks.done", "tasks.cancel", "events.cancel"),
    }
)


async def own_page(ctx: Context) -> Response:
    done = await outcome(ctx, _ACTIONS)
    kept = await ctx.call("privacy.see")
    return ctx.page(
        "me.html", title=_("What is kept about you"), kept=kept, held=await ctx.kept(kept),
        facts=await ctx.rows("facts.list", mine=True), guesses=await ctx.rows("dream.waiting"),
        entries=[each for each in await ctx.rows("archival.list", limit=_ENTRIES)
                 if _is_private(each) or not set(kept.persons).isdisjoint(each.people)],
        notes=[await ctx.call("memory.show", label=each.block) for each in await ctx.rows("memory.list")
               if _is_private(each)],
        reminders=await ctx.rows("remind.list"), tasks=await ctx.rows("tasks.list"),
        events=await ctx.rows("events.list"), clocks=await ctx.words(await ctx.try_call("quiet")),
        zone=(await ctx.web.services.registry.plain(ctx.caller())).zone, **done,
    )  # fmt: skip


async def export(ctx: Context) -> Response:
    if ctx.request.method != "POST":
        raise Refusal(405, _("Use the button on your page for this."))
    found = await ctx.call("privacy.export")
    data = await asyncio.to_thread(found.attachment, str)
    headers = {"Content-Disposition": 'attachment; filename="carina-privacy.zip"'}
    return Response(data, media_type="application/zip", headers=headers)


def _is_private(row: Any) -> bool:
    """Whether nobody else may read it: among a person's own entries, those said to them alone."""
    return str(row.audience).startswith("person:")


ROUTES = (
    ("/", overview),
    ("/approvals", approvals),
    ("/search", search),
    ("/agents", agents),
    ("/agents/{name:path}", agent),
    ("/groups/{name:path}", group),
    ("/people", people),
    ("/costs", costs),
    ("/nights", nights),
    ("/schedule", schedule),
    ("/context", context),
    ("/graph", graph),
    ("/logs", logs),
    ("/settings", settings),
    ("/commands", commands),
    ("/commands/{name}", command),
    *zip(OWN_PAGE, (own_page, export), strict=True),
)
