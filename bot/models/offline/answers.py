"""Questions: what is found in memory, chosen and said with its source; or honestly that nothing was found."""

from bot.models.offline.content import queries
from bot.models.offline.desk import Desk, Lines, Step
from bot.models.offline.facts import Question, read_question
from bot.models.offline.fitting import fit, misspelt
from bot.models.offline.found import (
    Found,
    entries_found,
    hits,
    newest_entries,
    said_found,
    search_entries,
    search_said,
)
from bot.models.offline.intents import Ask
from bot.models.offline.language import words
from bot.models.offline.records import rows_searched

_SHOWN = 5
_LONG_TEXT = 300
_SHARED = words(
    "allergy eat diet drink abstain like dislike pet family children siblings parents health language partner"
)
"""Ideas that several statements may answer together."""


def ask(intent: Ask, desk: Desk) -> Step:
    """Entries that search finds first; then the newest entries and what the person said in conversation."""
    question = read_question(intent.question, desk.language)
    if not question.terms:
        return unknown(desk, {})
    desk.need("search")
    wanted = queries(question.words, question.concepts, desk.language) or (intent.question[:200],)
    first, newest = search_entries("find", wanted, desk), newest_entries("newest", desk)
    together = bool(question.concepts & _SHARED)
    if calls := desk.pending((*first, *newest) if together else first):
        return calls
    entries = entries_found([*hits("find", first, desk), *(hits("newest", newest, desk) if together else ())], desk)
    if lines := _tell(entries, question, desk):
        return lines
    said = search_said("heard", wanted, desk)
    if calls := desk.pending((*newest, *said)):
        return calls
    entries = entries_found([*hits("find", first, desk), *hits("newest", newest, desk)], desk)
    if lines := _tell(entries, question, desk) or _tell(said_found("heard", said, desk), question, desk):
        return lines
    if lines := _of_others([*entries, *said_found("heard", said, desk)], intent.question, desk):
        return lines
    searched = {**rows_searched(desk.data("heard0")), **rows_searched(desk.data("find0"))}
    return _slips(entries, question, desk) or unknown(desk, searched)


def unknown(desk: Desk, searched: dict[str, int]) -> Lines:
    phrases = desk.language.phrases
    looked = ""
    if searched:
        entries, messages = searched.get("archival", 0), searched.get("messages", 0)
        looked = phrases.looked.format(entries=entries, messages=messages)
    return Lines(phrases.unknown.format(looked=looked), hint=True)


def _tell(found: list[Found], question: Question, desk: Desk) -> Lines | None:
    """The best of what was found, the newest where statements contradict each other."""
    fitting = [(one, judged) for one in found if (judged := fit(question, one.fact))]
    own = [(one, judged) for one, judged in fitting if one.own]
    full = [(one, judged) for one, judged in own if judged.full]
    pool = full or own or [(one, judged) for one, judged in fitting if judged.full]
    if not pool:
        return None
    best = max(judged for _, judged in pool)
    chosen = sorted((one for one, judged in pool if judged == best), key=lambda one: one.when, reverse=True)
    newest: dict[str, Found] = {}
    older: dict[str, Found] = {}
    for one in chosen:
        if one.fact.key not in newest:
            newest[one.fact.key] = one
        else:
            older.setdefault(one.fact.key, one)
    together = question.kind != "count" and (question.concepts & _SHARED or len(question.terms) == 1)
    return _say(list(newest.values())[: _SHOWN if together else 1], older, desk, full=best.full)


def _of_others(found: list[Found], asked: str, desk: Desk) -> Lines | None:
    """What somebody else said of themselves, where it is asked for by their name ("Annie's cat")."""
    whose = desk.language.patterns.theirs.search(asked)
    if whose is None:
        return None
    own = f"{asked[: whose.start()]}{desk.language.patterns.mine}{asked[whose.end() :]}"
    name = whose["name"].casefold()
    theirs = [one for one in found if not one.own and name in desk.name(one.record).casefold().split()]
    return _tell(theirs, read_question(own, desk.language), desk)


def _slips(found: list[Found], question: Question, desk: Desk) -> Lines | None:
    """The newest of one's own statements that would answer if a word of the question were misspelt."""
    near = [one for one in found if one.own and misspelt(question, one.fact)]
    newest = sorted(near, key=lambda one: one.when, reverse=True)[:1]
    return _say(newest, {}, desk, full=False) if newest else None


def _say(shown: list[Found], older: dict[str, Found], desk: Desk, *, full: bool) -> Lines:
    phrases = desk.language.phrases
    if len(shown) == 1:
        parts = [_one(shown[0], desk)]
    else:
        parts = [phrases.told_list, *(f"- {_listed(one, desk)}" for one in shown)]
    if not full:
        parts.insert(0, phrases.nearest)
    parts += [
        phrases.earlier.format(fact=desk.turned(past.text), source=desk.source(past.record))
        for key, past in older.items()
        if any(one.fact.key == key for one in shown) and past.own
    ]
    return Lines("\n".join(parts), hint=not full)


def _one(one: Found, desk: Desk) -> str:
    phrases, source = desk.language.phrases, desk.source(one.record)
    if one.record.kind == "block":
        return phrases.noted.format(fact=phrases.quote.format(one.text[:_LONG_TEXT]), source=source)
    if not one.own:
        quoted = phrases.quote.format(" ".join(one.text[:_LONG_TEXT].split()))
        return phrases.other_told.format(speaker=desk.name(one.record), fact=quoted, source=source)
    turned = _turned(one, desk)
    return (phrases.told if desk.flows(turned) else phrases.told_colon).format(fact=turned, source=source)


def _listed(one: Found, desk: Desk) -> str:
    if not one.own:
        quoted = desk.language.phrases.quote.format(" ".join(one.text[:_LONG_TEXT].split()))
        return f"{desk.name(one.record)}: {quoted}{desk.source(one.record)}"
    return f"{_turned(one, desk)}{desk.source(one.record)}"


def _turned(one: Found, desk: Desk) -> str:
    """In the language it was said in; another language than the answer's is quoted."""
    if one.fact.language.code == desk.language.code:
        return desk.turned(one.text)
    return desk.language.phrases.quote.format(" ".join(one.text[:_LONG_TEXT].split()))
