"""English."""

import re

from bot.models.offline.english_phrases import ENGLISH_PHRASES
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
    "teacher nurse doctor student engineer programmer developer designer writer artist musician lawyer baker "
    "plumber electrician carpenter accountant scientist researcher journalist chef cook waiter waitress driver "
    "pilot farmer librarian architect photographer translator therapist psychologist dentist pharmacist mechanic"
)
KEPT = (
    "dog cat pet hamster rabbit parrot horse turtle bird sister brother son daughter child children kid kids twins "
    "wife husband partner girlfriend boyfriend house garden car bike allergy asthma diabetes adhd autism epilepsy "
    "migraines dyslexia tinnitus phd"
)


def _one_of(listed: str) -> str:
    return "|".join(listed.split())


_STOPS = words(
    "a an the this that these those and or but if so as than then to of in on at by for with from about into over up "
    "down out off near is are am was were be been being do does did done doing have has had having can could should "
    "would will shall may might must not no never i i'm i'd i've i'll me my mine myself we our ours us you your yours "
    "you're he him his she her hers it its it's they them their what what's where where's when when's who who's whose "
    "whom which why how there here just please tell told said say says know knew remember recall again exactly "
    "actually really still now today any some something anything everything thing things much many one get go going "
    "goes find also too very all more don't doesn't didn't isn't aren't can't won't shouldn't wouldn't couldn't let "
    "s t m re ve ll d next current currently usually always ever stuff got need want show give mean don info "
    "information avoid ok hey hi carina"
)


def stem(word: str) -> str:
    """Plural, past and -ing forms fall together; crude, as full text search stems too."""
    word = word.removesuffix("'s").removesuffix("'")
    for ending, instead, least in (
        ("ies", "y", 5), ("sses", "ss", 5), ("ing", "", 6), ("ed", "", 5), ("es", "e", 5), ("s", "", 4),
    ):  # fmt: skip
        if word.endswith(ending) and len(word) >= least and not word.endswith(("ss", "us", "is")):
            word = word.removesuffix(ending) + instead
            break
    return word.removesuffix("e") if len(word) > 3 else word


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


_OPENERS = (
    r"what|where|when|who|whom|whose|which|why|how|what's|where's|when's|who's|how's|do|does|did|is|are|am|was|were|"
    r"can|could|should|would|will|have|has|isn't|aren't|don't|doesn't"
)
_VERB = (
    r"is|are|was|were|has|have|lives?|works?|likes?|loves?|hates?|prefers?|needs?|wants?|comes?|goes|opens?|closes?|"
    r"starts?|ends?|costs?|speaks?|plays?|eats?|drinks?|died|moved|lies|hangs?|turns|called"
)

_INTRODUCED = re.compile(
    r"^\s*I(?:'m| am) (?!Fine|Good|Ok|OK|Tired|Sick|Sorry|Back|Here|Not|German|French|Dutch|Greek|Swiss|Czech|Thai|"
    r"[A-Z][a-z]{1,20}(?:ish|ese|rian|lian|nian|rican|xican|lic|lim|wish)\b)[A-Z][a-z]{1,30}(?:[.! ]{0,3}$| and |,)"
)

_GRAMMAR = Grammar(
    introduced=_INTRODUCED,
    stops=_STOPS,
    stem=stem,
    subject=pattern(
        rf"(?P<subject>(?:[\w'.-]{{1,40}}\s+){{1,7}}?)(?P<rest>(?:{_VERB}|isn't|aren't|can't|doesn't)\b.{{0,2000}})"
    ),
    about_self=pattern(r"(?:i|i'm|i've|i'd|i'll|we|we're|call me)\b"),
    owners=anywhere(r"\b(?P<owner>[\w-]{2,40})(?:'s|(?<=s)')\s+\w|\bof (?:my|our) (?P<owner2>[\w-]{2,40})"),
    mine=anywhere(r"\b(?:my|our)\s+(?P<thing>[\w'-]{1,40})"),
    turn=turn,
    unturnable=anywhere(r"^\W*call me\b|\b(?:you|your|yours|yourself|you're|u|ur)\b"),
    flowing=pattern(r"(?:you|your|you're|you've|you'd|you'll)\b"),
)

_MEMORISE = (
    r"(?:remember|memori[sz]e|note|keep in mind|bear in mind|make a note|take a note|write down|don't forget|"
    r"do not forget|never forget|save|store|note down)"
)
_ASKING = r"(?:(?:can|could|will|would) you )?(?:please )?(?:always )?"
_OBJECTS = r"(?:it|that|this|you|him|her|them|how|when|what|your|to (?:hear|see|know)|the (?:way|idea)|where)\b"
_DEGREE = (
    r"(?:really |very |so |absolutely |also |still |a bit |quite |mostly |severely |slightly |strictly |both ){0,2}"
)
_MOOD = (
    r"fine|good|ok|okay|great|bad|tired|killing|hurting|late|slow|broken|dead|gone|empty|full|sore|ready|here|back|"
    r"burning|running|going|getting|acting|not working|on fire|cold|hot|wet|dirty|open|closed|down|up|off|stuck|"
    r"the (?:best|worst|same)|so \w+|too \w+|really \w+|pretty \w+"
)

