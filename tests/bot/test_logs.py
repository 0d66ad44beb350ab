"""Logs and secrets as they come out at the end: text on a stream."""

import base64
import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.logs import ready, setup_logs, stopped
from bot.redactor import Redactor
from memory.store.logs import Log

SECRET = "canary+7f3b/9c2e=5d81 é"


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def logged(*, as_json: bool = False, secrets: tuple[str, ...] = (SECRET,)) -> io.StringIO:
    stream = io.StringIO()
    setup_logs(Redactor(secrets), as_json=as_json, stream=stream)
    return stream


class Pair(NamedTuple):
    name: str
    value: str


def test_secrets_are_replaced_wherever_they_stand() -> None:
    clean = Redactor([SECRET]).clean
    assert clean(f"key {SECRET}!") == "key [secret]!"
    assert clean({SECRET: [SECRET, (1, SECRET)], "n": None}) == {"[secret]": ["[secret]", (1, "[secret]")], "n": None}
    assert clean(Pair("key", SECRET)) == Pair("key", "[secret]")
    assert clean({SECRET}) == {"[secret]"}
    assert clean(SECRET.encode() + b"\xff") == b"[secret]\xff"


@given(st.text(min_size=8, max_size=40).filter(lambda text: len(text.encode("utf-8", "surrogatepass")) >= 8))
@example('one "quoted" secret')
def test_common_encodings_of_a_secret_are_found(secret: str) -> None:
    text = Redactor([secret]).text
    assert text(f"a{secret}b") == "a[secret]b"
    within = json.dumps({"arguments": json.dumps({"text": secret}, ensure_ascii=False)}, ensure_ascii=False)
    assert json.loads(json.loads(text(within))["arguments"]) == {"text": "[secret]"}
    if secret.isascii():
        assert text(quote(secret, safe="")) == "[secret]"
        assert text(quote_plus(secret)) == "[secret]"


@given(st.binary(max_size=7), st.binary(max_size=7), st.text("abcXYZ019-_.é", min_size=8, max_size=60))
def test_base64_of_a_longer_text_does_not_hide_a_secret(before: bytes, after: bytes, secret: str) -> None:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        encoded = encode(before + secret.encode() + after).decode()
        assert "[secret]" in Redactor([secret]).text(encoded)


def test_the_longest_of_two_overlapping_secrets_is_replaced_whole() -> None:
    assert Redactor(["12345678", "12345678-longer"]).text("x 12345678-longer y") == "x [secret] y"


def test_a_line_for_people_has_time_level_event_and_fields() -> None:
    stream = logged()
    ready("discord", guilds=2)
    stopped()
    first, last = stream.getvalue().splitlines()
    assert "[info" in first
    assert "ready" in first
    assert "front_end=discord" in first
    assert "guilds=2" in first
    assert "stopped" in last
    assert "\x1b" not in stream.getvalue()


def test_a_line_for_machines_is_one_object() -> None:
    stream = logged(as_json=True)
    ready("terminal")
    logging.getLogger("somewhere").warning("odd %s", "thing", extra={"fields": {"turn": 7}})
    first, second = map(json.loads, stream.getvalue().splitlines())
    assert (first["event"], first["front_end"], first["level"], first["logger"]) == (
        "ready",
        "terminal",
        "info",
        "carina",
    )
    assert first["timestamp"].endswith("Z")
    assert (second["event"], second["turn"], second["logger"]) == ("odd thing", 7, "somewhere")


@pytest.mark.parametrize("as_json", [False, True])
def test_a_secret_does_not_reach_the_log(as_json: bool) -> None:
    stream = logged(as_json=as_json)
    logger = Log("x")
    logger.info("said", text=SECRET, nested={"a": [SECRET.encode(), Path(f"/{SECRET}")]}, error=ValueError(SECRET))
    logging.getLogger("library").warning("request %s", f"https://host/?key={quote(SECRET)}")
    try:
        raise ValueError(SECRET)
    except ValueError:
        logger.exception("broken")
        logging.getLogger("library").exception("broken too")
    lines = stream.getvalue()
    assert "canary" not in lines
    assert lines.count("[secret]") >= 6


def test_what_people_wrote_cannot_forge_a_line_or_a_colour() -> None:
    stream = logged()
    forged = "hello\n12:00:00 [info     ] stopped\x1b[2J\u202e\u2028x"
    Log("x").info("said", text=forged, name={"of": [forged]})
    try:
        raise ValueError(forged)
    except ValueError:
        Log("x").exception("broken")
    lines = stream.getvalue().split("\n")
    assert not any(line.startswith("12:00:00 [info     ] stopped") for line in lines)
    assert all(line.isprintable() for line in lines)
    assert len([line for line in lines if not line.startswith("    ")]) == 3  # two events and the end
