"""Forgetting: what is deleted, what is left in the record of a conversation, and saying both."""

from bot.models.base import Call
from bot.models.offline.content import queries
from bot.models.offline.desk import Desk, Failed, Lines, Step
from bot.models.offline.facts import read_fact, read_question
from bot.models.offline.fitting import names_all
from bot.models.offline.found import said_found, search_said
from bot.models.offline.intents import Forget
from bot.models.offline.records import Record, read_list, read_number
from bot.models.offline.text import one_line

_MOST_DELETED = 20
_LONGEST_LINE = 160


def forget(intent: Forget, desk: Desk) -> Step:
    """Find the entries that name it, delete the person's own, and look what they said of it besides."""
    desk.need("search")
    desk.need("recall")
    question = read_question(intent.what, desk.language, plain=True)
    wanted = queries(question.words, (), desk.language)[:1] or (intent.what[:200],)
    if calls := desk.pending((desk.call("find", "search", query=wanted[0], domain="archival_memory", limit=50),)):
        return calls
    hits = read_list(desk.data("find"), "hits", "entry")
    if hits is None:
        raise desk.unreadable()
    meant = [hit for hit in hits if hit.kind == "entry" and hit.id and hit.id not in desk.turn.gone]
    meant = [hit for hit in meant if names_all(question, read_fact(hit.text, desk.language))]
    own = [hit for hit in meant if hit.told_by(desk.speaker)][:_MOST_DELETED]
    desk.turn.gone.update(hit.id for hit in own)
    if calls := desk.pending(tuple(_delete(hit, number, desk) for number, hit in enumerate(own))):
        return calls
    said = search_said("left", wanted, desk)
    if calls := desk.pending(said):
        return calls
    left = {one.record.id for one in said_found("left", said, desk) if names_all(question, one.fact)}
    return Lines("\n".join([*_outcome(intent, own, meant, desk, left=bool(left)), *_left(len(left), desk)]))


def _delete(hit: Record, number: int, desk: Desk) -> Call:
    return desk.call(f"drop{number}", "recall", operation="delete", label=hit.id, forget_words=True)


def _outcome(intent: Forget, own: list[Record], meant: list[Record], desk: Desk, *, left: bool) -> list[str]:
    """What is gone, and what could not be deleted. The words themselves are not said once more."""
    phrases = desk.language.phrases
    what = phrases.quote.format(one_line(intent.what, _LONGEST_LINE))
    if meant and not own:
        return [phrases.forget_others.format(speaker=desk.name(meant[0]))]
    if not own:
        return [(phrases.forget_unstored if left else phrases.forget_nothing).format(what=what)]
    gone, failures, messages = 0, [], 0
    for number in range(len(own)):
        try:
            data = desk.data(f"drop{number}")
        except Failed as failed:
            failures.append(failed.lines.text)
            continue
        gone += 1
        messages += read_number(data, "messages")
    parts = [phrases.forgot.format(what=what)] if gone else []
    parts += [phrases.forgot_messages.format(count=messages)] if messages else []
    return [*parts, *dict.fromkeys(failures)]


def _left(count: int, desk: Desk) -> list[str]:
    return [desk.language.phrases.forget_left.format(count=count)] if count else []
