"""`python -m bot`, the same as `carina`."""

from bot.cli import main

if __name__ == "__main__":
    main()
