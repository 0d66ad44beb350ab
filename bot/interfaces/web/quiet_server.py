"""The HTTP server without its own signal handlers: the service has them."""

from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn


class QuietServer(uvicorn.Server):
    """Leaves signals to the service."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
