"""Reminders and tasks as people ask for them, understood without a language model."""

from datetime import UTC, datetime

import pytest

from bot.models.offline.intents import (
    AddTask,
    Ask,
    Finish,
    Intent,
    ListReminders,
    ListTasks,
    Remind,
    Say,
    Statement,
    understand,
)
from bot.models.offline.text import detect

NOW = datetime(2026, 3, 2, 13, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("remind me in 20 minutes to call mum", Remind("call mum", "in 20 minutes")),
        ("Remind me to call mum in 20 minutes.", Remind("call mum", "in 20 minutes")),
        ("can you remind me tomorrow at 9 that the rent is due?", Remind("the rent is due", "tomorrow at 9")),
        ("set a reminder for friday at 6 pm: dinner with Ana", Remind("dinner with Ana", "friday at 6 pm")),
        ("erinnere mich morgen um 9 an den Zahnarzt", Remind("Zahnarzt", "morgen um 9")),
        ("erinnere mich morgen um 9 ans Schwimmen", Remind("Schwimmen", "morgen um 9")),
        ("Erinnere mich jeden Montag um 8 an den Müll", Remind("Müll", "jeden Montag um 8")),
        (
            "kannst du mich in 20 Minuten daran erinnern, die Wäsche aufzuhängen?",
            Remind("Wäsche aufzuhängen", "in 20 Minuten"),
        ),
        ("20分後に母に電話するようにリマインドして", Remind("母に電話", "20分後に")),
        ("remind me to call mum", Say("remind_when")),
        ("remind me in 20 minutes", Say("remind_what")),
        ("every monday at 8 remind me to water the plants", Remind("water the plants", "every monday at 8")),
        ("tomorrow at 9, please remind me to call mum", Remind("call mum", "tomorrow at 9")),
        ("jeden Montag um 8 erinnere mich an die Blumen", Remind("Blumen", "jeden Montag um 8")),
        ("remind me yesterday at 9 to call mum", Remind("call mum", "yesterday at 9")),
        ("remind me at 9 to ask about yesterday", Remind("ask about yesterday", "at 9")),
        ("remind me in an hour and a half to call mum", Remind("call mum", "in an hour and a half")),
        ("remind me every monday and friday at 9 to stretch", Remind("stretch", "every monday and friday at 9")),
        ("remind me to pay rent on the 1st of every month", Remind("pay rent", "on the 1st of every month")),
        ("what are my reminders?", ListReminders()),
        ("was sind meine Erinnerungen?", ListReminders()),
        ("what are my tasks?", ListTasks()),
        ("Was sind meine Aufgaben?", ListTasks()),
        ("タスクを見せて", ListTasks()),
        ("new task: clean the kitchen", AddTask("clean the kitchen")),
        ("add buy milk to my list", AddTask("buy milk")),
        ("neue Aufgabe: Küche putzen", AddTask("Küche putzen")),
        ("タスク：台所の掃除", AddTask("台所の掃除")),
        ("done with the kitchen", Finish("kitchen")),
        ("fertig mit Küche putzen", Finish("Küche putzen")),
        ("台所の掃除が終わった", Finish("台所の掃除")),
        ("remind me where my dentist is", Ask("remind me where my dentist is")),
        ("> remind me in 20 minutes to call mum", Statement()),
    ],
)
def test_what_somebody_wants_is_understood(said: str, meant: Intent) -> None:
    assert understand(said, detect(said), NOW) == (meant,)
