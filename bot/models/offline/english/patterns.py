"""What people want, as they say it in English."""

import re

from bot.models.offline.english.grammar import INTRODUCED, OCCUPATIONS
from bot.models.offline.language import END, Patterns, anywhere, one_of, pattern, whole

_KEPT = (
    "dog cat pet hamster rabbit parrot horse turtle bird sister brother son daughter child children kid kids twins "
    "wife husband partner girlfriend boyfriend house garden car bike allergy allergies asthma diabetes adhd autism "
    "epilepsy migraines dyslexia tinnitus phd sibling pet birthday"
)
_MEMORISE = (
    r"(?:remember|memori[sz]e|note|keep in mind|bear in mind|make a note|take a note|write down|don't forget|"
    r"do not forget|never forget|save|store|note down)"
)
_ASKING = r"(?:(?:can|could|will|would) you )?(?:please )?(?:always )?"
_OBJECTS = r"(?:it|that|this|you|him|her|them|how|when|what|your|to (?:hear|see|know)|the (?:way|idea)|where)\b"
_DEGREE = (
    r"(?:really |very |so |absolutely |also |still |a bit |quite |mostly |severely |slightly |strictly |both |not |"
    r"now |no longer |only |currently ){0,3}"
)
_MOOD = (
    r"fine|good|ok|okay|great|bad|tired|killing|hurting|late|slow|broken|dead|gone|empty|full|sore|ready|here|back|"
    r"burning|running|going|getting|acting|not working|on fire|cold|hot|wet|dirty|open|closed|down|up|off|stuck|"
    r"the (?:best|worst|same)|so \w+|too \w+|really \w+|pretty \w+"
)
_LASTING = (
    r"is|are|isn't|aren't|was born|were born|lives?|works?|has|have|likes?|loves?|hates?|prefers?|speaks?|plays?|"
    r"studies|study|drives?|comes? from|goes to|go to|moved|changed|opens?|closes?|leaves?|starts?|begins?|ends?|"
    r"arrives?|departs?|costs?|expires?|belongs?|doesn't|don't|can't"
)
"""Verbs of what stays so, or is so again and again."""
_MEANT = (
    r"(?:,? (?:all|guys|folks|people|everyone|everybody|both|two|exactly|really|actually|then|again|anyway|here|"
    r"please|carina)){1,3}"
)
"""What is put behind a question about us without asking more."""
_WHO = (
    r"who (?:are|r) (?:you|u)|who(?:'s| is) (?:there|carina)|what (?:are|r) (?:you|u)|what(?:'s| is| are) your names?|"
    r"what (?:kind|sort) of (?:a )?(?:bot|robot|ai|thing|program|model) are you|do you have a name|"
    r"who am i (?:talking|speaking|chatting|writing) (?:to|with)|(?:please )?introduce yoursel(?:f|ves)|"
    r"(?:please )?tell (?:me|us) (?:about yoursel(?:f|ves)|(?:something|a bit|more) about yoursel(?:f|ves)|"
    r"who you(?: all)? are)|"
    r"are you (?:a |an )?(?:real |actual )?(?:robot|bot|chat ?bot|human|person|machine|ai|llm|language model|chatgpt|"
    r"real|alive)(?: person| being)?"
)
_HELP = (
    r"help(?: me| us)?|/help|what (?:else )?can (?:you(?: all| guys)?|i) (?:do|help (?:me |us )?with)"
    r"(?: here| for (?:me|us)| with you)?|"
    r"what do you(?: all| guys)? do|how do(?:es)? (?:you|this|this bot|i use you) work|what are you able to do|"
    r"what are you (?:good )?for|what are your (?:commands|features|functions|skills|abilities|capabilities)|"
    r"how do i use (?:you|this|this bot)|commands|how can you help(?: me| us)?|what can i (?:ask|tell)(?: you)?|"
    r"(?:can|could|will|would) you (?:please )?help(?: me| us)?(?: out)?"
)
_WH = r"(?:what|where|when|who|whom|whose|which|why|how|whether|if)"

