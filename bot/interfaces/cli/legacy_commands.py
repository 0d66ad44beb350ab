"""Commands that are not made from the registry yet: `carina constellation`."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import typer

from bot.interfaces.cli.groups import add_constellations
from bot.interfaces.cli.setup import configured, log_to
from bot.interfaces.exit_codes import explained

app = typer.Typer(name="carina", add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def commands() -> None:
    """Made here as long as there are any."""


def main(arguments: Sequence[str]) -> int:
    """Run a command that is not made from the registry; gives the exit code. Expected errors are printed."""
    try:
        with explained():
            app(arguments)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0
    return 0


def _administer(work: Callable[..., Coroutine[Any, Any, None]], as_json: bool, *arguments: Any) -> None:
    config = configured()
    log_to(config, level="error")
    asyncio.run(work(config, *arguments, as_json=as_json))


add_constellations(app, _administer)
