"""How English sentences are cut into words, and who they are about."""

import re

from bot.models.offline.language import Grammar, anywhere, pattern, words

OCCUPATIONS = (
    "teacher nurse doctor student engineer programmer developer designer writer artist musician lawyer baker "
    "plumber electrician carpenter accountant scientist researcher journalist chef cook waiter waitress driver "
    "pilot farmer librarian architect photographer translator therapist psychologist dentist pharmacist mechanic"
)

_STOPS = words(
    "a an the this that these those and or but if so as than then to of in on at by for with from about into over up "
    "down out off near is are am was were be been being do does did done doing have has had having can could should "
    "would will shall may might must not no never i i'm i'd i've i'll me my mine myself we our ours us you your yours "
    "you're he him his she her hers it its it's they them their what what's where where's when when's who who's whose "
    "whom which why how there here just please tell told said say says know knew remember recall again exactly "
    "actually really still now today any some something anything everything thing things much many one get go going "
    "goes find also too very all more don't doesn't didn't isn't aren't can't won't shouldn't wouldn't couldn't let "
    "s t m re ve ll d next current currently usually always ever stuff got need want show give mean don info "
    "information avoid ok hey hi carina anymore longer wasn't weren't haven't hasn't how's there's that's yet else "
    "happen happens happening"
)

_SAME = {
    form: base
    for base, forms in {
        "begin": "began begun", "break": "broke broken", "build": "built", "buy": "bought", "catch": "caught",
        "choose": "chose chosen", "come": "came", "drink": "drank drunk", "drive": "drove driven", "eat": "ate eaten",
        "fall": "fell fallen", "fly": "flew flown", "forget": "forgot forgotten", "grow": "grew grown",
        "hide": "hid hidden", "hold": "held", "keep": "kept", "leave": "left", "lend": "lent", "lose": "lost",
        "make": "made", "meet": "met", "pay": "paid", "ride": "rode ridden", "run": "ran", "see": "saw seen",
        "sell": "sold", "send": "sent", "sing": "sang sung", "sit": "sat", "sleep": "slept", "speak": "spoke spoken",
        "spend": "spent", "stand": "stood", "steal": "stole stolen", "swim": "swam swum",
        "take": "took taken", "teach": "taught", "think": "thought", "throw": "threw thrown", "wear": "wore worn",
        "win": "won", "write": "wrote written", "child": "children kid kids", "wife": "wives", "colour": "color colors",
        "favourite": "favorite favorites", "mother": "mom mum mummy mommy", "father": "dad daddy",
        "grandmother": "grandma granny", "grandfather": "grandpa", "phone": "telephone",
        "weigh": "weight heavy", "height": "tall", "email": "mail",
    }.items()
    for form in forms.split()
}  # fmt: skip


def stem(word: str) -> str:
    """Plural, past and -ing forms fall together; crude, as full text search stems too."""
    word = word.removesuffix("'s").removesuffix("'")
    word = _SAME.get(word, word)
    for ending, instead, least in (
        ("ies", "y", 5), ("sses", "ss", 5), ("ing", "", 6), ("ed", "", 5), ("es", "e", 5), ("s", "", 4),
    ):  # fmt: skip
        if word.endswith(ending) and len(word) >= least and not word.endswith(("ss", "us", "is")):
            word = word.removesuffix(ending) + instead
            break
    return word.removesuffix("e") if len(word) > 3 else word


def variants(word: str) -> tuple[str, ...]:
    """The other forms of a word; full text search stems the regular ones itself."""
    base = _SAME.get(word, word)
    return tuple(form for form in (base, *(form for form, of in _SAME.items() if of == base)) if form != word)


_LEFT_OUT = {
    "im": "I'm", "ive": "I've", "dont": "don't", "doesnt": "doesn't", "didnt": "didn't", "cant": "can't",
    "isnt": "isn't", "arent": "aren't", "wasnt": "wasn't", "havent": "haven't", "hasnt": "hasn't",
    "couldnt": "couldn't", "shouldnt": "shouldn't", "wouldnt": "wouldn't", "whats": "what's", "wheres": "where's",
    "whens": "when's", "whos": "who's", "hows": "how's", "thats": "that's",
}  # fmt: skip
_BARE = re.compile(rf"(?<![\w.'@/-])(?:{'|'.join(_LEFT_OUT)})(?![\w'/@-]|\.\w)", re.IGNORECASE)


def spell(text: str) -> str:
    """Apostrophes that people leave out."""
    return _BARE.sub(lambda found: _LEFT_OUT[found[0].lower()], text)


