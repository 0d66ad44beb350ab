"""Times as people say them, on their clocks."""

import re
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from memory.store.errors import Refused
from scheduler.dates import find_when, read_when, shown
from scheduler.descriptions import clock_words, crontab_words, moment_words, rule_words
from scheduler.triggers import CronTrigger, DateTrigger, RecurrenceTrigger, Trigger, next_run, words
from texts import DAY_END, reading, speaking

NOW = datetime(2026, 3, 2, 13, 0, tzinfo=UTC)  # a Monday, 14:00 in Vienna
VIENNA = "Europe/Vienna"


def first(text: str) -> str:
    moment = next_run(read_when(text, NOW, VIENNA), NOW)
    assert moment is not None
    return f"{moment:%Y-%m-%d %H:%M}"


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("in 20 minutes", "2026-03-02 13:20"),
        ("1h30m", "2026-03-02 14:30"),
        ("next week", "2026-03-09 08:00"),
        ("in a fortnight", "2026-03-16 08:00"),
        ("12/24 at 6pm", "2026-12-24 17:00"),
        ("24/12 at 6pm", "2026-12-24 17:00"),
        ("first of january at 10", "2027-01-01 09:00"),
        ("end of the month", "2026-03-31 07:00"),
        ("nächste Woche", "2026-03-09 08:00"),
        ("am Monatsende um 10", "2026-03-31 08:00"),
        ("来週の10時", "2026-03-09 09:00"),
        ("月末の10時", "2026-03-31 08:00"),
        ("in an hour", "2026-03-02 14:00"),
        ("in 90 seconds", "2026-03-02 13:01"),
        ("in 90 Sekunden", "2026-03-02 13:01"),
        ("90秒後", "2026-03-02 13:01"),
        ("in half an hour", "2026-03-02 13:30"),
        ("in 1.5 hours", "2026-03-02 14:30"),
        ("in 2 days", "2026-03-04 13:00"),
        ("in 2 days at 9", "2026-03-04 08:00"),
        ("tomorrow at half past seven", "2026-03-03 06:30"),
        ("tomorrow at quarter past 7", "2026-03-03 06:15"),
        ("tomorrow at quarter to one am", "2026-03-02 23:45"),
        ("tomorrow at seven", "2026-03-03 06:00"),
        ("morgen um acht", "2026-03-03 07:00"),
        ("morgen um halb acht", "2026-03-03 06:30"),
        ("morgen um Viertel vor acht", "2026-03-03 06:45"),
        ("in 4 weeks", "2026-03-30 12:00"),  # on clocks, which were moved meanwhile
        ("in a month", "2026-04-02 12:00"),
        ("tomorrow at 9", "2026-03-03 08:00"),
        ("tomorrow at 3", "2026-03-03 14:00"),
        ("tomorrow", "2026-03-03 08:00"),
        ("at 5", "2026-03-02 16:00"),
        ("at 17:30", "2026-03-02 16:30"),
        ("at 8am", "2026-03-03 07:00"),
        ("tonight", "2026-03-02 19:00"),
        ("this evening at 7", "2026-03-02 18:00"),
        ("tomorrow morning", "2026-03-03 08:00"),
        ("on friday at 6 pm", "2026-03-06 17:00"),
        ("next monday at noon", "2026-03-09 11:00"),
        ("on march 5th at 10:15", "2026-03-05 09:15"),
        ("1 january at 12 am", "2026-12-31 23:00"),
        ("2026-12-31 18:00", "2026-12-31 17:00"),
        ("2026-12-31T18:00:00Z", "2026-12-31 18:00"),
        ("every monday at 8", "2026-03-09 07:00"),
        ("every day at 20:00", "2026-03-02 19:00"),
        ("every weekday at 8:30", "2026-03-03 07:30"),
        ("in 20 Minuten", "2026-03-02 13:20"),
        ("in einer halben Stunde", "2026-03-02 13:30"),
        ("morgen um 9", "2026-03-03 08:00"),
        ("morgen früh", "2026-03-03 08:00"),
        ("übermorgen um halb zehn".replace("zehn", "10"), "2026-03-04 08:30"),
        ("heute Abend um 8", "2026-03-02 19:00"),
        ("am Freitag um 18 Uhr 30", "2026-03-06 17:30"),
        ("am 5. März um 10:15", "2026-03-05 09:15"),
        ("am 24.12. um 15 Uhr", "2026-12-24 14:00"),
        ("jeden Tag um 20 Uhr", "2026-03-02 19:00"),
        ("jeden Montag um 8", "2026-03-09 07:00"),
        ("werktags um 8:30", "2026-03-03 07:30"),
        ("20分後", "2026-03-02 13:20"),
        ("明日の9時に", "2026-03-03 08:00"),
        ("明日の午後3時", "2026-03-03 14:00"),
        ("毎週月曜日の8時", "2026-03-09 07:00"),
        ("3月5日の10時半", "2026-03-05 09:30"),
        ("2時間後に", "2026-03-02 15:00"),
        ("in an hour and a half", "2026-03-02 14:30"),
        ("in 2 hours and 30 minutes", "2026-03-02 15:30"),
        ("in fifteen minutes", "2026-03-02 13:15"),
        ("in a couple of hours", "2026-03-02 15:00"),
        ("in a quarter of an hour", "2026-03-02 13:15"),
        ("in a month and a half", "2026-04-17 12:00"),
        ("20 min", "2026-03-02 13:20"),
        ("in anderthalb Stunden", "2026-03-02 14:30"),
        ("in einer Stunde und 10 Minuten", "2026-03-02 14:10"),
        ("in einer Viertelstunde", "2026-03-02 13:15"),
        ("1時間30分後", "2026-03-02 14:30"),
        ("1時間半後", "2026-03-02 14:30"),
        ("5.30pm", "2026-03-02 16:30"),
        ("dec 24th at 6pm", "2026-12-24 17:00"),
        ("on the 5th at 10", "2026-03-05 09:00"),
        ("on the 31st at 10", "2026-03-31 08:00"),
        ("29 february at 10", "2028-02-29 09:00"),
        ("friday next week at 9", "2026-03-13 08:00"),
        ("来週の火曜日の9時", "2026-03-10 08:00"),
        ("Freitag nächster Woche um 9", "2026-03-13 08:00"),
    ],
)
def test_a_time_is_read_on_the_persons_clocks(text: str, utc: str) -> None:
    assert first(text) == utc


