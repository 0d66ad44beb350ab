"""Taking back what was kept: words with all that came of them, and people with all that is theirs."""
