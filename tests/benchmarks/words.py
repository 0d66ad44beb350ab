"""Text to fill stores with: the same for the same seed, with the frequencies of a language."""

import random


def _listed(words: str) -> list[str]:
    return words.split()


_STEMS = _listed(
    """garden river winter letter music bread window mountain story market train kitchen forest paper summer
doctor school island village morning evening project meeting budget holiday concert recipe bicycle camera painting
museum library football station airport weather neighbour birthday dinner breakfast coffee dentist mechanic guitar
novel teacher student engineer gardener harbour bridge castle desert valley meadow candle blanket mirror pillow
carpet ladder hammer needle thread button ribbon pocket wallet purse"""
)
_SMALL = _listed("the a and of to in is was for on with at we she he they it that this my your had will would about")


def vocabulary(size: int = 6_000) -> list[str]:
    """Words, the frequent ones first."""
    made = [f"{stem}{number}" for number in range(size // len(_STEMS)) for stem in _STEMS]
    return [*_STEMS, *made][:size]


class Words:
    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._vocabulary = vocabulary()
        self._weights = [1 / (rank + 5) for rank in range(len(self._vocabulary))]

    def sentence(self, words: int = 14) -> str:
        """One sentence, about half of it small words."""
        rare = self._random.choices(self._vocabulary, self._weights, k=words)
        small = self._random.choices(_SMALL, k=words)
        mixed = [self._random.choice(pair) for pair in zip(rare, small, strict=True)]
        return " ".join(mixed).capitalize() + "."

    def text(self, characters: int) -> str:
        """Sentences, one a line, of about that length; never longer."""
        lines: list[str] = []
        while sum(map(len, lines)) + len(lines) < characters:
            lines.append(self.sentence())
        return "\n".join(lines)[:characters]

    def question(self, words: int = 4) -> str:
        return " ".join(self._random.choices(self._vocabulary, self._weights, k=words))
