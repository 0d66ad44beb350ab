"""The scenarios: what happens in a case, what must come of it, and where the program is killed in it."""

from dataclasses import dataclass, field
from functools import partial

from bot.runtime.turn_retries import GIVEN_UP
from tests.kill import script
from tests.kill.harness import LATE, SOON, TOML, Restart
from tests.wire.model import Answer, Slow


@dataclass(frozen=True)
class Question:
    """What comes of the one question that the owner is asked in the scenario.

    `then` is what the agent says when it is decided, `card` what the owner's card says at last, `status` and
    `record` how the store has it.
    """

    then: str
    card: str
    status: str
    record: tuple[str, ...]


@dataclass(frozen=True)
class Scenario:
    """`points`: what it has to reach, and, unless `whole`, all that it is killed at.

    `earlier` are the deaths of lives before the one that is killed at a point, and how long each restart takes.
    """

    name: str
    act: script.Act
    rule: script.Rule
    points: frozenset[str]
    answer: str = ""
    toml: str = TOML
    whole: bool = False
    from_start: bool = False
    """Whether points count that are reached before anything is said."""
    fresh: bool = False
    earlier: tuple[tuple[str, Restart], ...] = ()
    restarts: tuple[Restart, ...] = (SOON, LATE)
    speaker: str = ""
    """The name under which a webhook must have spoken."""
    where: str = "channel"
    """channel, direct or thread."""
    entries: int = 0
    direct_text: str = ""
    """What must have been said directly beside the answer."""
    privileged: frozenset[str] = frozenset({"members", "presences", "message_content"})
    inbox: str = "done"
    outbox: frozenset[str] = frozenset({"sent", "withdrawn"})
    notices: int = 0
    variables: dict[str, str] = field(default_factory=dict)
    """For the process, beside what every case gives it."""
    each: frozenset[str] = frozenset()
    """Points of `points` at which it is killed each time that they are reached, not only the first."""
    question: Question | None = None


# ------------------------------------------------------------------------------------------------------- scenarios

LONG = script.words("the bicycle", 5_000)
NAMED = TOML + "show_names = true\n"
SPINE = frozenset(["inbox.accept", "turn.begin", "model.complete", "turn.answer", "outbox.sending", "outbox.sent"])

_make = partial(Scenario, act=script.ask, rule=script.always(LONG), answer=LONG)
_soon = partial(_make, restarts=(SOON,))
_again = partial(_soon, from_start=True)
_late = partial(_again, restarts=(LATE,))

MAIN = (
    _make(
        "three_chunks",
        rule=script.after_memory(LONG),
        points=SPINE | {"turn.tool", "turn.tool_end", "discord.send", "discord.lines"},
        whole=True,
        entries=1,
    ),
    _make(
        "streamed",
        rule=script.written_slowly(LONG, 0.1, 30),
        points=SPINE | {"outbox.preview", "discord.send", "discord.edit", "discord.typing"},
        whole=True,
    ),
    _make(
        "webhook", points=SPINE | {"discord.webhooks", "discord.webhook_send"}, toml=NAMED, whole=True, speaker="Carina"
    ),
    _make(
        "webhook_streamed",
        rule=script.written_slowly(LONG, 0.05, 30),
        points=frozenset({"outbox.preview", "discord.send", "discord.edit", "discord.withdraw", "outbox.preview_gone"}),
        toml=NAMED,
        speaker="Carina",
    ),
)

CHANGES = (
    _soon(
        "joined",
        act=partial(script.ask_twice, after=2),
        rule=script.when_both_are_heard("that makes two things"),
        answer="that makes two things",
        points=frozenset({"inbox.accept", "turn.join"}),
        entries=1,
    ),
    _soon(
        "added",
        act=script.ask_twice,
        rule=script.unless_both_are_heard("that makes two things"),
        answer="that makes two things",
        points=frozenset({"inbox.accept", "turn.call_in_vain", "turn.join", "turn.answer"}),
    ),
    _soon(
        "edited",
        act=script.ask_and_edit,
        rule=script.unless_changed("as you say now", remember=False),
        answer="as you say now",
        points=frozenset({"inbox.accept", "turn.restart", "follow_up.do"}),
    ),
    _soon(
        "edited_late",
        act=partial(script.ask_and_edit, after=2),
        rule=script.unless_changed("as you say now", remember=True),
        answer="as you say now",
        points=frozenset({"inbox.accept", "turn.tell", "follow_up.do"}),
        entries=1,
    ),
    _soon(
        "deleted",
        act=script.ask_and_delete,
        rule=lambda _: Slow(8, Answer("too late")),
        answer="",
        points=frozenset({"inbox.accept", "turn.cancel", "follow_up.do"}),
    ),
    _make(
        "deleted_while_shown",
        act=script.ask_and_delete_while_shown,
        rule=script.written_slowly(LONG, 0.1, 80),
        answer="",
        points=frozenset({"inbox.accept", "turn.cancel", "discord.withdraw", "outbox.preview_gone", "follow_up.do"}),
    ),
    _soon(
        "ended_by_a_call",
        rule=script.with_the_call(LONG),
        toml='[[agents]]\nrules = [{ rule = "exit_loop", tool = "recall" }]\n' + TOML,
        points=frozenset({"turn.tool", "turn.finish"}),
        entries=1,
    ),
)