_PATTERNS = Patterns(
    lead=pattern(
        r"(?:(?:hey|hi|hello|ok|okay|so|well|oh|btw|by the way|also|and|please|yes|no|yeah|fyi|just so you know|carina)"
        r"(?: (?:there|carina))?[,:;!.\s-]+|<@[!&]?\d{1,25}>[,:\s]*|@[\w.-]{1,40}[,:]?\s+)(?=\S)"
    ),
    remember=(
        pattern(
            rf"{_ASKING}{_MEMORISE}(?: for me| about me)?(?:[,:]| that\b:?| this:| the following:?)\s*(?P<fact>.*)$"
        ),
        pattern(
            rf"{_ASKING}(?:remember|memori[sz]e|don't forget|do not forget|never forget)\s+"
            r"(?!(?:when|where|what|who|how|if|which|why|me\b|this\b|it\b).{0,400}\?)(?P<fact>.*)$"
        ),
        whole(rf"{_ASKING}{_MEMORISE}(?: that| this| it| me)?(?P<fact>)"),
    ),
    polite=pattern(r"(?:(?:hey|hi|hello) \w{1,30}[,!]? )?(?:please )?(?:can|could|will|would) you\b"),
    forget=(
        pattern(
            rf"{_ASKING}(?:forget|delete|erase|remove)"
            r"(?: (?:about|that|what i (?:told|said to) you about|what i said about|what you know about|"
            r"everything about|"
            r"the (?:note|entry|fact|memory|memories) (?:about|that|on)))?\s+(?P<what>(?!it\b|that\b|this\b|to\b).*)$"
        ),
    ),
    forget_all=whole(
        rf"{_ASKING}(?:forget|delete|erase|remove) (?:about )?(?:me|(?:everything|all)(?: (?:about me|of it|"
        rf"(?:that )?you "
        r"know(?: about me)?|(?:that )?i (?:ever )?(?:told|said to) you|your memor(?:y|ies)|my (?:data|memories)))?)"
    ),
    about_me=whole(
        r"(?:(?:what|which things) (?:all |else )?(?:do|did|have) you (?:know|remember|remembered|stored|saved|"
        r"learned|noted)"
        r"(?: so far)?(?: about me)?(?: so far)?|do you (?:know|remember) (?:anything|something|stuff) about me|"
        r"(?:tell|show) me (?:what|everything|all) (?:that )?you (?:know|remember)(?: about me)?|"
        r"(?:list|show)(?: me)? (?:your|my|all|everything)(?: your| my)?(?: (?:memory|memories|notes|facts|entries))?)"
    ),
    talked=pattern(
        r"(?:what (?:all )?(?:did|have|were|was) (?:we|i|you) (?:\w+ )?(?:talk|chat|speak|say|said|discuss|write|"
        r"wrote|tell)\w*\b|"
        r"what (?:was|did) (?:\w+ )?(?:said|discussed|say)\b|what happened (?:in (?:this|our) (?:chat|channel|"
        r"conversation) )?|"
        r"summari[sz]e (?:our|the|yesterday|today|last|this))"
    ),
    help=whole(
        r"help(?: me)?|/help|what can (?:you|i) do(?: here| for me| with you)?|how do(?:es)? (?:you|this|i use "
        r"you) work|"
        r"what are you(?: able to do)?|who are you|how do i use (?:you|this)|commands"
    ),
    chat={
        "greeting": whole(
            r"(?:hi+|hello+|hey+|hiya|yo|howdy|greetings|good (?:morning|afternoon|evening|day)|morning|what's "
            r"up|sup|hi there)"
            r"(?:[,\s]+(?!remember|forget|help)\w{1,32}){0,2}"
        ),
        "thanks": whole(
            r"(?:many |ok |okay )?(?:thanks?|thank you|thx|ty|cheers|much appreciated)(?:[,\s]+\w{1,32}){0,4}"
        ),
        "wellbeing": whole(
            r"(?:and )?how (?:are|r) (?:you|u|things)(?:[,\s]+(?:doing|today|going|carina|now)){0,3}|how's it going|"
            r"how do you do|how is it going|are you (?:ok|okay|well|fine|there|awake)"
        ),
        "night": whole(
            r"(?:good ?night|night|nighty night|sleep well|sweet dreams|bye+|goodbye|good bye|see you|see ya|cya|"
            r"talk to you (?:later|soon|tomorrow)|later)(?:[,\s]+\w{1,32}){0,2}|i'?a?m? ?(?:am )?going to bed"
        ),
        "ack": whole(
            r"(?:ok|okay|k|kk|yes|yeah|yep|no|nope|sure|cool|nice|great|fine|alright|all right|good|perfect|"
            r"awesome|wow|"
            r"lol|haha+|hehe+|hm+|oh|ah|i see|got it|never ?mind|forget (?:it|that|this)|right|true|well|indeed|"
            r"i'?a?m? ?(?:am )?(?:fine|good|ok|okay|well|tired|great|happy|sad|bored|back|here))(?:[,\s]+\w{1,32}){0,2}"
        ),
    },
    question=pattern(
        rf"(?:(?:{_OPENERS})\b(?!\.).{{0,3900}}\?|(?:what|where|when|who|whose|which|why|how|what's|where's|"
        rf"who's|when's)\b|"
        r"(?:do|does|did|is|are|am|can|could|should|would|will|have|has) (?:i|we|you|my|our|he|she|it|they|the|"
        r"there)\b|"
        r"(?:tell|remind|show) me (?:about|where|what|when|who|how|which|my|again)\b|"
        r"(?:find|search(?: for)?|look up|look for)\s|any idea\b|remember (?:when|where|what|who|how|which)\b|"
        rf".{{0,3900}}\?[\s?!.)\"'*_~]{{0,12}}$)"
    ),
    request=pattern(
        r"(?:(?:can|could|will|would) you )?(?:please )?(?:write|translate|summari[sz]e|explain|tell|give|make|"
        r"create|draw|"
        r"calculate|compute|generate|play|set|remind|sing|code|fix|send|post|call me at|order|book|buy|open|read|check|"
        r"wake|schedule|add|act|pretend|ignore|print|run|execute|help me)\b"
    ),
    lasting=(
        pattern(
            rf"(?:i'm|i am) {_DEGREE}(?:allergic to|intolerant to|(?:lactose|gluten|fructose|histamine)[- ]intolerant|"
            r"(?:a |an )?(?:vegetarian|vegan|pescatarian|diabetic|asthmatic|autistic|dyslexic)|coeliac|celiac|"
            r"colou?r-?blind|"
            r"left-handed|right-handed|deaf|blind|from|married|divorced|pregnant|born|called|named|"
            rf"\d{{1,3}} years old|(?:a|an) (?:[\w-]{{2,20}} )?(?:{_one_of(OCCUPATIONS)}))\b"
        ),
        _INTRODUCED,
        pattern(r"(?:my name is|my name's|call me|i go by|you can call me)\s+(?!back|later|when|if|at\b)\S"),
        pattern(
            r"i (?:(?:also|still|now|currently) )?(?:live (?:in|at|on|near|with)|come from|was born|grew up in|"
            r"moved to|"
            r"work (?:at|as|for|in|with|from)|study|speak|play|collect|grew up)\s"
        ),
        pattern(
            rf"i {_DEGREE}(?:(?:don't|do not|can't|cannot|never) (?:like|eat|drink|stand|tolerate)|like|love|"
            rf"hate|prefer|"
            rf"dislike|enjoy|adore)\s+(?!{_OBJECTS})\S"
        ),
        pattern(rf"i(?: have|'ve got| have got) (?:[\w-]{{1,20}} ){{0,4}}(?:{_one_of(KEPT)})s?\b"),
        pattern(
            r"(?:my|our) (?!(?:day|head|mood|back|bad|point|question|guess|god|turn|week|phone battery|battery|"
            r"computer|"
            r"internet|life) (?:is|are|was)\b)(?:[\w'-]{1,40} ){1,6}?(?:is|are|lives?|works?|has|comes from|was "
            r"born)\s+"
            rf"(?!(?:{_MOOD})\b)\S"
        ),
        pattern(r"my [\w-]{2,30}(?: [\w-]{2,30})?'s (?:name|birthday|address|number) is\s"),
    ),
    passing=anywhere(
        r"^\W{0,8}(?:i(?:'m| am)) (?:fine|tired|good|ok|going|here|back|not sure|sorry|glad|happy|afraid)\b|"
        r"\b(?:right now|at the moment|for now|just kidding|if i|only joking|tonight)\b"
    ),
)

