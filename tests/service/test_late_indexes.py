"""The service dies between writing words and indexing them, and they are found all the same."""

import json
from pathlib import Path

import pytest

from tests.service.live_service import live_service

KILLED = -9


@pytest.mark.parametrize("side", ["before", "after"])
async def test_dying_while_words_are_indexed_loses_none(tmp_path: Path, side: str) -> None:
    async with live_service(tmp_path) as t:
        t.service.environment["CARINA_FAULT"] = f"database.later:{side}"
        await t.service.launch()
        assert await t.service.ended() == KILLED  # what the first start writes into blocks is indexed a moment later
        del t.service.environment["CARINA_FAULT"]
        await t.service.start()
        code, shown, error = await t.service.run("memory", "show", "persona", "--json")
        assert code == 0, error
        word = max(json.loads(shown)["text"].split(), key=len)
        code, found, error = await t.service.run("search", word, "--json")
        assert code == 0, error
        assert [hit["label"] for hit in json.loads(found)["hits"] if hit["kind"] == "block"] == ["persona"]
        await t.service.stop()