@pytest.mark.parametrize(
    ("text", "said", "meant"),
    [
        ("at 5", "20:00", "3 17:00"),
        ("at 5", "14:00", "2 17:00"),
        ("at 5", "03:00", "2 17:00"),
        ("at 5:30", "20:00", "3 17:30"),
        ("at 05:00", "20:00", "3 05:00"),
        ("at 17:00", "20:00", "3 17:00"),
        ("at 5am", "20:00", "3 05:00"),
        ("at 5 in the morning", "20:00", "3 05:00"),
        ("at 3 at night", "20:00", "3 03:00"),
        ("tonight at 11", "20:00", "2 23:00"),
        ("tonight at 3", "20:00", "3 03:00"),
        ("tonight at midnight", "20:00", "3 00:00"),
        ("at 9", "14:00", "2 21:00"),
        ("today at 9", "14:00", "2 21:00"),
        ("at 9", "21:30", "3 09:00"),
        ("at 11", "14:00", "3 11:00"),
        ("at 12", "14:00", "3 12:00"),
        ("tomorrow at 6", "14:00", "3 18:00"),
        ("tomorrow at 6 to get up", "14:00", "3 06:00"),
        ("wake me up tomorrow at 6", "14:00", "3 06:00"),
        ("wake me up tomorrow at 6pm", "14:00", "3 18:00"),
        ("wake me at 8", "14:00", "3 08:00"),
        ("wake me every day at 6", "14:00", "3 06:00"),
        ("every day at 6", "14:00", "2 18:00"),
        ("um 5", "20:00", "3 17:00"),
        ("um 5 Uhr", "20:00", "3 17:00"),
        ("um halb sechs", "20:00", "3 17:30"),
        ("um halb eins", "20:00", "3 12:30"),
        ("um 05:00", "20:00", "3 05:00"),
        ("um 17 Uhr", "20:00", "3 17:00"),
        ("nachts um 3", "20:00", "3 03:00"),
        ("mittags um 11", "20:00", "3 11:00"),
        ("mittags um 1", "20:00", "3 13:00"),
        ("morgen um 6", "14:00", "3 18:00"),
        ("morgen früh um 6", "14:00", "3 06:00"),
        ("weck mich morgen um 6", "14:00", "3 06:00"),
        ("Wecker morgen um 6", "14:00", "3 06:00"),
        ("morgen um 6 aufstehen", "14:00", "3 06:00"),
        ("5時", "20:00", "3 17:00"),
        ("05:00", "20:00", "3 05:00"),
        ("17時", "20:00", "3 17:00"),
        ("明日の6時", "14:00", "3 18:00"),
        ("明日の朝6時", "14:00", "3 06:00"),
        ("明日の午前6時", "14:00", "3 06:00"),
        ("夜の2時", "14:00", "3 02:00"),
        ("今夜9時", "14:00", "2 21:00"),
        ("明日6時に起こして", "14:00", "3 06:00"),
        ("明日の6時にアラーム", "14:00", "3 06:00"),
        ("at 11", "22:30", "2 23:00"),
        ("at 11", "20:30", "3 11:00"),
        ("at 12", "23:30", "3 00:00"),
        ("at 1", "23:30", "3 01:00"),
        ("at 11:30", "22:30", "2 23:30"),
        ("at 6", "05:30", "2 06:00"),
        ("wake me at 2", "13:00", "2 14:00"),
        ("tomorrow at 11", "22:30", "3 11:00"),
        ("today at 11", "14:00", "2 23:00"),
        ("um 11", "22:30", "2 23:00"),
        ("um halb zwölf", "22:30", "2 23:30"),
        ("11時", "22:30", "2 23:00"),
        ("tonight at 1", "00:30", "2 01:00"),
        ("at 10 past 5", "14:00", "2 17:10"),
        ("at ten to six", "14:00", "2 17:50"),
        ("at twenty past 7 am", "14:00", "3 07:20"),
        ("um zehn nach fünf", "14:00", "2 17:10"),
        ("um 5 vor halb 6", "14:00", "2 17:25"),
        ("um fünf nach halb zehn abends", "14:00", "2 21:35"),
        ("um zehn vor zwölf", "10:00", "2 11:50"),
        ("um dreiviertel sechs", "14:00", "2 17:45"),
        ("um viertel sechs", "14:00", "2 17:15"),
        ("5時10分前", "14:00", "2 16:50"),
        ("jeden Morgen um 6", "14:00", "3 06:00"),
        ("um 6 am Morgen", "14:00", "3 06:00"),
        ("heute Morgen um 11", "10:00", "2 11:00"),
        ("Freitagmorgen um 6", "14:00", "6 06:00"),
        ("Sonntag Morgen um 8", "14:00", "8 08:00"),
        ("Freitagvormittag um 10", "14:00", "6 10:00"),
        ("jeden Montagabend um 7", "14:00", "2 19:00"),
        ("jede Nacht um 11", "14:00", "2 23:00"),
        ("morgen um 6 einen Wecker zu kaufen", "14:00", "3 18:00"),
        ("毎晩9時", "14:00", "2 21:00"),
        ("毎朝6時", "14:00", "3 06:00"),
        ("深夜1時", "14:00", "3 01:00"),
        ("真夜中", "14:00", "3 00:00"),
        ("お昼の12時半", "14:00", "3 12:30"),
        ("dinner with mum tomorrow at 7", "14:00", "3 19:00"),
        ("dinner tomorrow at 7 am", "14:00", "3 07:00"),
        ("dinner at 12", "10:00", "2 12:00"),
        ("movie night tomorrow from 7", "14:00", "3 19:00"),
        ("tomorrow from 7", "14:00", "3 07:00"),
        ("Filmabend morgen ab 8", "14:00", "3 20:00"),
        ("club night tomorrow at 10", "14:00", "3 22:00"),
        ("Spieleabend morgen um 11", "14:00", "3 23:00"),
        ("dinner tomorrow at 10", "14:00", "3 10:00"),
        ("in the night", "14:00", "2 20:00"),
        ("am Sonnabend um 9", "14:00", "7 09:00"),
        ("Sonnabendabend um 9", "14:00", "7 21:00"),
        ("drinks tomorrow at 6", "14:00", "3 18:00"),
        ("plan dinner tomorrow at 8", "14:00", "3 08:00"),
        ("breakfast with mum tomorrow at 6", "14:00", "3 06:00"),
        ("Abendessen morgen um 7", "14:00", "3 19:00"),
        ("夕食 明日7時", "14:00", "3 19:00"),
        ("at 5 past 9 to stand up", "14:00", "2 21:05"),
        ("at 5 to 9 to leave", "14:00", "2 20:55"),
        ("ten past nine", "14:00", "2 21:10"),
        ("ten to nine", "14:00", "2 20:50"),
        ("5 minutes before 9", "14:00", "2 20:55"),
        ("at 5 after 9", "14:00", "2 21:05"),
        ("tomorrow at nine thirty", "14:00", "3 09:30"),
        ("tomorrow at 9 15 to leave", "14:00", "3 09:15"),
        ("9.30", "14:00", "2 21:30"),
        ("tomorrow 9.30 to eat", "14:00", "3 09:30"),
        ("um 9.30", "14:00", "2 21:30"),
        ("morgen 9.30 an den Arzt", "14:00", "3 09:30"),
        ("at 9h30", "14:00", "2 21:30"),
        ("in 1h30 to eat", "14:00", "2 15:30"),
        ("in 1h30 an die Wäsche", "14:00", "2 15:30"),
        ("around 5", "14:00", "2 17:00"),
        ("by 5", "14:00", "2 17:00"),
        ("tomorrow at around 5", "14:00", "3 17:00"),
        ("tomorrow about 5", "14:00", "3 17:00"),
        ("at 5ish", "14:00", "2 17:00"),
        ("at 5 or so", "14:00", "2 17:00"),
        ("um 5 vor halb 9 an den Bus", "14:00", "2 20:25"),
        ("drei viertel acht", "14:00", "2 19:45"),
        ("zehn nach neun", "14:00", "2 21:10"),
        ("um 5 Minuten vor 9", "14:00", "2 20:55"),
        ("半時間後", "14:00", "2 14:30"),
        ("九時半", "14:00", "2 21:30"),
        ("十二時間後", "14:00", "3 02:00"),
        ("9時5分過ぎ", "14:00", "2 21:05"),
        ("13日の9時", "14:00", "13 09:00"),
        ("tomorrow night at 2", "14:00", "4 02:00"),
        ("tomorrow at 2 at night", "14:00", "3 02:00"),
        ("Friday night at 1", "14:00", "7 01:00"),
        ("Friday night at 11", "14:00", "6 23:00"),
        ("Freitagnacht um 1", "14:00", "7 01:00"),
        ("Freitag um 1 Uhr nachts", "14:00", "6 01:00"),
        ("明日の夜1時", "14:00", "4 01:00"),
        ("tomorrow morning at 12", "14:00", "3 12:00"),
        ("tomorrow at 12 am", "14:00", "3 00:00"),
        ("this evening at 12", "14:00", "3 00:00"),
        ("heute Abend um 12", "14:00", "3 00:00"),
        ("tonight", "20:10", "2 21:00"),
        ("tonight", "20:40", "2 22:00"),
        ("this evening", "20:10", "2 21:00"),
        ("heute Abend", "20:10", "2 21:00"),
        ("今夜", "20:10", "2 21:00"),
        ("on Friday the 13th", "14:00", "13 09:00"),
        ("am Freitag, den 13.", "14:00", "13 09:00"),
        ("13日の金曜日", "14:00", "13 09:00"),
        ("on Thursday the 5th at 10", "14:00", "5 10:00"),
        ("3月13日(金)10時", "14:00", "13 10:00"),
        ("bis 18 Uhr", "14:00", "2 18:00"),
        ("at a quarter to 9", "14:00", "2 20:45"),
        ("Friday, March 13 at 10", "14:00", "13 10:00"),
    ],
)
def test_an_hour_alone_is_in_waking_hours_and_waking_is_in_the_morning(text: str, said: str, meant: str) -> None:
    now = datetime.combine(NOW.date(), time.fromisoformat(said), tzinfo=ZoneInfo(VIENNA))
    found = find_when(text, now, VIENNA)
    assert found is not None
    moment = next_run(found.trigger, now)
    assert moment is not None
    assert f"{moment.astimezone(ZoneInfo(VIENNA)):%-d %H:%M}" == meant