_CONCEPTS = {
    "eat": concept(
        "eat food meal dinner lunch breakfast cook diet snack dish menu restaurant",
        "allergic allergy intolerant intolerance vegetarian vegan pescatarian coeliac celiac gluten lactose "
        "halal kosher "
        "diet eat",
    ),
    "drink": concept("drink beverage", "drink alcohol coffee caffeine lactose tea"),
    "allergy": concept(
        "allergic allergy intolerant intolerance react", "allergic allergy intolerant intolerance coeliac"
    ),
    "home": concept(
        "live home address reside city town house apartment flat country",
        "live home address reside moved_to my_house my_flat my_apartment",
    ),
    "origin": concept("am_i_from i_come_from i'm_from origin", "i'm_from i_am_from come_from was_born grew_up"),
    "name": concept("name called who_am_i", "my_name i'm_called i_am_called call_me i_go_by i'm_named name_is"),
    "birthday": concept("birthday born birth", "birthday born"),
    "age": concept("old age", "years_old born birthday age"),
    "work": concept(
        "work job profession occupation employer company career i_do_for_a_living",
        "work job profession employed employer " + OCCUPATIONS,
    ),
    "pet": concept("pet animal", "dog cat pet hamster rabbit parrot horse turtle bird"),
    "family": concept(
        "family relatives sibling parent kid child children",
        "sister brother mother father mom mum dad son daughter wife husband child children kid parent twin aunt uncle "
        "cousin grandmother grandfather",
    ),
    "partner": concept("partner spouse married", "wife husband girlfriend boyfriend partner married fiance fiancee"),
    "like": concept(
        "like love enjoy favourite favorite hobby prefer", "like love enjoy adore prefer favourite favorite"
    ),
    "dislike": concept(
        "hate dislike don't_i_like i_don't_like do_i_not_like", "hate dislike can't_stand don't_like do_not_like"
    ),
    "health": concept(
        "health condition illness disease medical",
        "diabetic diabetes asthma asthmatic epilepsy adhd autism autistic allergic allergy migraine deaf blind "
        "dyslexia",
    ),
    "language": concept("language speak", "speak"),
}

