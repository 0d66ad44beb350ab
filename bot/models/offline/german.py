"""German. Statements to be remembered come as subordinate clauses (verb last) and are put in main clause order."""

import re

from bot.models.offline.german_phrases import GERMAN_PHRASES
from bot.models.offline.language import (
    Calendar,
    Grammar,
    Kind,
    Language,
    Patterns,
    anywhere,
    concept,
    pattern,
    whole,
    words,
)

OCCUPATIONS = (
    "lehrer lehrerin krankenschwester pfleger pflegerin arzt ärztin student studentin ingenieur ingenieurin "
    "programmierer programmiererin entwickler entwicklerin autor autorin künstler künstlerin musiker musikerin anwalt "
    "anwältin bäcker bäckerin klempner elektriker tischler buchhalter buchhalterin journalist journalistin koch köchin "
    "kellner kellnerin fahrer fahrerin pilot pilotin bauer architekt architektin fotograf fotografin übersetzer "
    "übersetzerin therapeut therapeutin apotheker apothekerin mechaniker rentner rentnerin schüler schülerin"
)
KEPT = (
    "hund hündin katze kater haustier hamster kaninchen papagei pferd vogel schwester schwestern bruder brüder sohn "
    "tochter töchter kind kinder zwillinge frau mann freundin freund haus garten auto fahrrad allergie asthma diabetes "
    "adhs autismus epilepsie migräne legasthenie tinnitus unverträglichkeit"
)


def _one_of(listed: str) -> str:
    return "|".join(listed.split())


_STOPS = words(
    "der die das den dem des ein eine einen einem einer eines und oder aber wenn so als dann zu zum zur in im "
    "ins an am "
    "auf bei beim für mit von vom aus über um nach vor ist sind war waren bin bist sein seid gewesen tun tut hat habe "
    "haben hatte hatten hast kann kannst könnte könnten soll sollte sollten sollst will willst wird werde werden würde "
    "muss musst darf darfst mag möchte nicht kein keine keinen nie ich du er sie es wir ihr mir mich dir dich uns euch "
    "ihm ihn ihnen mein meine meinen meinem meiner meines dein deine deinen deinem deiner deines unser unsere unseren "
    "sein seine was wo wann wer wem wen wessen welche welcher welches welchen warum wie wieso hier da dort nur "
    "bitte sag "
    "sagen sage erzähl erzählen gesagt erzählt weiß weißt wissen gewusst merken erinnerst erinnere nochmal noch "
    "mal genau "
    "eigentlich wirklich jetzt heute etwas alles nichts ding dinge viel viele ganz sehr auch schon mehr doch "
    "denn dass ob "
    "finde finden such suche zeig zeige gib geben sache zurzeit gerade immer nächste nächster nächsten okay ok "
    "hallo hey "
    "meiden vermeiden carina mein's gibt liegt befindet"
)
_UMLAUTS = str.maketrans({"ä": "a", "ö": "o", "ü": "u", "ß": "ss"})


