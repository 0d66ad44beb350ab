"""The tables of the three languages."""

from bot.when.table import WhenTable, said

_EN_DAYS = "monday tuesday wednesday thursday friday saturday sunday"
_EN_MONTHS = "january february march april may june july august september october november december"
_EN_SHORT_MONTHS = "jan feb mar apr jun jul aug sept sep oct nov dec"
_EN_WORDS = "one two three four five six seven eight nine ten eleven twelve"
_EN_NUMBERS: dict[str, float] = {
    **dict.fromkeys(("a", "an"), 1),
    **{word: number for number, word in enumerate(_EN_WORDS.split(), 1)},
    "a couple of": 2,
    "fifteen": 15,
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "forty-five": 45,
    "fifty": 50,
    "half a": 0.5,
    "half an": 0.5,
    "a quarter of an": 0.25,
    "three quarters of an": 0.75,
    "other": 2,
    "second": 2,
    "third": 3,
    "one and a half": 1.5,
    "two and a half": 2.5,
}
_DE_DAYS = "montag dienstag mittwoch donnerstag freitag samstag sonntag"
_DE_MONTHS = "januar februar märz april mai juni juli august september oktober november dezember"
_DE_WORDS = "eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf"
_DE_NUMBERS: dict[str, float] = {
    **dict.fromkeys(("ein", "eine", "einer", "einem", "einen"), 1),
    **{word: number for number, word in enumerate(_DE_WORDS.split(), 1)},
    "fünfzehn": 15,
    "zwanzig": 20,
    "dreißig": 30,
    "vierzig": 40,
    **dict.fromkeys(("einer halben", "ner halben"), 0.5),
    "einer viertel": 0.25,
    "ner viertel": 0.25,
    "einer dreiviertel": 0.75,
    "anderthalb": 1.5,
    "eineinhalb": 1.5,
    "zweieinhalb": 2.5,
    "zweiten": 2,
    "zweite": 2,
    "dritten": 3,
    "dritte": 3,
}
_N = r"\d{1,4}(?:[.,]\d)?"


def _either(listed: str) -> str:
    return "|".join(listed.split())


def _worded(numbers: dict[str, float]) -> str:
    """Any of the words for numbers, the longest first."""
    return "|".join(sorted(numbers, key=len, reverse=True))


def _list_of(day: str, joined: str) -> str:
    """One weekday or several, as the group "days"."""
    return rf"(?P<days>{day}(?:(?:{joined}){day}){{0,6}})"


