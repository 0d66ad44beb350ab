"""Whom a message speaks to."""

import pytest

from bot.agents.groups.who_answers import addressed, mentioned_words

NAMES = ["Ann", "Ann Lee", "Bo", "Crisis Response"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@Bo hello", ["Bo"]), ("bo: hello", ["Bo"]), ("Bo, hello", ["Bo"]), ("hey bo hello", ["Bo"]),
        ("Hi Bo!", ["Bo"]), ("hey Bo: hello", ["Bo"]), ("@Carina Bo: hello", ["Bo"]), ("  @BO", ["Bo"]),
        ("Ann: hello", ["Ann"]), ("Ann Lee: hello", ["Ann Lee"]), ("hey ann lee, hello", ["Ann Lee"]),
        ("crisis response: help", ["Crisis Response"]), ("@all hello", NAMES), ("@Carina @all hello", NAMES),
        ("Bo hello", []), ("@Bobby hello", []), ("Bobby: hello", []), ("hello Bob", []), ("I told Bo: no", []),
        ("ask @Bo", []), ("@allison hello", []), ("all: hello", []), ("", []),
    ],
)  # fmt: skip
def test_who_is_spoken_to(text: str, expected: list[str]) -> None:
    assert addressed(text, NAMES) == expected


def test_names_and_words_are_no_patterns() -> None:
    assert addressed("a.c: hi", ["abc"]) == []
    assert addressed("(x: hi", ["(x"]) == ["(x"]
    assert mentioned_words("is C++ it?", ["C++", "C"]) == ["C++", "C"]
    assert mentioned_words("overwhelmedly", ["overwhelmed"]) == []
    assert addressed("@all hi", ["Main"], everybody=False) == []
