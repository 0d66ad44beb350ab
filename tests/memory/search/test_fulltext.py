from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from time import process_time

import pytest
import regex
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from memory.store.database import Tx
from memory.store.fulltext import MAX_INDEXED, Mode, content_words, date_words, index_text, match_query, storable, terms
from memory.store.sqlite import connect

FTS = "porter unicode61 remove_diacritics 2"
MODES: tuple[Mode, ...] = ("any", "all")

# What breaks MATCH when it is passed raw, mixed with ordinary and strange text.
_SYNTAX = ['"', "'", "*", "^", "(", ")", "-", "+", ":", "{", "}", ",", " AND ", " OR ", " NOT ", " NEAR(", "x:", "\x00"]
_WORDS = [
    "c++", "it's", "search_text:", "天気", "天", "カー", "です", "세계", "สวัสดี", "ß", "é", "हिन्दी", "\ud800",
    "🎉",
]  # fmt: skip
fragments = st.sampled_from(_SYNTAX + _WORDS)
hostile = st.lists(fragments | st.text(max_size=6), max_size=12).map("".join)


@pytest.fixture
def tx(tmp_path: Path) -> Iterator[Tx]:
    raw = connect(tmp_path / "words.db")
    raw.execute(f"CREATE VIRTUAL TABLE words USING fts5(search_text, tokenize='{FTS}')")
    raw.execute("BEGIN")
    yield Tx(raw)
    raw.close()


def put(tx: Tx, *texts: str) -> None:
    for text in texts:
        tx.run("INSERT INTO words (search_text) VALUES (?)", (index_text(text),))


def found(tx: Tx, query: str, mode: Mode = "any") -> list[int]:
    match = match_query(query, mode=mode)
    if match is None:
        return []
    return [row[0] for row in tx.all("SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid", (match,))]


def finds(tx: Tx, text: str, query: str, mode: Mode = "all") -> bool:
    tx.run("DELETE FROM words")
    put(tx, text)
    return found(tx, query, mode) != []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=hostile | st.text(), mode=st.sampled_from(MODES))
def test_no_text_raises_or_acts_as_syntax(tx: Tx, text: str, mode: Mode) -> None:
    match = match_query(text, mode=mode)
    joiner = "OR" if mode == "any" else "AND"
    assert match is None or regex.fullmatch(rf'"[^"]+"\*?(?: {joiner} "[^"]+"\*?)*', match)
    found(tx, text, mode)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(categories=["L", "M", "N", "P", "Zs"]), max_size=30) | hostile)
@example(text="〡\U0001133b0")
def test_every_text_with_a_word_is_found_by_itself(tx: Tx, text: str) -> None:
    asked = [term.word for term in terms(text, mode="all")]
    if asked and all(_is_token(tx, word) for word in asked):
        assert finds(tx, text, text)


def _is_token(tx: Tx, word: str) -> bool:
    """Whether SQLite, whose Unicode is older than Python's, sees a letter in a word at all."""
    tx.run("CREATE VIRTUAL TABLE IF NOT EXISTS seen USING fts5(search_text, tokenize='unicode61')")
    tx.run("CREATE VIRTUAL TABLE IF NOT EXISTS seen_words USING fts5vocab(seen, 'row')")
    tx.run("DELETE FROM seen")
    tx.run("INSERT INTO seen (search_text) VALUES (?)", (word,))
    return tx.all("SELECT term FROM seen_words") != []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    run=st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x4E20), min_size=1, max_size=8),
    start=st.integers(0, 7),
    length=st.integers(1, 8),
)
def test_every_part_of_an_unspaced_run_is_found_and_nothing_else(tx: Tx, run: str, start: int, length: int) -> None:
    part = run[start : start + length] or run[0]
    assert finds(tx, f"Hi {run}!", part)
    other = "丠" + part  # a character the run cannot have, before it
    assert not finds(tx, run.replace("丠", "一"), other)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("今日は良い天気ですね", "天気"), ("今日は良い天気ですね", "天"), ("今日は良い天気ですね", "良い天気"),
        ("今日は良い天気ですね", "今日の天気"), ("안녕하세요 세계", "세계"), ("세계는 넓다", "세"),
        ("コンピュータを買った", "コンピュータ"), ("ｺﾝﾋﾟｭｰﾀを買った", "コンピュータ"), ("今天天气怎么样", "天气"),
        ("สวัสดีครับ", "สวัสดี"), ("iPhone15を買った", "iphone15"), ("Die Bücher auf der Straße", "bucher STRASSE"),
        ("Müller trinkt Café", "muller cafe"), ("Muller trinkt Cafe\u0301", "Müller Café"),
        ("ＡＢＣ １２３", "abc 123"), ("she was running", "runs"), ("C++ is fine", "c++"),
        ("Schiff\u00adfahrt", "Schifffahrt"), ("\uf015home", "home"), ("party\U0001faeetime", "time"),
        ("❤️love", "love"), ("हिन्दी में लिखो", "हिन्दी"),
    ],
)  # fmt: skip
def test_a_text_is_found_by_words_as_people_write_them(tx: Tx, text: str, query: str) -> None:
    assert finds(tx, text, query)


