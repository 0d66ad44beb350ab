"""Times as people say them, on their clocks."""

import re
import tomllib
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from memory.store.errors import Refused
from scheduler.dates import find_when, read_when
from scheduler.times_in_words import clock_words, crontab_words, moment_words, rule_words
from scheduler.triggers import CronTrigger, DateTrigger, RecurrenceTrigger, Trigger, due_between, next_run, shown, words
from texts import DAY_END, reading, speaking

NOW = datetime(2026, 3, 2, 13, 0, tzinfo=UTC)  # a Monday, 14:00 in Vienna
VIENNA = "Europe/Vienna"
SPOKEN = tomllib.loads(Path(__file__).with_name("spoken_times.toml").read_text("utf-8"))


def first(text: str) -> str:
    moment = next_run(read_when(text, NOW, VIENNA), NOW)
    assert moment is not None
    return f"{moment:%Y-%m-%d %H:%M}"


@pytest.mark.parametrize(("text", "utc"), SPOKEN["utc"].items())
def test_a_time_is_read_on_the_persons_clocks(text: str, utc: str) -> None:
    assert first(text) == utc


@pytest.mark.parametrize(
    ("text", "said", "meant"),
    [(text, said, meant) for said, meanings in SPOKEN["meant"].items() for text, meant in meanings.items()],
)
def test_an_hour_alone_is_in_waking_hours_and_waking_is_in_the_morning(text: str, said: str, meant: str) -> None:
    now = datetime.combine(NOW.date(), time.fromisoformat(said), tzinfo=ZoneInfo(VIENNA))
    found = find_when(text, now, VIENNA)
    assert found is not None
    moment = next_run(found.trigger, now)
    assert moment is not None
    assert f"{moment.astimezone(ZoneInfo(VIENNA)):%-d %H:%M}" == meant


@pytest.mark.parametrize("text", ["in 9999 years", "in 9999 Jahren", "9999年後"])
def test_a_time_after_all_years_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="no such date or time"):
        read_when(text, NOW, VIENNA)


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


@pytest.mark.parametrize(("text", "why"), SPOKEN["refused"].items())
def test_what_is_no_time_is_refused_in_words(text: str, why: str) -> None:
    with pytest.raises(Refused, match=why):
        read_when(text, NOW, VIENNA)


@pytest.mark.parametrize(("text", "rest"), SPOKEN["rest"].items())
def test_a_time_is_found_among_other_words(text: str, rest: str) -> None:
    found = find_when(text, NOW, VIENNA)
    assert found is not None
    assert " ".join(found.rest.split()) == rest


@pytest.mark.parametrize(("text", "rule", "utc"), [(said, *told) for said, told in SPOKEN["repeats"].items()])
def test_what_repeats_does_so_as_it_was_said(text: str, rule: str, utc: str) -> None:
    trigger = read_when(text, NOW, VIENNA)
    assert isinstance(trigger, RecurrenceTrigger)
    assert trigger.rule == rule
    assert first(text) == utc


@pytest.mark.parametrize(
    ("text", "today", "days"),
    [
        *((text, 7, [10, 24]) for text in ("every other Tuesday", "every two weeks on Tuesday", "隔週火曜日")),
        *((text, 4, [10, 24]) for text in ("every other Tuesday", "jeden zweiten Dienstag", "隔週火曜日")),
        *((text, 4, [6, 20]) for text in ("every other Friday", "jeden zweiten Freitag", "隔週金曜日")),
        ("every other Wednesday at 8", 4, [11, 25]),
        ("every other Wednesday at 20:00", 4, [4, 18]),
    ],
)
def test_every_other_week_begins_with_the_next_such_day(text: str, today: int, days: list[int]) -> None:
    now = datetime(2026, 3, today, 13, tzinfo=UTC)
    trigger = read_when(text, now, VIENNA)
    assert [moment.day for moment in due_between(trigger, now, now + timedelta(days=22))][:2] == days


def test_what_was_understood_is_said_back() -> None:
    assert shown(read_when("tomorrow at 9", NOW, VIENNA), NOW, VIENNA) == "Tue, Mar 3, 2026, 9:00 AM (Europe/Vienna)"
    weekly = read_when("jeden Montag um 8", NOW, VIENNA)
    assert isinstance(weekly, RecurrenceTrigger)
    assert shown(weekly, NOW, VIENNA) == "Mon, Mar 9, 2026, 8:00 AM (Europe/Vienna, every Monday)"
    with speaking("de"):
        assert shown(weekly, NOW, VIENNA) == "Mo., 9.3.2026, 08:00 (Europe/Vienna, jeden Montag)"


@pytest.mark.parametrize(("rule", "words"), SPOKEN["rule_words"].items())
def test_a_rule_is_told_in_words_or_stays_as_it_is(rule: str, words: str) -> None:
    assert rule_words(rule) == words


@pytest.mark.parametrize(
    ("line", "english", "german", "japanese"), [(said, *told) for said, told in SPOKEN["crontab_words"].items()]
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
    assert clock_words(day.astimezone(UTC), VIENNA) == f"{day:%a, %b} {day.day}, {day.year}"
    assert {moment_words(day, NOW, VIENNA, code).count("59") for code in ("en", "de", "ja")} == {0}


def test_on_discord_a_time_is_a_timestamp_with_its_end() -> None:
    now = datetime(2026, 3, 2, 12, tzinfo=UTC)
    at, ends = now + timedelta(days=1), now + timedelta(days=1, hours=1)
    assert moment_words(at, now, "Asia/Tokyo", "en", ends=ends) == "tomorrow at 9:00 PM–10:00 PM"
    stamped = moment_words(at, now, "Asia/Tokyo", "en", ends=ends, stamped=True)
    assert stamped == "on <t:1772539200:f>–<t:1772542800:t>, <t:1772539200:R>"
    over = at + timedelta(hours=4)  # after midnight
    told = [moment_words(at, now, "Asia/Tokyo", code, ends=over) for code in ("en", "de", "ja")]
    assert [each.partition(" – ")[2] for each in told] == [
        "Wed, Mar 4, 1:00 AM",
        "Mi., 4.3., 01:00",
        "3月4日(水) 01:00",
    ]
    assert "–<t:1772553600:f>, " in moment_words(at, now, "Asia/Tokyo", "en", ends=over, stamped=True)
