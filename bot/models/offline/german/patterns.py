"""What people want, as they say it in German."""

import re

from bot.models.offline.german.grammar import INTRODUCED, OCCUPATIONS
from bot.models.offline.german.order import NAMED
from bot.models.offline.language import Patterns, anywhere, one_of, pattern, whole

_KEPT = (
    "hund hündin katze kater haustier hamster kaninchen papagei pferd vogel schwester bruder brüder sohn söhne "
    "tochter töchter kind zwilling frau mann freundin freund haus garten auto fahrrad allergie asthma diabetes "
    "adhs autismus epilepsie migräne legasthenie tinnitus unverträglichkeit geschwister geburtstag namenstag"
)
_POLITE = r"(?:bitte )?(?:(?:kannst|könntest|würdest|magst) du (?:dir )?(?:bitte )?)?"
_DEGREE = r"(?:sehr |stark |auch |leider |schwer |nicht |nicht mehr |jetzt |seit [\w-]{1,20} |kein |keine ){0,3}"
_STATES = (
    r"ist|sind|heißt|heißen|wohnt|wohnen|lebt|leben|arbeitet|arbeiten|hat|haben|kommt aus|kommt am|liegt|steht|geht|"
    r"fährt|fliegt|beginnt|startet|endet|öffnet|schließt|kostet|mag|mögen|liebt|hasst|spricht|spielt|studiert|isst|"
    r"trinkt|gehört|zieht|zog|dauert|findet|verträgt|bevorzugt|sammelt|wurde|läuft ab|wiegt"
)
_WH = r"(?:was|wo\w{0,6}|wann|wer|wem|wen|wessen|welche[rsnm]?|warum|wieso|weshalb|wie|ob)\b"

_MEANT = r"(?:,? (?:alle|alles|denn|eigentlich|genau|hier|so|nochmal|noch mal|wirklich|bitte|carina)){1,3}"
"""What is put behind a question about us without asking more."""
_WHO = (
    r"(?:wer|was) (?:bist du|seid ihr|sind sie)|wie hei(?:ß|ss)(?:t du|t ihr|en sie)|"
    r"was ist (?:dein|euer|ihr) name|hast du einen namen|"
    r"mit wem (?:spreche|rede|schreibe|chatte) ich|stell dich(?: bitte| mal| doch){0,2} vor|"
    r"erzähl(?:e)?(?: mir| uns)?(?: was| etwas| mehr)? (?:über dich|von dir)|"
    r"bist du (?:ein |eine |echt)?(?:roboter|bot|chatbot|mensch|maschine|ki|sprachmodell|echt)?"
)
_HELP = (
    r"hilfe|hilf mir|hilf uns|/hilfe|"
    r"was (?:kannst du|könnt ihr|können sie)(?: (?:alles|so|denn|für mich|für uns)){0,2}(?: tun| machen)?|"
    r"was (?:machst du|macht ihr)(?: so)?|wie funktionierst du|wie benutze ich dich|befehle|"
    r"wobei kannst du(?: mir| uns)? helfen|wie kannst du(?: mir| uns) helfen|kannst du(?: mir| uns)(?: bitte)? helfen|"
    r"wofür bist du(?: da| gut)?"
)

