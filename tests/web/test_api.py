"""Programs: OpenAI's own client, the operations as JSON, tools over MCP, deliveries of others."""

import asyncio
import functools
import hashlib
import hmac
import json
import re
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import httpx2
import jsonschema
import openai
import pydantic_ai
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from bot.errors import CallError, UserError
from bot.interfaces.web import monitoring
from bot.interfaces.web.conversations import Answer
from memory import spending
from memory.store.clock import utc_now
from memory.store.faults import commit_point
from memory.store.ids import AgentId
from sources.terminal import PERSON
from tests.web.site import TOML, Site, site
from tests.web.test_pages import scripted_by
from tests.wire.model import Answer as Scripted
from tests.wire.model import Held, ModelServer

_SPEND, SPENT = commit_point("test.spend"), spending.ModelCost("m", 1, 1, 0, 0, None)

DENTIST = "remember that my dentist is on Elm Street"


def openai_client(s: Site, token: str) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=f"{s.address}/v1", api_key=token, max_retries=0)


async def token(s: Site, scope: str = "chat") -> str:
    return str((await s.call("token.create", name=f"client-{scope}", scope=scope))["token"])


async def test_openais_client_talks_to_an_agent_that_remembers_over_a_restart(tmp_path: Path) -> None:
    async with site(tmp_path) as s:
        key = await token(s)
        async with openai_client(s, key) as client:
            assert "carina/Carina" in [each.id async for each in await client.models.list()]
            said = await client.chat.completions.create(
                model="carina/Carina", messages=[{"role": "user", "content": DENTIST}]
            )
            assert said.choices[0].message.content
            assert said.choices[0].finish_reason == "stop"
    async with site(tmp_path) as s, openai_client(s, key) as client:
        asked = await client.chat.completions.create(
            model="carina/carina", messages=[{"role": "user", "content": "where is my dentist?"}]
        )
        assert "Elm Street" in (asked.choices[0].message.content or "")


async def test_a_client_of_another_library_remembers_over_a_restart(tmp_path: Path) -> None:
    async with site(tmp_path) as s, httpx2.AsyncClient(trust_env=False, timeout=20) as http:
        key = await token(s)
        assert (await another_client(s, key, http).run(DENTIST)).output
    async with (
        site(tmp_path) as s,
        httpx2.AsyncClient(trust_env=False, timeout=20) as http,
        another_client(s, key, http).run_stream("where is my dentist?") as asked,
    ):
        assert "Elm Street" in await asked.get_output()


def another_client(s: Site, key: str, http: httpx2.AsyncClient) -> pydantic_ai.Agent[None, str]:
    provider = OpenAIProvider(f"{s.address}/v1", api_key=key, http_client=http)
    return pydantic_ai.Agent(OpenAIChatModel("carina/Carina", provider=provider))


async def test_an_answer_is_streamed(tmp_path: Path) -> None:
    async with site(tmp_path) as s, openai_client(s, await token(s)) as client:
        stream = await client.chat.completions.create(
            model="carina/Main",
            messages=[{"role": "user", "content": "hello"}],
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = [each async for each in stream]
        text = "".join(each.choices[0].delta.content or "" for each in chunks if each.choices)
        stored = await s.call("inbox.show", row=str((await s.call("inbox.list"))[0]["id"]))
        assert text == stored["answer"] != ""
        assert chunks[-1].usage is not None


_IGNORED: list[tuple[dict[str, Any], str]] = [
    ({"tools": [{"type": "function", "function": {"name": "x"}}]}, "tools"),
    ({"n": 2}, "n"),
    ({"temperature": 3}, "temperature"),
    ({"max_completion_tokens": 0}, "max_completion_tokens"),
    ({"top_p": 0.5}, "top_p"),
    ({"user": "a/b"}, "user"),
    ({"user": 7}, "user"),
    ({"stream": "false"}, "stream"),
    ({"frobnicate": True}, "frobnicate"),
    ({"messages": [{"role": "system", "content": "obey"}, {"role": "user", "content": "hi"}]}, "messages"),
    ({"messages": [{"role": "assistant", "content": "hi"}]}, "messages"),
    ({"messages": []}, "messages"),
    ({"messages": [{"role": "user", "content": "hi", "name": "somebody"}]}, "messages"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]}, "messages"),
]


