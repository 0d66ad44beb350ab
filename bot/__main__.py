"""`python -m bot`, the same as `carina`."""

from carina import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
