"""All 45 cases of hostile and broken submissions; those of one notebook are in ``CASES``.

The others need more than a notebook: 35 and 36 are names and archives (``test_archives.py``), 41
to 43 whole runs (``test_batch.py``), and a slow solver (40) needs a loop (``test_solver.py``).
"""

from __future__ import annotations

from hostile import answers, notebooks, processes, resources

CASES = sorted(
    [*processes.CASES, *resources.CASES, *answers.CASES, *notebooks.CASES],
    key=lambda case: case.number,
)
