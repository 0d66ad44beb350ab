"""One search over archival entries, messages, blocks and more: by words and, with an embedder, by meaning.

Every condition, the audience first, is part of the SQL, so nothing is ranked or cut before it. Each domain is ranked
separately and divided by its best score, since scores of two indexes cannot be compared. See docs/search.md.
"""
