"""Acts: for each intent of a person, the tool calls that it needs, and the answer to their results."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import date, timedelta
from typing import TypeAlias

from msgspec import Struct, structs

from bot.models.base import Call, UserMessage
from bot.models.offline.facts import Fact, Fit, Question, clauses, fit, misspelt, names_all
from bot.models.offline.intents import STATEMENT, Intent, Parser
from bot.models.offline.language import LONGEST, detect
from bot.models.offline.turn import Context, Lines, Record
from scheduler.dates import coming, days_ahead, is_at, moved_to, try_find
from scheduler.times_in_words import long_date, time_words, zone_name
from sources.text import one_line

_NEWEST, _MOST_LISTED, _MOST_SAID, _MOST_ROWS, _DAYS_AHEAD = 50, 30, 12, 40, 31
_SHOWN, _LONG_TEXT, _LONGEST_LINE = 5, 300, 160
_STORED = {"domain": "archival_memory"}
_SAID = {"domain": "constellation_messages", "author": "me"}
_Judge: TypeAlias = Callable[[Question, Fact], Fit | None]


def act(intent: Intent, context: Context) -> Lines:
    """The answer to one intent. Raises PendingError if calls are needed first, and FailedError."""
    # A forgotten memory is deleted with its text by now, so only the call tells of it.
    drops = (each for name, each in context.turn.results.items() if name.startswith(f"{context.ident}_drop"))
    undone = (intent.act, intent.name) != ("forget", "") and any(each.ok for each in drops)
    return Lines(context.language.say("undone")) if undone else _ACTS.get(intent.act, _say)(intent, context)


def _say(intent: Intent, context: Context) -> Lines:
    """The answer of intents that need no call and have no act in `_ACTS`: small talk, the clock, a question back."""
    now, language, say = context.turn.now, context.language, context.language.say
    weekday, time = say("weekdays").split()[(now.weekday() + intent.number) % 7], time_words(now, language.code)
    clock = {"time": time, "zone": zone_name(now), "weekday": weekday, "day": long_date(language.code, now)}
    given = {"text": intent.text, "count": intent.number, "limit": LONGEST, "help": say("help")}
    said = say(intent.name or intent.act, name=context.turn.request.agent or "Carina", **clock, **given)
    return Lines(said, friendly=intent.act in ("talk", "statement"), beyond=intent.name in ("cannot", "too_long"))


def _sum(intent: Intent, context: Context) -> Lines:
    value = context.result("sum", "calculate", expression=intent.text).value
    return Lines(context.language.rewrite("result", f"{intent.text} = {value}"))


def _remember(intent: Intent, context: Context) -> Lines:
    entry = context.result("save", "recall", operation="insert", content=intent.text)
    drops, say = list[Call](), context.language.say
    if intent.other not in ("", entry.text):  # deleted once the new one, which may be the same, is stored
        old = context.hits(*_searches("old", [intent.other], _STORED, context))
        own = [hit.id for hit in old if hit.text == intent.other and hit.told_by(context.speaker)]
        drops = [context.call(f"old_{each}", "recall", operation="delete", label=each) for each in own]
    shown, failed = context.language.shown(intent.text), filter(None, map(context.failure, drops))
    said = context.told("already", shown, entry) if entry.already else say("saved", fact=shown)
    left = (say("kept_too", fact=context.language.shown(intent.other), text=why) for why in failed)
    return Lines(" ".join([said, *left]))


class FoundRecord(Struct, frozen=True):
    record: Record
    text: str
    fact: Fact
    own: bool


def _searches(step: str, texts: Iterable[str], where: dict[str, str], context: Context, most: int = 20) -> list[Call]:
    return [context.call(f"{step}{n}", "search", query=each, limit=most, **where) for n, each in enumerate(texts)]


def _entries_found(records: Iterable[Record], context: Context) -> list[FoundRecord]:
    """The statements of these records; of repeated or retracted ones, only the newest."""
    current: dict[tuple[bool, str], FoundRecord] = {}
    for record in sorted(records, key=lambda one: one.order):
        if record.id not in context.turn.gone and record.role != "assistant":
            for shown, clause in _stated(record, context):
                one = FoundRecord(record, shown, Fact(clause, context.language), record.told_by(context.speaker))
                current[one.own, one.fact.flat] = one
    return list(current.values())


def _stated(record: Record, context: Context) -> Iterator[tuple[str, str]]:
    """The statements in a record as shown and as read: of a message only statements, of a long entry its sentences. A
    clause that cannot stand alone is shown with its sentence."""
    language = detect(record.text, context.language.code)
    parser, text = Parser(language, context.turn.now), record.text[:LONGEST]
    if record.kind == "message":
        texts = [] if text.strip() in context.turn.said else list(parser.statements(text))
    elif len(text) > _LONG_TEXT or record.kind == "block":
        texts = list(map(str.strip, language.sentences(text)))
    else:
        texts = [] if parser.is_question(text) else [text]
    for each in texts:
        yield from ((clause if language.spaced else each, clause) for clause in clauses(each, language))


def _not_taken_back(said: list[FoundRecord], orders: list[Record], context: Context) -> list[FoundRecord]:
    """What the person said in conversation, without what they later asked to forget."""
    for order in orders:
        language = detect(order.text, context.language.code)
        mine = order.role != "assistant" and order.text.strip() not in context.turn.said
        for intent in Parser(language, context.turn.now).parse(order.text) if mine else ():
            if intent.act == "forget":
                what = Question(intent.text, language, plain=True)
                said = [one for one in said if one.record.order >= order.order or not names_all(what, one.fact)]
    return said


def _ask(intent: Intent, context: Context) -> Lines:
    """The answer with its source, from entries, messages or the agenda; or that nothing was found."""
    asked, question = intent.text, Question(intent.text, context.language)
    wanted = context.language.queries(question.words, question.concepts) or (asked[:200],)
    first = _searches("find", wanted, _STORED, context)
    # read as they are: a full text index misses the parts of a long word (Nuss in Nussallergie)
    newest = _searches("newest", [""], _STORED, context, _NEWEST)
    together = newest if question.concepts & context.language.words("shared") else []
    lines = _tell(_entries_found(context.hits(*first, *together), context), question, context)
    if lines is None or lines.beyond:
        lines = _planned(question, context) if question.kind == "time" else None
    if lines:
        return lines
    heard = _searches("heard", wanted, _SAID, context) + _searches("learned", wanted, {"domain": "facts"}, context)
    orders = _searches("taken", [context.language.data["words"]["taking_back"]], _SAID, context, _NEWEST)
    context.make(*newest, *heard, *orders)
    entries = _entries_found(context.hits(*first, *newest), context)
    said = _not_taken_back(_entries_found(context.hits(*heard), context), context.hits(*orders), context)
    around = [each for each in context.turn.request.messages if isinstance(each, UserMessage) and each.overheard]
    view = [Record("view", each.said, each.at, each.speaker, kind="message", role="overheard") for each in around]
    overheard = _entries_found(view, context)
    general = [one for one in overheard if one.own or not one.fact.language.search("speaker", one.text)]
    told = [_tell(each, question, context) for each in (entries, said, general)]
    told += [_of_others([*entries, *said, *overheard], asked, context), _tell(entries, question, context, misspelt)]
    best = min(filter(None, told), key=lambda each: each.beyond, default=None)  # the first that is no near miss
    unknown = Lines(context.language.say("picture" if context.files else "unknown"), beyond=True)
    return best or _planned(question, context) or unknown


def _planned(question: Question, context: Context, least: int = 1) -> Lines | None:
    """Agenda items with all words that an answer requires, or most of the question's words, at least so many."""
    rows = _rows(filter(context.turn.tools.__contains__, context.language.data["lists"]["day"]), context, days=366)
    counts = _counts(question.required or question.stems, rows, context)
    found = [row for row, count in zip(rows, counts, strict=True) if least <= count == max(counts)][:_SHOWN]
    return Lines("\n".join([context.language.say("planned"), *map(context.listed, found)])) if found else None


