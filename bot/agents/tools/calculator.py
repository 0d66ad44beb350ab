"""`calculate`: correct arithmetic, which models often get wrong."""

import ast
import importlib
import math
import operator
from collections.abc import Callable
from typing import Any, TypeAlias

from pydantic import Field

from bot.agents.context.quotes import line
from bot.agents.permissions.calls_needing_approval import Caution
from bot.agents.tools.base import Arguments, Outcome, Rarely, ReadTool, ToolContext
from bot.errors import ToolError
from memory.store.database import Rows
from memory.store.errors import Refused
from texts import gettext_noop

Number: TypeAlias = int | float

MOST_CHARACTERS = 500
_EXAMPLE = "3 * sqrt(2) + 1"
_MOST_BITS = 4_096  # about 1,200 digits: chains of operations stay fast, and Python can print it (limit 4,300 digits)
_MOST_FACTORIAL, _MOST_DIGITS = 300, 1_200
_NODES = (ast.Expr, ast.Constant, ast.Name, ast.UnaryOp, ast.BinOp, ast.Compare, ast.IfExp, ast.Call)
_NAMES = {"pi": math.pi, "e": math.e, "tau": math.tau}


def _bounded(function: Callable[..., Number]) -> Callable[..., Number]:
    """The function for numbers only, refusing results that are too large to read."""

    def call(*arguments: Number) -> Number:
        if not all(isinstance(argument, int | float) for argument in arguments):
            raise ToolError("Only numbers can be used here.")
        result = function(*arguments)
        if isinstance(result, complex):
            raise ToolError("The result is a complex number, which is not supported.")
        if isinstance(result, int) and result.bit_length() > _MOST_BITS:
            raise ToolError("The result is too large: it has more than 1,200 digits.")
        return result

    return call


def _power(base: Number, exponent: Number) -> Number:
    """A power, refused in advance if it is huge: that would take minutes."""
    if isinstance(base, int) and isinstance(exponent, int) and base.bit_length() * exponent > 2 * _MOST_BITS:
        raise ToolError("The result is too large: it has more than 1,200 digits.")
    powered: Number = operator.pow(base, exponent)
    return powered


def _factorial(number: Number) -> Number:
    if not isinstance(number, int) or not 0 <= number <= _MOST_FACTORIAL:
        raise ToolError(f"factorial takes a whole number from 0 to {_MOST_FACTORIAL}.")
    return math.factorial(number)


def _round(number: Number, digits: int | None = None) -> Number:
    """Round, refusing huge negative digits, for which Python computes a power of ten."""
    if abs(digits or 0) > _MOST_DIGITS:
        raise ToolError(f"round takes from -{_MOST_DIGITS} to {_MOST_DIGITS} digits.")
    return round(number, digits)


_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "factorial": _factorial,
    "ln": math.log,
    "max": max,
    "min": min,
    "round": _round,
    **{each.__name__: each for each in (math.ceil, math.floor, math.gcd, math.hypot, math.sqrt, math.exp)},
    **{each.__name__: each for each in (math.log, math.log2, math.log10, math.sin, math.cos, math.tan)},
    **{each.__name__: each for each in (math.degrees, math.radians)},
}


def calculate(expression: str) -> Number:
    """The value of an arithmetic expression; raises ToolError with the problem, in words for the model."""
    simpleeval = importlib.import_module("simpleeval")  # for the first expression
    counter = simpleeval.SimpleEval(
        operators={kind: _bounded(function) for kind, function in _OPERATORS.items()},
        functions={name: _bounded(function) for name, function in _FUNCTIONS.items()},
        names=_NAMES,
    )
    counter.nodes = {kind: handler for kind, handler in counter.nodes.items() if kind in _NODES}
    try:
        parsed = ast.parse(expression.strip(), mode="eval").body
        value: Number = counter.eval(expression, ast.Expr(parsed))
    except SyntaxError as error:  # Python's words for it help nobody
        raise Refused("That is not a sum that can be calculated. Write it like {example}.", example=_EXAMPLE) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise ToolError(f"This expression cannot be calculated: {_brief(error)}.") from error
    except ZeroDivisionError as error:
        raise Refused("A number cannot be divided by zero.") from error
    except OverflowError as error:
        raise ToolError("The result is too large.") from error
    except (simpleeval.InvalidExpression, TypeError) as error:
        known = f"+ - * / // % ** ( ), {', '.join(sorted(_FUNCTIONS))}, {', '.join(_NAMES)}"
        raise ToolError(f"This cannot be calculated: {_brief(error)}. Available: {known}.") from error
    if not isinstance(value, int | float):
        raise ToolError("Only numbers can be used here.")
    if isinstance(value, float) and not math.isfinite(value):  # a large integer does not fit into a float
        raise ToolError("The result is too large.")
    return value


def _brief(error: Exception) -> str:
    words = str(error)
    return words.splitlines()[0][:200].rstrip(".") if words else type(error).__name__


def shown(value: Number) -> str:
    """A whole number in full, any other with the 15 digits that a float guarantees."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else f"{value:.15g}"


class CalculateArguments(Arguments):
    expression: str = Field(
        max_length=MOST_CHARACTERS, description="such as (1280 - 3*249.90) / 1.19, sqrt(2), round(17.5 * 12, 2)"
    )


class CalculateTool(ReadTool[CalculateArguments]):
    name = "calculate"
    shown = gettext_noop("the calculator")
    rarely = Rarely("arithmetic, percentages", "in public")
    caution = Caution()
    description = (
        "Calculate with numbers: sums, percentages, any arithmetic. Your own arithmetic is not reliable: use this for "
        "every sum that matters."
    )

    def read(self, _rows: Rows, _context: ToolContext, arguments: CalculateArguments) -> Outcome:
        value = calculate(arguments.expression)
        return Outcome(line(f"{arguments.expression} = {shown(value)}"), {"value": shown(value)})