async def test_what_would_be_ignored_is_refused(s: Site) -> None:
    program = await s.program("chat")
    for given, parameter in _IGNORED:
        body = {"model": "carina/Carina", "messages": [{"role": "user", "content": "hi"}], **given}
        answer = await program.post("/v1/chat/completions", json=body)
        assert (answer.status_code, answer.json()["error"]["param"]) == (400, parameter)
        assert "pattern" not in answer.json()["error"]["message"]
    assert await s.call("inbox.list") == []


async def test_what_a_client_sets_for_its_answer_reaches_the_model_once(tmp_path: Path) -> None:
    async with ModelServer.start() as model, site(tmp_path, more=scripted_by(model)) as s:
        program = await s.program("chat")
        body = {"model": "carina/Carina", "messages": [{"role": "user", "content": "hi"}], "top_p": 1, "tools": []}
        model.script(Scripted("Hi."), Scripted("Again."))
        for given in ({"temperature": 0.25, "max_completion_tokens": 77}, {}):
            assert (await program.post("/v1/chat/completions", json={**body, **given})).status_code == 200
        sent = [(each.body.get("temperature"), each.body.get("max_tokens")) for each in await model.wait_for(2)]
        assert sent == [(0.25, 77), (None, None)]


async def test_who_reads_an_answer_slowly_gets_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.interfaces.answers._LOOK_SECONDS", 0.02)
    async with ModelServer.start() as model, site(tmp_path, more=scripted_by(model)) as s:
        model.script(Scripted("It is on Elm Street.", chunks=5, pace=0.02))
        talk = s.app.web.talk
        to, found = await talk.conversation("chat", "Carina"), []
        async for each in talk.follow(to.place.id, await talk.say(to, "where is my dentist?")):
            found.append(each)
            await asyncio.sleep(0.05)
        assert len(found) > 2
        assert [each.texts for each in found if isinstance(each, Answer)] == [("It is on Elm Street.",)]


async def test_no_token_is_called_as_what_would_make_its_conversation_that_of_the_dashboard(tmp_path: Path) -> None:
    async with site(tmp_path) as s:
        with pytest.raises(UserError, match="The name dashboard is reserved"):
            await s.call("token.create", name="dashboard", scope="chat")
        await s.call("token.create", name="Dashboard2", scope="chat")


@pytest.mark.parametrize("stream", [False, True])
async def test_a_token_that_is_revoked_meanwhile_gets_no_answer(tmp_path: Path, stream: bool) -> None:
    async with ModelServer.start() as model, site(tmp_path, more=scripted_by(model)) as s:
        revoked = asyncio.Event()
        model.script(Held(revoked.is_set, Scripted("The code is 4711.")))
        program = await s.program("chat")
        body = {"model": "carina/Carina", "messages": [{"role": "user", "content": "the code?"}], "stream": stream}
        asked = asyncio.create_task(program.post("/v1/chat/completions", json=body))
        await model.wait_for(1)
        await asyncio.sleep(1.1)
        await s.call("token.revoke", name="chat-0")
        revoked.set()
        answer = await asked
        assert answer.status_code == (200 if stream else 401)
        assert "4711" not in answer.text


async def test_a_model_that_is_not_there_is_told(tmp_path: Path) -> None:
    async with site(tmp_path) as s, openai_client(s, await token(s)) as client:
        with pytest.raises(openai.NotFoundError, match="no model carina/nobody; available: carina/Carina, carina/Main"):
            await client.chat.completions.create(model="carina/nobody", messages=[{"role": "user", "content": "hi"}])
        assert (await client.models.retrieve("carina/Carina")).id == "carina/Carina"


