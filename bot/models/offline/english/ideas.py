"""What words bring to mind in English, and what sorts of answers there are."""

from bot.models.offline.english.grammar import OCCUPATIONS
from bot.models.offline.language import Kind, anywhere, concept, one_of, words

_DIET = (
    "allergic allergy intolerant intolerance vegetarian vegan pescatarian coeliac celiac gluten lactose halal kosher"
)
_MEALS = "eat food meal dinner lunch breakfast cook diet snack dish menu restaurant"

CONCEPTS = {
    "eat": concept(_MEALS, "eat diet vegetarian vegan pescatarian"),
    "diet": concept(_MEALS, _DIET + " diet"),
    "drink": concept("drink beverage", "drink alcohol coffee caffeine tea beer wine juice"),
    "abstain": concept("drink beverage", "lactose"),
    "allergy": concept(
        "allergic allergy intolerant intolerance react", "allergic allergy intolerant intolerance coeliac celiac"
    ),
    "home": concept(
        "live home address reside city town house apartment flat country",
        "live home address reside moved_to my_house my_flat my_apartment",
    ),
    "origin": concept(
        "am_i_from i_come_from i'm_from origin nationality", "i'm_from i_am_from come_from was_born grew_up"
    ),
    "name": concept("name called who_am_i", "my_name i'm_called i_am_called call_me i_go_by i'm_named name_is"),
    "birthday": concept("birthday born birth", "birthday born was_born were_born"),
    "age": concept("how_old age", "years_old born was_born birthday age"),
    "work": concept(
        "work job profession occupation employer company career boss_at i_do_for_a_living",
        "work job profession employed employer " + OCCUPATIONS,
    ),
    "pet": concept("pet animal", "dog cat pet hamster rabbit parrot horse turtle bird"),
    "children": concept("kid child children", "son daughter child children kid twin stepson stepdaughter"),
    "siblings": concept("sibling", "sister brother twin sibling stepsister stepbrother"),
    "parents": concept("parent", "mother father mom mum dad parent"),
    "family": concept(
        "family relatives",
        "sister brother mother father mom mum dad son daughter wife husband child children kid parent twin aunt uncle "
        "cousin grandmother grandfather",
    ),
    "partner": concept("partner spouse married", "wife husband girlfriend boyfriend partner married fiance fiancee"),
    "like": concept(
        "like love enjoy favourite favorite hobby prefer like_best like_most",
        "like love enjoy adore prefer favourite favorite",
    ),
    "dislike": concept("hate dislike", "hate dislike can't_stand cannot_stand"),
    "health": concept(
        "health condition illness disease medical",
        "diabetic diabetes asthma asthmatic epilepsy adhd autism autistic allergic allergy migraine deaf blind "
        "dyslexia",
    ),
    "language": concept("language speak", "speak"),
}

