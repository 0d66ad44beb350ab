"""An answer as messages: none for nothing, several for a long one, a file for a very long one."""

import pytest

from bot.agents.answer_messages import package, without_our_lines
from sources.base import Form
from sources.bluesky import post_splitting_and_facets
from tests.bot.parts import MovableClock, Platform

BLOCK = '<block:human permission="read_write" readers="this server">\nLikes tea.\n</block:human>'
QUOTED = '<quoted from="notes/garden.md">\nCut the roses in March.\n</quoted>'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[now in #general; your answer is heard by: everybody]\nHello!", "Hello!"),
        ("[Ann (discord:1) · 2026-03-02 09:00 UTC]\nHello!", "Hello!"),
        ("Hello!\n\n[now in #general; your answer is heard by: this server]", "Hello!"),
        ("[now in #general; your answer is heard by: everybody]", ""),
        ("[now in a; your answer is heard by: b]\n\n[I (an agent) · 2026-03-02 09:00 UTC]\nHello!", "Hello!"),
        ("[block human above lacks your last 2 appends in view]\nHello!", "Hello!"),
        ('[the message below answers what you said: "Tea."]\nHello!', "Hello!"),
        ("[" + " () · 2026-01-01 00:00 UTC" * 1_000, "[" + " () · 2026-01-01 00:00 UTC" * 1_000),
        ("Hello!\n[this answer did not reach them: Discord refuses it]", "Hello!"),
        ("[system] This is the last step of this turn.\nHello!", "Hello!"),
        (f"{BLOCK}\n\n[now in a; your answer is heard by: b]\nHello!", "Hello!"),
        (f"Hello!\n{BLOCK}", "Hello!\nLikes tea."),
        (f"The file says:\n{QUOTED}", "The file says:\nCut the roses in March."),
        (BLOCK, "Likes tea."),
        ('<quoted from="your long-term memory">\nHello!', "Hello!"),
        ("`</quoted>` ends it, and <block:x> begins one.", "`</quoted>` ends it, and <block:x> begins one."),
        ("[system] booted\n[system] ready", "[system] booted\n[system] ready"),
        ("The log says:\n[system] booted", "The log says:\n[system] booted"),
        ("It was [Monday] at 09:00 UTC.", "It was [Monday] at 09:00 UTC."),
        (
            "See [the notes (draft) · 2026-03-02 09:00 UTC] for that.",
            "See [the notes (draft) · 2026-03-02 09:00 UTC] for that.",
        ),
        ("It is:\n[Plan · 2026-03-02 09:00 UTC]\nSee you.", "It is:\n[Plan · 2026-03-02 09:00 UTC]\nSee you."),
        ("Who is heard by: whom?", "Who is heard by: whom?"),
        (" Hello! ", " Hello! "),
    ],
)
def test_lines_that_only_the_platform_writes_are_no_part_of_an_answer(text: str, said: str) -> None:
    assert without_our_lines(text) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[now in #general; your ans", ""),
        ("Hello!\n<blo", "Hello!"),
        ("Hello!\n[now in #general; your answer is heard by: everybody]\nHow", "Hello!\nHow"),
        (BLOCK.removesuffix(">"), "Likes tea."),
        (BLOCK, ""),
        ("Hello [there", "Hello [there"),
        ("[1] one\ntwo", "[1] one\ntwo"),
    ],
)
def test_while_an_answer_is_written_no_line_is_shown_that_may_become_one_of_the_platforms(text: str, said: str) -> None:
    assert without_our_lines(text, whole=False) == said


FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"


class Posts(Platform):
    def split(self, text: str) -> list[str]:
        return post_splitting_and_facets.posts(text)


@pytest.mark.parametrize(
    ("text", "ends"),
    [("はい。\n" + "日" * 1_300, "日"), ("ok " + "y" * 1_300, "y"), (FAMILY * 900, FAMILY), ("word " * 300, "word")],
)
def test_where_there_are_no_files_what_fits_is_said_to_a_whole_character(text: str, ends: str) -> None:
    pieces = [piece.text for piece in package(text, Posts(MovableClock(), form=Form(4, takes_files=False)))]
    assert len(pieces) == 4
    said = pieces[-1].removesuffix(" …")
    assert said != pieces[-1]
    assert all(post_splitting_and_facets.graphemes(piece) > 100 for piece in pieces)
    assert said.endswith(ends)