def stem(word: str) -> str:
    """Umlauts and endings fall away: Zahnärzte, Zahnarztes and Zahnarzt meet."""
    word = word.translate(_UMLAUTS).removesuffix("'s")
    for ending in ("innen", "erin", "ern", "em", "en", "er", "es", "e", "s", "n"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return word.removesuffix(ending)
    return word


def variants(word: str) -> tuple[str, ...]:
    """The full text index stems English; so ask for the forms a German word often takes."""
    if len(word) < 4:
        return ()
    short = word.removesuffix("n").removesuffix("e")
    return tuple(form for form in dict.fromkeys((short, short + "e", short + "en")) if form != word)


_TURNED = {
    "ich": "du", "mir": "dir", "mich": "dich", "bin": "bist", "mein": "dein", "meine": "deine", "meinen": "deinen",
    "meinem": "deinem", "meiner": "deiner", "meines": "deines",
}  # fmt: skip
_CONJUGATED = {
    "bin": "bist", "war": "warst", "habe": "hast", "hab": "hast", "hatte": "hattest", "mag": "magst", "kann": "kannst",
    "muss": "musst", "will": "willst", "darf": "darfst", "soll": "sollst", "weiß": "weißt", "werde": "wirst",
    "würde": "würdest", "esse": "isst", "nehme": "nimmst", "fahre": "fährst", "schlafe": "schläfst", "laufe": "läufst",
    "lese": "liest", "sehe": "siehst", "spreche": "sprichst", "trage": "trägst", "vertrage": "verträgst",
    "vergesse": "vergisst", "treffe": "triffst", "gebe": "gibst", "möchte": "möchtest", "sammle": "sammelst",
}  # fmt: skip
_AROUND_I = re.compile(r"(?<!\w)(ich)(\s+)([a-zäöüß]{2,25})(?!\w)|(?<!\w)([a-zäöüß]{2,25})(\s+)(ich)(?!\w)", re.I)
_POSSESSIVE = re.compile(r"(?<![\w@/-])(?:ich|mir|mich|mein(?:e[nmrs]?)?)(?![\w@/-])", re.I)


def _second_person(verb: str) -> str:
    """I am -> you are, for a verb beside "ich"; other words stay."""
    if verb.lower() in _CONJUGATED:
        return _CONJUGATED[verb.lower()]
    if not verb.endswith("e") or verb.lower() in _STOPS or len(verb) < 4:
        return verb
    root = verb.removesuffix("e")
    if root.endswith(("s", "ß", "z", "x")):
        return root + "t"
    return root + ("est" if root.endswith(("t", "d", "chn", "ffn")) else "st")


def _conjugate(found: re.Match[str]) -> str:
    if found[1]:
        return found[1] + found[2] + _second_person(found[3])
    return _second_person(found[4]) + found[5] + found[6]


def turn(fact: str) -> str:
    return _POSSESSIVE.sub(lambda found: _TURNED[found[0].lower()], _AROUND_I.sub(_conjugate, fact))


_FINITE = (
    r"ist|sind|bin|war|waren|hat|habe|haben|heißt|heiße|heisst|wohnt|wohne|wohnen|lebt|lebe|leben|arbeitet|arbeite|mag|"
    r"mögen|liebt|liebe|hasst|hasse|kommt|komme|liegt|steht|hängt|kann|muss|darf|will|soll|isst|esse|trinkt|trinke|"
    r"spricht|spreche|bevorzuge|bevorzugt|gehört|kostet|beginnt|endet|vertrage|verträgt|öffnet|schließt|spielt|spiele|"
    r"sammelt|sammle|studiert|studiere|fährt|fahre|wird|braucht|brauche"
)
_CLAUSE = re.compile(
    r"^\s*dass:?\s+(?P<subject>ich|(?:(?:mein|dein|unser|ihr|sein|d|"
    r"ein)\w{0,3}(?:\s+[a-zäöüß]\w{1,20}e[rsn]?(?=\s+[A-ZÄÖÜ]))?"
    r"\s+[\w-]{2,40}(?:\s+(?:mein|dein|unser|ihr|sein|d)e[rs]\s+[\w-]{2,40})?)|"
    # "Hans' Zahnarzt" is one subject; whether "Annas Zahnarzt" is, or a person and an occupation, nobody can tell.
    rf"[A-ZÄÖÜ][\w-]{{1,30}}'s?\s+[\w-]{{2,40}}|"
    rf"(?![A-ZÄÖÜ][\w-]{{1,29}}s\s+[A-ZÄÖÜ])[A-ZÄÖÜ][\w-]{{1,30}})\s+(?P<rest>.{{1,600}}?)\s+(?P<verb>{_FINITE})\s*$",
    re.DOTALL,
)


def mend(clause: str) -> str:
    """A clause with "dass" as a sentence, verb second; what cannot be put in order stays as it is."""
    found = _CLAUSE.match(clause)
    return f"{found['subject']} {found['verb']} {found['rest']}" if found else clause


_VERB = (
    r"ist|sind|war|waren|hat|haben|heißt|heissen|heißen|wohnt|wohnen|lebt|leben|arbeitet|arbeiten|mag|liebt|"
    r"hasst|kommt|"
    r"liegt|steht|hängt|öffnet|schließt|beginnt|endet|kostet|spricht|spielt|isst|trinkt|braucht|gehört"
)
_POLITE = r"(?:bitte )?(?:(?:kannst|könntest|würdest|magst) du (?:dir )?(?:bitte )?)?"

_GRAMMAR = Grammar(
    stops=_STOPS,
    stem=stem,
    subject=pattern(rf"(?P<subject>(?:[\w'.-]{{1,40}}\s+){{1,7}}?)(?P<rest>(?:{_VERB})\b.{{0,2000}})"),
    about_self=pattern(r"(?:ich|wir|nenn mich|mir|mich)\b"),
    owners=anywhere(
        r"\b(?:meine[rs]|unsere[rs]|unsres)\s+(?P<owner>[\w-]{2,40})(?=\s+(?:ist|sind|war|hat|heißt|wohnt|lebt|"
        r"liegt)\b)|"
        r"\bvon (?:meine[mrn]|meinem) (?P<owner2>[\w-]{2,40})|"
        r"(?:^\W{0,8}|\b(?:dass:?|ist|sind|war|heißt|liegt|steht|wohnt) )(?!(?:das|alles|was|des|es|als|bis|"
        r"(?:mon|diens|donners|frei|sams|sonn)tags|mittwochs|(?:vor|nach)?mittags|morgens|abends|nachts)\s)"
        r"(?P<owner3>(?-i:[A-ZÄÖÜ])[\w-]{1,30}s)'?\s+(?-i:[A-ZÄÖÜ])"
    ),
    mine=anywhere(r"\b(?:mein|unser)(?:e[nmrs]?)?\s+(?P<thing>[\w'-]{1,40})"),
    turn=turn,
    unturnable=anywhere(
        r"^\W*nenne? mich\b|\b(?:du|dir|dich|dein\w{0,2}|ihr|euch|euer|eure\w?|wir|uns|"
        r"unser\w{0,3})\b"
    ),
    compounds=True,
    mend=mend,
    variants=variants,
)

_PATTERNS = Patterns(
    lead=pattern(
        r"(?:(?:hey|hi|hallo|ok|okay|also|so|na|ach|oh|übrigens|und|bitte|ja|nein|servus|moin|carina)(?: "
        r"carina)?[,:;!.\s-]+|"
        r"<@[!&]?\d{1,25}>[,:\s]*|@[\w.-]{1,40}[,:]?\s+)(?=\S)"
    ),
    remember=(
        pattern(
            rf"{_POLITE}(?:merke? dir|behalte?(?: im kopf)?|notiere?(?: dir)?|speichere?|vergiss (?:bitte "
            rf")?nicht|denk(?:e)? dran|"
            r"denk(?:e)? daran|erinnere dich(?: daran)?|merken|notieren)(?: bitte)?(?: "
            r"mal)?,?\s+(?P<fact>dass\b.*)$"
        ),
        pattern(
            rf"{_POLITE}(?:merke? dir|notiere?(?: dir)?|speichere?|vergiss (?:bitte )?nicht|denk(?:e)? (?:dran|daran)|"
            r"behalte?(?: im kopf)?|merken|notieren)(?: bitte)?(?: mal)?(?: das(?: folgende)?:)?[,:]?\s+(?P<fact>.*)$"
        ),
        whole(rf"{_POLITE}(?:merke? dir|notiere?|speichere?|vergiss nicht)(?: das| es)?(?P<fact>)"),
    ),
    polite=pattern(r"(?:bitte )?(?:kannst|könntest|würdest|magst) du\b"),
    forget=(
        pattern(
            rf"{_POLITE}(?:vergiss|vergesse|vergessen|lösche?|löschen|streiche?|entferne?)(?: bitte)?,?"
            r"(?: (?:dass|was ich dir über|alles über|was du über|den eintrag (?:über|zu)))?\s+"
            r"(?P<what>(?!es\b|das\W*$|nicht\b|bitte nicht\b|nie\b).*?)(?:\s+(?:gesagt|erzählt) habe?|\s+weißt|"
            r"\s+vergessen)?$"
        ),
    ),
    forget_all=whole(
        rf"{_POLITE}(?:vergiss|lösche?|entferne?) (?:bitte )?(?:mich|alles(?:,? (?:über mich|was du (?:über mich "
        rf"|von mir )?"
        r"weißt|was ich dir (?:je )?(?:gesagt|erzählt) habe))?)"
    ),
    about_me=whole(
        r"(?:was|welche dinge) (?:alles )?(?:weißt|weisst|hast) du (?:denn |alles |noch )?(?:über mich|von mir)"
        r"(?: alles)?(?: gespeichert| gemerkt)?|was hast du (?:dir )?(?:alles )?(?:gespeichert|gemerkt)|"
        r"(?:was|sag mir,? was|zeig mir,? was) (?:weißt du|du (?:alles )?(?:über mich|von mir) weißt)|"
        r"weißt du (?:etwas|irgendetwas|was) über mich"
    ),
    talked=pattern(
        r"(?:worüber|über was|wovon|was|worum)\b.{0,200}\b(?:gesprochen|geredet|besprochen|gesagt|geschrieben|"
        r"unterhalten|"
        r"erzählt|gequatscht|diskutiert)\b"
    ),
    help=whole(
        r"hilfe|hilf mir|/hilfe|was kannst du(?: (?:alles|so|denn|für mich)){0,2}(?: tun| machen)?|wie "
        r"funktionierst du|"
        r"wer bist du|was bist du|wie benutze ich dich|befehle"
    ),
    chat={
        "greeting": whole(
            r"(?:hi|hey|hallo+|hallöchen|guten (?:morgen|tag|abend)|moin(?: moin)?|servus|grüß gott|grüß dich|"
            r"grüezi|huhu|na)"
            r"(?:[,\s]+(?!merk|vergiss)\w{1,32}){0,2}"
        ),
        "thanks": whole(r"(?:vielen |herzlichen |besten )?(?:dank|danke|dankeschön|merci)(?:[,\s]+\w{1,32}){0,3}"),
        "wellbeing": whole(
            r"(?:und )?(?:wie geht es (?:dir|ihnen|euch)|wie geht's(?: dir)?|wie gehts(?: dir)?|geht's dir gut|"
            r"was machst du|"
            r"alles gut|alles klar)(?:[,\s]+\w{1,32}){0,2}"
        ),
        "night": whole(
            r"(?:gute nacht|schlaf gut|tschüss|tschüß|ciao|bis (?:bald|morgen|später|dann)|auf wiedersehen|mach's gut)"
            r"(?:[,\s]+\w{1,32}){0,2}|ich gehe (?:jetzt )?(?:ins bett|schlafen)"
        ),
        "ack": whole(
            r"(?:ok|okay|cool|lol|haha|hm+|ja|nein|nö|klar|gut|prima|super|toll|schön|genau|stimmt|passt|egal|"
            r"macht nichts|vergiss (?:es|"
            r"das)|aha|ach so|"
            r"verstehe|verstanden|in ordnung|mir geht's gut|mir geht es gut|ich bin (?:müde|da|zurück|okay|ok|"
            r"froh|traurig))"
            r"(?:[,\s]+\w{1,32}){0,2}"
        ),
    },
    question=pattern(
        r"(?:(?:was|wo|wohin|woher|wann|wer|wem|wen|wessen|welche[rsnm]?|warum|wieso|weshalb|wie|wieviel|womit|"
        r"worüber)\b|"
        r"(?:ist|sind|war|bin|hab|habe|hat|kann|darf|soll|muss|weißt|weisst|kennst|erinnerst|mag|heiße|wohne|arbeite|"
        r"hast|bist|gibt) (?:ich|du|wir|es|mein\w{0,2}|der|die|das|er|sie|dich)\b|"
        r"(?:sag|erzähl|zeig)e? mir,? (?:bitte )?(?:wo|was|wann|wer|wie|welche|etwas über|von|mein)|"
        r"(?:finde?|suche?)(?: nach)?\s|.{0,3900}\?[\s?!.)\"'“*_~]{0,12}$)"
    ),
    request=pattern(
        r"(?:(?:kannst|könntest|würdest) du )?(?:bitte )?(?:mir )?(?:schreib|übersetz|fass|erklär|erzähl|sag|gib|"
        r"mach|erstell|"
        r"zeichne|male|berechne|rechne|spiel|stell|erinnere mich|sing|programmier|schick|sende|öffne|lies|prüfe|"
        r"bestell|"
        r"buche|kauf|weck|hilf|ignorier|tu so)\w{0,3}\b"
    ),
    lasting=(
        pattern(
            r"ich bin (?:sehr |stark |auch |leider |schwer ){0,2}(?:allergisch (?:gegen|auf)|(?:laktose|gluten|"
            r"fruktose|histamin)"
            r"intolerant|vegetarier(?:in)?|veganer(?:in)?|vegan|diabetiker(?:in)?|asthmatiker(?:in)?|"
            r"autist(?:in)?|farbenblind|"
            r"linkshänder(?:in)?|rechtshänder(?:in)?|taub|blind|verheiratet|geschieden|schwanger|geboren|aus|"
            rf"\d{{1,3}} jahre alt|(?:{_one_of(OCCUPATIONS)}))\b"
        ),
        pattern(r"(?:ich heiße|ich heisse|mein name ist|nenn mich|nenne mich)\s+\S"),
        pattern(
            r"ich (?:wohne|lebe|arbeite|komme aus|studiere|wurde|spreche|sammle|spiele|bin (?:nach|in) "
            r"[\w-]{2,30} (?:gezogen|"
            r"geboren))\s+(?!jetzt gerade|gerade|noch daran|dran|daran)\S"
        ),
        pattern(
            r"ich (?:(?:mag|liebe|hasse|bevorzuge|vertrage|esse|trinke)\s+(?!dich\b|es\b|das\b|dies|euch\b|ihn\b|"
            r"sie\b|jetzt\b|"
            r"gerade\b|wenn\b|gleich\b|heute\b)\S|"
            r"kann [\w -]{1,40} nicht (?:leiden|ausstehen))"
        ),
        pattern(rf"ich hab(?:e)? (?:[\w-]{{1,20}} ){{0,4}}(?:[\w]{{0,20}})(?:{_one_of(KEPT)})\b"),
        pattern(
            r"mein[e]? (?!(?:tag|kopf|laune|akku|computer|frage|gott|rücken|internet|woche) )(?:[\w'-]{1,40} ){1,6}?"
            r"(?:ist|sind|heißt|heißen|wohnt|lebt|arbeitet|hat|kommt aus|liegt)\s+"
            r"(?!(?:müde|krank|kaputt|leer|voll|gut|schlecht|okay|ok|toll|spät|langsam|weg|da|hier|fertig|kalt|"
            r"heiß|nass|offen|"
            r"zu|so|sehr)\b)\S"
        ),
    ),
    passing=anywhere(r"\b(?:gerade|im moment|momentan|nur spaß|falls ich|wenn ich|heute abend)\b"),
)

_CONCEPTS = {
    "eat": concept(
        "essen esse isst mahlzeit abendessen mittagessen frühstück kochen gericht speise restaurant nahrung",
        "allergisch allergie allergien unverträglich unverträglichkeit vertrage laktoseintolerant glutenintolerant "
        "vegetarier vegetarierin veganer veganerin vegan vegetarisch zöliakie halal koscher diät esse essen",
    ),
    "drink": concept("trinken trinke getränk", "trinke trinken alkohol kaffee koffein laktose tee"),
    "allergy": concept(
        "allergisch allergie allergien unverträglichkeit vertrage",
        "allergisch allergie allergien unverträglichkeit vertrage laktoseintolerant glutenintolerant",
    ),
    "home": concept(
        "wohne wohnen lebe leben zuhause adresse stadt wohnung haus wohnort", "wohne lebe adresse zuhause wohnort"
    ),
    "origin": concept("komme_ich_her woher_komme herkunft", "komme_aus bin_aus wurde_in stamme_aus"),
    "name": concept("name heiße heisse wer_bin_ich", "mein_name heiße heisse nenn_mich nenne_mich"),
    "birthday": concept("geburtstag geboren geburt", "geburtstag geboren"),
    "age": concept("alt alter", "jahre_alt geboren geburtstag"),
    "work": concept("arbeit arbeite arbeiten beruf job firma arbeitgeber", "arbeite arbeit beruf job " + OCCUPATIONS),
    "pet": concept("haustier tier haustiere tiere", "hund katze kater haustier hamster kaninchen papagei pferd vogel"),
    "family": concept(
        "familie verwandte geschwister eltern kinder kind",
        "schwester bruder mutter vater mama papa sohn tochter frau mann kind kinder eltern tante onkel oma opa",
    ),
    "partner": concept("partner partnerin verheiratet", "frau mann freundin freund partner partnerin verheiratet"),
    "like": concept(
        "mag mögen liebe liebling lieblings gern gerne hobby hobbys", "mag liebe liebling bevorzuge gern gerne"
    ),
    "dislike": concept(
        "hasse mag_ich_nicht nicht_mag", "hasse mag_kein mag_keine mag_keinen nicht_leiden nicht_ausstehen"
    ),
    "health": concept(
        "gesundheit krankheit erkrankung",
        "diabetiker diabetes asthma epilepsie adhs autist allergisch allergie migräne taub blind legasthenie",
    ),
    "language": concept("sprache sprachen spreche", "spreche"),
}

_MONTHS = "Januar Februar März April Mai Juni Juli August September Oktober November Dezember"

GERMAN = Language(
    code="de",
    marks=words(
        "der die das und ist bin ich mein meine meinen mir mich dein du dir wo wann wer was wie nicht kein auf "
        "im in zu "
        "merk merke vergiss danke hallo hilfe bitte über mit für ein eine hast habe war kann darf soll gute "
        "nacht heiße "
        "wohne wir haben den dem weißt dass es guten morgen tschüss servus moin ja nein"
    ),
    script=anywhere(r"[äöüß]"),
    grammar=_GRAMMAR,
    patterns=_PATTERNS,
    concepts=_CONCEPTS,
    kinds={
        "place": Kind(
            anywhere(r"\bwo\b|\bwohin\b|\badresse\b|\bwelche[rnm]? (?:straße|stadt|ort)\b"),
            words("adresse ort straße"),
            anywhere(
                r"\b(?:in|im|an|am|auf|bei|beim|unter|hinter|neben|über|zwischen|gegenüber|aus|zu|nahe)\b|straße\b"
            ),
        ),
        "time": Kind(
            anywhere(
                r"\bwann\b(?! habe? ich (?:dir|es|das))|\bum wieviel uhr\b|\bwie spät\b|\bwelche[rnm]? "
                r"(?:tag|datum)\b"
            ),
            words("uhr zeit datum tag"),
            anywhere(
                r"\b(?:mon|diens|donners|frei|sams|sonn)tags?\b|\bmittwochs?\b|\b\d{1,2}(?::\d\d)? ?uhr\b|"
                r"\b\d{1,2}:\d\d\b|"
                rf"\b\d{{1,2}}\.|\b(?:{_one_of(_MONTHS)})\b|\b\d{{4}}\b|\b(?:morgens|mittags|abends|morgen|"
                rf"jede[nrs]?)\b"
            ),
        ),
        "name": Kind(
            anywhere(r"\bwer\b|\bheiß|\bname\b"),
            words("name heißt heiße heisst"),
            anywhere(
                r"\b(?:heißt|heiße|heisst|name)\b|\b(?:ist|sind) (?:(?:dr|meine?|unsere?|eine?)\b|"
                r"(?-i:[A-ZÄÖÜ]))"
            ),
        ),
    },
    calendar=Calendar(
        days=(
            (anywhere(r"\bvorgestern\b"), "day:-2"),
            (anywhere(r"\bgestern\b"), "day:-1"),
            (anywhere(r"\bheute\b"), "day:0"),
            (anywhere(r"\b(?:letzte|vorige|vergangene)[rn]? woche\b"), "week:-1"),
            (anywhere(r"\bdiese[r]? woche\b"), "week:0"),
            (anywhere(r"\b(?:letzten|vorigen|vergangenen) monat\b"), "month:-1"),
            (anywhere(r"\bdiesen monat\b"), "month:0"),
        ),
        weekdays=tuple(
            rf"\b{day}\b" for day in ("montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag")
        ),
        date=anywhere(rf"\b(?P<day>\d{{1,2}})\.\s?(?P<month>\d{{1,2}}\b|{_one_of(_MONTHS)})"),
        months=tuple(_MONTHS.split()),
        written="{day}. {month} {year}",
        filler=words(
            "worüber wovon worum gesprochen geredet besprochen gesagt geschrieben unterhalten erzählt gequatscht "
            "diskutiert "
            "gestern vorgestern heute letzte letzten vorige vergangene diese woche monat montag dienstag "
            "mittwoch donnerstag "
            "freitag samstag sonntag zuletzt neulich"
        ),
    ),
    phrases=GERMAN_PHRASES,
)