async def test_the_same_key_says_it_once(s: Site) -> None:
    program = await s.program("chat")
    body = {"model": "Carina", "messages": [{"role": "user", "content": "hello"}]}
    answers = [
        (await program.post("/v1/chat/completions", json=body, headers={"Idempotency-Key": "once"})).json()
        for _ in range(2)
    ]
    assert answers[0]["choices"] == answers[1]["choices"]
    assert len(await s.call("inbox.list")) == 1
    other = {**body, "messages": [{"role": "user", "content": "good night"}]}
    refused = await program.post("/v1/chat/completions", json=other, headers={"Idempotency-Key": "once"})
    assert (refused.status_code, "another" in refused.text) == (422, True)
    assert len(await s.call("inbox.list")) == 1


async def asked(program: httpx.AsyncClient, text: str, user: str = "", model: str = "Carina") -> str:
    body = {"model": model, "messages": [{"role": "user", "content": text}], **({"user": user} if user else {})}
    answer = (await program.post("/v1/chat/completions", json=body)).json()
    return str(answer["choices"][0]["message"]["content"]) if "choices" in answer else str(answer["error"]["code"])


async def test_users_of_a_program_are_people_of_their_own(s: Site) -> None:
    program, other = await s.program("chat"), await s.program("chat")
    await asked(program, DENTIST, "ann")
    await asked(program, "remember that my doctor is on Oak Street")
    for who, user in ((program, "bob"), (program, ""), (other, "ann")):
        assert "Elm Street" not in await asked(who, "where is my dentist?", user)
    assert "Oak Street" not in await asked(program, "where is my doctor?", "ann")
    assert "Elm Street" in await asked(program, "where is my dentist?", "ann")
    keyed = {"Idempotency-Key": "same"}
    body = {"model": "Carina", "messages": [{"role": "user", "content": "where is my dentist?"}]}
    for user, knows in (("ann", True), ("bob", False)):
        answer = await program.post("/v1/chat/completions", json={**body, "user": user}, headers=keyed)
        assert ("Elm Street" in answer.text) == knows
    kept = await s.call("privacy.see", person="api:chat-0/ann")
    assert kept["stores"]["home"]["messages"]
    said = "SELECT DISTINCT person_id FROM messages WHERE role = 'user' AND audience LIKE 'person:api:%'"
    persons = {row[0] for row in await s.app.services.database.read(lambda rows: rows.all(said))}
    assert persons == {"api:chat-0/ann", "api:chat-0/bob", "api:chat-1/ann"}


async def test_a_reminder_goes_where_it_is_read_or_is_refused(s: Site) -> None:
    program, wish = await s.program("chat"), "remind me in 20 minutes to call mum"
    assert "because this program only gets replies to what you send" in await asked(program, wish, "bob")
    assert "I'll tell you at the terminal, in `carina chat`, not here." in await asked(program, wish)
    sql = "SELECT person_id FROM reminders"
    assert [row[0] for row in await s.app.services.database.read(lambda rows: rows.all(sql))] == [PERSON]


async def test_a_token_of_one_agent_talks_to_nobody_else(tmp_path: Path) -> None:
    toml = TOML + '[[agents]]\nname = "Carina"\n[[agents]]\nname = "Other"\n'
    toml += '[[groups]]\nname = "Main"\nmembers = ["Carina", "Other"]\ndefault = true\n'
    async with site(tmp_path, toml) as s:
        program = await s.program("chat", agent="other")
        assert [each["id"] for each in (await program.get("/v1/models")).json()["data"]] == ["carina/Other"]
        assert "hello" not in await asked(program, "hello", model="carina/Other")
        for name in ("Carina", "Main", "carina/nobody"):
            assert await asked(program, "hello", model=name) == "model_not_found"
            assert (await program.get(f"/v1/models/{name}")).status_code == 404
        assert (await s.call("token.list"))[0]["agent"] == "Other"
        with pytest.raises(UserError):
            await s.program("read", agent="Other")
        await s.call("agent.archive", agent="Other")
        assert (await program.get("/v1/models")).json()["data"] == []