def _tell(found: list[FoundRecord], question: Question, context: Context, judge: _Judge = fit) -> Lines | None:
    """The best match; the newest if statements contradict each other."""
    judged = [(one, fitting) for one in found if (fitting := judge(question, one.fact)) and (one.own or fitting.full)]
    if not judged:
        return None
    best = max((one.own, fitting) for one, fitting in judged)
    newest, older = dict[str, FoundRecord](), dict[str, FoundRecord]()
    for one, fitting in sorted(judged, key=lambda each: each[0].record.order, reverse=True):
        if (one.own, fitting) == best and newest.setdefault(one.fact.key, one) is not one:
            older.setdefault(one.fact.key, one)
    shared = question.concepts & context.language.words("shared") or len(question.terms) == 1
    shown, say = list(newest.values())[: _SHOWN if question.kind != "count" and shared else 1], context.language.say
    before = [past for key, past in older.items() if past.own and any(one.fact.key == key for one in shown)]
    parts = [say("nearest")] * (not best[1].full) + [say("told_list")] * (len(shown) > 1)
    parts += [_told(one, context, several=len(shown) > 1) for one in shown]
    parts += [context.told("earlier", context.language.shown(one.text), one.record) for one in before]
    return Lines("\n".join(parts), beyond=not best[1].full)


