"""Forms, questions and files on Discord: one whose work meets a defect, one of long ago, and one that is too large."""

import gzip
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bot.errors import UserError
from bot.interfaces.discord import components, responses
from bot.interfaces.discord.components import Asked, Questions
from bot.interfaces.discord.responses import Interaction
from sources.discord.client import BROKEN
from tests.captured_logs import capture_logs


class Deferred:
    def __init__(self, *, deferred: bool) -> None:
        self.response = self.followup = self
        self.deferred = deferred
        self.said: list[tuple[str, str]] = []
        self.files: list[Any] = []
        self.client = SimpleNamespace(tree=SimpleNamespace(cleaned=str))

    def is_done(self) -> bool:
        return self.deferred

    async def send(self, text: str = "", *, files: Any = (), **_more: Any) -> None:
        self.said.append(("followup", text))
        self.files += files

    async def send_message(self, text: str, **_more: Any) -> None:
        self.said.append(("response", text))


async def _broken() -> None:
    raise TypeError("unhashable type: 'list'")


@pytest.mark.parametrize(("deferred", "way"), [(True, "followup"), (False, "response")])
async def test_who_sent_a_form_that_breaks_is_told_and_the_log_has_why(deferred: bool, way: str) -> None:
    asked = Deferred(deferred=deferred)
    with capture_logs() as logged:
        await components._stored(cast("Interaction", asked), _broken())
    assert asked.said == [(way, BROKEN)]
    assert [(each["event"], each["log_level"], type(each["exc_info"])) for each in logged] == [
        ("interaction_failed", "error", TypeError)
    ]


def test_a_question_is_answered_once_in_time_by_who_asked_for_it_and_the_oldest_makes_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    asked = Questions(lambda: now[0])

    def token(file: str) -> str:
        first, _ = asked.ask(Asked(1, "files.remove", {"file": file}, "Sure?"))
        return str(first.custom_id).rpartition(":")[2]

    monkeypatch.setattr(components, "_MOST", 2)
    first, second = token("a"), token("b")
    assert asked.take(first, 2) is None
    third = token("c")
    assert asked.take(first, 1) is None
    found = asked.take(second, 1)
    assert found is not None
    assert found.given == {"file": "b"}
    assert asked.take(second, 1) is None
    now[0] = 901.0
    assert asked.take(third, 1) is None


async def test_a_text_too_long_for_a_message_comes_as_a_file_which_is_packed_or_refused_where_it_is_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked, text = Deferred(deferred=True), "llama " * 1_000
    there = cast("Interaction", asked)
    monkeypatch.setattr(responses, "LARGEST_FILE", 7_000)
    await responses.tell(there, text, file_name="why.md")
    (file,) = asked.files
    assert (file.filename, file.fp.read().decode()) == ("why.md", text)
    monkeypatch.setattr(responses, "LARGEST_FILE", 3_000)
    packed = responses.text_file(there, text, "why.md")
    assert (packed.filename, gzip.decompress(packed.fp.read()).decode()) == ("why.md.gz", text)
    monkeypatch.setattr(responses, "LARGEST_FILE", 10)
    with pytest.raises(UserError, match="too large for a file here"):
        responses.text_file(there, text, "why.md")
