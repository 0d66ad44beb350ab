"""Pauses after failures of an embedder, and the embedder's health."""

import time
from collections.abc import Callable, Sequence

from msgspec import Struct

from memory.search.embedding.base import (
    Embedder,
    EmbedderBusy,
    EmbedderMissing,
    EmbedderRefused,
    Embedding,
    EmbeddingError,
    TextRefused,
)
from texts import _, gettext_lazy, reason_of

FIRST_REST, LONGEST_REST = 5.0, 600.0
"""Seconds of pause after a failure; each further one in a row doubles it, up to the second value."""
LONG = 5.0
"""Seconds without an answer that are worth reporting."""


class Health(Struct, frozen=True):
    """`reason` is why the last call failed, empty if it did not; `asked` whether any call has finished.

    `waited` is how many seconds the oldest running call has taken, 0 without one.
    """

    asked: bool = False
    reason: str = ""
    rests: float = 0.0
    waited: float = 0.0

    @property
    def words(self) -> str:
        if self.waited >= LONG and not self.reason:
            seconds = f"{self.waited:.0f}"
            if self.asked:
                return _("no answer for {seconds} s (it worked before)", seconds=seconds)
            return _("no answer for {seconds} s (first call)", seconds=seconds)
        if not self.asked:
            return _("first call in progress") if self.waited else _("not used yet")
        if not self.reason:
            return _("working")
        if not self.rests:
            return _("failing: {reason}", reason=self.reason)
        return _("failing: {reason}; next attempt in {seconds} s", reason=self.reason, seconds=f"{self.rests:.0f}")


class GuardedEmbedder:
    """An embedder that nobody asks for a while after a failure. `changed` is called when its health changes."""

    def __init__(
        self,
        embedder: Embedder,
        changed: Callable[[Health], None] = lambda _health: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._embedder = embedder
        self._changed = changed
        self._clock = clock
        self._health = Health()
        self._failures = 0
        self._closed_until = 0.0
        self._began: list[float] = []
        """The start times of the running calls."""

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    @property
    def rests(self) -> float:
        """Seconds until it may be asked again."""
        return max(self._closed_until - self._clock(), 0.0)

    @property
    def health(self) -> Health:
        waited = self._clock() - min(self._began) if self._began else 0.0
        return Health(self._health.asked, self._health.reason, self.rests, waited)

    async def embed(self, texts: Sequence[str], seconds: float) -> list[Embedding]:
        """See `Embedder`; raises EmbedderBusy without asking while the embedder is paused."""
        if rests := self.rests:
            raise EmbedderBusy(
                gettext_lazy("{reason} (next attempt in {seconds:.0f} s)", reason=self._health.reason, seconds=rests),
                rests,
            )
        began = self._clock()
        self._began.append(began)
        try:
            found = await self._embedder.embed(texts, seconds)
        except TextRefused:
            raise  # says nothing about other texts
        except EmbeddingError as error:
            self._failed(error)
            raise
        finally:
            self._began.remove(began)
        self._failures = 0
        self._note(Health(asked=True))
        return found

    async def aclose(self) -> None:
        await self._embedder.aclose()

    def _failed(self, error: EmbeddingError) -> None:
        lasting = isinstance(error, EmbedderRefused | EmbedderMissing)
        rest = LONGEST_REST if lasting else min(FIRST_REST * 2.0 ** min(self._failures, 10), LONGEST_REST)
        asked = error.after if isinstance(error, EmbedderBusy) else 0.0
        self._failures += 1
        self._closed_until = self._clock() + min(max(rest, asked), LONGEST_REST)
        self._note(Health(asked=True, reason=reason_of(error)))

    def _note(self, health: Health) -> None:
        before, self._health = self._health, health
        if (before.asked, bool(before.reason)) != (health.asked, bool(health.reason)):
            self._changed(health)
