"""One search over archival entries, messages and blocks: by words, and by meaning where there is an embedder.

Every condition, the audience first, stands inside the SQL, before anything is ranked or cut. Each domain is ranked
for itself and divided by its best, since the numbers of two indexes cannot be compared. See docs/search.md.
"""
