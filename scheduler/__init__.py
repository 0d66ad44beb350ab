"""When things are due, and running them then. The tables of `memory.jobs` are the truth; nothing here is kept alone."""