@pytest.mark.parametrize(
    "text",
    ["tonight", "this evening", "heute Abend", "tonight at 9", "heute Nacht um 11", "heute Abend um 8", "今夜9時"],
)
def test_a_night_that_is_over_is_not_taken_for_the_next_one(text: str) -> None:
    with pytest.raises(Refused, match="past"):
        read_when(text, datetime(2026, 3, 2, 23, 30, tzinfo=ZoneInfo(VIENNA)), VIENNA)


@pytest.mark.parametrize(
    "text", ["jeden Morgen um 6", "jeden Freitagmorgen um 6", "jeden Montagabend um 7", "jede Nacht", "毎晩9時"]
)
def test_a_part_of_the_day_that_repeats_stays_a_rule(text: str) -> None:
    assert isinstance(read_when(text, NOW, VIENNA), RecurrenceTrigger)


@pytest.mark.parametrize("about", ["wake up", "Alarm", "aufstehen", "起きる"])
def test_what_happens_then_may_say_that_it_is_in_the_morning(about: str) -> None:
    for when in ("tomorrow at 6", "morgen um 6", "明日の6時"):
        trigger = read_when(when, NOW, VIENNA, about)
        assert trigger == DateTrigger(datetime(2026, 3, 3, 5, tzinfo=UTC))
        assert read_when(when, NOW, VIENNA, "call mom") == DateTrigger(datetime(2026, 3, 3, 17, tzinfo=UTC))


