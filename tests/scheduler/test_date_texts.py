"""Rules for repeating and moments, in words."""

from datetime import UTC, datetime, timedelta

import pytest

from scheduler.descriptions import crontab_words, moment_words, rule_words
from texts import speaking


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
        ("FREQ=DAILY;UNTIL=20261231T230000Z", "every day, until 31 Dec 2026"),
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
        ("@daily", "every day at 00:00", "jeden Tag um 00:00", "毎日 00:00"),
        ("*/30 * * * *", "every 30 minutes", "alle 30 Minuten", "30分ごと"),
        ("10 * * * *", "every hour at minute 10", "jede Stunde zur Minute 10", "毎時 10分"),
        ("0 9 * * 1-5", "every weekday at 09:00", "jeden Werktag um 09:00", "平日 09:00"),
        (
            "30 6,18 * * sun",
            "every Sunday at 06:30 and 18:30",
            "jeden Sonntag um 06:30 und 18:30",
            "毎週日曜日 06:30と18:30",
        ),
        ("0 3 1 * *", "every month on day 1 at 03:00", "jeden Monat am 1. um 03:00", "毎月1日 03:00"),
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


def test_what_is_seconds_away_is_not_zero_minutes_away() -> None:
    now = datetime(2026, 3, 2, 12, tzinfo=UTC)
    told = {code: moment_words(now + timedelta(seconds=10), now, "UTC", code) for code in ("en", "de", "ja")}
    assert told == {
        "en": "at 12:00 (in less than a minute)",
        "de": "um 12:00 (in weniger als einer Minute)",
        "ja": "12:00（1分以内）",
    }
