"""What words bring to mind in German, and what sorts of answers there are."""

from bot.models.offline.german.calendar import MONTHS
from bot.models.offline.german.grammar import OCCUPATIONS
from bot.models.offline.language import Kind, anywhere, concept, one_of, words

_ALLERGY = "allergisch allergie allergien unverträglich unverträglichkeit vertrage vertrag laktoseintolerant "
_ALLERGY += "glutenintolerant intolerant"
_MEALS = "essen esse isst mahlzeit abendessen mittagessen frühstück kochen gericht speise restaurant nahrung"

CONCEPTS = {
    "eat": concept(_MEALS, "esse essen ess vegetarier vegetarierin veganer veganerin vegan"),
    "diet": concept(
        _MEALS,
        _ALLERGY + " vegetarier vegetarierin veganer veganerin vegan vegetarisch zöliakie halal koscher diät",
    ),
    "drink": concept("trinken trinke getränk", "trinke trinken trink alkohol kaffee koffein tee bier wein saft"),
    "abstain": concept("trinken trinke getränk", "laktose laktoseintolerant milch"),
    "allergy": concept(
        "allergisch allergie allergien unverträglichkeit vertrage",
        _ALLERGY,
    ),
    "home": concept(
        "wohne wohnen wohnt lebe leben lebt zuhause adresse stadt wohnung haus wohnort",
        "wohne wohnt lebe lebt adresse zuhause wohnort gezogen umgezogen",
    ),
    "origin": concept(
        "komme_ich_her woher_komme woher_kommt herkunft", "komme_aus kommt_aus bin_aus wurde_in stamme_aus bin_geboren"
    ),
    "name": concept(
        "name heiße heisse heißt wer_bin_ich", "mein_name dein_name name heiße heisse heißt nenn_mich nenne_mich"
    ),
    "birthday": concept("geburtstag geboren geburt", "geburtstag geboren"),
    "age": concept("alt alter", "jahre_alt geboren geburtstag"),
    "work": concept(
        "arbeit arbeite arbeiten arbeitet beruf job firma arbeitgeber beruflich",
        "arbeite arbeitet arbeit beruf job " + OCCUPATIONS,
    ),
    "pet": concept("haustier tier haustiere tiere", "hund katze kater haustier hamster kaninchen papagei pferd vogel"),
    "children": concept("kind kinder", "sohn söhne tochter töchter kind kinder zwilling"),
    "siblings": concept("geschwister", "schwester bruder brüder zwilling geschwister"),
    "parents": concept("eltern", "mutter vater mama papa eltern"),
    "family": concept(
        "familie verwandte",
        "schwester bruder mutter vater mama papa sohn tochter frau mann kind kinder eltern tante onkel oma opa",
    ),
    "partner": concept("partner partnerin verheiratet", "frau mann freundin freund partner partnerin verheiratet"),
    "like": concept(
        "mag mögen liebe liebling lieblings gern gerne liebsten hobby hobbys",
        "mag liebe liebling lieblings bevorzuge gern gerne liebsten schmeckt schmecken",
    ),
    "dislike": concept("hasse ungern", "hasse ungern nicht_leiden nicht_ausstehen"),
    "health": concept(
        "gesundheit krankheit erkrankung",
        "diabetiker diabetes asthma epilepsie adhs autist allergisch allergie migräne taub blind legasthenie",
    ),
    "language": concept("sprache sprachen spreche", "spreche"),
}

_NUMBERS = (
    "kein keine keinen ein eine einen zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dutzend hundert "
    "tausend halbe mehrere viele einige beide"
)
_COLOURS = (
    "rot orange gelb grün blau lila violett rosa pink braun schwarz weiß weiss grau silber silbern gold golden beige "
    "türkis bunt"
)
_A_TIME = (
    r"\s+(?:\w*(?:mon|diens|donners|frei|sams|sonn)tags?\b|mittwochs?\b|\d{1,2}\.|\d{4}\b|"
    r"\d+ (?:uhr|tage|wochen|minuten|stunden)|"
    rf"(?:{one_of(MONTHS)})\b|(?:vor|nach)?mittags?\b|morgen|abend|wochenende|anfang|ende)"
)
"""What stands behind "am" or "im" where they tell a time."""
_PLACES = (
    r"\b(?:in|im|an|am|auf|bei|beim|unter|hinter|neben|über|zwischen|gegenüber|aus|zu|nahe|nach)\b"
    rf"(?!{_A_TIME})|straße\b"
)

