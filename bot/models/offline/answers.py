"""Questions: what is found in memory, chosen and said with its source; or honestly that nothing was found."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from bot.models.base import Call
from bot.models.offline.facts import Fact, Question, clauses, fit, misspelt, names_all, read_fact, read_question
from bot.models.offline.intents import Intent, Parser
from bot.models.offline.language import words
from bot.models.offline.text import detect, queries, sentences
from bot.models.offline.turn import Context, Lines, Record

_SHOWN, _LONG_TEXT, _LONGEST_ENTRY = 5, 300, 4_000
_HITS, _NEWEST = 20, 50
_SAID = "constellation_messages"  # what somebody told one agent, or wanted forgotten, another knows too
_TAKING_BACK = "forget delete erase remove vergiss vergessen lösche streiche entferne 忘れて 消して 削除"
_SHARED = words(
    "allergy eat diet drink abstain like dislike pet family children siblings parents health language partner"
)
"""Ideas that several statements may answer together."""


@dataclass(frozen=True)
class Found:
    """A statement in memory."""

    record: Record
    text: str
    fact: Fact
    own: bool


# ----------------------------------------------------------------------------------------------------- finding it


def search_said(step: str, wanted: Iterable[str], context: Context) -> tuple[Call, ...]:
    """Searches in what the person said in conversation, and last for what they wanted forgotten."""
    taken = context.call(f"{step}_taken", "search", query=_TAKING_BACK, domain=_SAID, author="me", limit=50)
    return (*_searches(step, wanted, context, domain=_SAID, author="me"), taken)


def _searches(step: str, wanted: Iterable[str], context: Context, **conditions: str) -> tuple[Call, ...]:
    return tuple(
        context.call(f"{step}{number}", "search", query=query, limit=_HITS, **conditions)
        for number, query in enumerate(wanted)
    )


def _hits(calls: Sequence[Call], context: Context) -> list[Record]:
    """What searches found, each record once."""
    found: dict[str, Record] = {}
    for call in calls:
        for record in context.records(context.data(call)):
            found.setdefault(record.id, record)
    return list(found.values())


def _entries_found(records: Iterable[Record], context: Context) -> list[Found]:
    """The statements of these records; of what somebody said twice, or took back, only the newest."""
    current: dict[tuple[bool, str], Found] = {}
    for record in records:
        if record.id in context.turn.gone or record.role == "assistant":
            continue
        for shown, clause in _stated(record, context):
            one = Found(record, shown, read_fact(clause, context.language), record.told_by(context.speaker))
            known = current.get((one.own, one.fact.flat))
            if known is None or known.record.order < record.order:
                current[one.own, one.fact.flat] = one
    return list(current.values())


def said_found(calls: tuple[Call, ...], context: Context) -> list[Found]:
    """What the person said in conversation, without what they wanted forgotten afterwards."""
    *searches, taking_back = calls
    said = _entries_found(_hits(searches, context), context)
    taken = [(one.order, what) for one in _hits([taking_back], context) for what in _taken(one, context)]
    return [
        one for one in said if not any(one.record.order < when and names_all(what, one.fact) for when, what in taken)
    ]


def _taken(record: Record, context: Context) -> Iterator[Question]:
    """What a message wanted forgotten."""
    language = detect(record.text, context.language.code)
    if record.role == "assistant" or record.text.strip() in context.turn.said:
        return
    for intent in Parser(language, context.turn.now).parse(record.text):
        if intent.act == "forget":
            yield read_question(intent.text, language, plain=True)


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


# ------------------------------------------------------------------------------------------------------ telling it


def answer_question(intent: Intent, context: Context) -> Lines:
    """Entries that search finds first; then the newest entries and what the person said in conversation.

    The newest are read as they stand: a full text index misses the parts of a long word (Nuss in Nussallergie).
    """
    asked, question = intent.text, read_question(intent.text, context.language)
    if not question.terms:
        return unknown(context)
    wanted = queries(question.words, question.concepts, context.language) or (asked[:200],)
    first = _searches("find", wanted, context, domain="archival_memory")
    newest = context.call("newest", "search", query="", domain="archival_memory", limit=_NEWEST)
    together = (newest,) if question.concepts & _SHARED else ()
    context.make(*first, *together)
    if lines := _tell(_entries_found(_hits((*first, *together), context), context), question, context):
        return lines
    said = search_said("heard", wanted, context)
    context.make(newest, *said)
    entries, heard = _entries_found(_hits((*first, newest), context), context), said_found(said, context)
    return (
        _tell(entries, question, context)
        or _tell(heard, question, context)
        or _of_others([*entries, *heard], asked, context)
        or _slips(entries, question, context)
        or unknown(context)
    )


def unknown(context: Context) -> Lines:
    """Nothing was found."""
    return Lines(context.language.say("unknown"), beyond=True)


def _tell(found: list[Found], question: Question, context: Context) -> Lines | None:
    """The best of what was found, the newest where statements contradict each other."""
    fitting = [(one, judged) for one in found if (judged := fit(question, one.fact))]
    own = [(one, judged) for one, judged in fitting if one.own]
    full = [(one, judged) for one, judged in own if judged.full]
    pool = full or own or [(one, judged) for one, judged in fitting if judged.full]
    if not pool:
        return None
    best = max(judged for _, judged in pool)
    newest: dict[str, Found] = {}
    older: dict[str, Found] = {}
    for one in sorted((one for one, judged in pool if judged == best), key=lambda one: one.record.order, reverse=True):
        if newest.setdefault(one.fact.key, one) is not one:
            older.setdefault(one.fact.key, one)
    together = question.kind != "count" and (question.concepts & _SHARED or len(question.terms) == 1)
    return _say(list(newest.values())[: _SHOWN if together else 1], older, context, full=best.full)


def _of_others(found: list[Found], asked: str, context: Context) -> Lines | None:
    """What somebody else said of themselves, where it is asked for by their name ("Annie's cat")."""
    whose = context.language.search("theirs", asked)
    if whose is None:
        return None
    own = f"{asked[: whose.start()]}{context.language.my}{asked[whose.end() :]}"
    name = whose["name"].casefold()
    theirs = [one for one in found if not one.own and name in context.name(one.record).casefold().split()]
    return _tell(theirs, read_question(own, context.language), context)


def _slips(found: list[Found], question: Question, context: Context) -> Lines | None:
    """The newest of one's own statements that would answer if a word of the question were misspelt."""
    near = [one for one in found if one.own and misspelt(question, one.fact)]
    return _say([max(near, key=lambda one: one.record.order)], {}, context, full=False) if near else None


def _say(shown: list[Found], older: dict[str, Found], context: Context, *, full: bool) -> Lines:
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


def _words(one: Found, context: Context) -> str:
    """One's own words in one's language as we say them; others and another language are quoted."""
    if one.own and one.record.kind != "block" and one.fact.language.code == context.language.code:
        return context.language.shown(one.text)
    return context.language.quote(" ".join(one.text[:_LONG_TEXT].split()))


def _told(one: Found, context: Context) -> str:
    said = _words(one, context)
    phrase = "told" if context.language.begins("flowing", said) else "told_colon"
    if one.record.kind == "block":
        phrase = "noted"
    elif not one.own:
        phrase = "other_told"
    return context.language.say(phrase, speaker=context.name(one.record), fact=said, source=context.source(one.record))


def _listed(one: Found, context: Context) -> str:
    speaker = "" if one.own else f"{context.name(one.record)}: "
    return f"{speaker}{_words(one, context)}{context.source(one.record)}"
