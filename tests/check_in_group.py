"""A sleeptime group that speaks to who has had no break for 90 minutes, as the file of a constellation says it."""


def check_in(usual: str, looking: str, place: str, minutes: float = 5) -> str:
    """Its table, and that of the group that answers: one agent each. It looks every so many minutes."""
    return f"""
[[groups]]
name = "Main"
members = ["{usual}"]
default = true
[[groups]]
name = "Check-in"
pattern = "sleeptime"
members = ["{looking}"]
mention = false
[groups.sleeptime]
check_minutes = {minutes}
place = "{place}"
[[groups.sleeptime.triggers]]
name = "hyperfocus"
on = "time_elapsed"
of = "person"
minutes = 90
cooldown = 180
"""
