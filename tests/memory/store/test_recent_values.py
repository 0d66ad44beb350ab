from memory.store.recent_values import MadeOf


def test_what_was_made_of_a_recent_object_is_never_taken_for_that_of_another() -> None:
    """Nor is a new one for one that nothing but the cache keeps, whose place in memory it would get."""
    copies, kept = MadeOf[list[str], list[str]](list, 3), ["kept"]
    assert copies(kept) is copies(kept)
    assert [copies([each]) for each in "abcabc"] == [[each] for each in "abcabc"]
