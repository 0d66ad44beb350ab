"""How German sentences are cut into words, and who they are about."""

import re

from bot.models.offline.german.order import NAMED, VERB, mend, order, turn
from bot.models.offline.language import Grammar, anywhere, pattern, words

OCCUPATIONS = (
    "lehrer lehrerin krankenschwester pfleger pflegerin arzt ärztin student studentin ingenieur ingenieurin "
    "programmierer programmiererin entwickler entwicklerin autor autorin künstler künstlerin musiker musikerin anwalt "
    "anwältin bäcker bäckerin klempner elektriker tischler buchhalter buchhalterin journalist journalistin koch köchin "
    "kellner kellnerin fahrer fahrerin pilot pilotin bauer architekt architektin fotograf fotografin übersetzer "
    "übersetzerin therapeut therapeutin apotheker apothekerin mechaniker rentner rentnerin schüler schülerin"
)

_STOPS = words(
    "der die das den dem des ein eine einen einem einer eines und oder aber wenn so als dann zu zum zur in im "
    "ins an am auf bei beim für mit von vom aus über um nach vor ist sind war waren bin bist sein seid gewesen tun tut "
    "hat habe hab haben hatte hatten hast kann kannst könnte könnten soll sollte sollten sollst will willst wird werde "
    "werden würde muss musst darf darfst mag möchte nicht kein keine keinen keiner keines nie ich du er sie es wir ihr "
    "mir mich dir dich uns euch ihm ihn ihnen mein meine meinen meinem meiner meines dein deine deinen deinem deiner "
    "deines unser unsere unseren sein seine was wo wann wer wem wen wessen welche welcher welches welchen welchem "
    "warum wie wieso hier da dort nur bitte sag sagen sage erzähl erzählen gesagt erzählt weiß weißt wissen gewusst "
    "merken erinnerst erinnere nochmal noch mal genau eigentlich wirklich jetzt heute etwas alles nichts ding dinge "
    "viel viele ganz sehr auch schon mehr doch denn dass ob finde finden such suche zeig zeige gib geben sache zurzeit "
    "gerade immer nächste nächster nächsten okay ok hallo hey meiden vermeiden carina mein's gibt liegt befindet "
    "leider weil gern gerne ne nen seit kennst kenne stimmt mache macht machen gemacht jedenfalls gegen wogegen wofür "
    "womit woran lautet lauten"
)
_THIRD_PERSON = re.compile(r"[bcdfghklmnprz]t$")
_WRITTEN_OUT = re.compile(r"(?<![aeq])([aou])e(?=.)")
"""An umlaut in two letters (Nuesse)."""
_SAME = {"mama": "mutter", "mami": "mutter", "papa": "vater", "papi": "vater", "tel": "telefon", "handy": "telefon"}
_UMLAUTS = str.maketrans({"ä": "a", "ö": "o", "ü": "u", "ß": "ss"})


