"""The search command, with words and conditions as people write them; `memory.search` searches in a scope."""

import dataclasses
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from bot.agents.permissions.roles_and_rights import Action
from bot.agents.tools.search import (
    Beside,
    Where,
    Why,
    author_meant,
    category_meant,
    domains_of,
    nothing_searched,
    place_meant,
    tags_meant,
)
from bot.agents.turn_deps import OfFolders
from bot.errors import UserError
from bot.models.language_detection import spoken
from bot.models.offline.language import language
from bot.services.caller import Caller, Via
from bot.services.memory.archival import agents_called
from bot.services.names import is_shared, place_as_read, where
from bot.services.people.tasks import STATES
from bot.services.registry import Arguments, Param, Suggestions, operation, suggestions
from bot.services.results import Markup, Result, Row
from bot.services.transactions import ZonedService
from bot.upkeep.embedding import QueryMeaning
from memory.knowledge.entries import shown_name
from memory.people.audience import Scope
from memory.people.identities import label_called, place_called
from memory.queue import inbox, messages
from memory.search import query
from memory.search.all_domains import search
from memory.search.query import Domain, Hit, Query, Results, learned_from
from memory.store.database import Rows
from memory.store.ids import MessageId, PlaceId
from memory.store.records import asdict, replace
from scheduler.dates.command_times import MOMENTS, moment_said
from scheduler.zones import zone_of
from sources.text import one_line
from texts import _, gettext_noop, ngettext, ngettext_noop

ME = "me"
_EVERY: tuple[Domain, ...] = get_args(Domain)
_OFFERED = 200  # names to choose from
_SHOWN, _BESIDE = 300, 120  # length of one hit, and of the messages before and after it
_PLACES = {
    "archival_memory": gettext_noop("Stored entries"),
    "constellation_messages": gettext_noop("All agents' conversations"),
    "all": gettext_noop("Everything"),
}
_ROLES = {"user": gettext_noop("People"), "assistant": gettext_noop("Agents")}
_FILTERS = {"tags": "tag", "person": "author"}
"""Their names for people, where those differ."""
_LONGEST_NAME = 100  # of Discord's suggestions

_Text = Annotated[str, Param("Words to search for (default: show the newest)", positional=True)]
_Limit = Annotated[int, Field(ge=1, le=100), Param("Maximum number to show", metavar="ROWS")]
_Agent = Annotated[str, Param("Only this agent's memory", metavar="NAME", suggests="agents")]
_Category = Annotated[str, Param("Only this category and those below it", metavar="PATH", suggests="categories")]
_Tags = Annotated[
    tuple[str, ...],
    Param("Only entries with this tag (if several are given, with all of them)", metavar="WORD", suggests="tags"),
]


class SearchEntries(Arguments):
    text: _Text = ""
    category: _Category = ""
    tag: _Tags = ()
    limit: _Limit = 8
    agent: _Agent = ""


class SearchTerms(SearchEntries):
    """A search as people write it; empty fields are no condition.

    `since` is inclusive, and so is a day in `until`. Without domains the usual ones are searched. Without text, the
    newest records that meet the conditions are listed.
    """

    domain: Annotated[
        Where | None, Param("Where to search (default: entries, messages, blocks, facts and tasks)", labels=_PLACES)
    ] = None
    author: Annotated[str, Param("Only from this author; “me” for yourself", suggests="authors")] = ""
    role: Annotated[
        Literal["user", "assistant"] | None, Param("Only from people, or only from agents", labels=_ROLES)
    ] = None
    place: Annotated[str, Param("Only from this channel", suggests="places")] = ""
    since: Annotated[
        str, Param("Start of the period: a date, with or without a time, or an age such as 8h or 2d", metavar="WHEN")
    ] = ""
    until: Annotated[
        str, Param("End of the period, in the same formats; a date includes the whole day", metavar="WHEN")
    ] = ""


_SEARCHED = {
    "archival": ngettext_noop("{count} entry", "{count} entries"),
    "archival_blocks": ngettext_noop("{count} block", "{count} blocks"),
    "messages": ngettext_noop("{count} message", "{count} messages"),
    "blocks": ngettext_noop("{count} block", "{count} blocks"),
    "activity": ngettext_noop("{count} activity note", "{count} activity notes"),
    "files": ngettext_noop("{count} file", "{count} files"),
    "facts": ngettext_noop("{count} fact", "{count} facts"),
    "tasks": ngettext_noop("{count} task", "{count} tasks"),
    "summaries": ngettext_noop("{count} summary", "{count} summaries"),
}
"""What was searched, by domain."""
_KINDS = {
    "block": gettext_noop("block"),
    "entry": gettext_noop("stored entry"),
    "message": gettext_noop("message"),
    "event": gettext_noop("activity"),
    "fact": gettext_noop("fact"),
    "task": gettext_noop("task"),
    "summary": gettext_noop("summary"),
    "passage": gettext_noop("file"),
}


