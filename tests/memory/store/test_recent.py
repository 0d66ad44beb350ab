from memory.store.recent import MadeOf


def test_what_is_made_of_an_object_is_made_once_while_the_object_is_recent() -> None:
    made = list[str]()

    def count(of: list[str]) -> int:
        made.extend(of)
        return len(made)

    lengths, first, second = MadeOf(count, 2), ["a"], ["b"]
    assert [lengths(first), lengths(second), lengths(first)] == [1, 2, 1]
    assert lengths(["c"]) == 3
    assert lengths(first) == 4, "two more were made since"


def test_equal_objects_are_not_taken_for_one() -> None:
    """Nor is a new one for one that nothing but the cache keeps, whose place in memory it would get."""
    texts = MadeOf("".join, 3)
    assert [texts([each]) for each in "abcabc"] == [*"abcabc"]