def test_an_event_that_is_a_dinner_is_in_the_evening() -> None:
    assert read_when("tomorrow at 7", NOW, VIENNA, "dinner with mum") == DateTrigger(
        datetime(2026, 3, 3, 18, tzinfo=UTC)
    )
    assert read_when("tomorrow at 7", NOW, VIENNA, "plan a dinner") == DateTrigger(datetime(2026, 3, 3, 6, tzinfo=UTC))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("soon", "I do not understand the time"),
        ("when mum comes at 9", "I do not understand the time"),
        ("2026-02-31 10:00", "does not exist"),
        ("on february 30 at 9", "There is no 30 february"),
        ("at 25:00", "The time 25:00 does not exist"),
        ("2020-01-01 10:00", "past"),
        ("yesterday at 9", "past"),
        ("gestern um 9", "past"),
        ("昨日の午後3時", "past"),
        ("friday or saturday at 9", "more than one time"),
        ("tomorrow at 9 and friday at 10", "more than one time"),
        ("at 9 and at 17:00", "more than one time"),
        ("freitag oder samstag um 9", "more than one time"),
        ("every 15 minutes", "more often than every hour"),
        ("FREQ=MINUTELY", "a recurrence rule needs FREQ"),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=31", "never happens"),
        ("every 31 february", "There is no 31 february"),
        ("the last friday of the month", "I do not understand the time"),
        ("", "do not understand"),
        ("tomorrow from 7 to 9", "time “tomorrow from 7 to 9”"),
        ("at 9 tomorrow 30", "time “at 9 tomorrow 30”"),
        ("on Tuesday the 13th of March", "time “on Tuesday the 13th of March”"),
        ("in 2 hours 30 to eat", "time “in 2 hours 30”"),
        ("tomorrow before 9", "time “tomorrow before 9”"),
        ("tomorrow the 5th", "time “tomorrow the 5th”"),
        ("morgen den 5. an den Arzt", "time “morgen den 5”"),
        ("um 9 30 an den Bus", "time “um 9 30”"),
        ("morgen von 7 bis 9", "time “morgen von 7 bis 9”"),
        ("明日9時に30分", "I do not understand the time"),
        ("at 9 to 12", "time “at 9 to 12”"),
        ("明日9時から10時まで", "I do not understand the time"),
        ("明日の30分", "I do not understand the time"),
    ],
)
def test_what_is_no_time_is_refused_in_words(text: str, why: str) -> None:
    with pytest.raises(Refused, match=why):
        read_when(text, NOW, VIENNA)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("in 20 minutes to call mum", "to call mum"),
        ("to call mum in 20 minutes", "to call mum"),
        ("tomorrow at 9 to water the 3 plants", "to water the 3 plants"),
        ("morgen um 9 an den Zahnarzt", "an den Zahnarzt"),
        ("morgen um acht an den Müll", "an den Müll"),
        ("tomorrow at seven to call mom", "to call mom"),
        ("tomorrow to look at one of the boats", "to look at one of the boats"),
        ("in 20 Minuten daran, die Wäsche aufzuhängen", "daran, die Wäsche aufzuhängen"),
        ("tomorrow at 9 to ask about friday", "to ask about friday"),
        ("tomorrow at 9 to prepare friday's talk", "to prepare friday's talk"),
        ("in an hour and a half to call mum", "to call mum"),
        ("to pay rent on the 1st of every month", "to pay rent"),
        ("every monday and wednesday at 9 to stretch", "to stretch"),
        ("every 2 hours to drink water", "to drink water"),
        ("tomorrow to sweep on the 5th floor", "to sweep on the 5th floor"),
        ("tomorrow to", ""),
        ("morgen daran", ""),
        ("by Friday to pay", "to pay"),
        ("tomorrow about 5 things", "about 5 things"),
        ("tomorrow to count from five to ten", "to count from five to ten"),
        ("tomorrow: 3 eggs", ": 3 eggs"),
        ("tomorrow to invite ten to twelve people", "to invite ten to twelve people"),
        ("明日3個買う", "3個買う"),
        ("明日9時に一時停止", "に一時停止"),
    ],
)
def test_a_time_is_found_among_other_words(text: str, rest: str) -> None:
    found = find_when(text, NOW, VIENNA)
    assert found is not None
    assert " ".join(found.rest.split()) == rest


