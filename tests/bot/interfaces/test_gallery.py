"""Every slash command of the demo, as it is read on Discord."""

import re
from pathlib import Path

from tests.gallery import collect, words_of
from tests.wire.discord import Message

MENTIONED = re.compile(r"<(?:@[!&]?|#)\d+>|<t:\d+(?::\w)?>")
NOT_FOR_PEOPLE = {
    "a long number": re.compile(r"\d{17,19}"),
    "a time of programs": re.compile(r"\d{4}-\d\d-\d\dT\d\d:"),
    "an internal id": re.compile(r"\b(?:ent|grp|agt|blk|trn)_[0-9a-z]{8,}"),
    "an option of the command line": re.compile(r"(?<![\w-])--[a-z]"),
    "a time where none is shown": re.compile(r"<t:"),
    "a limit that was not met": re.compile(r"expected (a number|one of|\d)"),
    "parentheses in parentheses": re.compile(r"\([^()]*\([^()]*\)\)"),
    "a list of nothing": re.compile(r"There are: none"),
}
VARIABLE = re.compile(r"\b[A-Z]{3,}(?:_[A-Z]+)+\b")
SLOW = ("owner backup create", "owner doctor", "privacy export")


def _read(message: Message) -> list[str]:
    """Its words without what Discord shows as names and times; on buttons and in menus it shows none."""
    words, *labels = words_of(message)
    return [MENTIONED.sub("", words.replace("\\", "")), *labels]


async def test_no_answer_shows_what_is_not_for_people(tmp_path: Path) -> None:
    gallery = await collect(tmp_path, SLOW)
    found = [
        f"{shown.words}: {what}: {found[0]} in {words[max(0, found.start() - 60) : found.end() + 20]!r}"
        for shown in gallery.shown
        for _after, message, _form in shown.answers
        if message is not None
        for words in _read(message)
        for what, pattern in NOT_FOR_PEOPLE.items()
        if (found := pattern.search(words))
    ]
    found += [
        f"{shown.words}: a setting: {message.text}"
        for shown in gallery.shown
        for _after, message, _form in shown.answers
        if shown.by == "Mika" and message is not None and VARIABLE.search(message.text.replace("\\", ""))
    ]
    assert len(gallery.shown) > 150
    assert found == []
