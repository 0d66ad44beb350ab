"""Requests that are carried out once, however often they are sent."""

from datetime import timedelta

from memory import idempotent_requests
from memory.idempotent_requests import KEPT, RequestState
from memory.store.database import Tx
from tests.memory.parts import NOON


def test_a_request_is_carried_out_once_for_its_key_until_it_is_forgotten(registry: Tx) -> None:
    def begin(key: str, given: bytes, request: bytes = b"pay", after: timedelta = timedelta()) -> RequestState:
        return idempotent_requests.begin(registry, key, given, request, NOON + after)

    for key, given in (("one", b"1"), ("one", b"2"), ("two", b"1")):
        assert begin(key, given) is RequestState.NEW
        assert begin(key, given) is RequestState.BEFORE
    assert begin("one", b"1", b"else") is RequestState.OTHER
    idempotent_requests.forget(registry, "one", b"1")
    assert [begin("one", b"2"), begin("two", b"1"), begin("one", b"1")] == [
        RequestState.BEFORE,
        RequestState.BEFORE,
        RequestState.NEW,
    ]
    assert begin("one", b"1", after=KEPT) is RequestState.NEW