def stem(word: str) -> str:
    """Umlauts and endings fall away: Zahnärzte, Zahnarztes and Zahnarzt meet."""
    word = word.translate(_UMLAUTS).removesuffix("'s")
    word = _WRITTEN_OUT.sub(r"\1", _SAME.get(word.removesuffix("s"), word))
    for ending in ("innen", "erin", "ern", "ers", "em", "en", "er", "es", "e", "s", "n"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return word.removesuffix(ending)
    return word[:-1] if _THIRD_PERSON.search(word) else word


def variants(word: str) -> tuple[str, ...]:
    """The full text index stems English; so ask for the forms a German word often takes."""
    if len(word) < 4:
        return ()
    short = word.removesuffix("n").removesuffix("e")
    return tuple(form for form in dict.fromkeys((short, short + "e", short + "en")) if form != word)


INTRODUCED = pattern(
    r"ich bin (?:(?:der|die) )?(?!(?:single|fan|papa|mama|opa|oma|chef|profi|laie|christ|jude|witwe|waise|gast)\b)"
    rf"(?!{'|'.join(word + chr(92) + 'b' for word in OCCUPATIONS.split())})"
    r"(?-i:[A-ZÄÖÜ])[a-zäöüß]{1,20}(?<!in)(?<!er)(?<!ent)(?<!ist)(?<!ant)(?<!eur)(?<!loge)(?<!sche)[\s.!]{0,5}$"
)
"""A name; what a person is otherwise has one of these endings, as far as that can be told."""
_SPELT = {
    "ueber": "über", "fuer": "für", "weisst": "weißt", "heisse": "heiße", "heisst": "heißt", "moechte": "möchte",
    "koennen": "können", "koenntest": "könntest", "wuerdest": "würdest", "hab's": "habe es", "gibts": "gibt es",
    "worueber": "worüber",
}  # fmt: skip
_SPELT_OTHERWISE = re.compile(rf"(?<![\w.'@/-])(?:{'|'.join(_SPELT)})(?![\w'/@-]|\.\w)", re.IGNORECASE)


def spell(text: str) -> str:
    """Words of grammar as they are usually written, where somebody has no umlauts."""
    return _SPELT_OTHERWISE.sub(lambda found: _SPELT[found[0].lower()], text)


_SELF = r"(?:ich|wir)\b"

GRAMMAR = Grammar(
    stops=_STOPS,
    stem=stem,
    subject=pattern(rf"(?P<subject>(?:[\w'.-]{{1,40}}\s+){{1,7}}?)(?P<rest>(?:{VERB})\b.{{0,2000}})"),
    about_self=pattern(rf"(?:(?:weil|da|dass|obwohl|denn) )?{_SELF}|(?:nenne? mich|mir|mich)\b"),
    owners=anywhere(
        rf"\b(?:meine[rs]|unsere[rs]|unsres)\s+(?P<owner>[\w-]{{2,40}})(?:\s+(?P<called>{NAMED}))?"
        r"(?=\s+(?:ist|sind|war|hat|heißt|wohnt|lebt|liegt)\b|\W*$)|"
        r"\bvon (?:meine[mrn]|meinem) (?P<owner2>[\w-]{2,40})|"
        r"(?:^\W{0,8}|\b(?:dass:?|ist|sind|war|heißt|liegt|steht|wohnt) )(?!(?:das|alles|was|des|es|als|bis|"
        r"(?:mon|diens|donners|frei|sams|sonn)tags|mittwochs|(?:vor|nach)?mittags|morgens|abends|nachts)\s)"
        r"(?P<owner3>(?-i:[A-ZÄÖÜ])[\w-]{1,30}s)'?\s+(?-i:[A-ZÄÖÜ])"
    ),
    mine=anywhere(r"\b(?:mein|unser)(?:e[nmrs]?)?\s+(?P<thing>[\w'-]{1,40})"),
    turn=turn,
    unturnable=anywhere(
        r"^\W*nenne? mich\b|^\W*(?:dass|weil|da|obwohl)\b.*\bich\b|\b(?:du|dir|dich|dein\w{0,2}|ihr|euch|euer|eure\w?|"
        r"wir|uns|unser\w{0,3})\b"
    ),
    speaker=anywhere(r"\b(?:ich|mir|mich|mein\w{0,2}|wir|uns|unser\w{0,2})\b"),
    others=anywhere(
        r"(?<!weißt )(?<!kennst )(?<!hast )\bdu\b|\b(?:er|sie|ihr|ihm|ihn|ihnen|dein\w{0,2}|sein[em]?[nmrs]?)\b"
    ),
    asks=anywhere(
        r"\b(?:was|wo(?:her|hin|mit|für|gegen|von|rüber|rauf|ran|bei|durch|nach|zu)?|wann|wer|wem|wen|wessen|"
        r"welche[rsnm]?|warum|wieso|weshalb|wie|wieviele?)\b"
    ),
    openers=words("wann welche welcher welches welchen woher wohin warum"),
    negated=anywhere(r"\b(?:nicht(?! leiden| ausstehen)|keine?[nmrs]?|nie|niemals|meiden|vermeiden)\b"),
    denied=anywhere(
        r"\b(?:bin|ist|sind|war|waren)\b(?:\s+[\w-]+){0,6}?\s+(?:nicht|keine?[nmrs]?)\b|\bnicht mehr\b|"
        r"\bkeine?[nmrs]?(?:\s+[\w-]+){1,3}\s+mehr\b|\b(?:habe?|hat|haben)\s+(?:\w+\s+)?keine?[nmrs]?\b"
    ),
    past=anywhere(r"\b(?:früher|damals|ehemals|vormals|seinerzeit)\b"),
    clauses=anywhere(
        rf"\s*(?:[,;]\s*(?:und\s+|aber\s+)?|\s(?:und|aber|während)\s+)(?=(?:dass\s|{_SELF}|(?:mein|unser)e?\s+[\w'-]+\s+|"
        rf"(?-i:[A-ZÄÖÜ])\w+\s+(?:{VERB})\b))"
    ),
    implied={
        "name": INTRODUCED,
        "age": pattern(r"ich (?:bin|werde) (?:jetzt |schon |gerade |erst |bald )?\d{1,3}[\s.!]{0,5}$"),
    },
    compounds=True,
    spell=spell,
    mend=mend,
    order=order,
    variants=variants,
)
