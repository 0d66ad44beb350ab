"""Stores and searches texts with one peer, run by its own Python: `python peer_stores.py mem0ai|chromadb`.

Imports nothing of ours. Standard input and output are JSON; vectors come ready-made, so no model is loaded.
"""

import importlib
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

_MOST = 20


class Store(Protocol):
    """What is asked of a peer; `search` gives the numbers of texts, best first."""

    def add(self, number: int, text: str) -> None: ...

    def search(self, question: str) -> list[int]: ...


class Chroma:
    def __init__(self, folder: Path, vectors: Mapping[str, Sequence[float]]) -> None:
        chromadb: Any = importlib.import_module("chromadb")
        settings = chromadb.Settings(anonymized_telemetry=False)
        client = chromadb.PersistentClient(path=str(folder), settings=settings)
        self._texts = client.create_collection("talk", embedding_function=None, metadata={"hnsw:space": "cosine"})
        self._vectors = vectors

    def add(self, number: int, text: str) -> None:
        self._texts.add(ids=[str(number)], documents=[text], embeddings=[self._vectors[text]])

    def search(self, question: str) -> list[int]:
        found = self._texts.query(query_embeddings=[self._vectors[question]], n_results=_MOST)
        return [int(each) for each in found["ids"][0]]


class Mem0:
    def __init__(self, folder: Path, vectors: Mapping[str, Sequence[float]]) -> None:
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder), "OPENAI_API_KEY": "none"}
        mem0: Any = importlib.import_module("mem0")
        dimension = len(next(iter(vectors.values())))
        place = {"path": str(folder / "vectors"), "embedding_model_dims": dimension, "on_disk": True}
        settings = {"vector_store": {"provider": "qdrant", "config": place}}
        self._memory = mem0.Memory.from_config(settings | {"history_db_path": str(folder / "history.db")})
        self._memory.embedding_model = self
        self._vectors = vectors

    def embed(self, text: str, memory_action: str = "") -> Sequence[float]:
        return self._vectors[text]

    def embed_batch(self, texts: Sequence[str], memory_action: str = "") -> list[Sequence[float]]:
        return [self._vectors[text] for text in texts]

    def add(self, number: int, text: str) -> None:
        self._memory.add(text, user_id="talk", infer=False, metadata={"number": number})

    def search(self, question: str) -> list[int]:
        found = self._memory.search(question, filters={"user_id": "talk"}, top_k=_MOST, threshold=0.0)
        return [each["metadata"]["number"] for each in found["results"]]


def main() -> None:
    given = json.load(sys.stdin)
    make: type[Mem0] | type[Chroma] = Mem0 if sys.argv[1] == "mem0ai" else Chroma
    store: Store = make(Path(given["folder"]), given["vectors"])
    begin = time.perf_counter()
    for number, text in enumerate(given["texts"]):
        store.add(number, text)
    stored = 1000 * (time.perf_counter() - begin) / len(given["texts"])
    ranked, times = [], []
    for question in given["questions"]:
        begin = time.perf_counter()
        ranked.append(store.search(question))
        times.append(1000 * (time.perf_counter() - begin))
    sys.stdout.write("\n" + json.dumps({"store_ms": stored, "search_ms": times, "ranked": ranked}) + "\n")


if __name__ == "__main__":
    main()