_EN_UNIT = r"(?:seconds?|secs?|minutes?|mins?|m|hours?|hrs?|h|days?|weeks?|months?)"
_EN_SPAN = (
    rf"\bin (?P<n>{_N}|{_worded(_EN_NUMBERS)}) ?(?P<unit>{_EN_UNIT})\b(?P<half> and a half\b)?"
    rf"(?:(?:,? and |,? )(?P<n2>\d{{1,3}}) ?(?P<unit2>{_EN_UNIT})\b)?"
)
_EN_LISTED_DAY = rf"(?:{_either(_EN_DAYS)}|mon|tues?|wed|thurs?|thu|fri|sat|sun)"
_EN_JOINED = r",? and |, ?| ?& ?| "
_EN_NTH = r"(?:(?P<first>first|1st)|(?P<second>second|2nd)|(?P<third>third|3rd)|(?P<fourth>fourth|4th)|(?P<last>last))"
_EN_MONTHLY = r"(?:every|each|the|a) month|monthly"
# "The last friday of the month" alone is one day: it repeats where that is said.
_EN_EACH = r"(?=[^.;]{0,60}?\b(?:every|each|monthly)\b)"
# A day that is over counts where it is said as the time, not in what is to be said then ("ask about yesterday").
_EN_PAST = r"^\W*(?:the day before )?yesterday\b(?!['’]s)|\b(?:the day before )?yesterday (?:at |around )?(?=\d)"
_DE_PAST = r"^\W*(?:vor)?gestern\b|\b(?:vor)?gestern (?:um |gegen )?(?=\d)"
_JA_PAST = r"^\W*(?:一昨日|おととい|昨日|きのう)|(?:一昨日|おととい|昨日|きのう)の?(?=\d|午[前後])"
_EN_MONTH = rf"(?P<month>{_either(_EN_MONTHS)}|(?:{_either(_EN_SHORT_MONTHS)})\b\.?)"
_EN_DATE = rf"\b(?:on )?(?:the )?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_EN_MONTH}(?:,? (?P<year>\d{{4}}))?(?!\w)"
_EN_DATE_TURNED = (
    rf"\b(?:on )?{_EN_MONTH} (?:the )?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,? (?P<year>\d{{4}}))?(?!\w|:\d)"
)
# "On the 5th floor" is no day: it is one only where the sentence ends, or goes on as behind one.
_EN_DATE_ALONE = (
    r"\bon the (?P<day>\d{1,2})(?:st|nd|rd|th)(?= ?(?:[,.;:!?]|$|at\b|to\b|that\b|around\b|about\b|in the\b))"
)
_DE_UNIT = r"(?:sekunden?|sek|minuten?|min|stunden?|std|h|tag(?:en?)?|wochen?|monat(?:en?)?)"
_DE_SPAN = (
    rf"\bin (?P<n>{_N}|{_worded(_DE_NUMBERS)}) ?(?P<unit>{_DE_UNIT})\b"
    rf"(?:(?: und |, ?| )(?P<n2>\d{{1,3}}) ?(?P<unit2>{_DE_UNIT})\b)?"
)
_DE_WEEKDAY = (
    rf"\b(?:(?:am|nächsten?|kommenden?|diesen) )*(?P<weekday>{_either(_DE_DAYS)})"
    r"(?=\b|früh|mittag|abend|nachmittag|nacht)(?P<week> nächster woche\b)?"
)
_DE_JOINED = r",? und |, ?"
_JA_DAY = r"[月火水木金土日]曜日?"
_JA_TIME = (
    r"(?P<ampm>午前|午後|朝の?|夜の?)?(?P<hour>\d{1,2})"
    r"(?:時(?:(?P<minute>\d{1,2})分|(?P<half>半))?|:(?P<minute2>\d\d))"
)

_WEEKDAYS = "FREQ=WEEKLY;BYDAY={days}"
_DAY_OF_MONTH = "FREQ=MONTHLY;BYMONTHDAY={day}"
_INTERVAL = "FREQ={frequency};INTERVAL={n}"

