"""Reminders and tasks as people ask for them, understood without a language model."""

from datetime import UTC, datetime

import pytest

from bot.models.offline.intents import Ask, Intent, Statement, understand
from bot.models.offline.text import detect
from bot.models.offline.wishes import (
    AddEvent,
    AddTask,
    Cancel,
    Finish,
    ListEvents,
    ListReminders,
    ListTasks,
    Remind,
    Unclear,
)

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
        ("remind me to call mum", Unclear("remind_when")),
        ("remind me in 20 minutes", Unclear("remind_what")),
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
        ("add an event: dinner tomorrow at 7pm", AddEvent("dinner", "tomorrow at 7pm")),
        ("put dinner with Bob on friday at 8pm in my calendar", AddEvent("dinner with Bob", "on friday at 8pm")),
        ("neuer Termin: Essen am Freitag um 19 Uhr", AddEvent("Essen", "am Freitag um 19 Uhr")),
        ("trag Zahnarzt morgen um 9 in meinen Kalender ein", AddEvent("Zahnarzt", "morgen um 9")),
        ("予定：金曜日の19時に夕食", AddEvent("夕食", "金曜日 19時")),
        ("add an event: concert on friday from 20:00 to 22:00", AddEvent("concert", "on friday 20:00", "22:00")),
        ("add an event: concert friday from 8 to 10pm", AddEvent("concert", "friday 8pm", "10pm")),
        ("add an event: launch 2026-12-31 18:00", AddEvent("launch", "2026-12-31 18:00")),
        ("neuer Termin: Essen am Freitag von 19 bis 21 Uhr", AddEvent("Essen", "am Freitag 19:00", "21 Uhr")),
        ("予定：金曜日の19時から21時まで夕食", AddEvent("夕食", "金曜日 19時", "21時")),
        ("add an event: dinner", Unclear("event_when")),
        ("add an event on friday at 8pm", Unclear("event_what")),
        ("what's in my calendar this week?", ListEvents()),
        ("what events do I have?", ListEvents()),
        ("show me my appointments", ListEvents()),
        ("was steht in meinem Kalender?", ListEvents()),
        ("Welche Termine habe ich?", ListEvents()),
        ("予定を見せて", ListEvents()),
        ("cancel the concert", Cancel("concert")),
        ("cancel my reminder to call mum", Cancel("call mum")),
        ("lösche den Termin Konzert", Cancel("Konzert")),
        ("夕食の予定をキャンセルして", Cancel("夕食")),
        ("done with the kitchen", Finish("kitchen")),
        ("fertig mit Küche putzen", Finish("Küche putzen")),
        ("台所の掃除が終わった", Finish("台所の掃除")),
        ("remind me where my dentist is", Ask("remind me where my dentist is")),
        ("> remind me in 20 minutes to call mum", Statement()),
    ],
)
def test_what_somebody_wants_is_understood(said: str, meant: Intent) -> None:
    assert understand(said, detect(said), NOW) == (meant,)
