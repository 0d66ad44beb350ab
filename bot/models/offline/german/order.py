"""The order of words in German: clauses with the verb last, and what stands before the verb.

Statements to be remembered come as subordinate clauses ("merk dir, dass ... ist") and are put in the order of main
clauses; a main clause may begin with anything ("gegen Nüsse bin ich allergisch") and is looked at as if it began with
its subject.
"""

import re

from bot.models.offline.language import words

_TURNED = {
    "ich": "du", "mir": "dir", "mich": "dich", "bin": "bist", "mein": "dein", "meine": "deine", "meinen": "deinen",
    "meinem": "deinem", "meiner": "deiner", "meines": "deines",
}  # fmt: skip
_CONJUGATED = {
    "bin": "bist", "war": "warst", "habe": "hast", "hab": "hast", "hatte": "hattest", "mag": "magst", "kann": "kannst",
    "muss": "musst", "will": "willst", "darf": "darfst", "soll": "sollst", "weiß": "weißt", "werde": "wirst",
    "würde": "würdest", "wurde": "wurdest", "esse": "isst", "nehme": "nimmst", "fahre": "fährst",
    "schlafe": "schläfst", "laufe": "läufst", "lese": "liest", "sehe": "siehst", "spreche": "sprichst",
    "trage": "trägst", "vertrage": "verträgst", "vergesse": "vergisst", "treffe": "triffst", "gebe": "gibst",
    "möchte": "möchtest", "sammle": "sammelst", "halte": "hältst", "helfe": "hilfst", "lasse": "lässt",
    "rufe": "rufst", "fresse": "frisst", "werfe": "wirfst", "wachse": "wächst", "wasche": "wäschst",
    "ging": "gingst", "kam": "kamst", "wohne": "wohnst", "arbeite": "arbeitest", "trinke": "trinkst",
    "heiße": "heißt", "heisse": "heißt", "lebe": "lebst", "komme": "kommst", "spiele": "spielst", "liebe": "liebst",
    "hasse": "hasst", "studiere": "studierst", "brauche": "brauchst", "mache": "machst", "gehe": "gehst",
}  # fmt: skip
_AROUND_I = re.compile(
    r"(?<!\w)(?:(?P<before>[A-Za-zÄÖÜäöüß]{2,25})(?P<gap>\s+))?(?P<i>[Ii]ch)(?!\w)(?:(?P<space>\s+)(?P<after>[a-zäöüß]{2,25})(?!\w))?"
)
_JOINED = re.compile(rf"((?:,|\b(?:und|aber|oder)) (?:auch )?)({'|'.join(_CONJUGATED)})(?= (?!ich\b))")
"""A further verb of the same sentence ("ich heiße ... und wohne ...")."""
_POSSESSIVE = re.compile(r"(?<![\w@/-])(?:ich|mir|mich|mein(?:e[nmrs]?)?)(?![\w@/-])", re.I)
_NO_VERBS = words("meine deine seine keine eine alle heute gerade gerne ohne diese jede viele bitte ende etwa")


def _finite(verb: str) -> str:
    """A verb beside "ich" in its full form (vertrag -> vertrage); empty when it is none."""
    low = verb.lower()
    if low in _CONJUGATED:
        return low
    if low + "e" in _CONJUGATED:
        return low + "e"
    return low if low.endswith("e") and len(low) >= 4 and low not in _NO_VERBS else ""


def _second_person(verb: str) -> str:
    """I am -> you are, for a verb beside "ich"; other words stay."""
    full = _finite(verb)
    if full in _CONJUGATED or not full:
        return _CONJUGATED.get(full, verb)
    root = full.removesuffix("e")
    if root.endswith(("s", "ß", "z", "x")):
        return root + "t"
    return root + ("est" if root.endswith(("t", "d", "chn", "ffn")) else "st")


def _conjugate(found: re.Match[str]) -> str:
    """The verb beside "ich": before it when that is one (esse ich), otherwise behind it."""
    before, after = found["before"] or "", found["after"] or ""
    if before and _finite(before):
        before = _second_person(before)
    elif after:
        after = _second_person(after)
    return before + (found["gap"] or "") + found["i"] + (found["space"] or "") + after


def turn(fact: str) -> str:
    """The speaker's words seen from our side: mein -> dein, bin -> bist."""
    if _AROUND_I.search(fact):
        fact = _JOINED.sub(lambda found: found[1] + _CONJUGATED[found[2].lower()], fact)
    return _POSSESSIVE.sub(lambda found: _TURNED[found[0].lower()], _AROUND_I.sub(_conjugate, fact))


