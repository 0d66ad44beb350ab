"""Tables that a model wrote, as Discord can show them."""

import pytest

from sources.discord.markup import tables_as_code


def test_a_table_is_aligned_in_code() -> None:
    text = "Here:\n| Name | **Age** |\n|:--|--:|\n| Ana | `7` |\n| 日本 | 31 |\n\nThat is all."
    assert tables_as_code(text).split("\n") == [
        "Here:",
        "```",
        "Name  Age",
        "────  ───",
        "Ana   7",
        "日本  31",
        "```",
        "",
        "That is all.",
    ]


def test_a_wide_table_stands_as_a_paragraph_for_each_row() -> None:
    text = f"| a | b | c |\n|--|--|--|\n| x | {'long ' * 20}| |"
    assert tables_as_code(text) == f"**a**: x; **b**: {('long ' * 20).strip()}"


@pytest.mark.parametrize(
    "text",
    [
        "a | b",
        "```\n| a | b |\n|--|--|\n| 1 | 2 |\n```",
        "| a | b |\n|--|",
        "either | or\n---\nnothing",
        "",
    ],
)
def test_all_else_stays_as_it_is(text: str) -> None:
    assert tables_as_code(text) == text


def test_nothing_in_a_cell_ends_the_code() -> None:
    assert tables_as_code("| a |\n|--|\n| ```x |").count("```") == 2
    assert tables_as_code(r"| a \| b | c |" "\n|--|--|\n| 1 | 2 |").split("\n")[1] == "a | b  c"
