"""Times as people say them, in English, German and Japanese: "in 20 minutes", "morgen um 9", "毎週月曜日の8時"."""

from scheduler.dates.dialog_times import (
    alone,
    coming,
    coming_days,
    corrected,
    days_ahead,
    is_at,
    keeps_times,
    later,
    moved_to,
    past_days,
    replaced,
    span,
    try_find,
    without_due,
    without_end,
)
from scheduler.dates.parser import FoundTime, find_when, read_when

__all__ = [
    "FoundTime",
    "alone",
    "coming",
    "coming_days",
    "corrected",
    "days_ahead",
    "find_when",
    "is_at",
    "keeps_times",
    "later",
    "moved_to",
    "past_days",
    "read_when",
    "replaced",
    "span",
    "try_find",
    "without_due",
    "without_end",
]