AGAIN = (
    _again("taken_up_again", points=frozenset({"turn.attempt", "turn.ran"}), earlier=(("turn.answer:before", SOON),)),
    _again(
        "read_back", points=frozenset({"discord.history", "inbox.accept"}), earlier=(("inbox.accept:before", SOON),)
    ),
    _again(
        "said_by_nonce",
        points=frozenset({"outbox.sending", "outbox.sent", "discord.send"}),
        earlier=(("discord.send:after:2", SOON),),
    ),
    _late("found_there", points=frozenset({"discord.find", "outbox.sent"}), earlier=(("discord.send:after:2", LATE),)),
    _late(
        "not_found_there",
        points=frozenset({"discord.find", "outbox.again", "discord.send"}),
        earlier=(("discord.send:before:2", LATE),),
    ),
    _again(
        "webhook_found_there",
        points=frozenset({"discord.webhooks", "discord.find", "outbox.sent"}),
        toml=NAMED,
        speaker="Carina",
        earlier=(("discord.webhook_send:after:2", SOON),),
    ),
)

TROUBLE = (
    _soon("stumbles_once", points=frozenset({"turn.postpone"}), variables={"KILL_TEST_STUMBLE": "1"}),
    _soon(
        "given_up",
        points=frozenset({"turn.bury"}),
        answer=GIVEN_UP,
        toml=TOML + "[limits]\nattempts = 1\n",
        variables={"KILL_TEST_STUMBLE": "1", "KILL_TEST_PAUSES": "0.1", "KILL_TEST_HEALTHY": "0.2 0.2"},
        inbox="dead",
        notices=1,
    ),
    _make(
        "asked_to_wait", act=script.ask_a_slow_webhook, points=frozenset({"outbox.retry"}), toml=NAMED, speaker="Carina"
    ),
    _make(
        "not_allowed",
        act=script.ask_where_it_may_not_speak,
        points=frozenset({"outbox.closed"}),
        answer="",
        outbox=frozenset({"failed", "withdrawn"}),
        notices=1,
    ),
)

PLACES = (
    _soon(
        "in_a_thread",
        act=script.ask_with_a_file,
        points=frozenset({"discord.thread", "discord.attachment", "discord.lines"}),
        toml='[discord]\ndefault_mode = "mention"\nauto_thread = true\nmerge_seconds = 0\ndm = "shared"\n',
        where="thread",
    ),
    _make(
        "directly",
        act=script.ask_directly,
        points=frozenset({"discord.member", "discord.send"}),
        where="direct",
        privileged=frozenset({"message_content"}),
    ),
    _late(
        "directly_after_a_restart",
        act=script.ask_directly,
        points=frozenset({"discord.channel", "discord.history", "discord.look_up", "discord.find"}),
        where="direct",
        earlier=(("discord.send:after:2", LATE),),
    ),
    _make(
        "also_elsewhere",
        rule=script.with_a_word_aside("I told you there", "a word aside"),
        answer="I told you there",
        direct_text="a word aside",
        points=frozenset({"discord.open_direct", "turn.tool", "outbox.sending"}),
    ),
    _again(
        "first_start",
        points=frozenset({"constellation.ensure", "constellation.seed", "constellation.bind", "job.built_in"})
        | {"cursor.note", "discord.login", "discord.session_starts", "discord.sync_commands"},
        toml=TOML + '[[groups]]\nname = "Main"\nplaces = ["terminal:local"]\n',
        fresh=True,
    ),
    _soon("first_words", points=frozenset({"discord.lines", "inbox.accept"}), fresh=True),
)