@pytest.mark.parametrize(
    ("text", "rule", "utc"),
    [
        ("every day at 9", "FREQ=DAILY", "2026-03-03 08:00"),  # not 21:00 because it is 14:00 now
        ("jeden Tag um 8", "FREQ=DAILY", "2026-03-03 07:00"),
        ("every monday and wednesday at 9", "FREQ=WEEKLY;BYDAY=MO,WE", "2026-03-04 08:00"),
        ("every mon, wed and fri at 7:30", "FREQ=WEEKLY;BYDAY=MO,WE,FR", "2026-03-04 06:30"),
        ("on tuesdays and thursdays at 6pm", "FREQ=WEEKLY;BYDAY=TU,TH", "2026-03-03 17:00"),
        ("every weekend at 11", "FREQ=WEEKLY;BYDAY=SA,SU", "2026-03-07 10:00"),
        ("every other friday at 18:00", "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR", "2026-03-06 17:00"),
        ("every other day at 10", "FREQ=DAILY;INTERVAL=2", "2026-03-03 09:00"),
        ("every 2 hours", "FREQ=HOURLY;INTERVAL=2", "2026-03-02 15:00"),
        ("hourly", "FREQ=HOURLY", "2026-03-02 14:00"),
        ("every 2 weeks on friday at 9", "FREQ=WEEKLY;INTERVAL=2", "2026-03-06 08:00"),
        ("on the 1st of every month at 10", "FREQ=MONTHLY;BYMONTHDAY=1", "2026-04-01 08:00"),
        ("on the first of every month at 10", "FREQ=MONTHLY;BYMONTHDAY=1", "2026-04-01 08:00"),
        ("every month on the 15th at 10", "FREQ=MONTHLY;BYMONTHDAY=15", "2026-03-15 09:00"),
        ("the last friday of every month at 16:00", "FREQ=MONTHLY;BYDAY=-1FR", "2026-03-27 15:00"),
        ("every year on 29 february at 10", "FREQ=YEARLY", "2028-02-29 09:00"),
        ("jeden Montag und Mittwoch um 9", "FREQ=WEEKLY;BYDAY=MO,WE", "2026-03-04 08:00"),
        ("montags und freitags um 8", "FREQ=WEEKLY;BYDAY=MO,FR", "2026-03-06 07:00"),
        ("alle zwei Wochen am Freitag um 9", "FREQ=WEEKLY;INTERVAL=2", "2026-03-06 08:00"),
        ("am 1. jedes Monats um 10 Uhr", "FREQ=MONTHLY;BYMONTHDAY=1", "2026-04-01 08:00"),
        ("毎週月曜日と水曜日の9時", "FREQ=WEEKLY;BYDAY=MO,WE", "2026-03-04 08:00"),
        ("毎月1日の9時", "FREQ=MONTHLY;BYMONTHDAY=1", "2026-04-01 07:00"),
        ("2時間ごとに", "FREQ=HOURLY;INTERVAL=2", "2026-03-02 15:00"),
        ("FREQ=MONTHLY;BYDAY=-1FR at 17:00", "FREQ=MONTHLY;BYDAY=-1FR", "2026-03-27 16:00"),
        (
            "rrule:freq=weekly;interval=2;byday=tu 2026-03-10 08:00",
            "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU",
            "2026-03-10 07:00",
        ),
    ],
)
def test_what_repeats_does_so_as_it_was_said(text: str, rule: str, utc: str) -> None:
    trigger = read_when(text, NOW, VIENNA)
    assert isinstance(trigger, RecurrenceTrigger)
    assert trigger.rule == rule
    assert first(text) == utc


