"""Files in the dashboard's chat and over the API: what models see, who gets them back, and what is refused."""

import base64
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
import openai
import pytest

from memory.queue.payloads import Attachment
from sources.attachments import MAX_PICTURE, NEITHER, TOO_MANY, received
from tests.bot.stage import until
from tests.web.site import TOML, Site, csrf_of, site
from tests.web.test_api import openai_client, token
from tests.web.test_pages import scripted_by
from tests.wire.model import Answer, Call, Calls, Hang, ModelServer

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 40
PAGE = b"<script>alert(1)</script>"
SEEING = f"[model]\nbase_url_images = true\n{TOML}"
EVIL = "<img src=x onerror=alert(1)>\u202e\u200bjavascript:alert(1).png"


def held(content: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


async def sent(s: Site, *files: tuple[str, bytes, str], text: str = "what is it?", **more: str) -> httpx.Response:
    """What the page's script sends, and the answer to it."""
    headers = {"X-CSRF-Token": s.csrf, "HX-Request": "true"}
    parts = [("file", each) for each in files]
    return await s.browser.post("/chat/Carina", data={"text": text, **more}, files=parts, headers=headers)


async def answered(s: Site, posted: httpx.Response) -> str:
    assert posted.status_code == 200, posted.text
    return (await s.get(f"/chat/Carina/answer?id={posted.headers['x-asked']}")).text


def links(page: str) -> list[str]:
    return [each.replace("&amp;", "&") for each in re.findall(r'href="(/chat/Carina/file[^"]*)"', page)]


def parts(request: Any) -> tuple[str, list[str]]:
    """The words of what was said last, as a model gets them, and the pictures with it."""
    content = request.messages[-1]["content"]
    if isinstance(content, str):
        return content, []
    return content[0]["text"], [each["image_url"]["url"] for each in content[1:]]


async def test_files_reach_the_model_and_are_shown_again_but_never_run(tmp_path: Path) -> None:
    async with ModelServer.start() as model, site(tmp_path, SEEING, scripted_by(model)) as s:
        model.default = lambda _request: Answer("A boat.")
        await s.sign_in()
        files = (
            (EVIL, PNG, "image/png"), ("../a\r\nb.html", PAGE, "text/html"),
            ("report.pdf", b"%PDF\xff", "application/pdf"), ("liar.png", PAGE, "image/png"),
            ("big.txt", b"x" * 20_481, "text/plain"), ("b.svg", b"<svg/>", "image/svg+xml"),
        )  # fmt: skip
        posted = await sent(s, *files)
        assert "A boat." in await answered(s, posted)
        text, pictures = parts(model.requests[0])
        assert pictures == [held(PNG)]
        assert PAGE.decode() in text
        assert "<svg/>" in text
        assert f"report.pdf, application/pdf, 5 bytes: {NEITHER}]" in text
        assert f"liar.png, image/png, 25 bytes: {NEITHER}]" in text
        assert f"big.txt, text/plain, 20481 bytes: {NEITHER}]" in text
        assert not {"\u202e", "\u200b"} & set(text)
        page = (await s.get("/chat/Carina")).text
        for mark in ("<img src=x", "\u202e", "\u200b", 'href="javascript:', PAGE.decode()):
            assert mark not in page
            assert mark not in posted.text
        assert page.count(NEITHER) == 3
        found = links(page)
        shown, saved, drawn = [await s.get(each) for each in found]
        assert drawn.headers["content-type"] == "application/octet-stream"
        assert (shown.content, shown.headers["content-type"]) == (PNG, "image/png")
        assert (saved.content, saved.headers["content-type"]) == (PAGE, "application/octet-stream")
        for each, disposition in ((shown, "inline"), (saved, "attachment")):
            said = each.headers["content-disposition"]
            assert re.fullmatch(disposition + r"; filename\*=UTF-8''[\w.%~-]+", said)
            assert not re.search("[\r\n\u202e]", unquote(said))
            assert each.headers["x-content-type-options"] == "nosniff"
            assert "default-src 'none'" in each.headers["content-security-policy"]
        shown_name = shown.headers["content-disposition"].partition("''")[2]
        message = re.findall(r"of=(\d+)", found[0])[0]
        for which in (f"of={message}&n=2", f"of={message}&n=9", "of=1&n=0", "of=x&n=0", "", f"of={9**30}&n=0"):
            assert (await s.get(f"/chat/Carina/file?{which}")).status_code == 404, which
        await answered(s, await sent(s, text="and now?"))
        assert parts(model.requests[-1])[1] == []
        model.default = lambda _request: Hang()
        taken_back = await sent(s, ("boat.png", PNG, "image/png"), text="")
        (link,) = links(taken_back.text)
        assert (await s.get(link)).status_code == 200
        await s.post("/chat/Carina/stop", id=taken_back.headers["x-asked"])
        assert (await s.get(link)).status_code == 404
        assert "Deleted message" in (await s.get("/messages")).text
        assert await left(s) == {unquote(shown_name), "../a%0D%0Ab.html", "report.pdf", "liar.png", "big.txt", "b.svg"}


async def left(s: Site) -> set[str]:
    """The names of all files that are kept."""
    sql = "SELECT name FROM message_files"
    return {row["name"] for row in await s.app.services.database.read(lambda rows: rows.all(sql))}


async def test_a_file_is_the_conversations_alone(tmp_path: Path) -> None:
    async with ModelServer.start() as model, site(tmp_path, SEEING, scripted_by(model)) as s:
        model.default = lambda _request: Hang()
        await s.sign_in()
        (link,) = links((await sent(s, ("boat.png", PNG, "image/png"))).text)
        program, other = await s.program("admin"), await s.sign_in_as("api:somebody")
        assert (await program.get(link)).status_code == 403
        assert (await other.get(link)).status_code == 404
        assert (await s.browser.get(link, headers={"Cookie": ""})).is_redirect
        for who in ("program", "dashboard"):
            theirs = await s.app.web.talk.conversation(who, "Carina", "ann")
            await s.app.web.talk.say(
                theirs, "look", files=received([Attachment("a.png", "image/png", 48, content=PNG)])
            )
        sql = "SELECT message_id FROM message_files WHERE audience LIKE 'person:api:%'"
        hidden = [row["message_id"] for row in await s.app.services.database.read(lambda rows: rows.all(sql))]
        assert len(hidden) == 2
        for each in hidden:
            assert (await s.get(f"/chat/Carina/file?of={each}&n=0")).status_code == 404


async def test_a_crash_before_the_answer_loses_no_file_and_it_is_answered_once(tmp_path: Path) -> None:
    async with ModelServer.start() as model:
        model.default = lambda _request: Hang()
        async with site(tmp_path, SEEING, scripted_by(model)) as s:
            await s.sign_in()
            cookies, boat = s.browser.cookies, ("boat.png", PNG, "image/png")
            for _ in range(2):  # as a browser does that did not hear of the first
                posted = await sent(s, boat, id="0" * 32)
            await model.wait_for(1)
        model.default = lambda _request: Answer("A boat.")
        async with site(tmp_path, SEEING, scripted_by(model)) as s:
            s.browser.cookies = cookies
            assert "A boat." in await answered(s, posted)
            page = (await s.get("/chat/Carina")).text
            assert (page.count("A boat."), len(links(page)), len(await s.call("inbox.list"))) == (1, 1, 1)
            assert parts(model.requests[-1])[1] == [held(PNG)]
            assert (await s.get(links(page)[0])).content == PNG


async def test_a_file_of_an_agent_is_saved_from_the_page_over_a_restart_until_it_is_forgotten(tmp_path: Path) -> None:
    made = {"target_type": "here", "file_name": EVIL.replace(".png", ".html"), "content": PAGE.decode() + "Elm Street"}
    async with ModelServer.start() as model:
        async with site(tmp_path, SEEING, scripted_by(model)) as s:
            model.script(Calls(Call("send_message", {**made, "file_name": ""})), Calls(Call("send_message", made)))
            model.default = lambda _request: Answer("Here it is.")
            await s.sign_in()
            live = await answered(s, await sent(s, text="send it as a file"))
            assert "final text" in model.requests[1].results[0]
            (link,) = links(json.loads(live.rpartition("data: ")[2]))
            model.script(Calls(Call("send_message", made)), Answer(""))
            await answered(s, await sent(s, text="just the file"))
            (_first, alone) = links((await s.get("/chat/Carina")).text)
            cookies = s.browser.cookies
            program = await s.program("chat")
            model.script(Calls(Call("send_message", made)))
            body = {"model": "Carina", "messages": [{"role": "user", "content": "to a program"}]}
            told = (await program.post("/v1/chat/completions", json=body)).json()["choices"][0]["message"]["content"]
            assert re.search(r":\n<script>alert\(1\)</script>Elm Street\n\nHere it is\.$", told)
        async with site(tmp_path, SEEING, scripted_by(model)) as s:
            s.browser.cookies = cookies
            page = (await s.get("/chat/Carina")).text
            assert links(page) == [link, alone]
            assert not any(mark in page for mark in ("<img src=x", "\u202e", PAGE.decode()))
            saved = await s.get(link)
            assert (saved.text, saved.headers["content-type"]) == (made["content"], "application/octet-stream")
            assert saved.headers["content-disposition"].startswith("attachment; ")
            rows = "SELECT id FROM outbox WHERE place_id LIKE 'api:chat-0/%' AND detail LIKE '%Elm%'"
            (other,) = [row["id"] for row in await s.app.services.database.read(lambda read: read.all(rows))]
            for which in (f"sent={other}&n=0", link.partition("?")[2].replace("n=0", "n=1"), "sent=1&n=0"):
                assert (await s.get(f"/chat/Carina/file?{which}")).status_code == 404
            said = "SELECT id, external_id FROM messages WHERE content = 'send it as a file'"
            (asked,) = await s.app.services.database.read(lambda read: read.all(said))
            s.csrf = csrf_of(page)
            await s.post("/chat/Carina/stop", id=asked["external_id"])

            async def gone() -> bool:
                return (await s.get(link)).status_code == 404

            await until(gone, 5)
            held = "SELECT count(*) FROM outbox WHERE place_id LIKE 'api:dashboard/%' AND detail LIKE '%Elm%'"
            assert await s.app.services.database.read(lambda read: read.number(held)) == 1
            assert links((await s.get("/chat/Carina")).text) == [alone]


async def test_uploads_have_limits_and_need_the_sessions_token(s: Site) -> None:
    large = ("file", ("a.png", PNG + b"x" * 10_000_000, "image/png"))
    right = {"X-CSRF-Token": s.csrf}
    middling = ("file", ("a.png", PNG + b"x" * MAX_PICTURE, "image/png"))
    for path, headers, part, status in (
        ("/chat/Carina", {}, middling, 403),
        ("/chat/Carina", {"X-CSRF-Token": "wrong"}, middling, 403),
        ("/chat/Carina", right, large, 413),
        ("/memory", right, middling, 413),
        ("/login", {}, middling, 413),
    ):
        given = {"text": "hi", "csrf": s.csrf}
        assert (await s.browser.post(path, data=given, files=[part], headers=headers)).status_code == status, path
    broken = {**right, "Content-Type": "multipart/form-data; boundary=x"}
    assert (await s.browser.post("/chat/Carina", content=b"--y\r\n\r\n", headers=broken)).status_code == 400
    assert (await sent(s, *[("a.txt", b"a", "text/plain")] * 51)).status_code == 400
    assert await s.call("inbox.list") == []
    page = await sent(s, ("a.png", PNG + b"x" * MAX_PICTURE, "image/png"), *[("a.txt", b"a", "text/plain")] * 10)
    assert page.text.count(NEITHER) == 1
    assert page.text.count(TOO_MANY) == 1


IMAGE = {"type": "image_url", "image_url": {"url": held(PNG), "detail": "auto"}}
NOTES = {"type": "file", "file": {"filename": "notes.md", "file_data": held(b"# Tide tables", "text/markdown")}}
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}, "send it as a data: URL"),
    ({"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}, "send it as a data: URL"),
    ({"type": "image_url", "image_url": {"url": held(PNG), "detail": "high"}}, "detail cannot be given"),
    ({"type": "image_url", "image_url": {"url": "data:image/png;base64,%%"}}, "not valid base64"),
    ({"type": "image_url", "image_url": {"url": held(b"no picture")}}, NEITHER),
    ({"type": "image_url", "image_url": "x"}, "nothing else is supported"),
    ({"type": "file", "file": {"file_id": "file-1"}}, "as file_data"),
    ({"type": "file", "file": {"filename": "a.pdf", "file_data": held(b"%PDF\xff", "application/pdf")}}, "a.pdf"),
    ({"type": "input_audio", "input_audio": {"data": "", "format": "mp3"}}, "nothing else is supported"),
]  # fmt: skip


async def test_openais_client_sends_pictures_and_files(tmp_path: Path) -> None:
    async with ModelServer.start() as model, site(tmp_path, SEEING, scripted_by(model)) as s:
        model.default = lambda _request: Answer("A boat.")
        async with openai_client(s, await token(s)) as client:

            async def asked(content: Any, **more: Any) -> str:
                said: Any = [{"role": "user", "content": content}]
                answer = await client.chat.completions.create(model="carina/Carina", messages=said, **more)
                return str(answer.choices[0].message.content)

            assert await asked([{"type": "text", "text": "what is it?"}, IMAGE, NOTES]) == "A boat."
            text, pictures = parts(model.requests[-1])
            assert pictures == [held(PNG)]
            assert "# Tide tables" in text
            assert "file notes.md, 13 bytes" in text
            bare: Any = {
                "type": "file",
                "file": {"filename": "ebb.md", "file_data": base64.b64encode(b"# Ebb").decode()},
            }
            await asked([bare, {"type": "text", "text": "and this?"}])
            assert "# Ebb" in parts(model.requests[-1])[0]
            assert await left(s) == set(), "programs have their files themselves"
            said, once = len(await s.call("inbox.list")), {"Idempotency-Key": "once"}
            for part, words in REFUSED:
                with pytest.raises(openai.BadRequestError, match=re.escape(words)) as refused:
                    await asked([{"type": "text", "text": "look"}, part])
                assert refused.value.param == "messages"
            with pytest.raises(openai.APIStatusError) as large:
                await asked([{"type": "image_url", "image_url": {"url": held(b"x" * 8_000_000)}}])
            assert large.value.status_code == 413
            assert len(await s.call("inbox.list")) == said
            for _ in range(2):
                await asked([IMAGE], extra_headers=once)
            for content in ("hello", [{"type": "image_url", "image_url": {"url": held(PNG + b"y")}}]):
                with pytest.raises(openai.APIStatusError, match="used for another request"):
                    await asked(content, extra_headers=once)
            assert len(await s.call("inbox.list")) == said + 1