class HitRow(Row):
    """A hit, the reason for it, and the messages before and after it."""

    kind: str
    id: str
    label: str
    text: str
    by: str = Field(validation_alias="speaker")
    audience: str
    where: str
    """The place of a message; for other hits the audience, by name."""
    when: datetime
    why: str
    perhaps: bool
    """A guess: only a weak similarity of meaning supports it."""
    matched: Why = Field(exclude=True)
    """Why it was found, for programs."""
    mine: frozenset[str] = Field(exclude=True)
    """The ids of messages that the reader wrote."""
    source: str = Field(exclude=True)
    """The id of the message, also among the hits, that is its only source."""
    before: Beside | None
    after: Beside | None

    @classmethod
    def of(cls, hit: Hit, where: str, mine: frozenset[str], source: str) -> "HitRow":
        more = {"before": Beside.of(hit.before), "after": Beside.of(hit.after), "mine": mine, "source": source}
        text, matched = _(hit.text) if hit.kind == "event" else hit.text, Why.of(hit)
        return cls.from_record(hit, **more, text=text, where=where, why=why_words(matched), matched=matched)

    @property
    def name(self) -> str:
        if self.kind == "task":
            return _(STATES.get(self.label, ""))
        if self.kind == "fact":  # of a category that only a program needs
            return ""
        return shown_name(self.label, "") if self.kind == "entry" else self.label

    @property
    def who(self) -> str:
        return self._called(self.source or self.id, self.by)

    @property
    def reason(self) -> str:
        """The reason on pages, where a badge marks guesses."""
        return why_words(dataclasses.replace(self.matched, perhaps=False))

    def data(self) -> dict[str, Any]:
        return {**self.model_dump(mode="json"), **asdict(self.matched)}

    def line(self, markup: Markup) -> str:
        kind = "" if self.kind == "message" else f"{_(_KINDS[self.kind])} {self.name}".strip()
        where = self.where if self.by or is_shared(self.audience) else ""
        told = [markup.text(one_line(each)) for each in (kind, self.who, where) if each]
        told += [markup.time(self.when), *filter(None, [_certainty(self.matched)])]
        around = ((_("just before"), self.before), (_("just after"), self.after)) if self.matched.around else ()
        beside = [f"{word}: {markup.text(one_line(self._said(said), _BESIDE))}" for word, said in around if said]
        said = self.text.replace("**", "") if self.kind == "message" else self.text
        return "\n".join([markup.quote(one_line(said, _SHOWN)), *map(markup.small, (*beside, ", ".join(told)))])

    def _said(self, beside: Beside) -> str:
        return f"{self._called(beside.id, beside.by)}: {beside.text}"

    def _called(self, message: str, name: str) -> str:
        return _("You").lower() if message in self.mine else name  # "you" is translated as an object


def why_words(told: Why) -> str:
    """The reason for a hit in the reader's language; `bot.agents.tools.search` has the one for models."""
    parts = [
        _certainty(told),
        _("contains {words}", words=", ".join(told.matched)) if told.matched else "",
        _("nearby: {words}", words=", ".join(told.around)) if told.around else "",
        _("said by the person you named") if told.named else "",
    ]
    return "; ".join(filter(None, parts))


def _certainty(told: Why) -> str:
    """A remark on a hit that has none of the words, not even around it; else empty."""
    if told.perhaps:
        return _("perhaps")
    return "" if told.matched or told.around or told.named or told.distance is None else _("similar in meaning")


