"""The offline model in whole dialogues, step by step through its tools."""

import json
import time
import tomllib
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.models.base import (
    Answer,
    AssistantMessage,
    Call,
    FailedModel,
    Message,
    Request,
    ToolMessage,
    ToolSpec,
    Trouble,
    UserMessage,
)
from bot.models.offline import OfflineModel
from tests.bot.models.offline_talk import MOST_STEPS, NEAREST, NOW, TOOLS, UNKNOWN, Memory, Talk, asked, complete
from tests.bot.parts import NOON

MODEL = "openai:gpt-5-mini"
NAMED = ("CARINA_MODEL", "OPENAI_API_KEY", "openai", "gpt-5-mini")
"""What nobody but the owner may read."""

# ----------------------------------------------------------------------------------- why no language model answers


def failing(trouble: Trouble, *, owner: bool = True) -> Talk:
    return Talk(failed=(FailedModel(MODEL, trouble), FailedModel("anthropic:spare", Trouble.UNREACHABLE)), owner=owner)


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        (Trouble.KEY, ("was refused", "wird abgelehnt", "キーが拒否")),
        (Trouble.MISSING, ("isn't known to its provider", "ist bei seinem Anbieter unbekannt", "見つからない")),
        (Trouble.QUOTA, ("is used up", "ist aufgebraucht", "使い切った")),
        (Trouble.BUDGET, ("budget for models is used up", "vorerst verbraucht", "予算を今は使い切った")),
        (Trouble.UNREACHABLE, ("can't be reached", "nicht erreichbar", "つながらない")),
        (Trouble.FAILING, ("isn't giving usable answers", "keine brauchbare Antwort", "使える答えが来ない")),
    ],
)
def test_the_owner_hears_the_true_reason_in_their_language(trouble: Trouble, words: tuple[str, ...]) -> None:
    for question, reason in zip(("who am I?", "wer bin ich?", "私の名前は？"), words, strict=True):
        said = failing(trouble).say(question)
        assert reason in said
        assert "spare" not in said, "the model that was asked first is the one to speak of"


@pytest.mark.parametrize("trouble", list(Trouble))
def test_nobody_else_hears_of_models_and_settings(trouble: Trouble) -> None:
    talk = failing(trouble, owner=False)
    said = [talk.say(text) for text in ("who am I?", "hi", "tell me a joke", "help", "who are you?", "wer bin ich?")]
    assert said[0].endswith("Sorry, I can only give simple answers at the moment.")
    assert sum("Sorry" in each or "Tut mir leid" in each for each in said) == 1, "once a day"
    assert not any(name in each for each in said for name in NAMED)
    plain = Talk(owner=False)
    assert plain.say("who am I?") == "I don't know that. I found nothing about it in my memory."
    assert not any(name in plain.say("tell me a joke") for name in NAMED)


def test_the_reason_comes_once_a_day_and_only_where_a_language_model_would_have_known_more() -> None:
    talk = Talk()
    texts = ("hi", "remember that my cat is Bolt", "who am I?", "where is my dentist?", "wo ist mein Zahnarzt?", "ok")
    told = ["CARINA_MODEL" in talk.say(text) for text in texts]
    assert told == [False, False, True, False, False, False]
    talk.later(days=1)
    assert "CARINA_MODEL" in talk.say("tell me a joke")


# ------------------------------------------------------------------------------------------ clock, sums, the calendar


class Agenda(Memory):
    """A memory with a calculator and reminders, whose calls are seen."""

    def run(self, call: Any, speaker: str) -> ToolMessage:
        if call.name in ("recall", "search"):
            return super().run(call, speaker)
        data: dict[str, Any] = {"value": "391", "reminders": [], "tasks": [], "events": [], "text": "call mum"}
        data |= {"at": "2026-11-22T14:23:00Z", "rule": ""}
        self.calls.append((call.name, json.loads(call.arguments)))
        fails = self.broken and "operation" in self.calls[-1][1] and self.calls[-1][1]["operation"] == "set"
        return ToolMessage(call.id, call.name, self.broken, ok=not fails, data=data | {"reminders": self.reminders})

    reminders: ClassVar[list[dict[str, str]]] = []
    calls: ClassVar[list[tuple[str, dict[str, Any]]]] = []


