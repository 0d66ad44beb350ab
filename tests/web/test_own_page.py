"""A person's own page: all that is theirs, and nothing of anybody else, whatever they ask for."""

import re
from pathlib import Path
from typing import Any

import pytest

from bot.errors import UserError
from bot.interfaces.web.application import PAGES, PROGRAMS
from bot.interfaces.web.request_checks import OWN_PAGE
from tests.personal_copies import data_in
from tests.web.site import TOML, Site, client, site

ALICE, BOB = "discord:5", "discord:6"
PUBLIC = TOML.replace("[web.server]", '[web.server]\npublic_url = "https://carina.example"')


async def settled(s: Site, person: str, mark: str) -> dict[str, str]:
    """Have something of each kind kept of somebody; the ids by which forms name it."""
    fact = await s.call_as(person, "facts.add", fact=f"I like {mark} tea")
    entry = await s.call_as(person, "archival.add", text=f"The key lies under {mark} stones")
    reminder = await s.call_as(person, "remind.me", text=f"Water {mark} plants", when="tomorrow at 9")
    task = await s.call_as(person, "tasks.add", title=f"Paint {mark} walls")
    added = await s.call_as(person, "events.add", title=f"Meet {mark} friends", when="tomorrow at 18:00")
    found = {"fact": fact, "entry": entry, "reminder": reminder, "task": task, "event": added}
    return {name: str(each["id"]) for name, each in found.items()}


async def everything(s: Site, person: str) -> Any:
    kept = await s.call_as(person, "privacy.export")
    return {name: kept[name] for name in ("constellations", "choice")}


async def test_it_shows_what_is_theirs_and_nothing_else(s: Site) -> None:
    for person, mark in ((ALICE, "alicewort"), (BOB, "bobwort")):
        await settled(s, person, mark)
    await s.call("facts.add", fact="I like ownerwort tea")
    await s.call("archival.add", text="The safe is behind ownerwort")
    for person, mark in ((ALICE, "alicewort"), (BOB, "bobwort")):
        await s.call_as(person, "remind.me", "guild:discord:1", text=f"Call {mark} hall", when="tomorrow at 9")
    await s.call_as(BOB, "archival.add", "public", text="The park opens at bobwort")
    alice = await s.sign_in_as(ALICE)
    page = (await alice.get("/me")).text
    for words in ("Call", "I like", "under", "Water", "Paint", "Meet"):
        assert f"{words} alicewort" in page
    exported = await alice.post("/me/export", person=BOB)
    assert exported.headers["content-disposition"].startswith("attachment")
    data = data_in(exported.content)
    assert "alicewort" in data
    for text in (page, data):
        assert "bobwort" not in text
        assert "ownerwort" not in text


async def test_nothing_else_is_there_for_them(tmp_path: Path) -> None:
    async with site(tmp_path) as s:
        alice = await s.sign_in_as(ALICE)
        paths = {path for path, _ in PAGES} | {path for _, path, _ in PROGRAMS if not path.startswith("/hooks")}
        paths |= {"/metrics", "/me/", "/ME", "/me/export/", "/me/../people", "/people?person=discord:6", "/live"}
        for path in sorted(paths - {*OWN_PAGE, "/"}):
            there = path.replace("{name:path}", "Carina").replace("{name}", "privacy.see").replace("{row}", "1")
            for answer in (await alice.get(there), await alice.post(there, person=BOB)):
                assert answer.status_code in (403, 404), f"{there}: {answer.status_code}"
        assert (await alice.get("/")).headers["location"] == "/me"
        assert (await alice.get("/me/export")).status_code == 405
        assert (await s.get("/me")).headers["location"] == "/login"


BANNER = re.compile(r'class="banner bad".*?</', re.DOTALL)


async def test_ids_of_others_change_nothing_of_theirs(s: Site) -> None:
    await settled(s, ALICE, "alicewort")
    ids = await settled(s, BOB, "bobwort")
    before = await everything(s, BOB)
    alice = await s.sign_in_as(ALICE)
    for operation, name in (
        ("facts.forget", "fact"), ("facts.correct", "fact"), ("archival.delete", "entry"),
        ("remind.cancel", "reminder"), ("remind.done", "reminder"), ("tasks.cancel", "task"),
        ("events.cancel", "event"), ("dream.refuse", "entry"),
    ):  # fmt: skip
        given = {name: ids[name], "text": "Mine now", "person": BOB, "agent": "Carina"}
        answer = await alice.post("/me", op=operation, **given)
        assert "bobwort" not in answer.text
        said = BANNER.search(answer.text)
        assert said is not None
        unknown = await alice.post("/me", op=operation, **{**given, name: "123456"})
        nothing = BANNER.search(unknown.text)
        assert nothing is not None
        # what is somebody else's is answered as what is not there
        assert said[0].replace(ids[name], "123456") == nothing[0], operation
    for operation in ("privacy.pause", "privacy.optout", "privacy.resume"):
        assert (await alice.post("/me", op=operation, person=BOB)).status_code == 200
    for operation in ("halt.now", "memory.edit", "why.forget", "people.allow", "token.create", "nothing", ""):
        answer = await alice.post("/me", op=operation, who=ALICE, name="x", label="persona", text="x")
        assert answer.status_code == 400, operation
    assert s.app.services.halt.since == ""
    assert await everything(s, BOB) == before


