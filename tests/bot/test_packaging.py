"""An answer as messages: none for nothing, several for a long one, a file for a very long one."""

import pytest

from bot.packaging import MAX_PIECES, Piece, package


def split(text: str) -> list[str]:
    return [text[start : start + 10] for start in range(0, len(text), 10)]


@pytest.mark.parametrize("text", ["", " ", "\n\t "])
def test_silence_is_no_message(text: str) -> None:
    assert package(text, split) == []


@pytest.mark.parametrize("length", [1, 10, 11, 10 * MAX_PIECES])
def test_pieces_say_the_whole_in_order(length: int) -> None:
    text = "".join(chr(97 + number % 26) for number in range(length))
    pieces = package(text, split)
    assert "".join(piece.text for piece in pieces) == text
    assert all(not piece.file_name for piece in pieces)


def test_a_flood_is_a_beginning_and_a_file_with_the_whole() -> None:
    text = "x" * (10 * MAX_PIECES + 1)
    first, second = package(text, split)
    assert first == Piece("x" * 10)
    assert second.text == "(My answer is 51 characters long: the whole of it is in the file.)"
    assert (second.file_name, second.file_text) == ("answer.md", text)


def test_words_of_which_the_platform_takes_nothing_are_silence() -> None:
    assert package("\u200b", lambda _text: []) == []
