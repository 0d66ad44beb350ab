"""What a person may want, act by act: the calls it needs, and what is said of what came of them.

A question is answered with what is found in memory and its source, or honestly that nothing was found.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, timedelta

from msgspec import Struct

from bot.models.base import AssistantMessage, Call, UserMessage
from bot.models.offline.facts import Fact, Question, clauses, fit, misspelt, names_all, read_fact, read_question
from bot.models.offline.intents import STATEMENT, Intent, Parser
from bot.models.offline.text import LONGEST, detect, queries, sentences
from bot.models.offline.turn import Context, FailedError, Lines, Record
from memory.store.records import replace
from sources.text import one_line

_SHOWN, _LONG_TEXT, _LONGEST_ENTRY = 5, 300, 4_000
_HITS, _NEWEST = 20, 50
_MOST_LISTED, _MOST_SAID, _MOST_ROWS = 30, 12, 40
_LONGEST_LINE, _LONGEST_NAMED = 160, 100
_SAID = "constellation_messages"  # what somebody told one agent, or wanted forgotten, another knows too
_TAKING_BACK = "forget delete erase remove vergiss vergessen lösche streiche entferne 忘れて 消して 削除"


def act(intent: Intent, context: Context) -> Lines:
    """What there is to say of one intent. Raises PendingError where calls are needed first."""
    try:
        return _ACTS.get(intent.act, _say)(intent, context)
    except FailedError as failed:
        return Lines(str(failed))


def _say(intent: Intent, context: Context) -> Lines:
    """What needs no call: small talk, the clock, a question back."""
    now, say = context.turn.now, context.language.say
    clock = {"time": f"{now:%H:%M}", "zone": context.turn.zone, "day": context.language.day(now)}
    said = say(
        intent.name or intent.act,
        text=intent.text,
        name=context.turn.request.agent or "Carina",
        help=say("help"),
        weekday=say("weekdays").split()[now.weekday()],
        length=intent.number,
        limit=LONGEST,
        **clock,
    )
    return Lines(said, friendly=intent.act in ("talk", "statement"), beyond=intent.name == "cannot")


def _unknown(context: Context) -> Lines:
    return Lines(context.language.say("picture" if context.files else "unknown"), beyond=True)


def _sum(intent: Intent, context: Context) -> Lines:
    if "calculate" not in context.turn.tools:
        return _unknown(context)
    return Lines(f"{intent.text} = {context.result('sum', 'calculate', expression=intent.text).value}")


def _remember(intent: Intent, context: Context) -> Lines:
    entry = context.result("save", "recall", operation="insert", content=intent.text)
    shown = context.language.shown(intent.text)
    if entry.already:
        return context.say("already", fact=shown, source=context.source(entry))
    return Lines(context.language.say("saved", fact=shown), fact=shown)


# ---------------------------------------------------------------------------------------------------- finding it


class FoundRecord(Struct, frozen=True):
    record: Record
    text: str
    fact: Fact
    own: bool


def _searches(step: str, wanted: Iterable[str], context: Context, **conditions: str) -> list[Call]:
    return [
        context.call(f"{step}{number}", "search", query=query, limit=_HITS, **conditions)
        for number, query in enumerate(wanted)
    ]


def _entries_found(records: Iterable[Record], context: Context) -> list[FoundRecord]:
    """The statements of these records; of what somebody said twice, or took back, only the newest."""
    current: dict[tuple[bool, str], FoundRecord] = {}
    for record in sorted(records, key=lambda one: one.order):
        if record.id in context.turn.gone or record.role == "assistant":
            continue
        for shown, clause in _stated(record, context):
            one = FoundRecord(record, shown, read_fact(clause, context.language), record.told_by(context.speaker))
            current[one.own, one.fact.flat] = one
    return list(current.values())


def _stated(record: Record, context: Context) -> Iterator[tuple[str, str]]:
    """The statements in a record: of a message only what states something, of a long entry its sentences.

    Each as it is shown and as it is read: a clause that cannot stand alone is shown with its sentence.
    """
    language = detect(record.text, context.language.code)
    parser = Parser(language, context.turn.now)
    if record.kind == "message":
        texts = [] if record.text.strip() in context.turn.said else list(parser.statements(record.text))
    elif len(record.text) > _LONG_TEXT or record.kind == "block":
        text = record.text[:_LONGEST_ENTRY]
        texts = [text[start:end].strip() for start, end in sentences(text, language)]
    else:
        texts = [] if parser.is_question(record.text) else [record.text]
    for text in texts:
        for clause in clauses(text, language):
            yield (clause if language.spaced else text), clause


def _not_taken_back(said: list[FoundRecord], orders: list[Record], context: Context) -> list[FoundRecord]:
    """What the person said in conversation, without what they wanted forgotten afterwards."""
    taken = []
    for order in orders:
        language = detect(order.text, context.language.code)
        if order.role != "assistant" and order.text.strip() not in context.turn.said:
            intents = Parser(language, context.turn.now).parse(order.text)
            what = [read_question(each.text, language, plain=True) for each in intents if each.act == "forget"]
            taken += [(order.order, each) for each in what]
    return [
        one for one in said if not any(one.record.order < when and names_all(what, one.fact) for when, what in taken)
    ]


def _ask(intent: Intent, context: Context) -> Lines:
    """Entries that search finds first; then the newest entries and what the person said in conversation.

    The newest are read as they stand: a full text index misses the parts of a long word (Nuss in Nussallergie).
    """
    asked, question = intent.text, read_question(intent.text, context.language)
    if not question.terms:
        return _unknown(context)
    wanted = queries(question.words, question.concepts, context.language) or (asked[:200],)
    first = _searches("find", wanted, context, domain="archival_memory")
    newest = context.call("newest", "search", query="", domain="archival_memory", limit=_NEWEST)
    together = [newest] if question.concepts & context.language.words("shared") else []
    if lines := _tell(_entries_found(context.hits(*first, *together), context), question, context):
        return lines
    heard = _searches("heard", wanted, context, domain=_SAID, author="me")
    taken = context.call("heard_taken", "search", query=_TAKING_BACK, domain=_SAID, author="me", limit=_NEWEST)
    context.make(newest, *heard, taken)
    entries = _entries_found(context.hits(*first, newest), context)
    said = _not_taken_back(_entries_found(context.hits(*heard), context), context.hits(taken), context)
    return (
        _tell(entries, question, context)
        or _tell(said, question, context)
        or _of_others([*entries, *said], asked, context)
        or _overheard(question, asked, context)
        or _slips(entries, question, context)
        or _unknown(context)
    )


# ------------------------------------------------------------------------------------------------------ telling it


def _tell(found: list[FoundRecord], question: Question, context: Context) -> Lines | None:
    """The best of what was found, the newest where statements contradict each other."""
    judged = [(one, fitting) for one in found if (fitting := fit(question, one.fact)) and (one.own or fitting.full)]
    if not judged:
        return None
    best_own, best = max((one.own, fitting) for one, fitting in judged)
    pool = [one for one, fitting in judged if (one.own, fitting) == (best_own, best)]
    newest: dict[str, FoundRecord] = {}
    older: dict[str, FoundRecord] = {}
    for one in sorted(pool, key=lambda one: one.record.order, reverse=True):
        if newest.setdefault(one.fact.key, one) is not one:
            older.setdefault(one.fact.key, one)
    together = question.kind != "count" and (
        question.concepts & context.language.words("shared") or len(question.terms) == 1
    )
    return _found_say(list(newest.values())[: _SHOWN if together else 1], older, context, full=best.full)


def _of_others(found: list[FoundRecord], asked: str, context: Context) -> Lines | None:
    """What somebody else said of themselves, where it is asked for by their name ("Annie's cat")."""
    whose = context.language.search("theirs", asked)
    if whose is None:
        return None
    own = f"{asked[: whose.start()]}{context.language.say('my')}{asked[whose.end() :]}"
    name = whose["name"].casefold()
    theirs = [one for one in found if not one.own and name in context.name(one.record).casefold().split()]
    return _tell(theirs, read_question(own, context.language), context)


def _overheard(question: Question, asked: str, context: Context) -> Lines | None:
    """What others said to each other, and of themselves only where it is asked for by their name."""
    view = [
        Record(f"view{place}", each.said, each.at, each.speaker, kind="message", role="overheard")
        for place, each in enumerate(context.turn.request.messages)
        if isinstance(each, UserMessage) and each.overheard and each.said.strip()
    ]
    said = _entries_found(view, context)
    general = [one for one in said if one.own or not one.fact.language.search("speaker", one.text)]
    return _tell(general, question, context) or _of_others(said, asked, context)


def _slips(found: list[FoundRecord], question: Question, context: Context) -> Lines | None:
    """The newest of one's own statements that would answer if a word of the question were misspelt."""
    near = [one for one in found if one.own and misspelt(question, one.fact)]
    return _found_say([max(near, key=lambda one: one.record.order)], {}, context, full=False) if near else None


