"""Times as people say them, on their clocks."""

from datetime import UTC, datetime

import pytest

from bot.when import find_when, read_when, shown
from memory.errors import Refused
from scheduler.triggers import Recurring, next_run

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
    ],
)
def test_a_time_is_read_on_the_persons_clocks(text: str, utc: str) -> None:
    assert first(text) == utc


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("soon", "no time that I understand"),
        ("when mum comes at 9", "no time that I understand"),
        ("2026-02-31 10:00", "no day or time that exists"),
        ("on february 30 at 9", "there is no day 30 february"),
        ("at 25:00", "there is no time 25:00"),
        ("2020-01-01 10:00", "past"),
        ("yesterday at 9", "past"),
        ("gestern um 9", "past"),
        ("昨日の午後3時", "past"),
        ("", "no time"),
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
    ],
)
def test_a_time_is_found_among_other_words(text: str, rest: str) -> None:
    found = find_when(text, NOW, VIENNA)
    assert found is not None
    assert " ".join(found.rest.split()) == rest


def test_what_was_understood_is_said_back() -> None:
    assert shown(read_when("tomorrow at 9", NOW, VIENNA), NOW, VIENNA) == "Tue 2026-03-03 09:00 (Europe/Vienna)"
    weekly = read_when("jeden Montag um 8", NOW, VIENNA)
    assert isinstance(weekly, Recurring)
    assert shown(weekly, NOW, VIENNA) == "Mon 2026-03-09 08:00 (Europe/Vienna, every Monday)"
