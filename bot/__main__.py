"""`python -m bot`, the same as `carina`."""

from bot.interfaces.cli.main import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