def test_what_was_understood_is_said_back() -> None:
    assert shown(read_when("tomorrow at 9", NOW, VIENNA), NOW, VIENNA) == "Tue, Mar 3, 2026, 9:00 AM (Europe/Vienna)"
    weekly = read_when("jeden Montag um 8", NOW, VIENNA)
    assert isinstance(weekly, RecurrenceTrigger)
    assert shown(weekly, NOW, VIENNA) == "Mon, Mar 9, 2026, 8:00 AM (Europe/Vienna, every Monday)"
    with speaking("de"):
        assert shown(weekly, NOW, VIENNA) == "Mo., 9.3.2026, 08:00 (Europe/Vienna, jeden Montag)"


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("FREQ=DAILY", "every day"),
        ("FREQ=DAILY;INTERVAL=3", "every 3 days"),
        ("FREQ=WEEKLY;BYDAY=MO", "every Monday"),
        ("freq=weekly;byday=mo,th,su", "every Monday, Thursday and Sunday"),
        ("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", "every weekday"),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=FR", "every 2 weeks on Friday"),
        ("FREQ=MONTHLY;BYDAY=-1FR", "every month on the last Friday"),
        ("FREQ=MONTHLY;BYDAY=+1MO;COUNT=5", "every month on the first Monday, 5 times"),
        ("FREQ=MONTHLY;BYMONTHDAY=15,-1", "every month on day 15 and the last day"),
        ("FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=24", "every year on day 24 in December"),
        ("FREQ=DAILY;UNTIL=20261231T230000Z", "every day, until Dec 31, 2026"),
        ("FREQ=DAILY;BYHOUR=8;BYMINUTE=30", "every day"),
        ("FREQ=DAILY;BYHOUR=8,20", "FREQ=DAILY;BYHOUR=8,20"),
        ("FREQ=MONTHLY;BYDAY=MO;BYSETPOS=1", "FREQ=MONTHLY;BYDAY=MO;BYSETPOS=1"),
        ("FREQ=YEARLY;BYWEEKNO=20", "FREQ=YEARLY;BYWEEKNO=20"),
        ("FREQ=YEARLY;BYDAY=20MO", "FREQ=YEARLY;BYDAY=20MO"),
    ],
)
def test_a_rule_is_told_in_words_or_stays_as_it_is(rule: str, words: str) -> None:
    assert rule_words(rule) == words


