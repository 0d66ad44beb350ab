"""What a dream learns from people: anti-patterns from corrections, and preferences from earlier messages."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

from bot.upkeep.consolidation import Draft, in_order, numbered
from bot.upkeep.model_answers import Lessons, Preference, Preferences, known
from bot.upkeep.prompts import corrections_text, sayings_text
from memory.knowledge.entries import NewEntry, Origin, is_category
from memory.knowledge.feedback import ORDERS, Correction
from memory.knowledge.upkeep.planned_changes import Learn, Mark, Part, Pass
from memory.knowledge.upkeep.specifics import unsaid
from memory.people.audience import Scope
from memory.queue.messages import Message
from memory.store.fulltext import content_words
from memory.store.ids import MessageId, PersonId
from memory.store.lazy import Pattern
from sources.text import one_line
from texts import gettext_lazy, ngettext_lazy

ANTI_PATTERN, INFERRED = "anti-pattern", "inferred"
_LESSON_IMPORTANCE = 0.6
_LONGEST_RULE = 400
_NEEDED = {"strong": 1, "mild": 2, "casual": 3}
"""How often a preference must have been shown, by its strength."""
_DIRECTION = Pattern(
    r"(?:^|[.!?;]\s+|,\s+)("
    rf"(?:please\s+)?(?:don['’]t|do not|never|stop)\s(?!{ORDERS}|it\b)[^.!?\n]{{3,}}"
    r"|(?:bitte\s+(?:nicht|nie(?:mals)?|kein\w*)|hör\s+auf|nie\s+wieder|niemals)\s[^.!?\n]{3,})",
    re.IGNORECASE,
)
_BECAUSE = Pattern(r",?\s+(?:because|weil)\s+", re.IGNORECASE)
_SENSITIVE = Pattern(
    r"""password|passwort|kennwort|\bpin\b|secret|geheim|security|bank|money|geld|\bpay|bezahl|credit|kredit|salary|gehalt
    |lohn|debt|schulden|invest|insur|versicher|health|gesund|illness|krank|doctor|arzt|ärzt|diagnos|medic|medik|pill
    |therap|depress|disab|behinder|pregnan|schwanger|sex|gay|lesb|religio|church|kirche|muslim|jew|jüd|politic|politik
    |vote|wähl|court|gericht|police|polizei|drug|droge|alcohol|alkohol|divorce|scheidung""",
    re.IGNORECASE | re.VERBOSE,
)


# ----------------------------------------------------------------------------------------------------------- lessons


async def learn_lessons(given: Sequence[Correction], draft: Draft) -> None:
    """Plan anti-patterns from corrections: by a model or, without one, by a rule for plain orders."""
    parts: dict[Part, list[Correction]] = {}
    for each in given:
        parts.setdefault(Part(each.agent, each.audience, each.trust), []).append(each)
    for part in in_order(list(parts)):
        said = parts[part]
        mark = Mark(Pass.LESSONS, part, said[-1].id)
        if not draft.calls.has_model(draft.agent):
            draft.items += [found for each in said if (found := _by_rule(part, each)) is not None]
            draft.marks.append(mark)
            continue
        short = numbered("c", said)
        what = ngettext_lazy("{count} correction", "{count} corrections", len(said))
        plan = partial(_lessons, part=part, short=short, draft=draft)
        await draft.ask(mark, Lessons, corrections_text(short), what, plan)


def _by_rule(part: Part, given: Correction) -> Learn | None:
    """A literal correction of what not to do, stored unchanged."""
    found = _DIRECTION.search(given.text)
    if found is None:
        return None
    words = one_line(found[1], _LONGEST_RULE).strip()
    return _lesson(part, f"{words[:1].upper()}{words[1:]}.", "conversation", [given])


def _lessons(answer: Lessons, part: Part, short: Mapping[str, Correction], draft: Draft) -> None:
    """Plan the lessons of an answer that a person really gave. Raises UnusableAnswer."""
    for each in answer.lessons:
        known(each.sources, set(short))
    for each in answer.lessons:
        sources = [short[name] for name in each.sources]
        heard = [f"{one.before} {one.text}" for one in sources]
        if len({one.person for one in sources}) > 1 or unsaid(heard, f"{each.dont} {each.because} {each.instead}"):
            draft.note(gettext_lazy("a lesson that nobody had given in these words"))
        else:
            because = _said_reason(each.because, heard, draft)
            draft.items.append(_lesson(part, _lesson_words(each.dont, because, each.instead), each.domain, sources))


def _lesson_words(*parts: str) -> str:
    dont, because, instead = map(_clause, parts)
    dont = re.sub(r"^(?:don['’]t|do not|never)\s+", "", dont, flags=re.IGNORECASE)
    because = re.sub(r"^because\s+", "", because, flags=re.IGNORECASE)
    instead = re.sub(r"^instead,?\s+", "", instead, flags=re.IGNORECASE)
    return f"Don't {dont}{because and f' because {because}'}{instead and f'; instead {instead}'}."


def _said_reason(reason: str, heard: Sequence[str], draft: Draft) -> str:
    """The reason, if a person said all of it, possibly in other forms of the words; else empty."""
    known = {word for each in heard for word in content_words(each)}
    if all(any(_alike(word, each) for each in known) for word in content_words(reason)):
        return reason
    draft.note(gettext_lazy("a reason nobody had given"))
    return ""


def _alike(word: str, other: str) -> bool:
    same = min(len(word), len(other), 5)
    return word == other or (same >= 3 and word[:same] == other[:same])


def _clause(text: str) -> str:
    return one_line(text, _LONGEST_RULE).strip().rstrip(".!;,")


def _lesson(part: Part, content: str, domain: str, sources: Sequence[Correction]) -> Learn:
    category = f"anti-patterns/{re.sub(r'[^a-z0-9]+', '-', domain.casefold()).strip('-')}"
    origin = Origin(Scope(part.audience), part.trust, sources[0].person, sources[0].message)
    new = NewEntry(
        content,
        origin,
        category=category if is_category(category) else "anti-patterns/conversation",
        tags=(ANTI_PATTERN,),
        metadata={"source": "correction"},
        importance=_LESSON_IMPORTANCE,
    )
    return Learn(Pass.LESSONS, part, new, tuple(one.message for one in sources))


# ------------------------------------------------------------------------------------------------------- preferences


async def infer_preferences(said: Mapping[Part, Sequence[Message]], draft: Draft) -> None:
    """Plan preferences that people showed often enough; they are tagged as inferred, and sensitive ones wait."""
    for part in in_order(list(said)):
        short = numbered("m", said[part])
        mark, text = Mark(Pass.PREFERENCES, part, said[part][-1].id), sayings_text(short, _names(said[part]))
        what = ngettext_lazy("{count} message", "{count} messages", len(short))
        await draft.ask(mark, Preferences, text, what, partial(_preferences, part=part, short=short, draft=draft))


def _names(said: Sequence[Message]) -> dict[PersonId | None, str]:
    """The name of each person; two with the same name get numbers."""
    names = {each.person: one_line(each.speaker, 60) or "somebody" for each in said}
    shared = {name for name, count in Counter(names.values()).items() if count > 1}
    return {
        person: f"{name} {number}" if name in shared else name for number, (person, name) in enumerate(names.items(), 1)
    }


def _preferences(answer: Preferences, part: Part, short: Mapping[str, Message], draft: Draft) -> None:
    """Plan the preferences of an answer that were shown often enough. Raises UnusableAnswer."""
    for each in answer.preferences:
        known(each.sources, set(short))
    for each in answer.preferences:
        sources = [short[name] for name in each.sources]
        heard = [one.text for one in sources]
        of_one = len({one.person for one in sources}) == 1
        if not of_one or not each.content.strip() or unsaid([sources[0].speaker, *heard], each.content):
            draft.note(gettext_lazy("a preference that nobody had expressed in these words"))
        elif len({one.id for one in sources}) < _NEEDED[each.strength]:
            draft.note(gettext_lazy("a preference that has not been shown often enough yet"))
        else:
            wish, *reasons = _BECAUSE.split(each.content, maxsplit=1)
            said = all(_said_reason(reason, heard, draft) for reason in reasons)
            content = each.content if said else f"{wish.rstrip(' .')}."
            draft.items.append(_preference(part, each.model_copy(update={"content": content}), sources))


def _preference(part: Part, wish: Preference, sources: Sequence[Message]) -> Learn:
    words = " ".join([wish.content, *(one.text for one in sources)])
    sensitive = wish.sensitive or _SENSITIVE.search(words) is not None
    messages: tuple[MessageId, ...] = tuple(one.id for one in sources)
    new = NewEntry(
        one_line(wish.content, 500),
        Origin(Scope(part.audience), part.trust, sources[0].person, messages[0]),
        category="user-preferences/inferred",
        tags=(INFERRED,),
        metadata={"source": "inferred"} | ({"requires_user_permission": True} if sensitive else {}),
    )
    return Learn(Pass.PREFERENCES, part, new, messages, waiting=sensitive)
