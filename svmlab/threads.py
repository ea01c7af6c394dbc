"""Work that is shared among threads, each with a part of the same array."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable


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


def share_out(work: Callable[[int, int], None], n: int, step: int, n_jobs: int) -> None:
    """Call work(first, stop) on ``n_jobs`` threads, so that the parts make up 0, …, n.

    All parts but the last end at a multiple of ``step``: what is computed in steps comes out the
    same to the last bit, whoever computes it.

    >>> share_out(lambda first, stop: print(first, stop), n=10, step=4, n_jobs=1)
    0 10
    """
    steps = -(-n // step)
    ends = [min(n, step * (steps * job // n_jobs)) for job in range(n_jobs + 1)]
    parts = [(a, b) for a, b in itertools.pairwise(ends) if a < b]
    if len(parts) <= 1:
        work(0, n)
        return
    from concurrent.futures import ThreadPoolExecutor  # not where a page runs Python

    with ThreadPoolExecutor(len(parts)) as pool:
        for done in [pool.submit(work, *part) for part in parts]:
            done.result()
