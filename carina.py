"""The program `carina`. Loading it puts its own packages first on the import path.

They have everyday names (`bot`, `memory`, `scheduler`, `sources`), and so may packages of others. A wheel therefore has
them inside of `carina/`, where nothing else installs files, and this module is its `__init__.py`; in a clone it stands
beside them. Either way they are in its own folder.
"""

import sys
from importlib import import_module
from pathlib import Path

_FOLDER = str(Path(__file__).parent)

if sys.path[:1] != [_FOLDER]:
    sys.path.insert(0, _FOLDER)


def main() -> None:
    """Run the command line."""
    try:
        if sys.argv[1:] == ["--version"]:  # without loading the parser
            sys.stdout.write(f"carina {import_module('bot.interfaces.version').version()}\n")
        else:
            import_module("bot.interfaces.cli.main").main()
    except KeyboardInterrupt:  # while something is loaded
        sys.exit(1)


if __name__ == "__main__":
    main()
