"""What is learned from people: anti-patterns from corrections, and preferences from what they said before."""

import re
from collections.abc import Mapping, Sequence

from bot.dreams.answers import Lesson, Lessons, Preference, Preferences, Unusable, known, read_answer
from bot.dreams.asking import Asking
from bot.dreams.consolidating import Draft, in_order
from bot.dreams.prompts import corrections_text, sayings_text, system
from memory.agents import Agent
from memory.archival import NewEntry, Origin, is_category
from memory.audience import Scope
from memory.dreams import Learned, Mark, Part, Pass, invented
from memory.dreams.sayings import Saying
from memory.feedback import Given
from memory.ids import MessageId, PersonId
from sources.text import one_line

ANTI_PATTERN, INFERRED = "anti-pattern", "inferred"
_LESSON_IMPORTANCE = 0.6
_LONGEST_RULE = 400
_NEEDED = {"strong": 1, "mild": 2, "casual": 3}
"""How often a preference must have been shown, by how strongly."""
_DIRECTION = re.compile(
    r"(?:^|[.!?;]\s+|,\s+)((?:please\s+)?(?:don['’]t|do not|never|stop)\s[^.!?\n]{3,}"
    r"|(?:bitte\s+)?(?:hör auf|nie(?:mals)?|nicht)\s[^.!?\n]{3,})",
    re.IGNORECASE,
)
_SENSITIVE = re.compile(
    r"""password|passwort|kennwort|\bpin\b|secret|geheim|security|bank|money|geld|\bpay|bezahl|credit|kredit|salary|gehalt
    |lohn|debt|schulden|invest|insur|versicher|health|gesund|illness|krank|doctor|arzt|ärzt|diagnos|medic|medik|pill
    |therap|depress|disab|behinder|pregnan|schwanger|sex|gay|lesb|religio|church|kirche|muslim|jew|jüd|politic|politik
    |vote|wähl|court|gericht|police|polizei|drug|droge|alcohol|alkohol|divorce|scheidung""",
    re.IGNORECASE | re.VERBOSE,
)


# ----------------------------------------------------------------------------------------------------------- lessons


async def learn_lessons(asking: Asking, agent: Agent, given: Sequence[Given], draft: Draft) -> None:
    """Plan anti-patterns from corrections: by a model, or where there is none by the rule that takes plain orders."""
    parts: dict[Part, list[Given]] = {}
    for each in given:
        parts.setdefault(Part(each.agent, each.audience, each.trust), []).append(each)
    for part in in_order(list(parts)):
        said = parts[part]
        mark = Mark(Pass.LESSONS, part, said[-1].id)
        if not asking.has_model(agent):
            draft.items += [found for each in said if (found := _by_rule(part, each)) is not None]
            draft.marks.append(mark)
            continue
        short = {f"c{number}": each for number, each in enumerate(said, 1)}
        told = corrections_text(list(short.items()))
        text = await asking.ask(agent, system(asking.means.directives, Pass.LESSONS), told)
        if text is None:
            draft.note(f"{len(said)} corrections were not looked at: {asking.refused}")
            continue
        try:
            draft.items += _lessons(text, part, short, draft)
        except Unusable as error:
            draft.note(f"{len(said)} corrections were left: {error}")
            continue
        draft.marks.append(mark)


def _by_rule(part: Part, given: Given) -> Learned | None:
    """A correction that says in so many words what not to do, kept as it was said."""
    found = _DIRECTION.search(given.text)
    if found is None:
        return None
    words = one_line(found[1], _LONGEST_RULE).strip()
    return _lesson(part, f"{words[:1].upper()}{words[1:]}.", "conversation", [given])


def _lessons(text: str, part: Part, short: Mapping[str, Given], draft: Draft) -> list[Learned]:
    answer = read_answer(text, Lessons)
    for each in answer.lessons:
        known(each.sources, set(short))
    found = []
    for each in answer.lessons:
        sources = [short[name] for name in each.sources]
        content = _lesson_words(each)
        if len({one.person for one in sources}) > 1:
            draft.note("a lesson was refused: it would have joined different people's words")
        elif invented([f"{one.before} {one.text}" for one in sources], _without_frame(each)):
            draft.note("a lesson was refused: it said what nobody had said")
        else:
            found.append(_lesson(part, content, each.domain, sources))
    return found


def _lesson_words(lesson: Lesson) -> str:
    dont, because, instead = (_clause(each) for each in (lesson.dont, lesson.because, lesson.instead))
    dont = re.sub(r"^(?:don['’]t|do not|never)\s+", "", dont, flags=re.IGNORECASE)
    because = re.sub(r"^because\s+", "", because, flags=re.IGNORECASE)
    instead = re.sub(r"^instead,?\s+", "", instead, flags=re.IGNORECASE)
    return f"Don't {dont} because {because}; instead {instead}."


def _without_frame(lesson: Lesson) -> str:
    """The words of a lesson that may hold names; what frames them, and a word that only begins them, is ours."""
    return " ".join(re.sub(r"^\s*(?:don['’]t|do not|never)\s+|^\s*\w", "", each) for each in (
        lesson.dont, lesson.because, lesson.instead,
    ))  # fmt: skip


def _clause(text: str) -> str:
    return one_line(text, _LONGEST_RULE).strip().rstrip(".!;,")


def _lesson(part: Part, content: str, domain: str, sources: Sequence[Given]) -> Learned:
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
    return Learned(Pass.LESSONS, part, new, tuple(one.message for one in sources))


# ------------------------------------------------------------------------------------------------------- preferences


async def infer_preferences(asking: Asking, agent: Agent, said: Mapping[Part, Sequence[Saying]], draft: Draft) -> None:
    """Plan preferences that people showed often enough; they are tagged as inferred, and sensitive ones wait."""
    for part in in_order(list(said)):
        short = {f"m{number}": each for number, each in enumerate(said[part], 1)}
        people = {person: f"person {number}" for number, person in enumerate(_people(said[part]), 1)}
        told = sayings_text(list(short.items()), {str(person): name for person, name in people.items()})
        text = await asking.ask(agent, system(asking.means.directives, Pass.PREFERENCES), told)
        if text is None:
            draft.note(f"{len(short)} messages were not looked at for preferences: {asking.refused}")
            continue
        try:
            draft.items += _preferences(text, part, short, draft)
        except Unusable as error:
            draft.note(f"{len(short)} messages were left: {error}")
            continue
        draft.marks.append(Mark(Pass.PREFERENCES, part, said[part][-1].id))


def _people(said: Sequence[Saying]) -> list[PersonId]:
    return list(dict.fromkeys(each.person for each in said))


def _preferences(text: str, part: Part, short: Mapping[str, Saying], draft: Draft) -> list[Learned]:
    answer = read_answer(text, Preferences)
    for each in answer.preferences:
        known(each.sources, set(short))
    found = []
    for each in answer.preferences:
        sources = [short[name] for name in each.sources]
        if len({one.person for one in sources}) > 1:
            draft.note("a preference was refused: it would have joined different people's words")
        elif len({one.id for one in sources}) < _NEEDED[each.strength]:
            draft.note("a preference was not shown often enough yet")
        elif {each for each in invented([one.text for one in sources], each.content) if any(map(str.isdigit, each))}:
            draft.note("a preference was refused: it had a number that nobody had said")
        else:
            found.append(_preference(part, each, sources))
    return found


def _preference(part: Part, wish: Preference, sources: Sequence[Saying]) -> Learned:
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
    return Learned(Pass.PREFERENCES, part, new, messages, waiting=sensitive)
