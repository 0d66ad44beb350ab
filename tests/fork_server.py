"""A process that has loaded the program once and forks for every command, which so starts in a moment.

Each request is a socket, passed along with the three standard streams of the command: a line of JSON comes over it, and
the process id and later the exit code go back. What a fork does is what `python -m bot` does: the environment, the
folder, the streams and the words are its own, and it ends, or is killed, like any process.
"""

import atexit
import gc
import importlib.util
import io
import json
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import struct
import sys
import threading
import time
from typing import Any, NoReturn

STREAMS = 3
NUMBER = struct.Struct("!i")


def serve(control: socket.socket) -> dict[str, Any] | None:
    """Fork until nobody can ask any more. Returns the request in each fork, None in the server at its end."""
    ended, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends with the tests
    running: dict[int, socket.socket] = {}
    with selectors.DefaultSelector() as selector:
        selector.register(control, selectors.EVENT_READ)
        selector.register(ended, selectors.EVENT_READ)
        while True:
            ready = [key.fileobj for key, _ in selector.select()]
            if ended in ready:
                os.read(ended, 4096)
                report(running)
            if control in ready:
                word, found, _, _ = socket.recv_fds(control, 1, 1 + STREAMS)
                if not word:
                    for pid in running:
                        os.kill(pid, signal.SIGKILL)
                    return None
                asked, streams = socket.socket(fileno=found[0]), found[1:]
                request: dict[str, Any] = json.loads(asked.makefile().readline())
                pid = os.fork()
                if pid == 0:
                    signal.set_wakeup_fd(-1)
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    signal.signal(signal.SIGINT, interrupt)
                    for number, stream in enumerate(streams):
                        os.dup2(stream, number)
                    for other in [control, asked, *running.values()]:
                        other.close()
                    for fd in (ended, wake, *streams):
                        os.close(fd)
                    return request
                for stream in streams:
                    os.close(stream)
                running[pid] = asked
                asked.sendall(NUMBER.pack(pid))


def report(running: dict[int, socket.socket]) -> None:
    """Say of every process that has ended how it did."""
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        with running.pop(pid) as asked:
            asked.sendall(NUMBER.pack(os.waitstatus_to_exitcode(status)))


def load() -> None:
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # a thread would be missing in the forks
    for name in ("memory", "scheduler", "sources", "bot"):
        for found in pkgutil.walk_packages(importlib.import_module(name).__path__, f"{name}."):
            if not found.name.endswith("__main__"):
                importlib.import_module(found.name)
    own_ports(importlib.import_module("bot.interfaces.web.server"))


def own_ports(web: Any) -> None:
    """The usual port of the dashboard is one for the whole machine: here each process takes a free one instead."""
    bind, usual = web.bind, importlib.import_module("bot.config.file_settings").WebServer().listen
    web.bind = lambda listen: bind("127.0.0.1:0" if listen == usual else listen)


def run(request: dict[str, Any]) -> NoReturn:
    """Be the program, and end as it does, except that what was loaded is not taken apart: that would take longer."""
    os.setsid()
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    time.tzset()
    encoding = os.environ.get("PYTHONIOENCODING", "utf-8")
    given, out, error = (io.FileIO(number, mode, closefd=False) for number, mode in enumerate(("r", "w", "w")))
    sys.stdin = io.TextIOWrapper(io.BufferedReader(given), encoding)
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(out), encoding, line_buffering=os.isatty(1))
    sys.stderr = io.TextIOWrapper(io.BufferedWriter(error), encoding, "backslashreplace", line_buffering=True)
    sys.argv = ["bot", *request["arguments"]]
    sys.orig_argv = [sys.executable, "-m", "bot", *request["arguments"]]
    sys.path[:0] = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.modules.pop("sitecustomize", None)
    if importlib.util.find_spec("sitecustomize"):
        importlib.import_module("sitecustomize")
    code = 0
    try:
        runpy.run_module("bot", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(bool(ended.code))
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    load()
    gc.collect()
    gc.freeze()
    asked_for = serve(socket.socket(fileno=int(sys.argv[1])))
    if asked_for is not None:
        run(asked_for)
