"""Japanese as one table."""

import re

from bot.models.offline.japanese.agenda import AGENDA
from bot.models.offline.japanese.calendar import CALENDAR
from bot.models.offline.japanese.grammar import GRAMMAR
from bot.models.offline.japanese.ideas import CONCEPTS, KINDS
from bot.models.offline.japanese.patterns import PATTERNS
from bot.models.offline.japanese.phrases import JAPANESE_PHRASES
from bot.models.offline.language import Language

JAPANESE = Language(
    code="ja",
    marks=frozenset(),
    script=re.compile(r"[\u3041-\u30ff\u3400-\u9fff\uff66-\uff9d]"),
    grammar=GRAMMAR,
    patterns=PATTERNS,
    concepts=CONCEPTS,
    kinds=KINDS,
    calendar=CALENDAR,
    phrases=JAPANESE_PHRASES,
    agenda=AGENDA,
)
