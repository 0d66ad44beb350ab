"""The text of an approval card: the agent, the call, the reason, the place and the deadline; `sources.discord.cards`
shows it."""

import json
import unicodedata
from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import pairwise
from string import Formatter
from typing import Any

from msgspec import Struct, field

from bot.models.base import Call, parsed
from memory.people.audience import PUBLIC
from memory.permission_grants import CallArguments
from memory.permission_requests import Permit, Request, Status, Verdict
from memory.queue.outbox import CardButtons, CardDetail, File, NewRow
from memory.queue.turns import Turn
from memory.store.ids import BlockId, PersonId, PlaceId, code
from sources.names import place_title
from sources.text import visible
from texts import _, gettext_noop, in_utc, language, moment_text

_INLINE = 1_000  # characters of anything on a card; longer arguments are also attached as a file
_SAID = 300  # displayed length of the agent's words, and of each argument in words
_NAMED = 40  # characters of an argument that a lasting approval fixes
_UNSEEN = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}
"""Unicode categories that can hide or reorder text; shown as escapes."""


class ApprovalCall(Struct, frozen=True):
    """A call that needs approval. `bound` are the arguments that a lasting approval fixes, None for all."""

    turn: Turn
    agent: str
    speaker: str
    call: Call
    permit: Permit | None
    bound: tuple[str, ...] | None = None
    shown: Mapping[BlockId, int] = field(default_factory=dict)
    """The versions of blocks that the agent had been shown before the call."""
    said: str = ""
    """The agent's words with the call."""


class Card(Struct, frozen=True):
    """The card for one place. `arguments` is the attached file, empty if the text shows everything."""

    text: str
    arguments: str = ""


def offers(request: Request) -> tuple[Verdict, ...]:
    if request.once_only:
        return (Verdict.ONCE, Verdict.DENY)
    return (Verdict.ONCE, Verdict.HOUR, Verdict.ALWAYS, Verdict.DENY)


def card(
    request: Request, asking: ApprovalCall, here: str, *, may_read: bool, source: str = "", target: str = ""
) -> Card:
    """The card for a place called `here`, of that source. Without `may_read` it has no arguments.

    `target` is the name of a message's destination.
    """
    shown, attached = _argument_lines(request.arguments), ""
    if len(shown) > _INLINE:
        shown, attached = f"{shown[:_INLINE]}…", visible_text(request.arguments)
    lines = [
        _("**{plain}** is asking for your approval.", plain=_plain(asking.agent)),
        _what(request, target) if may_read else _tool_alone(request),
        *([_("The agent says: “{said}”", said=_plain(asking.said, _SAID))] if may_read and asking.said.strip() else []),
        _("Why you are being asked: {plain}", plain=_plain(_(request.reason))),
        _("For: {plain} in {plain2}", plain=_plain(asking.speaker or _("somebody")), plain2=_plain(place_title(here))),
        _("Expires: {moment}", moment=moment_text(request.expires_at, source)),
    ]
    if request.quorum > 1:
        lines.append(_("{quorum} people must approve it.", quorum=request.quorum))
    if may_read:
        lines.append(_("This is exactly what will run:\n```\n{shown}\n```", shown=shown))
        lines += [_("The file has the full text.")] if attached else []
        lines += [] if request.once_only else [_lasting(request)]
    else:
        lines.append(_("The arguments come from a direct message and are not shown to anyone else."))
    if source != "discord":  # typed answers; Discord has buttons
        lines.append(_("-# Request {request_id}", request_id=code(request.id)))
    return Card("\n".join(lines), attached if may_read else "")


def row(request: Request, shown: Card, chain: tuple[PlaceId, ...]) -> NewRow:
    """A card in the first of these places; the others are fallbacks."""
    place, *rest = chain
    files = (File(f"request-{request.id}.json", shown.arguments),) if shown.arguments else ()
    buttons = CardButtons(request.id, tuple(offers(request)), language())
    return NewRow(
        key=f"card/{request.id}/{place}",
        place=place,
        content=shown.text,
        audience=request.hearers.audience,
        person=request.person,
        agent=request.agent,
        detail=CardDetail(buttons, tuple(rest), files),
    )