def _of_others(found: list[FoundRecord], asked: str, context: Context) -> Lines | None:
    """A statement by somebody else about themselves, if the question names them ("Annie's cat")."""
    whose = context.language.search("theirs", asked)
    if whose is None:
        return None
    own = f"{asked[: whose.start()]}{context.language.say('my')}{asked[whose.end() :]}"
    name = whose["name"].casefold()
    theirs = [one for one in found if not one.own and name in context.name(one.record).casefold().split()]
    return _tell(theirs, Question(own, context.language), context)


def _told(one: FoundRecord, context: Context, *, several: bool) -> str:
    """A statement of the person, in the person's language, rephrased to address them; all others are quoted."""
    language, record = context.language, one.record
    own = one.own and record.kind != "block" and one.fact.language is language
    said = language.shown(one.text) if own else language.say("quote", text=" ".join(one.text[:_LONG_TEXT].split()))
    mine = "listed" if several else "told" if language.begins("flowing", said) else "told_colon"
    other = "listed_other" if several else "other_said" if record.role == "overheard" else "other_told"
    phrase = "noted" if record.kind == "block" and not several else mine if one.own else other
    return context.told(phrase, said, record)


def _list_known(_intent: Intent, context: Context) -> Lines:
    (call,), say = _searches("list", [""], _STORED, context, _NEWEST), context.language.say
    entries = [one for one in context.hits(call) if one.kind == "entry" and one.id not in context.turn.gone]
    own = [entry for entry in entries if entry.told_by(context.speaker)][:_MOST_LISTED]
    more = sum(row.rows for row in context.rows(call, "searched") if row.domain == "archival") - len(own)
    facts = [(fact.key, fact.concepts) for fact in (Fact(each.text, context.language) for each in own)]
    past = [each in facts[:place] and not each[0].endswith("|[]") for place, each in enumerate(facts)]
    both = zip(("listed_earlier" if each else "listed" for each in past), own, strict=False)
    lines = [context.told(phrase, context.language.shown(each.text, 300), each) for phrase, each in both]
    lines += [say("known_more", count=more)] if more > 0 else []
    return Lines("\n".join([say("known" if own else "known_none"), *lines]))


