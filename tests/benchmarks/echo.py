"""Questions that were asked before and not answered: what they do to the recall of the evidence.

The conversations and questions are LoCoMo's. Some questions of each are asked twice in a later week in a place where
the bot says that it does not know; then all of them are asked once more, beside the same questions asked for the
first time.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from memory.people.audience import PUBLIC, Trust
from memory.queue import messages
from memory.search.similarity import Meaning
from memory.store.database import Database, Tx
from memory.store.faults import commit_point
from memory.store.ids import PersonId, PlaceId
from memory.store.migrations import Kind, prepare
from memory.store.sqlite import connect
from tests.benchmarks import methods
from tests.benchmarks.embedded import embed_rows, meanings_of, packaged
from tests.benchmarks.locomo import Conversation, Question, conversations, store
from tests.benchmarks.options import Options
from tests.benchmarks.recalls import CUTS
from tests.benchmarks.report import Detail, Report

_FILL = commit_point("bench.fill_echo")
_QUESTIONS = 40
_NO_ANSWERS = (
    "I don't know, nothing that I remember tells me.",
    "I'm sorry, I couldn't find anything about that.",
    "I am not sure: nobody told me so far.",
)
_MARK = "echo/"
TITLE = "Questions that were asked twice before and not answered"


def _ask_before(tx: Tx, conversation: Conversation, questions: Sequence[Question]) -> None:
    at = conversation.turns[-1].at + timedelta(days=7)
    for number, question in enumerate((*questions, *questions)):
        words = (question.text, _NO_ANSWERS[number % len(_NO_ANSWERS)])
        for role, text in zip(("user", "assistant"), words, strict=True):
            at += timedelta(minutes=1)
            said = messages.NewMessage(
                PlaceId("bench:bot"),
                PersonId("bench:asker") if role == "user" else None,
                "Asker" if role == "user" else "Carina",
                text,
                "bench",
                f"{_MARK}{number}/{role}",
                PUBLIC,
                Trust.APPROVED,
                at,
            )
            message = messages.add_heard(tx, said)
            tx.run("UPDATE messages SET role = ? WHERE id = ?", (role, message))


class _Found:
    """Recall at each cut, summed, and how often the first hit was an earlier question or what we said to it."""

    def __init__(self) -> None:
        self.count, self.first, self.recall = 0, 0, dict.fromkeys(CUTS, 0.0)

    def add(self, question: Question, hits: Sequence[str]) -> None:
        self.count += 1
        self.first += bool(hits) and hits[0].startswith(_MARK)
        for cut in CUTS:
            self.recall[cut] += len(question.evidence & set(hits[:cut])) / len(question.evidence)


async def _conversation(conversation: Conversation, found: dict[tuple[str, str], _Found], most: int) -> None:
    asked = conversation.questions[:: max(len(conversation.questions) // most, 1)][:most]
    embedder = packaged()
    for before in (False, True):
        with TemporaryDirectory() as folder:
            path = Path(folder) / "carina.db"
            prepare(path, Kind.CONSTELLATION)
            meanings: Mapping[str, Meaning] | None = None
            async with Database.open(path) as database:
                await database.write(_FILL, lambda tx: store(tx, conversation.turns))
                if before:
                    await database.write(_FILL, lambda tx: _ask_before(tx, conversation, asked))
                if not isinstance(embedder, str):
                    await embed_rows(database, embedder)
                    meanings = await meanings_of(embedder, (each.text for each in asked))
            raw = connect(path)
            try:
                for name, given in (("carina", meanings), ("carina_no_embedder", None)):
                    ask = methods.product(raw, given)
                    sums = found.setdefault((name, "asked twice before" if before else "asked first"), _Found())
                    for question in asked:
                        sums.add(question, ask(question.text))
            finally:
                raw.close()
    if not isinstance(embedder, str):
        await embedder.aclose()


def run(options: Options) -> Report:
    """`--locomo PATH` says where the conversations are; only the first with `--quick`."""
    if options.locomo is None or not options.locomo.is_file():
        return Report(TITLE, notes=["not measured: pass --locomo PATH with the path of locomo-dev.json"])
    found: dict[tuple[str, str], _Found] = {}
    for conversation in conversations(options.locomo)[: 1 if options.quick else None]:
        asyncio.run(_conversation(conversation, found, _QUESTIONS))
    rows = tuple(
        (*names, *(f"{100 * sums.recall[cut] / sums.count:.1f}" for cut in CUTS), f"{sums.first} of {sums.count}")
        for names, sums in found.items()
    )
    heads = ("method", "question", *(f"R@{cut}" for cut in CUTS), "first hit is an echo")
    return Report(TITLE, details=[Detail("Recall of the turns that answer", heads, rows)])
