"""Keys to the dashboard and the API as a store: each opens only what it is for, and only while it is valid."""

from datetime import datetime, timedelta

import pytest

from memory.people import web_sessions_and_tokens
from memory.people.web_sessions_and_tokens import CODE_LIFE, KeyScope, Kind, WebKey
from memory.store.database import Tx
from memory.store.ids import PersonId
from tests.memory.parts import ANN, BOB, NOON


def made(registry: Tx, kind: Kind, at: datetime = NOON, person: PersonId = ANN) -> str:
    """The secret of a new key."""
    return web_sessions_and_tokens.add(registry, WebKey(kind, KeyScope.OWN, kind, at, person))


def test_a_key_is_found_by_its_secret_and_kind_until_it_expires(registry: Tx) -> None:
    code, token = made(registry, Kind.CODE), made(registry, Kind.PROGRAM)
    ends = NOON + CODE_LIFE
    valid = (code, Kind.CODE, NOON), (token, Kind.PROGRAM, NOON), (token, Kind.PROGRAM, ends)
    for secret, kind, now in valid:
        found = web_sessions_and_tokens.find(registry, kind, secret, now)
        assert found is not None
        assert found in web_sessions_and_tokens.listing(registry, kind, now)
    for secret, kind, now in (("wrong", Kind.CODE, NOON), (token, Kind.CODE, NOON), (code, Kind.CODE, ends)):
        assert web_sessions_and_tokens.find(registry, kind, secret, now) is None
    assert [key.kind for key in web_sessions_and_tokens.listing(registry, Kind.PROGRAM, NOON)] == [Kind.PROGRAM]
    assert web_sessions_and_tokens.listing(registry, Kind.CODE, ends) == []
    with pytest.raises(ValueError, match="token"):
        made(registry, Kind.PROGRAM)


def test_a_code_signs_in_once_and_takes_no_other_with_it(registry: Tx) -> None:
    code, other = made(registry, Kind.CODE), made(registry, Kind.CODE)
    secret = web_sessions_and_tokens.use_sign_in_code(registry, code, "browser", NOON)
    assert secret is not None
    session = web_sessions_and_tokens.find(registry, Kind.SESSION, secret, NOON)
    assert session is not None
    assert (session.scope, session.person, session.name) == (KeyScope.OWN, ANN, "browser")
    assert web_sessions_and_tokens.use_sign_in_code(registry, code, "browser", NOON) is None
    left = web_sessions_and_tokens.find(registry, Kind.CODE, other, NOON)
    assert left is not None
    web_sessions_and_tokens.note_used(registry, session, NOON)
    used = web_sessions_and_tokens.find(registry, Kind.SESSION, secret, NOON)
    assert used is not None
    assert [web_sessions_and_tokens.is_noted(used, NOON + timedelta(seconds=wait)) for wait in (0, 59, 60)] == [
        True,
        True,
        False,
    ]
    assert not web_sessions_and_tokens.is_noted(left, NOON)
    assert web_sessions_and_tokens.find(registry, Kind.CODE, other, NOON) == left


def test_too_many_codes_of_a_person_push_out_their_own_oldest_alone(registry: Tx) -> None:
    bobs = made(registry, Kind.CODE, person=BOB)
    token, session = made(registry, Kind.PROGRAM), made(registry, Kind.SESSION)
    codes = [made(registry, Kind.CODE, NOON + timedelta(seconds=n)) for n in range(11)]
    now = NOON + timedelta(seconds=11)
    assert [web_sessions_and_tokens.find(registry, Kind.CODE, code, now) is not None for code in codes] == [
        False,
        *[True] * 10,
    ]
    for kind, secret in ((Kind.CODE, bobs), (Kind.PROGRAM, token), (Kind.SESSION, session)):
        assert web_sessions_and_tokens.find(registry, kind, secret, now) is not None