ENGLISH = WhenTable(
    spans=(said(_EN_SPAN),),
    units={
        "sec": "seconds",
        "second": "seconds",
        "m": "minutes",
        "min": "minutes",
        "minute": "minutes",
        "h": "hours",
        "hr": "hours",
        "hour": "hours",
        "day": "days",
        "week": "weeks",
        "month": "months",
        "year": "years",
    },
    numbers=_EN_NUMBERS,
    days=(
        (said(_EN_PAST), -1),
        (said(r"\bthe day after tomorrow\b"), 2),
        (said(r"\b(?:tomorrow|tmrw)\b"), 1),
        (said(r"\b(?:today\b|this (?=morning|afternoon|evening)|(?=tonight\b))"), 0),
    ),
    weekdays=tuple(_EN_DAYS.split()),
    weekday=said(
        rf"\b(?:(?:on|next|this|coming) )*(?P<weekday>{_either(_EN_DAYS)})\b(?!['’]s)(?P<week> (?:of )?next week\b)?"
    ),
    named=said(r"\b(mo|tu|we|th|fr|sa|su)[a-z]*"),
    dates=(said(_EN_DATE), said(_EN_DATE_TURNED), said(_EN_DATE_ALONE)),
    months=tuple(_EN_MONTHS.split()),
    times=(
        said(r"\b(?:at )?(?P<hour>\d{1,2})(?:[:.](?P<minute>\d\d))? ?(?P<ampm>am|pm|a\.m\.|p\.m\.)(?!\w)"),
        said(r"\b(?:at )?(?P<hour>\d{1,2}):(?P<minute>\d\d)\b"),
        said(r"\bat (?P<hour>\d{1,2})(?: ?o'?clock)?\b(?![:.]\d)"),
    ),
    parts=(
        (said(r"\b(?:at )?(?:noon|midday)\b"), 12),
        (said(r"\b(?:at )?midnight\b"), 24),
        (said(r"\b(?:in the )?morning\b"), 9),
        (said(r"\b(?:in the )?afternoon\b"), 15),
        (said(r"\b(?:in the )?evening\b"), 18),
        (said(r"\b(?:at )?(?:night|tonight)\b"), 20),
    ),
    repeats=(
        (
            said(r"\b(?:every|each) (?:weekday|workday|working day)\b|\bon weekdays\b"),
            "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR",
        ),
        (said(r"\b(?:every|each) weekend\b|\b(?:on|at) weekends\b"), "FREQ=WEEKLY;BYDAY=SA,SU"),
        (
            said(
                rf"\b{_EN_EACH}(?:(?:every|each|on the|the) )?{_EN_NTH} (?P<days>{_either(_EN_DAYS)}) "
                rf"of (?:{_EN_MONTHLY})\b"
            ),
            "FREQ=MONTHLY;BYDAY={nth}{days}",
        ),
        (
            said(rf"\b(?:every|each) (?:other|second|2nd) {_list_of(_EN_LISTED_DAY, _EN_JOINED)}\b"),
            "FREQ=WEEKLY;INTERVAL=2;BYDAY={days}",
        ),
        (said(rf"\b(?:every|each|on) {_list_of(rf'(?:{_either(_EN_DAYS)})s', _EN_JOINED)}\b"), _WEEKDAYS),
        (said(rf"\b(?:every|each) {_list_of(_EN_LISTED_DAY, _EN_JOINED)}\b"), _WEEKDAYS),
        (
            said(
                rf"\b{_EN_EACH}(?:(?:every|each) )?(?:on )?(?:the )?(?P<day>\d{{1,2}})(?:st|nd|rd|th)? (?:day )?of "
                rf"(?:{_EN_MONTHLY})\b"
            ),
            _DAY_OF_MONTH,
        ),
        (said(rf"\b(?:{_EN_MONTHLY}) on (?:the )?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b"), _DAY_OF_MONTH),
        (said(r"\b(?:every|each) (?P<day>\d{1,2})(?:st|nd|rd|th)\b"), _DAY_OF_MONTH),
        (
            said(rf"\b(?:every|each) (?P<n>\d{{1,3}}|{_worded(_EN_NUMBERS)}) ?(?P<unit>{_EN_UNIT}|years?)\b"),
            _INTERVAL,
        ),
        (said(r"\b(?:every day|each day|daily|every(?= (?:morning|afternoon|evening|night)))"), "FREQ=DAILY"),
        (said(r"\b(?:every week|each week|weekly)\b"), "FREQ=WEEKLY"),
        (said(r"\b(?:every month|each month|monthly)\b"), "FREQ=MONTHLY"),
        (said(r"\b(?:every year|each year|yearly)\b"), "FREQ=YEARLY"),
        (said(r"\b(?:every hour|each hour|hourly)\b"), "FREQ=HOURLY"),
        (said(r"\b(?:every|each) (?P<unit>minute|second)\b"), "FREQ={frequency}"),
    ),
    filler=said(r"\b(?:at|on|the|by|and|starting|from|around|about|o'?clock|please)\b"),
    afternoon=True,
)

