"""Every page, empty and with what people wrote: nothing of it is more than text."""

import functools
import html
import io
import json
import logging
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote
from zoneinfo import ZoneInfo

import pytest

from bot.errors import UserError
from bot.interfaces.web import memory_pages, message_pages, pages, recent_logs
from bot.interfaces.web.memory_pages import side_by_side
from bot.interfaces.web.render import badge, excerpt, markdown, money, number
from bot.logs import setup_logs
from bot.redactor import Redactor
from bot.services.caller import Via, is_offered, owner_at_terminal
from bot.services.system.demo import CONFIGURATION, write_demo
from memory import agent_groups, jobs, spending
from memory.agenda import reminders
from memory.people.audience import PUBLIC, Audience, Trust
from memory.queue import inbox
from memory.queue.notifications import Kind, Notification, Place, Speaker
from memory.store.clock import utc_now
from memory.store.database import Tx
from memory.store.faults import commit_point
from memory.store.ids import AgentId, PersonId, PlaceId, ReminderId
from sources.names import source_name
from sources.terminal import PERSON
from tests.bot.stage import until
from tests.web.site import TOML, Site, site
from tests.wire.model import Answer, Call, Calls, ModelServer
from texts import speaking

_ARRIVE = commit_point("test.web_arrive")
PAGES = (
    "/", "/chat", "/chat/Carina", "/approvals", "/search", "/search?text=a&limit=5", "/memory", "/memory?show=entries",
    "/memory?show=facts", "/memory?show=journal", "/memory?show=tools", "/memory/block?label=persona", "/graph",
    "/graph?about=tea",
    "/nights",
    "/context", "/messages", "/messages?show=dead", "/messages?show=undelivered", "/schedule", "/costs", "/agents",
    "/agents/Carina", "/groups/Main", "/people", "/logs", "/settings", "/commands",
)  # fmt: skip
EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'><b>bold</b> [x](javascript:alert(1)) \u202eevil"


def scripted_by(model: ModelServer) -> dict[str, str]:
    """The environment in which agents ask that server."""
    return {**model.environment(), "CARINA_MODEL": "openai:scripted"}


async def said(s: Site, text: str, to: str = "Carina") -> str:
    """Say something in the browser, and wait for the answer; what the page shows then."""
    posted = await s.browser.post(f"/chat/{to}", data={"csrf": s.csrf, "text": text}, headers={"HX-Request": "true"})
    assert posted.status_code == 200, posted.text
    answer = await s.get(f"/chat/{to}/answer?id={posted.headers['x-asked']}")
    assert "event: answer" in answer.text
    return (await s.get(f"/chat/{to}")).text


@pytest.fixture
async def demo(tmp_path: Path) -> AsyncIterator[Site]:
    """The site with the made-up month, at noon."""
    async with site(tmp_path, CONFIGURATION) as made:
        await made.sign_in()
        await made.app.services.database.write(_ARRIVE, lambda tx: write_demo(tx, utc_now().replace(hour=12)))
        yield made


async def test_every_command_has_a_form(s: Site) -> None:
    offered = [each.name for each in s.app.services.registry.operations.values() if each.offered]
    await s.call("tasks.add", title="buy tea")
    shown = 0
    for name in offered:
        if name in ("doctor",):
            continue
        answer = await s.get(f"/commands/{name}")
        assert answer.status_code in (200, 404), f"{name}: {answer.text[-300:]}"
        assert ">()<" not in answer.text, name
        shown += answer.status_code == 200
    assert shown > 100


def test_what_is_put_together_outside_templates_is_only_text() -> None:
    rows = [*side_by_side(EVIL, EVIL), *side_by_side(EVIL, ""), *side_by_side(EVIL, f"{EVIL} too")]
    made = [
        markdown(EVIL),
        badge(EVIL),
        excerpt(EVIL, ["script", "img", "b"]),
        *(cell for row in rows for cell in (row.before, row.after) if cell is not None),
    ]
    assert len(made) == 8
    for each in made:
        assert "<script>" not in each
        assert "<img" not in each
        assert 'href="javascript:' not in each
    assert all("\u202e" not in each for each in made[:3]), "the others pass a template"


def test_what_was_found_is_marked() -> None:
    assert excerpt("Trains (and a <train>), constrain", ["train"]) == (
        "<mark>Trains</mark> (and a &lt;<mark>train</mark>&gt;), constrain"
    )
    assert excerpt("明日は電車に乗る", ["電車"]) == "明日は<mark>電車</mark>に乗る"
    assert excerpt("a.b", []) == "a.b"
    long = excerpt(f"{'x ' * 1_000}boots{' y' * 1_000}", ["boots"])
    assert re.fullmatch("…[x ]+<mark>boots</mark>[y ]+…", long)


HOSTILE = "<script>alert(1)</script><b>bold</b>\u202e\u200bevil"


async def test_what_people_wrote_and_hostile_names_are_only_text(tmp_path: Path) -> None:
    shared, named = tmp_path / "shared", HOSTILE.replace("</", "<")
    agent_name = HOSTILE.replace("\u202e\u200b", "")  # names of agents and groups have no marks that are not seen
    shared.mkdir()
    (shared / f"{named}.md").write_text("The dentist is on Elm Street", "utf-8")
    toml = f"[[agents]]\nname = {json.dumps(agent_name)}\ndescription = {json.dumps(EVIL)}\n"
    toml += f"[[groups]]\nname = {json.dumps('g' + agent_name)}\nmembers = [{json.dumps(agent_name)}]\ndefault = true\n"
    async with site(tmp_path, TOML.replace('group = "Main"', f"group = {json.dumps('g' + agent_name)}") + toml) as s:
        await s.sign_in()
        now = utc_now()
        place = Place(PlaceId("discord:7"), "guild", Audience("guild:7"), HOSTILE, (PUBLIC,))
        group = (await s.app.database.read(agent_groups.groups))[0]

        def arrive(tx: Tx) -> None:
            speaker = Speaker(PersonId("discord:7"), HOSTILE, trust=Trust.APPROVED)
            inbox.accept(tx, Notification("discord", "7", Kind.MESSAGE, place, speaker, now, EVIL), group.id, now)

        await s.app.database.write(_ARRIVE, arrive)
        await s.call("folder.create", name="papers", path=str(shared), description=EVIL)
        await s.call("folder.attach", name="papers", agent=agent_name)
        await s.call("token.create", name="shell", scope="chat")
        await s.call("archival.add", text=EVIL)
        await s.call("memory.create", label="notes", description=EVIL)
        await s.call("memory.edit", label="notes", text=EVIL)
        await s.call("facts.add", fact=f"I like {EVIL}")
        await s.call("remind.me", text=EVIL, when="tomorrow at 9")
        await s.call("tasks.add", title=EVIL[:80])
        await s.call("events.add", title=EVIL, when="tomorrow at 9")
        await s.call("coord.note", note=EVIL)
        row = (await s.call("inbox.list"))[0]["id"]
        agent, seen = quote(agent_name), 0
        await said(s, EVIL, agent)
        here = [path.replace("Carina", agent).replace("/groups/Main", f"/groups/g{agent}") for path in PAGES]
        here += [
            f"/messages/{row}",
            f"/messages/{(await s.call('inbox.list'))[0]['id']}",
            f"/context?place=discord:7&agent={agent}",
            "/people?person=discord:7",
        ]
        for path in (*here, "/search?text=dentist", "/search?text=bold", "/memory/block?label=notes"):
            answer = await s.get(path)
            assert answer.status_code == 200, f"{path}: {answer.text[-300:]}"
            for mark in ("<script>alert", "<img src=x", "<b>bold", 'href="javascript:', "\u202e", "\u200b"):
                assert mark not in answer.text, f"{mark} in {path}"
            seen += "&lt;script&gt;alert(1)" in answer.text
        assert seen > 20


