"""What a language is to the offline model: one table of words, patterns and phrases. A new language is a new table.

Patterns meet one cleaned sentence of bounded length, so they may look at all of it; they must still be free of
nested repetition, because anybody may send anything.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

START = r"^[\s(*_~-]{0,8}"
"""List signs and emphasis that may stand before a sentence; no quotation marks: what is quoted is nobody's order."""
END = r"[\W_]{0,12}$"


def pattern(text: str) -> re.Pattern[str]:
    """One sentence from its beginning, without regard to case; END is up to the pattern."""
    return re.compile(START + text, re.IGNORECASE | re.DOTALL)


def whole(text: str) -> re.Pattern[str]:
    """A sentence that says this and nothing else."""
    return pattern(rf"(?:{text}){END}")


def anywhere(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


def words(text: str) -> frozenset[str]:
    """A set of words; an underscore joins a phrase."""
    return frozenset(word.replace("_", " ") for word in text.split())


def one_of(listed: str) -> str:
    """Words as alternatives of a pattern."""
    return "|".join(listed.split())


@dataclass(frozen=True)
class Concept:
    """An association: words a question is asked with, and words that answer it."""

    asked: frozenset[str]
    stated: frozenset[str]


def concept(asked: str, stated: str = "") -> Concept:
    """`stated` falls back to `asked`: the same words ask and answer."""
    return Concept(words(asked), words(stated or asked))


@dataclass(frozen=True)
class Kind:
    """What sort of answer a question wants: how it is asked, how an answer of this kind looks."""

    asked: re.Pattern[str]
    words: frozenset[str]
    """Words of the question that only name the kind ("address"); no content where other words stand beside them."""
    stated: re.Pattern[str]


@dataclass(frozen=True)
class Grammar:
    """How sentences are cut into words, and who they are about."""

    stops: frozenset[str]
    stem: Callable[[str], str]
    subject: re.Pattern[str]
    """Groups "subject" and "rest" of a statement about something; `about_self` is tried first."""
    about_self: re.Pattern[str]
    owners: re.Pattern[str]
    """Every group is a name for whose it is ("my sister Anna's dentist" -> sister, Anna)."""
    mine: re.Pattern[str]
    """Group "thing": the word right after "my"."""
    turn: Callable[[str], str]
    """A statement seen from the other side (my -> your)."""
    unturnable: re.Pattern[str]
    """Statements that `turn` would get wrong; they are quoted as they are."""
    speaker: re.Pattern[str]
    """Words for who speaks."""
    others: re.Pattern[str]
    """Words for somebody else whom a question is about; in a question without `speaker`."""
    asks: re.Pattern[str]
    """Question words; without one a question wants a yes or a no."""
    openers: frozenset[str]
    """Words that begin a question, and are known again when they are misspelt."""
    negated: re.Pattern[str]
    """Turns an idea into its opposite (not like)."""
    denied: re.Pattern[str]
    """Statements that something is not so; they answer only what is asked in their own words."""
    past: re.Pattern[str]
    """Statements of what was so once."""
    clauses: re.Pattern[str]
    """Between two statements of one sentence ("my cat is 3 and my dog is 5")."""
    implied: Mapping[str, re.Pattern[str]]
    """Ideas that a statement touches without a word for them ("I'm Ana" gives a name)."""
    names: re.Pattern[str] | None = None
    """Names inside a sentence, where writing shows them."""
    spaced: bool = True
    glue: re.Pattern[str] | None = None
    """Without spaces: syllables that are grammar and stand between words."""
    compounds: bool = False
    """Whether a long word may continue another one (Zahnarzt, Zahnarzttermin)."""
    spell: Callable[[str], str] = str
    """What is often left out in typing is put back (im -> I'm)."""
    mend: Callable[[str], str] = str
    """A subordinate clause as a main clause."""
    order: Callable[[str], str] = str
    """A main clause with its subject first, for looking at only."""
    variants: Callable[[str], tuple[str, ...]] = lambda _: ()
    """Further forms of a word for full text search, whose stemmer is English."""
    flowing: re.Pattern[str] | None = None
    """Turned statements that read on after "You told me"; others follow a colon."""


@dataclass(frozen=True)
class Patterns:
    """What people want, as patterns over one sentence."""

    lead: re.Pattern[str]
    """Words before the point ("hey Carina, please ...")."""
    remember: tuple[re.Pattern[str], ...]
    """Group "fact", in the person's own words; `Grammar.mend` puts a clause in order where it is shown."""
    polite: re.Pattern[str]
    """An order that may end with a question mark."""
    bare: re.Pattern[str]
    """A thing of which nothing is said ("my birthday"); it is asked about rather than stored."""
    theirs: re.Pattern[str]
    """Whose something is that a question is about, by the group "name": "Annie's" in "what is Annie's cat called?"."""
    mine: str
    """What stands there when people ask about what is their own."""
    open: re.Pattern[str]
    """How a fact ends that is not whole yet ("my dentist is"): it goes on in the next line."""
    forget: tuple[re.Pattern[str], ...]
    """Group "what"."""
    forget_all: re.Pattern[str]
    about_me: re.Pattern[str]
    talked: re.Pattern[str]
    who: re.Pattern[str]
    """Asks who or what is talking, perhaps with what it can do."""
    help: re.Pattern[str]
    chat: Mapping[str, re.Pattern[str]]
    """Small talk by kind; each kind is a field of `Phrases`."""
    question: re.Pattern[str]
    further: re.Pattern[str]
    """Between two questions of one sentence."""
    request: re.Pattern[str]
    """Asks for work that only a language model can do."""
    lasting: tuple[re.Pattern[str], ...]
    """First-person statements worth keeping without being asked."""
    passing: re.Pattern[str]
    """What looks lasting and is not."""


@dataclass(frozen=True)
class Calendar:
    """Days as they are said. `days` gives a pattern and a rule of `days.RULES`."""

    days: tuple[tuple[re.Pattern[str], str], ...]
    weekdays: tuple[str, ...]
    """Monday first, as regular expressions."""
    date: re.Pattern[str]
    """Groups "day" and "month", the month as a number or by name."""
    months: tuple[str, ...]
    written: str
    """Format of a date from day, month, number and year."""
    filler: frozenset[str]
    """Words of a question about a conversation that are not its topic."""


@dataclass(frozen=True)
class AgendaWords:
    """Reminders, tasks and events: what people want, and what is said to that."""

    remind: tuple[re.Pattern[str], ...]
    """Group "what": what to be reminded of, with when."""
    lead: re.Pattern[str]
    """What is left of the sentence around the matter itself ("to ...")."""
    reminders: re.Pattern[str]
    task: tuple[re.Pattern[str], ...]
    """Group "what": something to be written down."""
    tasks: re.Pattern[str]
    done: tuple[re.Pattern[str], ...]
    """Group "what": what is done."""
    event: tuple[re.Pattern[str], ...]
    """Group "what": what happens, with when."""
    events: re.Pattern[str]
    cancel: tuple[re.Pattern[str], ...]
    """Group "what": what is not wanted any more."""
    reminded: str
    remind_when: str
    remind_what: str
    listed: str
    """Above reminders."""
    none: str
    added: str
    tasks_listed: str
    tasks_none: str
    finished: str
    event_added: str
    event_when: str
    event_what: str
    events_listed: str
    events_none: str
    cancelled: str
    not_found: str


@dataclass(frozen=True)
class Phrases:
    """What the model says; placeholders are filled with str.format."""

    saved: str
    saved_list: str
    already: str
    told: str
    told_colon: str
    told_list: str
    nearest: str
    earlier: str
    other_told: str
    noted: str
    source: str
    """Around when and where it was said."""
    source_time: str
    source_place: str
    at_terminal: str
    in_direct: str
    """Places that have no name of their own: the terminal, and direct messages."""
    quote: str
    join: str
    unknown: str
    looked: str
    no_model: str
    model_key: str
    """For each `Trouble` of a model that is configured: why it does not answer."""
    model_missing: str
    model_quota: str
    model_budget: str
    model_unreachable: str
    model_failing: str
    forgot: str
    forgot_messages: str
    forget_nothing: str
    forget_unstored: str
    forget_left: str
    """What was only said in conversation: no entry, but words in its record."""
    forget_others: str
    forget_all: str
    forget_what: str
    remember_what: str
    known: str
    known_none: str
    known_others: str
    known_more: str
    known_older: str
    """Entries that a list does not show: one's own, and older ones of anybody."""
    talked: str
    talked_none: str
    myself: str
    greeting: str
    thanks: str
    wellbeing: str
    night: str
    ack: str
    called: str
    """To who says our name and nothing else."""
    picture: str
    statement: str
    cannot: str
    who: str
    """Above `help`; `name` is the agent's."""
    help: str
    missing_tool: str
    failed: str
    waits: str
    """A call that waits for somebody's yes."""
    allowed: str
    refused: str
    no_result: str
    too_long: str


@dataclass(frozen=True)
class Language:
    code: str
    marks: frozenset[str]
    """Frequent words that tell it from others."""
    script: re.Pattern[str] | None
    """A letter that only this language uses."""
    grammar: Grammar
    patterns: Patterns
    concepts: Mapping[str, Concept]
    kinds: Mapping[str, Kind]
    calendar: Calendar
    phrases: Phrases
    agenda: AgendaWords