GERMAN = WhenTable(
    spans=(said(_DE_SPAN),),
    units={
        "sek": "seconds",
        "sekunde": "seconds",
        "sekunden": "seconds",
        "min": "minutes",
        "minute": "minutes",
        "minuten": "minutes",
        "h": "hours",
        "std": "hours",
        "stunde": "hours",
        "stunden": "hours",
        "tag": "days",
        "tage": "days",
        "tagen": "days",
        "woche": "weeks",
        "wochen": "weeks",
        "monat": "months",
        "monate": "months",
        "monaten": "months",
        "jahr": "years",
        "jahre": "years",
    },
    numbers=_DE_NUMBERS,
    days=(
        (said(_DE_PAST), -1),
        (said(r"\bübermorgen\b"), 2),
        (said(r"\bmorgen\b(?! um mitternacht)"), 1),
        (said(r"\bheute\b"), 0),
    ),
    weekdays=tuple(_DE_DAYS.split()),
    weekday=said(_DE_WEEKDAY),
    named=said(r"\b(mo|di|mi|do|fr|sa|so)[a-z]*"),
    dates=(
        said(rf"\b(?:am )?(?P<day>\d{{1,2}})\. ?(?P<month>{_either(_DE_MONTHS)})(?: (?P<year>\d{{4}}))?\b"),
        said(r"\b(?:am )?(?P<day>\d{1,2})\. ?(?P<month>\d{1,2})\.(?: ?(?P<year>\d{4}))?"),
    ),
    months=tuple(_DE_MONTHS.split()),
    times=(
        said(r"\b(?:um |gegen )?(?P<half>halb) (?P<hour>\d{1,2})\b"),
        said(r"\b(?:um |gegen )?(?P<hour>\d{1,2})(?:[:.](?P<minute>\d\d))? ?uhr(?: (?P<minute2>\d\d))?\b"),
        said(r"\b(?:um |gegen )?(?P<hour>\d{1,2}):(?P<minute>\d\d)\b"),
        said(r"\b(?:um|gegen) (?P<hour>\d{1,2})\b"),
    ),
    parts=(
        (said(r"\b(?:um )?mitternacht\b"), 24),
        (said(r"nachmittags?\b"), 15),
        (said(r"vormittags?\b"), 10),
        (said(r"\b(?:am )?mittags?\b|(?<=tag)mittags?\b"), 12),
        (said(r"\b(?:in der )?früh(?:morgens)?\b|\bmorgens\b|\bam morgen\b|früh\b"), 9),
        (said(r"\b(?:am )?abends?\b|abends?\b"), 18),
        (said(r"\b(?:in der )?nachts?\b"), 22),
    ),
    repeats=(
        (
            said(r"\b(?:werktags|jeden werktag|an werktagen|unter der woche)\b"),
            "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR",
        ),
        (said(r"\b(?:jedes wochenende|am wochenende)\b"), "FREQ=WEEKLY;BYDAY=SA,SU"),
        (
            said(rf"\bjeden (?:zweiten|2\.) {_list_of(f'(?:{_either(_DE_DAYS)})', _DE_JOINED)}\b"),
            "FREQ=WEEKLY;INTERVAL=2;BYDAY={days}",
        ),
        (said(rf"\bjeden {_list_of(f'(?:{_either(_DE_DAYS)})', _DE_JOINED)}\b"), _WEEKDAYS),
        (said(rf"\b{_list_of(rf'(?:{_either(_DE_DAYS)})s', _DE_JOINED)}\b"), _WEEKDAYS),
        (said(r"\b(?:jeden monat am|monatlich am) (?P<day>\d{1,2})\.?(?!\w)"), _DAY_OF_MONTH),
        (said(r"\b(?:am|jeden) (?P<day>\d{1,2})\. (?:jedes|des|im|jeden) monate?s?\b"), _DAY_OF_MONTH),
        (
            said(rf"\b(?:alle|jeden?s?) (?P<n>\d{{1,3}}|{_worded(_DE_NUMBERS)})\.? ?(?P<unit>{_DE_UNIT}|jahre?)\b"),
            _INTERVAL,
        ),
        (said(r"\b(?:täglich|jeden tag|jeden (?=morgen|abend|mittag|nachmittag))"), "FREQ=DAILY"),
        (said(r"\b(?:wöchentlich|jede woche)\b"), "FREQ=WEEKLY"),
        (said(r"\b(?:monatlich|jeden monat)\b"), "FREQ=MONTHLY"),
        (said(r"\b(?:jährlich|jedes jahr)\b"), "FREQ=YEARLY"),
        (said(r"\b(?:stündlich|jede stunde)\b"), "FREQ=HOURLY"),
        (said(r"\bjede (?P<unit>minute|sekunde)\b"), "FREQ={frequency}"),
    ),
    filler=said(r"\b(?:um|am|ab|den|der|uhr|gegen|bitte|und|im)\b"),
)