def _look_back(intent: Intent, context: Context) -> Lines:
    first, last = date.fromisoformat(intent.when), date.fromisoformat(intent.other)
    days = {"since": f"{first}T00:00:00Z", "until": f"{last + timedelta(days=last < date.max)}T00:00:00Z"}
    where = {"domain": "constellation_messages", "author": intent.name, **days}
    hits = context.hits(*_searches("past", [intent.text], where, context, _MOST_SAID * 2))
    heard = [hit for hit in hits if hit.role != "system" and hit.text.strip() not in context.turn.said]
    heard = [hit for hit in heard if context.language.stems(intent.text) & context.language.stems(hit.text)] or heard
    newest = sorted(heard, key=lambda hit: hit.order)[-_MOST_SAID:]
    phrase = "talked_none" if not heard else "talked_last" if len(heard) > len(newest) else "talked"
    lines = [context.language.say(phrase, span=long_date(context.language.code, first, last))]
    for hit in newest:
        at, day = hit.at and hit.at.astimezone(context.turn.now.tzinfo), "%m-%d " if first != last else ""
        when = f"{at.strftime(day)}{time_words(at, context.language.code)} " if at else ""
        ours = context.turn.request.agent if hit.role == "assistant" else ""
        who = context.language.say("you") if hit.mine else context.name(hit) or ours
        lines.append(f"- {when}{who + ': ' if who else ''}{one_line(hit.text, _LONGEST_LINE)}")
    return Lines("\n".join(lines))


def _forget(intent: Intent, context: Context) -> Lines:
    """Show the person's entries that match, delete those shown after a yes, and report what remains."""
    what, language, say, turn = intent.text, context.language, context.language.say, context.turn
    question = Question(what, language, plain=True)
    wanted = language.queries(question.words, ())[:1] or (what[:200],)
    found = context.hits(*_searches("find", wanted, _STORED, context, _NEWEST))
    entries = [hit for hit in found if hit.kind == "entry" and hit.id not in turn.gone]
    meant = [hit for hit in entries if names_all(question, Fact(hit.text, language))]
    own = {hit.id: f"- {one_line(hit.text, _LONGEST_LINE)}" for hit in meant if hit.told_by(context.speaker)}
    shown = {"sure": turn.answered, "undo": [f"- {one_line(what, _LONGEST_LINE)}"]}.get(intent.other or intent.name, [])
    drops = []
    for number, (entry, listed) in enumerate(own.items()):
        call = context.call(f"drop{number}", "recall", operation="delete", label=entry, forget_words=True)
        # A completed call counts: deleting an entry also deletes the answer that showed it.
        if call.id in turn.made or listed in shown:
            drops.append(call)
            turn.gone.add(entry)
    also = None if intent.other or intent.name else _planned(question, context, max(1, len(question.stems)))
    planned = ["", also.text, say("cancel_how")] if also else []
    if own and not drops:
        ask, tell = (say(phrase, count=len(own)) for phrase in ("forget_ask", "forget_sure"))
        return Lines("\n".join([ask, *own.values(), "", tell, *planned]))
    context.make(*drops)
    heard = [hit.text for hit in context.hits(*_searches("left", wanted, _SAID, context, _NEWEST))]
    left = [said for said in heard if not language.search("order", said) and names_all(question, Fact(said, language))]
    named = say("quote", text=one_line(what, _LONGEST_LINE))
    kept = say("forget_others", speaker=context.name(meant[0])) if meant else say("forget_nothing", what=named)
    gone = [Record.read(context.data(call)).messages for call in drops if not context.failure(call)]
    lines = [say("forgot", what=named)] if gone else [kept] * (not own)  # the text is not repeated
    lines += [say("forgot_messages", count=sum(gone))] if any(gone) else []
    lines += dict.fromkeys(filter(None, map(context.failure, drops)))
    lines += [say("forget_left", count=len(left))] if left else []
    return Lines("\n".join([*lines, *planned]))


def _rows(tools: Iterable[str], context: Context, **given: int) -> list[Record]:
    """The rows that these tools list, with the tool as their kind; arguments are for events."""
    calls = [context.call(tool, tool, operation="list", **(given if tool == "events" else {})) for tool in tools]
    context.make(*calls)
    return [structs.replace(row, kind=call.name) for call in calls for row in context.rows(call, call.name)]