def _found_say(shown: list[FoundRecord], older: dict[str, FoundRecord], context: Context, *, full: bool) -> Lines:
    language = context.language
    parts = [] if full else [language.say("nearest")]
    if len(shown) == 1:
        parts.append(_told(shown[0], context))
    else:
        parts += [language.say("told_list"), *(f"- {_listed(one, context)}" for one in shown)]
    parts += [
        language.say("earlier", fact=language.shown(past.text), source=context.source(past.record))
        for key, past in older.items()
        if past.own and any(one.fact.key == key for one in shown)
    ]
    return Lines("\n".join(parts), beyond=not full)


def _words(one: FoundRecord, context: Context) -> str:
    """One's own words in one's language as we say them; others and another language are quoted."""
    if one.own and one.record.kind != "block" and one.fact.language.code == context.language.code:
        return context.language.shown(one.text)
    return context.language.quote(" ".join(one.text[:_LONG_TEXT].split()))


def _told(one: FoundRecord, context: Context) -> str:
    said = _words(one, context)
    phrase = "told" if context.language.begins("flowing", said) else "told_colon"
    if one.record.kind == "block":
        phrase = "noted"
    elif not one.own:
        phrase = "other_said" if one.record.role == "overheard" else "other_told"
    return context.language.say(phrase, speaker=context.name(one.record), fact=said, source=context.source(one.record))