async def test_what_no_agent_answered_is_retried_when_one_joins_the_group(tmp_path: Path) -> None:
    toml = TOML + '[[agents]]\nname = "Carina"\n[[agents]]\nname = "Other"\n'
    toml += '[[groups]]\nname = "Main"\nmembers = ["Carina"]\ndefault = true\n'
    toml += '[[groups]]\nname = "Side"\nmembers = ["Other"]\n'
    async with site(tmp_path, toml) as s:
        to = await s.app.web.talk.conversation("chat", "Main")
        await s.call("agent.hibernate", agent="Carina")
        said = await s.app.web.talk.say(to, "hello")
        (told,) = [each async for each in s.app.web.talk.follow(to.place.id, said) if isinstance(each, Answer)]
        assert "nobody in the group answers" in told.error
        await s.call("group.add.member", group="Main", agent="Other")
        await s.call("inbox.retry", row=str((await s.call("inbox.list"))[0]["id"]))
        async with asyncio.timeout(5):
            while [each["status"] for each in await s.call("inbox.list")] != ["done"]:
                await asyncio.sleep(0.05)


async def test_each_scope_opens_its_part(s: Site) -> None:
    chat, read, admin = [await s.program(scope) for scope in ("chat", "read", "admin")]
    status = {"chat": 403, "read": 200, "admin": 200}
    for name, program in (("chat", chat), ("read", read), ("admin", admin)):
        assert (await program.get("/api/v1/status")).status_code == status[name]
        assert (await program.get("/metrics")).status_code == status[name]
        assert (await program.get("/v1/models")).status_code == 200
        assert (await program.get("/")).status_code == 403
        told = "This needs a token with the scope admin" in (await program.post("/mcp", json={})).text
        assert told == (name != "admin")
        made = await program.post("/api/v1/facts.add", json={"fact": "I like tea"})
        assert made.status_code == (200 if name == "admin" else 403)
        assert made.headers["content-type"] == ("application/json" if name == "admin" else "application/problem+json")
    await s.call("token.revoke", name="admin-2")
    assert (await admin.get("/api/v1/status")).status_code == 401


async def test_asking_for_the_head_of_an_answer_changes_nothing(s: Site) -> None:
    read = await s.program("read")
    asked = await read.request("HEAD", "/api/v1/facts.add", json={"fact": "I like tea"})
    assert (asked.status_code, await s.call("facts.list")) == (405, [])
    s.browser.headers["Sec-Fetch-Site"] = "same-site"
    assert (await s.browser.head("/api/v1/halt.now", headers={"X-Confirm": "yes"})).status_code == 405
    assert (await read.head("/api/v1/facts.list")).status_code == 200


async def test_what_others_said_in_private_is_exported_for_the_scope_admin_alone(s: Site) -> None:
    read, admin = await s.program("read"), await s.program("admin")
    assert (await read.get("/api/v1/privacy.export?person=discord:5")).status_code == 405
    assert (await read.post("/api/v1/privacy.export", json={"person": "discord:5"})).status_code == 403
    exported = await admin.post("/api/v1/privacy.export", json={"person": "discord:5"})
    assert exported.json()["person"] == "discord:5"
    assert "exported_at" not in (await s.get("/commands/privacy.export?person=discord:5")).text
    assert "exported_at" in (await s.post("/commands/privacy.export", person="discord:5")).text


async def test_an_operation_is_done_refused_and_asked_about(s: Site) -> None:
    program = await s.program("admin")
    made = await program.post("/api/v1/tasks.add", json={"title": "water the plants"})
    assert made.json()["text"] == "water the plants"
    assert [each["text"] for each in (await program.get("/api/v1/tasks.list")).json()] == ["water the plants"]
    assert (await program.get("/api/v1/tasks.list?done=true")).status_code == 200
    assert (await program.get("/api/v1/tasks.list?done=true&done=false")).status_code == 400
    elsewhere = await program.post("/api/v1/tasks.add?constellation=lab", json={"title": "x"})
    assert (elsewhere.status_code, elsewhere.json()["detail"][:14]) == (400, "constellation:")
    wrong = await program.post("/api/v1/tasks.add", json={"titel": "x"})
    assert (wrong.status_code, wrong.json()["status"]) == (400, 400)
    assert wrong.json()["detail"] == 'titel: unknown parameter; did you mean "title"?'
    for query, words in (
        ("tasks.list?limt=3", '"limit"?'),
        ("cost?x=3", "known here: by, days"),
        ("status?x=3", "has none"),
    ):
        assert (await program.get(f"/api/v1/{query}")).json()["detail"].endswith(words)
    assert (await program.get("/api/v1/halt.now")).status_code == 405
    assert (await program.get("/api/v1/nothing")).status_code == 404
    assert (await program.post("/api/v1/import.letta", json={})).status_code == 404, "its file is on the disk"
    asked = await program.post("/api/v1/privacy.erase", json={})
    assert asked.status_code == 409
    assert "X-Confirm" in asked.json()["detail"]
    huge = "9" * 30
    for listed in (f"inbox.list?before={huge}", f"memory.history?label=persona&before={huge}"):
        assert (await program.get(f"/api/v1/{listed}")).status_code == 400
    for body in (b"[1]", b"[" * 200_000):
        assert (await program.post("/api/v1/tasks.add", content=body)).status_code == 400
        assert (await program.post("/v1/chat/completions", content=body)).status_code == 400


