"""Rules for repeating, in words."""

import pytest

from scheduler.descriptions import rule_words


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
        ("FREQ=DAILY;UNTIL=20261231T230000Z", "every day, until 2026-12-31"),
        ("FREQ=DAILY;BYHOUR=8;BYMINUTE=30", "every day"),
        ("FREQ=DAILY;BYHOUR=8,20", "FREQ=DAILY;BYHOUR=8,20"),
        ("FREQ=MONTHLY;BYDAY=MO;BYSETPOS=1", "FREQ=MONTHLY;BYDAY=MO;BYSETPOS=1"),
        ("FREQ=YEARLY;BYWEEKNO=20", "FREQ=YEARLY;BYWEEKNO=20"),
        ("FREQ=YEARLY;BYDAY=20MO", "FREQ=YEARLY;BYDAY=20MO"),
    ],
)
def test_a_rule_is_told_in_words_or_stays_as_it_is(rule: str, words: str) -> None:
    assert rule_words(rule) == words