def test_a_question_without_spaces_finds_a_sentence_that_shares_a_word(tx: Tx) -> None:
    put(tx, "今天天气很好", "我喜欢猫")
    assert found(tx, "明天的天气怎么样") == [1]


def test_any_takes_rows_with_one_of_the_words_and_all_only_rows_with_each(tx: Tx) -> None:
    put(tx, "a red hamster", "a red car", "a blue car")
    assert found(tx, "red hamster", "any") == [1, 2]
    assert found(tx, "red hamster", "all") == [1]


def test_irregular_forms_of_an_english_word_find_each_other(tx: Tx) -> None:
    put(tx, "she bought a hamster", "she sold a hamster", "buying a hamster takes time")
    for mode in ("any", "all"):
        assert found(tx, "buy", mode) == found(tx, "bought", mode) == [1, 3]
        assert found(tx, "took", mode) == [3]
    assert found(tx, "buy sell", "all") == []
    assert match_query("buy a hamster", mode="all") == '("buy" OR "bought") AND "hamster"'


def test_stop_words_are_left_out_unless_nothing_else_remains(tx: Tx) -> None:
    assert match_query("what is the name of my dog", mode="any") == '"name" OR "dog"'
    assert match_query("der Hund und die Katze", mode="any") == '"hund" OR "katze"'
    assert match_query("who are you", mode="all") == '"who" AND "are" AND "you"'
    assert match_query("の", mode="any") == '"の"*'


def test_a_german_article_is_an_english_word_where_nothing_else_is_german() -> None:
    assert match_query("did the hamster die", mode="any") == '"hamster" OR "die"'
    assert match_query("wo ist die Katze", mode="any") == '"katze"'


def test_at_most_sixteen_different_words_are_asked_for() -> None:
    assert len(terms(" ".join(f"word{n}" for n in range(100)), mode="any")) == 16
    assert [term.word for term in terms("dog Dog DOG cat", mode="any")] == ["dog", "cat"]


@pytest.mark.parametrize("text", ["", "  ", "?!", "🎉", "\x00", "\ud800", "__"])
def test_a_text_without_a_word_asks_for_nothing(text: str) -> None:
    assert match_query(text, mode="any") is None
    assert match_query(text, mode="all") is None
    assert content_words(text) == []


def test_content_words_are_folded_and_in_order() -> None:
    assert content_words("What's my dog's name?") == ["dog", "name"]
    assert content_words("ok thanks") == []
    assert content_words("Danke, bitte!") == []
    assert content_words("ありがとうございます") == []
    assert content_words("Dark THEME dark") == ["dark", "theme", "dark"]
    assert content_words("天気予報 and 猫") == ["天気", "気予", "予報", "猫"]


def test_the_indexed_text_is_bounded_and_storable(tx: Tx) -> None:
    assert len(index_text("天" * 200_000)) == MAX_INDEXED
    assert len(index_text("\ufdfa" * 100_000)) == MAX_INDEXED  # one character that folds to eighteen
    assert "\x00" not in index_text("a\x00b")
    assert storable("a\x00\ud83db") == "ab"
    put(tx, "a\ud800 lone\x00ly half")
    assert found(tx, "lonely") == [1]


@pytest.mark.parametrize(
    "text", ["です" * 50_000 + "ぬ", "で" * 100_000 + "x", "a" * 1_000_000, "'" * 1_000_000, "é" * 300_000]
)
def test_long_text_takes_no_long_time(text: str) -> None:
    began = process_time()
    match_query(text, mode="any")
    content_words(text)
    index_text(text)
    assert process_time() - began < 3


def test_a_date_is_written_in_the_ways_people_ask_for_it() -> None:
    moment = datetime(2026, 11, 23, 1, 0, tzinfo=timezone(timedelta(hours=9)))
    assert date_words(moment) == "2026-11-22 22 November 2026"
    assert date_words(datetime(2026, 3, 1, tzinfo=UTC)) == "2026-03-01 1 March 2026"
