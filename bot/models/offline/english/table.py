"""English as one table."""

from bot.models.offline.english.agenda import AGENDA
from bot.models.offline.english.calendar import CALENDAR
from bot.models.offline.english.grammar import GRAMMAR
from bot.models.offline.english.ideas import CONCEPTS, KINDS
from bot.models.offline.english.patterns import PATTERNS
from bot.models.offline.english.phrases import ENGLISH_PHRASES
from bot.models.offline.language import Language, words

ENGLISH = Language(
    code="en",
    marks=GRAMMAR.stops
    | words("remember forget thanks hello help live lives work works name good night love like likes hate allergic"),
    script=None,
    grammar=GRAMMAR,
    patterns=PATTERNS,
    concepts=CONCEPTS,
    kinds=KINDS,
    calendar=CALENDAR,
    phrases=ENGLISH_PHRASES,
    agenda=AGENDA,
)