async def test_they_change_and_erase_what_is_theirs(s: Site) -> None:
    ids = await settled(s, ALICE, "alicewort")
    await settled(s, BOB, "bobwort")
    alice = await s.sign_in_as(ALICE)
    assert (await alice.browser.post("/me", data={"op": "privacy.optout"})).status_code == 403
    corrected = (await alice.post("/me", op="facts.correct", fact=ids["fact"], text="I like mint")).text
    assert "Corrected: I like mint</" in corrected, "without a number, which nobody types in a browser"
    assert "Canceled" in (await alice.post("/me", op="remind.cancel", reminder=ids["reminder"])).text
    assert "Water alicewort" not in (await alice.get("/me")).text
    assert "Opted out" in (await alice.post("/me", op="privacy.optout")).text
    asked = (await alice.post("/me", op="privacy.erase")).text
    assert "This cannot be undone." in asked
    question = await alice.post("/me", op="privacy.erase", sure="yes")
    assert "alicewort" not in question.text
    assert (await alice.get("/me")).headers["location"] == "/login"
    assert not any((await s.call("privacy.see", person=ALICE))["stores"]["home"].values())
    assert "bobwort" in str(await everything(s, BOB))


async def test_a_link_is_made_for_who_is_meant(tmp_path: Path) -> None:
    async with site(tmp_path) as s:
        for wrong in ("somebody", "terminal:owner", "discord:", "x:y"):
            with pytest.raises(UserError):
                await s.call("dashboard.open", person=wrong)
        with pytest.raises(UserError, match="Nobody called “somebody” has talked to me"):
            await s.call("dashboard.open", person="somebody")
        with pytest.raises(UserError, match="privacy see"):
            await s.call_as(ALICE, "privacy.page")
        for _ in range(12):  # more than are kept of anybody: the owner's stays
            last = await s.call("dashboard.open", person=ALICE)
        assert last["person"] == ALICE
        await s.sign_in()
        assert (await s.get("/people")).status_code == 200


async def test_only_a_link_that_nobody_but_the_owner_has_opens_without_a_click(s: Site) -> None:
    owners = (await s.call("dashboard.open"))["url"]
    assert "data-at-once" in (await s.get(owners)).text
    alice = await s.sign_in_as(ALICE)
    assert "data-at-once" not in (await alice.get(owners)).text
    async with client(s.address) as nobody:
        assert "data-at-once" in (await nobody.get(owners)).text
        assert "data-at-once" not in (await nobody.get((await s.call("dashboard.open", person=ALICE))["url"])).text


async def test_a_link_for_somebody_else_asks_before_it_ends_the_owner_session(s: Site) -> None:
    link, before = (await s.call("dashboard.open", person=ALICE))["url"], dict(s.browser.cookies)
    shown = (await s.get(link)).text
    assert f"Continue to {ALICE}'s page?" in shown
    assert "you are signed in as the owner" in shown
    code = {"code": link.partition("=")[2]}
    # A browser that comes from another site shows who is signed in with the form alone: it is asked then.
    assert "you are signed in as the owner" in (await s.browser.post("/login", data={**code, "ends": ""})).text
    assert dict(s.browser.cookies) == before
    assert (await s.get("/people")).status_code == 200
    await s.open(link)
    assert (await s.get("/people")).status_code == 404
    assert (await s.get("/me")).status_code == 200
    assert [each["person"] for each in await s.call("dashboard.sessions")] == [ALICE], "none is left behind"


async def test_a_command_on_discord_gives_a_link_where_everybody_reaches_it(tmp_path: Path) -> None:
    async with site(tmp_path, PUBLIC) as s:
        link = (await s.call_as(ALICE, "privacy.page"))["url"]
        assert link.startswith("https://carina.example/login?code=")
