"""`recall` beyond inserting: queries over entries and talk, categories, long entries, and other tools' names for it."""

from bot.agents.permissions.roles_and_rights import People
from bot.models.base import Call
from bot.services.caller import owner_at_terminal
from bot.services.memory.archival import Archive
from bot.services.results import Plain
from sources.terminal import PERSON
from tests.bot.agents.tools.test_tools import Scene, insert, only
from tests.bot.parts import BOB, NOON, call, channel, said
from tests.bot.services.calling import registry
from tests.bot.stage import OFFERED, Service, offered

ABROAD, OTHER = channel("port", of="abroad"), channel("annex")


async def test_a_query_finds_entries_and_talk_in_one(service: Service) -> None:
    scene = Scene(service)
    await scene.do(insert("The ferry to the island is red", category="places/sea", tags=("ferry",)))
    await service.heard(said("the ferry was late again", 50, speaker=BOB))
    found = only(await scene.do(call("recall", operation="query", query="ferry")))[0]
    assert "Ann in hall): The ferry to the island is red" in found
    assert "Bob in hall): the ferry was late again" in found
    for more in ({"category": "places"}, {"tags": ["ferry"]}):
        narrowed = only(await scene.do(call("recall", operation="query", query="ferry", **more)))[0]
        assert "island" in narrowed
        assert "late" not in narrowed
    text, ok = only(await scene.do(call("recall", operation="query", query="ferry", category="people")))
    assert (text, ok) == ("Nothing was found. Searched: 0 archival.", True)
    text, ok = only(await scene.do(call("recall", operation="query")))
    assert (ok, "query needs query" in text) == (False, True)


async def test_words_that_go_on_extend_an_entry_and_are_not_said_to_be_known(service: Service) -> None:
    scene = Scene(service)
    assert only(await scene.do(insert("I like green tea")))[0].startswith("stored as ent_")
    longer = only(await scene.do(insert("I like green tea and coffee")))[0]
    assert longer.startswith("stored with what it goes on from as ent_")
    again = only(await scene.do(insert("I like green tea and coffee!")))[0]
    assert again.startswith("it was known already and is stronger now as ent_")
    assert await service.column("SELECT content FROM archival_entries") == ["I like green tea and coffee"]


async def test_what_an_entry_is_kept_with_is_shown_where_it_is_read(service: Service) -> None:
    scene = Scene(service)
    more = {"label": "ferry", "tags": ["sea", "red"], "metadata": {"heard from": "Bob", "page": 3}}
    await scene.do(insert("The ferry is red", **more))
    for read in (call("recall", operation="read", label="ferry"), call("recall", operation="read")):
        text, ok = only(await scene.do(read))
        assert ok
        assert text.endswith("The ferry is red\n  kept with label ferry; tags sea, red; heard from=Bob; page=3")
    entries = registry(Archive(service.database, People((PERSON,)), service.clock))
    shown = await entries.call("archival.show", owner_at_terminal(), {"entry": "ferry"})
    assert shown.data()["metadata"] == {"heard from": "Bob", "page": 3}
    (_head, whole) = shown.lines(Plain("UTC", NOON))
    assert whole.splitlines()[1:] == ["(tags: sea, red)", "(heard from: Bob)", "(page: 3)"]


async def test_categories_are_counted_and_hold_what_they_may(service: Service) -> None:
    scene = Scene(service)
    for number, category in enumerate(("work", "work/plans", "work/plans")):
        assert only(await scene.do(insert(f"fact {number}", category=category, metadata={"n": number})))[1]
    assert only(await scene.do(call("recall", operation="categories")))[0] == "- work: 1\n- work/plans: 2"
    for category in ("a//b", "/a", "a b", "<b>", "a/"):
        text, ok = only(await scene.do(insert("x", category=category)))
        assert (ok, "is not a category" in text) == (False, True)
    assert await service.column("SELECT json_extract(metadata, '$.n') FROM archival_entries ORDER BY n") == [0, 1, 2]


async def test_a_passage_that_was_shown_is_noted_as_the_entry_that_it_is_of(service: Service) -> None:
    scene = Scene(service)
    content = "\n\n".join(f"The {word} stood there. " * 60 for word in ("harbour", "lantern", "tortoise"))
    await scene.do(insert(content, label="book"))
    (entry,) = await service.column("SELECT id FROM archival_entries WHERE parent_entry_id IS NULL")
    found = only(await scene.do(call("recall", operation="query", query="lantern"), place=ABROAD))[0]
    assert found.startswith("Nothing")
    found = only(await scene.do(call("recall", operation="query", query="lantern")))[0]
    assert f"- {entry}." in found
    service.clock.forward(60)
    await service.heard(said("what of the tortoise?", 60, OTHER))
    assert "The tortoise stood there." in service.model.requests[-1].messages[-1].text
    used = "SELECT DISTINCT row_id FROM turn_uses WHERE kind = 'entry'"
    assert await service.column(used) == [entry]
    text = only(await scene.do(call("recall", operation="delete", label=f"{entry}.2")))[0]
    assert text.startswith(f"forgotten: {entry};")
    assert await service.column("SELECT count(*) FROM archival_entries") == [0]
    assert await service.column(used) == []


async def test_other_names_are_understood_and_shown_to_nobody(service: Service) -> None:
    scene = Scene(service)
    found = await scene.do(
        call("core_memory_append", "1", label="human", content="Ann likes tea."),
        call("core_memory_update", "2", block="human", old_content="tea", new_content="coffee"),
        call("archival_insert", "3", content="The ferry is red", label="ferry"),
        call("archival_search", "4", query="ferry"),
        call("save_memory", "5", content="The harbour is shut", category="places"),
        call("search_memory", "6", query="harbour", category="places"),
        call("list_memory_categories", "7"),
        call("delete_memory", "8", id="ferry"),
        Call("9", "save_memory", "not json"),
    )
    assert [ok for _text, ok in found] == [*[True] * 8, False]
    assert "The arguments of recall are wrong" in found[8][0]
    assert "The ferry is red" in found[3][0]
    assert found[6][0] == "- places: 1"
    assert await service.column("SELECT content FROM archival_entries") == ["The harbour is shut"]
    assert await service.column("SELECT content FROM memory_blocks WHERE label = 'human'") == ["Ann likes coffee.\n"]
    assert offered(service.model.requests[-1]) == list(OFFERED)


async def test_other_names_take_the_arguments_that_models_know_them_with(service: Service) -> None:
    scene = Scene(service)
    metadata = {"source": "Bob", "pages": [3, 4], "seen": True, "until": None}
    found = await scene.do(
        call("archival_insert", "1", content="The ferry is red", metadata=metadata),
        call("archival_insert", "2", content="The ferry is late", metadata=None),
        call("archival_search", "3", query="ferry", limit=1),
        call("archival_search", "4", query="ferry", limit=None),
        call("recall", "5", query="ferry", limit=1),
        Call("6", "core_memory_append", '{"name": "human", "content": "Ann likes tea."}'),
        call("core_memory_update", "7", label="human", content="Ann likes coffee."),
        call("recall", "8"),
    )
    assert [ok for _text, ok in found] == [*[True] * 7, False]
    assert [text.count("The ferry is ") for text, _ok in found[2:5]] == [1, 2, 1]
    assert await service.column("SELECT content FROM memory_blocks WHERE label = 'human'") == ["Ann likes coffee.\n"]
    assert await service.column("SELECT metadata FROM archival_entries ORDER BY n") == [
        '{"source": "Bob", "pages": "[3, 4]", "seen": true}',
        "{}",
    ]
