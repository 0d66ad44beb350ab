"""What must hold after the last restart: on the server and in the store."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from memory.store.database import Row, as_dict
from memory.store.sqlite import connect
from sources.discord.markup import units
from sources.discord.message_sender import PREFIX_ROOM
from sources.text import sendable
from sources.text_splitter import split_text
from tests.kill.harness import Case
from tests.kill.scenarios import Question, Scenario
from tests.wire import until
from tests.wire.discord import Channel
from tests.wire.discord.messages import DEFAULT, REPLY

SETTLE_SECONDS = 60.0


class Store:
    """The constellation of a data folder, read beside the running service."""

    def __init__(self, data: Path) -> None:
        with closing(connect(data / "global.db", read_only=True)) as raw:
            found = raw.execute("SELECT db_path FROM constellations").fetchall()
        assert len(found) == 1, f"one constellation was expected, not {len(found)}"
        self.path = data / found[0]["db_path"]

    def all(self, sql: str, *values: Any) -> list[Row]:
        with closing(connect(self.path, read_only=True)) as raw:
            return raw.execute(sql, values).fetchall()

    def count(self, sql: str, *values: Any) -> int:
        return int(self.all(sql, *values)[0][0])

    def open_work(self) -> dict[str, int]:
        """What is not finished yet; notices to an owner who is not there may wait."""
        return {
            "inbox": self.count("SELECT count(*) FROM inbox WHERE status IN ('received', 'claimed')"),
            "turns": self.count("SELECT count(*) FROM turns WHERE status = 'running'"),
            "outbox": self.count(
                """SELECT count(*) FROM outbox WHERE place_id <> 'terminal:local'
                   AND (status IN ('pending', 'sending') OR (kind = 'preview' AND status = 'sent'))"""
            ),
        }


async def settled(case: Case, seconds: float = SETTLE_SECONDS) -> Store:
    """Wait until everything that was said is in the inbox and nothing is open."""
    store = Store(case.home.data)

    def accepted() -> bool:
        known = {row["external_id"] for row in store.all("SELECT external_id FROM inbox WHERE kind = 'message'")}
        return {str(said.id) for said in case.said} <= known

    await until(accepted, seconds, lambda: "a message was lost: it never came into the inbox")
    await until(
        lambda: not any(store.open_work().values()),
        seconds,
        lambda: f"not finished: {store.open_work()}; {_shown(store)}",
    )
    return store


def check(scenario: Scenario, case: Case, store: Store) -> list[str]:
    """Everything that is wrong, in words."""
    places = _places(scenario, case)
    wrong = [f"model: {one.problem}" for one in case.model.requests if one.problem]
    if len(places) != 1:
        return [*wrong, f"{len(places)} places to answer in"]
    wrong += _on_the_server(places[0], _said(scenario), scenario.speaker, case.since)
    if scenario.direct_text:
        wrong += _on_the_server(case.direct, _pieces(scenario, scenario.direct_text), "", case.since)
    wrong += _in_the_store(scenario, case, store)
    if scenario.question is not None:
        wrong += _question(scenario.question, case, store)
    return wrong


def _places(scenario: Scenario, case: Case) -> Sequence[Channel]:
    match scenario.where:
        case "direct":
            return [case.direct]
        case "thread":
            return case.channel.threads
        case _:
            return [case.channel]


def _said(scenario: Scenario) -> list[str]:
    """All messages that must stand in the place."""
    then = scenario.question.then if scenario.question is not None else ""
    return _pieces(scenario, scenario.answer) + _pieces(scenario, then)


def _pieces(scenario: Scenario, text: str) -> list[str]:
    room = PREFIX_ROOM if scenario.speaker else 0
    pieces = split_text(sendable(text), 2000 - room, units) if text else []
    assert "".join("".join(pieces).split()) == "".join(text.split())
    return pieces


def _on_the_server(place: Channel, pieces: list[str], speaker: str, since: int) -> list[str]:
    """Exactly these messages stand there, in order, and each was only ever in one message."""
    standing = [post for post in place.from_bot if post.id > since and post.kind in (DEFAULT, REPLY)]
    wrong = []
    if [post.words for post in standing] != pieces:
        wrong.append(f"{place!r} shows {[_short(post.words) for post in standing]}, wanted {len(pieces)} pieces")
    for piece in pieces:
        once = {entry.message_id for entry in place.log if entry.from_bot and entry.content == piece}
        if len(once) != 1:
            wrong.append(f"said in {len(once)} messages: {_short(piece)}")
    if speaker and any(post.author_name != speaker or post.webhook is None for post in standing):
        wrong.append(f"not said by the webhook as {speaker}: {[post.author_name for post in standing]}")
    return wrong


def _in_the_store(scenario: Scenario, case: Case, store: Store) -> list[str]:
    said = {str(message.id) for message in case.said}
    heard = store.all("SELECT * FROM inbox WHERE kind = 'message' OR source = 'approval'")
    inbox = [row for row in heard if row["external_id"] in said or row["source"] == "approval"]
    turns = {row["turn_id"] for row in inbox if row["turn_id"] is not None}
    rows = store.all("SELECT * FROM outbox ORDER BY id")
    outbox = [row for row in rows if row["turn_id"] in turns or row["key"].startswith("given_up/")]
    texts = [row for row in outbox if row["kind"] == "text"]
    wrong = []
    if [row["status"] for row in inbox] != [scenario.inbox] * (len(said) + (scenario.question is not None)):
        wrong.append(f"inbox: {[row['status'] for row in inbox]}")
    if not {row["status"] for row in texts} <= scenario.outbox:
        wrong.append(f"outbox: {[row['status'] for row in texts]}")
    sent = [row for row in texts if row["status"] == "sent"]
    wanted = len(_said(scenario)) + bool(scenario.direct_text)
    if len(sent) != wanted or len({row["external_id"] for row in sent}) != wanted:
        wrong.append(f"outbox: {len(sent)} rows sent, wanted {wanted}")
    if any(row["kind"] == "preview" and row["status"] != "withdrawn" for row in outbox):
        wrong.append("a preview was left")
    notices = store.count("SELECT count(*) FROM outbox WHERE key LIKE 'notice/%'")
    if notices != scenario.notices:
        wrong.append(f"{notices} notices to the owner")
    wrong += _transcript(scenario, store, turns) + _memory(scenario, store) + _usage(case, store, turns)
    return wrong + _activity(store, turns)


def _transcript(scenario: Scenario, store: Store, turns: set[int]) -> list[str]:
    rows = store.all("SELECT * FROM messages WHERE role = 'assistant' AND content <> ''")
    answers = [row["content"] for row in rows if row["batch_id"] in turns]
    wanted = [scenario.answer, *([scenario.question.then] if scenario.question is not None else [])]
    return [] if answers in (wanted, []) or not scenario.answer else [f"transcript: {len(answers)} answers"]


def _memory(scenario: Scenario, store: Store) -> list[str]:
    entries = store.all("SELECT content, reinforcement FROM archival_entries")
    if len(entries) == scenario.entries and not any(row["reinforcement"] for row in entries):
        return []
    return [f"memory: {[(row['content'], row['reinforcement']) for row in entries]}"]


def _activity(store: Store, turns: set[int]) -> list[str]:
    """What turns did stands in the activity exactly as often as it was done, and each note was made once."""
    answered = "SELECT count(*) FROM activity_events WHERE turn_id = ? AND words ->> 0 = 'replied'"
    queued = "SELECT count(*) FROM outbox WHERE key = 'turn/' || ? || '/0'"
    given = """SELECT coalesce(sum(json_extract(details, '$.messages')), 0) FROM activity_events
               WHERE turn_id = ? AND event_type = 'message_received'"""
    claimed = "SELECT count(*) FROM inbox WHERE turn_id = ? AND message_id IS NOT NULL"
    wrong = [
        f"activity: {store.count(done, turn)} of turn {turn}, wanted {store.count(wanted, turn)}: {done}"
        for turn in turns
        for done, wanted in ((answered, queued), (given, claimed))
        if store.count(done, turn) != store.count(wanted, turn)
    ]
    notes = store.all("SELECT n.id FROM items n WHERE n.kind = 'note'")
    told = store.count("SELECT count(*) FROM activity_events WHERE event_type = 'notable'")
    if len(notes) > 1 or told != len(notes):
        wrong.append(f"activity: {len(notes)} notes, {told} events of notes")
    return wrong


def _usage(case: Case, store: Store, turns: set[int]) -> list[str]:
    """Each request is paid at most once, each answer in the transcript at least once."""
    rows = store.all("SELECT turn_id, input_tokens, output_tokens FROM model_usage")
    parts = {row["id"] for row in store.all("SELECT id, parent_id FROM turns") if row["parent_id"] in turns}
    paid = [row for row in rows if row["turn_id"] in turns | parts]
    answers = store.all("SELECT DISTINCT batch_id FROM messages WHERE role = 'assistant'")
    least = sum(row["batch_id"] in turns for row in answers)
    if not least <= len(paid) <= len(case.model.requests) or any(row["input_tokens"] <= 0 for row in paid):
        return [f"usage: {len(paid)} rows for {len(case.model.requests)} requests"]
    return []


def _question(wanted: Question, case: Case, store: Store) -> list[str]:
    """The owner was asked once, by one card that is in its final state, and what was said counted once."""
    direct = case.ground.olga.direct
    cards = [post for post in direct.from_bot if post.id > case.since]
    made = [entry for entry in direct.log if entry.from_bot and entry.what == "create"]
    wrong = []
    if len(cards) != 1 or len(made) != 1:
        wrong.append(f"{len(made)} cards were sent, {len(cards)} stand: {[_short(card.text) for card in cards]}")
    if any(card.buttons or wanted.card not in card.text.splitlines()[-1] for card in cards):
        wrong.append(f"cards: {[(card.text[-80:], len(card.buttons)) for card in cards]}")
    if any(card.text.count(wanted.card) != 1 for card in cards):
        wrong.append("a card tells of its outcome more than once")
    if (found := [row["status"] for row in store.all("SELECT status FROM permission_requests")]) != [wanted.status]:
        wrong.append(f"requests: {found}")
    events = [row["event"] for row in store.all("SELECT event FROM permission_audit ORDER BY id")]
    counted = tuple(event for event in events if event != "refused")  # pressed again, because no answer came
    if counted != wanted.record:
        wrong.append(f"record: {events}")
    return wrong


def _short(text: str) -> str:
    return text if len(text) < 60 else f"{text[:25]}...{text[-25:]}"


def _shown(store: Store) -> str:
    inbox = store.all("SELECT kind, status, attempts, last_error FROM inbox")
    outbox = store.all("SELECT key, kind, status, attempts, last_error FROM outbox")
    return f"inbox {[as_dict(row) for row in inbox]}, outbox {[as_dict(row) for row in outbox]}"
