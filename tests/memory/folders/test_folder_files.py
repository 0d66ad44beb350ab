"""A directory as a folder: what is reached through it, and how files are read by lines."""

import os
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.folders import disk, file_lines
from memory.folders.disk import checked_folder, parts_of
from memory.folders.file_lines import passages
from memory.store.errors import Refused

SECRET = "the key is under the stone"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder beside a secret that does not belong to it."""
    (tmp_path / "secret.txt").write_text(SECRET)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text(SECRET)
    inside = tmp_path / "notes"
    (inside / "deep").mkdir(parents=True)
    (inside / "plan.txt").write_text("first\nsecond\nthird\n")
    (inside / "deep" / "more.md").write_text("# More\n")
    return inside


def read(root: Path, path: str) -> str:
    with disk.open_file(root, path) as file:
        file.text()
        return b"".join(file.blocks()).decode()


# ---------------------------------------------------------------------------------------------------- confinement


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt", "deep/../../secret.txt", "deep/../plan.txt", "./plan.txt", "/etc/passwd", "",
        "deep//more.md", "deep/", ".hidden", "..\\secret.txt", "plan.txt\0.png", "plan\n.txt", "\u202etxt.nalp",
        "a/" * 20 + "b", "x" * 500,
    ],
)  # fmt: skip
def test_a_path_that_leads_out_or_hides_something_is_refused(root: Path, path: str) -> None:
    with pytest.raises(Refused):
        read(root, path)


@given(st.text(alphabet=st.sampled_from("./\\a\0 ~%"), max_size=12))
def test_no_path_has_a_part_that_leads_up(path: str) -> None:
    try:
        parts = parts_of(path)
    except Refused:
        return
    assert all(part not in ("", ".", "..") and "/" not in part and "\0" not in part for part in parts)


@pytest.mark.parametrize("target", ["../secret.txt", "plan.txt", "../outside"])
def test_a_link_is_not_followed_wherever_it_leads(root: Path, target: str) -> None:
    (root / "link").symlink_to(target)
    with pytest.raises(Refused):
        read(root, "link")
    with pytest.raises(Refused):
        read(root, "link/secret.txt")
    with pytest.raises(Refused):
        disk.replace(root, "link", b"new")
    assert "link" not in [seen.name for seen in disk.walk(root)]
    assert (root.parent / "secret.txt").read_text() == SECRET


def test_a_link_that_is_swapped_in_after_the_check_is_not_followed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def swapping(call: Callable[..., os.stat_result]) -> Callable[..., os.stat_result]:
        def look(*arguments: object, **more: object) -> os.stat_result:
            found = call(*arguments, **more)
            if arguments[0] == "plan.txt":  # it was a plain file when it was looked at
                (root / "plan.txt").unlink()
                (root / "plan.txt").symlink_to("../secret.txt")
            return found

        return look

    monkeypatch.setattr(os, "stat", swapping(os.stat))
    with pytest.raises(Refused):
        read(root, "plan.txt")
    assert (root / "plan.txt").is_symlink()


def test_a_directory_that_is_swapped_for_a_link_is_not_followed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opening = os.open

    def swap(name: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if name == "deep":
            (root / "deep").rename(root / "old")
            (root / "deep").symlink_to("../outside")
        return opening(name, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swap)
    with pytest.raises(Refused):
        read(root, "deep/secret.txt")


def test_a_file_that_is_open_stays_what_it_is(root: Path) -> None:
    with disk.open_file(root, "plan.txt") as file:
        (root / "plan.txt").unlink()
        (root / "plan.txt").symlink_to("../secret.txt")
        assert b"".join(file.blocks()) == b"first\nsecond\nthird\n"


def test_a_pipe_is_refused_at_once_and_a_device_never_opened(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(root / "pipe")
    with pytest.raises(Refused, match="is not a regular file"):
        read(root, "pipe")  # opening it would wait for a writer
    with pytest.raises(Refused, match="is not a regular file"):
        read(Path("/dev"), "null")
    with pytest.raises(Refused, match="is not a regular file"):
        read(root, "deep")
    assert "pipe" not in [seen.name for seen in disk.walk(root)]


def test_hidden_files_are_neither_listed_nor_opened(root: Path) -> None:
    (root / ".env").write_text("TOKEN=1")
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("x")
    assert [seen.name for seen in disk.walk(root)] == ["plan.txt", "deep/more.md"]
    for path in (".env", ".git/config"):
        with pytest.raises(Refused, match="hidden"):
            read(root, path)


def test_a_name_that_cannot_be_shown_is_passed_over(root: Path) -> None:
    for name in (b"line\nbreak.txt", b"\xff\xfe.txt", "\u202egnp.exe".encode(), b"\x1b[2J.txt"):
        (Path(os.fsdecode(bytes(root) + b"/" + name))).write_text("x")
    assert [seen.name for seen in disk.walk(root)] == ["plan.txt", "deep/more.md"]


def test_the_data_folder_is_never_a_folder(tmp_path: Path) -> None:
    data = tmp_path / "home" / "data"
    (data / "constellations").mkdir(parents=True)
    (tmp_path / "link").symlink_to(data)
    for given_path in (data, data / "constellations", data.parent, tmp_path, tmp_path / "link"):
        with pytest.raises(Refused, match="data folder"):
            disk.checked_root(str(given_path), data)
    (tmp_path / "notes").mkdir()
    assert disk.checked_root(str(tmp_path / "notes"), data) == (tmp_path / "notes").resolve()


@pytest.mark.parametrize("given_path", ["notes", "/nowhere/at/all", "\0", ""])
def test_a_root_that_is_no_directory_is_refused(tmp_path: Path, given_path: str) -> None:
    with pytest.raises(Refused):
        disk.checked_root(given_path, tmp_path)


@pytest.mark.parametrize("name", ["", "..", "a/b", "Notes", "-x", "a b", "x" * 41, "ä", "a\n"])
def test_a_folder_has_a_plain_name(name: str) -> None:
    with pytest.raises(Refused):
        checked_folder(name)


def test_a_write_is_whole_or_nothing_and_keeps_the_rights(root: Path) -> None:
    (root / "plan.txt").chmod(0o640)
    disk.replace(root, "plan.txt", b"new")
    disk.replace(root, "deep/fresh.txt", b"fresh")
    assert read(root, "plan.txt") == "new"
    assert (root / "plan.txt").stat().st_mode & 0o777 == 0o640
    assert (root / "deep" / "fresh.txt").stat().st_mode & 0o777 == 0o600
    with pytest.raises(Refused):
        disk.replace(root, "nowhere/x.txt", b"x")
    with pytest.raises(Refused):
        disk.replace(root, "deep", b"x")
    assert sorted(path.name for path in root.rglob("*")) == ["deep", "fresh.txt", "more.md", "plan.txt"]


# -------------------------------------------------------------------------------------------------------- windows


def blocks(text: str | bytes, size: int = 7) -> list[bytes]:
    content = text.encode() if isinstance(text, str) else text
    return [content[at : at + size] for at in range(0, len(content), size)]


@given(st.text(alphabet="ab\n", max_size=60), st.integers(1, 12), st.integers(1, 9), st.integers(1, 6))
def test_windows_are_the_lines_of_the_text(text: str, size: int, first: int, count: int) -> None:
    whole = text.split("\n")[:-1] if text.endswith("\n") else text.split("\n") if text else []
    expected = whole[first - 1 : first - 1 + count]
    if not expected and first > 1:
        with pytest.raises(Refused):
            file_lines.window(blocks(text, size), first, count)
        return
    found = file_lines.window(blocks(text, size), first, count)
    assert found.content == "\n".join(expected)
    assert (found.start, found.end) == (first, first + len(expected) - 1)
    assert found.has_more_after == (len(whole) > found.end)
    assert found.next == (found.end + 1 if found.has_more_after else None)


def test_windows_that_follow_each_other_show_everything_once(root: Path) -> None:
    (root / "long.txt").write_text("".join(f"line {number} {'x' * 200}\n" for number in range(1, 1001)))
    seen, at = [], 1
    while at:
        with disk.open_file(root, "long.txt") as file:
            found = file_lines.window(file.blocks(), at, 400)
        assert len(found.content) <= file_lines.WINDOW_CHARACTERS
        seen += found.content.split("\n")
        at = found.next or 0
    assert [line.split()[1] for line in seen] == [str(number) for number in range(1, 1001)]
    assert found.total == 1000


def test_a_gigabyte_is_read_by_windows_in_little_memory(root: Path) -> None:
    with (root / "huge.log").open("wb") as file:
        file.write(b"begin\n")
        file.truncate(1 << 30)
    with disk.open_file(root, "huge.log") as opened, pytest.raises(Refused, match="binary"):
        opened.text()
    with (root / "huge.log").open("wb") as file:  # sparse but for its ends: text as far as its beginning tells
        file.write(b"begin\n" + b"y" * 100_000 + b"\n")
        file.truncate(1 << 30)
    tracemalloc.start()
    with disk.open_file(root, "huge.log") as opened:
        opened.text()
        first = file_lines.window(opened.blocks(), 1, 2)
    with (root / "huge.log").open("r+b") as file:
        file.truncate(1 << 26)
        file.seek(0, os.SEEK_END)
        file.write(b"\nthe end\n")
    with disk.open_file(root, "huge.log") as opened:
        last = file_lines.window(opened.blocks(), 4, 5)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert first.content.startswith("begin\nyyy")
    assert "98,000 bytes of this line are not shown" in first.content
    assert last.content == "the end"
    assert peak < 8_000_000


def test_reading_far_stops_at_its_time() -> None:
    with pytest.raises(file_lines.TooSlow):
        list(file_lines.before_deadline([b"x\n"], time.monotonic() - 1))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("grün\r\nblau\r\n".encode(), "grün\nblau"),
        ("grün\n".encode("cp1252"), "grün"),
        ("\ufeffgrün".encode(), "grün"),
        (b"", ""),
    ],
)
def test_text_is_decoded_as_it_was_meant(content: bytes, expected: str) -> None:
    assert file_lines.window([content]).content == expected


def test_a_character_that_is_cut_off_does_not_spoil_the_line() -> None:
    (line,) = file_lines.lines(["ä".encode() * 10], kept=7)
    assert line.text == "äää"
    assert line.dropped == 13


# ----------------------------------------------------------------------------------------------------------- grep


def matches(pattern: str, text: str, seconds: float = 5) -> list[tuple[int, str]]:
    found = file_lines.matching(
        file_lines.compiled(pattern), "a.txt", lambda: blocks(text, 64), time.monotonic() + seconds
    )
    return [(each.line.number, each.line.text) for each in found]


def test_a_pattern_finds_lines() -> None:
    assert matches(r"^b\d", "a1\nb2\ncb3\nb4") == [(2, "b2"), (4, "b4")]


@pytest.mark.parametrize("pattern", ["(", "a{2,1}", "", "x" * 301, "[[", r"\p{Nonsense}"])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(Refused):
        file_lines.compiled(pattern)


# ------------------------------------------------------------------------------------------------------- passages


@given(st.lists(st.text(alphabet="ab \n", max_size=300), max_size=30))
def test_passages_hold_every_word_of_the_lines_they_name(pieces: list[str]) -> None:
    text = "\n".join(pieces)
    whole = text.split("\n")
    made = passages(text.encode())
    assert "\n".join(each.content for each in made).split() == text.split()
    for each in made:
        assert len(each.content) <= 1_200
        assert each.content in "\n".join(whole[each.start - 1 : each.end])


def test_a_line_without_end_is_cut_into_passages() -> None:
    made = passages(b"x" * 5_000)
    assert [(each.start, each.end, len(each.content)) for each in made] == [(1, 1, 1200)] * 4 + [(1, 1, 200)]