@pytest.mark.parametrize(
    ("line", "english", "german", "japanese"),
    [
        ("@daily", "every day at 12:00 AM", "jeden Tag um 00:00", "毎日 00:00"),
        ("*/30 * * * *", "every 30 minutes", "alle 30 Minuten", "30分ごと"),
        ("10 * * * *", "every hour at minute 10", "jede Stunde zur Minute 10", "毎時 10分"),
        ("0 9 * * 1-5", "every weekday at 9:00 AM", "jeden Werktag um 09:00", "平日 09:00"),
        (
            "30 6,18 * * sun",
            "every Sunday at 6:30 AM and 6:30 PM",
            "jeden Sonntag um 06:30 und 18:30",
            "毎週日曜日 06:30と18:30",
        ),
        ("0 3 1 * *", "every month on day 1 at 3:00 AM", "jeden Monat am 1. um 03:00", "毎月1日 03:00"),
        ("0 3 1 * 1", "0 3 1 * 1", "0 3 1 * 1", "0 3 1 * 1"),
        ("0,7 * * * *", "0,7 * * * *", "0,7 * * * *", "0,7 * * * *"),
    ],
)
def test_a_crontab_line_is_told_in_words_or_stays_as_it_is(line: str, english: str, german: str, japanese: str) -> None:
    said = []
    for code in ("en", "de", "ja"):
        with speaking(code):
            said.append(crontab_words(line))
    assert said == [english, german, japanese]