_MONTHS = "January February March April May June July August September October November December"
_TIMES = (
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b\d{1,2}(?::\d\d)? ?(?:am|pm|o'clock)\b|\b\d{1,2}:\d\d\b|"
    rf"\b(?:{_one_of(_MONTHS).replace('May|', '')})\b|\b(?:in|on|of) may\b|\bmay \d|\b\d{{4}}\b|"
    r"\b(?:tomorrow|noon|midnight|morning|evening|every (?:day|week|month|year))\b"
)

ENGLISH = Language(
    code="en",
    marks=words(
        "the is are am i i'm my me you your what where when who how do does did that it and to of not in on for "
        "remember "
        "forget thanks hello help please know about with have was were can should good night live name love like"
    ),
    script=None,
    grammar=_GRAMMAR,
    patterns=_PATTERNS,
    concepts=_CONCEPTS,
    kinds={
        "place": Kind(
            anywhere(r"\bwhere\b|\baddress\b|\blocat|\bwhich (?:street|city|town|place)\b"),
            words("address location located place street"),
            anywhere(
                r"\b(?:in|on|at|near|by|under|behind|beside|inside|above|opposite|next to|between|from|street|"
                r"road|work for)\b"
            ),
        ),
        "time": Kind(
            anywhere(
                r"\bwhen\b(?! did i (?:tell|say|mention))|\bwhat (?:time|date|day)\b|\bwhich (?:day|date)\b|"
                r"\bhow late\b"
            ),
            words("time date day o'clock"),
            anywhere(_TIMES),
        ),
        "name": Kind(
            anywhere(r"\bwho\b|\bnamed?\b|\bcalled\b"),
            words("name named called"),
            anywhere(r"\b(?:called|named|name)\b|\b(?:is|are) (?:(?:dr|my|our|an?)\b|(?-i:[A-Z]))"),
        ),
    },
    calendar=Calendar(
        days=(
            (anywhere(r"\bthe day before yesterday\b"), "day:-2"),
            (anywhere(r"\b(?:yesterday|last night)\b"), "day:-1"),
            (anywhere(r"\b(?:today|this morning|tonight)\b"), "day:0"),
            (anywhere(r"\b(?:last|past|previous) week\b"), "week:-1"),
            (anywhere(r"\bthis week\b"), "week:0"),
            (anywhere(r"\b(?:last|past|previous) month\b"), "month:-1"),
            (anywhere(r"\bthis month\b"), "month:0"),
        ),
        weekdays=tuple(rf"\b{day}day\b" for day in ("mon", "tues", "wednes", "thurs", "fri", "satur", "sun")),
        date=anywhere(
            rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{_one_of(_MONTHS)})\b|"
            rf"\b(?P<month2>{_one_of(_MONTHS)}) (?P<day2>\d{{1,2}})\b"
        ),
        months=tuple(_MONTHS.split()),
        written="{day} {month} {year}",
        filler=words(
            "talk talked talking chat chatted speak spoke spoken say said discuss discussed write wrote happen "
            "happened "
            "summarize summarise conversation last week month day night before yesterday morning past previous "
            "channel on "
            "did have were was lately recently"
        ),
    ),
    phrases=ENGLISH_PHRASES,
)
