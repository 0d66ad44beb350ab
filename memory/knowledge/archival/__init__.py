"""Archival entries: what an agent stores for later and finds again by label, by listing or by searching.

An entry records the people and messages that its words came from, so that it can be forgotten completely; `delete`
returns the other rows that hold its words. Nothing is merged across audiences.
"""

from memory.knowledge.archival.entries import ANY as ANY
from memory.knowledge.archival.entries import MAX_CONTENT as MAX_CONTENT
from memory.knowledge.archival.entries import Entry as Entry
from memory.knowledge.archival.entries import NewEntry as NewEntry
from memory.knowledge.archival.entries import Origin as Origin
from memory.knowledge.archival.entries import by_ids as by_ids
from memory.knowledge.archival.entries import categories as categories
from memory.knowledge.archival.entries import checked_content as checked_content
from memory.knowledge.archival.entries import derived_messages as derived_messages
from memory.knowledge.archival.entries import family_of as family_of
from memory.knowledge.archival.entries import in_use as in_use
from memory.knowledge.archival.entries import is_category as is_category
from memory.knowledge.archival.entries import is_of_upkeep as is_of_upkeep
from memory.knowledge.archival.entries import is_tag as is_tag
from memory.knowledge.archival.entries import latest as latest
from memory.knowledge.archival.entries import made_of as made_of
from memory.knowledge.archival.entries import noted_by as noted_by
from memory.knowledge.archival.entries import read as read
from memory.knowledge.archival.entries import seen_of_others as seen_of_others
from memory.knowledge.archival.entries import shown_name as shown_name
from memory.knowledge.archival.entries import stands as stands
from memory.knowledge.archival.entries import to_entry as to_entry
from memory.knowledge.archival.entries import turns_that_wrote as turns_that_wrote
from memory.knowledge.archival.journal import By as By
from memory.knowledge.archival.writes import any_to_purge as any_to_purge
from memory.knowledge.archival.writes import append as append
from memory.knowledge.archival.writes import delete as delete
from memory.knowledge.archival.writes import derive as derive
from memory.knowledge.archival.writes import insert as insert
from memory.knowledge.archival.writes import not_taken as not_taken
from memory.knowledge.archival.writes import origin_of as origin_of
from memory.knowledge.archival.writes import purge as purge
from memory.knowledge.archival.writes import put as put
from memory.knowledge.archival.writes import put_back as put_back
from memory.knowledge.archival.writes import remove as remove
from memory.knowledge.archival.writes import require_unused_label as require_unused_label
from memory.knowledge.archival.writes import restore as restore
from memory.knowledge.archival.writes import retire as retire
from memory.knowledge.archival.writes import store as store
from memory.knowledge.archival.writes import take_along as take_along
