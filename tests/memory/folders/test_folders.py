"""Folders in the store: who may know of them, how their index follows a directory, and how their files are found."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from memory.folders import disk
from memory.folders import rows as folders
from memory.folders.index import Progress, index
from memory.folders.rows import Folder
from memory.people.audience import OWNER, PUBLIC, Audience, Scope, person_audience
from memory.search import vectors
from memory.search.all_domains import search
from memory.search.query import Query
from memory.search.vector_similarity import Meaning
from memory.store.database import Database, Rows, Tx
from memory.store.errors import Refused
from memory.store.faults import commit_point
from memory.store.ids import AgentId
from memory.store.migrations import Kind, prepare
from memory.store.records import replace
from tests.memory.parts import ANN, BOB, GUILD, NOON, STAR, kept_of, opened
from tests.memory.search.vector_parts import DIMENSION, MODEL, embed, embed_all, held, pointing

SETUP = commit_point("test_folders.setup")
MINE, HERE, ABROAD = Scope(OWNER), Scope(GUILD), Scope(Audience("guild:discord:2"))
OTHER = AgentId("agt_other")


def virtual(tx: Tx, name: str = "notes", audience: Audience = OWNER, agent: AgentId = STAR) -> Folder:
    folder = folders.create(tx, Folder(name, "virtual", audience, "Notes"), NOON)
    folders.attach(tx, folder.id, agent, "read", NOON)
    return folder


def upload(tx: Tx, folder: Folder, name: str, text: str) -> None:
    folders.put(tx, folder, folders.from_content(name, text.encode()), NOON)


def found(tx: Rows, text: str, scope: Scope, agent: AgentId = STAR, path: str = "") -> list[tuple[str | None, str]]:
    query = Query(text, agent, frozenset({"files"}), path=path)
    return [(hit.label, hit.text) for hit in search(tx, query, scope).hits]


# ----------------------------------------------------------------------------------------------------- who may know


def test_a_folder_is_the_owners_until_the_owner_widens_it(tx: Tx) -> None:
    folder = virtual(tx)
    upload(tx, folder, "a.txt", "the ferry leaves at nine")
    for scope in (HERE, Scope(PUBLIC), Scope(person_audience(ANN))):
        assert folders.folders(tx, scope) == []
        assert folders.attached(tx, STAR, scope) == []
        assert folders.files(tx, folder.id, scope) == []
        assert folders.file(tx, folder.id, "a.txt", scope) is None
        assert found(tx, "ferry", scope) == []
    held = folders.file(tx, folder.id, "a.txt", MINE)
    assert held is not None
    assert folders.content(tx, held.id, HERE) is None
    assert folders.content(tx, held.id, MINE) == b"the ferry leaves at nine"
    folders.set_audience(tx, folder.id, GUILD)
    assert found(tx, "ferry", HERE) == [("notes/a.txt:1-1", "the ferry leaves at nine")]
    assert folders.content(tx, held.id, HERE) is not None
    assert found(tx, "ferry", ABROAD) == []
    folders.set_audience(tx, folder.id, OWNER)
    assert found(tx, "ferry", HERE) == []


def test_only_agents_that_have_a_folder_find_its_words(tx: Tx) -> None:
    folder = virtual(tx)
    upload(tx, folder, "a.txt", "the ferry leaves at nine")
    assert found(tx, "ferry", MINE, OTHER) == []
    folders.attach(tx, folder.id, OTHER, "read_write", NOON)
    assert len(found(tx, "ferry", MINE, OTHER)) == 1
    assert folders.agents_of(tx, folder.id) == [(OTHER, "read_write"), (STAR, "read")]
    assert folders.detach(tx, folder.id, OTHER)
    assert not folders.detach(tx, folder.id, OTHER)
    assert found(tx, "ferry", MINE, OTHER) == []


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[Tx]:
    """A file, where meanings are compared."""
    made = opened(tmp_path)
    yield made
    made._raw.close()


def test_meaning_finds_passages_within_the_scope_and_goes_with_them(stored: Tx) -> None:
    tx, folder = stored, virtual(stored)
    upload(tx, folder, "a.txt", "ferry departure nine")
    upload(tx, virtual(tx, "abroad", PUBLIC), "b.txt", "ferry departure ten")
    embed_all(tx)
    meaning = Meaning(MODEL, pointing("a.txt ferry departure nine"))
    query = Query("unrelated", STAR, frozenset({"files"}), meaning=meaning)
    assert search(tx, query, MINE).hits[0].label == "notes/a.txt:1-1"
    assert [hit.label for hit in search(tx, query, HERE).hits] == ["abroad/b.txt:1-1"]
    folders.set_audience(tx, folder.id, GUILD)
    assert vectors.progress(tx).waiting == 1  # embedded anew for those who hear it now
    embed_all(tx)
    assert len(search(tx, query, HERE).hits) == 2
    folders.remove(tx, folder.id)
    assert [kind for kind, _ in held(tx)] == ["passage"]


def test_a_search_is_kept_to_a_folder_a_directory_or_a_file(tx: Tx) -> None:
    notes, other = virtual(tx), virtual(tx, "notes2")
    upload(tx, notes, "trips/a.txt", "the ferry leaves at nine")
    upload(tx, notes, "b.txt", "the ferry leaves at ten")
    upload(tx, other, "c.txt", "the ferry leaves at noon")
    places = {path: sorted(label or "" for label, _ in found(tx, "ferry", MINE, path=path)) for path in
              ("", "notes", "notes/trips", "notes/b.txt", "notes/b")}  # fmt: skip
    assert places == {
        "": ["notes/b.txt:1-1", "notes/trips/a.txt:1-1", "notes2/c.txt:1-1"],
        "notes": ["notes/b.txt:1-1", "notes/trips/a.txt:1-1"],
        "notes/trips": ["notes/trips/a.txt:1-1"],
        "notes/b.txt": ["notes/b.txt:1-1"],
        "notes/b": [],
    }


def test_other_searches_do_not_look_into_files(tx: Tx) -> None:
    upload(tx, virtual(tx), "a.txt", "the ferry leaves at nine")
    assert search(tx, Query("ferry", STAR), MINE).hits == []


# ------------------------------------------------------------------------------------------------------------ files


def test_what_is_too_large_for_a_virtual_folder_is_refused_with_the_numbers(
    tx: Tx, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = virtual(tx)
    large = replace(folders.from_content("a.txt", b"x"), size=folders.MAX_CONTENT + 1)
    with pytest.raises(Refused, match=r"8,000,001 bytes, and .* takes files of up to 8,000,000"):
        folders.put(tx, folder, large, NOON)
    monkeypatch.setattr(folders, "MAX_FOLDER", 10)
    for words in ("nine", "half past"):  # the second in place of the first
        upload(tx, folder, "a.txt", words)
    upload(tx, virtual(tx, "other"), "b.txt", "at ten")
    with pytest.raises(Refused, match="the folder “notes” would have more than 10 bytes"):
        upload(tx, folder, "b.txt", "at")
    assert [each.name for each in folders.files(tx, folder.id, MINE)] == ["a.txt"]


def test_a_folder_that_was_removed_takes_no_file(tx: Tx) -> None:
    folder = virtual(tx)
    folders.remove(tx, folder.id)
    with pytest.raises(Refused, match="has been removed"):
        upload(tx, folder, "a.txt", "x")


def test_a_file_gets_the_audience_that_its_folder_has_now(tx: Tx) -> None:
    folder = virtual(tx, audience=PUBLIC)
    folders.set_audience(tx, folder.id, OWNER)
    upload(tx, folder, "a.txt", "the ferry leaves at nine")  # by who read the folder before
    assert found(tx, "ferry", HERE) == []


def test_an_export_gives_what_stands_in_files_of_one_person_alone(tx: Tx) -> None:
    folder = virtual(tx)
    for name, people in (("own.txt", (ANN,)), ("shared.txt", (ANN, BOB)), ("theirs.txt", (BOB,))):
        new = folders.from_content(name, b"the key is under the stone")
        folders.put(tx, folder, replace(new, people=people), NOON)
    exported = kept_of("folders").export(tx, ANN)
    assert [each["file"] for each in exported] == ["own.txt", "shared.txt"]
    assert [each.get("content") for each in exported] == ["the key is under the stone", None]
    assert str(BOB) not in str(exported)


def test_two_folders_cannot_have_one_name(tx: Tx) -> None:
    virtual(tx)
    with pytest.raises(Refused, match="already"):
        virtual(tx)


# --------------------------------------------------------------------------------------------------------- indexing


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    path = tmp_path / "data" / "carina.db"
    prepare(path, Kind.CONSTELLATION)
    async with Database.open(path) as opened:
        yield opened


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    (tmp_path / "papers").mkdir()
    return tmp_path / "papers"


async def local(database: Database, directory: Path) -> Folder:
    def work(tx: Tx) -> Folder:
        folder = folders.create(tx, Folder("papers", "local", OWNER, path=str(directory)), NOON)
        folders.attach(tx, folder.id, STAR, "read", NOON)
        return folder

    return await database.write(SETUP, work)


async def indexed(database: Database, folder: Folder, seconds: float = 60) -> Progress:
    return await index(database, folder, lambda: NOON, seconds)


async def test_a_file_that_was_written_anew_with_the_same_words_keeps_its_passages(
    database: Database, papers: Path
) -> None:
    folder = await local(database, papers)
    (papers / "a.txt").write_text("the ferry leaves at nine")
    await indexed(database, folder)
    before = await database.read(lambda rows: [tuple(row) for row in rows.all("SELECT id FROM file_passages")])
    (papers / "a.txt").write_text("the ferry leaves at nine")
    assert await indexed(database, folder) == Progress(1, 0, 0, 0)
    after = await database.read(lambda rows: [tuple(row) for row in rows.all("SELECT id FROM file_passages")])
    assert before == after


async def test_an_indexing_that_is_cut_off_goes_on_where_it_was(database: Database, papers: Path) -> None:
    folder = await local(database, papers)
    for number in range(3):
        (papers / f"{number}.txt").write_text(f"page {number}")
    (papers / "0.txt").write_text("page nought")
    assert await indexed(database, folder, seconds=-1) == Progress(3, 2, 1, 0)
    assert not (await database.read(lambda rows: folders.named(rows, "papers", MINE))).indexed_at
    assert await indexed(database, folder, seconds=-1) == Progress(3, 1, 1, 0)
    assert await indexed(database, folder, seconds=-1) == Progress(3, 0, 1, 0)
    assert (await database.read(lambda rows: folders.named(rows, "papers", MINE))).indexed_at == NOON


async def test_what_cannot_be_indexed_is_known_by_its_name_with_the_reason(database: Database, papers: Path) -> None:
    folder = await local(database, papers)
    (papers / "picture.png").write_bytes(b"\x89PNG\0\0")
    with (papers / "huge.log").open("wb") as file:
        file.truncate(1 << 30)
    (papers / "away.txt").symlink_to("../data/carina.db")
    assert await indexed(database, folder) == Progress(2, 0, 2, 0)
    known = await database.read(lambda rows: folders.files(rows, folder.id, MINE))
    assert [(each.name, each.content_type, each.size, each.note) for each in known] == [
        ("huge.log", "text/plain", 1 << 30, "too large to be indexed"),
        ("picture.png", "image/png", 6, "binary"),
    ]


async def test_a_directory_that_is_gone_keeps_its_index_and_says_so(database: Database, papers: Path) -> None:
    folder = await local(database, papers)
    (papers / "a.txt").write_text("the ferry leaves at nine")
    await indexed(database, folder)
    papers.rename(papers.with_name("moved"))
    with pytest.raises(Refused, match="cannot be opened"):
        await indexed(database, folder)
    assert await database.read(lambda rows: len(found(rows, "ferry", MINE))) == 1


async def test_a_directory_with_too_many_files_is_refused(
    database: Database, papers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "MOST_FILES", 2)
    folder = await local(database, papers)
    for number in range(3):
        (papers / f"{number}.txt").write_text("page")
    with pytest.raises(Refused, match="more than 2 files"):
        await indexed(database, folder)


# ------------------------------------------------------------------------------------------------------ other models


def test_a_folder_with_its_own_model_is_embedded_and_found_by_that_alone(stored: Tx) -> None:
    tx, plain, own = stored, virtual(stored), virtual(stored, "letters", GUILD)
    folders.set_embedding_model(tx, own.id, "ollama:own")
    upload(tx, plain, "a.txt", "ferry departure nine")
    upload(tx, own, "b.txt", "ferry departure ten")
    assert embed_all(tx) == 1, "the other folder's is not for this model"
    assert [each.texts[0] for each in vectors.missing(tx, 8, "ollama:own")] == ["b.txt\nferry departure ten"]
    vectors.choose(tx, "ollama:own", DIMENSION, "ollama:own")
    assert vectors.store(tx, "ollama:own", embed(vectors.missing(tx, 8, "ollama:own"))) == 1
    assert vectors.progress(tx).waiting == 0

    near = pointing("b.txt ferry departure ten")
    query = Query("unrelated", STAR, frozenset({"files"}), meaning=Meaning(MODEL, near))
    both = replace(query, of_folders={"ollama:own": Meaning("ollama:own", near)})
    assert [hit.label for hit in search(tx, query, MINE).hits] == ["notes/a.txt:1-1"]
    assert sorted(str(hit.label) for hit in search(tx, both, MINE).hits) == ["letters/b.txt:1-1", "notes/a.txt:1-1"]
    assert [hit.label for hit in search(tx, both, HERE).hits] == ["letters/b.txt:1-1"]
    assert search(tx, both, ABROAD).hits == []
    assert search(tx, replace(both, text="zebra", meaning=None, of_folders={}), MINE).seen == {"files": 2}

    folders.set_embedding_model(tx, own.id, "")
    assert [hit.label for hit in search(tx, replace(query, text="ten"), HERE).hits] == ["letters/b.txt:1-1"], "by words"
    assert embed_all(tx) == 1
    assert len(search(tx, query, MINE).hits) == 2


def test_a_model_that_was_changed_meanwhile_stores_nothing(tx: Tx) -> None:
    folder = virtual(tx)
    upload(tx, folder, "a.txt", "the ferry leaves at nine")
    vectors.choose(tx, MODEL, DIMENSION)
    before = embed(vectors.missing(tx, 8))
    folders.set_embedding_model(tx, folder.id, "ollama:own")
    assert vectors.store(tx, MODEL, before) == 0
    assert len(vectors.missing(tx, 8, "ollama:own")) == 1


def test_a_folder_without_a_model_waits_for_none(tx: Tx) -> None:
    folder = virtual(tx)
    upload(tx, folder, "a.txt", "the ferry leaves at nine")
    embed_all(tx)
    folders.set_embedding_model(tx, folder.id, "none")
    upload(tx, folder, "b.txt", "the ferry leaves at ten")
    folders.set_audience(tx, folder.id, GUILD)
    assert tx.number("SELECT (SELECT count(*) FROM vectors) + (SELECT count(*) FROM vector_queue)") == 0
    assert len(found(tx, "ferry", MINE)) == 2


def test_models_are_those_of_the_folders_that_are_searched(tx: Tx) -> None:
    for name, audience, agent in (("mine", OWNER, STAR), ("ours", GUILD, STAR), ("theirs", GUILD, OTHER)):
        folders.set_embedding_model(tx, virtual(tx, name, audience, agent).id, f"ollama:{name}")
    virtual(tx, "plain")
    folders.set_embedding_model(tx, virtual(tx, "silent").id, "none")
    assert folders.embedding_models(tx) == ["ollama:mine", "ollama:ours", "ollama:theirs"]
    assert folders.embedding_models(tx, STAR, MINE) == ["ollama:mine", "ollama:ours"]
    assert folders.embedding_models(tx, STAR, HERE) == ["ollama:ours"]
    assert folders.embedding_models(tx, None, HERE) == ["ollama:ours", "ollama:theirs"]
    assert folders.embedding_models(tx, STAR, MINE, "mine/a.txt") == ["ollama:mine"]
    assert folders.embedding_models(tx, STAR, MINE, "min") == []