async def test_a_request_with_a_key_is_done_once(tmp_path: Path) -> None:
    async with site(tmp_path) as s:
        program, other = await s.program("admin"), await s.program("admin")
        keyed, task = {"Idempotency-Key": "once"}, {"title": "water the plants"}
        first, again = [await program.post("/api/v1/tasks.add", json=task, headers=keyed) for _ in range(2)]
        assert (first.status_code, first.content) == (again.status_code, again.content)
        assert again.headers["Idempotent-Replayed"] == "true"
        changed = await program.post("/api/v1/tasks.add", json={"title": "other"}, headers=keyed)
        assert changed.status_code == 422
        assert (await other.post("/api/v1/tasks.add", json=task, headers=keyed)).status_code == 200
        assert len(await s.call("tasks.list")) == 2
        wrong, asks = {"Idempotency-Key": "wrong"}, {"Idempotency-Key": "asks"}
        for unread in ("[]", "[]"):  # nothing was done, so it can be sent again
            assert (await program.post("/api/v1/tasks.add", content=unread, headers=wrong)).status_code == 400
        assert (await program.post("/api/v1/tasks.add", json={}, headers=wrong)).status_code == 400
        assert (await program.post("/api/v1/tasks.add", json=task, headers=wrong)).status_code == 200
        for _ in range(2):
            assert (await program.post("/api/v1/privacy.erase", json={}, headers=asks)).status_code == 409
        answers = await asyncio.gather(
            *(program.post("/api/v1/tasks.add", json=task, headers={"Idempotency-Key": "both"}) for _ in range(2))
        )
        assert {each.status_code for each in answers} <= {200, 409}
        assert len(await s.call("tasks.list")) == 4
        token = program.headers["Authorization"]
    async with site(tmp_path) as s:  # what it was answered is held in memory alone
        headers = {**keyed, "Authorization": token}
        late = await s.browser.post("/api/v1/tasks.add", json=task, headers=headers)
        assert (late.status_code, "sent before" in late.json()["detail"]) == (409, True)
        assert len(await s.call("tasks.list")) == 4


async def test_whoever_is_named_may_see_what_is_assigned_over_the_api(s: Site) -> None:
    program = await s.program("admin")
    for audience, status in (("public", 200), ("nobody", 400)):
        given = {"task": "water the plants", "audience": audience}
        assert (await program.post("/api/v1/coord.assign", json=given)).status_code == status
    assert [each["audience"] for each in await s.call("activity", kind="task_assigned")] == ["public"]


async def test_a_block_is_changed_only_as_it_was_read(s: Site) -> None:
    program = await s.program("admin")
    read = await program.get("/api/v1/memory.show?label=persona")
    assert read.status_code == 200, read.text
    seen = {"If-Match": read.headers["ETag"]}
    unchanged = await program.get("/api/v1/memory.show?label=persona", headers={"If-None-Match": seen["If-Match"]})
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    texts = [{"label": "persona", "text": f"Likes {each}"} for each in ("tea", "coffee")]
    answers = [await program.post("/api/v1/memory.edit", json=each, headers=seen) for each in texts]
    assert [each.status_code for each in answers] == [200, 412]
    assert (await s.call("memory.show", label="persona"))["text"] == "Likes tea"
    assert (await program.get("/api/v1/memory.show?label=persona")).headers["ETag"] != seen["If-Match"]
    assert (await program.post("/api/v1/tasks.add", json={"title": "x"}, headers=seen)).status_code == 400


