"""Upkeep of archival entries: which are candidates, what may be done with them, and undoing it.

Nothing here asks a model. `selection` chooses, the caller's model or rules make a `Plan`, and `apply` carries it out
in one transaction that checks every promise itself: the loss bound, specifics that survive, one person's words, one
audience, one trust. A plan that breaks one raises `BrokenPlan` and changes nothing.
"""
