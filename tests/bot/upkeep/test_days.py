"""Which night a moment belongs to: from noon to noon on the clocks of the service, also when they are put forward."""

from datetime import datetime

import pytest

from bot.upkeep.summaries import night_named, night_of
from scheduler.zones import instant, zone_of

BERLIN = "Europe/Berlin"


def there(text: str) -> datetime:
    """A time on the clocks of Berlin."""
    return instant(datetime.fromisoformat(text), zone_of(BERLIN))


@pytest.mark.parametrize(
    ("moment", "name"),
    [
        ("2026-11-22 12:00", "2026-11-22"),
        ("2026-11-22 23:59", "2026-11-22"),
        ("2026-11-23 00:01", "2026-11-22"),
        ("2026-11-23 11:59", "2026-11-22"),
        ("2026-11-23 12:00", "2026-11-23"),
        ("2026-03-29 11:30", "2026-03-28"),
        ("2026-03-29 12:30", "2026-03-29"),
        ("2026-10-25 11:30", "2026-10-24"),
        ("2026-10-25 12:30", "2026-10-25"),
    ],
)
def test_a_night_is_from_noon_to_noon(moment: str, name: str) -> None:
    found = night_of(there(moment), BERLIN)
    assert found.name == name
    assert found.start <= there(moment) < found.end
    assert found == night_named(name, BERLIN)