KINDS = {
    "colour": Kind(
        anywhere(r"\bfarben?\b|\bwelchfarbig"),
        words("farbe farben"),
        anywhere(rf"\b(?:hell|dunkel)?(?:{one_of(_COLOURS)})(?:e|es|er|en)?\b|farbe\b"),
    ),
    "age": Kind(
        anywhere(r"\bwie alt\b|\balter\b"),
        words("alt alter"),
        anywhere(r"\b\d{1,3}(?= jahre?\b|[\s.!]*$)|\b(?:geboren|geburtstag|jahre alt|monate alt)\b"),
    ),
    "count": Kind(
        anywhere(r"\bwie ?viele\b|\banzahl\b"), words("viele anzahl"), anywhere(rf"\d|\b(?:{one_of(_NUMBERS)})\b")
    ),
    "price": Kind(
        anywhere(r"\bwie ?viel\b(?! uhr)|\bkostet\b|\bkosten\b|\bteuer\b|\bpreis\b"),
        words("wieviel kostet kosten teuer preis"),
        anywhere(r"[€$£¥]|\b(?:euro|dollar|franken|pfund|cent|kostenlos|gratis|eur|chf)\b|\d"),
    ),
    "size": Kind(
        anywhere(r"\bwie (?:groß|gross|lang|schwer|hoch|weit|breit|tief|schnell)\b|\b(?:größe|gewicht|länge|höhe)\b"),
        words("groß gross lang schwer hoch weit breit tief schnell größe gewicht länge höhe"),
        anywhere(rf"\d|\b(?:xxs|xs|s|m|l|xl|xxl|klein|mittel|groß|{one_of(_NUMBERS)})\b"),
    ),
    "place": Kind(
        anywhere(
            r"\bwo\b|\bwohin\b|\badresse\b|\bwelche[rnm]? (?:straße|stadt|ort|land|firma|schule)\b|"
            r"\bfür wen arbeite"
        ),
        words("adresse ort straße stadt land firma"),
        anywhere(_PLACES),
    ),
    "time": Kind(
        anywhere(
            r"\bwann\b(?! habe? ich (?:dir|es|das))|\bum wie ?viel uhr\b|\bwie spät\b|\b(?:welche[rnm]?|an welchem) "
            r"(?:tag|datum)\b"
        ),
        words("uhr zeit datum tag"),
        anywhere(
            r"\b(?:mon|diens|donners|frei|sams|sonn)tags?\b|\bmittwochs?\b|\b\d{1,2}(?::\d\d)? ?uhr\b|"
            r"\b\d{1,2}:\d\d\b|\bum \d{1,2}\b|"
            rf"\b\d{{1,2}}\.|\b(?:{one_of(MONTHS)})\b|\b\d{{4}}\b|\b(?:morgens|mittags|abends|morgen|"
            rf"jede[nrs]?)\b"
        ),
    ),
    "work": Kind(
        anywhere(r"\bwas (?:mache|macht|arbeite|arbeitet) .{1,60} (?:beruflich|von beruf)\b|\bberuf\b|\bjob\b"),
        words("beruflich"),
        anywhere(rf"\b(?:arbeitet?|studiert?e?|unterrichtet?e?|job|beruf|rentner\w{{0,2}}|{one_of(OCCUPATIONS)})\b"),
    ),
    "owner": Kind(
        anywhere(r"\bwessen\b|\bwem gehör"), frozenset(), anywhere(r"\b(?:von|gehört|(?:mein|unser)\w{0,2})\b|\w's?\b")
    ),
    "reason": Kind(
        anywhere(r"\b(?:warum|wieso|weshalb)\b"), words("grund"), anywhere(r"\b(?:weil|da|denn|damit|wegen)\b")
    ),
    "topic": Kind(
        anywhere(r"\b(?:worum|wovon|worüber)\b"), words("geht handelt"), anywhere(r"\b(?:um|über|von)\b(?! \d)")
    ),
    "meaning": Kind(
        anywhere(r"^\W*was (?:ist|sind|bedeutet) (?:(?:ein|eine|der|die|das) )?[\w-]+\W*$"),
        frozenset(),
        anywhere(r"\b(?:ist|sind|war|bedeutet|heißt)\b|:"),
    ),
    "manner": Kind(
        anywhere(r"\bwie (?:geht|komme|kommt|mache|macht|kann|fahre|fährt|soll)\b"),
        words("weise"),
        anywhere(r"\b(?:mit|per|durch|mittels|gut|besser|schlecht|krank|indem)\b"),
    ),
    "name": Kind(
        anywhere(r"\bwer\b|\bheiß|\bname\b"),
        words("name namen heißt heiße heisst"),
        anywhere(
            r"\b(?:heißt|heiße|heisst|name)\b|\b(?:ist|sind) (?:(?:dr|meine?|unsere?|eine?)\b|"
            r"(?-i:[A-ZÄÖÜ]))|\b(?:mein|unser)e? [\w-]+ (?-i:[A-ZÄÖÜ])[a-zäöüß]"
        ),
    ),
}
