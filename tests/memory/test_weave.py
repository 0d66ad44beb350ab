"""The weave against a plain model, one character at a time: what stood when, who wrote it, what can be taken back."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.documents.changes import Change, Deed, Note, Splice, Step, Writer, played
from memory.documents.runs import Run, Sight
from memory.documents.weave import Plan, Weave
from memory.errors import BlockCorrupt

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
MIA, JOB = Writer("person:mia"), Writer("job:sleep")
NEVER = 10_000


def step(seq: int, *splices: tuple[int, int, str], writer: Writer = MIA) -> Step:
    change = Change(writer, None, seq, NOW + timedelta(minutes=seq), 0)
    return Step(change, tuple(Splice(*each) for each in splices))


def after(plan: Plan, text: str) -> str:
    return played(text, [Step(Change(MIA, None, 1, NOW, 0), plan.splices)])


@dataclass
class Letter:
    """One character of the model."""

    text: str
    born: int
    died: int = NEVER

    @property
    def stands(self) -> bool:
        return self.died == NEVER

    def at(self, version: int) -> bool:
        return self.born <= version < self.died


class Model:
    """Every character that ever was, in order; nothing clever."""

    def __init__(self, text: str, steps: list[Step]) -> None:
        self.letters = [Letter(char, 0) for char in text]
        for each in steps:
            for removed, splice in zip((None, *each.splices), each.splices, strict=False):
                exchange = removed and not removed.insert and removed.place == splice.place
                self._splice(splice, each.change.seq, replaces=bool(exchange))

    def _splice(self, splice: Splice, seq: int, *, replaces: bool) -> None:
        at = self._gap(splice.place, seq if replaces else 0)
        for letter in [each for each in self.letters if each.stands][splice.place : splice.place + splice.delete]:
            letter.died = seq
        self.letters[at:at] = [Letter(char, seq) for char in splice.insert]

    def _gap(self, place: int, replaced: int) -> int:
        """Behind what is gone at a place, but before what goes now, and what the next letters came in place of."""
        standing = [at for at, letter in enumerate(self.letters) if letter.stands]
        first = standing[place - 1] + 1 if place else 0
        end = standing[place] if place < len(standing) else len(self.letters)
        end = next((at for at in range(first, end) if replaced and self.letters[at].died == replaced), end)
        came = {self.letters[end].born} if end < len(self.letters) else set[int]()
        while end > first and self.letters[end - 1].died in came:
            end -= 1
            came.add(self.letters[end].born)
        return end

    def text(self, version: int) -> str:
        return "".join(letter.text for letter in self.letters if letter.at(version))

    def without(self, numbers: set[int], *, beside: bool = False) -> tuple[str, str]:
        """The text with those changes taken back, and the letters that could not come back, by the definition."""
        kept, lost = "", ""
        for at, letter in enumerate(self.letters):
            if letter.died in numbers and letter.born not in numbers:
                sides = self.letters[:at][::-1], self.letters[at + 1 :]
                same = all(self._same(side, letter.died, numbers) for side in sides)
                if same or (beside and self._only_written(sides, letter.died, numbers)):
                    kept += letter.text
                else:
                    lost += letter.text
            elif letter.died == NEVER and letter.born not in numbers:
                kept += letter.text
        return kept, lost

    def _same(self, side: list[Letter], died: int, numbers: set[int]) -> bool:
        """The nearest letter of others that stands now, or stood when this one went, is the same then and now."""
        for letter in side:
            if letter.born in numbers or letter.died in numbers:
                continue
            then, now = letter.at(died - 1), letter.died == NEVER
            if then or now:
                return then and now
        return True

    def _only_written(self, sides: tuple[list[Letter], list[Letter]], died: int, numbers: set[int]) -> bool:
        """Both neighbours stand, and between them others removed nothing that these changes wrote."""
        for side in sides:
            for letter in side:
                if letter.born in numbers and not letter.stands and letter.died not in numbers:
                    return False
                if letter.born not in numbers and letter.died not in numbers and letter.at(died - 1):
                    if not letter.stands:
                        return False
                    break
        return True


Edit = tuple[int, int, str]
EDITS = st.lists(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 6), st.text("abc😀", max_size=4)), min_size=1, max_size=3),
    max_size=8,
)


def steps_from(text: str, edits: list[list[Edit]]) -> list[Step]:
    """Edits that fit the text as it then is; each writer in turn."""
    made = list[Step]()
    for seq, group in enumerate(edits, 1):
        splices = list[Splice]()
        for place, size, new in group:
            at = place % (len(text) + 1)
            splice = Splice(at, min(size, len(text) - at), new)
            text = text[:at] + new + text[at + splice.delete :]
            splices.append(splice)
        made.append(Step(Change((MIA, JOB)[seq % 2], None, seq, NOW, 0), tuple(splices)))
    return made


@settings(max_examples=300, deadline=None)
@given(text=st.text("xyz", max_size=12), edits=EDITS)
def test_every_version_is_the_models_and_can_be_gone_back_to(text: str, edits: list[list[Edit]]) -> None:
    steps = steps_from(text, edits)
    weave, model = Weave(0, text, steps), Model(text, steps)
    now = weave.text()
    assert now == played(text, steps)
    for version in range(len(steps) + 1):
        assert weave.text(version) == model.text(version) == played(text, steps[:version])
        assert after(weave.rolled_back(version), now) == weave.text(version)


@settings(max_examples=500, deadline=None)
@given(text=st.text("xyz", max_size=12), edits=EDITS, chosen=st.sets(st.integers(1, 8)), beside=st.booleans())
def test_taking_changes_back_is_what_the_definition_says(
    text: str, edits: list[list[Edit]], chosen: set[int], beside: bool
) -> None:
    steps = steps_from(text, edits)
    weave, model = Weave(0, text, steps), Model(text, steps)
    plan = weave.taken_back(chosen, beside="" if beside else None)
    kept, lost = model.without(chosen, beside=beside)
    assert after(plan, weave.text()) == kept
    assert "".join(plan.lost) == lost
    others = [each for each in model.letters if each.died == NEVER and each.born not in chosen]
    assert len(kept) - plan.restored == len(others)  # nothing of others went


@given(text=st.text("xyz", max_size=12), edits=EDITS)
def test_taking_the_last_changes_back_is_going_back(text: str, edits: list[list[Edit]]) -> None:
    steps = steps_from(text, edits)
    weave = Weave(0, text, steps)
    for version in range(len(steps) + 1):
        last = set(range(version + 1, len(steps) + 1))
        plan = weave.taken_back(last)
        assert (after(plan, weave.text()), plan.lost) == (weave.text(version), ())


@given(text=st.text("xyz", max_size=12), edits=EDITS)
def test_blame_gives_the_whole_text_with_who_wrote_it(text: str, edits: list[list[Edit]]) -> None:
    steps = steps_from(text, edits)
    model = Model(text, steps)
    letters = [(each.text, each.born) for each in model.letters if each.died == NEVER]
    blamed = [
        (char, piece.change.seq if piece.change else 0)
        for piece in Weave(0, text, steps).blame()
        for char in piece.text
    ]
    assert blamed == letters


def script(before: str, edits: list[Edit]) -> list[Run]:
    return list(Weave(0, before, steps_from(before, [edits])).runs)


@settings(max_examples=300, deadline=None)
@given(
    text=st.text("xyz", max_size=12),
    edits=EDITS,
    seen=st.integers(0, 8),
    mine=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 6), st.text("MN", max_size=3)), max_size=3),
)
def test_a_merge_does_what_was_wanted_and_keeps_what_came_meanwhile(
    text: str, edits: list[list[Edit]], seen: int, mine: list[Edit]
) -> None:
    steps = steps_from(text, edits)
    seen = min(seen, len(steps))
    weave, model = Weave(0, text, steps), Model(text, steps)
    before = weave.text(seen)
    runs = script(before, mine)
    merged = after(weave.merged(Sight(seen), runs), weave.text())
    wanted = "".join(run.text for run in runs if run.stands)
    if seen == len(steps):
        assert merged == wanted
    stays = iter([run.stands for run in runs if not run.born for _ in run.text])
    deleted = [not next(stays) if letter.at(seen) else False for letter in model.letters]
    others = [letter for letter, gone in zip(model.letters, deleted, strict=True) if letter.died == NEVER and not gone]
    assert "".join(char for char in merged if char not in "MN") == "".join(letter.text for letter in others)
    assert [char for char in merged if char in "MN"] == [char for char in wanted if char in "MN"]


def gone_back(steps: list[Step], writer: Writer, note: Note, plan: Plan) -> Step:
    seq = len(steps) + 1
    return Step(Change(writer, None, seq, NOW, 0, note), plan.splices)


def next_step(text: str, steps: list[Step], act: tuple[str, int, int, int], fresh: int) -> Step:
    """An edit of characters that were never there before, or a way back, as blocks go it."""
    kind, place, size, count = act
    writer, weave = (MIA, JOB)[place % 2], Weave(0, text, steps)
    mine = [each.change.seq for each in steps if each.change.writer == writer]
    match kind:
        case "rollback":
            version = size % (len(steps) + 1)
            return gone_back(steps, writer, Note(Deed.ROLLBACK, version), weave.rolled_back(version))
        case "undo" if mine:
            plan = weave.taken_back({mine[-1]}, beside="\n")
            return gone_back(steps, writer, Note(Deed.UNDO, mine[-1]), plan)
        case "revert" if mine:
            plan, note = weave.taken_back(set(mine)), Note(Deed.REVERT, mine[0] - 1, writer)
            return gone_back(steps, (MIA, JOB)[size % 2], note, plan)
    at = place % (len(weave.text()) + 1)
    splice = Splice(at, min(size, len(weave.text()) - at), "".join(chr(0x4E00 + fresh + each) for each in range(count)))
    return Step(Change(writer, None, len(steps) + 1, NOW, 0), (splice,))


ACTS = st.lists(
    st.tuples(
        st.sampled_from(["edit", "edit", "rollback", "undo", "revert"]),
        st.integers(0, 30), st.integers(0, 6), st.integers(0, 4),
    ),
    max_size=12,
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(text=st.sampled_from(["", "xyz", "one two", "one\ntwo\n"]), acts=ACTS)
def test_what_came_back_is_its_first_writers_however_often_it_went(
    text: str, acts: list[tuple[str, int, int, int]]
) -> None:
    steps, first = list[Step](), dict[str, int]()
    for at, act in enumerate(acts):
        steps.append(next_step(text, steps, act, at * 10))
        for splice in steps[-1].splices:
            for char in splice.insert:
                first.setdefault(char, 0 if char in text else steps[-1].change.seq)
    weave = Weave(0, text, steps)
    for version in range(len(steps) + 1):
        assert weave.text(version) == played(text, steps[:version])
    for piece in weave.blame():
        born = piece.change.seq if piece.change else 0
        assert {first.get(char, 0) for char in piece.text if not char.isspace()} <= {born}, "spaces are nobody's"
    for writer in (MIA, JOB):
        theirs = {each.change.seq for each in steps if each.change.writer == writer}
        left = after(weave.taken_back(theirs), weave.text())
        assert not [char for char in left if first.get(char) in theirs]


@settings(max_examples=300, deadline=None)
@given(
    text=st.text("xy\n", max_size=12),
    edits=EDITS,
    meanwhile=st.lists(st.tuples(st.integers(0, 40), st.text("JOB", min_size=1, max_size=3)), max_size=6),
    between=st.integers(0, 6),
)
def test_where_others_only_wrote_meanwhile_all_is_undone_and_done_again(
    text: str, edits: list[list[Edit]], meanwhile: list[tuple[int, str]], between: int
) -> None:
    steps, others = [*steps_from(text, edits), step(len(edits) + 1, (0, len(text), "mine\n"))], list[str]()
    if edits:
        del steps[-1]  # the last of them is mine
        steps[-1] = replace(steps[-1], change=replace(steps[-1].change, writer=MIA))
    mine = len(steps)
    before, wanted = played(text, steps[:-1]), played(text, steps)

    def others_write(parts: list[tuple[int, str]]) -> None:
        for place, new in parts:
            at = place % (len(Weave(0, text, steps).text()) + 1)
            steps.append(step(len(steps) + 1, (at, 0, new), writer=JOB))
            others.extend(new)

    def step_back(note: Note, expected: str) -> None:
        plan = Weave(0, text, steps).taken_back({note.of}, beside="\n")
        steps.append(gone_back(steps, MIA, note, plan))
        now = Weave(0, text, steps).text()
        assert (plan.lost, spelt(now, "JOB")) == ((), spelt(expected, ""))
        assert sorted(char for char in now if char in "JOB") == sorted(others)

    others_write(meanwhile[:between])
    step_back(Note(Deed.UNDO, mine), before)
    undone = len(steps)
    others_write(meanwhile[between:])
    step_back(Note(Deed.REDO, undone), wanted)


def spelt(text: str, but: str) -> str:
    """What stands there in one line, without some letters."""
    return "".join(char for char in text if char not in f"{but}\n")


# ---------------------------------------------------------------- by example


def test_words_that_are_put_back_among_others_are_known_again() -> None:
    steps = [
        step(1, (0, 0, "the agent wrote this. "), writer=JOB),
        step(2, (0, 22, "")),
        step(3, (0, 0, "Mia!\n")),
    ]
    note = Note(Deed.ROLLBACK, 1)
    back = Step(Change(MIA, None, 4, NOW, 0, note), (Splice(0, 5, ""), Splice(0, 0, "the agent wrote this. ")))
    shown = Step(
        Change(MIA, None, 4, NOW, 0, Note(Deed.REVERT, 1, MIA)), (Splice(0, 5, "Olga: the agent wrote this. "),)
    )
    assert [(piece.text, piece.change and piece.change.seq) for piece in Weave(0, "", [*steps, back]).blame()] == [
        ("the agent wrote this. ", 1)
    ]
    assert [(piece.text, piece.change and piece.change.seq) for piece in Weave(0, "", [*steps, shown]).blame()] == [
        ("Olga: ", 4),
        ("the agent wrote this. ", 1),
    ]


def test_a_jobs_words_go_what_it_removed_comes_back_and_mine_stay() -> None:
    text = "Ana likes tea. She has a cat.\n"
    steps = [
        step(1, (10, 3, "coffee"), writer=JOB),  # Ana likes coffee. She has a cat.
        step(2, (32, 1, " She is 30.\n")),
        step(3, (18, 0, "She sleeps late. "), writer=JOB),
    ]
    weave = Weave(0, text, steps)
    assert weave.text() == "Ana likes coffee. She sleeps late. She has a cat. She is 30.\n"
    plan = weave.taken_back({1, 3})
    assert after(plan, weave.text()) == "Ana likes tea. She has a cat. She is 30.\n"
    assert (plan.removed, plan.restored, plan.gone, plan.lost) == (23, 3, (), ())


def test_what_others_wrote_into_the_place_is_not_torn_apart() -> None:
    steps = [step(1, (10, 3, "coffee"), writer=JOB), step(2, (16, 0, " with milk"))]
    weave = Weave(0, "Ana likes tea.", steps)
    plan = weave.taken_back({1})
    assert after(plan, weave.text()) == "Ana likes  with milk."
    assert plan.lost == ("tea",)


@pytest.mark.parametrize(
    ("text", "mine", "theirs", "wanted"),
    [
        ("Base\n", (5, 0, "owner\n"), (5, 0, "agent"), "Base\nowner\nagent"),
        ("Base\n", (5, 0, "agent"), (5, 0, "owner\n"), "Base\nagent\nowner\n"),  # two lines stay two
        ("Base", (4, 0, "\nowner"), (4, 0, "\nagent"), "Base\nowner\nagent"),
        ("", (0, 0, "owner"), (0, 0, "agent"), "owner\nagent"),
        ("tea.", (3, 0, " and cake"), (3, 0, " with milk"), "tea and cake with milk."),
        ("tea.", (0, 3, "coffee"), (3, 0, " with milk"), "coffee with milk."),
        ("tea.", (0, 3, "coffee"), (0, 0, "hot "), "hot coffee."),
        ("one two three", (4, 4, ""), (4, 0, "or "), "one or three"),
    ],
)
def test_what_is_done_again_stands_beside_what_others_wrote_there(
    text: str, mine: Edit, theirs: Edit, wanted: str
) -> None:
    steps = [step(1, mine)]
    undone = played(text, steps)
    steps.append(gone_back(steps, MIA, Note(Deed.UNDO, 1), Weave(0, text, steps).taken_back({1})))
    assert (played(text, steps), undone != text) == (text, True)
    steps.append(step(3, theirs, writer=JOB))
    plan = Weave(0, text, steps).taken_back({2}, beside="\n")
    steps.append(gone_back(steps, MIA, Note(Deed.REDO, 2), plan))
    again = Weave(0, text, steps)
    assert (again.text(), plan.lost) == (wanted, ())
    blamed = {char: piece.change.seq for piece in again.blame() if piece.change for char in piece.text}
    own = set(mine[2]) - set(text + theirs[2] + "\n")
    assert {blamed[char] for char in own} <= {1}
    assert not own & set(after(again.taken_back({1}), wanted))
    assert spelt(after(again.taken_back({1, 2, 4}, beside=""), wanted), "") == spelt(played(text, [steps[2]]), "")


@pytest.mark.parametrize(
    ("theirs", "wanted"),
    [((0, 3, "cocoa"), "cocoa or water"), ((0, 6, "so"), "so water"), ((3, 3, ""), "tea water")],
)
def test_what_others_wrote_over_does_not_come_back(theirs: Edit, wanted: str) -> None:
    """An exchange of the word, of it with its neighbour, or the neighbour that went."""
    text, steps = "tea or water", [step(1, (0, 3, "coffee"))]
    steps.append(gone_back(steps, MIA, Note(Deed.UNDO, 1), Weave(0, text, steps).taken_back({1})))
    steps.append(step(3, theirs, writer=JOB))
    weave = Weave(0, text, steps)
    plan = weave.taken_back({2}, beside="\n")
    assert plan.lost == ("coffee",)
    assert "coffee" not in after(plan, weave.text())
    assert weave.text() == wanted


def test_what_others_removed_already_is_told() -> None:
    steps = [step(1, (0, 0, "false news "), writer=JOB), step(2, (0, 6, ""))]
    plan = Weave(0, "so", steps).taken_back({1})
    assert (plan.gone, plan.removed) == (("false ",), 5)


def test_text_at_the_end_by_two_comes_in_the_order_of_writing() -> None:
    weave = Weave(0, "a\n", [step(1, (2, 0, "b\n"))])
    assert after(weave.merged(Sight(0), script("a\n", [(2, 0, "c\n")])), weave.text()) == "a\nb\nc\n"


@pytest.mark.parametrize(
    ("theirs", "mine", "both"),
    [
        ("oat milk", "oat milk", "buy oat milk."),
        ("oat milk", "oat milk and tea", "buy oat milk and tea."),
        ("oat milk and tea", "oat milk", "buy oat milk and tea."),
        ("oat", "oatmeal", "buy oatoatmeal."),
        ("oat milk", "rice milk", "buy oat milkrice milk."),
    ],
)
def test_what_two_put_in_the_same_place_alike_is_written_once(theirs: str, mine: str, both: str) -> None:
    weave = Weave(0, "buy oats.", [step(1, (4, 4, theirs))])
    merged = weave.merged(Sight(0), script("buy oats.", [(4, 4, mine)]))
    assert after(merged, weave.text()) == both


@pytest.mark.parametrize("bad", [(9, 0, "x"), (0, 9, ""), (2, 3, "")])
def test_changes_that_do_not_fit_are_corrupt(bad: Edit) -> None:
    with pytest.raises(BlockCorrupt):
        Weave(0, "abcd", [step(1, bad)])
    with pytest.raises(BlockCorrupt):
        Weave(3, "abcd", [step(3, (0, 0, "x"))])
