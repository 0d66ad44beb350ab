"""One search over archival entries, messages and blocks: by words, and by meaning where there is an embedder.

Every condition, the audience first, stands inside the SQL, before anything is ranked or cut. Each domain is ranked
for itself and divided by its best, since the numbers of two indexes cannot be compared. See docs/search.md.
"""

from memory.search.lookup import COUNTED_ROWS
from memory.search.meaning import Meaning
from memory.search.query import (
    DOMAINS,
    MAX_HITS,
    Among,
    Close,
    Domain,
    Hit,
    Kind,
    Near,
    Nearness,
    Query,
    Results,
    Surroundings,
)
from memory.search.search import search, searchable

__all__ = [
    "COUNTED_ROWS",
    "DOMAINS",
    "MAX_HITS",
    "Among",
    "Close",
    "Domain",
    "Hit",
    "Kind",
    "Meaning",
    "Near",
    "Nearness",
    "Query",
    "Results",
    "Surroundings",
    "search",
    "searchable",
]
