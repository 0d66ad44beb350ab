"""Days as they are said in English."""

from bot.models.offline.language import Calendar, anywhere, one_of, words

MONTHS = "January February March April May June July August September October November December"

CALENDAR = Calendar(
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
        rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{one_of(MONTHS)})\b|"
        rf"\b(?P<month2>{one_of(MONTHS)}) (?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\b"
    ),
    months=tuple(MONTHS.split()),
    written="{day} {month} {year}",
    filler=words(
        "talk talked talking chat chatted speak spoke spoken say said discuss discussed write wrote happen "
        "happened "
        "summarize summarise conversation last week month day night before yesterday morning past previous "
        "channel on "
        "did have were was lately recently far"
    ),
)