class SearchResults(Result):
    hits: tuple[HitRow, ...]
    searched: dict[str, int] = Field(validation_alias="seen")
    unmet: str
    """Why nothing was searched, if so."""
    filters: tuple[str, ...] = Field(default=(), exclude=True)
    """The conditions that nothing in the searched domains can meet."""
    words_alone: str
    """Why meaning was not searched, if so."""
    partly: bool = False
    """Meaning was not searched for the newest texts only."""
    newest: bool
    """The rows are a listing, without a text to search for."""

    @classmethod
    def of(
        cls, found: Results, places: Mapping[str, str], mine: frozenset[str], learned: Mapping[tuple[str, str], str]
    ) -> "SearchResults":
        hits = tuple(
            HitRow.of(hit, places[hit.place or hit.audience], mine, learned.get((hit.kind, hit.id), ""))
            for hit in found.hits
        )
        return cls.from_record(found, hits=hits, unmet=nothing_searched(found.unmet), filters=found.unmet)

    @property
    def shown(self) -> list[HitRow]:
        """The hits for people: a message is replaced by what was learned from it alone, with speaker, place and time,
        and is as certain as the surer of the two."""
        said = {hit.id: hit for hit in self.hits if hit.kind == "message"}
        learned = {hit.source: hit for hit in reversed(self.hits) if hit.source in said}
        rows = dict[object, HitRow]()
        for hit in self.hits:
            row = told = learned.get(hit.id, hit) if hit.kind == "message" else hit
            if source := said.get(told.source):
                more = {"by": source.by, "where": source.where, "when": source.when}
                sure = told if told.matched.matched or source.perhaps else source
                row = told.model_copy(update={**more, "perhaps": sure.perhaps, "matched": sure.matched})
            rows.setdefault((told.source, told.text) if source else id(told), row)
        return list(rows.values())

    @property
    def nothing(self) -> str:
        where = ", ".join(ngettext(*_SEARCHED[domain], count) for domain, count in self.searched.items())
        if self.unmet:
            named = ", ".join(_FILTERS.get(name, name) for name in self.filters)
            return ngettext(
                "Nothing was searched: the filter “{filters}” does not apply to anything you chose to search.",
                "Nothing was searched: the filters “{filters}” do not apply together to anything you chose to search.",
                len(self.filters),
                filters=named,
            )
        return _("Nothing was found. Searched: {where}.", where=where)

    @property
    def how(self) -> list[str]:
        """Notes on the search: a listing, guesses, or a search by words only."""
        late = _("Some items are not searchable by meaning yet. They were searched by words only.")
        words = (late if self.partly else _("Searched by words only.")) if self.words_alone else ""
        guess = any(hit.perhaps for hit in self.shown)
        perhaps = _("“Perhaps” marks guesses: they contain none of the words and are only somewhat close in meaning.")
        order = _("These are the newest. Add words to search for.") if self.newest and self.hits else ""
        return list(filter(None, (order, perhaps if guess else "", words)))

    def lines(self, markup: Markup) -> list[str]:
        hits = [hit.line(markup) for hit in self.shown] or [self.nothing]
        return [*hits, *(markup.small(markup.text(line)) for line in self.how)]

    def data(self) -> dict[str, Any]:
        return {**self.model_dump(mode="json"), "hits": [hit.data() for hit in self.hits]}

    def terminal(self, markup: Markup) -> str:
        why = [_("Why: {reason}.", reason=one_line(self.words_alone, 120))] if self.words_alone else []
        return "\n".join([*self.lines(markup), *why])


def _is_help(text: str) -> bool:
    """Whether an answer is the help of the offline model, whose examples are nobody's words."""
    return any(language(code).say("help") in text for code in spoken())


