"""Work that is shared among threads, each with a part of the same array."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

HELD = threading.Lock()  # by who holds the library for matrix products to one thread


def check_jobs(n_jobs: int | None) -> int:
    """Return how many threads ``n_jobs`` asks for: None is 1, −1 is one a core.

    >>> check_jobs(None), check_jobs(3)
    (1, 3)
    """
    if n_jobs is None:
        return 1
    whole = isinstance(n_jobs, int) and not isinstance(n_jobs, bool)
    if not whole or n_jobs == 0 or n_jobs < -1:
        raise ValueError(
            f"n_jobs must be a number of threads, None for 1 or -1 for all cores, got {n_jobs!r}"
        )
    return (os.cpu_count() or 1) if n_jobs == -1 else n_jobs


def share_out(
    work: Callable[[int, int], None], n: int, step: int, n_jobs: int, parts: int = 1
) -> None:
    """Call work(first, stop) on ``n_jobs`` threads so that the parts make up 0, …, n − 1.

    The caller's thread is one of them. All parts but the last end at a multiple of ``step``: what
    is computed in steps comes out the same to the last bit, whoever computes it. There are so many
    ``parts`` a thread; several even out what is more work in some places than in others.

    >>> share_out(lambda first, stop: print(first, stop), n=10, step=4, n_jobs=1)
    0 10
    """
    steps, count = -(-n // step), n_jobs * parts
    ends = [min(n, step * (steps * k // count)) for k in range(count + 1)]
    waiting = deque((a, b) for a, b in itertools.pairwise(ends) if a < b)
    if n_jobs == 1 or len(waiting) <= 1:
        work(0, n)
        return

    def next_part() -> tuple[int, int] | None:
        try:
            return waiting.pop()  # where parts are unequal, the last is the largest
        except IndexError:
            return None

    def work_on() -> None:
        while (part := next_part()) is not None:
            work(*part)

    helpers = min(n_jobs, len(waiting)) - 1
    from concurrent.futures import ThreadPoolExecutor  # not where a page runs Python

    with ThreadPoolExecutor(helpers) as pool:
        others = [pool.submit(work_on) for _ in range(helpers)]
        work_on()
        for other in others:
            other.result()


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold the library for matrix products to one thread, in a ``with`` or as a decorator.

    Its threads wait for each other by spinning, and stand in the way of ours. It is held for the
    whole process: who comes while somebody holds it changes nothing. Without threadpoolctl,
    which comes with scikit-learn, nothing is held.

    >>> with one_blas_thread():
    ...     print("held")
    held
    """
    blas = _blas()
    if blas is None or not HELD.acquire(blocking=False):
        yield
        return
    try:
        with blas.limit(limits=1):
            yield
    finally:
        HELD.release()


@functools.cache
def _blas() -> Any:
    """Return what sets the threads of the libraries for matrix products, or None."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController().select(user_api="blas")