async def test_a_list_is_read_in_parts(s: Site) -> None:
    chat, reader = await s.program("chat"), await s.program("read")
    assert (await reader.get("/api/v1/tasks.list")).json() == []
    for text in ("one", "two", "three"):
        await asked(chat, text)
    found, path = list[str](), "/api/v1/inbox.list?limit=2"
    while path:
        page = await reader.get(path)
        found += [each["id"] for each in page.json()]
        path = page.links["next"]["url"] if "next" in page.links else ""
    assert found == [each["id"] for each in await s.call("inbox.list")]
    assert len(found) == 3
    await every_list_is_read_in_parts(s, reader)
    for text in ("a", "b", "c"):
        await s.call("memory.edit", label="persona", text=text)
    history = await reader.get("/api/v1/memory.history?label=persona&limit=2")
    last = history.json()["changes"][-1]["version"]
    rest = await reader.get(f"/api/v1/memory.history?label=persona&limit=2&before={last}")
    versions = [each["version"] for part in (history, rest) for each in part.json()["changes"]]
    assert versions == sorted(versions, reverse=True)
    assert len(set(versions)) == len(versions) > 2


async def every_list_is_read_in_parts(s: Site, reader: httpx.AsyncClient) -> None:
    """Also where rows arrive or go away between two parts."""
    for text in "abc":
        await s.call("archival.add", text=text, label=text)
    described = (await reader.get("/openapi.json")).json()
    there = described["paths"]
    for declared in s.app.services.registry.operations.values():
        name, path = declared.name, f"/api/v1/{declared.name}"
        needs = any(each.required for each in declared.parameters)
        if not declared.lists or declared.changes or needs or path not in there or name == "doctor":
            continue  # what checks the installation is a process of its own, without the secrets of this one
        assert {"limit", "cursor"} & {each["name"] for each in there[path]["get"]["parameters"]}, name
        first = await reader.get(f"{path}?limit=1")
        whole, found = (await reader.get(f"{path}?limit=50")).json(), first.json()
        assert_as_described(described, there[path]["get"], whole)
        assert ("next" in first.links) == (len(whole) > 1), (name, first.text)
        if "next" in first.links:
            found += (await reader.get(first.links["next"]["url"])).json()
        assert found == whole[:2], name
    wrong = [(await reader.get(f"/api/v1/jobs.list?{each}")).status_code for each in ("limit=0", "cursor=x")]
    assert wrong == [400, 400]
    entries = await reader.get("/api/v1/archival.list?limit=2")
    await s.call("archival.add", text="newer", label="newer")
    rest = (await reader.get(entries.links["next"]["url"])).json()
    assert [each["label"] for each in (*entries.json(), *rest)] == ["c", "b", "a"]
    await s.call("archival.delete", entry="b")
    rest = (await reader.get(entries.links["next"]["url"])).json()
    assert [each["label"] for each in rest] == ["a"] or rest == []


async def test_the_description_is_whole_and_valid(s: Site) -> None:
    found = (await (await s.program("read")).get("/openapi.json")).json()
    assert len(found["paths"]) > 100
    assert "/v1/chat/completions" in found["paths"]
    refers = set(re.findall(r'"\$ref": "#/components/schemas/([^"]+)"', json.dumps(found)))
    assert set() < refers <= {*found["components"]["schemas"]}
    assert json.dumps(found).count('"$ref"') == json.dumps(found).count('"$ref": "#/components/schemas/')
    for path, told in found["paths"].items():
        for operation in told.values():
            for schema in (each["schema"] for each in operation.get("parameters", ())):
                jsonschema.Draft202012Validator.check_schema(schema)
            assert operation["summary"], path
            answer = operation["responses"]["200"]["content"]["application/json"]["schema"]
            assert answer or path == "/v1/chat/completions", path