_JA_DAYS = "月 火 水 木 金 土 日"
_JA_UNIT = "(?:秒|分|時間|日|週間|か月|ヶ月|カ月|年)"

JAPANESE = WhenTable(
    spans=(
        said(rf"(?P<n>{_N}) ?(?P<unit>時間|日|週間)(?P<half>半)後(?:に)?"),
        said(rf"(?P<n>{_N}) ?(?P<unit>{_JA_UNIT})(?P<n2>\d{{1,3}}) ?(?P<unit2>秒|分|時間)後(?:に)?"),
        said(rf"(?P<n>{_N}) ?(?P<unit>{_JA_UNIT})後(?:に)?"),
    ),
    units={
        "秒": "seconds",
        "分": "minutes",
        "時間": "hours",
        "日": "days",
        "週間": "weeks",
        "か月": "months",
        "ヶ月": "months",
        "カ月": "months",
        "年": "years",
    },
    numbers={},
    days=(
        (said(_JA_PAST), -1),
        (said(r"明後日|あさって"), 2),
        (said(r"明日|あした|あす"), 1),
        (said(r"今日|本日|(?=今夜|今晩)"), 0),
    ),
    weekdays=tuple(_JA_DAYS.split()),
    weekday=said(rf"(?:(?P<week>来週の?)|今週の|次の)?(?P<weekday>{_JA_DAY})"),
    named=said(r"([月火水木金土日])曜"),
    dates=(said(r"(?:(?P<year>\d{4})年)?(?P<month>\d{1,2})月(?P<day>\d{1,2})日"),),
    months=(),
    times=(said(_JA_TIME),),
    parts=(
        (said(r"正午"), 12),
        (said(r"夕方"), 17),
        (said(r"午前中"), 10),
        (said(r"朝"), 9),
        (said(r"昼"), 12),
        (said(r"今夜|今晩|夜"), 20),
    ),
    repeats=(
        (said(r"平日(?:は|に)?"), "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"),
        (said(r"毎週末"), "FREQ=WEEKLY;BYDAY=SA,SU"),
        (said(rf"(?:隔週の?){_list_of(_JA_DAY, '[と、,・]')}"), "FREQ=WEEKLY;INTERVAL=2;BYDAY={days}"),
        (said(rf"毎週の?{_list_of(_JA_DAY, '[と、,・]')}"), _WEEKDAYS),
        (said(r"毎月の?(?P<day>\d{1,2})日"), _DAY_OF_MONTH),
        (said(rf"(?P<n>\d{{1,3}}) ?(?P<unit>{_JA_UNIT})(?:ごと|おき|毎)に?"), _INTERVAL),
        (said(r"毎日|毎(?=朝|晩)"), "FREQ=DAILY"),
        (said(r"毎週"), "FREQ=WEEKLY"),
        (said(r"毎月"), "FREQ=MONTHLY"),
        (said(r"毎年"), "FREQ=YEARLY"),
        (said(r"毎時"), "FREQ=HOURLY"),
    ),
    filler=said(r"[のにはへ、,]|から|ごろ|頃"),
)

TABLES = (ENGLISH, GERMAN, JAPANESE)
