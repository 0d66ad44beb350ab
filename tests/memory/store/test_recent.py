from memory.store.recent import MadeOf


def test_what_was_made_of_a_recent_object_is_never_taken_for_that_of_another() -> None:
    """Nor is a new one for one that nothing but the cache keeps, whose place in memory it would get."""
    made, kept = list[str](), ["kept"]

    def joined(of: list[str]) -> str:
        made.extend(of)
        return "".join(of)

    texts = MadeOf(joined, 3)
    assert [texts(each) for each in (kept, ["a"], ["b"], kept, ["c"], ["d"])] == ["kept", "a", "b", "kept", "c", "d"]
    assert [texts([each]) for each in "abcabc"] == [*"abcabc"]
    assert made == ["kept", *"abcd", *"abcabc"]
