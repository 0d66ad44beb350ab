"""Entries that are said again: in the same words, or in words that continue them."""

from datetime import datetime

from memory.knowledge.entries import LIVING, MAX_TAGS, USUAL_IMPORTANCE, Entry, NewEntry, checked, to_entry, with_origin
from memory.store.database import Rows
from memory.store.ids import AgentId
from memory.store.records import replace
from texts import gettext_lazy

MARKS = " .!?…"
"""Marks at the end of a sentence that do not make it a different one."""
_INDEXED = 64
_BEGINNING = f"substr(rtrim(content, '{MARKS}'), 1, {_INDEXED})"  # as in the index `archival_begins`
_LEAST_EXTENDED = 8  # characters: many sentences begin with shorter words

BEGUN_BY = f"""SELECT * FROM archival_entries WHERE agent_id = :agent AND audience = :audience
    AND {_BEGINNING} IN (SELECT value FROM json_each(:begins)) AND person_id IS :person AND parent_entry_id IS NULL
    AND (content = :new OR (length(rtrim(content, :marks)) >= :least
      AND substr(:new, 1, length(rtrim(content, :marks))) = rtrim(content, :marks)))
    AND {LIVING} ORDER BY length(content) DESC, n"""


def is_known(rows: Rows, agent: AgentId, new: NewEntry) -> bool:
    """Whether an entry has all of these words, so that `insert` reinforces it without extending it."""
    new = checked(new)
    same = begun_by(rows, agent, new)
    return same is not None and len(new.content.rstrip(MARKS)) <= len(same.content.rstrip(MARKS))


def begun_by(rows: Rows, agent: AgentId, new: NewEntry) -> Entry | None:
    """The longest entry whose words equal or begin the new ones."""
    found = rows.all(
        BEGUN_BY,
        {
            "agent": agent,
            "audience": new.origin.scope.audience,
            "person": new.origin.person,
            "begins": _beginnings(new.content),
            "new": new.content,
            "marks": MARKS,
            "least": _LEAST_EXTENDED,
        },
    )
    for row in found:
        begins, rest = len(row["content"].rstrip(MARKS)), new.content
        if row["content"] == rest or not rest[begins:].rstrip(MARKS) or not rest[begins].isalnum():
            return to_entry(row)
    return None


def _beginnings(text: str) -> list[str]:
    """What the index may hold for entries whose text equals this one or begins it, up to the end of a word."""
    ends = [at for at in range(min(len(text), _INDEXED + 1)) if not text[at].isalnum()]
    short = {text[:at].rstrip(MARKS) for at in ends}
    return sorted({part for part in short if part} | {text.rstrip(MARKS)[:_INDEXED], text[:_INDEXED]})


def reinforced(entry: Entry, new: NewEntry, now: datetime) -> Entry:
    """An entry after its words were said again; longer if they went on."""
    longer = new.content if len(new.content.rstrip(MARKS)) > len(entry.content.rstrip(MARKS)) else entry.content
    stronger = replace(
        entry,
        content=longer,
        updated_at=entry.updated_at if longer == entry.content else now,
        label=entry.label or new.label,
        category=entry.category or new.category,
        tags=tuple(dict.fromkeys((*entry.tags, *new.tags)))[:MAX_TAGS],
        metadata={**new.metadata, **entry.metadata},
        importance=max(entry.importance, new.importance),
        reinforcement=entry.reinforcement + 1,
        last_seen=now,
    )
    return with_origin(stronger, new.origin)


def not_taken(entry: Entry, new: NewEntry) -> list[str]:
    """In words: how the entry that `insert` returned differs from the wanted one, since it existed before."""
    new = checked(new)
    keys = sorted(key for key, value in new.metadata.items() if entry.metadata.get(key) != value)
    tags = [tag for tag in new.tags if tag not in entry.tags]
    given = ", ".join
    wanted = [
        (new.label not in (None, entry.label), gettext_lazy("the label: it is “{label}”", label=entry.label)),
        (new.category not in ("", entry.category), gettext_lazy("the category: it is {name}", name=entry.category)),
        (
            new.importance not in (USUAL_IMPORTANCE, entry.importance),
            gettext_lazy("the importance: it is {number:g}", number=entry.importance),
        ),
        (bool(keys), gettext_lazy("the metadata {keys}: it has other values", keys=given(keys))),
        (bool(tags), gettext_lazy("the tags {tags}: it has {most} already", tags=given(tags), most=MAX_TAGS)),
    ]
    return [words for left, words in wanted if left]
