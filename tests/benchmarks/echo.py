"""Questions that were asked before and not answered: what they do to the recall of the evidence.

The conversations and questions are LoCoMo's. Some questions of each are asked twice in a later week in a place where
the bot says that it does not know; then all of them are asked once more, beside the same questions asked for the
first time.
"""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from datetime import timedelta

from memory.store.database import Tx
from memory.store.sqlite import connect
from tests.benchmarks import methods
from tests.benchmarks.embedded import filled, meanings_of, packaged
from tests.benchmarks.locomo import Conversation, Question, conversations, hear, store
from tests.benchmarks.options import Options
from tests.benchmarks.recalls import CUTS, Answered, figures, judged
from tests.benchmarks.report import Detail, Report

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
        hear(tx, "Asker", question.text, f"{_MARK}{number}/user", at + timedelta(minutes=2 * number), "bot")
        words = _NO_ANSWERS[number % len(_NO_ANSWERS)]
        said = hear(tx, "Carina", words, f"{_MARK}{number}/us", at + timedelta(minutes=2 * number + 1), "bot")
        tx.run("UPDATE messages SET role = 'assistant', person_id = NULL WHERE id = ?", (said,))


class _Found:
    """How the questions were answered, and how often the first hit was an earlier question or what we said to it."""

    def __init__(self) -> None:
        self.answered, self.first = list[Answered](), 0

    def add(self, question: Question, hits: Sequence[str]) -> None:
        self.answered.append(judged(question, hits, 0))
        self.first += bool(hits) and hits[0].startswith(_MARK)

    @property
    def row(self) -> tuple[str, ...]:
        recalls = figures(self.answered)
        shares = (f"{recalls[f'recall_at_{cut}']:.1f}" for cut in CUTS)
        return (*shares, f"{self.first} of {len(self.answered)}")


async def _measured(every: Sequence[Conversation]) -> dict[tuple[str, str], _Found]:
    found = defaultdict[tuple[str, str], _Found](_Found)
    async with packaged() as embedder:
        for conversation in every:
            asked = conversation.questions[:: max(len(conversation.questions) // _QUESTIONS, 1)][:_QUESTIONS]
            for when, before in (("asked first", []), ("asked twice before", asked)):

                def fill(tx: Tx, talk: Conversation = conversation, before: Sequence[Question] = before) -> None:
                    store(tx, talk.turns)
                    _ask_before(tx, talk, before)

                async with filled(fill, embedder) as database:
                    meanings = await meanings_of(embedder, (each.text for each in asked)) if embedder else None
                    with closing(connect(database.path)) as raw:
                        for name, given in (("carina", meanings), ("carina_no_embedder", None)):
                            ask = methods.product(raw, given)
                            for question in asked:
                                found[name, when].add(question, ask(question.text))
    return found


def run(options: Options) -> Report:
    """`--locomo PATH` says where the conversations are; only the first with `--quick`."""
    if options.locomo is None or not options.locomo.is_file():
        return Report(TITLE, notes=["not measured: pass --locomo PATH with the path of locomo-dev.json"])
    found = asyncio.run(_measured(conversations(options.locomo)[: 1 if options.quick else None]))
    heads = ("method", "question", *(f"R@{cut}" for cut in CUTS), "first hit is an echo")
    rows = tuple((*names, *each.row) for names, each in found.items())
    return Report(TITLE, details=[Detail("Recall of the turns that answer", heads, rows)])