VERB = (
    r"ist|sind|war|waren|hat|haben|heißt|heissen|heißen|wohnt|wohnen|lebt|leben|arbeitet|arbeiten|mag|mögen|liebt|"
    r"hasst|kommt|liegt|steht|hängt|öffnet|schließt|beginnt|endet|kostet|spricht|spielt|isst|trinkt|braucht|gehört|"
    r"geht|fährt|fliegt|startet|studiert|zieht|zog|dauert|findet|kann|muss|darf|will|soll|wird|wurde|verträgt|"
    r"sammelt|bevorzugt|macht|hört|liest|besucht|lernt|reist|läuft|schmeckt|schmecken|wiegt|misst|trägt"
)
NAMED = r"(?-i:[A-ZÄÖÜ])[\w-]{1,30}"
_CLAUSE = re.compile(
    r"^\s*dass:?\s+(?P<subject>ich|(?:(?:mein|dein|unser|ihr|sein|d|"
    r"ein)\w{0,3}(?:\s+[a-zäöüß]\w{1,20}e[rsn]?(?=\s+[A-ZÄÖÜ]))?"
    r"\s+[\w-]{2,40}(?:\s+(?:mein|dein|unser|ihr|sein|d)e[rs]\s+[\w-]{2,40})?)|"
    # "Hans' Zahnarzt" is one subject; whether "Annas Zahnarzt" is, or a person and an occupation, nobody can tell.
    r"[A-ZÄÖÜ][\w-]{1,30}'s?\s+[\w-]{2,40}|"
    r"(?![A-ZÄÖÜ][\w-]{1,29}s\s+[A-ZÄÖÜ])[A-ZÄÖÜ][\w-]{1,30})\s+(?:(?P<rest>.{1,600}?)\s+)?(?P<verb>[\w-]{2,40})\s*$",
    re.DOTALL,
)
_VERBS = frozenset(VERB.split("|"))
_PARTED = re.compile(
    r"(?P<away>zurück|herum|weg|auf|aus|ein|mit|vor|nach|los|fest|an|ab|um|zu)(?P<verb>(?!wort)[a-zäöüß]{3,})$"
)
"""A verb whose beginning goes to the end of a main clause (aufstehe -> stehe ... auf)."""


def mend(clause: str) -> str:
    """A clause with "dass" as a sentence, verb second; what cannot be put in order stays as it is."""
    found = _CLAUSE.match(clause)
    if found is None or " dass " in clause.lstrip()[4:]:
        return clause
    subject, verb, rest = found["subject"], found["verb"], found["rest"] or ""
    parted = _PARTED.match(verb)
    own = subject == "ich"
    if parted and (parted["verb"].endswith("e") if own else parted["verb"].endswith("t")):
        return " ".join(part for part in (subject, parted["verb"], rest, parted["away"]) if part)
    is_verb = _finite(verb) if own else verb in _VERBS or (verb[:1].islower() and verb.endswith("t"))
    return " ".join(part for part in (subject, verb, rest) if part) if is_verb else clause


_NO_FRONT = (
    r"(?!(?:ich|wir|was|wo|woher|wohin|wann|wer|wem|wen|welche\w?|warum|wieso|wie|und|oder|wenn|weil|dass|ob|als|"
    r"falls|da|obwohl|merk|merke|vergiss)\b)"
)
_BEFORE_I = re.compile(
    rf"^\s*(?P<front>{_NO_FRONT}[^,;:?!]{{1,160}}?)\s+(?P<verb>[a-zäöüß]{{2,25}})\s+(?P<subject>ich)\b(?P<rest>.*)$",
    re.IGNORECASE | re.DOTALL,
)
_PLACED = (
    r"(?:am|an|im|in|auf|um|ab|seit|bei|beim|vom|von|vor|nach|zu|zum|zur|mit|ohne|gegen|für|unter|über|neben|hinter|"
    r"jetzt|heute|morgen|übermorgen|immer|jede[nsr]?|nächste[nsr]?|dort|hier|\w+tags|mittwochs|abends|morgens|\d+\.?)\b"
)
_BEFORE_MINE = re.compile(
    rf"^\s*(?P<front>{_PLACED}[^,;:?!]{{0,160}}?)\s+(?P<verb>{VERB})\s+"
    rf"(?P<subject>(?:mein|unser)e?\s+[\w-]{{2,40}}(?:\s+{NAMED})?)\b(?P<rest>.*)$",
    re.IGNORECASE | re.DOTALL,
)
_TO_ME = re.compile(
    r"^\s*(?P<front>[^,;:?!]{1,120}?)\s+(?P<verb>schmeckt|schmecken|gefällt|gefallen)\s+(?P<subject>mir)\b(?P<rest>.*)$",
    re.IGNORECASE | re.DOTALL,
)


def order(sentence: str) -> str:
    """A statement with its subject first ("in Graz wohne ich" -> "ich wohne in Graz")."""
    for inverted in (_BEFORE_I, _BEFORE_MINE, _TO_ME):
        found = inverted.match(sentence)
        if found and (inverted is not _BEFORE_I or _finite(found["verb"])):
            return f"{found['subject']} {found['verb']} {found['front']}{found['rest']}"
    return sentence