async def test_a_message_of_a_hundred_thousand_characters_is_refused_or_shown(s: Site) -> None:
    refused = await s.post("/chat/Carina", text="x" * 100_000)
    assert "must have 1 to 32,000 characters; this one has 100,000" in refused.text
    program = await s.program("chat")
    body = {"model": "Carina", "messages": [{"role": "user", "content": "x" * 100_000}]}
    assert (await program.post("/v1/chat/completions", json=body)).status_code == 400
    assert await s.call("inbox.list") == []
    to, now = await s.app.web.talk.conversation("dashboard", "Carina"), utc_now()
    place = Place(to.place.id, to.place.kind, to.place.audience, to.place.name, to.place.within)

    def arrive(tx: Tx) -> None:
        said = Notification("api", "7", Kind.MESSAGE, place, Speaker(PERSON, "owner"), now, "word " * 20_000)
        inbox.accept(tx, said, None, now)

    await s.app.database.write(_ARRIVE, arrive)
    row = (await s.call("inbox.list"))[0]["id"]
    for path in ("/chat/Carina", f"/messages/{row}", "/search?text=word", "/messages"):
        answer = await s.get(path)
        assert answer.status_code == 200
        assert len(answer.content) < 150_000


async def test_costs_are_told_by_purpose_and_with_what_was_cached(demo: Site) -> None:
    found = {each["purpose"]: each for each in await demo.call("cost", by="purpose")}
    assert set(found) == {"answers", "own work", "upkeep"}
    assert sum(each["calls"] for each in found.values()) == sum(
        each["calls"] for each in await demo.call("cost", by="agent")
    )
    assert 0 < found["answers"]["cached_tokens"] < found["answers"]["input_tokens"]
    page = (await demo.get("/costs")).text
    assert re.search(r"tokens in, [1-9]\d% cached", page)
    assert "memory upkeep" in page
    assert page.partition('<div class="grid two">')[2].count("<section") == 4, "two columns of two"
    amounts = re.findall(r"\$(\d+\.\d+)", (await demo.get("/commands/cost")).text)
    assert any(float(each) >= 0.1 for each in amounts)
    assert all(len(each.partition(".")[2]) == (4 if 0 < float(each) < 0.1 else 2) for each in amounts), amounts


async def test_a_command_after_a_slash_is_done_in_the_chat(s: Site) -> None:
    for text, shown in (
        ("/tasks add pay rent", "Added: pay rent"),
        ("/TASKS", "- pay rent"),
        ("/tasks done rent", "Done: pay rent"),
        ("/tasks done gym", "There is no task “gym” here."),
        ("/events add dinner on Friday", "When is missing.\nWhen: When it starts"),
        ("/events add dinner on Friday", 'href="/commands/events.add?title=dinner+on+Friday"'),
        ("/remind me", 'href="/commands/remind.me"'),
        ("/remind me call mom in 20 minutes", "tell you at the terminal, in"),
        ("/status now", "This command does not take “now”."),
        ("/tasks add pay --due Friday", "Options do not work in this chat."),
        ("/privacy erase", 'href="/commands/privacy.erase"'),
        ("/taks", "There is no /taks in this chat. Did you mean /tasks?"),
        ("/budget", "/budget list: List budgets and what is left"),
        ("/agent show Nobody", "There is no agent “Nobody”."),
        ("/facts confirm tea", "There is no fact “tea” here."),
        ("/agent export Carina", "[[agents]]"),
        ("/help", "a slash, such as /tasks"),
    ):
        form = {"csrf": s.csrf, "text": text}
        assert shown in (await s.browser.post("/chat/Carina", data=form, headers={"HX-Request": "true"})).text, text
    assert "No open tasks" not in (await s.post("/chat/Carina", text="/tasks")).text
    assert await s.call("inbox.list") == [], "nothing was said to the agent"
    await said(s, " /tasks")
    assert len(await s.call("inbox.list")) == 1


async def test_a_field_of_a_form_that_is_emptied_is_removed(s: Site) -> None:
    task = (await s.call("tasks.add", title="pay rent", due="Friday"))["id"]
    changed = await s.post(f"/commands/tasks.change?task={task}&due=2030-01-01&notes=", task=task, due="", notes="")
    assert "Changed: pay rent" in changed.text
    assert (await s.call("tasks.list"))[0]["due"] is None
    chosen = await s.post(f"/commands/tasks.change?task={task}&priority=medium", task=task, title="pay", priority="")
    assert "Changed: pay" in chosen.text, "a choice cannot be emptied"


async def test_a_command_that_is_sent_again_because_no_answer_came_is_done_once(s: Site) -> None:
    form = {"csrf": s.csrf, "text": "/tasks add pay rent", "id": "0" * 32}
    for _again in range(2):
        answer = await s.browser.post("/chat/Carina", data=form, headers={"HX-Request": "true"})
        assert "Added: pay rent" in answer.text
    assert len(await s.call("tasks.list")) == 1


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Pago_Pago"])  # whose dates are never the same
async def test_costs_are_of_days_of_the_reader(s: Site, zone: str) -> None:
    await s.call("quiet", zone=zone)
    spent, today = spending.ModelCost("m", 1, 1, 0, 0, 2.5), datetime.now(ZoneInfo(zone)).date().isoformat()
    used = functools.partial(spending.record_upkeep, agent=AgentId("x"), guild=None, spent=spent, now=utc_now())
    await s.app.database.write(_ARRIVE, used)
    assert [each["day"] for each in await s.call("cost", by="day", days=1)] == [today]
    page = (await s.get("/costs?days=1")).text
    assert f'{{"labels": ["{today}"], "series": [{{"label": "Cost ($)", "scale": "$", "values": [2.5]' in page


