"""A real Dask cluster for tests: a scheduler and workers as processes of their own."""

from __future__ import annotations

import contextlib
import json
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hostile.machine import Place

PATIENCE = 120.0


@dataclass
class Cluster:
    """A running cluster."""

    address: str
    scheduler: int
    workers: list[int]  # the processes that judge, each below a nanny


@contextlib.contextmanager
def dask_cluster(place: Place, workers: int) -> Iterator[Cluster]:
    """Run a cluster on this machine as the user of a place, who has no course there."""
    file = place.folder / "home" / "scheduler.json"
    common = ["--host", "127.0.0.1", "--no-dashboard"]
    with contextlib.ExitStack() as stack:

        def start(module: str, *options: str) -> subprocess.Popen[bytes]:
            silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            process = place.start("-m", f"distributed.cli.{module}", *common, *options, **silent)
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        scheduler = start("dask_scheduler", "--port", "0", "--scheduler-file", str(file))
        wait_until(lambda: file.exists() and file.read_text(encoding="utf-8").endswith("}"))
        address = str(json.loads(file.read_text(encoding="utf-8"))["address"])
        options = ["--nworkers", str(workers), "--nthreads", "1", "--death-timeout", "60"]
        start("dask_worker", address, *options)
        found: list[int] = []
        wait_until(lambda: found.extend(_workers(address, workers)) or found)
        yield Cluster(address, scheduler.pid, found)


def _workers(address: str, wanted: int) -> list[int]:
    """Return the processes that judge, once all are there."""
    code = (
        "import sys, distributed, os\n"
        "with distributed.Client(sys.argv[1]) as client:\n"
        "    client.wait_for_workers(int(sys.argv[2]), timeout=60)\n"
        "    print(*client.run(os.getpid).values())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, address, str(wanted)],
        capture_output=True,
        text=True,
        check=True,
    )
    return [int(word) for word in done.stdout.split()]


def wait_until(condition) -> None:
    """Wait until something is so."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.05)


class Recorder:
    """Passes on all that a client and a scheduler say to each other, and keeps it."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition("//")[2].partition(":")
        self._target = (host, int(port))
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self._server.getsockname()[1]}"
        self.said = bytearray()
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client = self._server.accept()[0]
                self._threads.append(threading.Thread(target=self._relay, args=(client,)))
                self._threads[-1].start()

    def _relay(self, client: socket.socket) -> None:
        with client, socket.create_connection(self._target) as scheduler:
            ends = {client: scheduler, scheduler: client}
            while True:
                for source in select.select(list(ends), [], [])[0]:
                    try:
                        data = source.recv(65536)
                        ends[source].sendall(data)
                    except OSError:
                        return
                    if not data:
                        return
                    self.said += data

    def close(self) -> bytes:
        """Return all that was said, when both have ended."""
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        for thread in self._threads:
            thread.join()
        return bytes(self.said)


def memory_holds(pid: int, text: bytes) -> bool:
    """Tell whether a text stands anywhere in the memory of a process."""
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines():
            span, rights, *_ = line.split()
            start, end = (int(part, 16) for part in span.split("-"))
            if rights.startswith("rw"):
                with contextlib.suppress(OSError, ValueError):
                    memory.seek(start)
                    if text in memory.read(end - start):
                        return True
    return False
