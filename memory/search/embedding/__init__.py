"""Embedders, which make vectors of texts, here or behind HTTP; and vectors of questions, in time or not at all."""

from memory.search.embedding.base import (
    MAX_CHARACTERS,
    Embedder,
    EmbedderBusy,
    EmbedderGarbage,
    EmbedderMissing,
    EmbedderRefused,
    Embedding,
    EmbeddingError,
    TextRefused,
    Tokens,
    Vector,
    dimension_of,
    to_vector,
)
from memory.search.embedding.choice import EXPECTED, Choice, is_choice, make_embedder, missing
from memory.search.embedding.guard import GuardedEmbedder, Health
from memory.search.embedding.part_vectors import PartVectors
from memory.search.embedding.questions import Asked, Questions

__all__ = [
    "EXPECTED",
    "MAX_CHARACTERS",
    "Asked",
    "Choice",
    "Embedder",
    "EmbedderBusy",
    "EmbedderGarbage",
    "EmbedderMissing",
    "EmbedderRefused",
    "Embedding",
    "EmbeddingError",
    "GuardedEmbedder",
    "Health",
    "PartVectors",
    "Questions",
    "TextRefused",
    "Tokens",
    "Vector",
    "dimension_of",
    "is_choice",
    "make_embedder",
    "missing",
    "to_vector",
]