PATTERNS = Patterns(
    lead=pattern(
        r"(?:(?:hey|hi|hallo|ok|okay|also|so|na|ach|oh|ups|übrigens|und|aber|bitte|ja|nein|doch|servus|moin|hm+|"
        r"eigentlich|korrektur|moment|sorry|entschuldigung|ich meine|carina)(?: "
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
    bare=whole(r"(?:mein|unser)\w{0,2} [\w-]{1,40}(?: merken)?"),
    theirs=re.compile(r"\b(?P<name>[A-ZÄÖÜ][\w-]{0,30}?)(?:'s|s|')(?= \w)"),
    mine="mein",
    open=anywhere(
        r"\b(?:ist|sind|war|waren|heißt|heissen|heißen|hat|haben|mag|wohnt|dass|der|die|das|den|dem|ein\w{0,2}|mein\w{0,2}|"
        r"in|im|am|an|auf|bei|zu|zum|zur|von|vom|und|oder|mit|für|nach)\W{0,3}$"
    ),
    forget=(
        pattern(
            rf"{_POLITE}(?:vergiss|vergesse|vergessen|lösche?|löschen|streiche?|entferne?)(?: bitte)?,?"
            r"(?: (?:dass|was ich dir über|alles über|was du über|den eintrag (?:über|zu)))?\s+"
            r"(?P<what>(?!es\b|das\W*$|das (?:bitte|wieder)\b|nicht\b|bitte nicht\b|nie\b).*?)"
            r"(?:\s+(?:gesagt|erzählt) habe?|\s+weißt|\s+vergessen)?$"
        ),
        whole(rf"{_POLITE}(?:vergiss|lösche?|entferne?)(?: etwas| was| es| das)?(?: bitte)?(?: wieder)?(?P<what>)"),
    ),
    forget_all=whole(
        rf"{_POLITE}(?:vergiss|lösche?|entferne?) (?:bitte )?(?:mich|alles(?:,? (?:über mich|was du (?:über mich "
        rf"|von mir )?"
        r"weißt|was ich dir (?:je )?(?:gesagt|erzählt) habe))?)"
    ),
    about_me=whole(
        r"(?:was|welche dinge) (?:alles )?(?:weißt|weisst|hast) du (?:denn |alles |noch )?(?:über mich|von mir)"
        r"(?: alles)?(?: gespeichert| gemerkt)?|was hast du (?:dir )?(?:alles )?(?:gespeichert|gemerkt)|"
        r"(?:was|sag mir,? was|zeig mir,? was) (?:weißt du|du (?:alles )?(?:über mich|von mir) weißt)(?: alles)?|"
        r"weißt du (?:etwas|irgendetwas|was) über mich|zeig(?:e)? (?:mir )?(?:alles|meine erinnerungen)"
    ),
    talked=pattern(
        r"(?:worüber|über was|wovon|was|worum)\b.{0,200}\b(?:gesprochen|geredet|besprochen|gesagt|geschrieben|"
        r"unterhalten|"
        r"erzählt|gequatscht|diskutiert)\b"
    ),
    who=whole(rf"(?:{_WHO})(?:{_MEANT})?(?:,? und (?:{_HELP}))?(?:{_MEANT})?"),
    help=whole(rf"(?:{_HELP})(?:{_MEANT})?"),
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
            r"macht nichts|aha|ach so|"
            r"verstehe|verstanden|in ordnung|mir geht's gut|mir geht es gut|ich bin (?:müde|da|zurück|okay|ok|"
            r"froh|traurig))"
            r"(?:[,\s]+(?!vergiss|vergesse|lösch|streich|entfern)\w{1,32}){0,2}"
        ),
    },
    question=pattern(
        rf"(?:(?:(?:in|bei|für|mit|seit|ab|bis|an|auf|von|zu|um|gegen|aus|nach) )?{_WH}(?<!ob)|(?:wieviel|womit)\b|"
        r"(?:ist|sind|war|bin|hab|habe|hat|kann|darf|soll|muss|weißt|weisst|kennst|erinnerst|mag|heiße|wohne|arbeite|"
        r"hast|bist|gibt) (?:ich|du|wir|es|mein\w{0,2}|der|die|das|er|sie|dich)\b|[a-zäöüß]{2,20}e ich\b|"
        r"(?:sag|erzähl|zeig)e? mir,? (?:bitte )?(?:wo|was|wann|wer|wie|welche|etwas über|von|mein)|"
        rf"(?:ich (?:weiß|weiss|erinnere mich) (?:leider )?nicht(?: mehr)?|ich frage? mich|ich habe? vergessen|"
        rf"keine ahnung),? {_WH}|"
        r"(?:finde?|suche?)(?: nach)?\s|.{0,3900}\?[\s?!.)\"'“*_~]{0,12}$)"
    ),
    further=anywhere(r",?\s+und\s+(?=(?:was|wo|wohin|woher|wann|wer|wem|wen|wessen|welche\w?|warum|wie)\b)"),
    request=pattern(
        r"(?:(?:kannst|könntest|würdest) du )?(?:bitte )?(?:mir )?(?:schreib|übersetz|fass|erklär|erzähl|sag|gib|"
        r"mach|erstell|"
        r"zeichne|male|berechne|rechne|spiel|stell|erinnere mich|sing|programmier|schick|sende|öffne|lies|prüfe|"
        r"bestell|"
        r"buche|kauf|weck|hilf|ignorier|tu so)\w{0,3}\b"
    ),
    lasting=(
        pattern(
            r"ich bin (?:[\w-]{1,30} ){0,8}?(?:allergisch|intolerant|(?:laktose|gluten|fruktose|histamin)intolerant)\b"
        ),
        pattern(
            rf"ich bin {_DEGREE}(?:ein |eine )?(?:vegetarier(?:in)?|veganer(?:in)?|vegan|vegetarisch|"
            r"diabetiker(?:in)?|asthmatiker(?:in)?|autist(?:in)?|farbenblind|linkshänder(?:in)?|rechtshänder(?:in)?|"
            r"taub|blind|verheiratet|geschieden|schwanger|geboren|aus (?-i:[A-ZÄÖÜ])|\d{1,3} jahre alt|"
            r"\d[\d.,]{0,5} ?(?:cm|m|meter|kg|kilo)\b|"
            rf"\d{{1,3}}(?=[\s.!]*$)|(?:{one_of(OCCUPATIONS)}))(?:\b|$|(?<=[A-ZÄÖÜ]))"
        ),
        pattern(r"ich (?:bin|wurde) (?:[\w.-]{1,30} ){1,6}?(?:geboren|gezogen|umgezogen|aufgewachsen)\b"),
        INTRODUCED,
        pattern(r"(?:ich heiße|ich heisse|mein name ist|nenn mich|nenne mich)\s+\S"),
        pattern(
            r"ich (?:wohne?|lebe?|arbeite?|komme? aus|studiere|spreche|sammle|spiele?|unterrichte|besitze|"
            r"fahre? eine?n?)\s+(?!jetzt gerade|gerade|noch daran|dran|daran)\S"
        ),
        pattern(
            r"ich (?:(?:mag|liebe?|hasse?|bevorzuge|vertrage?|esse?|trinke?)\s+(?!dich\b|es\b|das\b|dies|euch\b|ihn\b|"
            r"sie\b|jetzt\b|"
            r"gerade\b|wenn\b|gleich\b|heute\b)\S|"
            r"kann [\w -]{1,40} nicht (?:leiden|ausstehen)|"
            r"(?:darf|kann) (?:[\w-]{1,30} ){0,3}(?:kein\w{0,2}|nicht) (?:[\w-]{1,30} ){0,3}(?:essen|trinken)|"
            r"(?:darf|kann) (?:[\w-]{1,30} ){1,3}(?:kein\w{0,2}|nicht) (?:essen|trinken)|"
            r"(?!(?:hätte|würde|möchte|wüsste|will|habe) )\w{3,20} (?:sehr |nicht |wirklich )?(?:gerne?|ungern)\b)"
        ),
        pattern(r"mir (?:schmeckt|schmecken) \S"),
        pattern(
            rf"ich habe? (?:[\w.'-]{{1,20}} ){{0,6}}(?:[\w]{{0,20}})(?:{one_of(_KEPT)})(?:e|n|en|er|s|nen)?(?:\s|\W*$)"
        ),
        pattern(
            r"(?:mein|unser)e? (?!(?:tag|kopf|laune|akku|computer|frage|gott|rücken|internet|woche) )"
            rf"(?:[\w'-]{{1,40}} ){{1,6}}?(?:{_STATES})\s+"
            r"(?!(?:müde|krank|kaputt|leer|voll|gut|schlecht|okay|ok|toll|spät|langsam|weg|da|hier|fertig|kalt|"
            r"heiß|nass|offen|gerade|"
            r"zu|so|sehr)\b)\S"
        ),
        pattern(
            r"(?:der|die|das) [\w-]{1,40} (?:meine[rs]|unsere[rs]|von (?:mein|unser)\w{1,2}) [\w-]{1,40} "
            r"(?:[\w-]{1,40} )?(?:ist|liegt|heißt|lautet|hat|steht)\s+(?!(?:kaputt|leer|weg|da|kalt|heiß)\b)\S"
        ),
        pattern(rf"{NAMED} ist (?:mein|unser)e? [\w-]{{2,40}}[\s.!]{{0,5}}$"),
    ),
    passing=anywhere(r"\b(?:gerade|im moment|momentan|nur spaß|falls ich|wenn ich|heute abend)\b"),
)