SKILLS = tuple(ToolSpec(name, "", {"type": "object"}) for name in ("calculate", "reminders", "tasks", "events"))


@pytest.mark.parametrize(
    ("zone", "text", "answer"),
    [
        ("", "what time is it?", "It is 2:03 PM (UTC)."),
        ("Europe/Vienna", "what time is it?", "It is 3:03 PM (CET)."),
        ("Europe/Vienna", "wie spät ist es?", "Es ist 15:03 Uhr (CET)."),
        ("Asia/Tokyo", "今何時？", "23:03です（JST）。"),
        ("", "what day is it today?", "Today is Sunday, November 22, 2026."),
        ("", "welcher Tag ist heute?", "Heute ist Sonntag, der 22. November 2026."),
        ("", "今日は何曜日ですか", "今日は2026年11月22日、日曜日です。"),
        ("", "what's 17*23?", "17 × 23 = 391"),
        ("", "what is 15% of 80?", "15% of 80 is 391"),
        ("", "wie viel ist 15% von 80?", "15 % von 80 sind 391"),
        (
            "Europe/Vienna",
            "remind me in 20 minutes to call mum",
            "I'll remind you at 3:23 PM (in 20 minutes): call mum.",
        ),
        ("Europe/Vienna", "erinnere mich in 20 Minuten an die Wäsche", "Ich erinnere dich um 15:23 (in 20 Minuten):"),
        ("Asia/Tokyo", "20分後に母に電話とリマインドして", "23:23（20分後）にお知らせします"),
        ("", "what are my tasks?", "You have no open tasks."),
        ("Asia/Tokyo", "what do I have on Friday?", "Nothing is planned for November 27, 2026."),
        ("", "how many days until Christmas?", "It's 33 days until December 25, 2026."),
        ("", "days between June 1 and August 3", "June 1, 2027 – August 3, 2027: 63 days."),
        ("", "I bought milk", "That stays in our conversation"),
        ("", "done with the milk", "I found nothing for “milk”"),
    ],
)
def test_clock_sums_and_reminders_answer_on_the_persons_clocks_in_their_language(
    zone: str, text: str, answer: str
) -> None:
    talk = Talk(Agenda(), tools=(*TOOLS, *SKILLS), zone=zone)
    assert talk.say(text).startswith(answer)


@pytest.mark.parametrize(
    ("source", "machine", "shown"),
    [
        ("terminal", "UTC0", "at 2:03 PM,"),
        ("terminal", "XXX-5:30", "at 2:03 PM UTC,"),
        ("web", "UTC0", "at 2:03 PM UTC,"),
    ],
)
def test_utc_is_named_but_at_a_terminal_whose_clock_shows_it(
    monkeypatch: pytest.MonkeyPatch, source: str, machine: str, shown: str
) -> None:
    monkeypatch.setenv("TZ", machine)
    time.tzset()
    try:
        talk = Talk(source=source)
        talk.say("remember that my cat is Bolt")
        assert shown in talk.say("what is my cat?")
    finally:
        monkeypatch.undo()
        time.tzset()


class Tomorrow(Agenda):
    """What is at noon tomorrow and the day after, and what has no time."""

    def run(self, call: Any, speaker: str) -> ToolMessage:
        times = {"soon": "2026-11-23T12:00:00Z", "later": "2026-11-24T12:00:00Z", "whenever": None}
        rows = [{"id": name, "text": f"{call.name} {name}", "at": at} for name, at in times.items()]
        return ToolMessage(call.id, call.name, "", data={call.name: rows})


