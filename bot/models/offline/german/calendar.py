"""Days as they are said in German."""

from bot.models.offline.language import Calendar, anywhere, one_of, words

MONTHS = "Januar Februar März April Mai Juni Juli August September Oktober November Dezember"

CALENDAR = Calendar(
    days=(
        (anywhere(r"\bvorgestern\b"), "day:-2"),
        (anywhere(r"\bgestern\b"), "day:-1"),
        (anywhere(r"\bheute\b"), "day:0"),
        (anywhere(r"\b(?:letzte|vorige|vergangene)[rn]? woche\b"), "week:-1"),
        (anywhere(r"\bdiese[r]? woche\b"), "week:0"),
        (anywhere(r"\b(?:letzten|vorigen|vergangenen) monat\b"), "month:-1"),
        (anywhere(r"\bdiesen monat\b"), "month:0"),
    ),
    weekdays=tuple(
        rf"\b{day}\b" for day in ("montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag")
    ),
    date=anywhere(rf"\b(?P<day>\d{{1,2}})\.\s?(?P<month>\d{{1,2}}\b|{one_of(MONTHS)})"),
    months=tuple(MONTHS.split()),
    written="{day}. {month} {year}",
    filler=words(
        "worüber wovon worum gesprochen geredet besprochen gesagt geschrieben unterhalten erzählt gequatscht "
        "diskutiert "
        "gestern vorgestern heute letzte letzten vorige vergangene diese woche monat montag dienstag "
        "mittwoch donnerstag "
        "freitag samstag sonntag zuletzt neulich"
    ),
)
