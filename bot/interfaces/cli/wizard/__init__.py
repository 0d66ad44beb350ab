"""Setting up from a terminal: `carina init` and its questions."""
