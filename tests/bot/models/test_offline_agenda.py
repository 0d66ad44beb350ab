"""Dialogues with the offline model about what is planned, through the running service and its real tools."""

from pathlib import Path
from typing import cast

import pytest

from bot.models.offline import OfflineModel
from tests.bot.agents.agenda.test_reminder_scheduling import says
from tests.bot.parts import OLGA, ScriptedModel, direct, said
from tests.bot.stage import Setting, running

LATER = "..."
"""Five minutes go by."""

TALKS: dict[str, list[tuple[str, str]]] = {
    "sums": [("36 / 4", "36 / 4 = 9"), ("12/4=", "12/4 = 3"), ("12/4", "That stays"), ("20 - 5", "20 - 5 = 15")],
    "snooze": [
        ("remind me in 5 minutes to call mum", "call mum"),
        ("snooze", "No reminder has gone off"),
        (LATER, "call mum"),
        ("snooze it 5 minutes", "I'll remind you again"),
        (LATER, "call mum"),
        ("remind me again in an hour", "I'll remind you again"),
    ],
    "schlummern": [
        ("erinnere mich in 5 Minuten an die Wäsche", "Wäsche"),
        ("snooze", "Gerade hat keine Erinnerung geklingelt"),
        (LATER, "Wäsche"),
        ("noch mal in 5 Minuten", "wieder: Wäsche."),
        (LATER, "Wäsche"),
        ("verschieb es um eine Stunde", "wieder: Wäsche."),
    ],
    "スヌーズ": [
        ("5分後に母に電話とリマインドして", "母に電話"),
        ("スヌーズして", "鳴ったばかりのリマインダーはありません"),
        (LATER, "母に電話"),
        ("5分後にもう一度", "もう一度お知らせします"),
        (LATER, "母に電話"),
        ("それを1時間延期して", "もう一度お知らせします"),
    ],
    "which of two": [
        ("remind me in 20 minutes to call mum. remind me in 50 minutes to buy milk", "buy milk"),
        ("cancel that", "Which one do you mean? I changed nothing."),
        ("cancel the milk", "Canceled: buy milk."),
        ("my sister is Mia. my brother is Tom.", "Tom"),
        ("undo", "forget my dentist”:\n- my sister is Mia\n- my brother is Tom"),
    ],
    "two that are over": [
        ("add an event: dentist on Friday at 10:00", "dentist"),
        ("remind me in 3 minutes to call mum. remind me in 4 minutes to buy milk", "buy milk"),
        (LATER, "buy milk"),
        ("undo", "Which one do you mean?"),
        ("what are my events?", "dentist"),
    ],
    "one of several that were listed": [
        ("dentist on Friday at 10", "dentist"),
        ("dentist on Monday at 11", "dentist"),
        ("cancel the dentist", "More than one thing matches"),
        ("the second one", "Canceled: dentist."),
        ("remind me in 20 minutes to call mum. remind me in 50 minutes to buy milk", "buy milk"),
        ("undo", "Which one do you mean?"),
        ("both", "Canceled: call mum.\nCanceled: buy milk."),
        ("move the dentist to 12", "Moved"),
        ("cancel both", "I found nothing for “both”"),
        ("what are my events?", "dentist"),
        ("my sister is Mia. my brother is Tom.", "Tom"),
        ("undo", "Which one do you mean?"),
        ("the first one", "Undone: I forgot that"),
        ("what do you know about me?", "- your brother is Tom"),
    ],
    "eins von mehreren": [
        ("Zahnarzt am Freitag um 10 Uhr. Zahnarzt am Montag um 11 Uhr", "Zahnarzt"),
        ("sag den Zahnarzt ab", "passt mehreres"),
        ("am Freitag", "Gestrichen: Zahnarzt."),
        ("Treffen mit Tom am Freitag", "Wann ist das?"),
        ("14 bis 15 Uhr", "In deinen Kalender eingetragen"),
        ("was sind meine Termine?", "Zahnarzt\nTreffen mit Tom"),
        ("streich das zweite", "Gestrichen: Treffen mit Tom."),
    ],
    "いくつかの中の一つ": [
        ("20分後に母に電話とリマインドして。50分後に洗濯とリマインドして", "洗濯"),
        ("リマインダーを見せて", "洗濯"),
        ("2番目をキャンセルして", "「洗濯」を取り消しました"),
        ("歯医者をキャンセルして、5時に父に電話とリマインドして", "見つかりませんでした\n父に電話"),
    ],
    "what is listed for another reason": [
        ("add milk, eggs and bread to my list", "bread"),
        ("cancel the milk", "Canceled: milk."),
        ("show my tasks", "eggs\n- bread"),
        ("all", "That stays in our conversation"),
        ("show my tasks", "eggs\n- bread"),
        ("add eggs (brown) to my tasks", "eggs (brown)"),
        ("show my tasks", "eggs (brown)"),
        ("cancel the third one", "Canceled: eggs (brown)."),
    ],
    "several names that may be one": [
        ("remind me in 20 minutes to call Anna", "call Anna"),
        ("dentist with Bob on Friday at 10", "dentist"),
        ("cancel the dentist with Bob and Anna", "so I left them alone\n- dentist with Bob\n- call Anna"),
        ("both", "Canceled: dentist with Bob.\nCanceled: call Anna."),
        ("I need to call Tom, because he is sick", "Should I add"),
        ("yes", "Added to your tasks: call Tom, because he is sick."),
        ("明日、牛乳を買わなきゃ", "追加しましょうか"),
        ("はい", "追加しました：明日、牛乳を買う"),
    ],
    "several things": [
        ("add milk, eggs and bread to my list", "milk.\neggs.\nbread."),
        ("cancel the eggs and the bread", "Canceled: eggs.\nCanceled: bread."),
        ("i need to clean the kitchen, call Tom and fix the bike", "Should I add"),
        ("yes", "clean the kitchen.\ncall Tom.\nfix the bike."),
        ("cancel the kitchen and cancel the bike", "Canceled: clean the kitchen.\nCanceled: fix the bike."),
        ("36/4?", "36/4 = 9"),
        ("８×７", "8 × 7 = 56"),
    ],
    "the rest of a message": [
        ("remind me in 20 minutes to call mum", "call mum"),
        ("cancel it. And remind me in 30 minutes to buy milk", "Canceled: call mum.\nI'll remind you"),
        ("no, in 40 minutes. Add eggs to my list", "buy milk.\nAdded to your tasks: eggs."),
        ("my sister is Mia", "Mia"),
        ("forget Mia", "Should I forget this"),
        ("Yes. And remind me in 10 minutes to call her", "Forgotten"),
    ],
    "a yes that is taken back": [
        ("my sister is Mia", "Mia"),
        ("forget Mia", "Should I forget this"),
        ("Yes. Wait, no, keep it", ""),
        ("who is my sister?", "Mia"),
    ],
    "der Rest": [
        ("erinnere mich in 20 Minuten an die Wäsche", "Wäsche"),
        ("streich es. Und erinnere mich in 30 Minuten an die Milch", "Gestrichen: Wäsche.\nIch erinnere dich"),
    ],
    "残り": [
        ("20分後に母に電話とリマインドして", "母に電話"),
        ("キャンセルして。30分後に洗濯とリマインドして", "「母に電話」を取り消しました。\n"),
    ],
    "an event of that name": [
        ("add an event: dentist on Friday at 10:00", "dentist"),
        ("delete the dentist", "This is planned:\n- dentist"),
        ("remember that my dentist is on Elm Street", "Elm Street"),
        ("delete the dentist", "Should I forget this"),
        ("no", "Nothing was deleted"),
        ("forget that Anna likes cake", "I have no note about “Anna likes cake”. “What do you know about me?” shows"),
        ("what are my events?", "dentist"),
    ],
    "ein Termin dieses Namens": [
        ("neuer Termin: Zahnarzt am Freitag um 10 Uhr", "Zahnarzt"),
        ("lösche den Zahnarzt", "Das ist geplant:\n- Zahnarzt"),
    ],
    "その名前の予定": [
        ("金曜日の10時に歯医者の予定を追加して", "歯医者"),
        ("歯医者を消して", "次の予定があります：\n- 歯医者"),
    ],
    "the time that is missing": [
        ("meeting with Anna on Friday", "When is it?"),
        ("at 2pm", "Added to your calendar"),
        ("Treffen mit Tom am Freitag", "Wann ist das?"),
        ("um 14 Uhr", "In deinen Kalender eingetragen"),
        ("金曜日にアンナと打ち合わせ", "いつですか"),
        ("14時に", "カレンダーに追加しました"),
    ],
    "no way back": [
        ("remind me in 20 minutes to call mum", "call mum"),
        ("remind me in 50 minutes to buy milk", "buy milk"),
        ("cancel all reminders", "Should I cancel all of these? I can't bring them back afterward."),
        ("yes", "Canceled: buy milk."),
        ("undo", "What was canceled or forgotten has to be added again."),
    ],
    "Wortstellung": [
        ("merk dir, dass wir im Juni umziehen", "„wir ziehen im Juni um“"),
        ("merk dir, dass wir antworten", "„wir antworten“"),
        ("erinnere mich morgen um 8 daran, dass wir umziehen", ": wir ziehen um."),
        ("vergiss, dass ich nach München fliege", "Zu „ich fliege nach München“"),
    ],
}


@pytest.mark.parametrize("talk", TALKS.values(), ids=TALKS)
async def test_what_is_planned_is_changed_as_people_say_it(tmp_path: Path, talk: list[tuple[str, str]]) -> None:
    setting = Setting()
    setting.model = cast("ScriptedModel", OfflineModel(setting.clock))
    async with running(tmp_path, setting) as service:
        runner = service.runner(says().kinds())
        for number, (text, answer) in enumerate(talk, 1):
            if text == LATER:
                service.clock.forward(300)
                await runner.tick()
                await runner.settled()
                service.resume()
                await service.settled()
            else:
                await service.heard(said(text, number, direct(OLGA), OLGA, at=service.clock()))
            told = service.platform.posts[-1].text
            # Discord's stamps stand between the words that are looked for.
            assert all(part in told for part in answer.split("\n")), (text, told)
