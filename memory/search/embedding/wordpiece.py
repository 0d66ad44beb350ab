"""WordPiece as BERT's uncased models expect it: words, cut into the longest pieces that the vocabulary has."""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

import regex

_LONGEST_WORD = 100  # characters; longer ones are unknown to the models
_ASCII_SYMBOLS = r"$+<=>^`|~"  # of ASCII everything that is no letter, digit or space counts as punctuation
# The blocks of ideographs whose characters are words of their own; kana and hangul are not among them.
_IDEOGRAPHS = (
    r"\u4E00-\u9FFF\u3400-\u4DBF\U00020000-\U0002A6DF\U0002A700-\U0002B73F\U0002B740-\U0002B81F"
    r"\U0002B920-\U0002CEAF\uF900-\uFAFF\U0002F800-\U0002FA1F"
)
_WORDS = regex.compile(
    rf"(?V1)[{_IDEOGRAPHS}]|[\p{{P}}{_ASCII_SYMBOLS}]|[^\s{_IDEOGRAPHS}\p{{P}}{_ASCII_SYMBOLS}]+",
)
_CONTROLS = regex.compile(r"(?V1)[\p{Cc}\p{Cf}\p{Co}\p{Cs}\ufffd--\t\n\r]+")
_ACCENTS = regex.compile(r"\p{Mn}+")


class WordPiece:
    """Cuts texts into the numbers of a vocabulary."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._vocabulary = vocabulary
        self._unknown = vocabulary["[UNK]"]
        self._start, self._end = vocabulary["[CLS]"], vocabulary["[SEP]"]
        self._texts = {number: text for text, number in vocabulary.items()}
        self._marks = frozenset((self._start, self._end, self._unknown))
        self._pieces = lru_cache(maxsize=20_000)(self._cut)  # people use the same words again and again

    def encode(self, text: str, limit: int) -> list[int]:
        """The numbers of a text between the marks of its beginning and its end, `limit` in all at most."""
        found = [self._start]
        for word in _words(text):
            found += self._pieces(word)
            if len(found) >= limit:
                break
        return [*found[: limit - 1], self._end]

    def words(self, encoded: Sequence[int]) -> list[str]:
        """The whole word that each number is a piece of; empty for marks and for what the vocabulary does not have."""
        texts = ["" if number in self._marks else self._texts[number] for number in encoded]
        starts = [at for at, text in enumerate(texts) if not text.startswith("##")]
        found: list[str] = []
        for begin, end in pairwise([*starts, len(texts)]):
            found += [texts[begin] + "".join(text[2:] for text in texts[begin + 1 : end])] * (end - begin)
        return found

    def _cut(self, word: str) -> tuple[int, ...]:
        if len(word) > _LONGEST_WORD:
            return (self._unknown,)
        pieces, begin = [], 0
        while begin < len(word):
            piece, end = self._longest(word, begin)
            if piece is None:
                return (self._unknown,)
            pieces.append(piece)
            begin = end
        return tuple(pieces)

    def _longest(self, word: str, begin: int) -> tuple[int | None, int]:
        mark = "##" if begin else ""
        for end in range(len(word), begin, -1):
            piece = self._vocabulary.get(mark + word[begin:end])
            if piece is not None:
                return piece, end
        return None, begin


def _words(text: str) -> Iterator[str]:
    """Lower-case words without accents; punctuation and ideographs stand alone."""
    text = _CONTROLS.sub("", text)
    if not text.isascii():
        text = _ACCENTS.sub("", unicodedata.normalize("NFD", text))
    for match in _WORDS.finditer(text.lower()):
        yield match[0]