def _keep(intent: Intent, context: Context, **more: int) -> Lines:
    """Set a reminder, or add a task or event, possibly replacing one; duplicates are not added."""
    tool, operation, title, when, phrase = context.language.data["keeps"][intent.act]
    rows = _rows([tool], context, days=366) if intent.instead or tool == "events" else []
    at = coming(intent.when, context.turn.now, context.language.code)
    if intent.act == "remind" and intent.other and at:  # minutes before the event of that name
        event = next(iter(_named(intent.other, _rows(["events"], context, days=366), context)), Record())
        if event.at is None:
            return _say(Intent("not_found", context.language.say("quote", text=intent.other)), context)
        begins, ahead = event.at.astimezone(context.turn.now.tzinfo), at - context.turn.now
        day = f"{long_date(context.language.code, begins)}, " * (ahead >= timedelta(hours=12))
        text = intent.text or f"{event.text} ({day}{time_words(begins, context.language.code)})"
        intent = intent._replace(text=text, when=(begins - ahead).isoformat(), other="")
    for row in rows if tool == "events" else ():
        if row.text.casefold() == intent.text.casefold() and row.at == at:
            return context.timed("event_known", row)
    given = {title: intent.text, when: intent.when, "ends": intent.other, **more}
    given, note = {name: said for name, said in given.items() if said != ""}, ""
    kept = context.result("add", tool, operation=operation, **given)
    if old := [(len(row.id), row.id) for row in rows if row.text == intent.instead]:  # the newest
        note = context.failure(context.call("instead", tool, operation="cancel", which=max(old)[1]))
    return context.timed(intent.name or (phrase if intent.when else "added"), kept, f"{kept.note} {note}".strip())


def _list(intent: Intent, context: Context) -> Lines:
    language, now, ahead = context.language, context.turn.now, intent.number or _DAYS_AHEAD
    days = days_ahead(intent.name, ahead, now)
    rows = _rows(language.data["lists"][intent.name], context, days=max(ahead, days.stop + 1))
    if days:
        rows = [row for row in rows if row.at and (row.at.astimezone(now.tzinfo).date() - now.date()).days in days]
        rows = sorted(rows, key=lambda row: row.order)
    elif intent.name == "due":
        rows = sorted((row for row in rows if row.at or row.rang), key=lambda row: row.order)
    elif intent.name == "timers":
        rows = [row for row in rows if row.at and language.search("timer", row.text)]
    none = "none" if context.turn.request.owner else "none_here"  # only the owner may see everything
    said = language.say(f"{intent.name}_{'listed' if rows else none}", day=intent.text, count=ahead)
    return Lines("\n".join([said, *map(context.listed, rows[:_MOST_ROWS])]))


def _end(intent: Intent, context: Context) -> Lines:
    """End, postpone or move the one open task, reminder or event in question, or end all of a kind; else nothing."""
    operation, tools, phrase = context.language.data["ends"][intent.act]
    every: list[str] | None = context.language.data["lists"].get(intent.name)
    tools = [tool for tool in every or tools if tool in context.turn.tools] or tools[:1]
    rows = _rows(tools, context, days=366)
    named, several = _named(intent.text, rows, context), bool(every)
    parts = [(part, _named(part, rows, context)) for part in context.language.split("items", intent.text)]
    if not named and all(len(one) == 1 for _, one in parts):
        named = [row for _, (row,) in parts]  # "dinner with Tom and Mia" may not mean "call Mia", too
        several = intent.act != "move" and all(_named(one.text, [Record(text=part)], context) for part, (one,) in parts)
    if every:  # only a due reminder can be postponed, a step ends with its task, and timers are easily set again
        ids = {row.id for row in named}
        named = [row for row in named if row.under not in ids and (row.rang or operation != "snooze")]
        sure = intent.text or (intent.other and context.language.say("cancel_ask") in context.turn.answered)
        if not sure and intent.act == "cancel_all" and (len(named) > 1 or (named and intent.name not in every)):
            return Lines("\n".join([context.language.say("cancel_ask"), *map(context.listed, named[:_MOST_ROWS])]))
        if not (rows or intent.text):
            return _list(Intent("list", name=intent.name), context)
    else:  # the last due one is done or postponed, a future one is canceled or moved
        rang = sorted((row for row in named if row.rang), key=lambda row: row.rang or (False, ""))[-1:]
        ahead = [row for row in named if not row.rang and (operation or row.kind != "tasks")]  # a task moves last
        named = rang or (ahead if intent.text else []) if operation in ("done", "snooze") else ahead or rang or named
    if not named or (len(named) > 1 and not several):
        name = context.language.say("quote" if intent.text else "that", text=intent.text[:_LONGEST_LINE])
        none = "not_rung" if operation == "snooze" and not intent.text else "not_found"
        missing = STATEMENT if intent.act == "done_perhaps" else Intent("not_one" if named else none, name)
        listed = [context.listed(row) for row in named[:_SHOWN] if missing is not STATEMENT]
        return Lines("\n".join([_say(missing, context).text, *listed]))
    if intent.act == "move":
        return _move(intent, named[0], context)
    tasks = [row.text for row in named if not every and (row.kind == "tasks" or operation == "done")]  # name every part
    things = [Record(text=each) for text in tasks for each in context.language.split("items", text)]
    if (stems := context.language.stems(intent.text.partition(" – ")[0])) and not all(_counts(stems, things, context)):
        return context.timed("part", named[0])
    given = {"when": intent.when} if intent.when else {}
    calls = [context.call(f"end{row.id}", row.kind, operation=operation, which=row.id, **given) for row in named]
    context.make(*calls)
    said = [context.failure(call) or context.timed(phrase, Record.read(context.data(call))).text for call in calls]
    return Lines("\n".join(said))


