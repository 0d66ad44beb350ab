"""`calculate` counts right, and nothing that is asked of it takes long or does anything else."""

import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agents.tools.calculator import MOST_CHARACTERS, calculate, shown
from bot.errors import ToolError
from memory.store.errors import Refused


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2 + 3 * 4", "14"),
        ("0.1 + 0.2", "0.3"),
        ("(1280 - 3*249.90) / 1.19", "445.630252100840"[:-1]),
        ("2 ** 200", str(2**200)),
        ("-7 // 2", "-4"),
        ("sqrt(16) + max(1, 2, 3)", "7"),
        ("round(17.555 * 12, 1)", "210.7"),
        ("factorial(20)", "2432902008176640000"),
        ("factorial(200)", str(math.factorial(200))),
        ("3 > 2", "true"),
        ("5 if 2 > 3 else 6", "6"),
        ("cos(pi)", "-1"),
        ("+".join("1" * 100), "100"),
    ],
)
def test_it_counts(expression: str, value: str) -> None:
    assert shown(calculate(expression)) == value


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("", "not a sum that can be calculated"),
        ("2 +", "not a sum that can be calculated. Write it like"),
        ("sqrt 2", "not a sum that can be calculated"),
        ("1 / 0", "divided by zero"),
        ("9 ** 9 ** 9", "too large"),
        ("10.0 ** 400", "too large"),
        ("factorial(100000)", "from 0 to 300"),
        ("round(5, -10 ** 10)", "from -1200 to 1200"),
        ("(-8) ** 0.5", "complex"),
        ("'a' * 100000", "Only numbers"),
        ("'a'", "Only numbers"),
        ("[1] * 10", "cannot be calculated"),
        ("x", "cannot be calculated"),
        ("__import__('os').getcwd()", "cannot be calculated"),
        ("(1).__class__", "cannot be calculated"),
        ("open('a')", "cannot be calculated"),
        ("[x for x in (1, 2)]", "cannot be calculated"),
        ("a = 2", "not a sum"),
        ("1 << 9999", "cannot be calculated"),
        ("sqrt(-1)", "This expression cannot"),
        ("1e308 * 10", "too large"),
        ("1" * 4_400, "not a sum"),
    ],
)
def test_what_cannot_be_counted_is_said(expression: str, said: str) -> None:
    with pytest.raises((ToolError, Refused), match=said):
        calculate(expression)


@given(st.text(alphabet="0123456789+-*/%().e ,sqrtpi<=", max_size=MOST_CHARACTERS))
def test_any_text_gives_a_number_or_words(expression: str) -> None:
    with suppress(ToolError, Refused):
        assert shown(calculate(expression))


@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9), st.sampled_from(["+", "-", "*"]))
def test_whole_numbers_are_exact(one: int, other: int, sign: str) -> None:
    exact = {"+": one + other, "-": one - other, "*": one * other}[sign]
    assert calculate(f"({one}) {sign} ({other})") == exact