@pytest.mark.parametrize(
    ("trigger", "said"),
    [
        (CronTrigger("40 3 * * 0", VIENNA), r"every week at <t:\d+:t>"),
        (CronTrigger("0 3 1 * *", VIENNA), r"every month at <t:\d+:t>"),
        (CronTrigger("0 9 * * 1-5", VIENNA), r"every weekday at 9:00 AM \(Europe/Vienna\)"),
        (RecurrenceTrigger("FREQ=WEEKLY;BYDAY=SU", NOW.replace(tzinfo=None), VIENNA), "every week"),
        (
            RecurrenceTrigger("FREQ=WEEKLY;BYDAY=MO,TH", NOW.replace(tzinfo=None), VIENNA),
            r"every Monday and Thursday \(Europe/Vienna\)",
        ),
    ],
)
def test_on_discord_no_day_of_another_zone_stands_beside_a_time_of_the_reader(trigger: Trigger, said: str) -> None:
    with reading("discord"):
        assert re.fullmatch(said, words(trigger))


def test_what_is_seconds_away_is_not_zero_minutes_away() -> None:
    now = datetime(2026, 3, 2, 12, tzinfo=UTC)
    told = {code: moment_words(now + timedelta(seconds=10), now, "UTC", code) for code in ("en", "de", "ja")}
    assert told == {
        "en": "at 12:00 PM (in less than a minute)",
        "de": "um 12:00 (in weniger als einer Minute)",
        "ja": "12:00（1分以内）",
    }


@pytest.mark.parametrize(
    ("days", "told"), [(0, "today"), (1, "tomorrow"), (3, "on Thu, Mar 5"), (400, "on April 6, 2027")]
)
def test_of_what_is_due_on_a_day_the_day_alone_is_said(days: int, told: str) -> None:
    day = datetime.combine(NOW.date() + timedelta(days=days), DAY_END, ZoneInfo(VIENNA))
    assert moment_words(day.astimezone(UTC), NOW, VIENNA, "en") == told
    assert clock_words(day.astimezone(UTC), VIENNA) == f"{day:%b} {day.day}, {day.year}"
    assert {moment_words(day, NOW, VIENNA, code).count("59") for code in ("en", "de", "ja")} == {0}


def test_on_discord_a_time_is_a_timestamp_with_its_end() -> None:
    now = datetime(2026, 3, 2, 12, tzinfo=UTC)
    at, ends = now + timedelta(days=1), now + timedelta(days=1, hours=1)
    assert moment_words(at, now, "Asia/Tokyo", "en", ends=ends) == "tomorrow at 9:00 PM–10:00 PM"
    stamped = moment_words(at, now, "Asia/Tokyo", "en", ends=ends, stamped=True)
    assert stamped == "on <t:1772539200:f>–<t:1772542800:t>, <t:1772539200:R>"
