"""Chat with any agent or group in the browser; answers are shown while they are written."""

import asyncio
import difflib
import json
import re
from collections.abc import AsyncIterator, Collection, Sequence
from urllib.parse import quote, urlencode

from starlette.datastructures import UploadFile
from starlette.responses import HTMLResponse, Response

from bot.interfaces.web.conversations import Answer, AnswerStage, Conversation, PartialAnswer
from bot.interfaces.web.refusals import Refusal
from bot.interfaces.web.render import field_label, render
from bot.interfaces.web.request import FAILURES, Context, arguments, offered, outcome
from bot.interfaces.web.request_checks import MOST_WITH_FILES
from bot.services.caller import PlaceScope, Via
from bot.services.idempotent_requests import IdempotentRequest, StoredResponse
from bot.services.registry import Operation, Parameter
from bot.services.results import Result
from memory.idempotent_requests import RequestState
from memory.people.audience import OWNER, Scope
from memory.queue.payloads import Attachment
from memory.store.records import replace
from sources.api import DASHBOARD
from sources.attachments import PICTURES, received
from texts import _, error_text, gettext_noop, in_chat

_LINES = 200
_KEY = re.compile(r"[0-9a-f]{32}")
_MOST_FILES = 50  # per message; the intake decides which files are accepted
_COMMAND = re.compile(r"/(?P<word>[^\W\d_][\w-]*)(?P<rest>\s.*)?", re.DOTALL)
_HELP = gettext_noop(
    "Commands work here after a slash, such as /tasks, /remind me call mom in 20 minutes or /search tea. Each of "
    "them also has a form. Everything else is sent to the agent. To send a line that begins with a slash, put a space "
    "before it."
)
_NO_COMMAND = gettext_noop(
    "There is no /{word} in this chat.{meant} /help lists the commands. To send the line as "
    "it is, put a space before it."
)
_MEMORY_ACTIONS = ("why.forget", "why.narrow", "why.correct")


async def chat(ctx: Context) -> Response:
    """The conversation with one agent or group; the first one if none is named."""
    names = await ctx.web.talk.names()
    name = ctx.request.path_params.get("name", names[0] if names else "")
    if not name:
        return ctx.page("chat.html", title=_("Chat"), names=names, name="", lines=[], asked="", words="")
    to = await ctx.web.talk.conversation(DASHBOARD, name)
    asked, told = "", ""
    if ctx.request.method == "POST":
        fields, files = await _composed(ctx)
        text, key = fields.get("text", "").replace("\r\n", "\n"), fields.get("id", "")
        key = key if _KEY.fullmatch(key) else ""
        if not files and (typed := _COMMAND.fullmatch(text.rstrip())):
            shown = await _run(ctx, [typed["word"].lower(), *(typed["rest"] or "").split()], key)
            if ctx.part:
                return HTMLResponse(render("chat_told.html", **shown), headers={"X-Told": "yes"})
            told = shown["words"]
        else:
            asked = await ctx.web.talk.say(to, text, f"page-{key}" if key else "", received(files))
    words = ctx.query("text").strip()
    lines = await ctx.web.talk.history(to, _LINES, words, ctx.number("at"))
    if ctx.part and asked:
        mine = [each for each in lines if each.mine and each.external_id == asked]
        return HTMLResponse(render("chat_said.html", name=name, lines=mine), headers={"X-Asked": asked})
    return ctx.page(
        "chat.html",
        title=_("Chat with {name}", name=to.to.name),
        names=names,
        name=to.to.name,
        lines=lines,
        asked=asked,
        words=words,
        told=told,
        most=MOST_WITH_FILES,
    )


async def _run(ctx: Context, words: list[str], key: str) -> dict[str, str]:
    """What a command after a slash comes to: words for the chat, and a link to what does more than a line can.

    What is sent again under its key, because no answer came, is done once.
    """
    known = offered(ctx)
    known |= {each.name.rpartition(".")[0]: each for each in known.values() if each.default}
    size = next((size for size in (3, 2, 1) if ".".join(words[:size]) in known), 0)
    if not size:
        return {"words": _instead(words[0], known.values()), "to": "/commands", "label": _("Commands")}
    declared, rest = known[".".join(words[:size])], " ".join(words[size:])
    needed = [each for each in declared.parameters if each.required]
    takes = needed or [each for each in declared.taken(Via.WEB) if each.positional]
    if why := _form_needed(declared, rest, needed[bool(rest) :], bool(takes)):
        given = f"?{urlencode({takes[0].name: rest})}" if rest and takes and "--" not in rest else ""
        return {"words": why, "to": f"/commands/{declared.name}{given}", "label": _(declared.summary)}
    once = None
    if declared.changes and key and ctx.key is not None:
        once = IdempotentRequest.of(ctx.key.id, key, " ".join(words).encode())
    state = RequestState.NEW if once is None else await ctx.web.once.begin(once)
    if isinstance(state, StoredResponse):
        told = state.body.decode()
    elif state is RequestState.NEW:
        came = await ctx.act(declared.name, arguments(declared, {takes[0].name: rest}) if rest else {}, {})
        written = came.document if isinstance(came, Result) and not declared.changes else ""
        told = written or await ctx.words(came, numbered=True)
        if once is not None:
            await ctx.web.once.end(once, (200, told.encode()))
    else:
        told = _("This was sent before. Check whether it was done.")
    return {"words": in_chat(told, {each.words[0] for each in known.values()}), "to": "", "label": ""}


