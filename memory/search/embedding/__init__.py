"""Embedders, local or over HTTP, and the vectors of questions within a time limit."""

from memory.search.embedding.base import Embedder as Embedder
from memory.search.embedding.base import EmbedderBusy as EmbedderBusy
from memory.search.embedding.base import EmbedderGarbage as EmbedderGarbage
from memory.search.embedding.base import EmbedderMissing as EmbedderMissing
from memory.search.embedding.base import EmbedderRefused as EmbedderRefused
from memory.search.embedding.base import Embedding as Embedding
from memory.search.embedding.base import EmbeddingError as EmbeddingError
from memory.search.embedding.base import TextRefused as TextRefused
from memory.search.embedding.base import Tokens as Tokens
from memory.search.embedding.base import Vector as Vector
from memory.search.embedding.base import dimension_of as dimension_of
from memory.search.embedding.base import to_vector as to_vector
from memory.search.embedding.choice import EXPECTED as EXPECTED
from memory.search.embedding.choice import Choice as Choice
from memory.search.embedding.choice import is_choice as is_choice
from memory.search.embedding.choice import make_embedder as make_embedder
from memory.search.embedding.choice import missing as missing
from memory.search.embedding.choice import missing_words as missing_words
from memory.search.embedding.guard import GuardedEmbedder as GuardedEmbedder
from memory.search.embedding.guard import Health as Health
from memory.search.embedding.questions import PartVectors as PartVectors
from memory.search.embedding.questions import Questions as Questions
