"""When things are due: crontab lines, intervals, rules and quiet hours, over changes of clocks and outages."""

from datetime import UTC, datetime, time, timedelta

import pytest

from memory.store.errors import Refused
from scheduler import zones
from scheduler.triggers import (
    CronTrigger,
    DateTrigger,
    IntervalTrigger,
    RecurrenceTrigger,
    Trigger,
    due_between,
    dump,
    load,
    newest_due,
    next_run,
    require,
)
from scheduler.zones import Quiet

VIENNA = "Europe/Vienna"
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)  # a Monday


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def walls(trigger: Trigger, first: str, last: str) -> list[str]:
    return [f"{each:%d %H:%M}" for each in due_between(trigger, utc(first), utc(last))]


@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("0 9 * * 1-5", "2026-03-03 09:00"),
        ("0 9 * * 0", "2026-03-08 09:00"),  # 0 is Sunday, and so is 7
        ("0 9 * * 7", "2026-03-08 09:00"),
        ("0 9 * * sun", "2026-03-08 09:00"),
        ("*/15 * * * *", "2026-03-02 12:15"),
        ("30 6 29 2 *", "2028-02-29 06:30"),
        ("0 0 13 * 5", "2026-03-06 00:00"),  # the thirteenth or a Friday
        ("@daily", "2026-03-03 00:00"),
        ("0 22-23,3 * * *", "2026-03-02 22:00"),
        ("5 4 */10 jan-feb *", "2027-01-01 04:05"),
    ],
)
def test_a_crontab_line_means_what_crontab_means(line: str, first: str) -> None:
    assert next_run(CronTrigger(line), NOON) == utc(first)


@pytest.mark.parametrize(
    "line",
    [
        *("0 0 31 2 *", "0 0 30 feb *", "0 0 31 4,6,9,11 *", "60 * * * *", "* * * *", "x * * * *", "5-1 * * * *", ""),
        *("*/0 * * * *", "*/00 * * * *"),
    ],
)
def test_what_can_never_be_is_refused_in_words(line: str) -> None:
    with pytest.raises(Refused, match=r"cron expression|never comes due"):
        require(CronTrigger(line), NOON)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("Europe/Viena", "Europe/Vienna"), ("vienna", "Europe/Vienna"), ("new york", "America/New_York")],
)
def test_an_unknown_zone_is_refused_with_the_one_that_may_be_meant(name: str, meant: str) -> None:
    with pytest.raises(Refused, match=rf"no time zone .*Did you mean {meant}\?"):
        require(CronTrigger("0 9 * * *", name), NOON)


def test_a_time_that_clocks_skip_comes_an_hour_later_and_once() -> None:
    # 29 March 2026: 02:00 becomes 03:00 in Vienna; 02:30 does not exist.
    assert walls(CronTrigger("30 2 * * *", VIENNA), "2026-03-28", "2026-03-31") == ["28 01:30", "29 01:30", "30 00:30"]


def test_a_time_that_clocks_repeat_comes_once() -> None:
    # 25 October 2026: 03:00 becomes 02:00; 02:30 is there twice.
    assert walls(CronTrigger("30 2 * * *", VIENNA), "2026-10-24 12:00", "2026-10-26 12:00") == ["25 00:30", "26 01:30"]


def test_every_hour_means_hours_that_pass() -> None:
    autumn = walls(CronTrigger("0 * * * *", VIENNA), "2026-10-24 23:30", "2026-10-25 03:30")
    spring = walls(CronTrigger("0 * * * *", VIENNA), "2026-03-28 23:30", "2026-03-29 03:30")
    assert autumn == ["25 00:00", "25 01:00", "25 02:00", "25 03:00"]
    assert spring == ["29 00:00", "29 01:00", "29 02:00", "29 03:00"]


def test_a_rule_keeps_to_the_clocks_of_its_zone() -> None:
    start = datetime.fromisoformat("2026-03-27T02:30")
    daily = RecurrenceTrigger("FREQ=DAILY;COUNT=4", start, VIENNA)
    assert walls(daily, "2026-03-01", "2026-05-01") == ["27 01:30", "28 01:30", "29 01:30", "30 00:30"]
    assert next_run(daily, utc("2026-03-30 00:30")) is None


def test_a_rule_may_come_ahead_of_what_it_is_about() -> None:
    start = datetime.fromisoformat("2026-03-02T09:00")
    weekly = RecurrenceTrigger("FREQ=WEEKLY;BYDAY=MO", start, "UTC", ahead=timedelta(minutes=15))
    assert walls(weekly, "2026-03-01", "2026-03-10") == ["02 08:45", "09 08:45"]