def _listed(one: FoundRecord, context: Context) -> str:
    speaker = "" if one.own else f"{context.name(one.record)}: "
    return f"{speaker}{_words(one, context)}{context.source(one.record)}"


def _list_known(_intent: Intent, context: Context) -> Lines:
    call, say = context.call("list", "search", query="", domain="archival_memory", limit=_NEWEST), context.language.say
    records = context.hits(call)
    counted = sum(row.rows for row in context.rows(call, "searched") if row.domain == "archival")
    entries = [one for one in records if one.kind == "entry" and one.id not in context.turn.gone]
    own = [entry for entry in entries if entry.told_by(context.speaker)]
    lines = [f"- {context.language.shown(entry.text, 300)}{context.source(entry)}" for entry in own[:_MOST_LISTED]]
    left = {
        "known_more": len(own) - _MOST_LISTED,
        "known_others": len(entries) - len(own),
        "known_older": counted - sum(one.kind == "entry" for one in records),
    }
    more = [say(phrase, count=count) for phrase, count in left.items() if count > 0]
    return Lines("\n".join([say("known" if own else "known_none"), *lines, *more]))


def _look_back(intent: Intent, context: Context) -> Lines:
    first, last = date.fromisoformat(intent.when), date.fromisoformat(intent.other)
    until = last + timedelta(days=last < date.max)
    given = {"query": intent.text, "domain": "conversations", "limit": _MOST_SAID * 2}
    bounds = {"since": f"{first.isoformat()}T00:00:00Z", "until": f"{until.isoformat()}T00:00:00Z"}
    found = context.hits(context.call("past", "search", **given, **bounds))
    heard = [hit for hit in found if hit.text.strip() not in context.turn.said]
    days = " – ".join(dict.fromkeys(map(context.language.day, (first, last))))
    if not heard:
        return context.say("talked_none", span=days)
    newest = sorted(heard, key=lambda hit: hit.order)[-_MOST_SAID:]
    lines = (_said_line(hit, context, "%m-%d %H:%M " if first != last else "%H:%M ") for hit in newest)
    phrase = "talked_last" if len(heard) > len(newest) else "talked"
    return Lines("\n".join([context.language.say(phrase, span=days), *lines]))


