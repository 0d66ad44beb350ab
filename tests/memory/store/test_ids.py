"""Snowflakes and the ids made of them."""

import itertools
import threading
import time
from datetime import UTC, datetime

import pytest
import time_machine

from memory.store.ids import PlaceId, Snowflakes, new_id, place_source, snowflake_time


def test_ids_are_unique_and_rise_within_one_millisecond() -> None:
    with time_machine.travel(datetime(2026, 11, 22, tzinfo=UTC), tick=False):
        source = Snowflakes()
        found = [source.next() for _ in range(10_000)]
    assert found == sorted(set(found))


def test_hardly_two_ids_end_in_the_same_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time_ns", itertools.count(1_795_000_000 * 10**9, 7_654_321_987).__next__)
    source = Snowflakes()
    assert len({source.next() % 1_000_000 for _ in range(20_000)}) > 19_000


def test_ids_rise_even_when_the_clock_goes_back() -> None:
    source = Snowflakes()
    with time_machine.travel(datetime(2026, 11, 22, tzinfo=UTC), tick=False):
        late = source.next()
    with time_machine.travel(datetime(2026, 1, 1, tzinfo=UTC), tick=False):
        assert source.next() > late


def test_a_forged_number_of_the_far_future_does_not_use_them_up() -> None:
    source = Snowflakes()
    for forged in (2**62 + 1, 2**63 - 1):
        source.follow(forged)
        assert snowflake_time(source.next()).year < 2059


def test_threads_never_get_the_same_id() -> None:
    source, found = Snowflakes(), list[int]()

    def take() -> None:
        found.extend([source.next() for _ in range(2_000)])

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 8_000


def test_an_id_tells_when_it_was_made_and_fits_sqlite_and_a_nonce() -> None:
    moment = datetime(2026, 11, 22, 9, 30, 15, 123_000, tzinfo=UTC)
    with time_machine.travel(moment, tick=False):
        made = Snowflakes().next()
    assert snowflake_time(made) == moment
    with time_machine.travel(datetime(2090, 1, 1, tzinfo=UTC), tick=False):
        far = Snowflakes().next()
    assert 0 < far < 2**63
    assert len(str(far)) <= 25


def test_text_ids_sort_as_they_were_made_and_carry_their_kind() -> None:
    found = [new_id("blk") for _ in range(500)]
    assert found == sorted(set(found))
    assert all(each.startswith("blk_") for each in found)


def test_an_outside_id_names_its_source() -> None:
    assert place_source(PlaceId("discord:user:7")) == "discord"
