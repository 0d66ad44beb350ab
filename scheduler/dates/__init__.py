"""Times as people say them, in English, German and Japanese: "in 20 minutes", "morgen um 9", "毎週月曜日の8時"."""

from scheduler.dates.dialog_times import alone, coming, corrected, later, past_days, try_find, without_end
from scheduler.dates.parser import FoundTime, find_when, read_when, shown

__all__ = [
    "FoundTime",
    "alone",
    "coming",
    "corrected",
    "find_when",
    "later",
    "past_days",
    "read_when",
    "shown",
    "try_find",
    "without_end",
]
