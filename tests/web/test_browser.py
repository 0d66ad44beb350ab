"""The dashboard in a real Chromium: every page in both themes and sizes, by keyboard, and looked over by axe."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from itertools import count
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, FilePayload, Page, async_playwright

from bot.services.system.demo import CONFIGURATION, demo_agenda, write_demo
from memory.queue import telemetry
from memory.store.clock import utc_now
from memory.store.faults import commit_point
from tests.web.screenshots import ARGUMENTS, BLOCK, PHONE, WIDE, chromium
from tests.web.site import TOML, Site, site
from tests.web.test_own_page import ALICE, settled
from tests.web.test_pages import scripted_by
from tests.wire.model import Answer, Hang, ModelServer

pytestmark = [pytest.mark.browser, pytest.mark.skipif(not chromium(), reason="no Chromium is installed")]
_WRITE = commit_point("test.demo")
_LABELS = """[...document.querySelectorAll("#graph text:not(.covered)")].filter((each) => each.textContent)
    .map((each) => each.getBoundingClientRect()).map(({ left, top, right, bottom }) => [left, top, right, bottom])"""
PAGES = (
    "/", "/chat/Carina", "/approvals", "/search?text=Lisbon", "/memory", "/memory?show=entries", "/memory?show=journal",
    BLOCK, "/graph", "/nights", "/context", "/messages", "/schedule", "/costs", "/agents", "/agents/Carina",
    "/groups/Workshop", "/people", "/logs", "/settings", "/commands", "/commands/remind.me",
)  # fmt: skip
EMPTY = tuple(each for each in PAGES if each not in (BLOCK, "/groups/Workshop"))


@asynccontextmanager
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        made = await playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        yield made
        await made.close()


@asynccontextmanager
async def demo(folder: Path) -> AsyncIterator[Site]:
    async with site(folder, CONFIGURATION) as s:
        await s.app.services.database.write(_WRITE, lambda tx: write_demo(tx, utc_now()))
        for operation, given in demo_agenda():
            await s.call(operation, **given)
        yield s


async def signed_in(
    made: Browser, s: Site, *, phone: bool = False, dark: bool = False, person: str = ""
) -> tuple[Page, list[str]]:
    """A page of a browser that is signed in, and what goes wrong on it."""
    context = await made.new_context(
        viewport=PHONE if phone else WIDE, color_scheme="dark" if dark else "light", timezone_id="Asia/Kolkata"
    )
    page, wrong = await context.new_page(), list[str]()
    page.on(
        "console", lambda said: wrong.append(f"{page.url}: {said.text}") if said.type in ("error", "warning") else None
    )
    page.on("pageerror", lambda error: wrong.append(f"{page.url}: {error}"))
    await page.goto((await s.call("dashboard.open", person=person))["url"])
    if person:
        await page.locator("button.primary").click()
    await page.wait_for_url(f"{s.address}/me" if person else f"{s.address}/")
    return page, wrong


@pytest.mark.parametrize("phone", [False, True])
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("filled", [True, False])
async def test_every_page_is_sound(tmp_path: Path, *, phone: bool, dark: bool, filled: bool) -> None:
    async with demo(tmp_path) if filled else site(tmp_path) as s, browser() as made:
        page, wrong = await signed_in(made, s, phone=phone, dark=dark)
        found = list[str]()
        for path in PAGES if filled else EMPTY:
            found += await violations(page, f"{s.address}{path}")
        if filled:
            await settled(s, ALICE, "alicewort")
        own, wrong_there = await signed_in(made, s, phone=phone, dark=dark, person=ALICE)
        found += await violations(own, f"{s.address}/me")
        assert "\n".join(found) == ""
        assert [*wrong, *wrong_there] == []


def covers(one: list[float], other: list[float]) -> bool:
    """Whether two labels cover each other, by more than a pixel."""
    (left, top, right, bottom), (left2, top2, right2, bottom2) = one, other
    return min(right, right2) - max(left, left2) > 1 and min(bottom, bottom2) - max(top, top2) > 1


async def violations(page: Page, address: str) -> list[str]:
    """What axe finds on a page, and whether it is wider than the screen."""
    await page.goto(address)
    await page.wait_for_timeout(150)
    width = await page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    found = [f"{address}: {width} px too wide"] if width > 0 else []
    for each in (await Axe().run(page)).response["violations"]:
        where = each["nodes"][0]["html"][:160]
        found.append(f"{address}: {each['id']}: {where} {each['nodes'][0].get('failureSummary', '')[:200]}")
    return found


@pytest.mark.parametrize("phone", [False, True])
async def test_no_label_of_the_graph_covers_another(tmp_path: Path, *, phone: bool) -> None:
    async with demo(tmp_path) as s, browser() as made:
        page, wrong = await signed_in(made, s, phone=phone)
        await page.goto(f"{s.address}/graph")
        for step in ("all", "one"):
            if step == "one":
                await page.locator("#graph g", has_text="Robin").press("Enter")
            labels = await page.evaluate(_LABELS)
            assert len(labels) > 10
            over = [a for n, a in enumerate(labels) for b in labels[:n] if covers(a, b)]
            assert over == []
            assert all(
                left >= 0 and right <= (PHONE if phone else WIDE)["width"] for left, _top, right, _bottom in labels
            )
        assert wrong == []


async def test_a_command_in_the_chat_is_answered_below_it(tmp_path: Path) -> None:
    async with site(tmp_path) as s, browser() as made:
        page, wrong = await signed_in(made, s)
        await page.goto(f"{s.address}/chat/Carina")
        await page.fill("textarea", "/tasks add pay rent")
        await page.keyboard.press("Enter")
        await page.wait_for_selector("#talk :text('Added: pay rent')")
        assert await page.input_value("textarea") == ""
        assert wrong == []


async def test_a_request_is_denied_and_a_block_restored_by_keyboard_alone(tmp_path: Path) -> None:
    async with demo(tmp_path) as s, browser() as made:
        page, wrong = await signed_in(made, s)
        await page.keyboard.press("g")
        await page.keyboard.press("a")
        await page.wait_for_url("**/approvals", wait_until="load")
        await focus(page, "Deny")
        await page.keyboard.press("Enter")
        await page.wait_for_selector(".banner.good")
        assert len((await s.call("permits.list"))["requests"]) == 1
        await page.goto(f"{s.address}{BLOCK}")
        await page.locator("#version").focus()
        for _ in range(5):
            await page.keyboard.press("ArrowLeft")
        await page.wait_for_selector("#at :text('Version 2 of 7')")
        await focus(page, "Restore this version")
        await page.keyboard.press("Enter")
        await page.wait_for_selector(".banner.good")
        assert "60 field reports" in (await s.call("memory.show", label="human"))["text"]
        assert wrong == []


async def test_a_request_is_approved_by_keyboard_alone(tmp_path: Path) -> None:
    async with demo(tmp_path) as s, browser() as made:
        page, wrong = await signed_in(made, s)
        await page.goto(f"{s.address}/approvals")
        await focus(page, "Allow once")
        await page.keyboard.press("Enter")
        await page.wait_for_selector(".banner.good")
        states = [each["status"] for each in (await s.call("permits.list"))["requests"]]
        assert states.count("waiting") == 1, "the other was done already, or is about to be"
        assert "once by dashboard" in [each["detail"] for each in await s.call("permits.audit")]
        assert wrong == []


async def test_a_block_is_edited_and_a_person_erased_by_keyboard_alone(tmp_path: Path) -> None:
    async with demo(tmp_path) as s, browser() as made:
        page, wrong = await signed_in(made, s)
        await page.goto(f"{s.address}{BLOCK}")
        await focus(page, "Robin teaches")
        await page.keyboard.press("Control+End")
        await page.keyboard.type(" Sings on Mondays.")
        await focus(page, "Save")
        await page.keyboard.press("Enter")
        await page.wait_for_selector(".banner.good")
        assert "Sings on Mondays." in (await s.call("memory.show", label="human"))["text"]
        await page.goto(f"{s.address}/people?person=discord:2001")
        await focus(page, "Erase")
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/commands/privacy.erase*", wait_until="load")
        for words, then in (("Run", "[role=alertdialog]"), ("Yes, do it", ".banner.good")):
            await focus(page, words)
            await page.keyboard.press("Enter")
            await page.wait_for_selector(then)
        kept = await s.call("privacy.see", person="discord:2001")
        assert not any(kept["stores"]["demo"].values())
        assert wrong == []


async def test_a_page_says_that_the_service_went_away_and_what_was_written_is_not_lost(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        toml = TOML.replace(":0", f":{free.getsockname()[1]}")
    async with browser() as made:
        async with site(tmp_path, toml) as s:
            page, _wrong = await signed_in(made, s)
            await page.goto(here := f"{s.address}/memory/block?label=persona")
            await page.fill("textarea", "I love the sea")
            assert not await page.is_visible("#offline")
        await page.wait_for_selector("#offline", state="visible")
        assert await page.input_value("textarea") == "I love the sea"
        async with site(tmp_path, toml):
            await page.wait_for_selector("#offline", state="hidden")
        await page.click("button:text('Save')")
        await page.wait_for_selector("#offline", state="visible")
        assert page.url == here
        assert await page.input_value("textarea") == "I love the sea"
        async with site(tmp_path, toml) as s:
            await page.click("button:text('Save')")
            await page.wait_for_selector(".banner.good")
            stored = await s.call("memory.show", label="persona")
            assert stored["text"] == "I love the sea"
            await page.goto(here)
            assert not await page.is_visible("#restored")
            await page.goto(f"{here}&version=1")  # whose form is sent to the page of the newest version
            await page.fill("textarea", "I love the hills")
            await page.click("button:text('Save')")
            await page.wait_for_selector(".banner.good")
            await page.goto(f"{here}&version=1")
            assert not await page.is_visible("#restored")
            left = json.dumps([["csrf", "of another session"], ["text", "I love secrets"]])
            form = f"form /memory/block?label={stored['id']} 0"
            await page.evaluate("([key, draft]) => sessionStorage.setItem(key, draft)", [form, left])
            await page.goto(here)
            assert await page.input_value("textarea") == "I love the hills"
            csrf = await page.get_attribute("body", "data-csrf")
            sent = json.dumps([["csrf", csrf], ["file", "{}"], ["replace", "true"]])
            key = "form /commands/group.import 0"
            await page.evaluate("([key, draft]) => sessionStorage.setItem(key, draft)", [key, sent])
            await page.goto(f"{s.address}/commands/group.import")
            assert await page.input_value("[name=file]") == "{}"
            assert await page.is_checked("[name=replace]")
            await page.evaluate("([key, draft]) => sessionStorage.setItem(key, draft)", ["form elsewhere 0", left])
            await page.click("text=Sign out")
            await page.wait_for_url("**/logout")
            assert await page.evaluate("sessionStorage.length") == 0


async def focus(page: Page, words: str, *, back: bool = False) -> None:
    """Press Tab until something of these words has the focus."""
    for _ in range(120):
        await page.keyboard.press("Shift+Tab" if back else "Tab")
        named = "document.activeElement.textContent.trim() || document.activeElement.title"
        held = f"document.activeElement.matches('button, a, textarea') ? {named} : ''"
        if words in await page.evaluate(held):
            return
    raise AssertionError(f"nothing called {words} was reached")


async def test_an_answer_appears_as_it_is_written_and_the_page_lives(tmp_path: Path) -> None:
    async with site(tmp_path) as s, browser() as made:
        page, wrong = await signed_in(made, s)
        await page.goto(f"{s.address}/chat/Carina")
        await page.keyboard.type("remember that my dentist is on Elm Street")
        await page.keyboard.press("Enter")
        await page.wait_for_selector(".say:not(.mine) footer a:text('Why?')")
        for time in await page.locator(".say time").all():
            at = datetime.fromisoformat(await time.get_attribute("datetime") or "").astimezone(ZoneInfo("Asia/Kolkata"))
            assert f"{at:%-I:%M:%S}" in (await time.get_attribute("title") or "")
        await page.goto(f"{s.address}/messages")
        await page.wait_for_timeout(2_500)
        rows = await page.locator("#live .rows > li").count()
        await s.call("facts.list")
        said = await s.app.web.talk.conversation("dashboard", "Carina")
        await s.app.web.talk.say(said, "hello again")
        async with asyncio.timeout(15):
            while await page.locator("#live .rows > li").count() == rows:
                await page.wait_for_timeout(200)
        assert wrong == []
        await page.goto(f"{s.address}/chat/Carina")
        await page.fill("form.composer textarea", "half a thought")
        await s.call("dashboard.sign-out", session="all")
        await page.keyboard.press("Enter")
        await page.wait_for_selector("text=because you are signed out")
        await page.goto((await s.call("dashboard.open"))["url"])
        await page.wait_for_url(f"{s.address}/")
        await page.goto(f"{s.address}/chat/Carina")
        assert await page.input_value("form.composer textarea") == "half a thought"
        await page.keyboard.press("Enter")
        await page.wait_for_selector(".say.mine:has-text('half a thought') footer")
        assert await page.evaluate("sessionStorage.getItem('draft /chat/Carina')") == ""


async def test_a_part_that_did_not_change_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marks = map(str, count())
    monkeypatch.setattr(telemetry, "marks", lambda _rows: {"waiting": "0", "messages": next(marks)})
    async with site(tmp_path) as s, browser() as made:
        said = await s.app.web.talk.conversation("dashboard", "Carina")
        await s.app.web.talk.say(said, "hello")
        page, wrong = await signed_in(made, s)
        await page.goto(f"{s.address}/messages")
        for _ in range(2):  # the answer may have come after the page
            async with page.expect_response(f"{s.address}/messages"):
                pass
        await page.wait_for_selector("#live time[data-local]")
        await page.evaluate("document.querySelector('#live time').seen = true")
        for _ in range(2):
            async with page.expect_response(f"{s.address}/messages"):
                pass
        assert await page.evaluate("document.querySelector('#live time').seen")
        await s.app.web.talk.say(said, "hello again")
        async with asyncio.timeout(15):
            while await page.evaluate("document.querySelector('#live time').seen"):
                await page.wait_for_timeout(200)
        assert wrong == []


_DROP = """([kind, name, type, text]) => {
  const data = new DataTransfer(), there = document.querySelector("form.composer textarea");
  data.items.add(new File([text], name, { type }));
  const more = { bubbles: true, cancelable: true };
  there.dispatchEvent(kind === "paste" ? new ClipboardEvent(kind, { ...more, clipboardData: data })
    : new DragEvent(kind, { ...more, dataTransfer: data }));
}"""


@pytest.mark.parametrize("phone", [False, True])
async def test_files_are_attached_by_button_paste_and_drop(tmp_path: Path, *, phone: bool) -> None:
    async with site(tmp_path) as s, browser() as made:
        page, wrong = await signed_in(made, s, phone=phone, dark=phone)
        await page.goto(f"{s.address}/chat/Carina")
        async with page.expect_file_chooser() as chooser:
            await focus(page, "Attach files")
            await page.keyboard.press("Enter")
        picture = await page.screenshot(clip={"x": 0, "y": 0, "width": 60, "height": 40})
        png: FilePayload = {"name": "map.png", "mimeType": "image/png", "buffer": picture}
        await (await chooser.value).set_files([png])
        await page.evaluate(_DROP, ["paste", "notes.txt", "text/plain", "Elm Street"])
        await page.evaluate(_DROP, ["drop", "<b>evil</b>\u202egpj.html", "text/html", "<script>1</script>"])
        names = page.locator("[data-files] bdi")
        assert await names.all_inner_texts() == ["map.png", "notes.txt", "<b>evil</b>gpj.html"]
        assert await page.locator("[data-files] img").evaluate("(each) => each.decode().then(() => each.naturalWidth)")
        await focus(page, "×", back=True)
        await page.keyboard.press("Enter")
        assert await names.all_inner_texts() == ["map.png", "notes.txt"]
        assert not await page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
        await page.evaluate(_DROP, ["drop", "film.mp4", "video/mp4", "x" * 10_000_000])
        assert "These files are too large" in await page.inner_text("#talk")
        assert await names.count() == 2
        found = (await Axe().run(page)).response["violations"]
        assert [each["id"] for each in found] == []
        await page.focus("textarea")
        await page.keyboard.press("Enter")
        await page.wait_for_selector(".say:not(.mine) footer a:text('Why?')")
        assert not await page.is_visible("[data-files]")
        await page.reload()
        assert await page.locator(".mine img").evaluate("(each) => each.naturalWidth")
        assert (await page.inner_text(".mine .files")).startswith("notes.txt")
        async with page.expect_download() as saved:
            await page.click("text=notes.txt")
        assert (await (await saved.value).path()).read_text("utf-8") == "Elm Street"
        assert wrong == []


_WIDE = f"| {' | '.join(['time'] * 9)} |\n{'|---' * 9}|\n| {' | '.join(['06:10'] * 9)} |\n\n```\n{'x' * 300}\n```\n"


async def test_what_is_said_in_one_window_is_seen_in_another_and_fits_a_phone(tmp_path: Path) -> None:
    async with ModelServer.start() as model, site(tmp_path, more=scripted_by(model)) as s, browser() as made:
        model.default = lambda _request: Answer(_WIDE)
        page, wrong = await signed_in(made, s, phone=True)
        await page.goto(f"{s.address}/chat/Carina")
        other = await page.context.new_page()
        await other.goto(f"{s.address}/chat/Carina")
        await page.fill("textarea", "when is the tide?")
        await page.keyboard.press("Enter")
        for each in (page, other):
            await each.wait_for_selector(".say:not(.mine) footer a:text('Why?')")
            assert await each.locator(".say").count() == 2
            assert await each.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
        model.default = lambda _request: Hang()
        await page.fill("textarea", "and tomorrow?")
        await page.keyboard.press("Enter")
        await model.wait_for(2)
        await page.click("[data-stop]")
        await page.wait_for_selector(".bubble:text('Stopped: the message was withdrawn.')")
        assert [each["id"] for each in (await Axe().run(page)).response["violations"]] == []
        assert wrong == []


async def test_scripts_of_others_never_run(tmp_path: Path) -> None:
    async with site(tmp_path) as s, browser() as made:
        page, wrong = await signed_in(made, s)
        evil = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
        said = await s.app.web.talk.conversation("dashboard", "Carina")
        async for _each in s.app.web.talk.follow(said.place.id, await s.app.web.talk.say(said, evil)):
            pass
        await s.call("archival.add", text=evil)
        for path in ("/chat/Carina", "/memory?show=entries", "/search?text=owned", "/messages"):
            await page.goto(f"{s.address}{path}")
            assert "owned" not in await page.title()
        assert wrong == []