_IN_WORDS = {
    ("context", "append"): gettext_noop("Change the block `{label}`: add “{content}”"),
    ("context", "replace"): gettext_noop("Change the block `{label}`: replace “{old_content}” with “{new_content}”"),
    ("context", "write"): gettext_noop("Change the block `{label}`: rewrite all of it as “{content}”"),
    ("context", "edit_range"): gettext_noop(
        "Change the block `{label}`: replace lines {first_line} to {last_line} with “{content}”"
    ),
    ("context", "set_field"): gettext_noop("Change the block `{label}`: set {field} to “{value}”"),
    ("context", "add_item"): gettext_noop("Change the block `{label}`: add “{value}” to {field}"),
    ("context", "set_item"): gettext_noop("Change the block `{label}`: set item {item} to “{value}”"),
    ("context", "remove_item"): gettext_noop("Change the block `{label}`: remove item {item}"),
    ("context", "undo"): gettext_noop("Change the block `{label}`: undo the agent's last change"),
    ("context", "redo"): gettext_noop("Change the block `{label}`: redo the last undone change"),
    ("context", "create"): gettext_noop("Create the block `{label}`: {description}"),
    ("context", "change"): gettext_noop("Change the settings of the block `{label}`"),
    ("context", "delete"): gettext_noop("Delete the block `{label}`"),
    ("context", "restore"): gettext_noop("Restore the block `{label}`"),
    ("context", "share"): gettext_noop("Share the block `{label}` with {agent}"),
    ("context", "unshare"): gettext_noop("Stop sharing the block `{label}` with {agent}"),
    ("recall", "insert"): gettext_noop("Remember “{content}”"),
    ("recall", "save"): gettext_noop("Remember “{content}”"),
    ("recall", "append"): gettext_noop("Add to the entry `{label}`: “{content}”"),
    ("recall", "delete"): gettext_noop("Delete the entry `{label}`"),
    ("send_message", "channel"): gettext_noop("Say “{content}” in {target}"),
    ("send_message", "person"): gettext_noop("Say “{content}” in a direct message"),
    ("send_message", "here"): gettext_noop("Send a file here: “{content}”"),
    ("send_message", "agent"): gettext_noop("Tell {target}: “{content}”"),
    ("send_message", "group"): gettext_noop("Tell {target}: “{content}”"),
}
"""Descriptions of calls, by the tool and its operation or kind of target."""


def _what(request: Request, target: str) -> str:
    """The call in words if there are any for its tool, which is named as well."""
    words = in_words(request, target)
    return _("What: {words} (`{tool}`)", words=words, tool=request.tool) if words else _tool_alone(request)


def _tool_alone(request: Request) -> str:
    return _("What: `{tool}`", tool=request.tool)


def in_words(request: Request, target: str) -> str:
    """A call in words, as Markdown; empty if there are none for its tool. `target` is the name of a place."""
    given = dict(parsed(request.arguments))
    kind = given.pop("operation" if "operation" in given else "target_type", None)
    if (phrase := _IN_WORDS.get((request.tool, str(kind)))) is None:
        return ""
    if target:
        given["target"] = target
    names = [name for _text, name, *_more in Formatter().parse(phrase) if name]
    told = {name: "" if given.get(name) is None else _text(given[name]) for name in names}
    words = {name: _plain(text, _SAID) for name, text in told.items()}
    if "field" in words:  # none for a block that is a list
        words["field"] = words["field"] or _("its content")
    if "label" in words:  # within a code span, where nothing is escaped
        words["label"] = _flat(told["label"], _SAID)
    more = argument_words({name: value for name, value in given.items() if name not in names and value != ""})
    return _(phrase, **words) + (f"; {_plain(more, _SAID)}" if more else "")


def argument_words(arguments: Mapping[str, Any]) -> str:
    """Arguments on one line, as people read them."""
    told = ((_flat(name, _NAMED), _flat(_text(value), _SAID), value) for name, value in arguments.items())
    quoted = ((name, _("“{text}”", text=text) if isinstance(value, str) else text) for name, text, value in told)
    return ", ".join(f"{name}: {text}" for name, text in quoted)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _flat(text: str, longest: int) -> str:
    return _within(_visibly(" ".join(text.split())), longest)


def _within(parts: Iterable[str], longest: int) -> str:
    """Displayed characters, cut if too many: an escape is longer than its character."""
    fitting, size = list[str](), 0
    for part in parts:
        size += len(part)
        if size > longest:
            return f"{''.join(fitting)}…"
        fitting.append(part)
    return "".join(fitting)


def _lasting(request: Request) -> str:
    """The scope of a lasting approval, often more than the call that is shown."""
    free = [name for name in parsed(request.arguments) if name not in request.pattern]
    if not free:
        return _("*For 1 hour* and *Always* allow calls to `{tool}` with these arguments.", tool=request.tool)
    bound = ", ".join(f"{name} {_short(value)}" for name, value in request.pattern.items())
    names = ", ".join(_plain(name, _NAMED) for name in free)
    told = {"tool": request.tool, "bound": bound, "names": names}
    if not bound:
        return _("*For 1 hour* and *Always* allow every call to `{tool}`, with any {names}.", **told)
    return _("*For 1 hour* and *Always* allow every call to `{tool}` with {bound} and any {names}.", **told)


def _short(value: Any) -> str:
    return f"`{_flat(json.dumps(value, ensure_ascii=False), _NAMED)}`"