PATTERNS = Patterns(
    lead=pattern(
        r"(?:(?:hey|hi|hello|good (?:morning|afternoon|evening))(?: (?:all|everyone|everybody|guys|folks|people|team|"
        r"you all|you guys|bot))?[,:;!.][,:;!.\s-]*|"
        r"(?:hey|hi|hello|ok|okay|so|well|oh|oops|btw|by the way|also|and|but|please|yes|no|yeah|fyi|hm+|um+|sorry|"
        r"actually|correction|update|no wait|wait|i mean(?:t)?|just so you know|as of now|now|carina)"
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
    bare=whole(r"(?:my|our) [\w'-]{1,40}(?: [\w'-]{1,40})?"),
    theirs=re.compile(
        r"\b(?!(?:what|it|that|who|where|how|when|there|let|he|she|here)'s)(?P<name>[^\W\d_][\w-]{0,30})'s?\b",
        re.IGNORECASE,
    ),
    mine="my",
    open=anywhere(
        r"\b(?:is|are|was|were|am|be|called|named|has|have|likes?|lives?|that|the|an?|my|our|his|her|their|on|in|at|to|of|"
        r"and|or|with|for|from|by)\W{0,3}$"
    ),
    forget=(
        pattern(
            rf"{_ASKING}(?:forget|delete|erase|remove)"
            r"(?: (?:about|that|what i (?:told|said to) you about|what i said about|what you know about|"
            r"everything about|"
            r"the (?:note|entry|fact|memory|memories) (?:about|that|on)))?\s+(?P<what>(?!it\b|that\b|this\b|to\b).*)$"
        ),
        whole(rf"{_ASKING}(?:forget|delete|erase|remove)(?: something| it| that| this)?(?:,? please)?(?P<what>)"),
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
        r"(?:list|show)(?: me)? (?:your|my|all|everything)(?: (?:that )?(?:your|my|"
        r"you (?:know|remember|stored|saved)))?(?: about me)?(?: (?:memory|memories|notes|facts|entries))?)"
    ),
    talked=pattern(
        r"(?:what (?:all )?(?:did|have|were|was) (?:we|i|you) (?:\w+ )?(?:talk|chat|speak|say|said|discuss|write|"
        r"wrote|tell|told)\w*\b|"
        r"what (?:was|did) (?:\w+ )?(?:said|discussed|say)\b|what happened (?:in (?:this|our) (?:chat|channel|"
        r"conversation) )?|"
        r"summari[sz]e (?:our|the|yesterday|today|last|this))"
    ),
    who=whole(rf"(?:{_WHO})(?:{_MEANT})?(?:,? and (?:{_HELP}))?(?:{_MEANT})?"),
    help=whole(rf"(?:{_HELP})(?:{_MEANT})?"),
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
            r"lol|haha+|hehe+|hm+|oh|ah|i see|got it|never ?mind|right|true|well|indeed|"
            r"i'?a?m? ?(?:am )?(?:fine|good|ok|okay|well|tired|great|happy|sad|bored|back|here))"
            r"(?:[,\s]+(?!forget|delete|erase|remove)\w{1,32}){0,2}"
        ),
    },
    question=pattern(
        r"(?:(?:what|where|when|who|whom|whose|which|why|how|what's|where's|when's|who's|how's|do|does|did|is|are|"
        r"am|was|were|can|could|should|would|will|have|has|isn't|aren't|don't|doesn't)\b(?!\.).{0,3900}\?|"
        r"(?:(?:in|on|at|to|from|for|with|by|about|since|until) )?"
        r"(?:what|where|when|who|whom|whose|which|why|how|what's|where's|who's|when's|how's)\b|"
        r"(?:do|does|did|is|are|am|can|could|should|would|will|have|has) (?:i|we|you|my|our|he|she|it|they|the|"
        r"there)\b|"
        r"(?:tell|remind|show) me (?:about|where|what|when|who|how|which|my|again)\b|"
        r"(?:find|search(?: for)?|look up|look for)\s|any idea\b|remember (?:when|where|what|who|how|which)\b|"
        rf"(?:i wonder|i (?:don't|do not|can't|cannot) (?:know|remember|recall)|i(?:'m| am) not sure|not sure|"
        rf"i(?:'ve| have)? forgot(?:ten)?|no idea|tell me,? please,?)(?: anymore| again)?,? {_WH}\b|"
        r".{0,3900}\?[\s?!.)\"'*_~]{0,12}$)"
    ),
    further=anywhere(r",?\s+and\s+(?=(?:what|where|when|who|whose|which|why|how)\b)"),
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
            r"\d{1,3} years old|\d[\d.,]{0,5} ?(?:cm|m|kg|lbs?|feet|ft|pounds)\b|"
            rf"\d{{1,3}}{END}|(?:a|an) (?:[\w-]{{2,20}} )?(?:{one_of(OCCUPATIONS)}))(?:\b|$)"
        ),
        INTRODUCED,
        pattern(r"(?:my name is|my name's|call me|i go by|you can call me)\s+(?!back|later|when|if|at\b)\S"),
        pattern(
            r"i (?:(?:also|still|now|currently|no longer|don't|do not|have) )?(?:live (?:in|at|on|near|with)|lived in|"
            r"come from|was born|grew up in|moved to|work (?:at|as|for|in|with|from)|study|studied|teach|speak|play|"
            r"collect|grew up|drive an?|own|ride an?)\s"
        ),
        pattern(
            rf"i {_DEGREE}(?:(?:don't|do not|can't|cannot|never) (?:really |actually )?(?:like|love|eat|drink|stand|"
            rf"tolerate|have)|like|love|"
            rf"hate|prefer|"
            rf"dislike|enjoy|adore)\s+(?!{_OBJECTS})\S"
        ),
        pattern(rf"i(?: have|'ve got| have got| don't have) (?:[\w'-]{{1,20}} ){{0,4}}(?:{one_of(_KEPT)})s?\b"),
        pattern(
            r"(?:my|our) (?!(?:day|head|mood|back|bad|point|question|guess|god|turn|week|phone battery|battery|"
            r"computer|"
            rf"internet|life) (?:is|are|was)\b)(?:[\w'-]{{1,40}} ){{1,6}}?(?:{_LASTING})\s+"
            rf"(?!(?:{_MOOD})\b)\S"
        ),
        pattern(r"my [\w-]{2,30}(?: [\w-]{2,30})?'s (?:name|birthday|address|number) is\s"),
        pattern(r"(?-i:[A-Z])[\w-]{1,30} is (?:my|our) [\w-]{2,30}(?: [\w-]{2,30})?[\s.!]{0,5}$"),
    ),
    passing=anywhere(
        r"^\W{0,8}(?:i(?:'m| am)) (?:fine|tired|good|ok|going|here|back|not sure|sorry|glad|happy|afraid)\b|"
        r"\b(?:right now|at the moment|for now|just kidding|if i|only joking|tonight)\b|"
        r"^\W{0,8}i (?:don't|do not) have (?:a |any )?(?:time|idea|clue|money)\b"
    ),
)