def _said_line(hit: Record, context: Context, clock: str) -> str:
    when = hit.at.astimezone(context.turn.now.tzinfo).strftime(clock) if hit.at else ""
    who = context.language.say("you") if hit.mine else context.name(hit)
    if hit.role == "assistant":
        who = context.turn.request.agent or context.language.say("myself")
    return f"- {when}{who + ': ' if who else ''}{one_line(hit.text, _LONGEST_LINE)}"


# --------------------------------------------------------------------------------------------------------- forgetting


def _forget(intent: Intent, context: Context) -> Lines:
    """Find the entries that name it, show the person's own, delete after a yes those that were shown, and look what
    they said of it besides."""
    what, language, say = intent.text, context.language, context.language.say
    question = read_question(what, language, plain=True)
    wanted = queries(question.words, (), language)[:1] or (what[:200],)
    found = context.hits(context.call("find", "search", query=wanted[0], domain="archival_memory", limit=_NEWEST))
    meant = [hit for hit in found if hit.kind == "entry" and hit.id and hit.id not in context.turn.gone]
    meant = [hit for hit in meant if names_all(question, read_fact(hit.text, language))]
    own = [hit for hit in meant if hit.told_by(context.speaker)]
    listed = [f"- {one_line(hit.text, _LONGEST_LINE)}" for hit in own]
    answers = (
        each.text for each in reversed(context.turn.before) if isinstance(each, AssistantMessage) and not each.calls
    )
    shown = next(answers, "").splitlines() if intent.sure else ()
    calls = [
        context.call(f"drop{number}", "recall", operation="delete", label=hit.id, forget_words=True)
        for number, hit in enumerate(own)
    ]
    # A call that was made is one: with an entry, the answer that showed it is deleted, too.
    agreed = [call.id in context.turn.made or line in shown for call, line in zip(calls, listed, strict=True)]
    if own and not any(agreed):
        return Lines("\n".join([say("forget_ask", count=len(own)), *listed, "", say("forget_sure")]))
    context.turn.gone.update(hit.id for hit in itertools.compress(own, agreed))
    drops = list(itertools.compress(calls, agreed))
    context.make(*drops)
    said = context.hits(*_searches("left", wanted, context, domain=_SAID, author="me"))
    left = {one.record.id for one in _entries_found(said, context) if names_all(question, one.fact)}
    named = language.quote(one_line(what, _LONGEST_LINE))
    if own:
        lines = _deleted(named, drops, context)
    elif meant:
        lines = [say("forget_others", speaker=context.name(meant[0]))]
    else:
        lines = [say("forget_unstored" if left else "forget_nothing", what=named)]
    return Lines("\n".join([*lines, *([say("forget_left", count=len(left))] if left else ())]))


def _deleted(what: str, drops: list[Call], context: Context) -> list[str]:
    """What is gone, and what could not be deleted. The words themselves are not said once more."""
    say, gone, failures = context.language.say, [], []
    for call in drops:
        try:
            gone.append(Record.read(context.data(call)).messages)
        except FailedError as failed:
            failures.append(str(failed))
    parts = [say("forgot", what=what)] if gone else []
    parts += [say("forgot_messages", count=sum(gone))] if any(gone) else []
    return [*parts, *dict.fromkeys(failures)]


# ------------------------------------------------------------------------------------------- reminders, tasks, events