ASKING = '[[agents]]\nrules = [{ rule = "requires_consent", tool = "recall" }]\n'
DELIVERING = frozenset(["outbox.sending", "outbox.sent", "discord.send", "discord.edit"])
STEPS = frozenset(["turn.begin", "model.complete", "turn.answer"])
ALLOWED = Question("It is kept now.", "Allowed once by ", "used", ("asked", "answered", "used"))
DENIED = Question("It is not kept.", "Denied by ", "denied", ("asked", "answered"))
EXPIRED = Question("Nobody answered.", "Expired without an answer, ", "expired", ("asked", "expired"))
WAITS = "That waits for approval."

_put = partial(_soon, answer=WAITS, toml=ASKING + TOML)
_allowed = partial(
    _put,
    act=partial(script.ask_and_press, label="Allow once"),
    rule=script.after_the_question(WAITS, ALLOWED.then),
    question=ALLOWED,
    entries=1,
)

APPROVALS = (
    _allowed(
        "allowed", points=STEPS | DELIVERING | {"turn.ask", "approval.answer", "turn.tool"}, each=STEPS | DELIVERING
    ),
    _allowed("allowed_late", points=DELIVERING, each=DELIVERING, restarts=(LATE,)),
    _put(
        "denied",
        act=partial(script.ask_and_press, label="Deny"),
        rule=script.after_the_question(WAITS, DENIED.then),
        points=frozenset({"approval.answer", "turn.begin"}),
        each=frozenset({"turn.begin"}),
        question=DENIED,
    ),
    _put(
        "expired",
        act=script.ask_and_let_it_expire,
        rule=script.after_the_question(WAITS, EXPIRED.then),
        points=frozenset({"approval.expire", "turn.begin"}),
        each=frozenset({"turn.begin"}),
        toml=ASKING + "[approvals]\nexpires_hours = 0.0015\n" + TOML,
        question=EXPIRED,
        variables={"KILL_TEST_LOOK": "1"},
    ),
)

AGENTS = '[[agents]]\nname = "Ant"\n[[agents]]\nname = "Bee"\n'
TEAM = AGENTS + '[[groups]]\nname = "Team"\nmembers = ["Ant", "Bee"]\npattern = '
STAGES = (
    TEAM
    + """"pipeline"
[[groups.pipeline.stages]]
name = "draft"
agents = ["Ant"]
on_failure = "skip"
[[groups.pipeline.stages]]
name = "final"
agents = ["Bee"]
"""
)

_team = partial(_soon, speaker="Bee")

TOGETHER = (
    _team(
        "in_stages",
        rule=script.as_stages(LONG),
        toml=STAGES + TOML,
        points=STEPS | {"group.ask", "group.say"},
        each=frozenset({"group.ask", "turn.answer"}),
    ),
    _team(
        "led",
        rule=script.as_leader(LONG),
        toml=TEAM + '"supervisor"\n' + TOML,
        speaker="Ant",
        points=STEPS | {"turn.hand", "turn.tool_end"},
        each=frozenset({"turn.answer"}),
    ),
    _team(
        "a_late_stage",
        rule=script.slow_first_stage(LONG),
        toml=STAGES.replace('on_failure = "skip"', 'on_failure = "skip"\ntimeout = 1') + TOML,
        points=frozenset({"turn.give_up_part"}),
    ),
    _team(
        "deleted_while_they_work",
        act=partial(script.ask_and_delete, when_asked="You are the stage"),
        rule=lambda _: Slow(8, Answer("too late")),
        toml=STAGES + TOML,
        answer="",
        points=frozenset({"inbox.accept", "group.cancel", "follow_up.do"}),
    ),
)

SHOWN = (
    _team(
        "shown_at_work",
        rule=script.as_slow_stages(LONG),
        toml=STAGES + TOML,
        points=frozenset({"outbox.preview", "discord.send", "discord.edit", "discord.withdraw", "outbox.preview_gone"}),
        restarts=(SOON, LATE),
    ),
)

GROUPS = {
    **{scenario.name: (scenario,) for scenario in MAIN},
    "changes": CHANGES,
    "again": AGAIN,
    "trouble": TROUBLE,
    "places": PLACES,
    "approvals": APPROVALS,
    "together": TOGETHER,
    "shown": SHOWN,
}
ALL = tuple(scenario for group in GROUPS.values() for scenario in group)