class Search(ZonedService, frozen=True):
    """The search of one constellation."""

    understood: Callable[[str], Awaitable[QueryMeaning]]
    of_folders: OfFolders

    @operation("search", "Search the messages and memory you can see", Action.SEARCH)
    async def search(self, caller: Caller, arguments: SearchTerms) -> SearchResults:
        """Search what the caller may know, of one agent (including its own conversations) or of all.

        A condition with an unknown name is refused, and the error lists known ones.
        """
        asked = await self.understood(arguments.text) if arguments.text.strip() else QueryMeaning()

        wanted = await self.database.read(lambda rows: self._query(rows, caller, arguments))
        files = wanted.text.strip() and "files" in wanted.domains
        apart = await self.of_folders(wanted.text, wanted.agent, caller.scope, wanted.path) if files else {}
        query = replace(wanted, meaning=asked.meaning, of_folders=apart)

        why = "" if apart and wanted.domains == {"files"} else asked.why

        def find(rows: Rows) -> SearchResults:
            found = search(rows, query, caller.scope)
            hits = found.hits
            if not found.newest:  # answers repeat what people said, so they come later; guesses are last
                hits = sorted(hits, key=lambda hit: (hit.perhaps, hit.role == "assistant"))
            hits = [each for each in hits if each.role != "assistant" or not _is_help(each.text)]
            hits = [replace(each, label=label_called(rows, each.label or "", caller.scope)) for each in hits]
            found = replace(found, hits=hits, words_alone=why)
            places, mine = self._places(rows, caller, hits), self._mine(rows, caller, hits)
            return SearchResults.of(found, places, mine, learned_from(rows, hits))

        found = await self.database.read(find)
        return found.model_copy(update={"partly": asked.meaning is not None or bool(apart)})

    @operation("archival.search", "Search the entries you can see", Action.SEARCH)
    async def search_entries(self, caller: Caller, arguments: SearchEntries) -> SearchResults:
        return await self.search(caller, SearchTerms(domain="archival_memory", **arguments.model_dump()))

    @suggestions("places")
    def places(self, rows: Rows, caller: Caller) -> Suggestions:
        known = inbox.known_places(rows, caller.scope, _OFFERED)
        return [(each.id, each.name or each.id) for each in known]

    @suggestions("authors")
    def authors(self, rows: Rows, caller: Caller) -> Suggestions:
        return _same([ME, *query.speakers(rows, caller.scope, _OFFERED)])

    @suggestions("categories")
    def categories(self, rows: Rows, caller: Caller) -> Suggestions:
        return _same(query.categories(rows, frozenset(_EVERY), None, caller.scope))

    @suggestions("tags")
    def tags(self, rows: Rows, caller: Caller) -> Suggestions:
        return _same(query.tags(rows, None, caller.scope))

    def _places(self, rows: Rows, caller: Caller, hits: Iterable[Hit]) -> dict[str, str]:
        """The names of places and audiences."""
        told = dict[str, str]()
        for hit in hits:
            name = place_called(rows, hit.place, caller.scope) if hit.place else ""
            place = place_as_read(name, hit.audience) or where(rows, hit.audience, caller.scope)
            told[hit.place or hit.audience] = place
        return told

    def _mine(self, rows: Rows, caller: Caller, hits: Iterable[Hit]) -> frozenset[str]:
        """The messages among those shown that the caller wrote."""
        own = self.people.selves(caller.person)
        said = messages.by_ids(rows, [MessageId(int(hit.id)) for hit in hits if hit.kind == "message"], caller.scope)
        beside = [each for hit in hits for each in (hit.before, hit.after) if each]
        return frozenset(str(each.id) for each in (*said, *beside) if each.role == "user" and each.person in own)

    def _query(self, rows: Rows, caller: Caller, wanted: SearchTerms) -> Query:
        """The query of the store. Raises UserError, Refused."""
        domains = domains_of(wanted.domain)
        agent = agents_called(rows, wanted.agent)[0].id if wanted.agent else None
        mine = wanted.author.strip().casefold() == ME
        if mine and wanted.role == "assistant":
            raise UserError(
                "Your own messages are not from agents. Leave out the role, or name an agent as the author."
            )
        since, until = _times(wanted, self.clock(), self.zone_of(rows, caller))
        # Discord splits at commas, and a tag can contain one.
        tags = (", ".join(wanted.tag),) if caller.via is Via.DISCORD else wanted.tag
        return Query(
            text=wanted.text,
            agent=agent,
            domains=domains,
            talking=None if wanted.domain == "constellation_messages" else agent,
            person=caller.person if mine else None,
            author=None if mine else author_meant(rows, wanted.author.strip(), caller.scope),
            role="user" if mine and "messages" in domains else wanted.role,
            place=_place(rows, wanted.place.strip(), caller.scope),
            since=since,
            until=until,
            category=category_meant(rows, wanted.category.strip(), domains, agent, caller.scope),
            tags=tags_meant(rows, tags, domains, agent, caller.scope),
            asker=caller.person,
            limit=wanted.limit,
            guesses=True,
        )


def _same(names: Iterable[str]) -> Suggestions:
    """Names that are their own display text, each suggested once."""
    return [name for name in dict.fromkeys(names) if 0 < len(name) <= _LONGEST_NAME]


def _times(wanted: SearchTerms, now: datetime, zone: str) -> tuple[datetime | None, datetime | None]:
    since = _moment(wanted.since, now, zone)
    until = _moment(_day_after(wanted.until), now, zone)
    if since is not None and until is not None and since >= until:
        raise UserError("“{until}” is not later than “{since}”.", since=wanted.since, until=wanted.until)
    return since, until


def _moment(said: str, now: datetime, zone: str) -> datetime | None:
    if not said.strip():
        return None
    found = moment_said(said, now, zone_of(zone))
    if found is None:
        raise UserError("“{said}” is not a time. Use {moments}.", said=said, moments=_(MOMENTS))
    return found.astimezone(UTC)


def _day_after(said: str) -> str:
    """The next day if the text is a day, because a day counts whole; else unchanged."""
    try:
        return (date.fromisoformat(said.strip()) + timedelta(days=1)).isoformat()
    except (ValueError, OverflowError):
        return said


def _place(rows: Rows, name: str, scope: Scope) -> PlaceId | None:
    return place_meant(inbox.known_places(rows, scope), name).id if name else None