async def test_answers_are_as_described(s: Site) -> None:
    program = await s.program("admin")
    found = (await program.get("/openapi.json")).json()
    for name, given in (
        ("archival.add", {"text": "My dentist is on Elm Street.", "label": "dentist"}),
        ("tasks.add", {"title": "Water the plants"}),
        ("remind.me", {"text": "call Mom", "when": "tomorrow at 5 pm"}),
        ("archival.show", {"entry": "dentist"}),
        ("archival.delete", {"entry": "dentist"}),
        *(("memory.show", given) for given in ({}, {"label": "persona"})),
        *((each, {"label": "persona"}) for each in ("memory.history", "memory.blame")),
        ("search", {"text": "plants"}),
        *((each, {}) for each in ("status", "cost", "agent.list", "facts.list", "tasks.list", "jobs.list", "activity")),
    ):
        ((method, told),) = found["paths"][f"/api/v1/{name}"].items()
        address, sure = f"/api/v1/{name}", {"X-Confirm": "yes"}
        asked = (
            program.get(address, params=given) if method == "get" else program.post(address, json=given, headers=sure)
        )
        answer = await asked
        assert answer.status_code == 200, answer.text
        assert_as_described(found, told, answer.json())
    task = found["components"]["schemas"]["TaskRow"]
    wrong = [dict.fromkeys(task["required"], 1)]
    with pytest.raises(jsonschema.ValidationError):
        assert_as_described(found, found["paths"]["/api/v1/tasks.list"]["get"], wrong)


def assert_as_described(found: dict[str, Any], told: dict[str, Any], data: object) -> None:
    schema = told["responses"]["200"]["content"]["application/json"]["schema"]
    jsonschema.Draft202012Validator({**schema, "components": found["components"]}).validate(data)


async def test_an_mcp_client_calls_the_tools_from_another_computer_too(s: Site) -> None:
    token = (await s.call("token.create", name="ide", scope="admin"))["token"]
    headers = {"Authorization": f"Bearer {token}", "Host": "192.168.0.7:8480"}
    http = httpx2.AsyncClient(headers=headers, timeout=20, trust_env=False)
    async with http, Client(streamable_http_client(f"{s.address}/mcp", http_client=http)) as mcp:
        tools = {each.name for each in (await mcp.list_tools()).tools}
        assert tools == {"list_groups", "route_to_group", "search_memory", "read_block"}
        assert "Main (round_robin): Carina" in str((await mcp.call_tool("list_groups", {})).content)
        shown = await mcp.call_tool("read_block", {"block": "persona"})
        assert "My name is Carina" in str(shown.content)
        said = await mcp.call_tool("route_to_group", {"group": "Main", "message": "hello"})
        assert not said.is_error
        wrong = await mcp.call_tool("route_to_group", {"group": "Nobody", "message": "hello"})
        assert wrong.is_error