def _remind(intent: Intent, context: Context) -> Lines:
    if intent.other:  # a failure here is none of the new reminder
        context.make(context.call("instead", "reminders", operation="cancel", which=intent.other))
    reminder = context.result("add", "reminders", operation="set", text=intent.text, when=intent.when)
    said = context.timed("reminded", reminder)
    return replace(said, text=f"{said.text} {reminder.note}".strip())


def _task(intent: Intent, context: Context) -> Lines:
    due = {"due": intent.when} if intent.when else {}
    return context.timed(
        "added_due" if due else "added", context.result("add", "tasks", operation="add", title=intent.text, **due)
    )


def _event(intent: Intent, context: Context) -> Lines:
    known = context.call("known", "events", operation="list", days=366)
    context.make(known)
    at = Parser(context.language, context.turn.now).moment(intent.when)
    for row in context.rows(known, "events"):
        if row.text.casefold() == intent.text.casefold() and row.at == at:
            return context.timed("event_known", row)
    given = {"title": intent.text, "when": intent.when, "ends": intent.other}
    return context.timed("event_added", context.result("add", "events", operation="add", **given))


def _list(intent: Intent, context: Context) -> Lines:
    tool, given = intent.name, {"days": intent.number} if intent.number else {}
    call = context.call(tool, tool, operation="list", **given)
    context.make(call)
    rows = context.rows(call, tool)[:_MOST_ROWS]
    lines = [f"- {' – '.join(filter(None, (row.text, context.when(row))))}" for row in rows]
    none = "none" if context.turn.request.owner else "none_here"  # the owner alone may hear all there is
    return Lines("\n".join([context.language.say(f"{tool}_listed"), *lines])) if rows else context.say(f"{tool}_{none}")


_ENDS: Mapping[str, tuple[str, tuple[str, ...], str]] = {
    "done": ("done", ("tasks", "reminders"), "finished"),
    "done_perhaps": ("done", ("tasks", "reminders"), "finished"),
    "cancel": ("cancel", ("tasks", "reminders", "events"), "cancelled"),
    "snooze": ("snooze", ("reminders",), "snoozed"),
}
"""By act: the operation, the tools that know it, and what is said of it."""


def _end(intent: Intent, context: Context) -> Lines:
    """End or put off the one open task, reminder or event that is meant; else nothing is done."""
    operation, tools, phrase = _ENDS[intent.act]
    listed = [context.call(tool, tool, operation="list") for tool in tools if tool in context.turn.tools]
    listed = listed or [context.call(tools[0], tools[0], operation="list")]
    context.make(*listed)
    parts = intent.text.casefold().split()
    rows = [(call.name, row) for call in listed for row in context.rows(call, call.name)]
    fitting = [(tool, row) for tool, row in rows if all(part in row.text.casefold() for part in parts)]
    if len(fitting) != 1:
        named = context.language.quote(intent.text[:_LONGEST_NAMED])
        return _say(STATEMENT, context) if intent.act == "done_perhaps" else context.say("not_found", text=named)
    tool, row = fitting[0]
    given = {"minutes": intent.number} if intent.number else {}
    said = context.timed(
        phrase, context.result("end", tool, operation=operation, which=row.id, **given), count=intent.number
    )
    steps = _steps(row.id, [each for _, each in rows])
    return replace(said, text=f"{said.text} {context.language.say('and_steps', count=steps)}") if steps else said


def _steps(task: str, rows: list[Record]) -> int:
    """How many open steps go with a task."""
    below = [row.id for row in rows if task and row.under == task]
    return len(below) + sum(_steps(each, rows) for each in below)


_ACTS: Mapping[str, Callable[[Intent, Context], Lines]] = {
    "remember": _remember,
    "note": _remember,
    "ask": _ask,
    "forget": _forget,
    "known": _list_known,
    "look_back": _look_back,
    "sum": _sum,
    "remind": _remind,
    "task": _task,
    "event": _event,
    "list": _list,
    **dict.fromkeys(_ENDS, _end),
}
"""By act; any other needs no call."""
