"""Times as people say them, in English, German and Japanese: "in 20 minutes", "morgen um 9", "毎週月曜日の8時"."""

from scheduler.dates.conversation import coming, later, past_days, try_find, without_end
from scheduler.dates.parser import FoundTime, find_when, moved, read_when, shown

__all__ = [
    "FoundTime",
    "coming",
    "find_when",
    "later",
    "moved",
    "past_days",
    "read_when",
    "shown",
    "try_find",
    "without_end",
]