def _instead(word: str, known: Collection[Operation]) -> str:
    """What to type instead of a word that names no command: one of its group, or a similar one."""
    if word == "help":
        return _(_HELP)
    if below := {each.name: each for each in known if each.words[0] == word}:
        lines = (f"/{' '.join(each.words)}: {_(each.summary)}" for _name, each in sorted(below.items()))
        return "\n".join([_("Choose one of these commands:"), *lines])
    near = difflib.get_close_matches(word, {"help", *(each.words[0] for each in known)}, n=1)
    return _(_NO_COMMAND, word=word, meant=_(" Did you mean {meant}?", meant=f"/{near[0]}") if near else "")


def _form_needed(declared: Operation, rest: str, missing: Sequence[Parameter], takes: bool) -> str:
    """Why a command cannot be run from a line but has to be run in its form; empty if it can."""
    if "--" in rest:
        return _("Options do not work in this chat. Use the form:")
    if rest and not takes:
        return _("This command does not take “{words}”.", words=rest)
    if missing:
        name = field_label(missing[0].name)
        return "\n".join((_("{argument} is missing.", argument=name), f"{name}: {_(missing[0].help)}"))
    return _("This command asks before it does something. Use the form:") if declared.asks else ""


async def _composed(ctx: Context) -> tuple[dict[str, str], list[Attachment]]:
    """The text of the form and its files."""
    if not ctx.request.headers.get("content-type", "").startswith("multipart/form-data"):
        return await ctx.form(), []
    async with ctx.request.form(max_files=_MOST_FILES, max_fields=2) as form:
        fields = {name: value for name, value in form.items() if isinstance(value, str)}
        return fields, [await _offered(each) for each in form.getlist("file") if isinstance(each, UploadFile)]


async def _offered(file: UploadFile) -> Attachment:
    content = await file.read()
    return Attachment(file.filename or "", file.content_type or "", len(content), content=content)


async def file(ctx: Context) -> Response:
    """A file of a conversation. Only pictures are displayed; everything else is a download, whatever type it claims."""
    to = await ctx.web.talk.conversation(DASHBOARD, ctx.request.path_params["name"])
    message, row, position, found = ctx.number("of"), ctx.number("sent"), ctx.number("n"), None
    if message is not None and position is not None:
        found = await ctx.web.talk.file(to.place.id, message, position)
    elif row is not None and position is not None:
        found = await ctx.web.talk.sent_file(to.place.id, row, position)
    if found is None:
        raise Refusal(404, _("There is nothing at this address."))
    picture = found.content_type in PICTURES
    shown = f"{'inline' if picture else 'attachment'}; filename*=UTF-8''{quote(found.name, safe='')}"
    kind = found.content_type if picture else "application/octet-stream"
    return Response(found.content, media_type=kind, headers={"Content-Disposition": shown})


async def answer(ctx: Context) -> Response:
    to = await ctx.web.talk.conversation(DASHBOARD, ctx.request.path_params["name"])
    return ctx.stream(_events(ctx, to, ctx.query("id")))


async def _events(ctx: Context, to: Conversation, said: str) -> AsyncIterator[str]:
    async for each in ctx.web.talk.follow(to.place.id, said):
        match each:
            case PartialAnswer(text=text):
                yield event("text", text)
            case AnswerStage(what=what):
                yield event("doing", what)
            case Answer(texts=texts, error=error, messages=messages):
                lines = await ctx.web.talk.history(to, _LINES)
                lines = [line for line in lines if line.id in messages]
                if lines:
                    yield event("answer", render("chat_said.html", name=to.to.name, lines=lines))
                else:
                    yield event("told", error or "\n\n".join(texts) or _("No answer was needed."))


async def stop(ctx: Context) -> Response:
    """Withdraw a message, which stops its answer."""
    to = await ctx.web.talk.conversation(DASHBOARD, ctx.request.path_params["name"])
    if ctx.request.method != "POST":
        raise Refusal(405, _("This address only accepts a submitted form."))
    await ctx.web.talk.take_back(to, (await ctx.form()).get("id", ""))
    return HTMLResponse("")


async def why(ctx: Context) -> Response:
    """The sources of an answer, and what can be done about each memory."""
    name = ctx.request.path_params["name"]
    to = await ctx.web.talk.conversation(DASHBOARD, name)
    done, message = await outcome(ctx, _MEMORY_ACTIONS), ctx.query("message")
    caller = replace(ctx.caller(), alone=PlaceScope(to.place.id, Scope(OWNER)))
    explained: Result | str
    try:
        explained = await ctx.web.services.registry.call("why", caller, {"message": message} if message else {})
    except FAILURES as error:
        explained = error_text(error)
    return ctx.page("why.html", title=_("Why"), name=name, explained=explained, message=message, **done)


def event(name: str, data: str) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


async def live(ctx: Context) -> Response:
    """Tell an open page which topics changed, so that it reloads those parts."""
    return ctx.stream(_changes(ctx))


async def _changes(ctx: Context) -> AsyncIterator[str]:
    before: dict[str, str] = {}
    while True:
        now = await ctx.web.marks.current()
        yield event("state", json.dumps({"waiting": now["waiting"]}))
        for topic, mark in now.items():
            if before and before.get(topic) != mark:
                yield event("changed", topic)
        before = now
        await asyncio.sleep(ctx.web.marks.seconds)


ROUTES = (
    ("/chat", chat),
    ("/chat/{name:path}/answer", answer),
    ("/chat/{name:path}/file", file),
    ("/chat/{name:path}/stop", stop),
    ("/chat/{name:path}/why", why),
    ("/chat/{name:path}", chat),
    ("/live", live),
)