async def test_connections_name_their_entry_by_a_short_number(demo: Site) -> None:
    shown = html.unescape((await demo.get("/commands/graph")).text).partition("<pre>")[2].partition("</pre>")[0]
    assert re.search(r"^Robin travels to Lisbon #\w{6}$", shown, re.MULTILINE)
    assert "ent_" not in shown


async def test_logs_are_filtered_by_turn_and_component(s: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent_logs.recent, "formatter", None)
    for name, turn, words in (("bot.agents", 71, "first words"), ("bot.runtime", 72, "second words")):
        given = {"msg": words, "fields": {"turn": turn}}  # whatever level the log has
        recent_logs.recent.emit(logging.makeLogRecord({"name": name, "levelname": "WARNING", **given}))
    for query, seen, hidden in (
        ("turn=71", "first words", "second words"),
        ("component=bot.runtime", "second words", "first words"),
        ("turn=71&component=bot.runtime", "No matching lines", "first words"),
    ):
        page = (await s.get(f"/logs?{query}")).text
        assert seen in page
        assert hidden not in page
    assert "<option selected>bot.runtime</option>" in (await s.get("/logs?component=bot.runtime")).text


async def test_logs_of_a_service_at_a_terminal_have_no_colors(s: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(root, "level", root.level)
    monkeypatch.setattr(recent_logs.recent, "formatter", None)
    setup_logs(Redactor(), stream=terminal)
    recent_logs.attach()
    root.warning("colored words")
    assert "\x1b[" in terminal.getvalue()
    page = (await s.get("/logs?text=colored+words")).text
    assert "colored words" in page
    assert "\x1b" not in page
    assert "[33m" not in page


async def test_channel_modes_and_sources_are_changed_in_the_settings(s: Site) -> None:
    now = utc_now()
    for name, audience, within in ((7, "guild:discord:5", ()), (8, "channel:discord:8", ("guild:discord:5",))):
        there, around = PlaceId(f"discord:{name}"), tuple(map(Audience, within))
        place = Place(there, "guild", Audience(audience), f"#{name}", around)
        said = Notification("discord", there, Kind.MESSAGE, place, Speaker(PersonId("discord:7"), "Ann"), now, "hi")
        await s.app.database.write(_ARRIVE, functools.partial(_accept, said))
    assert "Set" in (await s.post("/settings", op="mode.set", place="discord:5", mode="listen")).text
    assert "Done." in (await s.post("/settings", op="mode.set", place="discord:7", mode="off")).text
    modes = {each["place"]: (each["mode"], each["at"]) for each in await s.call("mode.list")}
    off, listen = ("off", "discord:7"), ("listen", "discord:5")
    assert modes == {"discord:7": off, "discord:8": listen, "discord:5": listen}
    await s.call("source.add", name="alarm", webhook=True, template="{source}: {items}")
    page = (await s.get("/settings")).text
    await s.call("source.remove", source="alarm")
    assert "same as its server" in page
    assert ">discord:7<" not in page + (await s.get("/people")).text, "names are shown, and ids on demand"
    assert '<option value="off" selected>' in page
    await s.post("/settings", op="mode.set", place="discord:7", mode="configured")
    assert {each["mode"] for each in await s.call("mode.list")} == {"listen"}
    assert "heard anything in" in (await s.post("/settings", op="mode.set", place="discord:99", mode="off")).text
    assert "be paused, so that" in (await s.post("/settings", op="source.pause", source="terminal")).text
    assert 'name="source" value="alarm"' in page
    assert 'name="source" value="terminal"' not in page, "nobody is offered what is refused"


def _accept(said: Notification, tx: Tx) -> None:
    inbox.accept(tx, said, None, said.at)


async def test_a_link_puts_no_words_on_a_page(s: Site) -> None:
    for path in ("/", "/search", "/people"):
        assert "Your session ended" not in (await s.get(f"{path}?told=Your+session+ended")).text
    assert '<option value="archival_memory">Stored entries</option>' in (await s.get("/search")).text
    assert "Only this agent&#39;s memory" in (await s.get("/commands/search")).text


def test_numbers_are_short_as_the_reader_writes_them() -> None:
    for language, shown in (
        ("en", ["999", "9,999", "40K", "41.5K", "1M", "1.2B", "666K"]),
        ("de", ["999", "9.999", "40.000", "41.500", "1\u00a0Mio.", "1,2\u00a0Mrd.", "665.950"]),
        ("ja", ["999", "9,999", "4万", "4.2万", "100万", "12.5億", "66.6万"]),
    ):
        with speaking(language):
            assert [number(each) for each in (999, 9_999, 40_000, 41_500, 999_960, 1.25e9, 665_950)] == shown


def test_money_and_sources_are_written_as_the_reader_writes_them() -> None:
    for language, shown in (("en", ["$0.15", "$0.0015"]), ("de", ["0,15 $", "0,0015 $"])):
        with speaking(language):
            assert [money(0.15), money(0.0015)] == shown
            assert [source_name(each) for each in ("api", "discord", "news")] == ["API", "Discord", "news"]


async def test_a_chat_is_searched_and_its_messages_have_links(s: Site) -> None:
    for text in ("the dentist is on Elm Street", "100% of it"):
        await said(s, text)
    found = (await s.get("/chat/Carina?text=elm")).text
    assert "the dentist is on Elm Street" in found
    assert "100% of it" not in found
    assert "the dentist" not in (await s.get("/chat/Carina?text=0%25 of")).text, "a sign of its own, no pattern"
    assert "No message in this chat contains these words." in (await s.get("/chat/Carina?text=bakery")).text
    assert (await s.get(f"/chat/Carina?text={'x' * 51_000}")).status_code == 200
    link = re.search(r'href="(/chat/Carina\?at=(\d+)#m\d+)"', found)
    assert link is not None
    around = (await s.get(link[1])).text
    assert f'id="m{link[2]}"' in around
    assert "100% of it" in around
    found = (await s.get("/search?text=elm")).text
    rows = set(re.findall(r'href="(/messages/\d+)"', found))
    assert rows, "what was said and its answer lead to the page of the message"
    for row in rows:
        assert "dentist is on Elm Street" in (await s.get(row)).text


async def test_older_messages_are_a_page_further_on(s: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_pages, "_MOST", 2)
    for text in ("the first", "the second", "the third"):
        await said(s, text)
    page = (await s.get("/messages")).text
    assert "the third" in page
    assert "the first" not in page
    older = re.search(r'href="(/messages\?before=\d+)"', page)
    assert older is not None
    page = (await s.get(older[1])).text
    assert "the first" in page
    assert "the second" not in page
    assert "?before=" not in page, "there are no more"


async def test_a_message_that_failed_is_discarded_on_its_page(s: Site) -> None:
    await said(s, "never mind")
    sql = "UPDATE inbox SET status = 'dead'"
    await s.app.services.database.write(_ARRIVE, lambda tx: tx.run(sql))
    page = (await s.get("/messages?show=dead")).text
    form = dict(re.findall(r'name="(op|row)" value="(.*?)"', page[: page.index("Discard")].rpartition("<form")[2]))
    assert form["op"] == "inbox.drop"
    assert "banner good" in (await s.post("/messages?show=dead", **form)).text
    assert "never mind" not in (await s.get("/messages?show=dead")).text
    assert "Nothing needs your attention" in (await s.get("/")).text
    shown = (await s.get(f"/messages/{form['row']}")).text
    assert "never mind" in shown
    assert "discarded" in shown


async def test_the_picture_of_the_week_has_a_scale_for_its_costs(demo: Site) -> None:
    found = re.search(r'<script type="application/json" id="week">(.*?)</script>', (await demo.get("/")).text)
    assert found is not None
    (costs,) = (each["values"] for each in json.loads(found[1])["series"] if each.get("scale") == "$")
    assert sum(costs) == pytest.approx(sum(each["cost_usd"] for each in await demo.call("inbox.days")))
    assert sum(costs) > 0


async def test_what_cannot_be_undone_has_a_red_button(s: Site) -> None:
    for operation, kind in (("privacy.erase", "danger"), ("memory.delete", "danger"), ("facts.add", "primary")):
        assert f'<button class="{kind}">Run</button>' in (await s.get(f"/commands/{operation}")).text


async def test_the_overview_says_how_a_model_is_configured_and_checks_the_installation(s: Site) -> None:
    assert is_offered(Via.WEB, s.app.services.registry.operations["doctor"].via)
    assert 'action="/commands/doctor"' in (await s.get("/")).text
    assert "CARINA_MODEL=openai:gpt-5-mini\nOPENAI_API_KEY=" in (await s.get("/")).text


async def test_all_say_that_no_agent_answers_and_what_changes_that(s: Site) -> None:
    assert "Nothing needs your attention" in (await s.get("/")).text
    assert (await s.call("status"))["silent"] == ""
    await s.call("agent.archive", agent="Carina")
    page = (await s.get("/")).text
    assert "Nothing needs your attention" not in page
    assert "No agent is answering. `carina agent restore Carina` changes that." in page
    assert (await s.call("status"))["silent"] == "`carina agent restore Carina`"
    await s.call("halt.now")
    assert "no agent is answering. `carina agent restore Carina`" in str(await s.call("halt.release"))
    await s.call("agent.restore", agent="Carina")
    await s.call("agent.hibernate", agent="Carina")
    assert (await s.call("status"))["silent"] == "`carina agent wake Carina`"
    await s.call("agent.wake", agent="Carina")
    await s.call("halt.now")
    assert "in order" in str(await s.call("halt.release"))


async def test_what_was_written_to_one_of_two_agents_is_shown_as_it_was_written(tmp_path: Path) -> None:
    toml = TOML + '[[agents]]\nname = "Carina"\n[[agents]]\nname = "Other"\n'
    toml += '[[groups]]\nname = "Main"\nmembers = ["Carina", "Other"]\ndefault = true\n'
    async with site(tmp_path, toml) as s:
        await s.sign_in()
        page = await said(s, "no, at 11")
    assert '<div class="bubble">no, at 11</div>' in page


async def test_an_answer_is_written_and_explained(s: Site) -> None:
    await said(s, "remember that my dentist is on Elm Street")
    page = await said(s, "where is my dentist?")
    assert page.count("Elm Street") >= 2
    why = page.rpartition('<a href="')[2].partition('"')[0].replace("&amp;", "&")
    assert "/why?message=" in why
    explained = await s.get(why)
    assert "Why this answer?" in explained.text
    assert "Elm Street" in explained.text
    assert "Tools used: " in explained.text
    assert "Only in direct messages" not in explained.text, "only the owner hears of it already"


async def test_what_an_agent_would_be_shown_is_previewed_where_the_owner_may_look(s: Site) -> None:
    await said(s, "remember that my dentist is on Elm Street")
    await said(s, "where is my dentist?")
    place = (await s.call("inbox.list"))[0]["place"]
    page = (await s.get("/context", params={"place": place})).text
    for words in ("would see", "where is my dentist?", "Memory blocks", "your answer is heard by"):
        assert words in page
    found = await s.call("context", place=place)
    assert "Elm Street" in found["text"]
    assert '"operation": "insert"' in found["text"], "what it wrote in calls is before its eyes"
    assert min(each["tokens"] for each in found["sections"]) >= 0
    await s.call("archival.add", text="The dentist closes at five")
    await s.call("facts.add", fact="I am afraid of drills")
    found = await s.call("context", place=place)
    assert min(each["tokens"] for each in found["reasons"]) > 0
    why = {each["memory"]: each["why"] for each in found["reasons"]}
    assert why["persona"] == "always shown"
    assert why["The dentist closes at five"] == "found: contains dentist"
    assert why["I am afraid of drills"] == "one of the facts mentioned most often"
    for language, told in (("en", "found: contains dentist"), ("de", "enthält dentist")):
        spoken = {"Accept-Language": language}
        assert told in (await s.get("/context", params={"place": place}, headers=spoken)).text
    nobody = await s.get("/context", params={"place": place, "person": "discord:7"})
    assert "Nobody has said anything there" in nobody.text
    tried = await s.post("/context", place=place, agent="Carina", block="persona", text="A pelican speaks. " * 99)
    assert "A pelican speaks." in tried.text
    totals = re.search(r"about ([\d,]+) tokens, not counting tools \(([\d,]+) before the change\)", tried.text)
    assert totals is not None
    assert int(totals[1].replace(",", "")) > int(totals[2].replace(",", "")) + 300
    assert "pelican" not in (await s.call("memory.show", label="persona"))["text"], "it is not saved"
    await s.call("memory.create", label="attic", description="old things", type="archival")
    unseen = await s.post("/context", place=place, agent="Carina", block="attic", text="A pelican speaks.")
    assert "Carina would not see the block “attic” there." in unseen.text
    with pytest.raises(UserError, match="Name the block"):
        await s.call("context", place=place, text="A pelican speaks.")
    token = (await s.call("token.create", name="app"))["token"]
    body = {"model": "Carina", "user": "ann", "messages": [{"role": "user", "content": "my secret is a plum"}]}
    await s.browser.post("/v1/chat/completions", json=body, headers={"Authorization": f"Bearer {token}"})
    private = (await s.call("inbox.list"))[0]["place"]
    assert private.startswith("api:app/ann/")
    refused = (await s.get("/context", params={"place": private})).text
    assert "Nobody has said anything there" in refused
    assert "plum" not in refused


async def test_what_an_answer_used_is_corrected_as_it_was_seen(s: Site) -> None:
    await s.call("archival.add", text="The dentist is on Elm Street, by the bridge")
    page = await said(s, "where is the dentist?")
    why = page.rpartition('<a href="')[2].partition('"')[0].replace("&amp;", "&")
    form = re.search(
        r'value="why.correct">.*?name="id" value="(.*?)".*?name="seen" value="(.*?)"', (await s.get(why)).text
    )
    assert form is not None
    for text, told in (("It is on Oak Street", "Corrected."), ("It is on Main Street", "It was changed after")):
        assert told in (await s.post(why, op="why.correct", id=form[1], seen=form[2], text=text)).text
    assert [each["text"] for each in await s.call("archival.list")] == ["It is on Oak Street"]


async def test_a_message_is_followed_through_its_stages(s: Site) -> None:
    await said(s, "hello")
    row = (await s.call("inbox.list"))[0]["id"]
    trace = await s.call("inbox.show", row=str(row))
    assert trace["stages"][0]["kind"] == "queue"
    assert trace["stages"][-1]["kind"] == "delivery"
    assert trace["text"] == "hello"
    assert "ms in total" in (await s.get(f"/messages/{row}")).text


async def test_a_timeline_shows_thoughts_context_and_each_call_with_its_own_result(tmp_path: Path) -> None:
    async with ModelServer.start() as model, site(tmp_path, more=scripted_by(model)) as s:
        await s.sign_in()
        for text in ("The dentist is on Elm Street", "The bakery is on Oak Street"):
            await s.call("archival.add", text=text)
        calls = [Call("search", {"query": query, "domain": "archival_memory"}) for query in ("dentist", "bakery")]
        thought = "The wish has <b>two parts</b>."
        model.script(Calls(*calls), Answer("Elm and Oak Street.", reasoning=thought))
        await said(s, "where are they?")
        row = (await s.call("inbox.list"))[0]["id"]
        stages = (await s.call("inbox.show", row=str(row)))["stages"]
        tools = [each["detail"] for each in stages if each["kind"] == "tool"]
        words = ("dentist", "Elm Street", "bakery", "Oak Street")
        shown = [[word for word in words if word in each] for each in tools]
        assert shown == [["dentist", "Elm Street"], ["bakery", "Oak Street"]]
        page = (await s.get(f"/messages/{row}")).text
        assert "The wish has &lt;b&gt;two parts&lt;/b&gt;." in page
        models = [each for each in stages if each["kind"] == "model"]
        for each in models:
            assert {"Instructions", "Tools", "The place and the newest message"} <= {
                part["name"] for part in each["context"]
            }
            assert abs(sum(part["tokens"] for part in each["context"]) - each["tokens_in"]) < len(each["context"])
        assert [each["reasoning"] for each in models] == ["", thought]


async def test_a_block_is_edited_compared_and_restored(s: Site) -> None:
    await said(s, "hello")
    here = "/memory/block?label=human"
    before = await s.call("memory.show", label="human")
    for text in ("tea in the morning", "coffee in the morning"):
        seen = str((await s.call("memory.show", label="human"))["version"])
        assert (await s.post(here, op="memory.edit", text=text, seen=seen)).status_code == 200
    part = (await s.get(f"/memory/block/at?label=human&version={before['version'] + 1}")).text
    assert "<del>tea</del>" in part
    assert "<ins>coffee</ins>" in part
    assert "Restore this version" in part
    await s.post(here, op="memory.rollback", label="human", version=str(before["version"] + 1))
    assert (await s.call("memory.show", label="human"))["text"] == "tea in the morning"
    await s.post(here, op="memory.edit", text="tea in the morning\nand cake", seen="0")
    await s.post(here, op="memory.edit", text="tea in the morning\nand cake\nat noon", seen="0")
    page = (await s.get(here)).text
    undo = [dict(re.findall(r'name="(op|label|writer|only)" value="(.*?)"', form)) for form in page.split("<form")]
    one = [fields for fields in undo if "only" in fields]
    assert "banner good" in (await s.post(here, **one[1])).text
    assert (await s.call("memory.show", label="human"))["text"] == "tea in the morning\nat noon"
    assert "None of what the owner changed is left" in html.unescape((await s.post(here, **one[1])).text)
    refused = await s.post(here, **{**one[1], "only": "99"})
    assert "Change 99 is not by the owner" in refused.text


async def test_a_link_to_a_block_leads_there_when_another_of_its_name_comes(s: Site) -> None:
    here = f"/memory/block?label={(await s.call('memory.show', label='persona'))['id']}"
    await said(s, "hello")
    for path in ("/memory", "/context", "/search?text=attentive"):
        assert f'href="{here}"' in (await s.get(path)).text
    await s.call("memory.edit", label="persona", text="I like tea")
    page = (await s.get("/memory/block?label=persona")).text
    await s.call("agent.create", name="Vega", settings=("description=Another",))
    assert "Several blocks are called" in (await s.get("/memory/block?label=persona")).text
    assert "Block Carina/persona" in (await s.get(here)).text
    form = next(each for each in page.split("<form") if 'value="memory.undo"' in each)
    assert f'action="{here}"' in form
    await s.post(here, **dict(re.findall(r'name="(op|label)" value="(.*?)"', form)))
    assert "attentive" in (await s.call("memory.show", label="Carina/persona"))["text"]


async def test_two_people_who_edit_one_block_lose_nothing(s: Site) -> None:
    await said(s, "hello")
    here = "/memory/block?label=human"
    await s.post(here, op="memory.edit", text="one\ntwo\nthree", seen="0")
    seen = str((await s.call("memory.show", label="human"))["version"])
    await s.post(here, op="memory.edit", text="one\ntwo\nthree\nfour", seen=seen)
    page = await s.post(here, op="memory.edit", text="zero\none\ntwo\nthree", seen=seen)
    assert (await s.call("memory.show", label="human"))["text"] == "zero\none\ntwo\nthree\nfour"
    assert "Both changes are kept" in page.text


async def test_a_text_that_is_not_stored_stays_in_the_form(s: Site) -> None:
    await said(s, "hello")
    page = await s.post("/memory/block?label=human", op="memory.edit", text="much " * 2_000, seen="0")
    assert page.text.count("much much") > 100
    assert (await s.call("memory.show", label="human"))["text"] == ""


async def test_an_agent_is_edited_as_a_table_and_what_is_wrong_in_it_stays_in_the_form(s: Site) -> None:
    toml = (await s.call("agent.show", agent="Carina"))["toml"]
    tried = toml.replace("[[agents]]", '[[agents]]\ndescription = "Keeps bees"')
    given = {"op": "agent.import", "replace": "true", "dry_run": "true"}
    page = html.unescape((await s.post("/agents/Carina", **given, file=tried)).text)
    assert 'agent Carina, description: nothing in the database, "Keeps bees" in the file' in page
    assert 'description = "Keeps bees"' in page
    assert (await s.call("agent.list"))[0]["description"] == ""
    for more, told in (("colour = 3", "bad"), ('description = "Keeps the calendar"', "good")):
        changed = toml.replace("[[agents]]", f"[[agents]]\n{more}")
        page = html.unescape((await s.post("/agents/Carina", op="agent.import", replace="true", file=changed)).text)
        assert more in page
        assert f"banner {told}" in page
    assert (await s.call("agent.list"))[0]["description"] == "Keeps the calendar"


@pytest.mark.parametrize(
    ("kind", "name", "one", "other"),
    [
        ("agent", "Carina", 'description = "Keeps bees"', 'description = "Bakes bread"'),
        ("group", "Main", 'keywords = ["bees"]', 'keywords = ["bread"]'),
    ],
)
async def test_settings_that_two_windows_edit(s: Site, kind: str, name: str, one: str, other: str) -> None:
    """The window that saves last reads of the other's change first, and keeps its own text."""
    toml, page = (await s.call(f"{kind}.show", **{kind: name}))["toml"], (await s.get(f"/{kind}s/{name}")).text

    async def saved(more: str, page: str) -> str:
        fields = {"op": f"{kind}.import", "replace": "true", "seen": page.split('name="seen" value="')[1][:12]}
        text = toml.replace("keywords = []\n", "").replace(f"[[{kind}s]]", f"[[{kind}s]]\n{more}")
        return html.unescape((await s.post(f"/{kind}s/{name}", **fields, file=text)).text)

    assert "banner good" in await saved(one, page)
    refused = await saved(other, page)
    assert "Somebody else changed these settings" in refused
    assert other in refused
    assert one in (await s.call(f"{kind}.show", **{kind: name}))["toml"]
    assert "banner good" in await saved(other, refused)
    assert other in (await s.call(f"{kind}.show", **{kind: name}))["toml"]


async def test_entries_are_forgotten_together_and_found_by_category(s: Site) -> None:
    for text, category in (("Tea is green", "food/tea"), ("Rye is dark", "food"), ("The sea is salty", "")):
        await s.call("archival.add", text=text, category=category)
    page = (await s.get("/memory?show=entries")).text
    assert re.findall(r'<li class="step(\d)"><a href="(.*?)">', page) == [
        ("0", "/search?domain=archival_memory&amp;category=food"),
        ("1", "/search?domain=archival_memory&amp;category=food/tea"),
    ]
    found = (await s.get("/search?domain=archival_memory&category=food/tea")).text
    assert "Tea is green" in found
    assert "Rye is dark" not in found
    chosen = [each["id"] for each in await s.call("archival.list") if "sea" not in each["text"]]
    form = {"csrf": s.csrf, "op": "archival.delete", "entry": chosen}
    await s.browser.request("GET", "/memory?show=entries", data=form)
    assert len(await s.call("archival.list")) == len(chosen) + 1, "only a form that is sent changes anything"
    assert (await s.browser.post("/memory?show=entries", data=form)).status_code == 200
    assert [each["text"] for each in await s.call("archival.list")] == ["The sea is salty"]


async def test_more_entries_are_shown_on_request(s: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_pages, "_FEW", 2)
    for lamp in range(5):
        await s.call("archival.add", text=f"Lamp {lamp} is blue")
    path, shown = "/memory?show=entries", list[int]()
    while path:
        page = (await s.get(path)).text
        shown.append(len(set(re.findall(r"Lamp \d is blue", page))))
        path = html.unescape("".join(re.findall(r'href="([^"]*)">Show more', page)))
    assert shown == [2, 4, 5]


async def test_the_night_of_the_demo_is_undone(demo: Site) -> None:
    nights = await demo.app.services.registry.suggest("summary.night", "night", owner_at_terminal(), {})
    [night, *_] = dict(nights)
    page = (await demo.get(f"/nights?night={night}")).text
    assert "Undo this night" in page
    assert "Undo all by" in page
    await said(demo, "hello")
    blocks = {each["block"]: each["description"] for each in await demo.call("memory.list")}
    assert blocks["human"] == "What I know about Robin", "as somebody described it, whatever a new one would have"
    undone = await demo.call("summary.undo-night", night=night)
    assert [each["state"] for each in undone] == ["undone"]


async def test_somebody_who_wrote_is_blocked_without_their_id_being_typed(demo: Site) -> None:
    button = 'name="who" value="discord:2001"><button class="quiet">Block this person'
    assert button in (await demo.get("/people")).text
    page = (await demo.post("/people", op="people.deny", who="discord:2001")).text
    assert button not in page
    assert 'value="people.forget"><input type="hidden" name="who" value="discord:2001">' in page


async def test_words_of_ours_within_rows_are_in_the_language_of_the_reader(demo: Site) -> None:
    answered = next(row["id"] for row in await demo.call("inbox.list") if row["status"] == "done")
    await demo.call("facts.add", fact="I prefer tea to coffee")
    demo.browser.headers["Accept-Language"] = "de"
    for path, words, english in (
        ("/search?text=lisbon", "enthält lisbon", "contains lisbon"),
        ("/search?text=lisbon", "<bdi>Dashboard-Chat mit ", "the dashboard with"),
        ("/memory", ">Kern<", ">core<"),
        ("/memory?show=facts", ">Vorliebe<", "user_preference"),
        (f"/messages/{answered}", "Zustellung über API (gesendet)", "API (sent)"),
        ("/commands/search", ">Bereich", ">Area"),
        ("/messages", ">Dashboard-Chat mit ", "the dashboard with"),
        ("/context", "immer gezeigt", "always shown"),
        ("/agents", ">reihum<", "round robin"),
        ("/groups/Workshop", "> Mitglied<", "> regular<"),
        ("/approvals", "<dt>Wo</dt>", "<dt>Was</dt>"),
    ):
        page = (await demo.get(path)).text
        assert words in page, path
        assert english not in page, path
    assert "Fakt: darf nicht leer sein" in (await demo.post("/commands/facts.forget", fact="")).text


async def test_memory_is_told_in_words_for_people(s: Site) -> None:
    await said(s, "Hello!")
    await s.call("archival.add", text="Robin likes rye", category="user_preference")
    await s.call("archival.add", text="Rye is dark", category="food/rye")
    entries = (await s.get("/memory?show=entries")).text
    assert entries.count("<bdi>Preference</bdi>") == 2, "in the tree and at the entry"
    assert "<bdi>food/rye</bdi>" in entries
    assert "visible only to you" in entries
    for path in ("/memory", "/memory/block?label=persona"):
        page = (await s.get(path)).text
        assert "Who the agent is and how it behaves" in page
        assert "guiding how you behave" not in page
    assert "visible in <bdi>all places</bdi>" in page
    assert "such as logs, is left out" in (await s.get("/memory?show=journal")).text


async def test_a_change_of_a_block_is_taken_back_from_the_journal(demo: Site) -> None:
    page = (await demo.get("/memory?show=journal")).text
    fields = page[page.index('value="memory.revert"') :].split("</form>")[0]
    form = dict(re.findall(r'name="(label|writer|since)" value="(.*?)"', fields))
    before = (await demo.call("memory.show", label=form["label"]))["text"]
    history = (await demo.call("memory.history", label=form["label"]))["changes"]
    assert form["since"] == history[0]["at"].partition(".")[0], "what came before it stays"
    assert "banner good" in (await demo.post("/memory?show=journal", op="memory.revert", **form)).text
    assert (await demo.call("memory.show", label=form["label"]))["text"] != before


async def test_a_change_by_hand_is_in_the_journal_with_its_history_and_a_way_back(s: Site) -> None:
    await s.call("memory.edit", label="persona", text="Likes tea.")
    await s.call("memory.edit", label="persona", text="Likes tea.\nHates rain.")
    page = (await s.get("/memory?show=journal")).text
    newest = page[page.index('class="timeline"') :].split("</li>")[0]
    assert "by hand" in newest
    assert "/memory/block?label=blk_" in newest
    form = dict(re.findall(r'name="(op|label|writer|since)" value="(.*?)"', newest))
    assert "banner good" in (await s.post("/memory?show=journal", **form)).text
    assert "rain" not in (await s.call("memory.show", label="persona"))["text"]


async def test_a_block_that_was_created_or_deleted_has_its_undo_in_the_journal(s: Site) -> None:
    async def undone(operation: str) -> str:
        """What the undo of the newest change says."""
        newest = (await s.get("/memory?show=journal")).text.partition('class="timeline"')[2].split("</li>")[0]
        form = dict(re.findall(r'name="(op|label)" value="(.*?)"', newest))
        assert form["op"] == operation
        return (await s.post("/memory?show=journal", **form, sure="yes")).text

    await s.call("memory.create", label="recipes", description="What we cook")
    assert "Deleted the block “recipes”" in await undone("memory.delete")
    assert "Block “recipes” is back." in await undone("memory.restore")
    assert "recipes" in [each["block"] for each in await s.call("memory.list")]


async def test_activity_is_kept_as_long_as_is_configured(tmp_path: Path) -> None:
    events = "SELECT count(*) FROM activity_events"
    async with site(tmp_path) as s:
        await s.call("memory.create", label="recipes", description="What we cook")
        assert await s.app.services.database.read(lambda rows: rows.number(events)) > 0
    async with site(tmp_path, f"{TOML}\n[activity]\nkeep_days = 1e-9\n") as s:
        await s.call("jobs.run", job="upkeep.jobs")

        async def gone() -> bool:
            return await s.app.services.database.read(lambda rows: rows.number(events)) == 0

        await until(gone)


async def test_what_was_decided_is_one_line_and_the_record_says_what_was_answered(demo: Site) -> None:
    asked = (await demo.call("permits.list"))["requests"]
    await demo.call("halt.now")  # what is approved is not done meanwhile
    agent = f"<bdi>{asked[0]['agent']}</bdi>"
    words = "<p>Remember “The reading group meets at the Harbor Library, room 2, from now on.”</p>"
    waiting = (await demo.get("/approvals")).text
    assert re.search(rf"{agent} is asking for your approval</h2>.*\s*.*\s+{words}", waiting)
    assert f"{agent} is asking for your approval</b>{words}" in (await demo.get("/")).text
    page = (await demo.post("/approvals", op="approve", request=asked[0]["id"])).text
    assert page.count("Allow once</button>") == 1
    assert "<bdi>long-term memory</bdi>: the agent has not done it yet" in page
    assert "answered</span> <bdi>long-term memory</bdi>: Allow once" in page
    assert "Allowed once by Robin" in page
    assert "<b>1</b><span>waiting for your approval" in (await demo.get("/")).text


async def test_what_is_asked_first_is_done_after_a_yes(s: Site) -> None:
    page = (await s.post("/commands/privacy.erase")).text
    assert 'role="alertdialog"' in page
    assert "Yes, do it" in page


async def test_a_secret_is_shown_nowhere(s: Site) -> None:
    page = (await s.get("/settings")).text
    assert "a-secret-of-a-hook" not in page


async def test_only_assets_are_served(tmp_path: Path) -> None:
    async with site(tmp_path) as s:
        for path in ("/static/../request.py", "/static/%2e%2e/request.py", "/static/%2e%2e%2fserver.py"):
            assert (await s.get(path)).status_code in (303, 404)


def test_a_day_lists_what_people_planned_before_jobs_and_names_what_repeats_on_it_once() -> None:
    now = utc_now().replace(hour=6)
    hours = ((9, "event", "nine"), (7, "job", "seven"), (8, "job", "seven"))
    dated = [pages.Due(now.replace(hour=hour), kind, text, text) for hour, kind, text in hours]
    [day] = [each for each in pages._calendar(now, dated) if each["due"]]
    assert [(each.at.hour, each.text) for each in day["due"]] == [(9, "nine"), (7, "seven")]


@pytest.mark.parametrize(("locale", "first"), [("en", "2026-11-22"), ("ja", "2026-11-22"), ("de", "2026-11-23")])
def test_a_week_begins_where_calendars_of_the_language_begin_it(locale: str, first: str) -> None:
    with speaking(locale):
        weeks = [pages._calendar(datetime(2026, 11, day, 12, tzinfo=UTC), []) for day in (23, 28)]
        assert [str(days[0]["date"]) for days in weeks] == [first, first]
        sunday = pages._calendar(datetime(2026, 11, 22, 12, tzinfo=UTC), [])
    assert str(sunday[0]["date"]) == ("2026-11-16" if locale == "de" else "2026-11-22")


async def test_times_are_on_the_clocks_of_the_reader_also_without_scripts(s: Site) -> None:
    await s.call("quiet", zone="Asia/Tokyo")
    await s.call("remind.me", text="stretch", when="2030-01-02 15:30")
    await s.call("tasks.add", title="paint", due="2030-01-02 15:30")
    for language, exact in (("en-US", "Wed, Jan 2, 2030, 3:30 PM"), ("de", "Mi., 2.1.2030, 15:30")):
        s.browser.headers["Accept-Language"] = language
        assert f'title="{exact}">' in (await s.get("/schedule")).text
        shown = (await s.get("/commands/jobs.list")).text
        assert exact in shown
        assert not re.search(r"\d{4}-\d\d-\d\d|reminder:\d{18}", shown.partition("<pre>")[2].partition("</pre>")[0])


async def test_the_schedule_shows_each_time_of_what_repeats(s: Site) -> None:
    await s.call("remind.me", text="take a walk", when="every day at 8:00")
    await s.call("remind.me", text="drink water", when="every 6 hours")
    await s.call("events.add", title="yoga", when="every day at 18:00")
    page = (await s.get("/schedule")).text
    calendar, week = page.split('<table class="waterfall">')
    days, ticks = ([part.count(f"{text}</") for text in ("take a walk", "drink water", "yoga")] for part in (
        calendar, week.partition("</table>")[0],
    ))  # fmt: skip
    assert all(28 <= count <= 35 for count in days), days
    assert all(at_least <= count <= most for count, at_least, most in zip(ticks, (6, 24, 6), (7, 28, 7), strict=True))
    assert calendar.count("Check on groups while nobody is talking") <= 2, "its title and text, of the next run alone"
    assert 'aria-label="Reminder: drink water, take a walk"' in page or 'Reminder: take a walk, drink water"' in page


async def test_the_schedule_shows_tasks_as_a_tree(s: Site) -> None:
    await s.call("tasks.add", title="move house")
    await s.call("tasks.add", title="pack books", under="move house", field=("room=hall",), due="2030-01-02")
    await s.call("coord.assign", task="water the plants")
    await s.call("tasks.change", task="water the plants", state="in_progress")
    page = (await s.get("/schedule")).text
    found = re.findall(r'<li class="step(\d)"><span class="grow"><span class="text">([^<]*)</span>', page)
    assert found == [("0", "move house"), ("1", "pack books"), ("0", "water the plants")]
    assert "<bdi>room: hall</bdi>" in page
    assert "in progress" in page
    assert 'href="/commands/tasks.template.use"' in page
    change = re.search(r'<span class="text">pack books<.*?href="(/commands/tasks.change[^"]*)"', page, re.DOTALL)
    assert change is not None
    form = (await s.get(html.unescape(change[1]))).text
    for present in (
        "selected>pack",
        'value="pack books"',
        "selected>Medium",
        'value="2030-01-02"',
        "selected>move",
        ">room=hall</",
    ):
        assert present in form
    await s.call("tasks.change", task="pack books", title="pack books", under="none", notes="none")
    assert re.findall(r'<li class="step(\d)">.{30,60}pack books', (await s.get("/schedule")).text) == ["0"]
    await s.call("remind.me", text="call the bank", when="in 30 minutes")
    page = (await s.get("/schedule")).text
    drawn = re.search(
        r'<rect class="f6" x="([\d.]+)"[^>]*><rect class="f0" x="([\d.]+)"[^>]*><title>[^<]* call the bank<', page
    )
    assert drawn is not None
    assert 2.8 < float(drawn[2]) - float(drawn[1]) < 3.2, "half an hour of the seven days that are 1,000 wide"
    for job in await s.call("jobs.list"):
        await s.call("jobs.pause", job=job["id"])
    assert "<b>0</b><span>jobs due within an hour</span>" in (await s.get("/")).text


async def test_reminders_show_their_time_and_are_done_put_off_and_canceled(s: Site) -> None:
    await s.call("quiet", zone="Asia/Tokyo")
    await s.call("remind.me", text="call the bank", when="2031-03-05 09:30")
    [reminder] = await s.call("remind.list")
    page = (await s.get("/schedule")).text
    assert "Wed, Mar 5, 2031, 9:30 AM (<time" in page
    snooze = f"/commands/remind.snooze?reminder={reminder['id']}"
    assert f'href="{snooze}"' in page
    assert f'<option value="{reminder["id"]}" selected>call the bank' in (await s.get(snooze)).text
    assert "gone off yet" in (await s.post(snooze, reminder=reminder["id"], minutes="5")).text
    assert "Moved to Fri, Mar 7, 2031" in (await s.post(snooze, reminder=reminder["id"], until="2031-03-07 10:00")).text

    def told(tx: Tx) -> None:
        number = ReminderId(int(reminder["id"]))
        jobs.drop(tx, f"reminder:{number}:later")
        reminders.set_status(tx, number, reminders.Status.TOLD, utc_now())

    await s.app.database.write(_ARRIVE, told)
    assert '<span class="small soft">went off, not done yet</span>' in (await s.get("/schedule")).text
    assert "Canceled: call the bank" in (await s.post("/schedule", op="remind.cancel", reminder=reminder["id"])).text
    assert await s.call("remind.list") == []


async def test_an_event_is_moved_by_a_form(s: Site) -> None:
    first, then = (f"{utc_now() + timedelta(days=ahead):%Y-%m-%d}" for ahead in (5, 9))
    await s.call("events.add", title="fair", when=f"{first} 09:30", ends="11:00")
    [event] = await s.call("events.list")
    move = f"/commands/events.move?event={event['id']}"
    assert f'href="{move}"' in (await s.get("/schedule")).text
    assert f'<option value="{event["id"]}" selected>' in (await s.get(move)).text
    assert "Moved" in (await s.post(move, event=event["id"], when=then)).text
    [moved] = await s.call("events.list")
    assert [moved[each] for each in ("at", "ends")] == [event[each].replace(first, then) for each in ("at", "ends")]


async def test_every_page_stands_empty_and_in_the_language_of_the_browser(s: Site) -> None:
    for wanted, code, words in (
        ("de-AT,de;q=0.9,en;q=0.8", "de", "Nichts braucht deine Aufmerksamkeit"),
        ("fr,en;q=0.3,ja;q=0.5", "ja", "対応が必要なものはありません"),
        ("fr", "en", "Nothing needs your attention"),
        ("fr,de;q=0", "en", "Nothing needs your attention"),
    ):
        page = (await s.get("/", headers={"Accept-Language": wanted})).text
        assert f'<html lang="{code}">' in page
        assert words in page
    s.browser.headers["Accept-Language"] = "de"
    for path in PAGES:
        answer = await s.get(path)
        assert answer.status_code == 200, f"{path}: {answer.text[-500:]}"
        assert "<h1>" in answer.text
        assert '<a href="/search"' in answer.text, f"{path} has no menu"
    assert (await s.get("/memory/block?label=nothing")).status_code == 400
    assert "Ruhezeit: keine." in (await s.post("/commands/quiet")).text
    refused = await s.browser.post("/", data={"csrf": "wrong"})
    assert refused.text.startswith("Dieses Formular ist zu alt")
    for path, words in (("/nowhere", "Unter dieser Adresse gibt es nichts."), ("/commands/x", '<a href="/search"')):
        refused = await s.browser.get(path)
        assert refused.status_code == 404
        assert words in refused.text
    unknown = await s.post("/commands/memory.revert", label="nowhere", writer="Carina")
    assert (unknown.status_code, 'value="nowhere"' in unknown.text) == (200, True), "the form keeps what was typed"
    assert "nicht noch einmal gezeigt" in (await s.post("/commands/token.create", name="pen")).text
    await s.call("memory.edit", label="persona", text=EVIL)
    shown = (await s.get("/memory/block?label=persona")).text
    assert "<script>alert(1)" not in shown
    assert "\u202e" not in shown
