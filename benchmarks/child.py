"""One solver in a process of its own: import, first fit, later fits, peak memory.

:func:`call` starts ``python child.py SPEC`` with a JSON object and reads the one that it prints. A
child gets its numba cache from the environment, and dies of SIGALRM when a fit takes too long.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

Spec = dict[str, Any]
MEMORY_SHARE = 0.7  # of the machine's memory: what would need more fails, and nothing else does
ENOUGH_SECONDS = 2.0  # shorter fits are repeated
SGD_EPOCHS = 10
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMBA")}


def call(spec: Spec, cache: Path | None = None) -> Spec:
    """Run a specification in a new process; ``cache`` is its folder for machine code.

    Keys: ``solver``, ``kind`` (kernel or linear), ``n``, ``C``, ``warm`` (whether an untimed fit
    comes first), ``fits`` (at least and at most), ``limit`` (seconds a fit). The answer has
    ``failed`` in it where there is no result.
    """
    here = Path(__file__)
    path = os.pathsep.join([str(here.parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | ONE_THREAD | {"PYTHONPATH": path}
    if cache is not None:
        environment["XDG_CACHE_HOME"] = str(cache)
    command = [sys.executable, str(here), json.dumps(spec)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode == -signal.SIGALRM:
        return {"failed": f"over {spec['limit']:g} s"}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        return {"failed": re.sub(r"^[\w.]+\.", "", last)[:80]}  # the error without its module
    return dict(json.loads(done.stdout))


def run(spec: Spec) -> Spec:
    """Do what the specification says, in this process."""
    start = time.perf_counter()
    from sides import load_side

    load_side(spec["solver"])
    imported = time.perf_counter() - start
    from sets import growing_data

    X, y = growing_data(spec["kind"], spec["n"])
    seconds: list[float] = []
    least, most = spec["fits"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if spec["warm"]:  # at full size: other sizes may compile other loops
            _timed_fit(spec, X, y)
        before = _memory("VmRSS")
        _forget_peak()
        while len(seconds) < least or (len(seconds) < most and sum(seconds) < ENOUGH_SECONDS):
            seconds.append(_timed_fit(spec, X, y))
    return {
        "import s": imported,
        "fits s": seconds,
        "without warning": not caught,
        "peak MB": _memory("VmHWM"),
        "before MB": before,
    }


def _timed_fit(spec: Spec, X: Any, y: Any) -> float:
    """Return the seconds of a fit; one beyond the limit ends the process, loops in C too."""
    signal.setitimer(signal.ITIMER_REAL, spec["limit"])
    start = time.perf_counter()
    _fit(spec, X, y)
    seconds = time.perf_counter() - start
    signal.setitimer(signal.ITIMER_REAL, 0)
    return seconds


def _fit(spec: Spec, X: Any, y: Any) -> None:
    """Train once: by the solver's own rule, SGD for a fixed number of epochs."""
    from sets import GROWING_GAMMA
    from sides import kernel_machine, linear_machine, linear_weights

    solver, lam = spec["solver"], 1.0 / (y.size * spec["C"])
    if spec["kind"] == "kernel":
        kernel_machine(solver, spec["C"], GROWING_GAMMA).fit(X, y)
    elif "sgd" in solver.lower():
        linear_weights(solver, X, y, lam, SGD_EPOCHS, seed=0)
    else:
        linear_machine(solver, lam, y.size, seed=0).fit(X, y)


def _memory(name: str) -> float:
    """Return VmRSS or VmHWM, its peak, in MB; the peak since the start where neither is known."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:"))


def _forget_peak() -> None:
    """Let the peak begin here where the system can: generating the data does not count then."""
    if os.access("/proc/self/clear_refs", os.W_OK):
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")


def _limit_memory() -> None:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    resource.setrlimit(resource.RLIMIT_AS, (int(MEMORY_SHARE * total),) * 2)


if __name__ == "__main__":
    _limit_memory()
    print(json.dumps(run(json.loads(sys.argv[1]))))