def test_a_rule_ends_where_it_says() -> None:
    start = datetime.fromisoformat("2026-03-02T09:00")
    assert walls(RecurrenceTrigger("FREQ=DAILY;UNTIL=20260304", start, VIENNA), "2026-03-01", "2026-04-01") == [
        "02 08:00",
        "03 08:00",
        "04 08:00",
    ]
    in_utc = RecurrenceTrigger("FREQ=DAILY;UNTIL=20260303T080000Z", start, VIENNA)
    assert walls(in_utc, "2026-03-01", "2026-04-01") == ["02 08:00", "03 08:00"]


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=SECONDLY;BYMONTHDAY=30;BYMONTH=2",
        "FREQ=MINUTELY",
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=31",
        "FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=DAILY;BYSECOND=1",
        "FREQ=DAILY;INTERVAL=0",
        "FREQ=WEEKLY;BYDAY=XX",
        "DTSTART:20260101T000000\nRRULE:FREQ=DAILY",
        "every monday",
        "",
    ],
)
@pytest.mark.timeout(10)
def test_a_rule_that_cannot_be_is_refused_and_soon(rule: str) -> None:
    with pytest.raises(Refused):
        require(RecurrenceTrigger(rule, datetime.fromisoformat("2026-01-01T09:00"), "UTC"), NOON)


def test_intervals_keep_their_phase() -> None:
    every = IntervalTrigger(timedelta(minutes=20), utc("2026-03-02 00:07"))
    assert next_run(every, NOON) == utc("2026-03-02 12:07")
    assert next_run(every, utc("2026-03-01 00:00")) == utc("2026-03-01 00:07")


def test_what_is_once_is_past_afterwards() -> None:
    assert next_run(DateTrigger(NOON), NOON) is None
    with pytest.raises(Refused, match="past"):
        require(DateTrigger(NOON - timedelta(seconds=1)), NOON)


@pytest.mark.parametrize(
    "trigger",
    [
        DateTrigger(NOON),
        IntervalTrigger(timedelta(hours=1), NOON),
        CronTrigger("0 9 * * 1", VIENNA),
        RecurrenceTrigger("FREQ=DAILY", datetime.fromisoformat("2026-03-02T09:00"), VIENNA, timedelta(minutes=5)),
    ],
)
def test_a_trigger_is_the_same_after_it_was_stored(trigger: Trigger) -> None:
    assert load(dump(trigger)) == trigger


def test_the_newest_of_many_due_times() -> None:
    month = timedelta(days=30)
    assert newest_due(CronTrigger("* * * * *"), NOON, NOON + month) == NOON + month
    assert newest_due(CronTrigger("0 9 1 1 *"), NOON, NOON + month) == NOON


# ---------------------------------------------------------------------------------------------------- quiet hours


@pytest.mark.parametrize(
    ("moment", "until"),
    [
        ("2026-01-05 21:30", None),  # 22:30 in Vienna is quiet, 22:29 local is 21:29 UTC
        ("2026-01-05 22:30", "2026-01-06 06:00"),
        ("2026-01-06 02:00", "2026-01-06 06:00"),
        ("2026-01-06 06:00", None),
        ("2026-03-28 23:00", "2026-03-29 05:00"),  # the night in which an hour is skipped
        ("2026-10-24 23:00", "2026-10-25 06:00"),
    ],
)
def test_quiet_hours_pass_midnight_and_changes_of_clocks(moment: str, until: str | None) -> None:
    quiet = Quiet(time(23), time(7), VIENNA)
    assert quiet.until(utc(moment)) == (None if until is None else utc(until))


def test_no_hours_are_quiet_when_they_begin_as_they_end() -> None:
    assert Quiet(time(7), time(7), "UTC").until(NOON) is None


def test_quiet_hours_by_day() -> None:
    assert Quiet(time(9), time(17), "UTC").until(NOON) == utc("2026-03-02 17:00")
    assert Quiet(time(9), time(17), "UTC").until(utc("2026-03-02 18:00")) is None


def test_a_machine_that_names_no_zone_is_in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zones, "get_localzone_name", lambda: None)
    assert zones.local_zone() == "UTC"


def test_a_rule_that_begins_with_the_last_years_is_refused() -> None:
    with pytest.raises(Refused, match="must begin between"):
        next_run(RecurrenceTrigger("FREQ=DAILY", datetime.fromisoformat("9999-12-31T23:59"), "UTC"), NOON)