_TURNED = {
    "i am": "you are", "am i": "are you", "i was": "you were", "was i": "were you", "we are": "you are",
    "i'm": "you're", "i've": "you've", "i'd": "you'd", "i'll": "you'll", "we're": "you're", "we've": "you've",
    "i": "you", "me": "you", "my": "your", "mine": "yours", "myself": "yourself",
    "we": "you", "our": "your", "ours": "yours", "ourselves": "yourselves",
}  # fmt: skip
_TURN = re.compile(
    r"(?<![\w.'@/-])(?:" + "|".join(sorted(_TURNED, key=len, reverse=True)) + r")(?![\w'/@-]|\.\w)", re.I
)


def turn(fact: str) -> str:
    return _TURN.sub(lambda found: _TURNED[found[0].lower()], fact)


VERB = (
    r"is|are|was|were|has|have|had|lives?|lived|works?|worked|likes?|loves?|hates?|prefers?|needs?|wants?|comes?|goes|"
    r"went|opens?|closes?|starts?|begins?|ends?|costs?|speaks?|plays?|eats?|drinks?|drives?|studies|studied|teaches|"
    r"died|moved|changed|married|leaves?|left|arrives?|departs?|expires?|belongs?|bought|lies|hangs?|turns|turned|"
    r"called|said|got"
)

INTRODUCED = re.compile(
    r"^\s*I(?:'m| am) (?!Fine|Good|Ok|OK|Tired|Sick|Sorry|Back|Here|Not|German|French|Dutch|Greek|Swiss|Czech|Thai|"
    r"[A-Z][a-z]{1,20}(?:ish|ese|rian|lian|nian|rican|xican|lic|lim|wish)\b)[A-Z][a-z]{1,30}(?:[.! ]{0,3}$| and |,)"
)
_SELF = r"(?:i|i'm|i've|i'd|i'll|we|we're|we've)\b"

GRAMMAR = Grammar(
    stops=_STOPS,
    stem=stem,
    subject=pattern(
        rf"(?P<subject>(?:[\w'.-]{{1,40}}\s+){{1,7}}?)"
        rf"(?P<rest>(?:{VERB}|isn't|aren't|can't|doesn't|don't|wasn't)\b.{{0,2000}})"
    ),
    about_self=pattern(rf"(?:(?:because|since|as|although|though|that) )?{_SELF}|call me\b"),
    owners=anywhere(
        r"(?:\b(?:my|our|his|her|their|the)\s+(?P<kin>[\w-]{2,40})\s+(?=(?-i:[A-Z])))?"
        r"\b(?P<owner>[\w-]{2,40})(?:'s|(?<=s)')\s+\w|\bof (?:my|our) (?P<owner2>[\w-]{2,40})"
    ),
    mine=anywhere(r"\b(?:my|our)\s+(?:(?:old|new|own|current|former|previous|last|next)\s+)?(?P<thing>[\w'-]{1,40})"),
    turn=turn,
    unturnable=anywhere(r"\bcall me\b|\b(?:you|your|yours|yourself|you're|u|ur)\b"),
    speaker=anywhere(r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|myself|we|us|our|ours)\b"),
    others=anywhere(
        r"\b(?:you(?! (?:know|remember|recall|tell|have|think|say|find)\b)|your|he|she|they|his|him|their|them)\b|"
        r"\bher\b"
    ),
    names=re.compile(r"(?<=[\w,'] )[A-Z][a-z]{1,30}(?![\w'])|(?<=[\w,'] )[A-Z][a-z]{1,30}(?='s)"),
    asks=anywhere(r"\b(?:what|where|when|who|whom|whose|which|why|how)\b"),
    openers=words("what where when which whose"),
    negated=anywhere(r"\b(?:not|never|no longer|avoid)\b|n't\b(?! stand)|\bcannot\b(?! stand)"),
    denied=anywhere(
        r"\b(?:am|is|are|was|were|i'm|he's|she's|we're)\s+(?:\w+\s+)?not\b|\b(?:isn't|aren't|wasn't|no longer)\b|"
        r"\bany ?more\b|\b(?:have|has) no\b|\b(?:don't|doesn't|do not|does not) have\b"
    ),
    past=anywhere(r"\bused to (?!\w+ing\b)|\b(?:previously|formerly|in the past|back then|at that time)\b"),
    clauses=re.compile(
        rf"\s*(?:[,;]\s*(?:and\s+|but\s+)?|\s(?:and|but|while|whereas)\s+)(?:that\s+)?(?=(?:{_SELF}|(?:my|our)\s+[\w'-]+\s+|"
        rf"(?-i:[A-Z])\w+\s+(?:{VERB})\b))",
        re.IGNORECASE,
    ),
    implied={
        "name": INTRODUCED,
        "age": pattern(r"(?:i'm|i am|i turned|i've turned) (?:now |just |already )?\d{1,3}[\s.!]{0,5}$"),
    },
    spell=spell,
    variants=variants,
    flowing=pattern(r"(?:you|your|you're|you've|you'd|you'll)\b"),
)