def _named(what: str, rows: list[Record], context: Context) -> list[Record]:
    """The rows that a name refers to: with all its words; or due at the time in it, with its other words."""
    if alike := [row for row in rows if " – " in what and context.listed(row).startswith(f"- {what}")]:
        return alike  # chosen from a list
    stems = context.language.stems(what)
    if not stems:  # "it" is no name, but may be a title
        return [row for row in rows if what.casefold() in ("", row.text.casefold())]
    found = [row for row, count in zip(rows, _counts(stems, rows, context), strict=True) if count == len(stems)]
    now, code = context.turn.now, context.language.code
    due = None if found else try_find(what, now, code)
    then = [row for row in rows if due and row.at and is_at(due.said, row.at, now, code, row.text)]
    exact = [row for row in found if row.text.casefold() == what.casefold()]
    return _named(due.rest, then, context) if due else exact or found


def _counts(stems: Collection[str], rows: list[Record], context: Context) -> list[int]:
    """The number of words with these stems in each row, counting whole words: tea is no part of a teacher."""
    texts = [frozenset(map(context.language.stem, context.language.tokens(row.text))) for row in rows]
    return [sum(context.language.among(stem, text) for stem in stems) for text in texts]


def _move(intent: Intent, row: Record, context: Context) -> Lines:
    """Move an item to its new time, once; a repeating event stays. The person's choices for it are kept."""
    now, code = context.turn.now, context.language.code
    was = (row.at or now).astimezone(now.tzinfo)  # a due reminder has no time of its own
    at = moved_to(intent.when, was, now, code, row.text, by=intent.name == "by")
    if at is None or (row.rule and row.kind == "events"):
        return _say(Intent("cannot_move"), context)
    if how := context.language.data["moves"].get(row.kind):
        moved = context.result("move", row.kind, operation=how["by"], which=row.id, **{how["to"]: at.isoformat()})
        return context.timed("moved_once" if row.rule else "moved", moved)
    ends = (at + (row.ends - was)).isoformat() if row.ends else ""
    moving = Intent("event", row.text, "moved", at.isoformat(), ends, row.text)
    return _keep(moving, context, reminder_minutes=row.ahead)


_ACTS: Mapping[str, Callable[[Intent, Context], Lines]] = {
    **dict.fromkeys(("remember", "note"), _remember),
    **dict.fromkeys(("remind", "task", "event"), _keep),
    **dict.fromkeys(("done", "done_perhaps", "done_all", "cancel", "cancel_all", "snooze", "snooze_all", "move"), _end),
    "ask": _ask,
    "forget": _forget,
    "known": _list_known,
    "look_back": _look_back,
    "sum": _sum,
    "list": _list,
}
