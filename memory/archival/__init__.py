"""Archival entries: what an agent keeps for later and finds again by label, by listing or by searching.

An entry holds words of a person, learned from a message in a turn; so that it can be forgotten wholly, it
knows them all, and `delete` says which other rows hold its words. Nothing is merged across audiences.
"""

from memory.archival.entries import (
    MAX_CONTENT,
    Deleted,
    Entry,
    NewEntry,
    Origin,
    checked_content,
    is_category,
    to_entry,
)
from memory.archival.expanding import derive, origin_of
from memory.archival.journal import By
from memory.archival.persons import count_person, erase_person, export_person
from memory.archival.reading import (
    by_ids,
    categories,
    derived_messages,
    family_of,
    is_of_upkeep,
    latest,
    made_of,
    noted_by,
    read,
    seen_of_others,
    standing,
    stands,
    turns_that_wrote,
)
from memory.archival.storing import (
    any_to_purge,
    append,
    delete,
    insert,
    not_taken,
    purge,
    put,
    put_back,
    remove,
    require_free,
    restore,
    retire,
    store,
    take_along,
)

__all__ = [
    "MAX_CONTENT",
    "By",
    "Deleted",
    "Entry",
    "NewEntry",
    "Origin",
    "any_to_purge",
    "append",
    "by_ids",
    "categories",
    "checked_content",
    "count_person",
    "delete",
    "derive",
    "derived_messages",
    "erase_person",
    "export_person",
    "family_of",
    "insert",
    "is_category",
    "is_of_upkeep",
    "latest",
    "made_of",
    "not_taken",
    "noted_by",
    "origin_of",
    "purge",
    "put",
    "put_back",
    "read",
    "remove",
    "require_free",
    "restore",
    "retire",
    "seen_of_others",
    "standing",
    "stands",
    "store",
    "take_along",
    "to_entry",
    "turns_that_wrote",
]