_MONTHS = "January February March April June July August September October November December"
_TIMES = (
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b\d{1,2}(?::\d\d)? ?(?:am|pm|o'clock)\b|\b\d{1,2}:\d\d\b|"
    rf"\b(?:{one_of(_MONTHS)})\b|\b(?:in|on|of) may\b|\bmay \d|\b\d{{4}}\b|"
    r"\b(?:tomorrow|yesterday|today|tonight|noon|midnight|morning|evening|ago|since|every (?:day|week|month|year)|"
    r"(?:last|next|this) (?:week|month|year|night|summer|winter|spring|autumn|weekend|christmas|easter))\b"
)
_A_TIME = (
    r"\s+(?:the\s+|next\s+|last\s+)?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|"
    rf"(?:{one_of(_MONTHS)}|may)\b|\d{{1,2}}(?::\d\d)?(?:\s*(?:am|pm|o'clock|to)\b|[\s,.!]*$|\s+on\b)|\d{{1,2}}(?:st|nd|rd|th)?"
    rf"(?:\s+of)?\s+(?:{one_of(_MONTHS)}|may)\b|\d{{4}}\b|morning|evening|afternoon|noon|midnight|night|weekends?\b)"
)
"""What stands behind "on", "at" or "in" where they tell a time."""
_NUMBERS = (
    "no one two three four five six seven eight nine ten eleven twelve dozen hundred thousand half single several "
    "many few both"
)
_COLOURS = (
    "red orange yellow green blue purple violet pink brown black white grey gray silver gold golden beige turquoise "
    "teal cyan magenta maroon navy crimson scarlet lilac khaki colour colourful"
)

KINDS = {
    "colour": Kind(
        anywhere(r"\bcolou?rs?\b"),
        words("colour color colours colors"),
        anywhere(rf"\b(?:{one_of(_COLOURS)})(?:ish)?\b"),
    ),
    "age": Kind(
        anywhere(r"\bhow old\b|\bages?\b"),
        words("old age"),
        anywhere(
            r"\b\d{1,3} years?\b|"
            r"(?:\b(?:is|are|am|turned|turns)|'[ms])\s(?:now |just |already |only )?\d{1,3}(?=[\s.!]*$|,|\s+and\b)|"
            r"\b(?:born|birthday|years old|months old|age|turned \d)"
        ),
    ),
    "count": Kind(
        anywhere(r"\bhow many\b|\bnumber of\b"), words("many number"), anywhere(rf"\d|\b(?:{one_of(_NUMBERS)}|an?)\b")
    ),
    "price": Kind(
        anywhere(r"\bhow much\b|\bprice\b|\bcosts?\b"),
        words("much price cost costs"),
        anywhere(r"[€$£¥]|\b(?:euros?|dollars?|pounds?|yen|francs?|cents?|bucks|free|eur|usd|gbp|chf)\b|\d"),
    ),
    "size": Kind(
        anywhere(r"\bhow (?:tall|long|big|large|heavy|far|high|wide|deep|fast)\b|\b(?:size|height|weight|length)\b"),
        words("tall long big large heavy far high wide deep fast size weight height length"),
        anywhere(rf"\d|(?<!')\b(?:xxs|xs|s|m|l|xl|xxl|small|medium|large|{one_of(_NUMBERS)})\b"),
    ),
    "place": Kind(
        anywhere(
            r"\bwhere\b|\baddress\b|\blocat|\b(?:which|what) (?:street|city|town|place|country)\b|"
            r"\bwho (?:do|does) .{1,60} work (?:for|at|with)\b|\b(?:which|what) (?:company|firm|school)\b"
        ),
        words("address location located place street city town country company firm"),
        anywhere(
            rf"\b(?:in|on|at|near|by|under|behind|beside|inside|above|opposite|next to|between|from)\b(?!{_A_TIME})|"
            r"\b(?:street|road|(?:work|works|worked) (?:for|with)|moved? to|goes to)\b|\bto (?-i:[A-Z])"
        ),
    ),
    "time": Kind(
        anywhere(
            r"\bwhen\b(?! did i (?:tell|say|mention))|\bwhat (?:time|date|day)\b|\bwhich (?:day|date)\b|"
            r"\bhow late\b|\bsince what\b"
        ),
        words("time date day o'clock"),
        anywhere(_TIMES),
    ),
    "work": Kind(
        anywhere(r"\bwhat (?:do|does) [\w' -]{1,60} do(?: for (?:a living|work))?\W*$|\bjob\b|\bprofession\b"),
        words("living"),
        anywhere(rf"\b(?:works?|worked|studies|study|teaches|teach|job|runs|retired|{one_of(OCCUPATIONS)})\b"),
    ),
    "owner": Kind(
        anywhere(r"\bwhose\b|\bbelongs? to whom\b"),
        frozenset(),
        anywhere(r"\w'(?:s\b|\s)|\b(?:my|our)\b|\bbelongs? to\b"),
    ),
    "reason": Kind(
        anywhere(r"\bwhy\b|\bwhat for\b"),
        words("reason"),
        anywhere(r"\b(?:because|since|so that|due to|therefore|as)\b"),
    ),
    "topic": Kind(anywhere(r"\bwhat\b.*\babout\W*$"), frozenset(), anywhere(r"\babout\b")),
    "meaning": Kind(
        anywhere(r"^\W*what(?:'s| is| are) (?:an? |the )?[\w-]+\W*$"),
        frozenset(),
        anywhere(r"\b(?:is|are|was|means?|'s)\b|:"),
    ),
    "manner": Kind(
        anywhere(r"\bhow (?:is|are|was|were|do|does|did|can|should|to)\b(?!.*\bcalled\b)"),
        words("way"),
        anywhere(r"\b(?:by|with|using|via|through|well|fine|better|good|bad|sick|ill|takes?|took)\b"),
    ),
    "name": Kind(
        anywhere(r"\bwho\b|\bnamed?\b|\bcalled\b"),
        words("name named called"),
        anywhere(
            r"\b(?:called|named|name|name's)\b|\b(?:is|are) (?:(?:dr|my|our|an?)\b|(?-i:[A-Z]))|"
            r"\b(?:my|our) [a-z-]+ (?-i:[A-Z])[a-z]"
        ),
    ),
}