def _argument_lines(arguments: str) -> str:
    """Each argument on a line of its own, with its value as JSON, which contains no line breaks."""
    told = ((json.dumps(each, ensure_ascii=False) for each in pair) for pair in parsed(arguments).items())
    lines = (f"{name[1:-1]}: {value}" for name, value in told)
    return "\n".join("".join(_visibly(each)) for each in lines) or visible_text(arguments)


def visible_values(arguments: str) -> dict[str, str]:
    """Each argument with every character visible."""
    return {name: "".join(_visibly(_text(value))) for name, value in parsed(arguments).items()}


def visible_text(arguments: str) -> str:
    """Arguments with every character visible and none that ends their code block; still the same JSON."""
    try:
        laid_out = json.dumps(json.loads(arguments or "{}"), indent=1, ensure_ascii=False)
    except ValueError:
        laid_out = json.dumps(arguments, ensure_ascii=False)
    return "".join(_visibly(laid_out))


def _visibly(text: str) -> Iterable[str]:
    """Each character in visible form. Links are broken up, because platforms may hide a link's real target."""
    return ("\\u0028" if (before, each) == ("]", "(") else _visible(each) for before, each in pairwise(f" {text}"))


def _visible(character: str) -> str:
    if character == "`":
        return "\\u0060"
    seen = character in "\n\ufe0f" or (  # a selector that most emoji are written with
        unicodedata.category(character) not in _UNSEEN and (character.isspace() or visible(character))
    )
    return character if seen else json.dumps(character)[1:-1]


def outcome(text: str, words: str) -> str:
    """A card that needs more approvals: the question, and who has approved."""
    return f"{text}\n**{words}**"


def closed(request: Request, words: str) -> str:
    """A card after the decision, in one line: the result and the call."""
    mark = {Status.APPROVED: "✅", Status.USED: "✅", Status.DENIED: "⛔"}.get(request.status, "⌛")
    return f"{mark} **{words}** · `{request.tool}`"


def ruling(request: Request, who: str, verdict: Verdict | None, at: datetime, source: str = "") -> str:
    """The decision in one line; `who` is the person's name there. Without a source it is for an agent."""
    when = moment_text(at, source) if source else in_utc(at)
    match request.status:
        case Status.DENIED:
            return _("Denied by {who}, {when}", who=who, when=when)
        case Status.EXPIRED:
            return _("Expired without an answer, {when}", when=when)
        case Status.WITHDRAWN:
            return _("Withdrawn, {when}", when=when)
        case Status.WAITING:
            return _("{who} approved, {when}; more approvals are needed", who=who, when=when)
        case _:
            return _(_ALLOWED[verdict or Verdict.ONCE], who=who, when=when)


_ALLOWED = {
    Verdict.ONCE: gettext_noop("Allowed once by {who}, {when}"),
    Verdict.HOUR: gettext_noop("Allowed for 1 hour by {who}, {when}"),
    Verdict.ALWAYS: gettext_noop("Always allowed by {who}, {when}"),
}


def person_name(person: PersonId, source: str, handle: str = "") -> str:
    """A person's name in a place of that source: their handle, or on Discord a mention without a notification."""
    home, _, identifier = person.partition(":")
    if home == source == "discord":
        return f"<@{identifier}>"
    return handle or person


def agent_notice(request: Request, words: str) -> str:
    if request.hearers.audience == PUBLIC:
        return f"Your call of {request.tool} is made now. {_TOLD_NOBODY}"
    about = f"Request {request.id} (your call of {request.tool}): {words}."
    match request.status:
        case Status.APPROVED:
            return f"{about} The call is made now; tell the person what came of it."
        case Status.DENIED:
            return f"{about} The call was not made. Tell the person; do not ask for the same again by yourself."
        case _:
            return f"{about} The call was not made. Tell the person."


_TOLD_NOBODY = (
    "Nobody in this public thread is told that it needs approval, or what was decided: say nothing about that. If the "
    "result answers nobody, leave your answer empty."
)


def waiting(request: Request) -> str:
    if request.hearers.audience == PUBLIC:
        return f"This call was not made yet; do not repeat it. {_TOLD_NOBODY}"
    hours = (request.expires_at - request.created_at).total_seconds() / 3600
    return (
        f"This call was not made yet: it waits for approval {request.id}, because {request.reason}. Somebody was "
        f"asked; the answer may take up to {hours:g} hours. Do not repeat it; tell "
        "the person in one sentence that it is waiting for approval. You will be told when it is decided."
    )


def call_arguments(arguments: str, bound: tuple[str, ...] | None) -> CallArguments:
    """The arguments of a call, and those that a lasting approval fixes: the tool's choice, or all."""
    every = parsed(arguments)
    return CallArguments(every, every if bound is None else {name: every[name] for name in bound if name in every})


def _plain(text: str, longest: int = _INLINE) -> str:
    return _within((f"\\{c}" if c in "\\*_`~|>[]#@<&" else _visible(c) for c in " ".join(text.split())), longest)