async def test_metrics_are_text_that_prometheus_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitoring, "_LATE", timedelta())
    async with site(tmp_path) as s:
        program = await s.program("read")
        for gone in map(AgentId, ("agt_one", "agt_other")):
            used = functools.partial(spending.record_upkeep, agent=gone, guild=None, spent=SPENT, now=utc_now())
            await s.app.database.write(_SPEND, used)
        body = {"model": "Carina", "messages": [{"role": "user", "content": "remember that my dentist is private"}]}
        await program.post("/v1/chat/completions", json=body)
        text = (await program.get("/metrics")).text
        kinds = dict(
            re.findall(r"^# HELP \S+ \S.*\n# TYPE (\S+) (counter|gauge|histogram|summary)$", text, re.MULTILINE)
        )
        assert text.endswith("\n")
        assert text.count("# HELP ") == text.count("# TYPE ") == len(kinds)
        found, series, last = list[str](), set[str](), ""
        for line in text.splitlines():
            last = line.split()[2] if line.startswith("#") else last
            if line.startswith("#"):
                continue
            sample = re.fullmatch(r'([a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\]|\\.)*",?)*)\})? ([\d.]+)', line)
            assert sample is not None, line
            name, labels, _value = sample.groups()
            suffix = name.removeprefix(last)
            allowed = {"histogram": ("_bucket", "_sum", "_count"), "summary": ("_sum", "_count")}.get(
                kinds[last], ("",)
            )
            assert suffix in allowed, line
            assert ("le=" in (labels or "")) == (suffix == "_bucket"), line
            assert f"{name}{labels}" not in series, line
            series.add(f"{name}{labels}")
            found += [last] if last not in found else []
        assert found == [name for name in kinds if name in found], "samples of one name stand together"
        for name, kind in kinds.items():  # the rules of promtool
            assert name.endswith("_total") == (kind == "counter"), name
            assert not name.endswith(("_count", "_sum", "_bucket", "_info")), name
            others = {"minutes", "hours", "days", "milliseconds", "ms", "kilobytes", "kb", "percent", "cents"}
            assert others.isdisjoint(name.split("_")), name
            assert {"counter", "gauge", "histogram"}.isdisjoint(name.split("_")), name
            assert {"s", "sec", "m", "min", "h", "b", "mb", "gb"}.isdisjoint(name.split("_")), name
        for line in ('carina_turn_seconds_bucket{le="+Inf"} 1', 'carina_stage_seconds_count{stage="delivery"} 1',
                     'carina_tool_calls_total{tool="', 'carina_jobs{status="active"}',
                     'carina_model_calls_total{agent="",model="m"} 2', "carina_commit_seconds_count "):  # fmt: skip
            assert line in text, line
        assert "private" not in text


async def test_a_signed_delivery_is_told_once_to_the_agents_that_hear_of_it(s: Site) -> None:
    made = await s.call("source.add", name="alarm", webhook=True, template="{source}: {items}")
    with pytest.raises(CallError, match="not checked"):
        await s.call("source.add", name="other", webhook=True, every=5)
    hook = await s.call("source.show", source="alarm")
    assert (hook["type"], hook["address"], hook["agents"]) == ("webhook", "/hooks/alarm", ["Carina"])
    secret = made["secret"]  # shown once
    assert secret not in json.dumps([await s.call("source.list"), hook])
    body = json.dumps({"alarm": "the cellar is wet", "log": "x" * 9_000}).encode()

    def signed(at: int) -> dict[str, str]:
        digest = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
        return {"X-Carina-Signature": f"t={at},v1={digest}"}

    now, odd = int(time.time()), httpx.Headers({"X-Hub-Signature-256": "sha256=é"}, encoding="latin-1")
    for headers in ({}, signed(now - 400), {"X-Hub-Signature-256": "sha256=" + "0" * 64}, odd):
        assert (await s.browser.post("/hooks/alarm", content=body, headers=headers)).status_code == 401
    assert (await s.browser.post("/hooks/other", content=body, headers=signed(now))).status_code == 401
    for _ in range(2):
        assert (await s.browser.post("/hooks/alarm", content=body, headers=signed(now))).status_code == 202
    github = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    headers = {"X-Hub-Signature-256": f"sha256={github}", "X-GitHub-Event": "push"}
    for delivery in ("7", "8"):  # this header is not signed: whoever repeats a delivery can write anything there
        headers["X-GitHub-Delivery"] = delivery
        assert (await s.browser.post("/hooks/alarm", content=body, headers=headers)).status_code == 202
    rows = await s.call("inbox.list")
    assert len(rows) == 2
    text = (await s.call("inbox.show", row=str(rows[0]["id"])))["text"]
    assert "the cellar is wet" in text
    assert text.endswith("more characters were left out.")
    for leave, enter, given in (("pause", "resume", {}), ("unsubscribe", "subscribe", {"agent": "Carina"})):
        await s.call(f"source.{leave}", source="alarm", **given)
        assert (await s.browser.post("/hooks/alarm", content=body, headers=signed(now + 1))).status_code == 503
        await s.call(f"source.{enter}", source="alarm", **given)
    assert (await s.browser.post("/hooks/alarm", content=body, headers=signed(now + 1))).status_code == 202
    assert len(await s.call("inbox.list")) == 3
    await s.call("source.remove", source="alarm")
    assert (await s.browser.post("/hooks/alarm", content=body, headers=signed(now + 2))).status_code == 401
