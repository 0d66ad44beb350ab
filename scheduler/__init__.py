"""When jobs are due, and running them. The tables of `memory.jobs` hold all state; nothing is kept only here."""
