"""Ranking entries of working memory by words: BM25 over keys, categories, tags and values.

Counted over the entries that were read under the scope alone, so an order tells nothing of what others keep. There
are a few dozen of them for some minutes, so they need no index.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence

from memory.knowledge.working import Entry
from memory.store.fulltext import all_words, content_words, index_text

_K1, _B = 1.2, 0.75
_STEM = 4  # letters from which on a word is found by its beginning, and by itself in the plural
_SEPARATORS = re.compile(r"[/_.:@%-]+")


def ranked(entries: Sequence[Entry], query: str) -> list[Entry]:
    """Those that have a word of the query, best first; equal ones in the order given."""
    wanted = list(dict.fromkeys(content_words(query) or all_words(query)))
    counts = [Counter(_words(entry)) for entry in entries]
    usual = sum(counted.total() for counted in counts) / len(counts) if counts else 1
    scores = [0.0] * len(entries)
    for word in wanted:
        found = [_times(word, counted) for counted in counts]
        having = sum(times > 0 for times in found)
        weight = math.log(1 + (len(entries) - having + 0.5) / (having + 0.5))
        for position, times in enumerate(found):
            length = 1 - _B + _B * counts[position].total() / usual if usual else 1
            scores[position] += weight * times * (_K1 + 1) / (times + _K1 * length)
    best = sorted(range(len(entries)), key=lambda position: -scores[position])
    return [entries[position] for position in best if scores[position] > 0]


def _words(entry: Entry) -> list[str]:
    named = _SEPARATORS.sub(" ", " ".join([entry.key, entry.category, *entry.tags]))
    return index_text(f"{named} {entry.content}").split()


def _times(word: str, counted: Counter[str]) -> int:
    if len(word) < _STEM:
        return counted[word]
    return sum(times for each, times in counted.items() if each.startswith(word) or word in (f"{each}s", f"{each}es"))
