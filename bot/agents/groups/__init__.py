"""Groups of agents: who answers, in which order, and how they work together (docs/groups.md)."""