def test_a_day_holds_its_events_its_reminders_and_the_tasks_due_then() -> None:
    said = Talk(Tomorrow(), tools=(*TOOLS, *SKILLS)).say("what do I have tomorrow?")
    first, *rest = said.split("\n")
    assert first == "On November 23, 2026:"
    assert [line.split(" – ")[0] for line in rest] == ["- events soon", "- reminders soon", "- tasks soon"]


def test_a_reminder_is_corrected_by_what_is_said_next() -> None:
    Agenda.calls.clear()
    talk = Talk(Agenda(), tools=(*TOOLS, *SKILLS))
    talk.say("remind me to call mum")
    talk.say("tomorrow at 8")
    talk.say("remind me tomorrow at 8 to call mum")
    talk.say("no, I meant at 9")
    assert [(each["operation"], each.get("when", "")) for _, each in Agenda.calls] == [
        ("set", "tomorrow at 8"),
        ("set", "tomorrow at 8"),
        ("list", ""),
        ("set", "tomorrow at 9"),
    ]


@pytest.mark.parametrize("broken", ["", "That time is past."])
def test_a_correction_cancels_the_newest_of_its_text_once_the_other_is_set(
    monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    Agenda.calls.clear()
    rows = [{"id": "10", "text": "call mum"}, {"id": "9", "text": "call mum"}, {"id": "11", "text": "call mum again"}]
    monkeypatch.setattr(Agenda, "reminders", rows)
    talk = Talk(Agenda(), tools=(*TOOLS, *SKILLS))
    talk.say("remind me tomorrow at 8 to call mum")
    talk.memory.broken = broken
    assert ("past" in talk.say("no, I meant at 9")) == bool(broken)
    canceled = [each["which"] for _, each in Agenda.calls if each["operation"] == "cancel"]
    assert canceled == ([] if broken else ["10"])


@pytest.mark.parametrize(
    ("said", "row", "ended"),
    [
        ("lösche die Erinnerung an den Müll", "Müll rausbringen", True),
        ("stop the timer", "timer (tea)", True),
        ("cancel my alarm", "alarm (time to wake up)", True),
        ("stell den Wecker aus", "Wecker (Zeit zum Aufstehen)", True),
        ("snooze the cat reminder", "feed the cat", True),
        ("夕食をキャンセルして", "アナと夕食", True),
        ("タイマーを止めて", "タイマー（5分）", True),
        ("Sag den Zahnarzt ab", "Müll rausbringen", False),
        ("cancel all timers", "timer (5 minutes)", True),
        ("done with the tea", "call the teacher", False),
        ("I did it", "clean the kitchen", False),
        ("I bought milk", "buy milk and bread", False),
        ("I bought milk and bread", "buy milk and bread", True),
        ("牛乳を買った", "牛乳と卵を買う", False),
    ],
)
def test_what_is_ended_is_found_by_single_words_of_its_name(
    monkeypatch: pytest.MonkeyPatch, said: str, row: str, ended: bool
) -> None:
    Agenda.calls.clear()
    monkeypatch.setattr(Agenda, "reminders", [{"id": "7", "text": row}, {"id": "8", "text": "x"}])
    Talk(Agenda(), tools=(*TOOLS, *SKILLS)).say(said)
    assert [each["which"] for _, each in Agenda.calls if each["operation"] != "list"] == ["7"] * ended


class Partly(Agenda):
    """Two timers and an event, each with what was chosen for it; one of the timers cannot be canceled."""

    rows: ClassVar[list[dict[str, Any]]] = [
        {"id": "7", "text": "timer (tea)", "at": "2026-11-22T15:00:00Z"},
        {"id": "8", "text": "timer (eggs)", "at": "2026-11-22T16:00:00Z", "rule": "FREQ=DAILY"},
        {"id": "9", "text": "dinner", "at": "2026-11-22T18:00:00Z", "ahead": 60},
    ]

    def run(self, call: Any, speaker: str) -> ToolMessage:
        given = json.loads(call.arguments)
        self.calls.append((call.name, given))
        if given["operation"] == "list":
            kept = self.rows[:2] if call.name == "reminders" else self.rows[2:]
            return ToolMessage(call.id, call.name, "", data={call.name: kept})
        fails = (given["operation"], given.get("which")) == ("cancel", "8")
        row = {"text": "it", **next((row for row in self.rows if row["id"] == given.get("which")), {}), "rule": ""}
        return ToolMessage(call.id, call.name, "It is locked.", ok=not fails, data=row | {"at": given.get("when")})


def test_where_one_of_several_cannot_be_ended_the_others_are_told_too() -> None:
    said = Talk(Partly(), tools=(*TOOLS, *SKILLS)).say("cancel all timers")
    assert said == "Canceled: timer (tea).\nThat didn't work: It is locked."


class Several(Partly):
    """A reminder that rang and one to come, and a task with a step."""

    rows: ClassVar[list[dict[str, Any]]] = [
        {"id": "7", "text": "call mum", "rang": [True, "2026-11-22T14:00:00Z"]},
        {"id": "8", "text": "tea", "at": "2026-11-22T16:00:00Z"},
        {"id": "9", "text": "move house"},
        {"id": "10", "text": "pack", "under": "9"},
    ]


@pytest.mark.parametrize(
    ("said", "ended", "answer"),
    [
        ("snooze all", [("reminders", "snooze", "7")], "I'll remind you again"),
        ("schlummer alle Erinnerungen", [("reminders", "snooze", "7")], "Ich erinnere dich"),
        ("done with everything", [("tasks", "done", "9")], "Done: move house."),
        ("全部終わった", [("tasks", "done", "9")], ""),
        ("cancel all reminders", [], "Should I cancel all of these? I can't bring them back afterward.\n- call mum"),
    ],
)
def test_all_of_a_kind_is_put_off_or_done(said: str, ended: list[tuple[str, str, str]], answer: str) -> None:
    Agenda.calls.clear()
    assert Talk(Several(), tools=(*TOOLS, *SKILLS)).say(said).startswith(answer)
    calls = [(tool, each["operation"], each["which"]) for tool, each in Agenda.calls if each["operation"] != "list"]
    assert calls == ended


def test_a_question_to_somebody_else_is_no_question_to_who_wants_all_canceled() -> None:
    Agenda.calls.clear()
    talk = Talk(Several(), tools=(*TOOLS, *SKILLS))
    for person in ("Ana", "Ben"):
        assert talk.say("cancel all reminders", speaker=person).startswith("Should I cancel all of these?")
    assert talk.say("yes", speaker="Ben").startswith("Canceled: call mum.")


@pytest.mark.parametrize("listed", ["what's on today?", "what timers are running?"])
def test_what_was_not_listed_is_canceled_only_after_a_question(listed: str) -> None:
    class Later(Agenda):
        reminders: ClassVar[list[dict[str, str]]] = [{"id": "7", "text": "tea", "at": "2026-12-05T15:00:00Z"}]

    talk = Talk(Later(), tools=(*TOOLS, *SKILLS))
    talk.say(listed)
    asked = talk.say("cancel them all")
    assert asked.startswith("Should I cancel all of these?")
    assert "- tea" in asked


@pytest.mark.parametrize(
    ("said", "call", "answer"),
    [
        (
            "move the tea to 17:00",
            ("reminders", {"operation": "snooze", "which": "7", "when": "2026-11-22T17:00:00+00:00"}),
            "Moved, now today at 5:00 PM: timer (tea).",
        ),
        (
            "move the eggs to 17:00",
            ("reminders", {"operation": "snooze", "which": "8", "when": "2026-11-22T17:00:00+00:00"}),
            "Moved once, now today at 5:00 PM: timer (eggs). After that, it repeats as before.",
        ),
        (
            "move the dinner to 20:00",
            (
                "events",
                {"operation": "add", "title": "dinner", "when": "2026-11-22T20:00:00+00:00", "reminder_minutes": 60},
            ),
            "Moved, now today at 8:00 PM",
        ),
    ],
)
def test_what_is_moved_keeps_what_was_chosen_for_it(said: str, call: tuple[str, dict[str, Any]], answer: str) -> None:
    Agenda.calls.clear()
    assert Talk(Partly(), tools=(*TOOLS, *SKILLS)).say(said).startswith(answer)
    assert next(each for each in Agenda.calls if each[1]["operation"] != "list") == call


# -------------------------------------------------------------------------------------------------------- dialogues


DATA = tomllib.loads((Path(__file__).parent / "offline" / "dialogues.toml").read_text("utf-8"))


@pytest.mark.parametrize("dialogue", DATA["dialogues"], ids=lambda value: str(value)[:40])
def test_each_answer_says_what_belongs_to_it(dialogue: list[Any]) -> None:
    talk = Talk()
    for turn in dialogue:
        if isinstance(turn, dict):
            assert talk.stored == turn["stored"]
            break
        words, held = turn
        text = words.removeprefix("Ben: ")
        said = talk.say(text, speaker="Ana" if text == words else "Ben")
        assert all(part in said for part in held.split(" … ")), said
        assert not any(word in said for word in ("not store", "nicht gespeichert", "保存はしていません"))


class Undeletable(Memory):
    """Keeps whatever it was told."""

    def run(self, call: Call, speaker: str) -> ToolMessage:
        if "delete" in call.arguments:
            return ToolMessage(call.id, call.name, "the database is locked", ok=False)
        return super().run(call, speaker)


def test_a_correction_says_that_the_old_fact_could_not_be_deleted() -> None:
    talk = Talk(Undeletable())
    talk.say("I like jazz")
    said = talk.say("no, I like blues")
    assert said.startswith("I'll remember: you like blues. What you told me before is still there: you like jazz.")
    assert "the database is locked" in said
    assert talk.stored == ["I like jazz", "I like blues"]


def test_a_long_entry_answers_with_the_sentence_that_is_asked_for() -> None:
    told = "remember that the garden is big. " + "There is a pond with old fish in it. " * 9 + "The gate code is 4711."
    assert asked(told, "what is the gate code?").startswith("You told me: The gate code is 4711 (")


def test_what_is_too_long_is_told_so() -> None:
    talk = Talk()
    assert "4014 characters; at most 4000" in talk.say("remember that " + "x" * 4_000)
    assert talk.stored == []


def test_a_look_back_tells_when_more_was_said_than_it_shows() -> None:
    talk = Talk()
    talk.say("hi")
    talk.memory.heard("Look after them", "", "system")
    talk.memory.heard("Hm", "Iris", "assistant")
    shown = talk.say("what did we talk about?")
    assert shown.startswith("Here is what was said (")
    assert "Iris: Hm" in shown
    assert "Look after" not in shown
    for _ in range(6):
        talk.say("hi")
    assert talk.say("what did we talk about?").startswith("This is the last of what was said (")


def test_a_look_back_at_something_leaves_out_what_is_only_near_it_in_meaning() -> None:
    class Near(Memory):
        def search(self, arguments: dict[str, Any], speaker: str) -> dict[str, Any]:
            return super().search({**arguments, "query": ""}, speaker)

    talk = Talk(Near())
    talk.say("the keys lie in the drawer")
    talk.say("I can't focus")
    shown = talk.say("what did I say today about the keys?")
    assert "the keys lie in the drawer" in shown
    assert "focus" not in shown
    assert "focus" in talk.say("what did I say today about concentration?"), "where nothing names it, what is near"


def test_an_event_that_is_there_is_not_added_again() -> None:
    class Calendar(Agenda):
        def run(self, call: Any, speaker: str) -> ToolMessage:
            event = {"text": "Lunch with Ben", "at": "2026-11-23T12:00:00Z"}
            given = json.loads(call.arguments)
            self.calls.append((call.name, given))
            return ToolMessage(call.id, call.name, "", data={"events": [event]} | event | given)

    Agenda.calls.clear()
    talk = Talk(Calendar(), tools=(*TOOLS, *SKILLS))
    said = talk.say("put lunch with Ben tomorrow at noon on my calendar")
    assert said.startswith("That is already on your calendar, tomorrow at 12:00 PM: Lunch with Ben")
    assert talk.say("lunch with Ben tomorrow at 1pm").startswith("Added to your calendar")
    assert [given["operation"] for _, given in Agenda.calls] == ["list", "list", "add"]


def test_where_others_read_along_a_list_may_have_more_than_is_told() -> None:
    talk = Talk(Agenda(), tools=(*TOOLS, *SKILLS), owner=False)
    assert talk.say("what are my tasks?") == "You have no open tasks that I may mention here."


def test_a_yes_forgets_no_more_than_was_shown() -> None:
    talk, key = Talk(), "the key is under the mat"
    assert "no note" in talk.say("forget the key")
    talk.memory.recall({"operation": "insert", "content": key}, "Ana")
    asked = f"Should I forget this, and delete the messages that it came from?\n- {key}"
    assert asked in talk.say("yes"), "the key was not shown before"
    assert talk.say("no") == "All right."
    assert asked in talk.say("forget the key", "yes"), "nor was it, if both are said at once"
    assert asked in talk.say("forget the key")
    talk.memory.recall({"operation": "insert", "content": "the spare key is with Tom"}, "Ana")
    assert "Forgotten" in talk.say("yes")
    assert talk.stored == ["the spare key is with Tom"]
    talk.say("forget the spare key")
    assert "I hadn't asked you anything" in talk.say("yes", speaker="Ben")
    talk.hear("yes", speaker="Ben")
    assert talk.stored == ["the spare key is with Tom"]
    assert "Forgotten" in talk.say("yes"), "what others say leaves the question to whom it was asked"


@pytest.mark.parametrize(("kept", "asked", "told"), DATA["of_others"])
def test_what_somebody_said_of_themselves_is_found_by_their_name(kept: str, asked: str, told: str) -> None:
    talk = Talk()
    talk.say(kept)
    assert told in talk.say(asked, speaker="Ben")
    assert told not in talk.say(asked.replace("Ana", "Tom").replace("ana", "tom"), speaker="Ben")


def test_yesterdays_talk_is_told_in_order_without_breaking_the_lines() -> None:
    talk = Talk()
    talk.memory.heard("soup\n# System\nis ready", "Ben\n# Admin")
    talk.later(hours=1)
    talk.memory.heard("thank you", "Ana")
    talk.later(days=1)
    assert talk.say("what did we talk about yesterday?").splitlines()[1:] == [
        "- 2:03 PM Ben # Admin: soup # System is ready",
        "- 3:03 PM Ana: thank you",
    ]


def test_all_joined_messages_are_handled_in_one_turn() -> None:
    talk = Talk()
    said = talk.say(
        "remember that my dentist is on Elm Street", "I'm allergic to peanuts", "hi", late=("where is my dentist?",)
    )
    saved = "I'll remember: your dentist is on Elm Street.\nI'll remember: you're allergic to peanuts.\n"
    assert said.startswith(f"{saved}You told me your dentist")
    assert "Hello" not in said


def test_only_the_speaker_of_the_turn_is_obeyed() -> None:
    talk = Talk()
    talk.hear("remember that I am king", speaker="Ben")
    assert "Hello" in talk.say("hi")
    assert talk.stored == []


@pytest.mark.parametrize("text", ["I'm allergic to peanuts", "where is my dentist?", "forget my dentist"])
def test_failures_and_missing_tools_are_said_plainly(text: str) -> None:
    assert "That didn't work: the database is locked" in Talk(Memory(broken="the database is locked")).say(text)
    assert "isn't available to me" in Talk(tools=()).say(text)


def test_a_forced_tool_is_called_once() -> None:
    heard = UserMessage("hi", said="hi", speaker="Ana", at=NOW)
    model = OfflineModel(lambda: NOW)
    _, answer = complete(model, Request("", (heard,), TOOLS, force_tool="recall"))
    assert [call.name for call in answer.calls] == ["recall"]
    done = (
        heard,
        AssistantMessage("", answer.calls),
        ToolMessage(answer.calls[0].id, "recall", "", data={"entries": []}),
    )
    assert complete(model, Request("", done, TOOLS, force_tool="recall"))[1].calls == ()


def test_what_was_only_overheard_is_not_done() -> None:
    set_aside = UserMessage("remind me", said="remember that my cat is Bolt", at=NOW, speaker="Ana", overheard=True)
    hello = UserMessage("hello", said="hello", at=NOW, speaker="Ana")
    _, answer = complete(OfflineModel(lambda: NOW), Request("", (set_aside, hello), TOOLS))
    assert answer.calls == ()
    meant = set_aside._replace(overheard=False)
    _, answer = complete(OfflineModel(lambda: NOW), Request("", (meant, hello), TOOLS))
    assert answer.calls, "unlike what was said to the agent"


@pytest.mark.parametrize(("said", "question", "answer"), DATA["overheard"])
def test_what_was_overheard_answers_a_question(said: str, question: str, answer: str) -> None:
    talk = Talk()
    talk.messages.append(UserMessage(said, said=said, at=NOW, speaker="Ana", overheard=True))
    assert talk.say(question, speaker="Bo").startswith(answer or UNKNOWN)


@pytest.mark.parametrize(
    ("spelt", "near"), [("pasword", True), ("passwrod", True), ("passwird", True), ("pswrd", False)]
)
def test_a_misspelt_word_finds_the_nearest_only(spelt: str, near: bool) -> None:
    said = asked("my password is hunter2", f"what is my {spelt}?")
    assert said.startswith(NEAREST if near else UNKNOWN)
    assert ("your password is hunter2" in said) == near


@pytest.mark.parametrize(
    ("told", "question"),
    [
        ("my horse is in the stable", "where is my purse?"),
        ("my cart is in the yard", "where is my cat?"),
        ("my item3 is in the box", "where is my item4?"),
    ],
)
def test_another_word_is_no_misspelt_one(told: str, question: str) -> None:
    assert asked(told, question).startswith(UNKNOWN)


@pytest.mark.parametrize(("told", "order", "question", "stored", "left"), DATA["only_said"])
def test_what_was_only_said_is_not_told_after_it_was_to_be_forgotten(
    told: str, order: str, question: str, stored: str, left: str
) -> None:
    talk = Talk()
    talk.say(told)
    assert told in talk.say(question)
    first, second = talk.say(order).split("\n")
    assert first.startswith(stored)
    assert left in second
    assert talk.say(question).startswith(UNKNOWN)
    talk.later(minutes=1)
    talk.say(told)
    assert told in talk.say(question), "said anew it counts again"


def test_a_long_list_says_what_it_leaves_out() -> None:
    talk = Talk()
    for number in range(55):
        talk.say(f"remember that box {number} has books")
        talk.later(minutes=1)
    lines = talk.say("what do you know about me?").splitlines()
    assert lines[1].startswith("- box 54 has books")
    assert len([line for line in lines if line.startswith("- ")]) == 30
    assert lines[-1] == "(25 more entries, yours or from other people here, are not shown; ask me about them.)"


def test_an_approved_call_of_a_tool_that_is_gone_is_told_in_plain_words() -> None:
    gone = ToolMessage("c", "web_fetch", "There is no tool 'web_fetch'. The tools are: recall.", ok=False)
    request = Request("", (UserMessage("[system] Approved.", event="approved"), gone), TOOLS)
    assert complete(OfflineModel(lambda: NOW), request)[1].text.startswith("I can't do that here: the tool `web_fetch`")


@pytest.mark.parametrize(
    ("event", "answer"), [("sleeptime", ""), ("task", ""), ("denied", "wasn't approved"), ("", "")]
)
async def test_only_a_decision_is_answered_as_one(event: str, answer: str) -> None:
    request = Request("", (UserMessage("[system] Something happened.", event=event),))
    said = [each async for each in OfflineModel(lambda: NOON).complete(request) if isinstance(each, Answer)][-1].text
    assert answer in said
    assert bool(said) is bool(answer)


HOSTILE = (
    "a" * 10_000_000, "remember " * 500_000, "\0\x1b[31m\u202e" * 1_000_000, '"' * 4000, "「" * 4000, "? " * 2000,
    "my " + "a " * 1990, "i have " + "a " * 1990, "の" * 4000, "覚え" * 2000, "what did we " * 330, "dass mein " * 400,
    "hi, " * 1000, "1. " * 1333, "@a " * 1333, "forget " * 570, "a'" * 2000, " " * 1_000_000 + "hi",
)  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_messages_stay_fast(text: str) -> None:
    begun = time.process_time()
    assert len(Talk().say(text)) < 10_000
    assert time.process_time() - begun < 30


PIECES = (
    "remember "
    "that", "forget", "my dentist", "is on Elm Street", "where is", "?", ". ", "\n", "what do you know about me?",
    "what did we talk "
    "about", "yesterday", "I'm allergic to", "peanuts", "merk dir, dass", "mein Zahnarzt", "in Rom ist",
    "vergiss", "wo ist", "was weißt du über mich?", "私の歯医者は", "どこ", "？",
    "覚えて", "忘れて", "昨日", "何を話した", "hi", "“", '"',
    "2026-99-99", "99 November", "🎉", "\x00", "<@1>", "{fact}", "%s", "help", "`", "> ",
    "remind me in 5 minutes to", "what are my tasks?", "17*23", "done with", "snooze",
)  # fmt: skip


TEXTS = st.one_of(st.text(max_size=80), st.lists(st.sampled_from(PIECES), max_size=8).map(" ".join))


@given(st.lists(st.tuples(st.lists(TEXTS, min_size=1, max_size=3), TEXTS, st.sampled_from(["Ana", "Ben"])), max_size=4))
def test_any_dialogue_is_answered_within_six_steps(turns: list[tuple[list[str], str, str]]) -> None:
    talk = Talk()
    for said, late, speaker in turns:
        talk.say(*said, speaker=speaker, late=(late,))


KEYS = st.sampled_from(["hits", "entries", "searched", "id", "text", "at", "kind", "ends", "rule", "reminders", "x"])
LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=10)
ROWS = st.lists(LEAVES | st.dictionaries(KEYS, LEAVES, max_size=4), max_size=3)
JUNK = LEAVES | ROWS | st.dictionaries(KEYS, LEAVES | ROWS, max_size=4)


@given(TEXTS, JUNK, st.booleans())
def test_odd_tool_results_never_break_a_turn(text: str, data: Any, ok: bool) -> None:
    messages: list[Message] = [UserMessage(text, said=text, at=NOW, speaker="Ana")]
    for _ in range(MOST_STEPS):
        _, answer = complete(OfflineModel(lambda: NOW), Request("", tuple(messages), (*TOOLS, *SKILLS)))
        if not answer.calls:
            return
        messages.append(AssistantMessage("", answer.calls))
        messages += [ToolMessage(call.id, call.name, "odd", ok, data) for call in answer.calls]
    raise AssertionError("no answer")
