"""The tables of the three languages."""

from bot.when.table import WhenTable, said

_EN_DAYS = "monday tuesday wednesday thursday friday saturday sunday"
_EN_MONTHS = "january february march april may june july august september october november december"
_EN_NUMBERS = {
    "a": 1,
    "an": 1,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "ten": 10,
    "half an": 0.5,
}
_DE_DAYS = "montag dienstag mittwoch donnerstag freitag samstag sonntag"
_DE_MONTHS = "januar februar märz april mai juni juli august september oktober november dezember"
_DE_NUMBERS = {
    **dict.fromkeys(("ein", "eine", "einer", "einem", "einen"), 1),
    "zwei": 2,
    "drei": 3,
    "vier": 4,
    "fünf": 5,
    "sechs": 6,
    "zehn": 10,
    **dict.fromkeys(("einer halben", "ner halben"), 0.5),
}
_N = r"\d{1,4}(?:[.,]\d)?"


def _either(listed: str) -> str:
    return "|".join(listed.split())


_EN_SPAN = (
    rf"\bin (?P<n>{_N}|half an|{_either('an a one two three four five six ten')}) ?"
    r"(?P<unit>seconds?|secs?|minutes?|mins?|m|hours?|hrs?|h|days?|weeks?|months?)\b"
)
# A day that is over counts where it is said as the time, not in what is to be said then ("ask about yesterday").
_EN_PAST = r"^\W*(?:the day before )?yesterday\b(?!['’]s)|\b(?:the day before )?yesterday (?:at |around )?(?=\d)"
_DE_PAST = r"^\W*(?:vor)?gestern\b|\b(?:vor)?gestern (?:um |gegen )?(?=\d)"
_JA_PAST = r"^\W*(?:一昨日|おととい|昨日|きのう)|(?:一昨日|おととい|昨日|きのう)の?(?=\d|午[前後])"
_EN_DATE = (
    rf"\b(?:on )?(?:the )?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{_either(_EN_MONTHS)})"
    r"(?:,? (?P<year>\d{4}))?\b"
)
_EN_DATE_TURNED = (
    rf"\b(?:on )?(?P<month>{_either(_EN_MONTHS)}) (?:the )?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?"
    r"(?:,? (?P<year>\d{4}))?\b"
)
_DE_SPAN = (
    rf"\bin (?P<n>{_N}|einer halben|ner halben|"
    rf"{_either('eine einer einem einen ein zwei drei vier fünf sechs zehn')}) ?"
    r"(?P<unit>sekunden?|sek|minuten?|min|stunden?|std|h|tag(?:en?)?|wochen?|monat(?:en?)?)\b"
)
_DE_WEEKDAY = (
    rf"\b(?:(?:am|nächsten?|kommenden?|diesen) )*(?P<weekday>{_either(_DE_DAYS)})"
    r"(?=\b|früh|mittag|abend|nachmittag|nacht)"
)
_JA_TIME = (
    r"(?P<ampm>午前|午後|朝の?|夜の?)?(?P<hour>\d{1,2})"
    r"(?:時(?:(?P<minute>\d{1,2})分|(?P<half>半))?|:(?P<minute2>\d\d))"
)

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
    },
    numbers=_EN_NUMBERS,
    days=(
        (said(_EN_PAST), -1),
        (said(r"\bthe day after tomorrow\b"), 2),
        (said(r"\b(?:tomorrow|tmrw)\b"), 1),
        (said(r"\b(?:today\b|this (?=morning|afternoon|evening)|(?=tonight\b))"), 0),
    ),
    weekdays=tuple(_EN_DAYS.split()),
    weekday=said(rf"\b(?:(?:on|next|this|coming) )*(?P<weekday>{_either(_EN_DAYS)})\b"),
    dates=(said(_EN_DATE), said(_EN_DATE_TURNED)),
    months=tuple(_EN_MONTHS.split()),
    times=(
        said(r"\b(?:at )?(?P<hour>\d{1,2})(?::(?P<minute>\d\d))? ?(?P<ampm>am|pm|a\.m\.|p\.m\.)(?!\w)"),
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
        (said(r"\b(?:every|each) (?:weekday|workday|working day)\b|\bon weekdays\b"), "WEEKDAYS"),
        (said(rf"\b(?:every|each) (?P<weekday>{_either(_EN_DAYS)})\b"), "BYDAY"),
        (said(r"\b(?:every day|each day|daily|every(?= (?:morning|afternoon|evening|night)))"), "DAILY"),
        (said(r"\b(?:every week|each week|weekly)\b"), "WEEKLY"),
        (said(r"\b(?:every month|each month|monthly)\b"), "MONTHLY"),
        (said(r"\b(?:every year|each year|yearly)\b"), "YEARLY"),
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
        (said(r"\b(?:werktags|jeden werktag|an werktagen|unter der woche)\b"), "WEEKDAYS"),
        (said(rf"\bjeden (?P<weekday>{_either(_DE_DAYS)})\b|\b(?P<weekday2>{_either(_DE_DAYS)})s\b"), "BYDAY"),
        (said(r"\b(?:täglich|jeden tag|jeden (?=morgen|abend|mittag|nachmittag))"), "DAILY"),
        (said(r"\b(?:wöchentlich|jede woche)\b"), "WEEKLY"),
        (said(r"\b(?:monatlich|jeden monat)\b"), "MONTHLY"),
        (said(r"\b(?:jährlich|jedes jahr)\b"), "YEARLY"),
    ),
    filler=said(r"\b(?:um|am|ab|den|der|uhr|gegen|bitte|und|im)\b"),
)

_JA_DAYS = "月 火 水 木 金 土 日"

JAPANESE = WhenTable(
    spans=(said(rf"(?P<n>{_N}) ?(?P<unit>秒|分|時間|日|週間|か月|ヶ月|カ月)後(?:に)?"),),
    units={
        "秒": "seconds",
        "分": "minutes",
        "時間": "hours",
        "日": "days",
        "週間": "weeks",
        "か月": "months",
        "ヶ月": "months",
        "カ月": "months",
    },
    numbers={},
    days=(
        (said(_JA_PAST), -1),
        (said(r"明後日|あさって"), 2),
        (said(r"明日|あした|あす"), 1),
        (said(r"今日|本日|(?=今夜|今晩)"), 0),
    ),
    weekdays=tuple(_JA_DAYS.split()),
    weekday=said(rf"(?:来週の|今週の|次の)?(?P<weekday>{_either(_JA_DAYS)})曜日?"),
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
        (said(r"平日(?:は|に)?"), "WEEKDAYS"),
        (said(rf"毎週(?P<weekday>{_either(_JA_DAYS)})曜日?"), "BYDAY"),
        (said(r"毎日|毎(?=朝|晩)"), "DAILY"),
        (said(r"毎週"), "WEEKLY"),
        (said(r"毎月"), "MONTHLY"),
        (said(r"毎年"), "YEARLY"),
    ),
    filler=said(r"[のにはへ、,]|から|ごろ|頃"),
)

TABLES = (ENGLISH, GERMAN, JAPANESE)
