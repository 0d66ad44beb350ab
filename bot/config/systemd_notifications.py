"""Whether systemd is there, and notifications for it from a service that it started."""

import os
import socket
from contextlib import closing
from pathlib import Path
from typing import Self

from msgspec import Struct

from memory.store.logs import Log

log = Log(__name__)


def runs_for_account() -> bool:
    """Whether systemd runs for this account, which then has a folder of its own."""
    session = os.environ.get("XDG_RUNTIME_DIR", "")
    return bool(session) and Path(session, "systemd").is_dir()


class SystemdNotifications(Struct, frozen=True):
    """Without an address nothing is sent. systemd restarts a service that is silent for `within` microseconds."""

    address: str = ""
    within: int = 0

    @classmethod
    def of_process(cls) -> Self:
        ours = os.environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        within = os.environ.get("WATCHDOG_USEC", "") if ours else ""
        return cls(os.environ.get("NOTIFY_SOCKET", ""), int(within) if within.isdecimal() else 0)

    def tell(self, state: str) -> None:
        """Never raises: the service works even if its manager does not listen."""
        if not self.address:
            return
        address = f"\0{self.address[1:]}" if self.address.startswith("@") else self.address
        with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as connection:
            connection.setblocking(False)
            try:
                connection.sendto(state.encode(), address)
            except OSError as error:
                log.warning("service_manager_not_told", reason=str(error))
