"""German as one table."""

from bot.models.offline.german.agenda import AGENDA
from bot.models.offline.german.calendar import CALENDAR
from bot.models.offline.german.grammar import GRAMMAR
from bot.models.offline.german.ideas import CONCEPTS, KINDS
from bot.models.offline.german.patterns import PATTERNS
from bot.models.offline.german.phrases import GERMAN_PHRASES
from bot.models.offline.language import Language, anywhere, words

GERMAN = Language(
    code="de",
    marks=GRAMMAR.stops
    | words(
        "merk merke vergiss danke hallo hilfe gute nacht heiße heißt heisst wohne wohnt lebe lebt arbeite arbeitet "
        "guten morgen tschüss servus moin ja nein geht steht liegt farbe arbeiten wohnen leben allergisch esse trinke"
    ),
    script=anywhere(r"[äöüß]"),
    grammar=GRAMMAR,
    patterns=PATTERNS,
    concepts=CONCEPTS,
    kinds=KINDS,
    calendar=CALENDAR,
    phrases=GERMAN_PHRASES,
    agenda=AGENDA,
)
