"""Times as people say them, in English, German and Japanese: "in 20 minutes", "morgen um 9", "毎週月曜日の8時"."""

from scheduler.dates.parser import FoundTime, find_when, moved, read_when, shown

__all__ = ["FoundTime", "find_when", "moved", "read_when", "shown"]
