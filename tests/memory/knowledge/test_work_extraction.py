"""What a text says that was done: in short, decisions, files, commits, what is left."""

import time

import pytest

from memory.knowledge.work_extraction import commits, decisions, files, first_sentence, next_steps, summary, unfinished
from tests.memory.knowledge.test_facts import TABLES


def test_what_it_was_about_is_what_the_answer_says_itself() -> None:
    asked = "Can you fix the pagination? It looks odd."
    assert summary(asked, ["Working.\nSUMMARY: Redesigned the pagination bar\nmore"]) == "Redesigned the pagination bar"
    assert summary(asked, ["Here's what I did: styled the arrows as buttons"]) == "styled the arrows as buttons"
    assert (
        summary(asked, ["Let me look.", "All done now. Tests pass."]) == "Can you fix the pagination? — All done now."
    )
    assert summary("緑茶を買って。お願い", [""]) == "緑茶を買って。"
    assert summary("", []) == ""


def test_what_it_was_about_is_short() -> None:
    assert len(summary("word " * 100, ["word " * 100])) <= 200


def test_commits_are_named_as_such_and_have_a_digit() -> None:
    text = "Committed `ad8ed51`\nsee commit abc1234 and [main 0123456789abcdef0] done; commit defaced things; deadbee1"
    assert commits(text) == ["ad8ed51", "abc1234", "0123456789ab"]
    assert len(commits("\n".join(f"commit abc{number:04}" for number in range(9)))) == 5


@pytest.mark.parametrize(("line", "found"), TABLES["decided"].items())
def test_what_was_decided_plainly_is_a_decision_and_what_is_still_open_is_none(line: str, found: bool) -> None:
    assert bool(decisions(line)) is found


def test_decisions_say_what_was_chosen_or_why() -> None:
    text = """Some words.
- changed borders from dashed to solid
- used theme tokens instead of hardcoded values
- chose buttons for consistency
- the weather is fine
Wir nehmen pnpm statt npm."""
    assert decisions(text) == [
        "changed borders from dashed to solid",
        "used theme tokens instead of hardcoded values",
        "chose buttons for consistency",
        "Wir nehmen pnpm statt npm.",
    ]


def test_what_is_left_is_said_at_the_beginning_of_a_line_or_by_its_state() -> None:
    text = "TODO: add unit tests\nthe session changes remain unstaged\nall else is done\n- Noch zu tun: die Doku"
    assert unfinished(text) == ["add unit tests", "the session changes remain unstaged", "die Doku"]


@pytest.mark.parametrize(("line", "found"), TABLES["left"].items())
def test_what_is_left_is_found_inside_of_a_sentence_and_what_is_not_left_is_not(line: str, found: str) -> None:
    assert unfinished(line) == ([found] if found else [])


@pytest.mark.parametrize("line", ["Next steps: write the docs", "next: write the docs", "- Follow-up: write the docs"])
def test_next_steps_are_what_stands_behind_the_words(line: str) -> None:
    assert next_steps(line) == ["write the docs"]


def test_paths_are_cut_to_their_last_three_parts_and_links_kept() -> None:
    text = "Changed /srv/code/apps/web/src/Pane.tsx, `setup.cfg` and ./a/b.py; see https://example.org/a/b.html?c=1."
    assert files(text) == ["web/src/Pane.tsx", "setup.cfg", "./a/b.py", "https://example.org/a/b.html?c=1"]
    assert files("and/or, 1/2, read/write") == []


def test_the_first_sentence_is_one_line() -> None:
    assert first_sentence("\n\n  One  two.  Three.\nFour") == "One two."


@pytest.mark.parametrize("word", ["still ", "noch ", "remains "])
def test_a_line_of_one_word_is_read_once(word: str) -> None:
    """A line of 300,000 characters, which took minutes when each of its words looked at all behind it."""
    began = time.process_time()
    assert unfinished(word * (300_000 // len(word))) == []
    assert unfinished(f"{word * 50_000}unstaged") != []
    assert decisions("changed " * 30_000) == []
    assert time.process_time() - began < 20
