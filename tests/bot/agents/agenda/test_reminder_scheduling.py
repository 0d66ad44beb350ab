"""Where, when and how often a reminder is said: the rules, over real rows."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast
from urllib.parse import parse_qs

import discord
import pytest

from bot.agents.agenda import reminder_scheduling
from bot.agents.agenda.delivery_to_a_person import PersonalMessages
from bot.agents.agenda.reminder_scheduling import PlannedReminder, ReminderJob
from bot.agents.owner_notices import Notices, own_place
from bot.models.offline import OfflineModel
from bot.runtime.outbox_delivery import to_delivery
from memory import jobs
from memory.agenda import reminders
from memory.agenda.reminders import Reminder, Status
from memory.people import person_settings
from memory.people.audience import OWNER, Audience, Scope, Trust, guild_audience, person_audience
from memory.people.person_settings import Times
from memory.queue import inbox, notifications, outbox
from memory.queue.notifications import Notification, Place, Speaker
from memory.queue.outbox import EditDetail, OutRow
from memory.store.clock import to_text
from memory.store.database import Tx
from memory.store.errors import Refused
from memory.store.ids import ConstellationId, GuildId, PersonId, PlaceId
from memory.store.migrations import Kind, prepare
from memory.store.records import replace
from memory.store.sqlite import connect
from scheduler import triggers
from scheduler.dates import read_when
from scheduler.job_kinds import DueJob
from sources.discord.cards import items_of
from sources.terminal import PERSON, PLACE
from tests.bot.parts import BOB, ScriptedModel, said, thread_in_public
from tests.bot.stage import Setting, running, talked
from tests.memory.parts import kept_of

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
ANN = PersonId("discord:7")
DIRECT, HALL, OWNERS = PlaceId("discord:user:7"), PlaceId("discord:10"), PlaceId("discord:user:1")
GUILD = guild_audience(GuildId("discord:1"))
ALONE = Scope(person_audience(ANN))


@pytest.fixture
def tx(tmp_path: Path) -> Iterator[Tx]:
    prepare(tmp_path / "carina.db", Kind.CONSTELLATION)
    raw = connect(tmp_path / "carina.db")
    made = Tx(raw)
    heard(made, DIRECT, "direct", ALONE.audience)
    heard(made, HALL, "guild", GUILD)
    yield made
    raw.close()


def heard(tx: Tx, place: PlaceId, kind: str, audience: Audience) -> None:
    at = Place(place, kind, audience)
    inbox.note_place(tx, Notification("discord", "1", notifications.Kind.MESSAGE, at, Speaker(ANN, "Ann"), NOW), NOW)


def alone(person: PersonId) -> tuple[PersonId, ...]:
    return (person,)


def messages(opted_out: bool = False) -> PersonalMessages:
    return PersonalMessages(Notices(OWNERS), "UTC", lambda _person: opted_out, alone, lambda _person: "")


def says(opted_out: bool = False) -> ReminderJob:
    return ReminderJob(messages(opted_out))


def wanted(place: PlaceId = DIRECT, audience: Audience = ALONE.audience) -> Reminder:
    return Reminder("call mum", ANN, place, audience, Trust.APPROVED)


def planned(tx: Tx, when: str = "in 20 minutes", given: Reminder | None = None) -> PlannedReminder:
    return reminder_scheduling.plan(tx, given or wanted(), when, (ANN,), "UTC", NOW)


@pytest.mark.parametrize(
    ("text", "hour"), [("time to wake up", 6), ("Zeit zum Aufstehen", 6), ("起きる時間です", 6), ("call mum", 18)]
)
def test_a_reminder_to_wake_up_is_in_the_morning(tx: Tx, text: str, hour: int) -> None:
    assert planned(tx, "tomorrow at 6", replace(wanted(), text=text)).at == datetime(2026, 3, 3, hour, tzinfo=UTC)


def firing(tx: Tx, kept: PlannedReminder, now: datetime | None = None, suffix: str = "") -> DueJob:
    job = jobs.get(tx, reminders.job_id(kept.reminder.id, suffix))
    assert job is not None
    assert job.next_at is not None
    return DueJob(job, ConstellationId("con_1"), job.next_at, now or job.next_at)


def stored(tx: Tx, kept: PlannedReminder) -> Reminder:
    found = reminders.by_id(tx, kept.reminder.id)
    assert found is not None
    return found


def out(tx: Tx) -> list[tuple[str, str, str]]:
    rows = tx.all("SELECT place_id, content, audience FROM outbox ORDER BY id")
    return [(row["place_id"], row["content"], row["audience"]) for row in rows]


def test_it_comes_in_direct_messages_and_in_the_language_that_its_person_chose(tx: Tx) -> None:
    kept = planned(tx, given=wanted(HALL, GUILD))
    person_settings.put(tx, (ANN,), Times(reminders="privately"), NOW)
    job = ReminderJob(replace(messages(), spoken=lambda person: "de" if person == ANN else ""))
    job.remind(tx, firing(tx, kept))
    job.remind(tx, firing(tx, kept, suffix="again"))
    texts = ["⏰ call mum", "⏰ Noch offen: call mum"]
    assert out(tx) == [(DIRECT, text, ALONE.audience) for text in texts]
    labels = [item.label for row in told(tx, kept) for item in buttons_of(row) if isinstance(item, discord.ui.Button)]
    assert labels == ["Erledigt", "Erledigt"]


def told(tx: Tx, kept: PlannedReminder) -> list[OutRow]:
    return outbox.of_prefix(tx, f"reminder/{kept.reminder.id}/")


def buttons_of(row: OutRow) -> list[discord.ui.Item[discord.ui.LayoutView]]:
    return items_of(to_delivery(row).buttons)


BLUESKY = PersonId("bluesky:did:plc:7")
THERE = PlaceId("bluesky:user:did:plc:7")


@pytest.mark.parametrize(
    ("person", "place", "scope", "said"),
    [
        (ANN, DIRECT, ALONE, (DIRECT, "⏰ call mum", ALONE.audience)),
        (ANN, HALL, Scope(GUILD), (HALL, "<@7> ⏰ call mum", GUILD)),
        (ANN, HALL, ALONE, (DIRECT, "⏰ call mum", ALONE.audience)),
        (ANN, HALL, Scope(Audience("channel:discord:10")), (DIRECT, "⏰ call mum", ALONE.audience)),
        (PERSON, PLACE.id, Scope(OWNER), (OWNERS, "⏰ call mum", OWNER)),
        (PERSON, PlaceId("api:chat/grp_1"), Scope(OWNER), (OWNERS, "⏰ call mum", OWNER)),
        (BLUESKY, THERE, Scope(person_audience(BLUESKY)), (THERE, "⏰ call mum", person_audience(BLUESKY))),
    ],
    ids=["alone", "in a channel", "told alone", "heard by others", "the terminal", "over HTTP", "alone on Bluesky"],
)
def test_it_is_said_once_where_it_was_set_or_to_its_person_alone(
    tx: Tx, person: PersonId, place: PlaceId, scope: Scope, said: tuple[str, str, str]
) -> None:
    heard(tx, THERE, "direct", person_audience(BLUESKY))
    given = replace(wanted(place, scope.audience), person=person)
    kept = reminder_scheduling.plan(tx, given, "in 20 minutes", (person,), "UTC", NOW)
    fired = firing(tx, kept)
    says().remind(tx, fired)
    says().remind(tx, fired)
    assert out(tx) == [said]
    row = tx.all("SELECT source, detail FROM outbox")[0]
    assert row["source"] == said[0].partition(":")[0]
    detail = json.loads(row["detail"])
    assert detail.get("mentions", []) == ([ANN] if said[0] == HALL else [])
    offered = {"kind": "reminder", "id": kept.reminder.id, "offers": ["snooze", "done"], "language": "en"}
    assert detail["press"] == offered


def test_quiet_hours_over_midnight_hold_it_back_and_whoever_set_it_is_told(tx: Tx) -> None:
    person_settings.put(tx, (ANN,), Times("Europe/Vienna", "22:30", "07:00"), NOW)
    kept = planned(tx, "today at 23:30")
    assert kept.note == "That is during your quiet hours, so I'll remind you when they end (7:00 AM)."
    done = says().remind(tx, firing(tx, kept))
    assert done.again == datetime(2026, 3, 3, 6, tzinfo=UTC)
    assert out(tx) == []
    jobs.hold(tx, reminders.job_id(kept.reminder.id), done.again, done.detail, 0)
    says().remind(tx, firing(tx, kept, done.again))
    assert [text for _place, text, _audience in out(tx)] == ["⏰ call mum"]  # it was running all the time


def test_what_quiet_hours_will_hold_back_is_listed_when_they_end(tx: Tx) -> None:
    person_settings.put(tx, (ANN,), Times("Europe/Vienna", "22:30", "07:00"), NOW)
    for text, when, urgent in (("pills", "at 23:00", False), ("oven", "at 23:30", True), ("tea", "at 21:00", False)):
        planned(tx, f"today {when}", replace(wanted(), text=text, urgent=urgent))
    found = reminder_scheduling.listing(tx, ALONE, (ANN,), "UTC")
    clocks = [(each.reminder.text, each.next_at and f"{each.next_at:%a %H:%M}") for each in found]
    assert clocks == [("tea", "Mon 20:00"), ("oven", "Mon 22:30"), ("pills", "Tue 06:00")]


def test_each_time_of_one_that_repeats_is_known_also_after_it_was_moved_once(tx: Tx) -> None:
    person_settings.put(tx, (ANN,), Times("UTC", "18:30", "21:00"), NOW)
    kept = planned(tx, "every day at 18:00")
    planned(tx, "every Tuesday at 19:00", replace(wanted(), text="yoga"))
    reminder_scheduling.snooze(tx, kept.reminder, NOW + timedelta(days=1, hours=8), NOW)
    found = reminder_scheduling.occurrences(tx, ALONE, (ANN,), "UTC", NOW + timedelta(days=3))
    clocks = [(each.text, f"{at:%a %H:%M}") for at, each in sorted(found, key=lambda each: each[0])]
    assert clocks == [("yoga", "Tue 21:00"), ("call mum", "Tue 21:00"), ("call mum", "Wed 18:00")]
    assert reminder_scheduling.occurrences(tx, ALONE, (ANN,), "UTC", NOW + timedelta(hours=1)) == []
    assert reminder_scheduling.occurrences(tx, Scope(GUILD), (ANN,), "UTC", NOW + timedelta(days=3)) == []


def test_reminders_with_the_same_text_are_offered_with_their_times(tx: Tx) -> None:
    for when in ("tomorrow at 7", "tomorrow at 8"):
        planned(tx, when)
    found = reminder_scheduling.listing(tx, ALONE, (ANN,), "UTC")
    with pytest.raises(
        Refused, match=r"Choose one: \d{6}: call mum, [^;]*\b0?7:00[^;]*; \d{6}: call mum, .*\b0?8:00"
    ) as refused:
        reminder_scheduling.find(found, "call mum", "UTC")
    with pytest.raises(Refused, match=r"^There is no open reminder “dad” here\."):
        reminder_scheduling.find(found, "dad", "UTC")
    assert str(refused.value).count("call mum") == 3


def without_a_model() -> Setting:
    setting = Setting()
    setting.model = cast("ScriptedModel", OfflineModel(setting.clock))  # nobody looks at its requests here
    return setting


def test_what_a_user_of_a_program_set_is_never_told_to_the_owner(tx: Tx) -> None:
    user = PersonId("api:chat/ann")
    assert messages().where(tx, user, PlaceId("api:chat/ann/grp_1"), person_audience(user))[1] == person_audience(user)


async def test_without_a_model_who_asks_on_bluesky_is_told_so(tmp_path: Path) -> None:
    thread = thread_in_public("ann")
    async with talked(tmp_path, without_a_model(), said("remind me in 20 minutes to call mum", 1, thread)) as service:
        (answer,) = service.platform.texts(thread.id)
        assert "I can't remind you in a thread on Bluesky" in answer
        assert "Ask me on Discord or in a direct message" in answer
        assert await service.column("SELECT id FROM reminders") == []


async def test_a_time_that_cannot_be_is_refused_in_the_language_of_who_asks(tmp_path: Path) -> None:
    asked = "erinnere mich am 31. Februar um 9 Uhr an die Steuer", "remind me on February 31 at 9 to do my taxes"
    async with talked(tmp_path, without_a_model(), *asked) as service:
        german, english = service.platform.texts()
    assert ("Februar" in german, "no such date" in german) == (True, False)
    assert "There is no such date or time: February 31." in english


async def test_without_a_model_the_state_of_a_reminder_is_told_in_the_language_of_who_asks(tmp_path: Path) -> None:
    wish = said("erinnere mich in 20 Minuten an die Pizza", 1, speaker=BOB)
    async with running(tmp_path, without_a_model()) as service:
        times = Times("UTC", f"{service.clock():%H:%M}", f"{service.clock() + timedelta(hours=1):%H:%M}")
        await service.write(lambda tx: person_settings.put(tx, (BOB.id,), times, NOW))
        await service.heard(wish)
        assert "Das liegt in deiner Ruhezeit, deshalb erinnere ich dich" in service.platform.texts()[-1]

        def ring(tx: Tx) -> None:
            tx.run("UPDATE reminders SET status = 'told'")
            tx.run("DELETE FROM jobs WHERE kind = 'reminder'")

        await service.write(ring)
        for number, asked, told in (
            (2, "welche Erinnerungen habe ich?", "hat sich gemeldet, noch nicht erledigt"),
            (3, "リマインダーを見せて", "通知済み、未完了"),
            (4, "list my reminders", "went off, not done yet"),
        ):
            await service.heard(said(asked, number, speaker=BOB))
            assert told in service.platform.texts()[-1]


async def test_without_a_model_an_event_is_moved_and_found_and_every_timer_ends_at_once(tmp_path: Path) -> None:
    said_so = (
        ("add an event: dinner on Friday from 19:00 to 21:00", ":f>–<t:"),
        ("move the dinner to 8", "Moved, now"),
        ("move the dinner to yesterday", "The new time must be in the future"),
        ("when is dinner?", "- dinner – "),
        ("when is my dinner appointment?", "- dinner – "),
        ("what is my favorite dinner?", "don't know"),
        ("add an event: yoga every Monday at 18:00", "every Monday"),
        ("move the yoga to 19:00", "has to be canceled and added again"),
        ("what's in my calendar?", ", every Monday\n- dinner – "),
        ("cancel the yoga", "Canceled: yoga."),
        ("what events do I have?", "- dinner – "),
        ("cancel the yoga", "I found nothing for “yoga”"),
        ("timer 5", "Your timer is set"),
        ("set a tea timer for 10 minutes", "Your timer is set"),
        ("cancel all timers", "Canceled: timer (5 minutes).\nCanceled: timer (tea)."),
        ("yes", "I did nothing"),
        ("timer 1", "Your timer is set"),
        ("stop the timer", "Canceled: timer (1 minute)."),
    )
    async with running(tmp_path, without_a_model()) as service:
        for number, (text, answer) in enumerate(said_so, 1):
            await service.heard(said(text, number))
            assert answer in service.platform.texts()[-1], text
        found = await service.rows("SELECT title, starts_at, ends_at FROM events WHERE status = 'planned' ORDER BY 2")
    left = [(title, begins[:16], ends[:16]) for title, begins, ends in found]
    assert left == [("dinner", "2026-11-27T20:00", "2026-11-27T22:00")]


@pytest.mark.parametrize(
    "talk",
    [
        (
            ("remind me tomorrow at 9 to call mum", "I'll remind you"),
            ("done", "I didn't do anything with it"),
            ("snooze it", "No reminder has gone off"),
            ("remind me in 30 seconds to blink", "I'll remind you"),
            ("", "⏰ blink"),
            ("snooze it for 5 minutes", ": blink."),
            ("done", "I didn't do anything with it"),
            ("", "⏰ blink"),
            ("I did it", "Done: blink."),
        ),
        (
            ("erinnere mich in 30 Sekunden ans Blinzeln", "Ich erinnere dich"),
            ("erinnere mich morgen um 9 an Papa", "Ich erinnere dich"),
            ("", "⏰ Blinzeln"),
            ("fertig", "Erledigt: Blinzeln."),
        ),
        (
            ("30秒後に薬とリマインドして", "お知らせします：薬"),
            ("明日9時に母に電話とリマインドして", "お知らせします"),
            ("", "⏰ 薬"),
            ("終わった", "完了しました：薬"),
        ),
        (
            ("timer 1", "Your timer is set"),
            ("", "⏰ timer (1 minute)"),
            ("timer 20", "Your timer is set"),
            ("what are my timers?", "- timer (20 minutes)"),
            ("stop the timer", "Canceled: timer (20 minutes)."),
        ),
        (
            ("wake me at 7", "Your alarm is set"),
            ("wake me at 8", "Your alarm is set"),
            ("cancel the alarm", "say when it is due:\n- alarm (time to wake up) – "),
            ("cancel the alarm on Friday", "I found nothing for “alarm on Friday”"),
            ("cancel the 8am alarm", "Canceled: alarm (time to wake up)."),
            ("cancel the alarm tomorrow at 7", "Canceled: alarm (time to wake up)."),
            ("cancel all alarms", "I found nothing"),
        ),
        (
            ("add an event: dentist on Friday at 10:00", "Added"),
            ("push back the dentist by an hour", "Moved, now"),
            ("what's on next week?", "In the week of November 23, 2026:\n- dentist – "),
            ("remind me an hour before the dentist", ": dentist (11:00 AM)."),
            ("remind me 2 hours before the dentist to take the card", ": take the card."),
            ("remind me an hour before the vet", "I found nothing for “vet”"),
            ("add an event: concert on December 1 at 20:00", "Added"),
            (
                "what's on next week?",
                ":\n- take the card – on <t:1795770000:f>, <t:1795770000:R>\n- dentist (11:00 AM) – ",
            ),
            ("move the dentist to 9", "Moved, now"),
            ("cancel all my reminders", "I can't bring them back afterward.\n- take the card – "),
            ("yes", "Canceled: take the card.\nCanceled: dentist (11:00 AM)."),
            ("cancel all my reminders", "You have no reminders that I may mention here."),
        ),
        (
            ("remind me at 13:00 to eat", "I'll remind you"),
            ("move it to 8", "Moved, now on <t:1795377600:f>"),  # in the evening, as the morning is over
            ("add an event: call today at 13:00", "Added"),
            ("move the call to 11am", "Moved, now on <t:1795431600:f>"),
            ("what's up?", "Hello!"),
            ("what's up today?", "On November 22, 2026:\n- eat – "),
            ("what's due?", "Due, the earliest first:\n- eat – "),
            ("new task: do taxes by friday", "Added to your tasks, due"),
            ("what's due?", "- eat – on <t:1795377600:f>, <t:1795377600:R>\n- do taxes – "),
            ("the pizza is done", "I didn't do anything with it"),
            ("taxes are done", "Done: do taxes."),
            ("don't forget the milk", "Added to your tasks: milk."),
            ("don't forget to call mum tomorrow at 9", "I'll remind you"),
            ("cancel them all", "I can't bring them back afterward.\n- eat – "),
            ("no", "All right."),
            ("what are my reminders?", "- call mum – "),
        ),
        (
            ("neuer Termin: Zahnarzt am Freitag um 15 Uhr", "eingetragen"),
            ("erinnere mich eine Stunde vor dem Zahnarzt", ": Zahnarzt (15:00)."),
            ("was geht heute ab?", "Am 22. November 2026 ist nichts geplant, was ich hier nennen darf."),
            ("was steht nächste Woche an?", "In der Woche ab dem 23. November 2026:\n- Zahnarzt (15:00)"),
            ("was ist fällig?", "Fällig, das Früheste zuerst:\n- Zahnarzt (15:00)"),
            ("neue Aufgabe: Steuern machen", "hinzugefügt"),
            ("die Steuern sind fertig", "Erledigt: Steuern machen."),
            ("vergiss die Milch nicht", "Zu deinen Aufgaben hinzugefügt: Milch."),
            ("vergiss nicht, Brot zu kaufen", "hinzugefügt: Brot kaufen."),
            ("erinnere mich um 20 Uhr ans Essen", "Ich erinnere dich"),
            ("lösch alle", "Zurückholen kann ich es danach nicht.\n- Essen – "),
            ("ja", "Gestrichen: Essen.\nGestrichen: Zahnarzt (15:00)."),
        ),
        (
            ("金曜日の15時に歯医者の予定を追加して", "追加しました"),
            ("歯医者の1時間前にリマインドして", "歯医者 (15:00)"),
            ("今日は何かある？", "2026年11月22日の予定はありません。"),
            ("来週の予定は？", "2026年11月23日からの週の予定：\n- 歯医者 (15:00)"),
            ("期限は？", "期限の早い順です：\n- 歯医者 (15:00)"),
            ("タスク：税金", "追加しました"),
            ("税金は終わった", "完了しました：税金"),
            ("牛乳を忘れないで", "タスクに追加しました：牛乳。"),
            ("20時に夕食とリマインドして", "お知らせします"),
            ("リマインダーを全部キャンセルして", "取り消すと元に戻せません。\n- 夕食"),
            ("はい", "「夕食」を取り消しました。\n「歯医者 (15:00)」を取り消しました。"),
        ),
        (
            ("new task: pay rent by friday", "Added to your tasks, due"),
            ("move rent to thursday", "Moved, now"),
            ("move the rent to yesterday", "The new time must be in the future"),
            ("remind me on Friday at 9 to pay rent", "I'll remind you"),
            ("move rent to 10", "<t:1795773600:R>: pay rent."),  # the reminder, which has a time
            ("cancel the rent reminder", "More than one thing matches"),
        ),
    ],
    ids=lambda talk: str(talk[0][0]),
)
async def test_without_a_model_what_rang_last_and_what_is_due_then_is_meant(
    tmp_path: Path, talk: tuple[tuple[str, str], ...]
) -> None:
    async with running(tmp_path, without_a_model()) as service:
        runner = service.runner(says().kinds())
        for number, (text, answer) in enumerate(talk, 1):
            if text:
                await service.heard(said(text, number))
            else:  # time goes on until it rings
                service.clock.forward(400)
                await runner.tick()
                await runner.settled()
                service.resume()
                await service.settled()
            assert answer in service.platform.texts()[-1], text


def test_who_opted_out_is_told_nothing_ever_again(tx: Tx) -> None:
    kept = planned(tx)
    says(opted_out=True).remind(tx, firing(tx, kept))
    assert out(tx) == []
    assert stored(tx, kept).status is Status.CANCELLED


def test_what_nobody_acknowledges_is_said_once_more_and_no_more(tx: Tx) -> None:
    def listed() -> list[str]:
        return [reminder_scheduling.status_words(each) for each in reminders.listing(tx, ALONE, (ANN,))]

    kept = planned(tx)
    assert listed() == [""]
    says().remind(tx, firing(tx, kept))
    assert listed() == ["due, not delivered yet"]
    tx.run("UPDATE outbox SET status = 'sent'")
    assert listed() == ["went off, not done yet"]
    again = firing(tx, kept, suffix="again")
    assert again.due == NOW + timedelta(minutes=50)
    says().remind(tx, again)
    says().remind(tx, again)
    assert [text for _place, text, _audience in out(tx)] == ["⏰ call mum", "⏰ Still open: call mum"]


def test_what_is_done_is_not_said_again(tx: Tx) -> None:
    kept = planned(tx)
    says().remind(tx, firing(tx, kept))
    again = firing(tx, kept, suffix="again")
    found = stored(tx, kept)
    reminder_scheduling.finish(tx, found, NOW)
    says().remind(tx, again)
    assert len([text for _place, text, _audience in out(tx) if "Still" in text]) == 0
    with pytest.raises(Refused, match="already done"):
        reminder_scheduling.snooze(tx, replace(found, status=Status.DONE), NOW + timedelta(minutes=10), NOW)


def test_a_snooze_comes_once_however_often_it_is_pressed(tx: Tx) -> None:
    kept = planned(tx)
    says().remind(tx, firing(tx, kept))
    tx.run("UPDATE outbox SET status = 'sent'")
    for _ in range(3):
        reminder_scheduling.postpone(
            tx, stored(tx, kept), timedelta(minutes=10), "UTC", NOW + timedelta(minutes=21), commanded=True
        )
    due = tx.all("SELECT id, next_at FROM jobs WHERE id GLOB '*:later' OR id GLOB '*:again'")
    assert [row["next_at"] for row in due] == [to_text(NOW + timedelta(minutes=31))]
    says().remind(tx, firing(tx, kept, suffix="later"))
    shown = "⏰ call mum (snoozed until <t:1772454660:f>, <t:1772454660:R>)"
    assert [text for _place, text, _audience in out(tx)] == ["⏰ call mum", shown, "⏰ call mum"]


@pytest.mark.parametrize(
    ("hour", "evening", "morning"),
    [(6, "02 18:00", "03 09:00"), (12, "02 18:00", "03 09:00"), (21, "02 22:00", "03 09:00")],
)
def test_the_menu_of_a_card_snoozes_until_what_it_says(tx: Tx, hour: int, evening: str, morning: str) -> None:
    kept = planned(tx)
    says().remind(tx, firing(tx, kept))
    (menu,) = (item for item in buttons_of(told(tx, kept)[0]) if isinstance(item, discord.ui.Select))
    given = {option.label: parse_qs(option.value) for option in menu.options}
    now = NOW.replace(hour=hour)
    for label, at in (("This evening", evening), ("Tomorrow morning", morning)):
        assert f"{triggers.require(read_when(given[label]['until'][0], now, 'UTC'), now):%d %H:%M}" == at


def test_a_snoozed_message_shows_the_new_time_in_its_language_and_one_that_is_done_stays_so(tx: Tx) -> None:
    kept = planned(tx, "every day at 12:20")
    ReminderJob(replace(messages(), spoken=lambda _person: "de")).remind(tx, firing(tx, kept))
    tx.run("UPDATE outbox SET status = 'sent'")
    reminder_scheduling.snooze(tx, stored(tx, kept), NOW + timedelta(minutes=31), NOW + timedelta(minutes=21))
    assert out(tx)[1][1].startswith("⏰ call mum (verschoben auf <t:1772454660:f>")
    assert told(tx, kept)[1].detail == EditDetail(told(tx, kept)[0].key), "without buttons"
    reminder_scheduling.finish(tx, stored(tx, kept), NOW + timedelta(minutes=22))
    reminder_scheduling.snooze(tx, stored(tx, kept), NOW + timedelta(minutes=33), NOW + timedelta(minutes=23))
    assert [text for _place, text, _audience in out(tx)][2:] == ["✓ ⏰ call mum"]


def test_the_snoozed_message_of_a_repeating_reminder_keeps_its_time_when_the_next_one_is_done(tx: Tx) -> None:
    kept = planned(tx, "every day at 12:20")
    says().remind(tx, firing(tx, kept))
    tx.run("UPDATE outbox SET status = 'sent'")
    reminder_scheduling.snooze(tx, stored(tx, kept), NOW + timedelta(minutes=31), NOW + timedelta(minutes=21))
    says().remind(tx, firing(tx, kept, suffix="later"))
    tx.run("UPDATE outbox SET status = 'sent'")
    reminder_scheduling.finish(tx, stored(tx, kept), NOW + timedelta(minutes=32))
    first, snoozed, *later = [text for _place, text, _audience in out(tx)]
    assert (first, snoozed[:26]) == ("⏰ call mum", "⏰ call mum (snoozed until ")
    assert later == ["⏰ call mum", "✓ ⏰ call mum"]


def ring(tx: Tx, until: datetime) -> list[str]:
    """Let its own job and the snoozed one run, as the scheduler does, up to then; gives when each rang."""
    rang = []
    while found := jobs.due(tx, until, 1):
        job = found[0]
        assert job.next_at is not None
        says().remind(tx, DueJob(job, ConstellationId("con_1"), job.next_at, job.next_at))
        rang.append(f"{job.next_at:%a %H:%M}")
        following = triggers.next_run(triggers.load(job.trigger), job.next_at)
        jobs.complete(tx, job, jobs.Completion(job.next_at, "run", "", following), job.next_at)
    return rang


@pytest.mark.parametrize(
    ("when", "snoozed", "rings"),
    [
        ("in 20 minutes", 10, ["Mon 12:10"]),
        ("in 20 minutes", 60, ["Mon 13:00"]),
        ("every day at 12:20", 60, ["Mon 13:00", "Tue 12:20"]),
        ("every day at 18:00", 60, ["Mon 13:00", "Tue 18:00"]),
    ],
)
def test_what_is_snoozed_before_it_is_due_rings_once_for_that(
    tx: Tx, when: str, snoozed: int, rings: list[str]
) -> None:
    kept = planned(tx, when, replace(wanted(), escalate_minutes=0))
    reminder_scheduling.snooze(tx, kept.reminder, NOW + timedelta(minutes=snoozed), NOW)
    assert ring(tx, NOW + timedelta(hours=31)) == rings


def test_one_that_repeats_goes_on_after_it_is_done(tx: Tx) -> None:
    kept = planned(tx, "every day at 18:00")
    says().remind(tx, firing(tx, kept))
    reminder_scheduling.finish(tx, stored(tx, kept), NOW)
    assert stored(tx, kept).status is Status.WAITING
    assert jobs.get(tx, reminders.job_id(kept.reminder.id)) is not None


def test_what_is_said_elsewhere_is_not_listed(tx: Tx) -> None:
    planned(tx)
    planned(tx, given=wanted(HALL, GUILD))
    assert len(reminders.listing(tx, Scope(GUILD), (ANN,))) == 1
    assert len(reminders.listing(tx, ALONE, (ANN,))) == 1
    assert len(reminders.listing(tx, Scope(ALONE.audience, frozenset({GUILD})), (ANN,))) == 2


def test_erasing_takes_reminder_and_job_along(tx: Tx) -> None:
    kept = planned(tx)
    tx.run("DELETE FROM reminders WHERE person_id = ?", (ANN,))
    fired = firing(tx, kept)
    kept_of("jobs").erase(tx, ANN)
    assert says().remind(tx, fired).detail == "no longer needed"
    assert out(tx) == []
    assert tx.all("SELECT id FROM jobs") == []


def test_what_quiet_hours_kept_and_an_outage_then_delayed_says_since_when(tx: Tx) -> None:
    person_settings.put(tx, (ANN,), Times("Europe/Vienna", "22:30", "07:00"), NOW)
    kept = planned(tx, "today at 23:30")
    morning = datetime(2026, 3, 3, 6, tzinfo=UTC)
    jobs.hold(tx, reminders.job_id(kept.reminder.id), morning, "waits", 0)
    says().remind(tx, firing(tx, kept, morning + timedelta(hours=3)))
    assert out(tx)[0][1] == "⏰ call mum (due <t:1772517600:f>, <t:1772517600:R>, while I wasn't running)"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (5, "⏰ call mum"),  # a busy moment
        (45, "⏰ call mum (due <t:1772454000:f>, <t:1772454000:R>, while I wasn't running)"),
        (18_000, "⏰ call mum (due <t:1772454000:f>, <t:1772454000:R>, while I wasn't running)"),
    ],
)
def test_what_is_late_says_for_when_it_was(tx: Tx, seconds: int, said: str) -> None:
    kept = planned(tx)
    says().remind(tx, firing(tx, kept, kept.at + timedelta(seconds=seconds)))
    assert out(tx)[0][1] == said


def test_done_takes_the_buttons_from_all_that_was_said_of_it(tx: Tx) -> None:
    kept = planned(tx)
    says().remind(tx, firing(tx, kept))
    says().remind(tx, firing(tx, kept, suffix="again"))
    tx.run("UPDATE outbox SET status = 'sent'")
    reminder_scheduling.finish(tx, stored(tx, kept), NOW)
    assert [text for _place, text, _audience in out(tx)[2:]] == ["✓ ⏰ call mum", "✓ ⏰ Still open: call mum"]
    details = [json.loads(row["detail"]) for row in tx.all("SELECT detail FROM outbox ORDER BY id")][2:]
    assert [list(detail) for detail in details] == [["type", "edits"]] * 2  # no buttons any more


def test_the_terminal_is_where_its_person_is_spoken_to_alone() -> None:
    assert (own_place(PERSON), own_place(PersonId("discord:5"))) == (PLACE.id, "discord:user:5")


def test_of_many_reminders_that_nobody_acknowledged_the_newest_is_found(tx: Tx) -> None:
    for number in range(reminders.MOST_OPEN):
        kept = reminders.add(tx, replace(wanted(), text=f"call number {number}"), NOW)
        reminders.set_status(tx, kept.id, Status.TOLD, NOW)
    listed = reminder_scheduling.listing(tx, ALONE, (ANN,), "UTC")
    assert reminder_scheduling.find(listed, f"call number {reminders.MOST_OPEN - 1}", "UTC").id == kept.id
